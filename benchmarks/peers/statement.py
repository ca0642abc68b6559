"""Statements of a method about the systems at one budget, and their accuracy."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers

LEVEL = 0.95  # confidence of intervals
KNOWN = 1e-7  # smaller half widths are rounding errors of a known value
ROUNDING = 1e-9  # tolerance for equal true scores


def pairs_of(systems: int) -> tuple[Integers, Integers]:
    """(p,) and (p,): the systems of each pair, in the order of a StatedRanking."""
    first, second = np.triu_indices(systems, 1)
    return first, second


@dataclass(frozen=True, eq=False)
class StatedRanking:
    """Scores of s systems and the differences of their p pairs, with 95 % intervals, after some judgments.

    scores            (s,) expected mean scores, from 0 to 1
    half              (s,) half widths of the scores' intervals; NaN if none is stated
    differences       (p,) expected score of the first less that of the second; see `pairs_of`
    half_differences  (p,) half widths of the differences' intervals; NaN if none is stated
    confidence        (p,) probability that a difference has the expected sign, 1/2 to 1; NaN if none is stated
    """

    scores: Array
    half: Array
    differences: Array
    half_differences: Array
    confidence: Array

    def __post_init__(self) -> None:
        s = len(self.scores)
        for name, size in (("half", s), *((name, s * (s - 1) // 2) for name in ("differences", *OF_PAIRS))):
            if np.shape(getattr(self, name)) != (size,):
                raise InputError(f"{name} must be ({size},) for {s} systems, got {np.shape(getattr(self, name))}")
        if not (np.isfinite(self.scores).all() and np.isfinite(self.differences).all()):
            raise InputError("scores and differences must be finite")
        if (self.half < 0).any() or (self.half_differences < 0).any():
            raise InputError("half widths of intervals must be 0 or more, or NaN where none is stated")
        if not ((self.confidence >= 0.5) & (self.confidence <= 1) | np.isnan(self.confidence)).all():
            raise InputError("a confidence must be from 0.5 to 1, or NaN where none is stated")


OF_PAIRS = ("half_differences", "confidence")


def by_deviations(
    scores: Array,
    deviation: Array,
    differences: Array,
    deviation_of_differences: Array,
    freedom: Array | float = np.inf,
    freedom_of_differences: Array | float = np.inf,
) -> StatedRanking:
    """StatedRanking by standard errors: Student's t of some degrees of freedom, the normal distribution where infinite.

        half = t_.975 sd,   confidence = F_t(|difference| / sd)

    deviation, deviation_of_differences  (s,) and (p,); NaN: no interval, confidence 1/2
    """
    confidence = np.full(len(differences), 0.5)
    there = np.isfinite(deviation_of_differences)
    size, spread = np.abs(differences[there]), deviation_of_differences[there]
    known = np.where(size > 0, 1.0, 0.5)
    reach = np.divide(size, spread, out=np.zeros(len(size)), where=spread > 0)
    degrees = np.broadcast_to(freedom_of_differences, len(differences))[there]
    confidence[there] = np.where(spread > 0, stdtr(degrees, reach), known)
    quantiles = (stdtrit(degrees, (1 + LEVEL) / 2) for degrees in (freedom, freedom_of_differences))
    return StatedRanking(
        scores,
        next(quantiles) * deviation,
        differences,
        next(quantiles) * deviation_of_differences,
        confidence,
    )


def order_alone(scores: Array) -> StatedRanking:
    """StatedRanking of a method that orders the systems without any confidence."""
    first, second = pairs_of(len(scores))
    nothing = np.full(len(first), np.nan)
    return StatedRanking(scores, np.full(len(scores), np.nan), scores[first] - scores[second], nothing, nothing)


def nothing_known(systems: int) -> StatedRanking:
    """StatedRanking of a method that cannot distinguish the systems yet: no intervals, confidence 1/2."""
    pairs = len(pairs_of(systems)[0])
    unknown = np.full(systems, np.nan), np.full(pairs, np.nan)
    return by_deviations(np.full(systems, 0.5), unknown[0], np.zeros(pairs), unknown[1])


@dataclass(frozen=True)
class Outcome:
    """Accuracy of a statement.

    judged       number of judged pairs
    right        share of the pairs of systems in the correct order; a tie of the method counts 1/2
    stated       mean confidence, or None
    systems      number of 95 % intervals of scores that contain the truth, and of all
    differences  the same for the differences of two systems
    half         mean half width of the intervals of differences, or None

    Pairs of systems that are truly equal have no order and are left out, and so are intervals of known values.
    """

    judged: int
    right: float
    stated: float | None
    systems: tuple[int, int]
    differences: tuple[int, int]
    half: float | None

    @classmethod
    def of(cls, statement: StatedRanking, truth: Array, judged: int) -> "Outcome":
        """Outcome of a statement, by the true scores (s,)."""
        first, second = pairs_of(len(truth))
        true = truth[first] - truth[second]
        open_ = np.abs(true) > ROUNDING
        right = (1 + np.sign(true) * np.sign(statement.differences))[open_] / 2
        half, confidence = statement.half_differences[open_], statement.confidence[open_]
        return cls(
            judged,
            float(right.mean()) if len(right) else 1.0,
            float(confidence.mean()) if len(right) and np.isfinite(confidence).all() else None,
            _held(statement.scores - truth, statement.half),
            _held((statement.differences - true)[open_], half),
            float(half[np.isfinite(half)].mean()) if np.isfinite(half).any() else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Outcome":
        """The outcome from `to_dict`."""
        pairs = {name: (int(values[name][0]), int(values[name][1])) for name in ("systems", "differences")}
        return cls(**{**values, **pairs})


def _held(off: Array, half: Array) -> tuple[int, int]:
    there = np.isfinite(half) & (half > KNOWN)
    return int((np.abs(off) <= half)[there].sum()), int(there.sum())
