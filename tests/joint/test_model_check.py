"""The sequential check of a model: compared with its definition, and on data that fit the model or not."""

import re
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, mean_grades
from audiosim.joint.check import (
    ALARM,
    DRIFT,
    FARTHEST,
    FURTHER,
    LEAST,
    NOT_CHECKED,
    ModelCheck,
    Prequential,
    check_model,
    further_off,
    groupings,
    leaning,
    of_pairs,
    of_spread,
    of_sums,
)
from audiosim.joint.estimators import estimator_of, make_estimator, uniform
from audiosim.joint.levels import Levels
from audiosim.joint.people import Panel
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import load_model
from audiosim.ranking.expected import expected_scores, rank_belief
from audiosim.simulation.trials import draw_parts
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train
from benchmarks.synthetic import Design, Effects, synthetic_collection


@pytest.fixture(scope="module")
def pool():
    return build_pool(synthetic_collection(np.random.default_rng(3), Design(10, 4, 20, 5, 40)))


@pytest.fixture(scope="module")
def estimator(pool):
    return make_estimator(pool, "joint")


@dataclass(frozen=True)
class Fixed:
    """An estimator with a fixed belief."""

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


# Robbins (1970): the mixture over a normal drift, by numerical integration of the likelihood ratios themselves.
@pytest.mark.slow
def test_the_evidence_of_a_sum_is_the_likelihood_ratio_averaged_over_a_normal_drift():
    rng = np.random.default_rng(0)
    error, deviation, weight = rng.normal(size=12), rng.uniform(0.5, 2, 12), rng.normal(size=12)
    found = of_sums(weight[None], error, deviation)
    total, variance = np.cumsum(weight * error), np.cumsum((weight * deviation) ** 2)
    tilt = norm(scale=1 / np.sqrt(DRIFT * variance[-1]))  # the tilt in exp(t S - t^2 V / 2)
    for s, v, logarithm in zip(total, variance, found, strict=True):
        mixed = quad(lambda t, s=s, v=v: tilt.pdf(t) * np.exp(t * s - t**2 * v / 2), -20, 20, points=[0], limit=200)[0]
        assert np.exp(logarithm) == pytest.approx(mixed, rel=1e-6)


# The same for a sum that can only rise: Robbins's mixture over a half-normal drift.
@pytest.mark.slow
def test_the_evidence_of_a_rising_sum_is_the_likelihood_ratio_averaged_over_a_half_normal_drift():
    rng = np.random.default_rng(0)
    error, deviation, weight = rng.normal(size=12), rng.uniform(0.5, 2, 12), rng.normal(size=12)
    found = of_sums(weight[None], error, deviation, rising=True)
    total, variance = np.cumsum(weight * error), np.cumsum((weight * deviation) ** 2)
    tilt = norm(scale=1 / np.sqrt(DRIFT * variance[-1]))
    for s, v, logarithm in zip(total, variance, found, strict=True):
        mixed = quad(lambda t, s=s, v=v: 2 * tilt.pdf(t) * np.exp(t * s - t**2 * v / 2), 0, 20, limit=200)[0]
        assert np.exp(logarithm) == pytest.approx(mixed, rel=1e-6)


def test_the_evidence_of_several_sums_is_the_mean_of_theirs():
    rng = np.random.default_rng(1)
    error, deviation, weights = rng.normal(size=9), rng.uniform(0.5, 2, 9), rng.normal(size=(4, 9))
    each = [np.exp(of_sums(row[None], error, deviation)) for row in weights]
    np.testing.assert_allclose(np.exp(of_sums(weights, error, deviation)), np.mean(each, axis=0))
    np.testing.assert_allclose(
        of_sums(np.vstack([weights, np.zeros(9)]), error, deviation), np.log(np.mean(each, axis=0))
    )
    assert of_sums(np.zeros((1, 9)), error, deviation).tolist() == [0] * 9


def test_the_evidence_of_the_spread_is_the_ratio_of_normal_densities():
    z = np.array([0.3, -1.2, 2.5, 0.1])
    ratios = norm.logpdf(z, scale=np.sqrt(FURTHER)) - norm.logpdf(z)
    np.testing.assert_allclose(of_spread(z, 6), [*np.cumsum(ratios), np.sum(ratios), np.sum(ratios)])
    np.testing.assert_allclose(of_spread(np.array([99.0]), 1), of_spread(np.array([FARTHEST]), 1))


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_few_systems_have_all_their_pairs(count):
    systems = np.eye(count)
    found = {tuple(sorted(map(int, np.flatnonzero(row)))) for row in of_pairs(systems)}
    assert found == set(combinations(range(count), 2))
    assert len(of_pairs(np.eye(1))) == 0
    assert len(of_pairs(np.ones((3000, 2)))) == 3000


