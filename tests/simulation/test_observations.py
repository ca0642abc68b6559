from dataclasses import replace
from itertools import combinations, islice

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import uniform
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.simulation.calibration import Observation, Truth, observation_summary
from audiosim.simulation.trials import selections
from benchmarks.synthetic import Design, synthetic_collection


@pytest.fixture(scope="module")
def pool():
    """6 systems, 30 queries, 5 documents each."""
    return build_pool(synthetic_collection(np.random.default_rng(4), Design(6, 4, 30, 5, 30)))


def cg(pool, gains):
    """(s,) CG@5 by a loop over systems and queries."""
    scores = np.zeros(len(pool.systems))
    for system in range(len(pool.systems)):
        for query in range(len(pool.queries)):
            found = [gains[i] for i in pool.ranks[[system]].indices if pool.query[i] == query]
            scores[system] += sum(found) / 5 / len(pool.queries)
    return scores


@pytest.mark.slow
def test_what_is_said_is_held_against_the_truth_by_loops(pool):
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 101, len(pool.pairs)).astype(float)
    start = Selection.start(pool, parse_measure("CG@5"), uniform(pool), batch=10)
    late = next(islice(selections(start, grades), 299, None))
    seen = Truth.of(start, grades).beside(late)
    judged = late.belief.judged
    assert (seen.judged, judged.sum()) == (299, 299)
    mean = np.where(judged, grades, 50) / 100
    variance = np.where(judged, 0, np.arange(101).var()) / 100**2
    true, expected = cg(pool, grades / 100), cg(pool, mean)
    assert seen.error == pytest.approx(np.abs(true - expected).mean())
    assert seen.bias == pytest.approx((expected - true).mean())
    reach = student.ppf(0.975, len(pool.queries) - 1)
    order = np.argsort(-expected, kind="stable")
    lists = [set(pool.ranks[[system]].indices.tolist()) for system in range(6)]
    share = 1 / 5 / len(pool.queries)
    spread = [np.sqrt(sum(variance[i] for i in found)) * share for found in lists]
    assert seen.inside["systems"] == (sum(abs(true - expected) <= reach * np.array(spread)), 6)
    held, gaps, right, stated = [], [], [], []
    for a, b in combinations(order, 2):
        deviation = np.sqrt(sum(variance[i] for i in lists[a] ^ lists[b])) * share
        gap, claim = true[a] - true[b], expected[a] - expected[b]
        held.append(abs(gap - claim) <= reach * deviation)
        gaps.append(abs(gap))
        right.append(float(gap > 0))
        stated.append(student.cdf(claim / deviation, len(pool.queries) - 1))
    assert seen.inside["differences"] == (sum(held), 15)
    np.testing.assert_allclose(seen.gap, gaps)
    np.testing.assert_allclose(seen.right, right)
    np.testing.assert_allclose(seen.stated, stated)
    hold, open_ = 0, 0
    for query in range(len(pool.queries)):
        of = pool.query == query
        deviation = np.sqrt(variance[of].sum()) / of.sum()
        open_ += deviation > 0
        hold += deviation > 0 and abs(grades[of].mean() / 100 - mean[of].mean()) <= reach * deviation
    assert seen.inside["queries"] == (hold, open_)


@pytest.mark.slow
def test_what_is_known_has_no_interval(pool):
    grades = np.full(len(pool.pairs), 40.0)
    start = Selection.start(pool, parse_measure("CG@5"), uniform(pool), batch=1000)
    *_, last = selections(start, grades)
    seen = Truth.of(start, grades).beside(last)
    assert seen.judged == len(pool.pairs)
    assert dict(seen.inside) == {"systems": (0, 0), "differences": (0, 0), "queries": (0, 0)}
    found = observation_summary([seen, seen], 0.02)
    assert found["coverage"] == dict.fromkeys(found["coverage"])
    assert found["clear"] == {"pairs": 0, "stated": None, "accuracy": None}
    assert found["error"] == pytest.approx(0, abs=1e-12)


@pytest.fixture
def three():
    """Three campaigns, of 3, 1 and 3 pairs of systems."""

    def seen(stated, right, gaps, error, bias, systems):
        inside = {"systems": systems, "differences": (1, 2), "queries": (0, 4)}
        return Observation(
            20,
            np.array(stated),
            np.array(right),
            np.array(gaps),
            error,
            bias,
            inside,
            1 - error,
            1 - 2 * error,
            3 * error,
        )

    return [
        seen([0.9, 0.8, 0.6], [1, 1, 0], [0.3, 0.01, 0.02], 0.1, 0.05, (3, 3)),
        seen([0.7], [0.5], [0.0], 0.3, -0.3, (1, 2)),
        seen([1.0, 0.9, 0.55], [1, 0, 1], [0.05, 0.03, 0.0], 0.2, 0.1, (2, 3)),
    ]


