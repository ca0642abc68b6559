"""The sequential check of a model: against its definition judgment by judgment, and on data made to fit it or not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from audiosim.corpus.pool import build_pool
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import built_in, uniform
from audiosim.relevance.model_check import ALARM, LEAST, NOT_CHECKED, SHIFTS, SPREADS, ModelCheck, check_model
from audiosim.simulate import Design, synthetic_collection


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


def checked(estimator, truth, count, rng):
    order = rng.permutation(len(truth))[:count]
    grades = np.full(len(truth), np.nan)
    grades[order] = truth[order]
    return check_model(estimator, grades, order)


def test_the_densities_against_the_model_are_densities():
    for a in SHIFTS:
        assert quad(lambda u, a=a: 1 + a * (2 * u - 1), 0, 1)[0] == pytest.approx(1)
    for b in SPREADS:
        assert quad(lambda u, b=b: 1 + b * (6 * u**2 - 6 * u + 1), 0, 1)[0] == pytest.approx(1)
        assert min(1 + b * (6 * u**2 - 6 * u + 1) for u in np.linspace(0, 1, 101)) > 0


def test_evidence_is_the_mean_likelihood_ratio_so_far():
    u = np.random.default_rng(0).random(30)
    expected = np.mean(
        [np.prod(1 + a * (2 * u - 1)) for a in SHIFTS] + [np.prod(1 + b * (6 * u**2 - 6 * u + 1)) for b in SPREADS]
    )
    assert ModelCheck(u).e_values[-1] == pytest.approx(expected)


def test_chances_are_those_of_beliefs_conditioned_one_by_one(pool, estimator):
    rng = np.random.default_rng(4)
    start = replace(estimator.predict(np.full(len(pool.pairs), np.nan)), width=1.0)
    truth, order = drawn(start, rng), rng.permutation(len(pool.pairs))[:25]
    grades = np.full(len(truth), np.nan)
    grades[order] = truth[order]
    found = check_model(estimator, grades, order, np.random.default_rng(8)).chances
    inside, belief = np.random.default_rng(8).random(len(order)), start
    for place, chance, within in zip(order.tolist(), found, inside, strict=True):
        reached = np.concatenate([[0], np.cumsum(belief.probabilities[place])])
        level = int(np.searchsorted(belief.levels, truth[place]))
        assert chance == pytest.approx(reached[level] + within * (reached[level + 1] - reached[level]), abs=1e-9)
        belief = belief.condition(place, float(truth[place]))


def test_a_right_model_is_rarely_refused_whenever_one_looks(pool):
    rng, campaigns = np.random.default_rng(5), 400
    levels = np.array(pool.scale.levels)[5::10]
    chances = rng.dirichlet(np.full(len(levels), 2.0), len(pool.pairs))
    belief = Belief.independent(levels, chances, np.full(len(pool.pairs), np.nan), 100.0, ("made",))
    failed = sum(checked(Fixed(belief), drawn(belief, rng), 200, rng).verdict == "FAIL" for _ in range(campaigns))
    assert failed / campaigns <= 1 / ALARM + 3 * np.sqrt(1 / ALARM / campaigns)


@pytest.mark.parametrize("kind", ["capricious", "harsh", "shuffled", "all or nothing"])
def test_a_collection_unlike_the_model_is_noticed_within_two_hundred_judgments(pool, estimator, kind):
    rng = np.random.default_rng(6)
    # Grades as frequent as they usually are: those of some collection, not of any.
    right = drawn(replace(estimator.predict(np.full(len(pool.pairs), np.nan)), width=1.0), rng)
    truth = {
        "capricious": rng.integers(0, 101, len(right)).astype(float),
        "harsh": np.floor(right / 2),
        "shuffled": rng.permutation(right),
        "all or nothing": np.where(right > 50, 100.0, 0.0),
    }[kind]
    verdicts = [checked(estimator, truth, 200, rng).verdict for _ in range(20)]
    assert verdicts.count("FAIL") >= 18


def test_a_model_that_is_too_sure_is_widened_by_as_much():
    # A normal chance of a deviation that is truly twice as large: its normal quantiles have a deviation of 2.
    u = norm.cdf(2 * norm.ppf((np.arange(400) + 0.5) / 400))
    check = ModelCheck(np.random.default_rng(1).permutation(u))
    assert check.verdict == "FAIL"
    assert check.factor == pytest.approx(2, abs=0.05)  # of 400 quantiles
    assert "does not fit" in check.sentence


def test_few_judgments_check_nothing():
    check = ModelCheck(np.random.default_rng(0).permutation(np.linspace(0.01, 0.99, LEAST - 1)))
    assert (check.verdict, check.factor) == ("NOT CHECKED", 1.0)
    assert NOT_CHECKED.to_dict() == {"fit": "NOT CHECKED", "fit_evidence": 1.0, "widened": 1.0}
    assert ModelCheck(np.random.default_rng(0).permutation(np.linspace(0.01, 0.99, LEAST))).verdict == "PASS"


def test_a_model_that_reads_judgments_is_not_checked(pool):
    truth = np.full(len(pool.pairs), 55.0)
    truth[::2] = 15.0
    assert checked(built_in(pool, "mjud"), truth, 100, np.random.default_rng(0)).verdict == "NOT CHECKED"
    assert checked(uniform(pool), truth, 100, np.random.default_rng(0)).verdict == "FAIL"
