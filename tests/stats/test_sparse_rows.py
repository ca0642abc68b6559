"""Matrices side by side, compared with numpy's own stacking."""

import numpy as np
from scipy import sparse

from audiosim.stats.normal.blocks import side_by_side


def test_matrices_side_by_side_are_those_that_numpy_stacks():
    rng = np.random.default_rng(0)
    dense = [rng.normal(size=(30, width)) * (rng.random((30, width)) < 0.3) for width in (4, 0, 7, 1)]
    factors = rng.random(30)
    unsorted = sparse.csr_array(dense[2])[:, ::-1]
    unsorted = sparse.csr_array(
        (unsorted.data, unsorted.indices, unsorted.indptr), shape=unsorted.shape
    )  # indices may decrease
    found = side_by_side([(dense[0], None), (dense[1], None), (unsorted, factors), (dense[3], factors)], 30)
    expected = np.hstack([dense[0], dense[1], dense[2][:, ::-1] * factors[:, None], dense[3] * factors[:, None]])
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert all(np.all(np.diff(found.indices[a:b]) > 0) for a, b in zip(found.indptr, found.indptr[1:], strict=False))
    assert side_by_side([], 3).shape == (3, 0)
