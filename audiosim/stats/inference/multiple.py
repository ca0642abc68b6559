"""Many tests at once: p-values adjusted so that all can be read together."""

import numpy as np
from numpy.typing import ArrayLike

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError


def holm(p_values: ArrayLike) -> Array:
    """Holm's adjusted p-values: below alpha, they keep the chance of any false finding at alpha.

        max over j <= i of  (m - j + 1) p_(j), at most 1;  p_(1) <= ... <= p_(m)

    p_values  (m,) p-values from 0 to 1, of tests that may depend on each other in any way

    Holm (1979), https://www.jstor.org/stable/4615733.
    """
    values = _checked(p_values)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return _restored(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(p_values: ArrayLike) -> Array:
    """Benjamini and Hochberg's adjusted p-values: below alpha, they keep the expected share of false findings at alpha.

        min over j >= i of  m p_(j) / j;  p_(1) <= ... <= p_(m)

    p_values  (m,) p-values from 0 to 1, of tests that are independent or depend positively

    Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    values = _checked(p_values)
    order = np.argsort(values, kind="stable")
    # The factor first: m / j is 1 for the largest and never less, so that no p-value falls by rounding.
    scaled = values[order] * (len(values) / np.arange(1, len(values) + 1))
    return _restored(np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0), order)


def _restored(values: Array, order: Integers) -> Array:
    result = np.empty(len(values))
    result[order] = values
    return result


def _checked(p_values: ArrayLike) -> Array:
    values = np.asarray(p_values, dtype=float)
    if values.ndim != 1:
        raise InputError(f"p-values must be (m,), got {values.shape}")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(f"p-value {place} must be from 0 to 1, got {values[place]:g}")
    return values
