"""Array types for signatures, whose docstrings give the shapes; and places in arrays."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Precision = Literal["single", "double"]


def numbered(places: Integers, count: int) -> Integers:
    """(count,) the number of each of `count` places among some of them, in their order; -1 for all others."""
    numbers = np.full(count, -1)
    numbers[places] = np.arange(len(places))
    return numbers


def places_within(sizes: Integers) -> Integers:
    """Places within each of several stretches, from 0, one stretch after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
