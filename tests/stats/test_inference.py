import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from audiosim.errors import InputError
from audiosim.stats import ranks as signed_rank
from audiosim.stats import resampling, score_matrix
from audiosim.stats.score_matrix import paired_differences
from audiosim.stats.tests import TESTS, p_values, paired_test

PLAIN, DRAWN = ("t", "wilcoxon", "sign"), ("bootstrap", "permutation")
DATA = ["untied", "ties", "fifty", "many_ties", "many"]


def run(name, scores, seed=0, **options):
    return paired_test(scores, name, np.random.default_rng(seed), **options)


def by_pair(comparison, values):
    pairs = zip(comparison.first.tolist(), comparison.second.tolist(), strict=True)
    return {f"{a}-{b}": value for (a, b), value in zip(pairs, values.tolist(), strict=True)}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["t", "wilcoxon", "sign"])
def test_p_values_are_those_of_r(name, data, score_matrices, r):
    # From R's t.test, binom.test, wilcox.test and exactRankTests.
    found = run(name, score_matrices[data])
    assert by_pair(found, found.p_value) == pytest.approx(r[data, name], rel=1e-9)


def test_the_reference_has_exact_and_normal_signed_ranks_with_and_without_ties(score_matrices):
    exact = {data: paired_test(scores, "wilcoxon").exact for data, scores in score_matrices.items()}
    tied = {
        data: signed_rank.signed_ranks(paired_differences(scores)).ties > 0 for data, scores in score_matrices.items()
    }
    kinds = {kind for data in DATA for kind in zip(exact[data].tolist(), tied[data].tolist(), strict=True)}
    assert kinds == set(itertools.product([True, False], [True, False]))


def test_permutation_p_values_of_few_queries_are_r_s_exact_ones(score_matrices, r):
    found = run("permutation", score_matrices["untied"])
    assert found.exact.all()
    assert by_pair(found, found.p_value) == pytest.approx(r["untied", "permutation"], abs=1e-12)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_intervals_are_those_of_r(end, score_matrices, r):
    for data, scores in score_matrices.items():
        found = paired_test(scores, "t")
        expected = r[data, f"t_{end}"]
        assert by_pair(found, getattr(found, end)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    found = paired_test(score_matrices["untied"], "wilcoxon")
    ours = by_pair(found, getattr(found, end))
    for pair, value in r["untied", f"wilcoxon_{end}"].items():
        assert ours[pair] == pytest.approx(value, abs=1e-12)
    estimates = by_pair(found, found.estimate)
    for pair, value in r["untied", "wilcoxon_estimate"].items():
        assert estimates[pair] == pytest.approx(value, abs=1e-12)


# scipy, on scores without ties: the same p-values, up to the error of the draws.
RNG = np.random.default_rng(3)
SMOOTH = RNG.normal(size=(4, 30)) + np.linspace(0, 1, 4)[:, None]


def test_p_values_are_those_of_scipy():
    t, wilcoxon, sign = (run(name, SMOOTH) for name in PLAIN)
    for place, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        d = SMOOTH[a] - SMOOTH[b]
        theirs = stats.ttest_rel(SMOOTH[a], SMOOTH[b])
        assert t.statistic[place] == pytest.approx(theirs.statistic, rel=1e-10)
        assert t.p_value[place] == pytest.approx(theirs.pvalue, rel=1e-10)
        signed = stats.wilcoxon(d, method="exact")
        assert wilcoxon.p_value[place] == pytest.approx(signed.pvalue, rel=1e-10)
        counted = stats.binomtest(int((d > 0).sum()), 30)
        assert sign.p_value[place] == pytest.approx(counted.pvalue, rel=1e-10)


@pytest.mark.slow
def test_sampled_permutations_are_scipy_s_exact_ones_but_for_the_draws():
    few = SMOOTH[:2, :16]
    found = paired_test(few, "permutation", np.random.default_rng(0), samples=60_000)
    assert not found.exact.any()
    theirs = stats.permutation_test(
        tuple(few),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=2**16,
        vectorized=True,
    )
    p = theirs.pvalue
    assert found.p_value[0] == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 60_000) + 2e-5)  # five standard errors


