"""Middle ranks equal SciPy's."""

import numpy as np
import pytest
from scipy.stats import rankdata

from audiosim.stats.inference.middle_ranks import middle_ranks


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (1, 7), (40, 30)])
def test_ranks_are_those_of_scipy(shape, axis):
    values = np.random.default_rng(0).integers(0, 9, shape) / 3  # with ties
    assert np.array_equal(middle_ranks(values, axis), rankdata(values, axis=axis))
