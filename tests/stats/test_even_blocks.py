"""Blocks padded to one size, compared with the closed form of the conditional normal, by numpy."""

import numpy as np
import pytest
from scipy import sparse

from audiosim.errors import InputError
from audiosim.stats.normal import batched as even_blocks
from audiosim.stats.normal.batched import EvenBlocks
from audiosim.stats.normal.block_normal import BlockNormal


def drawn(rng, sizes, p):
    """Blocks of these sizes in shuffled places, with their full mean and covariance (n, n)."""
    n, factors = sum(sizes), [rng.normal(size=(m, m)) for m in sizes]
    blocks = tuple(np.split(rng.permutation(n), np.cumsum(sizes)[:-1]))
    within = tuple(factor @ factor.T + 0.3 * np.eye(len(factor)) for factor in factors)
    loadings, root, mean = tuple(rng.normal(size=(m, p)) for m in sizes), rng.normal(size=(p, p)), rng.normal(size=n)
    shared = root @ root.T + 0.1 * np.eye(p)
    covariance, every = np.zeros((n, n)), np.zeros((n, p))
    for rows, own, some in zip(blocks, within, loadings, strict=True):
        covariance[np.ix_(rows, rows)], every[rows] = own, some
    return BlockNormal(mean, blocks, within, loadings, shared), covariance + every @ shared @ every.T


def conditioned(mean, covariance, known, values):
    """Closed form of the conditional normal: mu_1 + S_12 S_22^-1 (x - mu_2), S_11 - S_12 S_22^-1 S_21."""
    gain = np.linalg.solve(covariance[np.ix_(known, known)], covariance[known]).T
    mean, covariance = mean + gain @ (values - mean[known]), covariance - gain @ covariance[known]
    mean[known] = values
    covariance[known] = covariance[:, known] = 0
    return mean, covariance


@pytest.mark.parametrize("sizes", [[7, 6, 5, 7], [1, 1, 1], [9]])
@pytest.mark.parametrize("at_a_time", [1, 3, 8])
def test_batch_after_batch_it_is_the_closed_form_until_everything_is_known(sizes, at_a_time):
    rng = np.random.default_rng(len(sizes) + at_a_time)
    normal, covariance = drawn(rng, sizes, 3)
    even, mean, n = EvenBlocks.of(normal), normal.mean, len(normal.mean)
    dense = rng.normal(size=(4, n))
    weights, order, near = sparse.csc_array(dense), rng.permutation(n), {"rtol": 1e-7, "atol": 1e-9}
    for start in range(0, n, at_a_time):
        known = order[start : start + at_a_time]
        values = rng.normal(size=len(known))
        mean, covariance = conditioned(mean, covariance, known, values)
        even = even.condition_all(known, values)
        even = even.packed if start % 2 else even
        sums = even.project(weights)
        np.testing.assert_allclose(even.mean, mean, **near)
        np.testing.assert_allclose(sums.mean, dense @ mean, **near)
        np.testing.assert_allclose(sums.covariance, dense @ covariance @ dense.T, **near)
        np.testing.assert_allclose(even.variance, np.diagonal(covariance), **near)
        np.testing.assert_allclose(even.across(weights), dense @ covariance, **near)
        np.testing.assert_allclose(even.among(np.arange(n)), covariance, **near)
        np.testing.assert_allclose(even.column(0), covariance[0], **near)
        assert not even.variance[order[: start + at_a_time]].any()


