"""Gains from comparisons, checked with a dense posterior, drawn data, and people's comparisons of translations."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from audiosim import Collection, estimate
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, PairedComparison, Run, Scale
from audiosim.joint.check import LEAST
from audiosim.joint.comparisons import (
    CARES,
    CHANCES,
    FIXED,
    GUESSES,
    NOISE,
    OPINION,
    SPREAD_CHANCES,
    TIE,
    WIDTHS,
    Compared,
    ComparisonModel,
    Habits,
    guessed,
)
from audiosim.joint.estimators import make_estimator
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import TASTE, Listeners
from audiosim.measures.measure import parse_measure
from audiosim.ranking.selection import Selection
from audiosim.ranking.stopping import parse_stopping_rule
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.thurstone import SAME, A, Answering, B, answer_likelihood

SYSTEMS, QUERIES = 5, 40


def collection(comparisons=(), judgments=()):
    """Each system retrieves a different document for each query."""
    runs = tuple(Run(f"S{s}", {f"q{q}": (f"q{q}/S{s}",) for q in range(QUERIES)}) for s in range(SYSTEMS))
    scale = Scale("custom", (0.0, 1.0, 2.0, 3.0, 4.0))
    return Collection("drawn", "drawn", scale, 1, runs, judgments=tuple(judgments), comparisons=tuple(comparisons))


def drawn(rng, count, people=6):
    """Comparisons by people with taste, noise and ties, and the systems' true means."""
    means = np.linspace(0.35, 0.65, SYSTEMS)
    gains = means + 0.15 * rng.standard_normal((QUERIES, SYSTEMS))
    taste = 0.04 * rng.standard_normal((people, SYSTEMS))
    made = []
    for _ in range(count):
        query, person = rng.integers(QUERIES), rng.integers(people)
        a, b = rng.choice(SYSTEMS, 2, replace=False)
        d = gains[query, a] - gains[query, b] + taste[person, a] - taste[person, b] + 0.2 * rng.standard_normal()
        answer = "a" if d > 0.1 else "b" if d < -0.1 else "="
        made.append(PairedComparison(f"q{query}", f"q{query}/S{a}", f"q{query}/S{b}", answer, f"p{person}"))
    return made, gains.mean(axis=0)


def test_the_last_answer_of_each_person_counts_whichever_document_stood_first():
    made = [
        PairedComparison("q1", "q1/S0", "q1/S1", "a", "ann"),
        PairedComparison("q1", "q1/S1", "q1/S0", "a", "ann"),
        PairedComparison("q1", "q1/S0", "q1/S2", "=", "bob"),
        PairedComparison("q1", "q1/S0", "elsewhere", "a", "bob"),
    ]
    pool = build_pool(collection(made))
    found = Compared.of(pool, made)
    assert found.judges == ("ann", "bob")
    assert found.answer.tolist() == [B, SAME]
    assert [pool.pairs[place].document for place in found.first] == ["q1/S0", "q1/S0"]
    assert [pool.pairs[place].document for place in found.second] == ["q1/S1", "q1/S2"]


@pytest.mark.parametrize("graded", [0, 4])
def test_the_check_of_a_model_says_that_comparisons_count_but_are_not_checked(graded):
    made, _ = drawn(np.random.default_rng(5), 60)
    judged = [Judgment(f"q{number}", f"q{number}/S0", 2.0) for number in range(graded)]
    needed = f"Model check: {graded} of the {LEAST} judgments it needs to pass"
    beside = "; comparisons count in the scores, but are not checked."
    assert estimate(collection(made, judged)).check.sentence == needed + beside
    assert estimate(collection((), judged)).check.sentence == f"{needed}."
    assert estimate(collection(made, judged), "uniform").check.sentence == f"{needed}."  # which no comparison changes


def test_comparisons_meet_a_goal_whose_floor_asks_for_no_graded_pair():
    made, _ = drawn(np.random.default_rng(5), 150)
    pool = build_pool(collection(made))
    compared = Selection.start(pool, parse_measure("CG@1"), make_estimator(pool, "joint"), (), learned=True)
    assert compared.ranking.judged == 0
    assert parse_stopping_rule("confidence(floor=0)=0.8").reached(compared)
    assert not parse_stopping_rule("confidence=0.8").reached(compared)


OTHERS = np.random.default_rng(8).dirichlet(np.ones(len(CARES) * len(WIDTHS) * len(GUESSES)))


def known_habits(care):
    """People of known care who do not guess; others' habits are spread over the whole grid."""
    others = OTHERS.reshape(len(CARES), len(WIDTHS), len(GUESSES))
    each = np.log(care), np.zeros(len(care)), np.ones(len(care)), np.zeros(len(care))
    return Habits(*each, others, SPREAD_CHANCES, CHANCES)


