"""The nearest equal those of a full sort of divergences, evaluated from the definition with numpy's inverses."""

import numpy as np
import pytest

from audiosim.sound import nearest as module
from audiosim.sound.gaussians import from_rows, to_rows
from audiosim.sound.kullback_leibler import pack, packed_sides
from audiosim.sound.nearest import SearchField, nearest


def field_of(packed, groups=None, closed=(), order=None):
    n = len(packed)
    shut = np.isin(np.arange(n), closed)
    return SearchField(
        packed, np.arange(n) if groups is None else groups, shut, np.arange(n) if order is None else order
    )


def whole(rows):
    """Symmetrised Kullback-Leibler divergences of all pairs."""
    means, covariances = from_rows(rows, 6)
    inverses = np.linalg.inv(covariances)
    traces = np.einsum("iab,jab->ij", inverses, covariances)
    divergences = means[:, None] - means
    squares = np.einsum("ija,iab,ijb->ij", divergences, inverses, divergences, optimize=True)
    both = (traces + traces.T + squares + squares.T) / 2 - 6
    np.fill_diagonal(both, 0)
    return both


def by_sort(packed, field, queries, groups, k):
    """(place, divergence) for each query, from the whole matrix."""
    divergences = whole(packed.rows)
    for query, group in zip(queries, groups, strict=True):
        allowed = np.flatnonzero(~field.closed & (field.groups != group))
        best = allowed[np.lexsort((field.order[allowed], divergences[query, allowed]))[:k]]
        yield best.tolist(), divergences[query, best]


def check(packed, field, queries, groups, k):
    found = nearest(field, packed.exact(queries), groups, k)
    assert np.array_equal(found.query, np.sort(found.query))
    for number, (places, expected) in enumerate(by_sort(packed, field, queries, groups, k)):
        chosen = found.query == number
        assert found.place[chosen].tolist() == places
        # The definition has cancellation: its error is about 1e-14 times the traces.
        np.testing.assert_allclose(found.divergence[chosen], expected, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def packed(random_gaussians):
    """Seventy clusters of ten near duplicates."""
    rng = np.random.default_rng(1)
    means, covariances = (np.repeat(part, 10, axis=0) for part in random_gaussians(rng, 70, 6, 1, 1))
    means = means + 1e-3 * rng.standard_normal(means.shape)
    return pack(to_rows(means, covariances), 6)


@pytest.mark.parametrize("k", [1, 5, 30, 699, 5000])
def test_the_nearest_are_those_of_a_full_sort(packed, k):
    queries = np.array([0, 3, 77, 400, 699, 3])
    check(packed, field_of(packed), queries, queries, k)


def test_the_size_of_the_parts_does_not_matter(packed, monkeypatch):
    for name, size in (("QUERIES", 3), ("TILE", 900), ("SPAN", 100), ("PACKED", 7)):
        monkeypatch.setattr(module, name, size)
    queries = np.arange(0, 700, 60)
    check(packed, field_of(packed), queries, queries, 12)


def test_own_groups_and_closed_ones_are_not_found(packed):
    groups = np.arange(700) % 7
    field = field_of(packed, groups, closed=np.arange(0, 700, 3))
    queries = np.array([0, 11, 600])
    check(packed, field, queries, groups[queries], 20)


def test_of_those_equally_near_the_first_in_order_come_first(packed):
    # Ten copies of the first at the end, ordered backwards.
    rows = np.concatenate([packed.rows, np.repeat(packed.rows[:1], 10, axis=0)])
    copies = pack(rows, 6)
    found = nearest(field_of(copies, order=np.arange(710)[::-1]), copies.exact(np.array([0])), np.array([0]), 4)
    assert found.place.tolist() == [709, 708, 707, 706]
    assert not found.divergence.any()


def test_a_query_need_not_be_in_the_field(packed, random_gaussians):
    means, covariances = random_gaussians(np.random.default_rng(2), 3, 6, 1, 1)
    rows = to_rows(means, covariances)
    found = nearest(field_of(packed), packed_sides(rows, packed.whitener), np.full(3, -1), 2)
    divergences = whole(np.concatenate([packed.rows, rows]))[700:, :700]
    assert found.place.reshape(3, 2).tolist() == np.argsort(divergences, axis=1, kind="stable")[:, :2].tolist()


def test_nothing_is_near_in_an_empty_field(packed):
    everything = field_of(packed, closed=np.arange(700))
    assert len(nearest(everything, packed.exact(np.array([4])), np.array([4]), 3).place) == 0
    assert len(nearest(field_of(packed), packed.exact(np.empty(0, int)), np.empty(0, int), 3).place) == 0