@pytest.mark.slow
def test_sums_twice_as_far_off_are_told_so():
    rng = np.random.default_rng(2)
    deviation, weights = rng.uniform(0.5, 2, 400), rng.random((900, 400)) < 0.5
    errors = 2 * deviation * rng.normal(size=(300, 400))
    squares = [further_off([weights.astype(float)], error, deviation) ** 2 for error in errors]
    assert np.mean(squares) == pytest.approx(4, rel=0.15)  # the sums overlap, so the standard error is .07 of it
    assert further_off([], np.ones(3), np.ones(3)) == 1


def test_a_prediction_leans_by_how_much_it_lies_above_those_before():
    found = leaning(np.array([0.2, 0.4, 0.5, 0.5, 0.1]))
    np.testing.assert_allclose(found, [0, 0, 0.2, 0.5 - 1.1 / 3, 0.1 - 0.4])
    np.testing.assert_allclose(leaning(np.full(9, 0.3)), np.zeros(9), atol=1e-15)


def test_errors_are_those_of_beliefs_conditioned_one_by_one(pool, estimator):
    rng = np.random.default_rng(4)
    belief = estimator.predict(np.full(len(pool.pairs), np.nan))
    truth, order = drawn(belief, rng), rng.permutation(len(pool.pairs))[:25]
    grades = np.full(len(truth), np.nan)
    grades[order] = truth[order]
    found = Prequential.of(estimator.predict(grades), order)
    for place, mean, error, deviation in zip(order.tolist(), found.mean, found.error, found.deviation, strict=True):
        assert mean == pytest.approx(belief.gains.mean[place])
        assert error == pytest.approx(truth[place] / belief.maximum - belief.gains.mean[place])
        assert deviation == pytest.approx(np.sqrt(belief.gains.variance[place]))
        belief = belief.condition(place, float(truth[place]))


def test_groups_that_are_off_have_rows_to_look_at(pool):
    order = np.random.default_rng(4).permutation(len(pool.pairs))[:200]
    groups = groupings(pool, order)
    system = groups[-1].member[:, 0]
    u = np.random.default_rng(0).random(200)
    u[system] = np.maximum(u[system] ** 3, 1e-6)
    check = ModelCheck(len(u), lambda: u, lambda: groups)
    row = next(row for row in check.group_rows() if (row["kind"], row["group"]) == ("system", groups[-1].names[0]))
    assert row["judged"] == system.sum()
    assert row["bias"] == pytest.approx(norm.ppf(u[system]).mean())
    assert row["tails"] == pytest.approx(np.mean((u[system] < 0.025) | (u[system] > 0.975)))


def test_what_is_only_displayed_of_a_check_is_computed_when_it_is_asked_for(pool, estimator):
    order = np.arange(9)
    grades = np.full(len(pool.pairs), np.nan)
    grades[order] = 50.0
    belief = estimator.predict(grades)
    check = check_model(estimator, belief, order, pool)
    assert (check.judged, "gains" in vars(belief), "reading" in vars(belief)) == (9, False, False)
    assert len(check.chances()) == 9
    assert "reading" in vars(belief)


def test_one_person_changes_nothing_of_what_is_computed(pool, estimator):
    judgments = [Judgment(*pair, 50.0, "ann") for pair in pool.pairs[:9]]
    grades = pool.spread(mean_grades(judgments))
    belief, alone = estimator.predict(grades), Panel.of(pool, judgments)
    heard = belief.heard(estimator.hearing(alone).predict(grades).people)
    assert np.array_equal(heard.gains.mean, belief.gains.mean)
    assert belief.heard(heard.people).gains is belief.gains
    two = Panel.of(pool, [*judgments, Judgment(*pool.pairs[0], 50.0, "bob")])
    several = belief.heard(estimator.hearing(two).predict(grades).people)
    assert not np.array_equal(several.gains.variance, belief.gains.variance)