@pytest.fixture
def small():
    """Gains of two queries with a common effect, comparisons in both, and all of it as one dense normal."""
    rng = np.random.default_rng(3)
    blocks = (np.array([0, 1, 2]), np.array([3, 4, 5]))
    within = (np.eye(3) * 0.04 + 0.01, np.eye(3) * 0.05 + 0.02)
    loadings = tuple(rng.random((3, 2)) for _ in blocks)
    shared = np.array([[0.02, 0.005], [0.005, 0.03]])
    gains = BlockNormal(np.full(6, 0.5), blocks, within, loadings, shared)
    compared = Compared(
        ("ann", "bob"),
        np.array([0, 0, 1, 3, 4]),
        np.array([1, 2, 2, 4, 5]),
        np.array([0, 1, 0, 0, 1]),
        np.array([A, SAME, B, A, A]),
    )
    parts = np.vstack([np.eye(3), np.eye(3)])
    deviations = {TASTE: 0.05, OPINION: 0.4, NOISE: 0.6, TIE: 0.3}
    habits, at_random = known_habits(np.array([1.0, 1.5])), guessed(compared.answer)
    model = ComparisonModel(compared, parts, np.full(6, 0.3), deviations, FIXED, habits, at_random)
    dense = np.zeros((6, 6))
    for rows, own in zip(blocks, within, strict=True):
        dense[np.ix_(rows, rows)] = own
    rows = np.vstack(loadings)
    return gains, model, dense + rows @ shared @ rows.T, parts


