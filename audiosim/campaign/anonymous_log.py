"""Logs without some people's names: their answers stand under random names, and their own words are removed.

A line keeps its number, so that references to it remain correct. From the first changed line on, all digests differ: it
is another log, for another database. Keys of lines by or about these people become hashes, because clients choose keys.
Texts by other people are kept, whatever they contain: `texts_naming` finds those with a name.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from audiosim.campaign.event import ASIDE, MODEL, QUESTIONNAIRE, WORDS, Event, Plain
from audiosim.errors import InputError

DRAWN, DRAWN_BYTES = "anonymous-", 8
SECRET = secrets.token_bytes(32)  # keeps hashes from being compared with those of guessed keys
NEEDED = ("answer", "document_b", "moment", "why")  # details required by the kind of event
NOT_KEPT = "not kept"


def draw_names(logs: Sequence[Iterable[Event]], without: Iterable[str]) -> dict[str, str]:
    """A drawn name for each person, the same in all logs; an error if a person is in no log."""
    known = {name for events in logs for event in events for name in (event.assessor, event.judge)}
    drawn = {}
    for name in without:
        if not name or name not in known:
            raise InputError(f"no log names {name!r:.80}: expected a person who has judged")
        drawn[name] = f"{DRAWN}{secrets.token_hex(DRAWN_BYTES)}"
    return drawn


def anonymous_event(event: Event, drawn: Mapping[str, str]) -> Event:
    """An event without these people's names, and without texts by or about them; numbers and grades stay.

    drawn  names that replace theirs
    """
    if event.assessor not in drawn and event.judge not in drawn:
        return event
    assessor, key = drawn.get(event.assessor, event.assessor), _hashed(event.key)
    if event.kind in ASIDE:
        return replace(event, assessor=assessor, key=key, details={"judge": drawn.get(event.judge, event.judge)})
    return replace(event, assessor=assessor, key=key, details=_without_words(event))


def texts_naming(logs: Iterable[Iterable[Event]], name: str) -> int:
    """Number of lines with a text or key that contains a name, in any case of its letters."""
    sought = name.casefold()
    return sum(any(sought in text.casefold() for text in _texts(event)) for events in logs for event in events)


def _texts(event: Event) -> list[str]:
    if event.assessor.startswith(DRAWN) or event.judge.startswith(DRAWN):
        return []  # random letters and hashes carry no information
    return [event.key, *event.details, *(value for value in event.details.values() if isinstance(value, str))]


def _hashed(key: str) -> str:
    return key and hashlib.blake2b(key.encode(), key=SECRET, digest_size=16).hexdigest()


def _without_words(event: Event) -> dict[str, Plain]:
    if event.kind == QUESTIONNAIRE:
        return {"moment": event.details["moment"]}
    if event.kind == WORDS:  # texts of the collection, whoever wrote them
        return {name: text for name, text in event.details.items() if name != "reason"}
    if event.kind == MODEL:
        return {"model": event.details["model"]}
    kept = {name: value for name, value in event.details.items() if name in NEEDED or not isinstance(value, str)}
    return kept | ({"reason": NOT_KEPT} if event.kind == "cannot" else {})
