"""The sequential check of a model: against its definition judgment by judgment, and on data made to fit it or not."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from audiosim.corpus.pool import build_pool
from audiosim.expected.estimation import estimate_pool, expected_scores
from audiosim.measures.measure import parse_measure
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import built_in, estimator_of, uniform
from audiosim.relevance.level_use import Levels
from audiosim.relevance.model_check import (
    ALARM,
    EARLY,
    LEANS,
    LEAST,
    NOT_CHECKED,
    OF_EACH,
    OF_ONE,
    OUTLYING,
    SHIFTS,
    SPREADS,
    TAIL,
    ModelCheck,
    check_model,
)
from audiosim.relevance.prequential import Grouping, groupings, leaning
from audiosim.relevance.published import load_model
from audiosim.simulation import Design, Effects, draw_parts, synthetic_collection
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train


@pytest.fixture(scope="module")
def pool():
    return build_pool(synthetic_collection(np.random.default_rng(3), Design(10, 4, 20, 5, 40)))


@pytest.fixture(scope="module")
def estimator(pool):
    return built_in(pool, "joint")


@dataclass(frozen=True)
class Fixed:
    """An estimator that believes this."""

    belief: Belief
    name: str = "fixed"

    def predict(self, grades):
        return self.belief.revise(grades)


def drawn(belief, rng):
    grades = np.empty(len(belief.grades))
    for rows, values in belief.draw(rng, 1):
        grades[rows] = values[0]
    return grades


def checked(estimator, truth, count, rng, pool=None):
    order = rng.permutation(len(truth))[:count]
    grades = np.full(len(truth), np.nan)
    grades[order] = truth[order]
    return check_model(estimator, estimator.predict(grades), order, pool)


def test_the_densities_against_the_model_are_densities():
    for a, b in [*((a, 0) for a in SHIFTS + LEANS + OF_EACH), *((0, b) for b in SPREADS), *OF_ONE]:
        assert quad(lambda u, a=a, b=b: 1 + a * (2 * u - 1) + b * (6 * u**2 - 6 * u + 1), 0, 1)[0] == pytest.approx(1)
        assert min(1 + a * (2 * u - 1) + b * (6 * u**2 - 6 * u + 1) for u in np.linspace(0, 1, 101)) > 0
    tails = (1 - OUTLYING) * (1 - TAIL) + (1 - OUTLYING + OUTLYING / TAIL) * TAIL
    assert tails == pytest.approx(1)


def ratio(u, a, b=0.0):
    return np.prod(1 + a * (2 * u - 1) + b * (6 * u**2 - 6 * u + 1))


def of_all(u, lean=None):
    """Means of what speaks for lower, higher, nearer, further, more in the tails, and for high taken for low."""
    shifts, spreads = [ratio(u, a) for a in SHIFTS], [ratio(u, 0, b) for b in SPREADS]
    tails = np.prod(1 - OUTLYING + OUTLYING / TAIL * (np.abs(u - 0.5) > (1 - TAIL) / 2))
    found = [np.mean(shifts[:3]), np.mean(shifts[3:]), np.mean(spreads[:2]), np.mean(spreads[2:]), tails]
    leans = [] if lean is None else [np.mean([np.prod(1 + c * lean * (2 * u - 1)) for c in LEANS])]
    return np.mean(found + leans)


def test_evidence_is_the_mean_likelihood_ratio_so_far():
    u = np.random.default_rng(0).random(30)
    assert ModelCheck(u).e_values[-1] == pytest.approx(of_all(u))


def test_a_part_of_the_evidence_is_of_groups_each_or_one_of_which_is_off():
    u = np.random.default_rng(0).random(30)
    query, system = np.arange(30) % 3, np.random.default_rng(1).random((30, 2)) < 0.5
    groups = (
        Grouping("query", ("q0", "q1", "q2"), query[:, None] == np.arange(3), True),
        Grouping("system", ("A", "B"), system, False),
    )
    each = np.prod([np.mean([ratio(u[query == code], a) for a in OF_EACH]) for code in range(3)])
    one = [np.mean([ratio(u[query == code], *of) for code in range(3) for of in OF_ONE])]
    one += [np.mean([ratio(u[system[:, code]], *of) for code in range(2) for of in OF_ONE])]
    assert ModelCheck(u, groups).e_values[-1] == pytest.approx((of_all(u) + np.mean([each, *one])) / 2)


def test_half_of_the_evidence_is_of_the_first_judgments_before_the_use_of_the_scale_was_learned():
    rng = np.random.default_rng(0)
    u, before, lean = rng.random(EARLY + 10), rng.random(EARLY + 10), rng.uniform(-1, 1, EARLY + 10)
    expected = (of_all(u, lean) + of_all(before[:EARLY], lean[:EARLY])) / 2
    assert ModelCheck(u, (), before, lean).e_values[-1] == pytest.approx(expected)


def test_a_prediction_leans_by_how_many_deviations_it_lies_above_those_before():
    found = leaning(np.array([0.2, 0.4, 0.5, 0.5, 0.1]))
    assert found[:2].tolist() == [0, 0]
    assert found[2] == pytest.approx(np.tanh((0.5 - 0.3) / 0.1))
    assert found[4] == pytest.approx(np.tanh((0.1 - 0.4) / np.std([0.2, 0.4, 0.5, 0.5])))
    assert leaning(np.full(9, 0.3)).tolist() == [0] * 9


def test_queries_that_are_off_each_in_its_own_way_are_noticed_though_all_together_look_right(pool):
    # Of a third of the queries all grades are high, of a third low: their chances are uniform when put together.
    rng, order = np.random.default_rng(3), np.random.default_rng(4).permutation(len(pool.pairs))[:200]
    side = pool.query[order] % 3
    u = (side + rng.random(200)) / 3
    check = ModelCheck(u, groupings(pool, order))
    assert ModelCheck(u).verdict == "PASS"
    assert check.verdict == "FAIL"
    assert check.against == "grades are off, query by query"
    assert "after" in check.sentence
    row = next(row for row in check.group_rows() if row["group"] == pool.queries[pool.query[order[0]]])
    assert row["judged"] == np.sum(pool.query[order] == pool.query[order[0]])
    assert np.sign(row["bias"]) == [-1, 0, 1][side[0]] or side[0] == 1


def test_one_system_that_is_off_is_noticed_and_all_its_judgments_are_its_row(pool):
    order = np.random.default_rng(4).permutation(len(pool.pairs))[:200]
    groups = groupings(pool, order)
    system = groups[-1].member[:, 0]
    u = np.random.default_rng(0).random(200)
    u[system] = np.maximum(u[system] ** 3, 1e-6)
    check = ModelCheck(u, groups)
    assert check.verdict == "FAIL"
    row = next(row for row in check.group_rows() if (row["kind"], row["group"]) == ("system", groups[-1].names[0]))
    assert row["judged"] == system.sum()
    assert row["bias"] == pytest.approx(norm.ppf(u[system]).mean())
    assert row["tails"] == pytest.approx(np.mean((u[system] < 0.025) | (u[system] > 0.975)))


def test_chances_are_those_of_beliefs_conditioned_one_by_one(pool, estimator):
    rng = np.random.default_rng(4)
    start = estimator.predict(np.full(len(pool.pairs), np.nan)).using(Levels())
    truth, order = drawn(start, rng), rng.permutation(len(pool.pairs))[:25]
    grades = np.full(len(truth), np.nan)
    grades[order] = truth[order]
    found = check_model(estimator, estimator.predict(grades), order, rng=np.random.default_rng(8)).chances
    inside, belief = np.random.default_rng(8).random(len(order)), start
    for place, chance, within in zip(order.tolist(), found, inside, strict=True):
        reached = np.concatenate([[0], np.cumsum(belief.probabilities[place])])
        level = int(np.searchsorted(belief.levels, truth[place]))
        assert chance == pytest.approx(reached[level] + within * (reached[level + 1] - reached[level]), abs=1e-9)
        belief = belief.condition(place, float(truth[place]))


@pytest.mark.slow
def test_a_right_model_is_rarely_refused_whenever_one_looks(pool):
    rng, campaigns = np.random.default_rng(5), 400
    levels = np.array(pool.scale.levels)[5::10]
    chances = rng.dirichlet(np.full(len(levels), 2.0), len(pool.pairs))
    belief = Belief.independent(levels, chances, np.full(len(pool.pairs), np.nan), 100.0, ("made",))
    failed = sum(checked(Fixed(belief), drawn(belief, rng), 200, rng, pool).verdict == "FAIL" for _ in range(campaigns))
    assert failed / campaigns <= 1 / ALARM + 3 * np.sqrt(1 / ALARM / campaigns)


@pytest.mark.parametrize("kind", ["capricious", "harsh", "shuffled", "all or nothing"])
def test_a_collection_unlike_the_model_is_noticed_within_two_hundred_judgments(pool, estimator, kind):
    rng = np.random.default_rng(6)
    # Grades as frequent as they usually are: those of some collection, not of any.
    right = drawn(estimator.predict(np.full(len(pool.pairs), np.nan)).using(Levels()), rng)
    truth = {
        "capricious": rng.integers(0, 101, len(right)).astype(float),
        "harsh": np.floor(right / 2),
        "shuffled": rng.permutation(right),
        "all or nothing": np.where(right > 50, 100.0, 0.0),
    }[kind]
    verdicts = [checked(estimator, truth, 200, rng, pool).verdict for _ in range(20)]
    assert verdicts.count("FAIL") >= 18


def test_a_model_that_is_too_sure_is_widened_by_as_much():
    # A normal chance of a deviation that is truly twice as large: its normal quantiles have a deviation of 2.
    u = norm.cdf(2 * norm.ppf((np.arange(400) + 0.5) / 400))
    check = ModelCheck(np.random.default_rng(1).permutation(u))
    assert check.verdict == "FAIL"
    assert check.factor == pytest.approx(2, abs=0.05)  # of 400 quantiles
    assert re.match(
        r"Model check failed after \d+ judgments: .* Intervals are now [12]\.\d\d times as wide\.$", check.sentence
    )


def test_few_judgments_check_nothing():
    check = ModelCheck(np.random.default_rng(0).permutation(np.linspace(0.01, 0.99, LEAST - 1)))
    assert (check.verdict, check.factor) == ("NOT CHECKED", 1.0)
    nothing = {"fit": "NOT CHECKED", "fit_evidence": 1.0, "fit_against": "", "fit_instead": "", "widened": 1.0}
    nothing["fit_sentence"] = f"Model check: 0 of the {LEAST} judgments it needs."
    assert NOT_CHECKED.to_dict() == nothing
    assert ModelCheck(np.random.default_rng(0).permutation(np.linspace(0.01, 0.99, LEAST))).verdict == "PASS"


def test_a_model_that_reads_judgments_is_not_checked(pool):
    truth = np.full(len(pool.pairs), 55.0)
    truth[::2] = 15.0
    assert checked(built_in(pool, "mjud"), truth, 100, np.random.default_rng(0)).verdict == "NOT CHECKED"
    assert checked(uniform(pool), truth, 100, np.random.default_rng(0)).verdict == "FAIL"


@pytest.fixture(scope="module")
def home():
    """Half of a collection of systems that differ, and a model of the other half."""
    whole = synthetic_collection(np.random.default_rng(1), Design(10, 4, 40, 5, 40), Effects(team=0.1, system=0.05))
    parts = draw_parts(whole, 1, np.random.default_rng(0), held_out="queries")
    model = train([parts[0].rest(whole)], Plan(parse_terms("joint"), folds=0, joint=True)).model
    return parts[0].of(whole), replace(model, between=load_model("joint-fine").between)


@pytest.mark.slow
def test_what_is_stated_of_a_model_that_fails_at_home_is_what_is_held_of_any_collection(home):
    part, model = home
    pool = build_pool(part)
    estimator = estimator_of(pool, model)
    order = np.random.default_rng(2).permutation(len(pool.pairs))[:120]
    grades = np.full(len(pool.pairs), np.nan)
    grades[order] = 100 - pool.spread(part.grades())[order]  # another task: what was relevant is not
    expected = expected_scores(parse_measure("CG@5"), pool)
    found = estimate_pool(expected, estimator, grades, order=order)
    assert (found.check.verdict, found.check.to_dict()["fit_instead"]) == ("FAIL", "general")
    assert "Metadata are now ignored." in found.check.sentence
    bare = build_pool(replace(part, documents={}))
    elsewhere = estimate_pool(
        expected_scores(parse_measure("CG@5"), bare), estimator_of(bare, replace(model, training=None)), grades
    )
    assert found.scores.mean == pytest.approx(elsewhere.scores.mean)
    factor = found.check.factor
    assert found.scores.covariance == pytest.approx(elsewhere.scores.covariance * factor**2 / elsewhere.check.factor**2)


@pytest.mark.slow
def test_a_model_that_fits_at_home_states_what_it_states(home):
    part, model = home
    pool = build_pool(part)
    order = np.random.default_rng(2).permutation(len(pool.pairs))[:120]
    grades = np.full(len(pool.pairs), np.nan)
    grades[order] = pool.spread(part.grades())[order]
    expected, estimator = expected_scores(parse_measure("CG@5"), pool), estimator_of(pool, model)
    found = estimate_pool(expected, estimator, grades, order=order)
    assert found.check.verdict == "PASS"
    assert found.scores.mean.tolist() == expected.scores(estimator.predict(grades)).mean.tolist()


@pytest.mark.slow
def test_an_estimator_that_has_learned_hands_over_a_reserve_that_has_learned_from_the_same(home):
    part, model = home
    pool = build_pool(part)
    estimator, grades = estimator_of(pool, model), np.full(len(pool.pairs), np.nan)
    grades[:60] = pool.spread(part.grades())[:60]
    reserve = estimator.relearned(grades).in_reserve()
    assert reserve.standard_deviations == pytest.approx(estimator.in_reserve().relearned(grades).standard_deviations)
    assert reserve.in_reserve() is None
    assert estimator_of(pool, replace(model, between=None)).in_reserve() is None
