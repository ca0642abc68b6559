"""Plausibility of the listening times that assessors claim: nobody hears more than the elapsed time allows."""

import math
import statistics
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from audiosim.campaign.event import ANSWERS, Event
from audiosim.collection.task import ON_ONE_PAGE
from audiosim.errors import InputError
from audiosim.results.value import Value
from audiosim.text import counted

SLACK_S = 60.0  # total allowance for clock differences
DAY_S = 86_400.0  # period over which listening times are summed
FEWEST = 10  # answers of an assessor before their pace is assessed
HASTY_S = 1.0  # median time between answers that is too short to hear two clips
PLAYED = ("query_played_s", "document_played_s")


class Heard(NamedTuple):
    """Listening time that an assessor claims, in seconds, all after `since`, in seconds since 1970."""

    since: float
    seconds: float


class Listening:
    """Record of the listening that assessors claim, and of the times of their answers.

    A pair can be heard from the moment when it is first handed out; a pair that was never handed out, just before the
    answer. Late answers from an offline device are therefore possible, and so is listening ahead to a later pair. All
    claimed listening that could have begun after some moment must fit into the time since that moment.
    """

    def __init__(self) -> None:
        self._claims: dict[str, list[Heard]] = {}
        self._times: dict[str, list[float]] = {}  # times of answers about pairs that were handed out
        self._rushed: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    def note(self, event: Event, handed: float | None, answered: float, rushed: bool) -> None:
        """Add an answer.

        handed    time when its pair was first handed to the assessor; None: never
        answered  time of the answer, both in seconds since 1970
        """
        seconds = claimed_s(event)
        if event.assessor and seconds:
            insort(self._claims.setdefault(event.assessor, []), _heard(seconds, handed, answered, answered))
        if handed is not None:
            self._times.setdefault(event.assessor, []).append(answered)
            self._rushed[event.assessor] += rushed

    def check(self, event: Event, handed: float | None, answered: float, now: float) -> None:
        """Raise an error if an answer claims more listening than the elapsed time allows."""
        seconds = claimed_s(event)
        if not event.assessor or not seconds:
            return
        claim = _heard(seconds, handed, answered, now)
        known = self._claims.get(event.assessor, [])
        claims = known[bisect_left(known, Heard(now - DAY_S, 0.0)) :]
        insort(claims, claim)
        total = 0.0
        for since, seconds_then in reversed(claims):
            total += seconds_then
            if since <= claim.since and total > now - since + SLACK_S:
                self._refused[event.assessor] += 1
                raise InputError(
                    f"played_s: {event.assessor} claims {total:.0f} s of listening in the last {now - since:.0f} s, "
                    "which is impossible. Each listener needs a name of their own, and answers "
                    "given earlier need their `time`"
                )

    def doubts(self) -> dict[str, str]:
        """Reasons to doubt that an assessor listens, by name."""
        found: dict[str, list[str]] = {}
        for name, count in self._refused.items():
            found.setdefault(name, []).append(
                f"{counted(count, 'answer')} refused for claiming more listening than there was time for"
            )
        for name, times in self._times.items():
            if len(times) < FEWEST:
                continue
            median_s = statistics.median(later - earlier for earlier, later in pairwise(sorted(times)))
            if median_s < HASTY_S:
                found.setdefault(name, []).append(f"median of {median_s:.1f} s from one answer to the next")
            if 2 * self._rushed[name] > len(times):
                found.setdefault(name, []).append(
                    f"{self._rushed[name]} of {len(times)} answers came before both clips were heard"
                )
        return {name: "; ".join(reasons) for name, reasons in found.items()}


def claimed_s(event: Event) -> float:
    """Seconds of listening that an answer claims, for both clips together.

    If a query was heard once for several candidates on a page, it is claimed once: each answer has its share.
    """
    said = [event.details.get(name) for name in ("played_s", *PLAYED, ON_ONE_PAGE)]
    whole, query, document, beside = (float(one) if isinstance(one, int | float) else 0.0 for one in said)
    return max(whole, query / max(1.0, beside) + document)


def _heard(seconds: float, handed: float | None, answered: float, now: float) -> Heard:
    since = answered - seconds if handed is None else handed
    return Heard(max(since, now - DAY_S), seconds)


# Pace at which the assessors judge.


BREAK_S = 600.0


@dataclass(frozen=True, slots=True)
class Pace(Value):
    """Pace at which one assessor judges, or several.

    answers   judgments and "cannot judge", including revised and withdrawn ones, which took time too
    per_hour  answers in an hour of an assessor's work, by which plans count; None without two consecutive answers
    median_s  median time from one answer of an assessor to the next, in seconds; None likewise

    A gap of more than 10 minutes between two answers counts as a break. Neither is known where answers follow one
    another within a second on average, as those of programs do.
    """

    answers: int
    per_hour: float | None
    median_s: float | None


def pace(times: Iterable[Sequence[float]]) -> Pace:
    """The pace of assessors who answered at these times.

    times  times of each assessor's answers, in seconds, in any order, as answers may arrive late
    """
    times = list(times)
    answers = sum(map(len, times))
    steps = np.concatenate([np.empty(0), *(np.diff(np.sort(own)) for own in times)])
    steps = steps[steps <= BREAK_S]
    if steps.sum() < HASTY_S * max(1, len(steps)):
        return Pace(answers, None, None)
    return Pace(answers, float(3600 * len(steps) / steps.sum()), float(np.median(steps)))


# Seconds that answers take, by person and kind of question.


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
