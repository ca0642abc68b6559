"""Seconds that answers take, by person and kind of question."""

import math
from typing import Literal

from audiosim.campaign.event import ANSWERS, Event

GRADE: Literal["grade"] = "grade"
COMPARISON: Literal["comparison"] = "comparison"
USUAL_S = {GRADE: 14.0, COMPARISON: 21.0}  # comparing melodies takes 21 s, 13 of them listening: 1.5 times a grade
LEAST_S, MOST_S = 1.0, 600.0  # a longer time is a break
WORTH = 5  # weight of the prior at each step, in answers


class SecondsTaken:
    """Typical times of answers, in seconds, learned from the answers so far.

    The logarithm of the time is the sum of the kind's usual one, the campaign's pace, the kind's deviation in this
    campaign, and the person's deviation; each deviation is shrunk towards 0 as if WORTH answers had given 0.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[int, float]] = {}  # answers, excess over the usual

    def note(self, event: Event) -> None:
        """Add an answer, if its time is known."""
        seconds = event.details.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
            return
        kind = GRADE if event.kind in (*ANSWERS, "repeat") else COMPARISON
        excess = math.log(min(max(seconds, LEAST_S), MOST_S) / USUAL_S[kind])
        count, total = self._sums.get((event.assessor, kind), (0, 0.0))
        self._sums[event.assessor, kind] = count + 1, total + excess

    def expected(self, kind: str, assessor: str) -> float:
        """Expected time of a person's next answer of a kind, in seconds."""
        excess = 0.0
        for about in (
            list(self._sums.values()),
            [of for (_, other), of in self._sums.items() if other == kind],
            [self._sums.get((assessor, kind), (0, 0.0))],
        ):
            count, total = sum(one[0] for one in about), sum(one[1] for one in about)
            excess += (total - count * excess) / (WORTH + count)
        return USUAL_S[kind] * math.exp(excess)
