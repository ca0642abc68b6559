"""What a ranking scores: grades in, numbers out, for all of the measures in all of their forms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.model import Scale
from audiosim.measures.binary import ap, precision, rr
from audiosim.measures.cascade import edcg, err
from audiosim.measures.gains import (
    cg,
    dcg,
    discounts,
    exponential_gain,
    first_discounts,
    first_rbp,
    linear_gain,
    ndcg,
    q_measure,
    rbp,
)
from audiosim.measures.levels import adr, gap, satisfied_users, strict_adr
from audiosim.measures.measure import Measure

GAINS: Mapping[str, Callable[[Array], Array]] = {"linear": linear_gain, "exponential": exponential_gain}


def score(measure: Measure, scale: Scale, grades: Array, judged: Array) -> Array:
    """(...,) what rankings score, all at once.

    scale   of the grades; its highest grade is the best there is
    grades  (..., n) grade at each rank, best rank first; NaN where nothing was retrieved, as after rank n
    judged  (..., m) grades of all judged documents of the query, best first, 0 after the last; its shape may be that of
            the queries alone, (q, m) for grades (s, q, n)
    """
    top = grades[..., : measure.cutoff]
    if measure.definition.score is not None:
        return measure.definition.score(measure, scale, top, judged)
    return SCORES[measure.name](_Rankings(measure, scale, top, judged))


@dataclass(frozen=True, eq=False)
class _Rankings:
    """What the measures are made of: grades as gains, as relevant or not, and the best there could be."""

    measure: Measure
    scale: Scale
    grades: Array
    judged: Array

    @property
    def cutoff(self) -> int:
        return self.measure.cutoff

    @property
    def original(self) -> bool:
        return self.measure.word("form") == "original"

    @property
    def user(self) -> bool:
        return self.measure.word("ideal") == "user"

    def gain(self, grades: Array) -> Array:
        return GAINS[self.measure.word("gain")](grades)

    @cached_property
    def gains(self) -> Array:
        return self.gain(self.grades)

    @cached_property
    def highest(self) -> float:
        return float(self.gain(np.array(self.scale.maximum)))

    @property
    def bound(self) -> float | None:
        """The highest gain, None for a measure as first published, which has no bound."""
        return None if self.original else self.highest

    @cached_property
    def ideal(self) -> Array:
        """(k,) or (..., m): the gains of the ideal ranking."""
        return np.full(self.cutoff, self.highest) if self.user else self.gain(self.judged)

    @property
    def published_ideal(self) -> Array | None:
        """The ideal ranking, None for a measure that was first published without."""
        return None if self.original else self.ideal

    @property
    def discounts(self) -> Array:
        kind = first_discounts if self.original else discounts
        return kind(self.cutoff, self.measure.number("base"))

    def relevant(self, grades: Array) -> Booleans:
        """Whether grades are relevant: at least `min`, or above 0 where there is none; nothing retrieved is not."""
        minimum = self.measure.number("min")
        return grades >= minimum if minimum else grades > 0

    @property
    def most_relevant(self) -> Array:
        """How many relevant documents there could be: all judged ones, those or k if it is less, or k."""
        if self.user:
            return np.array(float(self.cutoff))
        number = self.relevant(self.judged).sum(axis=-1, dtype=np.float64)
        return np.asarray(number if self.original else np.minimum(number, self.cutoff))

    @property
    def most_satisfied(self) -> Array:
        """The best sum of F there could be: over all judged documents, over the best k of them, or k."""
        if self.user:
            return np.array(float(self.cutoff))
        judged = self.judged if self.original else self.judged[..., : self.cutoff]
        return np.asarray(satisfied_users(judged, self.scale).sum(axis=-1))

    @property
    def ranks(self) -> Integers:
        """How many ranks ADR counts."""
        if self.original:
            return np.array(self.cutoff)
        return np.asarray(np.minimum(self.cutoff, self.relevant(self.judged).sum(axis=-1)), dtype=np.int64)


def _ndcg(of: _Rankings) -> Array:
    return ndcg(of.gains, of.ideal, of.discounts)


def _q(of: _Rankings) -> Array:
    return q_measure(of.gains, of.ideal, of.most_relevant, of.cutoff, of.measure.number("beta"))


def _rbp(of: _Rankings) -> Array:
    p = of.measure.number("p")
    return first_rbp(of.gains, of.highest, of.cutoff, p) if of.original else rbp(of.gains, of.ideal, of.cutoff, p)


def _adr(of: _Rankings) -> Array:
    if of.user:
        return strict_adr(of.grades, of.scale.maximum, of.cutoff)
    return adr(of.grades, of.judged, of.ranks)


SCORES: Mapping[str, Callable[[_Rankings], Array]] = {
    "P": lambda of: precision(of.relevant(of.grades), of.cutoff),
    "AP": lambda of: ap(of.relevant(of.grades), of.most_relevant, of.cutoff),
    "RR": lambda of: rr(of.relevant(of.grades), of.cutoff),
    "CG": lambda of: cg(of.gains, of.cutoff, of.bound),
    "DCG": lambda of: dcg(of.gains, of.discounts, of.bound),
    "nDCG": _ndcg,
    "Q": _q,
    "RBP": _rbp,
    "ERR": lambda of: err(of.gains, of.highest, of.cutoff, of.published_ideal),
    "EDCG": lambda of: edcg(of.gains, of.highest, of.cutoff, of.published_ideal),
    "GAP": lambda of: gap(satisfied_users(of.grades, of.scale), of.most_satisfied, of.cutoff),
    "ADR": _adr,
}
