"""Logs that no longer name somebody: their answers under a name drawn at random, without their own words.

A line keeps its number, so that what refers to it still does. Every line from the first changed one on has another
digest: it is another log, which belongs into another database.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from audiosim.campaign.event import ASIDE, QUESTIONNAIRE, Event, Plain
from audiosim.errors import InputError

DRAWN_BYTES = 8
NEEDED = ("answer", "document_b", "moment", "why")  # details that an event has by its kind
NOT_KEPT = "not kept"


def draw_names(logs: Sequence[Iterable[Event]], without: Iterable[str]) -> dict[str, str]:
    """A drawn name for each person, the same in all logs; an error where no log has one of them."""
    known = {name for events in logs for event in events for name in (event.assessor, event.judge)}
    drawn = {}
    for name in without:
        if not name or name not in known:
            raise InputError(f"no log names {name!r:.80}: expected somebody who judged")
        drawn[name] = f"anonymous-{secrets.token_hex(DRAWN_BYTES)}"
    return drawn


def anonymous_event(event: Event, drawn: Mapping[str, str]) -> Event:
    """An event without these people's names, and without texts by or about them; numbers and grades stay.

    drawn  names to put in place of theirs
    """
    assessor = drawn.get(event.assessor, event.assessor)
    if event.kind in ASIDE and event.judge in drawn:
        return replace(event, assessor=assessor, details={"judge": drawn[event.judge]})
    if event.assessor not in drawn or event.kind in ASIDE:
        return replace(event, assessor=assessor)
    return replace(event, assessor=assessor, details=_without_words(event))


def _without_words(event: Event) -> dict[str, Plain]:
    if event.kind == QUESTIONNAIRE:
        return {"moment": event.details["moment"]}
    kept = {name: value for name, value in event.details.items() if name in NEEDED or not isinstance(value, str)}
    return kept | ({"reason": NOT_KEPT} if event.kind == "cannot" else {})
