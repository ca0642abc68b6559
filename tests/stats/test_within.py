"""Covariances within blocks computed on demand equal the full ones, kept or not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.blocks import Cosines, SameCode, Within
from audiosim.stats.normal.layout import REST, Layout

SIZES = {"same": 0.5, "some": 0.3, "found": 0.4, "drawn": 0.2, "effects": 0.6, REST: 0.7}


@pytest.fixture
def layout():
    rng = np.random.default_rng(3)
    blocks = tuple(np.split(rng.permutation(14), [4, 5, 11]))
    code, found = rng.integers(-1, 3, 14), sparse.csr_array((rng.random((14, 5)) < 0.6).astype(float))
    roots = [rng.normal(size=(len(rows), 3)) for rows in blocks]
    kernels = {
        "same": SameCode(blocks, code),
        "some": SameCode(blocks, code, rng.random(14) < 0.5),
        "found": Cosines(blocks, found),
        "drawn": tuple(root @ root.T + np.eye(len(root)) for root in roots),
    }
    return Layout(blocks, kernels, {"effects": rng.normal(size=(14, 2))}, rng.uniform(0.5, 2, 14))


def written_out(layout):
    """K_b of each block from its definition, value by value."""
    same, some, found = (layout.kernels[name] for name in ("same", "some", "found"))
    things = found.found.toarray()
    for block, rows in enumerate(layout.blocks):
        own = np.zeros((len(rows), len(rows)))
        for a, i in enumerate(rows):
            for b, j in enumerate(rows):
                alike = i == j or same.code[i] == same.code[j] >= 0
                lengths = np.sqrt(max(1, things[i].sum()) * max(1, things[j].sum()))
                cosine = 1.0 if i == j else things[i] @ things[j] / lengths
                own[a, b] = 0.5**2 * alike + 0.3**2 * (alike and some.among[i] and some.among[j]) + 0.4**2 * cosine
                own[a, b] += 0.2**2 * layout.kernels["drawn"][block][a, b] + 0.7**2 * (i == j)
        yield own * np.outer(layout.scale[rows], layout.scale[rows])


@pytest.mark.parametrize("kept", [True, False])
def test_a_normal_of_made_covariances_is_that_of_the_same_written_out(layout, kept):
    made = layout.normal(SIZES, np.zeros(14))
    assert isinstance(made.within, Within)
    made = replace(made, within=replace(made.within, kept={} if kept else None))
    plain = BlockNormal(made.mean, made.blocks, tuple(written_out(layout)), made.loadings, made.shared)
    weights = sparse.csc_array(np.random.default_rng(4).normal(size=(3, 14)))
    places, values = np.array([2, 9, 13]), np.array([0.3, -1.0, 0.5])
    for ours, theirs in (
        (made, plain),
        (made.condition(5, 0.4), plain.condition(5, 0.4)),
        (made.condition_all(places, values).condition(0, 1.0), plain.condition_all(places, values).condition(0, 1.0)),
    ):
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-12)
        np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-12)
        np.testing.assert_allclose(ours.project(weights).covariance, theirs.project(weights).covariance, atol=1e-12)
        np.testing.assert_allclose(ours.across(weights), theirs.across(weights), atol=1e-12)
        np.testing.assert_allclose(ours.column(7), theirs.column(7), atol=1e-12)
    np.testing.assert_allclose(made.held_out(places, values), plain.held_out(places, values), atol=1e-12)
    assert (made.within.kept is not None) == kept


@pytest.mark.parametrize("places", [[3], [2, 9, 13], [0, 1, 4, 7, 8, 12]])
def test_what_is_at_hand_is_handed_on_as_it_would_be_found_anew(layout, places):
    prior = layout.normal(SIZES, np.zeros(14)).condition(5, 0.4)
    weights = sparse.csc_array(np.random.default_rng(4).normal(size=(3, 14)))
    places = np.array([*places, 5])  # one of them is already certain
    anew = prior.condition_all(places, np.arange(len(places)) / 10)
    assert prior.across(weights).shape == (3, 14)  # kept from now on
    after = prior.condition_all(places, np.arange(len(places)) / 10)
    np.testing.assert_allclose(after.variance, anew.variance, atol=1e-12)
    np.testing.assert_allclose(after.across(weights), anew.across(weights), atol=1e-12)
    assert not after.variance[places].any()
    assert not after.across(weights)[:, places].any()
