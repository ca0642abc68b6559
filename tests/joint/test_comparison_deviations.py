"""Covariances of compared differences, from components of known size and from unknown ones."""

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.joint.comparisons import Compared
from audiosim.joint.fit import _covariances
from audiosim.joint.people import TASTE
from audiosim.joint.terms import layout_of
from benchmarks.synthetic import Design, synthetic_collection


def test_a_component_of_known_size_adds_its_kernel_times_its_variance():
    pool = build_pool(synthetic_collection(np.random.default_rng(2), Design(4, 2, 6, 4, 12)))
    layout = layout_of(pool, np.random.default_rng(1).uniform(0.2, 0.4, len(pool.pairs)))
    first, second = np.arange(0, 12, 2), np.arange(1, 12, 2)
    compared = Compared(("ann",), first, second, np.zeros(6, dtype=np.int64), np.zeros(6, dtype=np.int64))
    sizes = {name: 0.3 + place for place, name in enumerate(layout.names)}
    parts = np.ones((len(pool.pairs), 1))
    known, none = _covariances(layout, parts, compared, sizes, {})
    nothing, learned = _covariances(layout, parts, compared, sizes, dict.fromkeys(sizes, 0.5))
    assert not nothing.any()
    assert not sizes.keys() & none.keys()
    np.testing.assert_allclose(known, sum(sizes[name] ** 2 * learned[name] for name in sizes), rtol=1e-12)
    assert np.diagonal(known).min() > 0
    # People's taste for systems does not distinguish two pairs of the same systems.
    assert none[TASTE] == pytest.approx(0)