@pytest.mark.slow
def test_chances_are_those_of_beliefs_conditioned_one_by_one(pool, estimator):
    rng = np.random.default_rng(4)
    start = estimator.predict(np.full(len(pool.pairs), np.nan))
    truth, order = drawn(start, rng), rng.permutation(len(pool.pairs))[:25]
    grades = np.full(len(truth), np.nan)
    grades[order] = truth[order]
    found = check_model(estimator, estimator.predict(grades), order).chances()
    inside, belief = np.random.default_rng(0).random(len(order)), start
    for place, chance, within in zip(order.tolist(), found, inside, strict=True):
        reached = np.concatenate([[0], np.cumsum(belief.probabilities[place])])
        level = int(np.searchsorted(belief.levels, truth[place]))
        assert chance == pytest.approx(reached[level] + within * (reached[level + 1] - reached[level]), abs=1e-9)
        belief = belief.condition(place, float(truth[place]))


@dataclass(frozen=True)
class Rivalled(Fixed):
    """An estimator with a fixed belief, and another belief in reserve."""

    rival: Belief | None = None

    def unlearned(self):
        return self

    def in_reserve(self):
        return Fixed(self.rival)


def independent(pool, chances):
    levels = np.array(pool.scale.levels)[5::10]
    return Belief.independent(levels, chances, np.full(len(pool.pairs), np.nan), 100.0, ("made",))


RIVAL = "the general model predicts grades better"


@pytest.mark.slow
@pytest.mark.parametrize("told", ["own", "rival"])
def test_a_model_whose_rival_is_right_is_told_by_what_they_differ_in_alone(pool, told):
    # Both are equally certain, and right on average over pairs, but one has the pairs' expectations in another order.
    rng = np.random.default_rng(11)
    chances = rng.dirichlet(np.full(len(np.array(pool.scale.levels)[5::10]), 2.0), len(pool.pairs))
    own, rival = independent(pool, chances), independent(pool, rng.permutation(chances))
    seen = []
    for _ in range(60):
        truth = drawn(own if told == "own" else rival, rng)
        evidence = {one.said: one for one in checked(Rivalled(own, rival=rival), truth, 200, rng, pool).evidence}
        seen.append(float(np.exp(evidence[RIVAL].logarithms[-1])))
    if told == "own":
        assert np.mean(seen) < 1 + 3 * np.std(seen) / np.sqrt(len(seen))  # an e-value
        assert np.mean(np.array(seen) >= ALARM) <= 1 / ALARM
    else:
        assert np.median(seen) > ALARM


def test_a_model_without_another_in_reserve_has_no_rival(pool, estimator):
    truth = drawn(estimator.predict(np.full(len(pool.pairs), np.nan)), np.random.default_rng(0))
    kinds = [one.said for one in checked(uniform(pool), truth, 60, np.random.default_rng(0), pool).evidence]
    assert RIVAL not in kinds
    assert len(kinds) == 5


@pytest.mark.slow
def test_a_right_model_is_rarely_refused_whenever_one_looks(pool):
    rng, campaigns = np.random.default_rng(5), 400
    levels = np.array(pool.scale.levels)[5::10]
    chances = rng.dirichlet(np.full(len(levels), 2.0), len(pool.pairs))
    belief = Belief.independent(levels, chances, np.full(len(pool.pairs), np.nan), 100.0, ("made",))
    failed = sum(checked(Fixed(belief), drawn(belief, rng), 200, rng, pool).verdict == "FAIL" for _ in range(campaigns))
    assert failed / campaigns <= 1 / ALARM + 3 * np.sqrt(1 / ALARM / campaigns)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["capricious", "harsh", "shuffled", "all or nothing"])
def test_a_collection_unlike_the_model_is_noticed_within_two_hundred_judgments(pool, kind):
    rng = np.random.default_rng(6)
    # A model at home, which is certain of the level of grades; away from home any level is possible.
    estimator = estimator_of(pool, replace(load_model("joint-fine"), between=None, training=None))
    belief, verdicts = estimator.predict(np.full(len(pool.pairs), np.nan)).using(Levels()), []
    for _ in range(20):
        right = drawn(belief, rng)
        truth = {
            "capricious": rng.integers(0, 101, len(right)).astype(float),
            "harsh": np.floor(right / 2),
            "shuffled": rng.permutation(right),
            "all or nothing": np.where(right > 50, 100.0, 0.0),
        }[kind]
        verdicts.append(checked(estimator, truth, 200, rng, pool).verdict)
    assert verdicts.count("FAIL") >= 18