# Brute force.
def brute_permutation(d):
    sums = np.array([np.dot(signs, d) for signs in itertools.product([1, -1], repeat=len(d))])
    return extreme_share(sums, d.sum())


def brute_wilcoxon(d):
    d = d[d != 0]
    ranks = stats.rankdata(np.abs(d))
    sums = np.array([np.dot(chosen, ranks) for chosen in itertools.product([1, 0], repeat=len(d))])
    observed = ranks[d > 0].sum()
    upper, lower = np.mean(sums >= observed), np.mean(sums <= observed)
    return min(1.0, 2 * min(upper, lower))


def extreme_share(values, observed):
    return np.mean(np.abs(values) >= abs(observed))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-6, 6), min_size=2, max_size=9))
def test_exact_p_values_count_every_arrangement_ties_and_zeros_among_them(d):
    scores = np.array([np.array(d, dtype=float), np.zeros(len(d))])
    d = scores[0]
    # Tenths have rounding errors, which must not break ties.
    for unit in (1.0, 0.1):
        found = run("permutation", unit * scores)
        assert found.exact.all()
        assert found.p_value[0] == pytest.approx(brute_permutation(d), abs=1e-12)
        assert run("wilcoxon", unit * scores).p_value[0] == pytest.approx(brute_wilcoxon(d), abs=1e-12)
        positive, counted = int((d > 0).sum()), int((d != 0).sum())
        expected = stats.binomtest(positive, counted).pvalue if counted else 1.0
        assert run("sign", unit * scores).p_value[0] == pytest.approx(expected, abs=1e-12)


def test_bootstrap_p_values_are_those_of_a_plain_loop_over_the_same_draws():
    samples = 1500  # drawn a thousand at a time
    found = paired_test(SMOOTH, "bootstrap", np.random.default_rng(7), samples=samples)
    rng = np.random.default_rng(7)
    drawn = np.concatenate([rng.integers(30, size=(1000, 30)), rng.integers(30, size=(500, 30))])
    for place, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        d = SMOOTH[a] - SMOOTH[b]
        means = np.array([d[queries].mean() for queries in drawn])
        count = extreme_share(means - means.mean(), d.mean()) * samples
        assert found.p_value[place] == pytest.approx((count + 1) / (samples + 1), abs=1e-12)


def test_permutation_p_values_are_those_of_a_plain_loop_over_the_same_draws():
    drawn = resampling.permutations(np.eye(30), np.random.default_rng(7), 1500)  # unit scores show which are flipped
    found = paired_test(SMOOTH, "permutation", np.random.default_rng(7), samples=1500)
    signs = 1 - 2 * drawn.flipped.T
    for place, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        d = SMOOTH[a] - SMOOTH[b]
        count = extreme_share(np.array([np.mean(row * d) for row in signs]), d.mean()) * 1500
        assert found.p_value[place] == pytest.approx((count + 1) / 1501, abs=1e-12)


def test_signs_are_drawn_evenly_and_independently():
    drawn = resampling.permutations(np.eye(11), np.random.default_rng(0), 2000)
    assert not drawn.exact
    flips = drawn.flipped.T
    np.testing.assert_array_equal(np.unique(flips), [0, 1])
    np.testing.assert_allclose(flips.mean(axis=0), 0.5, atol=5 * 0.5 / np.sqrt(2000))
    np.testing.assert_allclose(np.corrcoef(flips.T), np.eye(11), atol=5 / np.sqrt(2000))


# Under the null hypothesis the p-values of continuous scores are uniform. Standard error of a share of 800 times the
# ten pairs of five systems: about 0.0032.
@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_one_in_twenty_true_null_hypotheses_is_rejected_at_0_05(name):
    rng = np.random.default_rng(2)
    p = np.concatenate([p_values(rng.normal(size=(5, 40)), name, rng, 399) for _ in range(800)])
    expected = {"sign": 2 * stats.binom.cdf(13, 40, 0.5), "bootstrap": 0.06}.get(name, 0.05)  # bootstrap: slightly bold
    assert np.mean(p <= 0.05) == pytest.approx(expected, abs=0.012)


