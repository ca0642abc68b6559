"""Storage of a campaign's log: its hash chain, the Protocol, and a log in memory.

Every line carries a digest of itself and of all lines before it, so two logs with the same last digest are the same
log. If a log still has a known digest at its number, it has only grown; otherwise it was truncated or replaced.
"""

import hashlib
import json
from collections.abc import Container, Iterator, Sequence
from threading import Lock
from typing import Protocol

from audiosim.campaign.event import Event
from audiosim.errors import InputError

FIRST = ""  # the digest before the first line


def link(before: str, number: int, event: Event) -> str:
    """SHA-256, hexadecimal, of the previous digest, the line's number, and all fields of its event.

    before  digest of the line before, FIRST for line 1
    """
    said = [before, number, *(getattr(event, name) for name in Event.__slots__)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


MOST_NOTES = 1000  # most notes kept beside all logs of a database


class Store(Protocol):
    """An append-only log of the events of one campaign, numbered from 1.

    An event is safe once `append_all` has returned its number. `read` always returns events in the order of their
    numbers, and later events get higher numbers. Threads and processes may share a log.
    """

    def append_all(self, events: Sequence[Event], last: int) -> list[int] | None:
        """The numbers of the events, once all are safe; None, with nothing written, if the log has grown past `last`.

        last  number of the last event known to the caller, 0 if none; an already used key is an error
        """
        ...

    def read(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        """The events with numbers above `after`, and these numbers."""
        ...

    def described(self) -> tuple[str, str]:
        """Description of the collection and rules kept beside the log; empty if there are none."""
        ...

    def describe(self, about: str, rules: str) -> None:
        """Keep a description of the collection, and rules."""
        ...


class MemoryStore:
    """A log that lives as long as the process."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._keys: dict[tuple[str, str], int] = {}
        self._lock = Lock()
        self._described = ("", "")
        self._notes: dict[str, str] = {}

    def append_all(self, events: Sequence[Event], last: int) -> list[int] | None:
        with self._lock:
            if len(self._events) != last:
                return None
            check_keys(events, self._keys)
            return [self._add(event) for event in events]

    def read(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        return iter(enumerate(self._events[after:], start=after + 1))

    def described(self) -> tuple[str, str]:
        return self._described

    def describe(self, about: str, rules: str) -> None:
        self._described = (about, rules)

    def note(self, key: str) -> str | None:
        return self._notes.get(key)

    def write_note(self, key: str, text: str) -> None:
        self._notes[key] = text
        if len(self._notes) > MOST_NOTES:
            del self._notes[next(iter(self._notes))]

    def _add(self, event: Event) -> int:
        self._events.append(event)
        if event.key:
            self._keys[event.assessor, event.key] = len(self._events)
        return len(self._events)


def check_repeated(event: Event, earlier: Event) -> None:
    """Raise an error if an event has the key of an earlier, different one."""
    if not event.repeats(earlier):
        raise InputError(f"{used(event)} for another event")


def check_keys(events: Sequence[Event], known: Container[tuple[str, str]] = ()) -> None:
    """Raise an error if the key of an event is used already, or twice among these."""
    seen = set()
    for event in events:
        key = (event.assessor, event.key)
        if event.key and (key in known or key in seen):
            raise InputError(f"{used(event)} already")
        seen.add(key)


def used(event: Event) -> str:
    """Beginning of a message about a key that was used."""
    return f"the key {event.key!r} of {event.assessor or 'nobody'} is used"
