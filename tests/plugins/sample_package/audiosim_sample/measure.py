"""A measure that checks for at least one relevant document in the list."""

import numpy as np

from audiosim.collection.values import Scale
from audiosim.measures.measure import MINIMUM, Definition, Measure
from audiosim.stats.arrays import Array


def hit(measure: Measure, scale: Scale, grades: Array, judged: Array) -> Array:
    """(...,) 1 if a relevant document is in the list, else 0.

    grades  (..., n) down to the cutoff; relevant from `min` on, or above 0 if none is chosen
    """
    minimum = measure.number("min")
    relevant = grades >= minimum if minimum else grades > 0
    return np.asarray(relevant.any(axis=-1), dtype=np.float64)


HIT = Definition("HIT", (MINIMUM,), hit)
