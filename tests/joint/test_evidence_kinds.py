"""Kinds of evidence: what each gives about a pool."""

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.joint.terms import EVIDENCE_KINDS, EvidenceEffects, EvidenceKind, Regressors, layout_of


@pytest.fixture(scope="module")
def pools(demo):
    """A pool with every kind of evidence except sound, and the same with unretrieved pairs."""
    rng = np.random.default_rng(0)
    pairs = build_pool(demo).pairs
    known = demo.with_evidence("year", {name: float(rng.normal()) for name in demo.documents})
    known = known.with_evidence("vectors", {name: rng.normal(size=3) for name in demo.documents})
    known = known.with_judge("gpt", {pair: float(rng.integers(4)) for pair in pairs})
    known = known.with_judge("clap", {pair: float(rng.normal()) for pair in pairs[::2]})
    pool = build_pool(known)
    also = [Pair(query, name) for query in pool.queries for name in demo.documents]
    return pool, build_pool(known, also=[pair for pair in also if pair not in pool.positions])


@pytest.mark.parametrize("name", EVIDENCE_KINDS)
def test_pairs_that_no_system_retrieved_change_nothing_for_the_others(pools, name):
    here, there = (
        EVIDENCE_KINDS[name].regressors(one, layout_of(one, np.ones(len(one.pairs))).blocks) for one in pools
    )
    assert (here is None) == (there is None) == (name == "sound")
    if here is not None:
        assert here.names == there.names
        np.testing.assert_allclose(there.columns[: len(here.columns)], here.columns, atol=1e-9)
        np.testing.assert_array_equal(here.columns[~here.known.any(axis=1)], 0)
        for matrix in (here.covariance, *(block for blocks in here.kernels.values() for block in blocks)):
            np.testing.assert_allclose(matrix, matrix.T)
            assert np.linalg.eigvalsh(matrix).min(initial=0) >= -1e-9


def said(pool, **other):
    parts = {
        "names": ("mine",),
        "known": np.ones((len(pool.pairs), 1), dtype=np.bool_),
        "columns": np.ones((len(pool.pairs), 1)),
        "slopes": np.zeros(1),
        "covariance": np.eye(1),
    }
    return Regressors(**{**parts, **other})


def test_two_kinds_must_not_speak_by_one_name(pools):
    kinds = [EvidenceKind(name, "of a test", lambda pool, blocks: said(pool)) for name in ("one", "two")]
    with pytest.raises(InputError, match="two kinds of evidence have the same name mine"):
        EvidenceEffects.of(pools[0], layout_of(pools[0], np.ones(len(pools[0].pairs))), kinds)
