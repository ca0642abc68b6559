"""Large arrays that are used again once nothing refers to them: new memory costs more than the sums written to it."""

from threading import Lock
from weakref import ref

import numpy as np
from numpy.typing import DTypeLike

from audiosim.arrays import Array

KEPT = 12  # arrays


class _Lent:
    """Memory as one array has it: alive for as long as that array, or any view of it, is.

    NumPy keeps what it made an array of, so that this says who holds the array, and no count of references, which
    differs between versions of Python.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_memory")

    def __init__(self, memory: Array) -> None:
        self._memory, self.__array_interface__ = memory, memory.__array_interface__


class ReusedArrays:
    """Arrays handed out for writing, each until the last reference to it is gone.

    The kernel clears each page of a new array when it is first written, which for 20 MB takes longer than a product
    of matrices of that size. Steps of a simulation need the same few arrays again and again.
    """

    def __init__(self) -> None:
        self._lent: list[tuple[Array, ref[_Lent]]] = []
        self._lock = Lock()

    def empty(self, shape: tuple[int, ...], kind: DTypeLike) -> Array:
        """An array with any content."""
        with self._lock:
            for place, (memory, lent) in enumerate(self._lent):
                if memory.shape == shape and memory.dtype == kind and lent() is None:
                    self._lent[place], array = _lend(memory)
                    return array
            one, array = _lend(np.empty(shape, kind))
            self._lent = [*self._lent[-KEPT + 1 :], one]
            return array

    def __reduce__(self) -> tuple[type["ReusedArrays"], tuple[()]]:
        return ReusedArrays, ()


def _lend(memory: Array) -> tuple[tuple[Array, ref[_Lent]], Array]:
    """Memory and who has it, and an array in it."""
    lent = _Lent(memory)
    return (memory, ref(lent)), np.asarray(lent)