def test_a_summary_has_means_over_the_campaigns_with_their_standard_errors(three):
    found = observation_summary(three, 0.02)
    stated, accuracy = [2.3 / 3, 0.7, 2.45 / 3], [2 / 3, 0.5, 2 / 3]
    columns = {
        "judged": [20, 20, 20],
        "stated": stated,
        "accuracy": accuracy,
        "error": [0.1, 0.3, 0.2],
        "bias": [0.05, -0.3, 0.1],
        "tau": [0.9, 0.7, 0.8],
        "rho": [0.8, 0.4, 0.6],
        "rmse_differences": [0.3, 0.9, 0.6],
    }
    columns["excess"] = np.subtract(stated, accuracy)
    for name, values in columns.items():
        assert found[name] == pytest.approx(np.mean(values))
        assert found[f"{name}_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert found["by_part"]["stated"] == pytest.approx(stated)
    assert found["by_part"]["accuracy"] == pytest.approx(accuracy)
    assert found["by_part"]["error"] == [0.1, 0.3, 0.2]
    # For the seven claims; (confidence, right) in bins .5: (.55, 1); .6: (.6, 0); .7: (.7, .5); .8: (.8, 1);
    # .9: (.9, 1), (.9, 0); .99: (1, 1).
    assert found["calibration_error"] == pytest.approx((0.45 + 0.6 + 0.2 + 0.2 + 0.8 + 0) / 7)
    assert found["brier"] == pytest.approx((0.45**2 + 0.6**2 + 0.2**2 + 0.2**2 + 0.1**2 + 0.9**2) / 7)


def test_clear_differences_are_those_above_a_size(three):
    # Three of seven are above .02: .3, .05 and .03.
    assert observation_summary(three, 0.02)["clear"] == pytest.approx(
        {"pairs": 3 / 7, "stated": 2.8 / 3, "accuracy": 2 / 3}
    )
    assert observation_summary(three, 0.04)["clear"] == pytest.approx({"pairs": 2 / 7, "stated": 0.95, "accuracy": 1})
    assert observation_summary(three, 0.0)["clear"]["pairs"] == pytest.approx(5 / 7)
    assert observation_summary(three, 1)["clear"] == {"pairs": 0, "stated": None, "accuracy": None}


def test_coverage_is_the_share_of_all_intervals_with_its_jackknife_error(three):
    found = observation_summary(three, 0.02)["coverage"]
    assert list(found) == ["systems", "systems_error", "differences", "differences_error", "queries", "queries_error"]
    left = [3 / 5, 5 / 6, 4 / 5]
    assert found["systems"] == pytest.approx(6 / 8)
    assert found["systems_error"] == pytest.approx(np.sqrt(2 / 3 * sum((np.array(left) - np.mean(left)) ** 2)))
    assert (found["differences"], found["queries"]) == (0.5, 0)
    assert found["differences_error"] == found["queries_error"] == 0


def test_one_campaign_has_no_errors(three):
    found = observation_summary(three[:1], 0.02)
    errors = {key: value for key, value in found.items() if key.endswith("_error") and key != "calibration_error"}
    assert len(errors) == 10
    assert set(errors.values()) == {None}
    assert [found["coverage"][f"{kind}_error"] for kind in ("systems", "differences", "queries")] == [None] * 3


class Known:
    """Knows the distribution from which each grade was drawn by itself: a normal cut to the levels of the scale."""

    name = "known"

    def __init__(self, pool, mean, deviation):
        self.levels = np.array(pool.scale.levels)
        self.reached = norm.cdf((self.levels[:-1] + self.levels[1:])[None] / 2, mean[:, None], deviation[:, None])
        self.probabilities = np.diff(self.reached, axis=1, prepend=0, append=1)

    def predict(self, grades):
        return Belief.independent(self.levels, self.probabilities, grades, self.levels[-1], (self.name,))

    def grades(self, rng):
        return self.levels[(rng.random((len(self.reached), 1)) > self.reached).sum(axis=1)]


def worlds(pool, boldness=1.0):
    """Campaigns in 120 worlds with freshly drawn grades, and their statements before and after 40 judgments.

    boldness  factor by which the stated standard deviations are too small
    """
    start, late = [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        mean, deviation = rng.uniform(49, 51, len(pool.pairs)), rng.uniform(8, 14, len(pool.pairs))
        grades = Known(pool, mean, deviation).grades(rng)
        estimator = Known(pool, mean, deviation / boldness)
        first = Selection.start(pool, parse_measure("CG@5"), estimator, batch=20, seed=seed)
        first = replace(first, checks=False)  # a check would notice and correct the boldness
        last = next(islice(selections(first, grades), 40, None))
        truth = Truth.of(first, grades)
        start.append(truth.beside(first))
        late.append(truth.beside(last))
    return start, late


@pytest.mark.slow
def test_claims_of_a_model_that_knows_are_true_as_often_as_they_say(pool):
    # Sums of many independent grades are normal; the t distribution is slightly too wide for exact knowledge.
    expected = 2 * norm.cdf(student.ppf(0.975, len(pool.queries) - 1)) - 1
    assert expected == pytest.approx(0.959, abs=0.001)
    for judged, seen in zip((0, 40), worlds(pool), strict=True):
        found = observation_summary(seen, 0.02)
        assert found["judged"] == judged
        # The wider distribution states up to .003 too little; otherwise within four standard errors.
        assert abs(found["excess"]) < 4 * found["excess_error"] + 0.003
        assert found["calibration_error"] < 4 * found["calibration_error_error"] + 0.003
        assert found["calibration_error"] < 0.05
        for kind in ("systems", "differences", "queries"):
            assert abs(found["coverage"][kind] - expected) < 4 * found["coverage"][f"{kind}_error"]


@pytest.mark.slow
def test_claims_of_a_model_that_is_too_sure_are_shown_to_be(pool):
    for seen in worlds(pool, boldness=3):
        found = observation_summary(seen, 0.02)
        assert found["excess"] > 3 * found["excess_error"] > 0.01
        assert found["calibration_error"] > 3 * found["calibration_error_error"] > 0.01
        # Intervals with a third of their width: 2 Phi(2.045 / 3) - 1.
        for kind in ("systems", "differences", "queries"):
            assert abs(found["coverage"][kind] - 0.504) < 4 * found["coverage"][f"{kind}_error"]
