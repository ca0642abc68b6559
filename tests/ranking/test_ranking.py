"""Confidence in the order of systems, compared with scipy's distributions and with draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audiosim import estimate
from audiosim.measures.measure import parse_measure
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.scores import SystemScores
from audiosim.stats.normal.multivariate import Moments

CG = parse_measure("CG@5")
MEAN = np.array([0.3, 0.6, 0.55, 0.1])
FACTOR = np.array([[0.05, 0.01, 0, 0], [0.02, 0.06, 0.01, 0], [0, 0.03, 0.05, 0.02], [0.01, 0, 0, 0.04]])
SCORES = Moments(MEAN, FACTOR @ FACTOR.T)


def ranking_of(scores=SCORES, measure=CG, queries=12, distribution="t", draws=None):
    systems = tuple("ABCDEFGH"[: len(scores.mean)])
    found = SystemScores(scores.mean, scores.covariance, queries, 40, measure.bounded, distribution, draws=draws)
    return Ranking(measure, "made up", systems, found, 3, 40)


def scipy_of(ranking):
    return stats.norm() if ranking.scores.distribution == "normal" else stats.t(max(1, ranking.scores.queries - 1))


def by_hand(ranking):
    """Expectation and standard deviation of each pair's difference, the better system first."""
    order = sorted(range(len(ranking.systems)), key=lambda a: -ranking.scores.mean[a])
    mean, s = ranking.scores.mean, ranking.scores.covariance
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    return pairs, *np.array([(mean[a] - mean[b], np.sqrt(s[a, a] + s[b, b] - 2 * s[a, b])) for a, b in pairs]).T


@pytest.mark.parametrize("distribution", ["t", "normal"])
@pytest.mark.parametrize("queries", [1, 2, 12])
def test_confidences_are_those_of_scipy_s_distributions(distribution, queries):
    ranking = ranking_of(queries=queries, distribution=distribution)
    pairs, expectation, deviation = by_hand(ranking)
    assert list(zip(*ranking.scores.pairs, strict=True)) == pairs
    np.testing.assert_allclose(ranking.scores.differences, [expectation, deviation**2], rtol=1e-12)
    expected = scipy_of(ranking).cdf(expectation / deviation)
    np.testing.assert_allclose(ranking.scores.confidences, expected, rtol=1e-12)
    assert ranking.confidence == pytest.approx(expected.mean(), rel=1e-12)


@pytest.mark.parametrize("distribution", ["t", "normal"])
@pytest.mark.parametrize("size", [0.0, 0.02, 0.1, 0.7])
def test_the_chances_of_a_difference_of_some_size_are_those_of_scipy(distribution, size):
    ranking = ranking_of(distribution=distribution)
    _, expectation, deviation = by_hand(ranking)
    one = scipy_of(ranking)
    above = one.sf((size - expectation) / deviation)
    below = one.cdf((-size - expectation) / deviation)
    np.testing.assert_allclose(ranking.scores.above(size), above, rtol=1e-9)
    np.testing.assert_allclose(ranking.scores.larger(size), above + below, rtol=1e-9)
    np.testing.assert_allclose(
        ranking.scores.settled(size), np.max([above, below, 1 - above - below], axis=0), rtol=1e-9
    )


def test_the_chances_of_a_difference_of_some_size_are_shares_of_draws():
    # 200,000 draws of all four scores at once: a share has a standard error of .0011 at most; four of them.
    drawn = np.random.default_rng(2).multivariate_normal(SCORES.mean, SCORES.covariance, 200_000)
    ranking = ranking_of(distribution="normal")
    better, worse = ranking.scores.pairs
    gaps = drawn[:, better] - drawn[:, worse]
    for size in (0.0, 0.03, 0.1):
        above, below = (gaps > size).mean(axis=0), (gaps < -size).mean(axis=0)
        verdicts = [above, below, 1 - above - below]
        np.testing.assert_allclose(ranking.scores.above(size), above, atol=0.0045)
        np.testing.assert_allclose(ranking.scores.larger(size), above + below, atol=0.0045)
        np.testing.assert_allclose(ranking.scores.settled(size), np.max(verdicts, axis=0), atol=0.0045)


def known(*means):
    return ranking_of(Moments(np.array(means), np.zeros((len(means), len(means)))))


def test_what_is_known_is_certain_and_a_known_tie_counts_for_nothing():
    ranking = known(0.5, 0.25, 0.5)
    assert list(zip(*ranking.scores.pairs, strict=True)) == [(0, 2), (0, 1), (2, 1)]
    assert ranking.scores.confidences.tolist() == [1, 1, 1]
    assert ranking.scores.tied.tolist() == [True, False, False]
    assert ranking.confidence == 1
    assert ranking.scores.above(0.125).tolist() == [0, 1, 1]
    assert ranking.scores.above(0.25).tolist() == [0, 0.5, 0.5]
    assert ranking.scores.larger(0.125).tolist() == [0, 1, 1]
    assert ranking.scores.larger(0.5).tolist() == [0, 0, 0]
    assert ranking.scores.settled(0.125).tolist() == [1, 1, 1]
    assert ranking.scores.settled(0.5).tolist() == [1, 1, 1]


def test_of_a_single_system_there_is_nothing_to_order():
    ranking = known(0.5)
    assert (ranking.confidence, ranking.pair_rows()) == (None, [])


