"""Blocks with shared effects, compared with their full covariance, and conditioning, compared with numpy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal

from audiosim.errors import InputError
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.conditioning import SeenValues, condition_block
from audiosim.stats.normal.loadings import Loadings, MixedRows

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=5)


def drawn(rng, sizes, p):
    """A field of blocks of these sizes in shuffled places."""
    n = sum(sizes)
    blocks = tuple(np.split(rng.permutation(n), np.cumsum(sizes)[:-1]))
    factors = [rng.normal(size=(m, m)) for m in sizes]
    within = tuple(factor @ factor.T + 0.3 * np.eye(len(factor)) for factor in factors)
    loadings = tuple(rng.normal(size=(m, p)) for m in sizes)
    shared = rng.normal(size=(p, p))
    return BlockNormal(rng.normal(size=n), blocks, within, loadings, shared @ shared.T + 0.1 * np.eye(p))


def in_full(field):
    """The covariance (n, n) by its definition."""
    n = len(field.mean)
    covariance, loadings = np.zeros((n, n)), np.zeros((n, len(field.shared)))
    for rows, within, load in zip(field.blocks, field.within, field.loadings, strict=True):
        covariance[np.ix_(rows, rows)], loadings[rows] = within, load
    return covariance + loadings @ field.shared @ loadings.T


def conditioned(mean, covariance, known, values):
    """Closed form of the conditional normal: mu_1 + S_12 S_22^-1 (x - mu_2), S_11 - S_12 S_22^-1 S_21."""
    known = np.array(known, dtype=int)
    gain = np.linalg.solve(covariance[np.ix_(known, known)], covariance[known]).T
    mean = mean + gain @ (values - mean[known])
    covariance = covariance - gain @ covariance[known]
    mean[known] = values
    covariance[known] = covariance[:, known] = 0
    return mean, covariance


def assert_is(field, mean, covariance):
    """Compare all statements of a field with mean and covariance."""
    n = len(mean)
    near = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(field.mean, mean, **near)
    np.testing.assert_allclose(field.variance, np.diagonal(covariance), **near)
    np.testing.assert_allclose([field.column(index) for index in range(n)], covariance, **near)
    rng = np.random.default_rng(n)
    dense = rng.normal(size=(4, n)) * (rng.random((4, n)) < 0.5)
    sums = field.project(sparse.csr_array(dense))
    np.testing.assert_allclose(sums.mean, dense @ mean, **near)
    np.testing.assert_allclose(sums.covariance, dense @ covariance @ dense.T, **near)
    np.testing.assert_array_equal(sums.covariance, sums.covariance.T)


@pytest.mark.slow
@given(SIZES, st.integers(0, 4), st.integers(0, 2**32))
def test_a_field_is_its_covariance_in_full(sizes, p, seed):
    field = drawn(np.random.default_rng(seed), sizes, p)
    assert_is(field, field.mean, in_full(field))


@pytest.mark.slow
@given(SIZES, st.integers(0, 4), st.integers(0, 2**32), st.data())
def test_learning_is_conditioning_in_full_in_any_order_one_by_one_and_many_at_once(sizes, p, seed, data):
    rng = np.random.default_rng(seed)
    field = drawn(rng, sizes, p)
    n = len(field.mean)
    order = rng.permutation(n)[: data.draw(st.integers(0, n), label="known")]
    values = rng.normal(size=len(order))
    expected = conditioned(field.mean, in_full(field), order, values)
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(order))] * 2), label="cuts"))
    after = field
    for index, value in zip(order[:first], values[:first], strict=True):
        after = after.condition(index, value)
    after = after.condition_all(order[first:second], values[first:second])
    for index, value in zip(order[second:], values[second:], strict=True):
        after = after.condition(index, value)
    assert_is(after, *expected)
    assert not after.variance[order].any()
    np.testing.assert_array_equal(after.mean[order], values)


# A block has as many shared effects as unknowns, so its covariance and loads have the same shape.
@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 1, 1, 1], [40]])
def test_blocks_of_one_blocks_as_large_as_the_effects_are_many_and_a_single_block(sizes):
    field = drawn(np.random.default_rng(1), sizes, 3)
    expected = conditioned(field.mean, in_full(field), [0, 2], np.array([0.5, 1.0]))
    assert_is(field.condition(2, 1.0).condition(0, 0.5), *expected)
    assert_is(field.condition_all(np.array([2, 0]), np.array([1.0, 0.5])), *expected)


def test_learning_everything_leaves_no_variance_at_all():
    rng = np.random.default_rng(2)
    field = drawn(rng, [30, 20, 1, 49], 8)
    values = rng.normal(size=100)
    one_by_one = field
    for index in rng.permutation(100):
        one_by_one = one_by_one.condition(index, values[index])
    for after in (one_by_one, field.condition_all(np.arange(100), values)):
        assert not after.variance.any()
        assert not any(part.any() for part in (*after.within, *after.loadings))
        np.testing.assert_array_equal(after.mean, values)
        sums = after.project(sparse.csr_array(np.ones((2, 100))))
        assert not sums.covariance.any()


def test_the_variance_does_not_drift_while_much_is_learned():
    rng = np.random.default_rng(3)
    field = drawn(rng, [50, 60, 40], 10)
    known, values = rng.permutation(150)[:120], rng.normal(size=120)
    after = field
    for index, value in zip(known, values, strict=True):
        after = after.condition(index, value)
    mean, covariance = conditioned(field.mean, in_full(field), known, values)
    np.testing.assert_allclose(after.variance, np.diagonal(covariance), atol=1e-8)
    np.testing.assert_allclose(after.mean, mean, atol=1e-8)


def test_what_is_known_already_changes_its_own_value_only():
    field = drawn(np.random.default_rng(4), [3, 2], 2).condition(1, 0.5)
    again, all_again = field.condition(1, 9.0), field.condition_all(np.array([1]), np.array([9.0]))
    expected = field.mean.copy()
    expected[1] = 9.0
    for after in (again, all_again):
        assert_is(after, expected, in_full(field))
    with_another = conditioned(expected, in_full(field), [3], np.array([2.0]))
    assert_is(field.condition_all(np.array([3, 1]), np.array([2.0, 9.0])), *with_another)


def test_what_is_known_of_some_changes_the_density_by_the_density_of_it():
    # p(x, y) = p(y) p(x | y) by scipy.
    rng = np.random.default_rng(5)
    field = drawn(rng, [2, 3, 1], 2)
    joint = multivariate_normal(field.mean, in_full(field))
    values = rng.normal(size=6)
    alone = multivariate_normal(field.mean[[4, 1]], in_full(field)[np.ix_([4, 1], [4, 1])])
    after, rest = field.condition_all(np.array([4, 1]), values[[4, 1]]), [0, 2, 3, 5]
    given_them = multivariate_normal(after.mean[rest], in_full(after)[np.ix_(rest, rest)])
    expected = alone.logpdf(values[[4, 1]]) + given_them.logpdf(values[rest])
    assert joint.logpdf(values) == pytest.approx(expected, abs=1e-9)


def test_other_blocks_are_passed_on_as_they_are():
    field = drawn(np.random.default_rng(6), [3, 4, 5], 2)
    inside = field.blocks[1]
    for after in (field.condition(inside[0], 0.0), field.condition_all(inside[:2], np.zeros(2))):
        assert after.blocks is field.blocks
        assert [after.within[block] is field.within[block] for block in range(3)] == [True, False, True]
        assert [after.loadings[block] is field.loadings[block] for block in range(3)] == [True, False, True]


def sparsely(rng, field, share):
    """The same field with some loadings set to 0, once sparse and once dense."""
    rows = np.zeros((len(field.mean), len(field.shared)))
    for places, own in zip(field.blocks, field.loadings, strict=True):
        rows[places] = own * (rng.random(own.shape) < share)
    dense = tuple(rows[places] for places in field.blocks)
    kept = Loadings(sparse.csr_array(rows), field.blocks, {})
    return [BlockNormal(field.mean, field.blocks, field.within, own, field.shared) for own in (kept, dense)]


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 5), st.floats(0, 1))
def test_with_sparse_loadings_it_is_the_closed_form_whatever_was_done_before(seed, p, share):
    rng = np.random.default_rng(seed)
    field, dense = sparsely(rng, drawn(rng, [3, 1, 4, 2], p), share)
    covariance, order, values = in_full(dense), rng.permutation(10), rng.normal(size=10)
    assert_is(field, field.mean, covariance)
    known, factors, more = order[:3], rng.uniform(0.5, 2, 10), rng.normal(size=(10, 2))
    scaled = field.scaled(field.mean, factors).with_effects(more, np.eye(2))
    both = covariance * np.outer(factors, factors) + more @ more.T
    expected = conditioned(field.mean, both, known, values[known])
    after = scaled.condition(known[0], values[known[0]]).condition_all(known[1:], values[known[1:]])
    assert_is(after, *expected)
    assert_is(after.scaled(after.mean, factors), after.mean, expected[1] * np.outer(factors, factors))
    weights = sparse.csr_array(rng.normal(size=(3, 10)) * (rng.random((3, 10)) < 0.6))
    np.testing.assert_allclose(after.across(weights), weights @ expected[1], atol=1e-9)
    np.testing.assert_allclose(after.project(weights).covariance, weights @ expected[1] @ weights.T, atol=1e-9)
    np.testing.assert_allclose(after.among(order[4:8]), expected[1][np.ix_(order[4:8], order[4:8])], atol=1e-9)
    written = np.zeros((10, p + 2))
    for places, own in zip(after.blocks, after.loadings, strict=True):
        written[places] = own
    np.testing.assert_array_equal(after.sparse_loadings.in_full().toarray(), written)
    for found, same in zip(field.held_out(known, values[:3]), dense.held_out(known, values[:3]), strict=True):
        np.testing.assert_allclose(found, same, rtol=1e-9)


@pytest.mark.parametrize("several", [1, 3, 16])
def test_rows_that_are_mixed_by_few_values_are_the_closed_form(several):
    """Large blocks of many effects: the mixing of rows is kept in place of the rows while that is smaller."""
    rng = np.random.default_rng(several)
    field, dense = sparsely(rng, drawn(rng, [30, 25], 40), 0.2)
    covariance, known, values = in_full(dense), rng.permutation(55)[: 2 * several + 2], rng.normal(size=2 * several + 2)
    assert_is(field, field.mean, covariance)
    _ = field.across(weights := sparse.csr_array(rng.normal(size=(3, 55))))
    after = field.condition_all(known[:several], values[:several]).condition(known[several], values[several])
    after = after.condition_all(known[several + 1 :], values[several + 1 :])
    kinds = {type(part) for part in after.sparse_loadings.changed.values()}
    assert kinds == ({MixedRows} if several == 1 else {np.ndarray} if several == 16 else kinds)
    mean, left = conditioned(field.mean, covariance, known, values)
    assert_is(after, mean, left)
    np.testing.assert_allclose(after.across(weights), weights @ left, atol=1e-9)
    written = np.vstack([after.loadings[block] for block in range(2)])
    in_rows = after.sparse_loadings.in_full().toarray()[np.concatenate(after.blocks)]
    np.testing.assert_allclose(in_rows, written, atol=1e-12)
    assert not after.loadings[0][np.isin(after.blocks[0], known)].any()


@pytest.mark.slow
@pytest.mark.parametrize("several", [2, 9])
def test_sums_looked_at_from_batch_to_batch_are_the_closed_form_and_end_at_exactly_0(several):
    rng = np.random.default_rng(several)
    field = drawn(rng, [30, 20, 25], 40)
    rows = np.concatenate([np.asarray(part) for part in field.loadings])[np.argsort(np.concatenate(field.blocks))]
    rows[rng.random(rows.shape) < 0.8] = 0  # so that a few known values leave rows as factors
    field = replace(field, loadings=Loadings(sparse.csr_array(rows), field.blocks, {}))
    n, mean, covariance = len(field.mean), field.mean, in_full(field)
    dense = rng.normal(size=(4, n)) * (rng.random((4, n)) < 0.5)
    dense[0] = np.where(np.isin(np.arange(n), field.blocks[0]), dense[0], 0)  # a sum within one block
    sums, order = sparse.csc_array(dense), np.concatenate(field.blocks)
    for start in range(0, n, several):
        places = order[start : start + several]
        values = rng.normal(size=len(places))
        mean, covariance = conditioned(mean, covariance, places, values)
        field = field.condition_all(places, values)
        np.testing.assert_allclose(field.variance, np.diagonal(covariance), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(field.project(sums).covariance, dense @ covariance @ dense.T, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(field.across(sums), dense @ covariance, rtol=1e-7, atol=1e-7)
        if not np.setdiff1d(field.blocks[0], order[: start + several]).size:
            assert not field.project(sums).covariance[0].any()  # everything is known: 0, not a rounding error
    assert not field.project(sums).covariance.any()
    assert not field.variance.any()


def test_kept_parts_of_other_sums_under_the_same_identity_are_not_used():
    rng = np.random.default_rng(5)
    field = drawn(rng, [6, 5], 4)
    first, second = (sparse.csc_array(rng.normal(size=(2, 11))) for _ in range(2))
    for of in (field.project, field.across):
        of(first)
    for kept in (field.remembered.kept, field.remembered.acrosses):
        kept[id(second)] = kept[id(first)]  # as in other processes, where a new array may get this address
    dense = second.toarray()
    np.testing.assert_allclose(field.project(second).covariance, dense @ in_full(field) @ dense.T, atol=1e-9)
    np.testing.assert_allclose(field.across(second), dense @ in_full(field), rtol=1e-6, atol=1e-6)


def test_the_field_before_still_stands():
    field = drawn(np.random.default_rng(7), [3, 4], 2)
    mean, covariance, variance = field.mean.copy(), in_full(field), field.variance.copy()
    field.condition(1, 5.0)
    field.condition_all(np.array([0, 3]), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(field.mean, mean)
    np.testing.assert_array_equal(in_full(field), covariance)
    np.testing.assert_array_equal(field.variance, variance)


def test_weights_named_twice_add_up_and_sums_of_nothing_are_0():
    field = drawn(np.random.default_rng(8), [2, 3], 1)
    weights = sparse.csr_array((np.array([1.0, 2.0, 4.0]), ([0, 0, 1], [3, 3, 2])), shape=(3, 5))
    twice = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([3, 3, 2]), np.array([0, 2, 3, 3])), shape=(3, 5))
    expected = weights.toarray() @ in_full(field) @ weights.toarray().T
    np.testing.assert_allclose(field.project(twice).covariance, expected, atol=1e-12)
    assert not field.project(twice).covariance[2].any()


def test_no_rounding_makes_a_variance_negative():
    # Three unknowns that are equal up to rounding: weights with sum 0 leave 0, within rounding.
    weights = np.random.default_rng(9).normal(size=(50, 3))
    weights -= weights.mean(axis=1, keepdims=True)
    same = np.ones((3, 3)) / 3
    assert np.diagonal(weights @ same @ weights.T).min() < 0
    field = BlockNormal(np.zeros(3), (np.arange(3),), (same,), (np.empty((3, 0)),), np.empty((0, 0)))
    assert field.project(sparse.csr_array(weights)).variance.min() == 0


def test_a_field_of_nothing_has_nothing():
    field = BlockNormal(np.empty(0), (), (), (), np.eye(2))
    assert field.variance.shape == (0,)
    assert field.condition_all(np.empty(0, dtype=int), np.empty(0)).mean.shape == (0,)
    assert field.project(sparse.csr_array((3, 0))).covariance.tolist() == np.zeros((3, 3)).tolist()
    assert field.across(sparse.csr_array((3, 0))).shape == (3, 0)
    assert field.scaled(np.empty(0), np.empty(0)).variance.shape == (0,)
    assert field.held_out(np.empty(0, dtype=int), np.empty(0))[0].shape == (0,)
    assert list(field.draw(np.random.default_rng(0), 2)) == []


@pytest.mark.slow
@given(SIZES, st.integers(0, 4), st.integers(0, 2**32), st.data())
def test_each_left_out_is_what_solving_with_all_the_others_says(sizes, p, seed, data):
    rng = np.random.default_rng(seed)
    field = drawn(rng, sizes, p)
    covariance, order = in_full(field), rng.permutation(len(field.mean))
    places = order[: data.draw(st.integers(0, len(order)), label="known")]
    values = rng.normal(size=len(places))
    means, variances = field.held_out(places, values)
    for own, place in enumerate(places):
        others = np.delete(np.arange(len(places)), own)
        mean, left = conditioned(field.mean, covariance, places[others], values[others])
        assert means[own] == pytest.approx(mean[place], rel=1e-9, abs=1e-9)
        assert variances[own] == pytest.approx(left[place, place], rel=1e-9, abs=1e-9)


def test_of_those_left_out_none_and_a_single_one_are_as_before():
    field = drawn(np.random.default_rng(10), [3, 2], 2)
    means, variances = field.held_out(np.empty(0, dtype=int), np.empty(0))
    assert means.shape == variances.shape == (0,)
    means, variances = field.held_out(np.array([2]), np.array([50.0]))
    assert (means[0], variances[0]) == (pytest.approx(field.mean[2], abs=1e-12), pytest.approx(field.variance[2]))


def test_what_is_certain_already_counts_for_those_left_out():
    field = drawn(np.random.default_rng(11), [3, 2, 2], 2)
    values = np.array([0.3, -1.0, 2.0])
    means, variances = field.condition(1, 0.7).held_out(np.array([5, 0, 2]), values)
    mean, left = conditioned(field.mean, in_full(field), [1, 5, 2], np.array([0.7, 0.3, 2.0]))
    assert (means[1], variances[1]) == (pytest.approx(mean[0]), pytest.approx(left[0, 0]))


@pytest.mark.slow
@given(SIZES, st.integers(0, 3), st.integers(0, 3), st.integers(0, 2**32))
def test_more_shared_effects_add_their_covariance(sizes, p, q, seed):
    rng = np.random.default_rng(seed)
    field = drawn(rng, sizes, p)
    loadings, root = rng.normal(size=(len(field.mean), q)), rng.normal(size=(q, q))
    after = field.with_effects(loadings, root @ root.T)
    assert_is(after, field.mean, in_full(field) + loadings @ root @ root.T @ loadings.T)


def test_a_shared_effect_that_is_certain_changes_nothing():
    # A covariance of rank 1, or 0: learning then reveals no more than is left to know.
    rng = np.random.default_rng(14)
    field, loadings = drawn(rng, [3, 4], 2), rng.normal(size=(7, 2))
    for covariance in (np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]])):
        after = field.with_effects(loadings, covariance)
        expected = in_full(field) + loadings @ covariance @ loadings.T
        assert_is(after, field.mean, expected)
        known = conditioned(field.mean, expected, [1, 5], np.array([2.0, -1.0]))
        assert_is(after.condition_all(np.array([1, 5]), np.array([2.0, -1.0])), *known)
        assert_is(after.condition(5, -1.0).condition(1, 2.0), *known)


@pytest.mark.slow
@given(SIZES, st.integers(0, 4), st.integers(0, 2**32))
def test_scaling_is_multiplying_the_covariance_from_both_sides(sizes, p, seed):
    rng = np.random.default_rng(seed)
    field = drawn(rng, sizes, p)
    mean, factors = rng.normal(size=len(field.mean)), rng.exponential(size=len(field.mean))
    factors[rng.random(len(factors)) < 0.2] = 0
    assert_is(field.scaled(mean, factors), mean, np.diag(factors) @ in_full(field) @ np.diag(factors))


@pytest.mark.slow
@given(SIZES, st.integers(0, 4), st.integers(0, 2**32))
def test_the_covariance_of_sums_with_all_is_that_in_full(sizes, p, seed):
    rng = np.random.default_rng(seed)
    field = drawn(rng, sizes, p).condition(0, 1.0)
    for count in (1, 4):
        dense = rng.normal(size=(count, len(field.mean))) * (rng.random((count, len(field.mean))) < 0.5)
        found = field.across(sparse.csr_array(dense))
        np.testing.assert_allclose(found, dense @ in_full(field), atol=1e-10)


@pytest.mark.parametrize("p", [0, 3])
def test_values_are_drawn_from_the_joint_distribution(p):
    # The standard error of a sample's covariance is sqrt((C_ii C_jj + C_ij^2) / draws); the limit is five of them.
    rng = np.random.default_rng(12)
    field, draws = drawn(rng, [3, 1, 4], p).condition(2, 0.25).condition(5, -1.0), 40_000
    values, covariance = np.empty((draws, 8)), in_full(field)
    for rows, own in field.draw(rng, draws):
        values[:, rows] = own
    assert np.ptp(values[:, [2, 5]], axis=0).max() < 1e-12
    np.testing.assert_allclose(values[0, [2, 5]], [0.25, -1.0], atol=1e-12)
    variance = np.diagonal(covariance)
    assert np.all(np.abs(values.mean(axis=0) - field.mean) <= 5 * np.sqrt(variance / draws) + 1e-12)
    allowed = 5 * np.sqrt((np.outer(variance, variance) + covariance**2) / draws)
    assert np.all(np.abs(np.cov(values.T) - covariance) <= allowed + 1e-12)


@pytest.mark.parametrize("p", [0, 3])
def test_values_are_drawn_closer_correlated_with_the_same_variances(p):
    # As above. A block that cannot be so close is drawn with a smallest eigenvalue of 0.
    rng = np.random.default_rng(14)
    field, draws, times = drawn(rng, [3, 1, 4], p).condition(2, 0.25), 40_000, 3.0
    covariance = in_full(field)
    variance = np.diagonal(covariance)
    least = []
    for rows, within in zip(field.blocks, field.within, strict=True):
        kept = np.flatnonzero(variance[rows] > 0)
        deviation = np.sqrt(variance[rows[kept]])
        least.append(np.linalg.eigvalsh(within[np.ix_(kept, kept)] / np.outer(deviation, deviation))[0])
    each = np.minimum(times, 1 / (1 - np.minimum(least, 0.9)))[field.block]
    expected = covariance * np.sqrt(np.outer(each, each))
    np.fill_diagonal(expected, variance)
    values = np.empty((draws, 8))
    for rows, some in field.draw(rng, draws, times):
        values[:, rows] = some
    allowed = 5 * np.sqrt((np.outer(variance, variance) + expected**2) / draws)
    assert np.all(np.abs(np.cov(values.T) - expected) <= allowed + 1e-12)
    assert min(each) < times


def test_blocks_of_nothing_do_no_harm():
    # A query without retrieved documents is a block without unknowns.
    full = drawn(np.random.default_rng(13), [2, 3], 2)
    none = np.empty(0, dtype=int), np.empty((0, 0)), np.empty((0, 2))
    first, last = zip(full.blocks, full.within, full.loadings, strict=True)
    blocks, within, loadings = zip(first, none, none, last, strict=True)
    field = BlockNormal(full.mean, blocks, within, loadings, full.shared)
    assert_is(field, full.mean, in_full(full))
    assert_is(field.scaled(full.mean, np.ones(5)), full.mean, in_full(full))
    known = conditioned(full.mean, in_full(full), [0, 3], np.array([1.0, 2.0]))
    assert_is(field.condition_all(np.array([0, 3]), np.array([1.0, 2.0])), *known)
    for found, expected in zip(
        field.held_out(np.arange(5), np.ones(5)), full.held_out(np.arange(5), np.ones(5)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    drawn_rows = [rows.tolist() for rows, _ in field.draw(np.random.default_rng(0), 3)]
    assert sorted(place for rows in drawn_rows for place in rows) == list(range(5))


HALF, TWO = (np.array([0]), np.array([1])), (np.eye(1), np.eye(1))
LOADINGS = (np.zeros((1, 2)), np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"blocks": (np.array([0]), np.array([0]))}, "blocks must hold each of 2 places once, got 2 places"),
        ({"blocks": HALF[:1]}, "blocks must hold each of 2 places once, got 1 places"),
        ({"shared": np.ones((2, 3))}, r"covariance of the shared effects must be square, got \(2, 3\)"),
        ({"within": TWO[:1]}, "expected a covariance and loadings for each of the 2 blocks, got 1 and 2"),
        ({"loadings": LOADINGS * 2}, "expected a covariance and loadings for each of the 2 blocks, got 2 and 4"),
        ({"within": (np.eye(2), np.eye(1))}, r"a block must be \(1, 1\) and \(1, 2\), got \(2, 2\) and \(1, 2\)"),
        ({"shared": np.eye(3)}, r"a block must be \(1, 1\) and \(1, 3\), got \(1, 1\) and \(1, 2\)"),
        (
            {"within": (np.zeros((1, 1)), np.eye(1)), "loadings": (np.ones((1, 2)), LOADINGS[1])},
            "an unknown without a variance of its own must have no covariance and no loadings",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(changed, message):
    right = {"mean": np.zeros(2), "blocks": HALF, "within": TWO, "loadings": LOADINGS, "shared": np.eye(2)}
    assert BlockNormal(**right).variance.tolist() == [1, 1]
    with pytest.raises(InputError, match=f"^{message}$"):
        BlockNormal(**(right | changed))


@pytest.mark.parametrize(("places", "values"), [([1, 1], [0.0, 1.0]), ([0, 1], [0.0])])
def test_places_that_repeat_or_lack_a_value_are_refused(places, values):
    field = drawn(np.random.default_rng(9), [2, 1], 1)
    with pytest.raises(InputError, match=f"^places must differ and have a value each, got 2 and {len(values)} values$"):
        field.condition_all(np.array(places), np.array(values))


def test_many_blocks_mixed_one_after_the_other_are_the_closed_form_in_every_earlier_state_too():
    rng = np.random.default_rng(4)
    sizes, effects = [30] * 40, 40
    count = sum(sizes)
    blocks = tuple(np.split(rng.permutation(count), np.cumsum(sizes)[:-1]))
    dense = rng.normal(size=(count, effects)) * (rng.random((count, effects)) < 0.5)
    factors = [rng.normal(size=(30, 30)) for _ in sizes]
    within = [factor @ factor.T + 0.3 * np.eye(30) for factor in factors]
    loadings = Loadings(sparse.csr_array(dense), blocks, {})
    states = [BlockNormal(rng.normal(size=count), blocks, within, loadings, np.eye(effects))]
    every, values = rng.permutation(count)[:90], rng.normal(size=90)
    first = in_full(states[0])
    for place, value in zip(every.tolist(), values, strict=True):
        states.append(states[-1].condition(place, value))
    for known in (90, 70, 20, 0):
        mean, covariance = conditioned(states[0].mean, first, every[:known], values[:known])
        for column in (every[known - 1], every[-1], 0):
            np.testing.assert_allclose(states[known].column(int(column)), covariance[column], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(states[known].mean, mean, rtol=1e-8, atol=1e-8)
    assert isinstance(states[90].sparse_loadings.changed[states[0].block[every[0]]], MixedRows)
    at_once = states[0].condition_all(every, values)
    np.testing.assert_allclose(at_once.mean, states[90].mean, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("written_out", [0, 10**9])
@pytest.mark.parametrize("noise", [0.3, 0.0])
def test_noisy_values_condition_the_same_with_rows_written_out_and_as_factors(monkeypatch, written_out, noise):
    """Against the closed form C - C H' (H C H' + R)^-1 H C; without noise some unknowns become certain."""
    monkeypatch.setattr("audiosim.stats.normal.conditioning.WRITTEN_OUT", written_out)
    rng, blocks = np.random.default_rng(3), (np.arange(4), np.arange(4, 9))
    rows = rng.standard_normal((9, 3)) * (rng.random((9, 3)) < 0.7)
    root = [rng.standard_normal((len(own), len(own) + 2)) for own in blocks]
    within, shared, mean = [of @ of.T for of in root], np.diag([1.0, 0.5, 2.0]), rng.standard_normal(9)
    start = BlockNormal(mean, blocks, within, Loadings(sparse.csr_array(rows), blocks, {}), shared)
    whole = rows @ shared @ rows.T
    values, seen, picked = [], {}, []
    for number, own in enumerate(blocks):
        whole[np.ix_(own, own)] += within[number]
        some = own[:2]
        picked += some.tolist()
        values.append(off := rng.standard_normal(2))
        observed = SeenValues.of(within[number][:2, :2] + noise * np.eye(2), rows[some], off)
        seen[number] = condition_block(within[number], rows[own], within[number][:2], observed)
    found = start.given(seen)
    gain = np.linalg.solve(whole[np.ix_(picked, picked)] + noise * np.eye(4), whole[picked]).T
    np.testing.assert_allclose(found.mean, mean + gain @ np.concatenate(values), rtol=0, atol=1e-9)
    expected = whole - gain @ whole[picked]
    np.testing.assert_allclose(found.among(np.arange(9)), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.variance, np.diagonal(expected), rtol=0, atol=1e-9)
    weights = sparse.csr_array(rng.standard_normal((2, 9)))
    np.testing.assert_allclose(found.project(weights).covariance, weights @ expected @ weights.T, rtol=0, atol=1e-9)
