"""Seconds that answers take, by person and kind of question."""

import math
from typing import Literal

from audiosim.campaign.event import ANSWERS, Event
from audiosim.corpus.question import ON_ONE_PAGE

GRADE: Literal["grade"] = "grade"
COMPARISON: Literal["comparison"] = "comparison"
PAGE: Literal["page"] = "page"  # a grade on a page of several candidates
USUAL_S = {GRADE: 14.0, COMPARISON: 21.0}  # 21 s a comparison of melodies, 13 of them listening: 1.5 times a grade's
LEAST_S, MOST_S = 1.0, 600.0  # longer is a break
WORTH = 5  # answers that the prior counts as, at each step
A_TRY = 12  # grades on pages for each of the first single grades


class SecondsTaken:
    """Typical seconds that answers take, learned from those so far.

    The logarithm of the seconds is the usual one of the kind, plus the pace here, plus this kind's own part here, plus
    the person's; each is shrunk towards 0 as if WORTH answers had given 0.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[int, float]] = {}  # by person and kind: answers, excess over the usual

    def note(self, event: Event) -> None:
        """Take in an answer, if it says how long it took."""
        seconds = event.details.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
            return
        beside = event.details.get(ON_ONE_PAGE)
        beside = beside if isinstance(beside, int) and beside > 1 else 1
        kind = COMPARISON if event.kind not in (*ANSWERS, "repeat") else PAGE if beside > 1 else GRADE
        usual = USUAL_S[COMPARISON] if kind == COMPARISON else usual_of_page(beside) / beside
        excess = math.log(min(max(seconds, LEAST_S), MOST_S) / usual)
        count, total = self._sums.get((event.assessor, kind), (0, 0.0))
        self._sums[event.assessor, kind] = count + 1, total + excess

    def expected(self, kind: str, assessor: str) -> float:
        """Seconds that a person's next answer of a kind is expected to take: GRADE or COMPARISON."""
        return USUAL_S[kind] * math.exp(self._excess(kind, assessor))

    def page(self, candidates: int, assessor: str) -> float:
        """Seconds that a page of so many candidates is expected to take a person."""
        return usual_of_page(candidates) * math.exp(self._excess(PAGE if candidates > 1 else GRADE, assessor))

    @property
    def untried(self) -> bool:
        """True if pages are answered while the seconds of single grades are not known: one of them shows both.

        A few among the first pages, as seconds of pages alone cannot tell slow people from pages that take long.
        """
        return self._count(GRADE) < min(WORTH, self._count(PAGE) // A_TRY)

    @property
    def of_both(self) -> bool:
        """True if the seconds of grades on pages and of single ones are known."""
        return min(self._count(GRADE), self._count(PAGE)) >= WORTH

    def _count(self, kind: str) -> int:
        return sum(count for (_, of), (count, _) in self._sums.items() if of == kind)

    def _excess(self, kind: str, assessor: str) -> float:
        excess = 0.0
        for about in (
            list(self._sums.values()),
            [of for (_, other), of in self._sums.items() if other == kind],
            [self._sums.get((assessor, kind), (0, 0.0))],
        ):
            count, total = sum(one[0] for one in about), sum(one[1] for one in about)
            excess += (total - count * excess) / (WORTH + count)
        return excess


def usual_of_page(candidates: int) -> float:
    """Seconds of a page before any is known: a grade takes two clips, a page its query and candidates."""
    return USUAL_S[GRADE] / 2 * (1 + candidates)
