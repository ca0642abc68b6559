"""The log of a campaign as far as this process has read it: one thread writes at a time, and all waits are short."""

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from threading import RLock
from typing import Any

from audiosim.campaign.event import Event, Record
from audiosim.campaign.state import Ledger
from audiosim.campaign.store import Store, check_repeated
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Pair
from audiosim.errors import BusyError, InputError, RewoundError, StoreError

# Identity of the collection that a log belongs to: scale, task and pairs, to detect another collection.


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """The collection that a campaign judges.

    scale   name of its scale
    levels  levels of the scale
    cutoff  cutoff of the collection, not of the campaign's measure
    pairs   pairs of its pool down to that cutoff
    task    question that grades answer; empty if unspecified
    """

    scale: str
    levels: tuple[float, ...]
    cutoff: int
    pairs: frozenset[Pair]
    task: str = ""

    @classmethod
    def of(cls, collection: Collection, pool: Pool | None = None) -> "Identity":
        """The current identity of a collection.

        pool  pool of the collection, down to any cutoff, if the caller has one
        """
        if pool is None or pool.cutoff != collection.cutoff:
            pool = build_pool(collection, collection.cutoff)
        scale, pairs = collection.scale, frozenset(pool.pairs)
        return cls(scale.name, scale.levels, collection.cutoff, pairs, collection.task)

    @property
    def digest(self) -> str:
        """SHA-256 of the pairs, in their alphabetical order."""
        return hashlib.sha256(json.dumps(sorted(self.pairs)).encode()).hexdigest()

    def dump(self) -> str:
        """The identity as text: JSON, the pairs packed."""
        packed = base64.b85encode(zlib.compress(json.dumps(sorted(self.pairs)).encode(), 9)).decode()
        said = {"scale": self.scale, "levels": list(self.levels), "cutoff": self.cutoff, "task": self.task}
        return json.dumps(said | {"pool": self.digest, "pairs": packed})

    @classmethod
    def load(cls, text: str) -> "Identity":
        """An identity from the text of `dump`."""
        said: dict[str, Any] = json.loads(text)
        pairs = json.loads(zlib.decompress(base64.b85decode(said["pairs"])))
        known = frozenset(Pair(query, name) for query, name in pairs)
        return cls(said["scale"], tuple(said["levels"]), said["cutoff"], known, said.get("task", ""))


def check_same(then: Identity, now: Identity, judged: Container[Pair]) -> None:
    """Raise an error unless a collection is the one that a log belongs to, possibly with more pairs.

    judged  pairs with judgments in the log
    """
    changes = []
    if (then.scale, then.levels) != (now.scale, now.levels):
        changes.append(f"it was judged on the {then.scale} scale, this one is on the {now.scale} scale")
    if then.task and now.task and then.task != now.task:
        changes.append(f"its task was {then.task!r:.200}, that of this one is {now.task!r:.200}")
    if gone := then.pairs - now.pairs:
        lost = sum(pair in judged for pair in gone)
        one = min(gone)
        changes.append(
            f"{len(gone)} of its {len(then.pairs)} pairs are not in this one, {lost} of them judged, "
            f"such as document {one.document} for query {one.query}; {len(now.pairs - then.pairs)} are new"
        )
    if changes:
        raise InputError(
            f"the campaign in the database is of another collection: {'; '.join(changes)}; "
            "the setting adopt continues with it anyway"
        )


def identify(
    store: Store, collection: Collection, judged: Container[Pair], adopt: bool, pool: Pool | None = None
) -> None:
    """Compare a collection with the one that a log belongs to, and store its identity beside the log.

    adopt  True to accept another collection
    pool   as for `Identity.of`
    """
    now, (about, rules) = Identity.of(collection, pool), store.described()
    if about and not adopt:
        check_same(Identity.load(about), now, judged)
    if about != (said := now.dump()):
        with suppress(StoreError):  # a log that is not writable may still be readable
            store.describe(said, rules)


LATE_S = 1.0  # a longer time for reading or writing is reported
SLICE_S = 0.05
MOMENT_S = 0.1  # time that readers wait for a writer
QUEUE = 5  # limit for a queue of writers, as a multiple of the patience for one
RETRY_S = 1.0  # pause of readers after the log was unreadable


