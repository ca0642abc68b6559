"""Pace at which the assessors judge."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BREAK_S = 600.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Pace at which one assessor judges, or several.

    answers   judgments and "cannot judge", including revised and withdrawn ones, which took time too
    per_hour  answers in an hour of an assessor's work; None without two consecutive answers
    median_s  median time from one answer of an assessor to the next, in seconds; None likewise

    A gap of more than 10 minutes between two answers counts as a break.
    """

    answers: int
    per_hour: float | None
    median_s: float | None

    def to_dict(self) -> dict[str, Any]:
        """The pace as plain values, ready for JSON."""
        return {"answers": self.answers, "per_hour": self.per_hour, "median_s": self.median_s}


def pace(times: Iterable[Sequence[float]]) -> Pace:
    """The pace of assessors who answered at these times.

    times  times of each assessor's answers, in seconds, in any order, as answers may arrive late
    """
    times = list(times)
    answers = sum(map(len, times))
    steps = np.concatenate([np.empty(0), *(np.diff(np.sort(own)) for own in times)])
    steps = steps[steps <= BREAK_S]
    if not steps.sum():
        return Pace(answers, None, None)
    return Pace(answers, float(3600 * len(steps) / steps.sum()), float(np.median(steps)))
