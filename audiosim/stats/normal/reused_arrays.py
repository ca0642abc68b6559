"""Large arrays that are used again once nothing refers to them: new memory costs more than the sums written to it."""

import sys
from threading import Lock

import numpy as np
from numpy.typing import DTypeLike

from audiosim.arrays import Array

KEPT = 12  # arrays
NOBODY = 3  # references to an array that only the list, the loop and the question itself hold


class ReusedArrays:
    """Arrays handed out for writing, each until the last reference to it is gone.

    The kernel clears each page of a new array when it is first written, which for 20 MB takes longer than a product
    of matrices of that size. Steps of a simulation need the same few arrays again and again.
    """

    def __init__(self) -> None:
        self._arrays: list[Array] = []
        self._lock = Lock()

    def empty(self, shape: tuple[int, ...], kind: DTypeLike) -> Array:
        """An array with any content."""
        with self._lock:
            for array in self._arrays:
                if array.shape == shape and array.dtype == kind and sys.getrefcount(array) <= NOBODY:
                    return array
            array = np.empty(shape, kind)
            self._arrays = [*self._arrays[-KEPT + 1 :], array]
            return array

    def __reduce__(self) -> tuple[type["ReusedArrays"], tuple[()]]:
        return ReusedArrays, ()
