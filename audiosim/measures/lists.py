"""Value of a grade: gains, the share of users it satisfies, and the weight of a gain at each rank."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps

import numpy as np

from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.measures.definition import Measure, Score
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers


def share_of(score: Array, best: Array | float) -> Array:
    """Scores as shares of the best possible score; 0 if that is 0."""
    score, best = np.broadcast_arrays(score, np.asarray(best, dtype=np.float64))
    return np.divide(score, best, out=np.zeros(score.shape), where=best > 0)


def linear_gain(grades: Array) -> Array:
    """The gain is the grade; 0 where nothing was retrieved (NaN). Järvelin & Kekäläinen (2002)."""
    return np.where(np.isnan(grades), 0.0, grades)


def exponential_gain(grades: Array, base: float = 2.0) -> Array:
    """The gain is base^grade - 1; 0 where nothing was retrieved (NaN).

    base  above 1; 2 in Burges et al. (2005), doi:10.1145/1102351.1102363
    """
    return np.asarray(np.power(base, linear_gain(grades)) - 1)


def binary_gain(grades: Array, least: float) -> Array:
    """The gain is 1 for a grade of at least `least`, otherwise 0; 0 where nothing was retrieved (NaN)."""
    return np.asarray(grades >= least, dtype=np.float64)


def discounts(cutoff: int, base: float = 2.0) -> Array:
    """(cutoff,) weight of a gain at each rank.

        1 / log_b(i + b - 1)

    base  b, above 1

    Burges et al. (2005), with any base; Urbano (2013), after equation 2.9. Base 2 gives 1 / log2(i + 1).
    """
    return np.asarray(np.log(base) / np.log(np.arange(1.0, cutoff + 1) + (base - 1)))


def first_discounts(cutoff: int, base: float = 2.0) -> Array:
    """(cutoff,) weight of a gain at each rank, as first published.

        1 for i < b, otherwise 1 / log_b i

    base  b, above 1

    Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418. With base 2, rank 2 is not discounted.
    """
    return np.asarray(1 / np.maximum(1.0, np.log(np.arange(1.0, cutoff + 1)) / np.log(base)))


def discounted(gains: Array, weights: Array) -> Array:
    """(...,) sum of the gains, each times the weight (k,) of its rank."""
    width = min(gains.shape[-1], len(weights))
    return np.asarray(gains[..., :width] @ weights[:width])


def persistence(cutoff: int, p: float) -> Array:
    """(cutoff,) probability that a listener reaches each rank: p^(i-1)."""
    return np.asarray(np.power(p, np.arange(float(cutoff))), dtype=np.float64)


def share_satisfied(grades: Array, scale: Scale, thresholds: str = "uniform") -> Array:
    """(...,) share of users for whom each grade is relevant; 0 where nothing was retrieved (NaN).

        F(r) = sum of p_l over the levels l up to r

    thresholds  the share p_l of users for whom a level is the lowest relevant one: `uniform`, 1 / (n_L - 1) for each
                level above the lowest, or such as 40:0.3/70:0.7, levels above the lowest with shares that add up to 1

    Robertson et al. (2010), doi:10.1145/1835449.1835550.
    """
    levels, shares = _thresholds(scale, thresholds)
    reached = np.searchsorted(levels, np.nan_to_num(grades, nan=-1.0), side="right")
    return np.concatenate([[0.0], np.cumsum(shares) / shares.sum()])[reached]


def _thresholds(scale: Scale, written: str) -> tuple[Array, Array]:
    """(t,) levels, rising, and (t,) share of users for whom each is the lowest relevant level."""
    if written == "uniform":
        return np.array(scale.levels[1:]), np.ones(len(scale.levels) - 1)
    pairs = sorted((float(level), float(share)) for level, _, share in (x.partition(":") for x in written.split("/")))
    levels, shares = np.array(pairs).T
    wrong = [level for level in levels.tolist() if level not in scale.levels[1:]]
    if wrong or len(set(levels.tolist())) < len(levels):
        raise InputError(
            f"thresholds of GAP must be different levels above the lowest of the {scale.name} scale ({scale}), "
            f"got {written}"
        )
    if abs(shares.sum() - 1) > 1e-9:
        raise InputError(f"the shares of thresholds={written} must add up to 1, got {shares.sum():g}")
    return levels, shares


def gain_of(measure: Measure) -> Callable[[Array], Array]:
    """Gain of a grade in a measure; linear if the measure has no such parameter, 1 for a grade of `rel` or more."""
    if measure.lowest_rel:
        return partial(binary_gain, least=measure.lowest_rel)
    if measure.word("gain") != "exponential":
        return linear_gain
    return partial(exponential_gain, base=measure.number("gain_base") or 2.0)


# Input of all measures: lists with a grade at each rank, as interpreted by one measure.


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

    @cached_property
    def ideal(self) -> Array:
        """(k,) or (..., m): the gains of the ideal ranking."""
        return np.full(self.cutoff, self.highest) if self.user else self.gain(self.judged)

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
