"""Methods of sampling, compared with scipy, enumeration and results derived in their papers."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from peers.sampling import _draws, _strata, active, means_by_t, prior_of_ranks, shrunken, statap
from peers.statement import pairs_of
from peers.task import Grader, Task

BUDGET = 60


def own_gains(task, seen, gains, system):
    """Gains of the judged documents of a system, one by one."""
    places = task.pool.retrieved[[system]].indices
    return gains[places][seen[places]]


def test_means_are_welch_s_t_test_of_scipy(task, gains):
    grader = Grader(gains, BUDGET)
    said = means_by_t(task, grader, np.random.default_rng(1))
    assert grader.seen.sum() == BUDGET
    own = [own_gains(task, grader.seen, gains, system) for system in range(7)]
    assert min(map(len, own)) >= 3
    # Every list is full, so a score is the mean gain of the retrieved documents.
    assert said.scores == pytest.approx([values.mean() for values in own])
    for number, (a, b) in enumerate(zip(*pairs_of(7), strict=True)):
        test = stats.ttest_ind(own[a], own[b], equal_var=False)
        low, high = test.confidence_interval(0.95)
        assert said.confidence[number] == pytest.approx(1 - test.pvalue / 2)
        assert said.half_differences[number] == pytest.approx((high - low) / 2)
    for system, values in enumerate(own):
        low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        assert said.half[system] == pytest.approx((high - low) / 2)


def test_a_system_of_which_little_is_judged_is_put_at_the_mean_of_all(task, gains):
    grader = Grader(gains, 4)
    said = means_by_t(task, grader, np.random.default_rng(1))
    few = [len(own_gains(task, grader.seen, gains, system)) < 3 for system in range(7)]
    assert any(few)
    assert said.scores[few] == pytest.approx(gains[grader.seen].mean())
    assert np.isnan(said.half[few]).all()


def test_shrunken_means_count_three_documents_of_the_mean_of_all(task, gains):
    grader = Grader(gains, 40)
    said = shrunken(task, grader, np.random.default_rng(1))
    overall = gains[grader.seen].mean()
    own = [own_gains(task, grader.seen, gains, system) for system in range(7)]
    assert said.scores == pytest.approx([(values.sum() + 3 * overall) / (len(values) + 3) for values in own])
    assert np.isnan(said.confidence).all()


# Aslam & Pavlu give W(r) in closed form, as a distribution over the ranks of a list.
def test_the_prior_of_a_rank_adds_up_to_one_over_a_list(task):
    k = task.pool.cutoff
    by_rank = [(1 + sum(1 / j for j in range(r, k + 1))) / (2 * k) for r in range(1, k + 1)]
    assert sum(by_rank) == pytest.approx(1)
    ranks = task.pool.ranks.toarray().astype(int)
    expected = [sum(by_rank[r - 1] for r in column if r) for column in ranks.T]
    assert prior_of_ranks(task) == pytest.approx(expected)


def test_strata_are_of_the_size_of_the_sample_by_falling_prior():
    prior = np.array([0.1, 0.4, 0.2, 0.9, 0.3, 0.6, 0.5])
    strata, shares = _strata(np.arange(7), prior, 3)
    assert [stratum.tolist() for stratum in strata] == [[3, 5, 6], [1, 4, 2, 0]]
    assert shares == pytest.approx([2 / 3, 1 / 3])


def test_the_share_of_a_single_stratum_is_one_whatever_the_rounding():
    for seed in range(200):
        prior = np.random.default_rng(seed).random(50)
        assert _strata(np.arange(50), prior, 30)[1].tolist() == [1]


@pytest.mark.slow
def test_statap_is_right_in_the_mean_and_so_is_its_variance(task, gains):
    # Horvitz and Thompson's estimates are unbiased; tested on 2,000 samples, within four standard errors.
    found = [statap(task, Grader(gains, 25), np.random.default_rng(seed)) for seed in range(2000)]
    truth, scores = task.weights @ gains, np.array([one.scores for one in found])
    spread = scores.std(axis=0, ddof=1)
    assert np.abs(scores.mean(axis=0) - truth).max() < 4 * spread.max() / np.sqrt(len(found))
    variance = np.array([(one.half / stats.norm.ppf(0.975)) ** 2 for one in found])
    assert np.nanmean(variance, axis=0) == pytest.approx(spread**2, rel=0.15)


def test_statap_judges_as_many_pairs_as_it_may(task, gains):
    for budget in (3, 20, len(gains)):
        grader = Grader(gains, budget)
        said = statap(task, grader, np.random.default_rng(0))
        assert grader.seen.sum() == budget
    assert said.scores == pytest.approx(task.weights @ gains)  # everything is judged


def test_documents_bear_on_differences_by_brute_force(task):
    weights = task.weights.toarray()
    squares = sum((weights[a] - weights[b]) ** 2 for a, b in combinations(range(len(weights)), 2))
    assert task.bearing == pytest.approx(np.sqrt(squares), abs=1e-9)


@pytest.mark.slow
def test_an_active_comparison_is_right_in_the_mean_and_so_is_its_variance(task, gains):
    said = [active(task, Grader(gains, 40), np.random.default_rng(seed)) for seed in range(1000)]
    found, truth = np.array([one.differences for one in said]), task.weights @ gains
    first, second = pairs_of(7)
    spread = found.std(axis=0, ddof=1)
    # Self-normalised weights are biased by the order of 1 / draws: a tenth of a standard deviation.
    assert np.abs(found.mean(axis=0) - (truth[first] - truth[second])).max() < 0.1 * spread.max()
    stated = np.mean([(one.half_differences / stats.norm.ppf(0.975)) ** 2 for one in said], axis=0)
    assert stated == pytest.approx(spread**2, rel=0.25)


def test_draws_end_before_one_place_too_many():
    drawn = _draws(np.arange(10), np.full(10, 0.1), 6, np.random.default_rng(3))
    assert len(np.unique(drawn)) == 6
    assert len(drawn) >= 6


def test_a_method_cannot_judge_more_than_its_budget(gains):
    grader = Grader(gains, 3)
    grader([0, 1, 1, 0])
    with pytest.raises(InputError, match="a method requested 4 judgments, but had only 3"):
        grader([2, 3])
    assert grader([2]) == pytest.approx(gains[2])


@pytest.mark.parametrize("measure", ["nDCG@3", "P(min=50)@3", "DCG(gain=exponential)@3"])
def test_a_measure_that_is_no_weighted_sum_of_grades_is_refused(task, measure):
    with pytest.raises(InputError, match="peers estimate weighted sums of grades, such as CG@5 or DCG@10"):
        Task(parse_measure(measure), task.pool)