# Intervals and p-values agree.
@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["t", "bootstrap", "permutation"]),
    st.integers(0, 10_000),
    st.sampled_from([5, 8, 25]),
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_the_interval_leaves_out_0_exactly_where_p_is_small(name, seed, queries, confidence):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(3, queries)) + rng.normal(size=(3, 1))
    options = {} if name == "t" else {"samples": 199}
    found = run(name, scores, seed, confidence=confidence, **options)
    outside = (found.lower > 0) | (found.upper < 0)
    np.testing.assert_array_equal(outside, found.p_value <= 1 - confidence + 1e-12)


@pytest.mark.parametrize("name", ["wilcoxon", "sign"])
@pytest.mark.parametrize("queries", [4, 7, 30, 70])
def test_rank_intervals_leave_out_0_exactly_where_p_is_small_without_ties(name, queries):
    rng = np.random.default_rng(queries)
    scores = rng.normal(size=(40, queries)) + rng.normal(size=(40, 1)) / np.sqrt(queries)
    found = run(name, scores)
    np.testing.assert_array_equal((found.lower > 0) | (found.upper < 0), found.p_value <= 0.05)


@pytest.mark.parametrize("queries", [5, 6, 8, 9])
def test_the_pseudo_median_is_the_median_of_all_walsh_averages(queries):
    d = SMOOTH[0, :queries] - SMOOTH[1, :queries]
    averages = [(d[i] + d[j]) / 2 for i in range(queries) for j in range(i, queries)]
    assert paired_test(SMOOTH[:2, :queries], "wilcoxon").estimate[0] == pytest.approx(np.median(averages), rel=1e-12)


@pytest.mark.parametrize("name", TESTS)
def test_too_few_queries_leave_both_ends_of_an_interval_open(name):
    assert np.isfinite(run(name, SMOOTH).lower).all()
    if name not in ("t", "bootstrap"):
        few = run(name, SMOOTH[:, :3])
        assert np.isneginf(few.lower).all()
        assert np.isposinf(few.upper).all()
    if name in DRAWN:
        assert np.isinf(run(name, SMOOTH, samples=10).lower).all()  # the smallest p-value is 1 / 11


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_intervals_hold_the_true_difference_as_often_as_they_say(name):
    # 250 matrices with six true differences; the standard error of the share is about 0.007, the bootstrap's shortfall
    # with 30 queries about 0.015.
    rng, means = np.random.default_rng(8), np.array([0.3, 0, 0.1, 0.5])
    held = []
    for _ in range(250):
        scores = rng.normal(size=(4, 30)) * [[1], [0.5], [1], [0.5]] + means[:, None]
        found = run(name, scores, int(rng.integers(1 << 30)), **({"samples": 399} if name in DRAWN else {}))
        true = means[found.first] - means[found.second]
        held.append((found.lower <= true) & (true <= found.upper))
    assert np.mean(held) == pytest.approx(0.95, abs=0.03)


# Properties that always hold.
@pytest.mark.parametrize("name", TESTS)
def test_systems_that_score_the_same_have_p_1_and_no_difference(name):
    scores = np.tile(np.linspace(0, 1, 15), (3, 1))
    scores[1] = ((scores[1] + 0.1) + 0.2) - 0.3  # the same except for rounding
    assert not np.array_equal(scores[0], scores[1])
    found = run(name, scores)
    np.testing.assert_array_equal(found.p_value, 1.0)
    np.testing.assert_array_equal(found.difference, 0.0)
    np.testing.assert_array_equal(found.standardised, 0.0)
    assert np.all((found.lower <= 1e-9) & (found.upper >= -1e-9))


def test_a_difference_that_never_varies_is_certain_to_the_t_test():
    scores = np.array([[0.1, 0.4, 0.7], [0.3, 0.6, 0.9]])  # -0.2 except for rounding
    found = paired_test(scores, "t")
    assert (found.statistic[0], found.p_value[0], found.standardised[0]) == (-np.inf, 0, -np.inf)
    assert (found.lower[0], found.upper[0]) == pytest.approx((-0.2, -0.2))
    assert paired_test(scores, "permutation", RNG).p_value[0] == 0.25