class Log:
    """A store and the ledger of the lines read from it, kept in agreement.

    Hold `state`, briefly, to read the ledger; hold the turn, as long as needed, to read or write the store. Once the
    log has lost lines, every call is an error.

    note        adds the next line, to the ledger first
    patience_s  time to wait for one writer before a BusyError
    """

    def __init__(self, store: Store, ledger: Ledger, note: Callable[[int, Event], None], patience_s: float) -> None:
        self._store, self._ledger, self._note, self._patience_s = store, ledger, note, patience_s
        self.state, self._turn = RLock(), RLock()
        self._broken = self._failed = ""
        self._retry = self._failed_at = -float("inf")
        self._asked, self._failure = float("inf"), StoreError("")

    @property
    def trouble(self) -> str:
        """Problem with the log at its last use; empty if that succeeded in time."""
        silent_s = time.monotonic() - self._asked
        return f"the log has not answered for {silent_s:.0f} s" if silent_s > LATE_S else self._failed

    def sync(self, known: Iterable[Record] = ()) -> None:
        """Read new lines by others.

        known  the next lines of this store, already read and checked: doing this again would take half of the time
        """
        with self._taking_turn(self._patience_s):
            self._take((record.number, record.event) for record in known)
            self._read_on()

    def refresh(self) -> None:
        """Read new lines by others if that takes only a moment; skipped while the store does not answer."""
        self._check_whole()
        # After a failure readers do not use the store for a while: each attempt could wait for its whole timeout.
        if time.monotonic() < self._retry:
            return
        try:
            with self._taking_turn(MOMENT_S):
                self._read_on()
        except RewoundError:
            raise
        except BusyError:
            return
        except StoreError:
            self._retry = time.monotonic() + RETRY_S

    def write(self, events: Callable[[], Sequence[Event]]) -> list[Record]:
        """Write events and return their records.

        events  function that makes the events from the current ledger. It is called in the turn to write, when nobody
                else changes the ledger, so `state` is not needed; and again if others wrote meanwhile
        """
        with self._taking_turn(self._patience_s):
            # The store accepts nothing from a writer who does not know its last line, so reading first would nearly
            # always be
            # needless. If nothing is to be written, or nothing may be, the reason may be outdated.
            records, number = None, self._ledger.number
            try:
                made = events()
                if any(self.earlier(event) is None for event in made):
                    records = self._append(made)
            except InputError:
                self._read_on()
                if self._ledger.number == number:
                    raise
            while records is None:
                self._read_on()
                records = self._append(events())
            return records

    def _append(self, events: Sequence[Event]) -> list[Record] | None:
        """Write events and return their records; None, with nothing written, if others wrote since the last reading.

        Events that were sent before are not written again.
        """
        earlier = [self.earlier(event) for event in events]
        new = [event for event, known in zip(events, earlier, strict=True) if known is None]
        with self._asking():
            # The store compares the expected last number in the same transaction: another process may have written
            # since the ledger was read, and a lock of this process would not stop it.
            numbers = self._store.append_all(new, self._ledger.number) if new else []
        if numbers is None:
            return None
        self._take(zip(numbers, new, strict=True))
        fresh = (Record(number, event) for number, event in zip(numbers, new, strict=True))
        return [next(fresh) if known is None else known for known in earlier]

    def earlier(self, event: Event) -> Record | None:
        """The record of the same event sent before; an error if its key belongs to another event."""
        known = self._ledger.earlier(event.assessor, event.key)
        if known is not None:
            check_repeated(event, known.event)
        return known

    @contextmanager
    def _taking_turn(self, wait_s: float) -> Iterator[None]:
        self._wait_for_turn(wait_s)
        try:
            self._check_whole()
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Time a request to the store, and record failures."""
        begun = self._asked = time.monotonic()
        # `_asked` is set before the request: a waiting thread must see that the store hangs while it still hangs.
        try:
            yield
            took_s = time.monotonic() - begun
            self._failed = f"the log took {took_s:.1f} s to answer" if took_s > LATE_S else ""
        except StoreError as error:
            self._failed, self._failure, self._failed_at = str(error), error, time.monotonic()
            if isinstance(error, RewoundError):
                self._broken = self._failed
            raise
        finally:
            self._asked = float("inf")

    def _wait_for_turn(self, wait_s: float) -> None:
        """Wait in line while it moves; give up if the thread in front hangs at the store; fail as it did there."""
        came = time.monotonic()
        # Short waits instead of one long timeout: reasons to give up may arise while waiting, and a Lock cannot report
        # them.
        while not self._turn.acquire(timeout=min(wait_s, SLICE_S)):
            if time.monotonic() > min(came + QUEUE * wait_s, self._asked + wait_s):
                raise BusyError("others are waiting for the log; ask again in a moment")
        if self._failed_at > came:
            self._turn.release()
            raise copy(self._failure)  # another thread raises the one that is kept

    def _check_whole(self) -> None:
        if self._broken:
            raise RewoundError(self._broken)

    def _read_on(self) -> None:
        """Read new lines by others; the caller must have the turn."""
        with self._asking():
            lines = self._store.read(self._ledger.number)
        self._take(lines)

    def _take(self, lines: Iterator[tuple[int, Event]]) -> None:
        for number, event in lines:
            # The ledger is locked line by line: readers wait for one line, not for the whole catch-up.
            try:
                with self.state:
                    self._note(number, event)
            except InputError as error:
                # The ledger has applied half of the line: everything read from it would be wrong from now on.
                self._broken = self._failed = f"{error}; correct the collection, or restore a backup, and restart"
                raise RewoundError(self._broken) from error
