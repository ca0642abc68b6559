"""The order on another sample of queries: compared with closed forms, and with drawn systems of known order."""

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.ranking.ranking import Ranking, of_these, of_this_kind
from audiosim.ranking.scores import SystemScores
from audiosim.ranking.two_systems import on_another_sample


def judged_in_full(scores, missing=None):
    """A ranking about queries of this kind from scores (s, q), which are known up to a covariance, if given."""
    s, queries = scores.shape
    missing = np.zeros((s, s)) if missing is None else missing
    names = tuple(f"s{i}" for i in range(s))
    moments = SystemScores(scores.mean(axis=1), missing, queries, 9)
    return of_this_kind(Ranking(parse_measure("CG@5"), "made", names, moments, 9, 9), np.cov(scores))


def test_large_differences_do_not_regress_and_have_the_predictive_distribution_of_a_mean():
    # Geisser (1993): the mean of n more of a normal sample of n is t, with twice the variance of the mean.
    rng = np.random.default_rng(0)
    scores = np.arange(4)[:, None] * 1e4 + rng.normal(0, 1, (4, 12))
    scores[1] += 0.4 - (scores[1] - scores[0]).mean()  # one pair with an open order
    ranking = judged_in_full(scores)
    found = on_another_sample(ranking)
    for place, (a, b) in enumerate(zip(*ranking.scores.pairs, strict=True)):
        d = scores[a] - scores[b]
        expected = stats.t.cdf(d.mean() / np.sqrt(2 * d.var(ddof=1) / 12), 11)
        assert found[place] == pytest.approx(expected, abs=1e-6)


def test_differences_no_larger_than_chance_say_nothing_of_another_sample():
    pattern = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    offset = np.array([[0.01], [0.0], [0.02]])
    scores = np.stack([pattern, 2 * pattern[::-1], np.roll(pattern, 1) * 3]) + offset
    np.testing.assert_allclose(on_another_sample(judged_in_full(scores)), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.5, 1.5])
def test_the_chance_is_right_in_the_mean_over_drawn_systems(spread):
    # Systems differ by `spread` standard errors of a mean over their queries. The drawn order on a second sample of as
    # many queries is right as often as stated; the t-test with the other sample's variation would state more.
    rng, s, queries = np.random.default_rng(1), 12, 25
    stated, flat, right = [], [], []
    for _ in range(300):
        truth = rng.normal(0, spread / np.sqrt(queries), s)
        first, second = truth[:, None] + rng.normal(size=(2, s, queries))
        ranking = judged_in_full(first)
        better, worse = ranking.scores.pairs
        d = first[better] - first[worse]
        stated.append(on_another_sample(ranking).mean())
        flat.append(stats.t.cdf(d.mean(axis=1) / np.sqrt(2 * d.var(axis=1, ddof=1) / queries), queries - 1).mean())
        right.append((second[better].mean(axis=1) > second[worse].mean(axis=1)).mean())
    error = np.std(np.array(stated) - right) / np.sqrt(len(right))
    assert np.mean(stated) == pytest.approx(np.mean(right), abs=3 * error + 0.01)
    assert np.mean(flat) > np.mean(right) + 0.04


def test_what_judging_leaves_open_counts_as_far_as_it_carries_over():
    # By hand: two systems, one pair; S = 1/4, E = 1, V = .25: g = (1.25 / S) (6 / 8) - 1 = 2.75, k = 11 / 15.
    pattern = np.sqrt(8 / 9) * np.array([1.0, -1, 1, -1, 1, -1, 1, -1, 0])
    scores = np.stack([pattern + 1, np.zeros(9)])
    scores[0] = 1 + pattern * np.sqrt(2.25 / pattern.var(ddof=1))
    ranking = judged_in_full(scores, np.array([[0.25, 0.0], [0.0, 0.0]]))
    k = 2.75 / 3.75
    expected = stats.t.cdf(k / np.sqrt(k**2 * 0.25 + k * 0.25 + 0.25), 8)
    assert on_another_sample(ranking).tolist() == pytest.approx([expected])


def test_equal_systems_have_no_order_there_either_and_these_queries_no_other_sample():
    scores = np.random.default_rng(3).normal(size=(2, 8))
    twins = judged_in_full(np.vstack([scores, scores[:1]]))
    assert on_another_sample(twins)[twins.scores.tied].tolist() == [0.5]
    assert on_another_sample(judged_in_full(np.vstack([scores[:1]] * 2))).tolist() == [0.5]
    with pytest.raises(
        InputError, match=r"^another sample is one of queries of this kind, and this ranking is about these"
    ):
        on_another_sample(of_these(twins))