@pytest.mark.parametrize("who", ["listeners", "panel", 5])
def test_posterior_is_that_of_one_dense_normal(small, who):
    """Unknowns side by side: gains, each person's taste for each system, and their opinion of each pair."""
    gains, model, covariance, parts = small
    whole = np.zeros((24, 24))
    whole[:6, :6], whole[6:12, 6:12] = covariance, 0.05**2 * np.eye(6)
    whole[12:, 12:] = (0.4 * 0.3) ** 2 * np.eye(12)
    differ = np.zeros((5, 24))
    for j, (first, second, judge) in enumerate(
        zip(model.compared.first, model.compared.second, model.compared.judge, strict=True)
    ):
        differ[j, first], differ[j, second] = 1, -1
        differ[j, 6 + 3 * judge : 9 + 3 * judge] = parts[first] - parts[second]
        differ[j, 12 + 6 * judge + first], differ[j, 12 + 6 * judge + second] = 1, -1
    noise = 0.6 * 0.3 * np.array([1.0, 1.5])[model.compared.judge]
    own = differ @ whole @ differ.T
    found = answer_likelihood(own, np.zeros(5), Answering.plain(model.compared.answer, noise, 0.3 * 0.3))
    people = Listeners.of(who, 2)
    each = people.each
    stated = np.hstack([np.eye(6), each * parts, each * parts, each * np.eye(6), each * np.eye(6)])
    gain = stated @ whole @ differ.T @ found.precision
    differences = model.differences(gains)
    sites = model.sites(differences)
    posterior = model.posterior(gains, differences, sites, people)
    assert sites.value == pytest.approx(found.sites.value, rel=1e-3)
    assert posterior.mean == pytest.approx(0.5 + gain @ found.sites.value, abs=1e-5)
    expected = stated @ whole @ stated.T - gain @ differ @ whole @ stated.T
    expected += people.fresh * (0.05**2 * parts @ parts.T + (0.4 * 0.3) ** 2 * np.eye(6))
    assert posterior.among(np.arange(6)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_chances_of_answers_are_those_of_people_drawn(small):
    """Two hundred thousand people without comparisons, each with tastes, opinions, errors and habits."""
    gains, model, covariance, parts = small
    asked = Compared(("carl",), np.array([0, 4]), np.array([2, 3]), np.array([0, 0]), np.array([A, A]))
    rng, people = np.random.default_rng(2), 200_000
    means = np.array([0.4, 0.5, 0.55, 0.6, 0.5, 0.3])
    values = rng.multivariate_normal(means, covariance, people) + 0.05 * rng.standard_normal((people, 3)) @ parts.T
    values += 0.4 * 0.3 * rng.standard_normal((people, 6))
    care, width, guess = np.unravel_index(rng.choice(len(OTHERS), people, p=OTHERS), (9, 13, 6))
    noise, tie = 0.6 * 0.3 * np.exp(CARES[care])[:, None], 0.3 * 0.3 * np.exp(WIDTHS[width])[:, None]
    d = values[:, asked.first] - values[:, asked.second] + noise * rng.standard_normal((people, 2))
    said = np.where(d > tie, A, np.where(d < -tie, B, SAME))
    by_chance = rng.choice([A, SAME, B], (people, 2), p=[3 / 8, 2 / 8, 3 / 8])  # one of five answers is a tie
    said = np.where(rng.random((people, 2)) < GUESSES[guess][:, None], by_chance, said)
    expected = np.column_stack([(said == answer).mean(axis=0) for answer in (A, SAME, B)])
    assert model.chances(replace(gains, mean=means), asked) == pytest.approx(expected, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("opinion", [0.05, 0.25])
def test_whoever_never_contradicts_himself_may_contradict_others(opinion):
    """Six people order five documents of each query by their own opinions; others agree as often as stated."""
    rng = np.random.default_rng(0)
    gains = np.linspace(0.35, 0.65, SYSTEMS) + 0.15 * rng.standard_normal((QUERIES, SYSTEMS))
    said = gains + opinion * rng.standard_normal((7, QUERIES, SYSTEMS))
    made = [
        PairedComparison(
            f"q{query}", f"q{query}/S{a}", f"q{query}/S{b}", "ab"[int(of[query, a] < of[query, b])], f"p{person}"
        )
        for person, of in enumerate(said)
        for query in range(person, QUERIES, 3)
        for a, b in combinations(range(SYSTEMS), 2)
    ]
    pool = build_pool(collection([one for one in made if one.assessor != "p6"]))
    belief = make_estimator(pool, None).predict(np.full(len(pool.pairs), np.nan))
    held_out = Compared.of(pool, [one for one in made if one.assessor == "p6"])
    prefer, same, reject = belief.answers.chances(belief.prior, held_out).T
    assert np.all(same < 0.1)
    stated = np.maximum(prefer, reject) / (prefer + reject)
    right = (held_out.answer == A) == (prefer > reject)
    assert np.mean(stated) == pytest.approx(np.mean(right), abs=0.06)


@pytest.mark.slow
def test_whoever_guesses_is_found_and_counts_less():
    rng = np.random.default_rng(5)
    made, _ = drawn(rng, 600)
    lots = [replace(one, answer=str(rng.choice(["a", "b", "="]))) if one.assessor == "p0" else one for one in made]
    estimator = make_estimator(build_pool(collection(lots)), None)
    assert isinstance(estimator, JointEstimator)
    answers = estimator.predict(np.full(SYSTEMS * QUERIES, np.nan)).answers
    model, _, sites = answers._begun
    guess = dict(zip(model.compared.judges, answers.habits.guess, strict=True))
    assert guess.pop("p0") > 0.6
    assert max(guess.values()) < 0.2
    code = model.compared.judges.index("p0")
    of_theirs = sites.precision[model.compared.judge == code].mean()
    assert of_theirs < 0.2 * sites.precision[model.compared.judge != code].mean()


@pytest.mark.slow
def test_scores_hold_what_was_drawn():
    """Differences of systems, which comparisons inform: over campaigns, about 95 % of the 95 % intervals hold."""
    held, stated, right = [], [], []
    for seed in range(6):
        made, truth = drawn(np.random.default_rng(seed), 150)
        ranking = estimate(collection(made), measure="CG@1", about="listeners")
        first, second = ranking.scores.pairs
        difference, variance = ranking.scores.differences
        true = truth[first] - truth[second]
        held += (np.abs(difference - true) < ranking.scores.quantile(0.95) * np.sqrt(variance)).tolist()
        stated.append(ranking.confidence)
        right.append(np.mean(true > 0))
    assert np.mean(held) > 0.85
    assert np.mean(stated) == pytest.approx(np.mean(right), abs=0.1)
    assert np.mean(right) > 0.85


@pytest.mark.slow
def test_grades_and_comparisons_count_together():
    made, _ = drawn(np.random.default_rng(1), 200)
    with_both = collection(made)
    alone = estimate(with_both, measure="CG@1")
    assert alone.judged == 0
    assert alone.comparisons > 150
    assert alone.to_dict()["comparisons"] == alone.comparisons
    assert alone.judges == 6
    assert alone.at_large.confidence < alone.confidence
    graded = {"q0": {f"q0/S{s}": 2 for s in range(SYSTEMS)}}
    both = estimate(with_both, measure="CG@1", judgments=graded)
    assert both.judged == SYSTEMS
    assert both.comparisons == alone.comparisons
    assert np.all(both.scores.variance < alone.scores.variance)


DATA = Path(__file__).parents[3] / "shared" / "data" / "listeners" / "wmt16-roen"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the collection of translations is not there")
def test_translations_are_ranked_as_most_comparisons_have_them():
    """The order by shares of comparisons won, which needs no model."""
    whole = Collection.load(DATA)
    won = {run.system: [0.0, 0] for run in whole.runs}
    for one in whole.comparisons:
        for document, wins in ((one.document_a, "a"), (one.document_b, "b")):
            system = won[document.split("/")[1]]
            system[0] += 1.0 if one.answer == wins else 0.5 if one.answer == "=" else 0.0
            system[1] += 1
    by_share = sorted(won, key=lambda system: -won[system][0] / won[system][1])
    fewer = Collection(
        "fewer", "fewer", whole.scale, 1, whole.runs, comparisons=whole.comparisons[::16], teams=whole.teams
    )
    ranking = estimate(fewer, measure="CG@1")
    found = [ranking.systems[place] for place in ranking.scores.order]
    inversions = sum(
        by_share.index(first) > by_share.index(second) for i, first in enumerate(found) for second in found[i + 1 :]
    )
    assert inversions <= 3