def test_what_is_packed_goes_on_as_what_is_not_and_takes_less():
    rng = np.random.default_rng(5)
    normal, _ = drawn(rng, [8, 9, 10], 2)
    even, weights, order = EvenBlocks.of(normal), sparse.csc_array(rng.normal(size=(3, 27))), rng.permutation(27)
    early = even.condition_all(order[:2], np.zeros(2))
    assert early.packed is early  # nearly everything is still unknown
    early.project(weights)
    late = early.condition_all(order[2:20], rng.normal(size=18))
    packed = late.packed
    assert packed is not late
    values = rng.normal(size=4)
    for one, other in (
        (late, packed),
        (late.condition_all(order[20:24], values), packed.condition_all(order[20:24], values)),
    ):
        np.testing.assert_allclose(other.mean, one.mean, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(other.variance, one.variance, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(other.across(weights), one.across(weights), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(other.project(weights).mean, one.project(weights).mean, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(
            other.project(weights).covariance, one.project(weights).covariance, rtol=1e-8, atol=1e-10
        )


def test_what_was_known_before_changes_its_own_value_only():
    normal, _ = drawn(np.random.default_rng(0), [5, 4], 2)
    once = EvenBlocks.of(normal).condition_all(np.array([3, 7]), np.array([0.5, -1.0]))
    again = once.condition_all(np.array([7]), np.array([2.0]))
    expected = once.mean.copy()
    expected[7] = 2.0
    np.testing.assert_array_equal(again.mean, expected)
    np.testing.assert_allclose(again.variance, once.variance, rtol=1e-12, atol=1e-14)


def test_several_futures_of_one_present_do_not_write_over_each_other():
    rng = np.random.default_rng(1)
    normal, covariance = drawn(rng, [6, 6, 6], 2)
    begun = EvenBlocks.of(normal).condition_all(np.array([0]), np.array([1.0]))
    mean, covariance = conditioned(normal.mean, covariance, [0], np.array([1.0]))
    futures = [begun.condition_all(np.array([place]), np.array([0.0])) for place in (1, 2, 3)]
    for future in futures:
        assert future.variance.shape == (18,)
    for place, future in zip((1, 2, 3), futures, strict=True):
        expected = conditioned(mean, covariance, [place], np.array([0.0]))[1]
        np.testing.assert_allclose(future.among(np.arange(18)), expected, rtol=1e-8, atol=1e-9)


def test_blocks_of_very_different_sizes_are_left_as_they_are(monkeypatch):
    rng = np.random.default_rng(2)
    assert EvenBlocks.of(drawn(rng, [9, 1, 1, 1], 2)[0]) is None
    monkeypatch.setattr(even_blocks, "ROOM", 100)
    assert EvenBlocks.of(drawn(rng, [3, 3], 2)[0]) is None


@pytest.mark.parametrize(("places", "values"), [([1, 1], [0.0, 1.0]), ([0, 1], [0.0])])
def test_places_that_repeat_or_lack_a_value_are_refused(places, values):
    even = EvenBlocks.of(drawn(np.random.default_rng(3), [3, 2], 1)[0])
    with pytest.raises(InputError, match="places must differ and have a value each"):
        even.condition_all(np.array(places), np.array(values))


@pytest.mark.parametrize("seed", range(20))
def test_perfectly_correlated_unknowns_are_conditioned_on_as_the_pseudo_inverse_says(seed):
    rng, p = np.random.default_rng(seed), 3
    factors = [rng.normal(size=(m, m)) for m in (6, 5)]
    loadings = [rng.normal(size=(m, p)) for m in (6, 5)]
    for of in (factors[0], loadings[0]):
        of[1], of[4] = of[0], -2 * of[3]  # in the first block, two unknowns are equal, and one is -2 times another
    blocks, root = tuple(np.split(rng.permutation(11), [6])), rng.normal(size=(p, p))
    covariance, every = np.zeros((11, 11)), np.zeros((11, p))
    for rows, factor, some in zip(blocks, factors, loadings, strict=True):
        covariance[np.ix_(rows, rows)], every[rows] = factor @ factor.T, some
    covariance += every @ root @ root.T @ every.T
    within = tuple(factor @ factor.T for factor in factors)
    normal = BlockNormal(rng.normal(size=11), blocks, within, tuple(loadings), root @ root.T)
    spread, vectors = np.linalg.eigh(covariance)
    true = normal.mean + vectors @ (np.sqrt(np.maximum(0, spread)) * rng.normal(size=11))  # consistent values
    weights, order = sparse.csc_array(rng.normal(size=(3, 11))), rng.permutation(11)
    even, whole, singly = EvenBlocks.of(normal), normal, normal
    whole.across(weights)  # is passed on from now on
    for start in (0, 4):
        some, known = order[start : start + 4], order[: start + 4]
        even, whole = even.condition_all(some, true[some]), whole.condition_all(some, true[some])
        for place in some:
            singly = singly.condition(int(place), true[place])
        gain = covariance[:, known] @ np.linalg.pinv(covariance[np.ix_(known, known)], rcond=1e-10, hermitian=True)
        mean = normal.mean + gain @ (true - normal.mean)[known]
        left = covariance - gain @ covariance[known]
        for found in (even, whole, singly):
            np.testing.assert_allclose(found.mean, mean, atol=2e-5)
            np.testing.assert_allclose(found.variance, np.diagonal(left), atol=2e-5)
            np.testing.assert_allclose(found.project(weights).covariance, weights @ left @ weights.T, atol=1e-4)