@pytest.mark.parametrize("name", TESTS)
def test_intervals_mirror_when_the_systems_change_places(name):
    found, changed = run(name, SMOOTH[:2]), run(name, SMOOTH[1::-1])
    np.testing.assert_allclose(found.p_value, changed.p_value, rtol=1e-12)
    np.testing.assert_allclose(found.lower, -changed.upper, rtol=1e-12)


@pytest.mark.parametrize("name", TESTS)
def test_the_same_seed_gives_the_same_answer_and_a_pair_s_does_not_depend_on_the_other_systems(name):
    whole, part = run(name, SMOOTH, 5), run(name, SMOOTH[:2], 5)
    np.testing.assert_allclose(whole.p_value[0], part.p_value[0], rtol=1e-12)
    np.testing.assert_allclose(whole.lower[0], part.lower[0], rtol=1e-9)
    np.testing.assert_array_equal(run(name, SMOOTH, 5).p_value, whole.p_value)


@pytest.mark.parametrize("name", TESTS)
def test_the_p_values_alone_are_those_of_the_whole_test(name):
    alone = p_values(SMOOTH, name, np.random.default_rng(4), 500)
    options = {"samples": 500} if name in DRAWN else {}
    np.testing.assert_array_equal(alone, run(name, SMOOTH, 4, **options).p_value)


def test_effect_sizes_are_the_mean_and_the_standardised_mean():
    d = SMOOTH[1] - SMOOTH[3]
    found = paired_test(SMOOTH, "t")
    assert (found.first[4], found.second[4]) == (1, 3)
    assert found.difference[4] == pytest.approx(d.mean(), rel=1e-12)
    assert found.standardised[4] == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)


def test_pairs_are_taken_in_blocks_without_a_trace(monkeypatch):
    whole = [run(name, SMOOTH) for name in DRAWN]
    monkeypatch.setattr(score_matrix, "BLOCK", 20_000)
    for before, after in zip(whole, (run(name, SMOOTH) for name in DRAWN), strict=True):
        np.testing.assert_array_equal(before.p_value, after.p_value)
        np.testing.assert_array_equal(before.lower, after.lower)


def test_the_table_names_the_systems_and_adjusts_the_p_values():
    frame = paired_test(SMOOTH, "t").to_frame(["a", "b", "c", "d"])
    assert frame["first"].tolist() == ["a", "a", "a", "b", "b", "c"]
    assert frame["second"].tolist() == ["b", "c", "d", "c", "d", "d"]
    assert (frame["holm"] >= frame["benjamini_hochberg"]).all()
    assert (frame["benjamini_hochberg"] >= frame["p_value"]).all()
    assert paired_test(SMOOTH, "t").to_frame()["second"].tolist() == [1, 2, 3, 2, 3, 3]
    with pytest.raises(InputError, match="expected the names of 4 systems, got 2"):
        paired_test(SMOOTH, "t").to_frame(["a", "b"])


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones(3), r"scores must be \(systems, queries\), got \(3,\)"),
        (np.ones((1, 5)), "expected at least 2 systems to compare, got 1"),
        (np.ones((3, 1)), "expected at least 2 queries, got 1"),
        ([[1, 2], [3, np.nan]], "the score of system 1 on query 1 is nan, expected finite numbers"),
        ([[1, -np.inf], [3, 4]], "the score of system 0 on query 1 is -inf, expected finite numbers"),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(name, scores, message):
    with pytest.raises(InputError, match=message):
        run(name, scores)
    with pytest.raises(InputError, match=message):
        p_values(scores, name, RNG)


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "confidence must be between 0 and 1, got 95"),
        ({"confidence": float("nan")}, "confidence must be between 0 and 1, got nan"),
    ],
)
def test_unknown_options_are_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        run(name, SMOOTH, **options)


@pytest.mark.parametrize("name", DRAWN)
def test_no_samples_are_refused(name):
    with pytest.raises(InputError, match="samples must be at least 1, got 0"):
        run(name, SMOOTH, samples=0)


def test_an_unknown_test_is_refused():
    with pytest.raises(InputError, match="test must be one of t, wilcoxon, sign, bootstrap, permutation, got 'anova'"):
        p_values(SMOOTH, "anova", RNG)
