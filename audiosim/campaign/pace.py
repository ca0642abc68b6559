"""Pace at which the assessors judge."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BREAK_S = 600.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Pace at which one assessor judges, or several.

    answers   judgments and "cannot judge", including revised and undone ones, which took time too
    per_hour  answers in an hour of an assessor's work; None where no two answers follow each other
    median_s  median time from one answer of an assessor to the next, in seconds; None likewise

    An answer more than 10 minutes after the one before begins a new stretch of work; the time between is a break.
    """

    answers: int
    per_hour: float | None
    median_s: float | None

    def to_dict(self) -> dict[str, Any]:
        """The pace as plain values, ready for JSON."""
        return {"answers": self.answers, "per_hour": self.per_hour, "median_s": self.median_s}


def pace(times: Iterable[Sequence[float]]) -> Pace:
    """The pace of assessors who answered at these times.

    times  of each assessor, in seconds; in any order, as answers may be sent late
    """
    times = list(times)
    answers = sum(map(len, times))
    steps = np.concatenate([np.empty(0), *(np.diff(np.sort(own)) for own in times)])
    steps = steps[steps <= BREAK_S]
    if not steps.sum():
        return Pace(answers, None, None)
    return Pace(answers, float(3600 * len(steps) / steps.sum()), float(np.median(steps)))