def test_wholly_correlated_systems_differ_for_sure():
    # One random score, one constant above it: the difference is known up to rounding, which is no uncertainty.
    one, off = np.full((2, 2), 1 / 3), 4 * np.finfo(float).eps * (1 - np.eye(2))
    ranking = ranking_of(Moments(np.array([0.7, 0.4]), one * (1 - off)))
    assert ranking.scores.differences[1].tolist() == [0]
    assert ranking.confidence == 1


scores = st.lists(st.floats(0, 1), min_size=2, max_size=6)


@pytest.mark.slow
@given(scores, st.floats(0, 1), st.sampled_from(["t", "normal"]), st.integers(0, 99))
def test_chances_are_chances_and_fall_with_the_size(means, size, distribution, seed):
    factor = np.random.default_rng(seed).normal(size=(len(means), 3)) / 10
    ranking = ranking_of(Moments(np.array(means), factor @ factor.T), distribution=distribution)
    assert np.all((ranking.scores.confidences >= 0.5) & (ranking.scores.confidences <= 1))
    for chances in (ranking.scores.above(size), ranking.scores.larger(size), ranking.scores.settled(size)):
        assert np.all((chances >= 0) & (chances <= 1 + 1e-15))
    assert np.all(ranking.scores.above(size) <= ranking.scores.confidences + 1e-15)
    assert np.all(ranking.scores.larger(size) >= ranking.scores.above(size))
    assert np.all(ranking.scores.settled(size) >= 1 / 3 - 1e-15)
    np.testing.assert_allclose(ranking.scores.settled(0), ranking.scores.confidences, rtol=1e-15)


@pytest.mark.parametrize("distribution", ["t", "normal"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_are_those_of_scipy(distribution, level):
    ranking = ranking_of(distribution=distribution)
    deviation = np.sqrt(np.diagonal(SCORES.covariance))
    low, high = scipy_of(ranking).interval(level)
    expected = np.clip([MEAN + low * deviation, MEAN + high * deviation], 0, 1)
    np.testing.assert_allclose(ranking.scores.interval(level), expected, rtol=1e-9)
    assert ranking.scores.quantile(level) == pytest.approx(high, rel=1e-9)


def test_intervals_are_cut_where_scores_end():
    scores = Moments(np.array([0.95, 0.02, 7.0]), np.diag([0.01, 0.01, 0.01]))
    low, high = ranking_of(scores).scores.interval()
    assert (low[1], high[0]) == (0, 1)
    half = stats.t(11).ppf(0.975) * 0.1
    for written in ("CG(form=original)@5", "DCG(form=original)@5", "EDCG(form=original)@5"):
        low, high = ranking_of(scores, parse_measure(written)).scores.interval()
        assert high == pytest.approx([0.95 + half, 0.02 + half, 7 + half])
        assert low == pytest.approx([0.95 - half, 0, 7 - half])


def test_the_error_of_simulated_scores_is_that_of_a_mean_of_draws():
    assert ranking_of().scores.errors is None
    spread = np.sqrt(np.diagonal(SCORES.covariance))
    np.testing.assert_allclose(ranking_of(draws=400).scores.errors, spread / 20, rtol=1e-14)


def test_more_certain_scores_never_make_the_confidence_of_a_difference_fall():
    narrow = Moments(SCORES.mean, SCORES.covariance / 4)
    assert np.all(ranking_of(narrow).scores.confidences >= ranking_of().scores.confidences)


def test_a_ranking_turns_into_pandas_and_plain_values():
    ranking = ranking_of()
    frame = ranking.to_frame()
    assert frame.index.tolist() == ["B", "C", "A", "D"]
    assert frame["expectation"].tolist() == [0.6, 0.55, 0.3, 0.1]
    assert list(frame.columns) == ["expectation", "variance", "low", "high"]
    assert list(ranking.to_dict())[:7] == ["measure", "model", "judged", "pool", "confidence", "systems", "pairs"]
    assert list(ranking.rows()[0]) == ["system", "expectation", "variance", "low", "high"]
    assert list(ranking.pair_rows()[0]) == ["a", "b", "expectation", "variance", "confidence", "equal"]
    assert ranking["C"] == ranking[1] == list(ranking)[1] == {"system": "C"} | frame.loc["C"].to_dict()
    assert len(ranking) == 4
    assert (ranking.to_dict()["measure"], ranking.to_dict()["judged"], ranking.to_dict()["pool"]) == ("CG@5", 3, 40)


def test_a_simulated_ranking_says_from_how_many_draws_and_how_exact_each_score_is():
    ranking = ranking_of(draws=400)
    found = ranking.to_dict()
    assert set(found) - set(ranking_of().to_dict()) == {"draws"}
    assert found["draws"] == 400
    errors = [row["error"] for row in found["systems"]]
    np.testing.assert_allclose(errors, np.sqrt([row["variance"] for row in found["systems"]]) / 20, rtol=1e-14)
    assert list(ranking.to_frame().columns) == ["expectation", "variance", "low", "high", "error"]


@pytest.mark.parametrize(
    ("judged", "said"), [(None, "predicts the only pair:"), ({"q": {"d": 1}}, "the only pair judged:")]
)
def test_a_pool_of_one_pair_is_spoken_of_as_one(judged, said):
    runs = {"A": {"q": ["d"]}, "B": {"q": ["d"]}}
    assert said in repr(estimate(runs, judgments=judged))
