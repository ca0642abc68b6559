"""Headphone check: results of a person, and whether they may judge.

In each of six trials the page asks for the softest of three tones. One of the other two is in antiphase between the
channels, and sounds softer only over loudspeakers. Woods, Siegel, Traer & McDermott (2017),
doi:10.3758/s13414-017-1361-2.
"""

from typing import Literal

from audiosim.campaign import Campaign
from audiosim.campaign.event import QUESTIONNAIRE, Clock, Event, Plain, write_time
from audiosim.corpus.question import CHECK_ROUND, HEADPHONE_CHECK, HEADPHONES, MOMENT, TRIALS_RIGHT
from audiosim.errors import ClosedError, InputError

TRIALS, ENOUGH = 6, 5  # as published
ROUNDS = 2

Screening = Literal["due", "again", "passed", "failed"]


def last_check(campaign: Campaign, assessor: str) -> Event | None:
    """The last headphone check of a person; None before the first."""
    number = campaign.questionnaires.get(assessor, {}).get(HEADPHONES)
    return None if number is None else campaign.record(number).event


def screening(campaign: Campaign, assessor: str) -> Screening:
    """State of a person's headphone check: due, to repeat, passed or failed."""
    last = last_check(campaign, assessor)
    if last is None:
        return "due"
    if last.details.get(HEADPHONE_CHECK) == "passed":
        return "passed"
    return "failed" if _round_of(last) >= ROUNDS else "again"


def check_result(campaign: Campaign, assessor: str, right: int | None, key: str, clock: Clock) -> Event:
    """The event of a finished check; an error after the last.

    right  number of trials with the right answer
    """
    if right is None:
        raise InputError(f"expected {TRIALS_RIGHT}: the number of trials that were right, from 0 to {TRIALS}")
    if (state := screening(campaign, assessor)) in ("passed", "failed"):
        raise ClosedError(f"the headphone check is over: {assessor} {state} it")
    last = last_check(campaign, assessor)
    details: dict[str, Plain] = {MOMENT: HEADPHONES, HEADPHONE_CHECK: "passed" if right >= ENOUGH else "failed"}
    details |= {TRIALS_RIGHT: right, CHECK_ROUND: 1 if last is None else _round_of(last) + 1}
    return Event(QUESTIONNAIRE, write_time(clock()), assessor, details=details, key=key)


def reason_screened(campaign: Campaign, assessor: str) -> str:
    """Reason why a person gets no pairs; empty once they have passed the headphone check."""
    state = screening(campaign, assessor)
    if state == "failed":
        return f"{assessor} is screened out: the headphone check was failed twice"
    return "" if state == "passed" else f"{assessor} has not passed the headphone check yet, which comes first"


def _round_of(event: Event) -> int:
    said = event.details.get(CHECK_ROUND)
    return said if isinstance(said, int) else 1
