"""Input of all measures: lists with a grade at each rank, as interpreted by one measure."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.model import Scale
from audiosim.measures.definition import Measure, Score
from audiosim.measures.gains import gain_of, share_satisfied
from audiosim.properties import cached_property


@dataclass(frozen=True, eq=False)
class GradedLists:
    """Result lists with a grade at each rank, and their gains, relevance and ideal by one measure.

    measure  measure that interprets the lists
    scale    scale of the grades
    grades   (..., n) grades down to the cutoff, best rank first; NaN where nothing was retrieved
    judged   (..., m) grades of all judged documents of the query, best first, 0 after the last
    """

    measure: Measure
    scale: Scale
    grades: Array
    judged: Array

    @property
    def cutoff(self) -> int:
        return self.measure.cutoff

    @property
    def original(self) -> bool:
        return self.measure.original

    @property
    def user(self) -> bool:
        return self.measure.word("ideal") == "user"

    def gain(self, grades: Array) -> Array:
        return gain_of(self.measure)(grades)

    @cached_property
    def gains(self) -> Array:
        return self.gain(self.grades)

    @cached_property
    def highest(self) -> float:
        return 1.0 if self.measure.lowest_rel else float(self.gain(np.array(self.scale.maximum)))

    @property
    def bound(self) -> float | None:
        """The highest gain; None for the first published form of a measure, which has no bound."""
        return None if self.original else self.highest

    @cached_property
    def ideal(self) -> Array:
        """(k,) or (..., m): the gains of the ideal ranking."""
        return np.full(self.cutoff, self.highest) if self.user else self.gain(self.judged)

    @property
    def published_ideal(self) -> Array | None:
        """The ideal ranking; None for a measure that was first published without one."""
        return None if self.original else self.ideal

    def relevant(self, grades: Array) -> Booleans:
        """Mask of relevant grades: at least `min` or `rel`, or above 0 without; False where nothing was retrieved."""
        minimum = self.measure.lowest_relevant
        return grades >= minimum if minimum else grades > 0

    @property
    def most_relevant(self) -> Array:
        """Largest possible number of relevant documents: that of all judged ones, the smaller of this and k, or k."""
        if self.user:
            return np.array(float(self.cutoff))
        number = self.relevant(self.judged).sum(axis=-1, dtype=np.float64)
        return np.asarray(number if self.original else np.minimum(number, self.cutoff))

    @property
    def most_satisfied(self) -> Array:
        """Largest possible sum of F: over all judged documents, over the best k of them, or k."""
        if self.user:
            return np.array(float(self.cutoff))
        judged = self.judged if self.original else self.judged[..., : self.cutoff]
        return np.asarray(self.satisfied(judged).sum(axis=-1))

    def satisfied(self, grades: Array) -> Array:
        """Share of users for whom each grade is relevant, by the measure's thresholds."""
        return share_satisfied(grades, self.scale, self.measure.word("thresholds") or "uniform")

    @property
    def ranks(self) -> Integers:
        """Number of ranks that ADR counts."""
        if self.original:
            return np.array(self.cutoff)
        return np.asarray(np.minimum(self.cutoff, self.relevant(self.judged).sum(axis=-1)), dtype=np.int64)


def of_lists(formula: Callable[[GradedLists], Array]) -> Score:
    """The score of a `Definition`, from a function of graded lists."""

    @wraps(formula)
    def score(measure: Measure, scale: Scale, grades: Array, judged: Array) -> Array:
        return formula(GradedLists(measure, scale, grades, judged))

    return score
