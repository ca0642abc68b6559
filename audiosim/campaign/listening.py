"""Plausibility of the listening times that assessors claim: nobody hears more than the elapsed time allows."""

import statistics
from bisect import bisect_left, insort
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from audiosim.campaign.event import Event
from audiosim.corpus.question import ON_ONE_PAGE
from audiosim.errors import InputError

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
                f"{count} answers refused because they claim more listening than there was time for"
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