def test_a_model_that_is_too_sure_is_widened_by_as_much(pool):
    # Gains with twice the deviation of the belief.
    rng = np.random.default_rng(1)
    mean, spread = np.full(len(pool.pairs), 0.5), np.full(len(pool.pairs), 0.0025)
    levels = np.linspace(0, 100, 101)
    chances = np.diff(norm.cdf((np.arange(102) - 0.5) / 100, mean[0], np.sqrt(spread[0])))
    chances = np.tile(chances / chances.sum(), (len(mean), 1))
    belief = Belief.independent(levels, chances, np.full(len(mean), np.nan), 100.0, ("made",))
    truth = np.clip(np.round(100 * (mean + 2 * np.sqrt(spread) * rng.normal(size=len(mean)))), 0, 100)
    check = checked(Fixed(belief), truth, 200, rng, pool)
    assert check.verdict == "FAIL"
    assert check.factor == pytest.approx(2, abs=0.4)  # from 200 judgments and overlapping sums
    assert re.match(
        r"Model check failed after \d+ judgments: .* Intervals are now [12]\.\d\d times as wide\.$", check.sentence
    )


def test_a_model_that_is_too_modest_is_not_refused(pool):
    rng = np.random.default_rng(1)
    levels, chances = np.linspace(0, 100, 11), np.full((len(pool.pairs), 11), 1 / 11)
    belief = Belief.independent(levels, chances, np.full(len(pool.pairs), np.nan), 100.0, ("made",))
    check = checked(Fixed(belief), 50 + 10 * rng.integers(-1, 2, len(pool.pairs)).astype(float), 250, rng, pool)
    assert check.verdict == "PASS"
    assert check.e_values.max() < 2


def test_few_judgments_check_nothing(pool, estimator):
    truth = drawn(estimator.predict(np.full(len(pool.pairs), np.nan)), np.random.default_rng(0))
    check = checked(estimator, truth, LEAST - 1, np.random.default_rng(0), pool)
    assert (check.verdict, check.factor) == ("NOT CHECKED", 1.0)
    nothing = {"fit": "NOT CHECKED", "fit_evidence": 1.0, "fit_against": "", "fit_instead": "", "widened": 1.0}
    nothing["fit_sentence"] = f"Model check: 0 of the {LEAST} judgments it needs to pass."
    assert NOT_CHECKED.to_dict() == nothing
    assert checked(estimator, truth, LEAST, np.random.default_rng(0), pool).verdict == "PASS"


def test_a_model_that_reads_judgments_is_not_checked(pool):
    truth = np.full(len(pool.pairs), 55.0)
    truth[::2] = 15.0
    check = checked(make_estimator(pool, "mjud"), truth, 100, np.random.default_rng(0))
    assert check.verdict == "NOT CHECKED"
    assert check.sentence == "Model check: none is possible, as the model predicts from the judgments themselves."
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
    grades[order] = 100 - pool.spread(part.grades())[order]  # another task: relevant documents are not relevant
    expected = expected_scores(parse_measure("CG@5"), pool)
    found = rank_belief(expected, estimator, estimator.predict(grades), order=order)
    assert (found.check.verdict, found.check.to_dict()["fit_instead"]) == ("FAIL", "general")
    assert "Metadata are now ignored." in found.check.sentence
    bare = build_pool(replace(part, documents={}))
    apart = estimator_of(bare, replace(model, training=None))
    elsewhere = rank_belief(expected_scores(parse_measure("CG@5"), bare), apart, apart.predict(grades))
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
    found = rank_belief(expected, estimator, estimator.predict(grades), order=order)
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


@pytest.mark.slow
def test_all_who_hear_the_same_people_have_one_reserve_that_learned_once(home):
    part, model = home
    pool = build_pool(part)
    judgments = part.judgments[:60]
    estimator = estimator_of(pool, model).relearned(pool.spread(mean_grades(judgments)))
    heard = [estimator.hearing(Panel.of(pool, judgments)).in_reserve() for _ in range(2)]
    assert heard[0].standard_deviations is heard[1].standard_deviations  # not learned twice
    fewer = estimator.relearned(pool.spread(mean_grades(judgments[:50])))
    assert fewer.in_reserve().standard_deviations != heard[0].standard_deviations
