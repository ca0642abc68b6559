"""The log of a campaign as far as this process has taken it in: one at a time writes, and nobody waits for long."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from audiosim.campaign.event import Event, Record
from audiosim.campaign.ledger import Ledger
from audiosim.campaign.store import Store, check_repeated
from audiosim.errors import BusyError, InputError, RewoundError, StoreError

LATE_S = 1.0  # for a log to be read or written
SLICE_S = 0.05
MOMENT_S = 0.1  # that readers wait for one who writes
QUEUE = 5  # times as long as for one who writes may be waited for several
RETRY_S = 1.0  # after a log could not be read, until readers try again


class Log:
    """A store and the ledger of what was read of it, which agree.

    Whoever looks at the ledger holds `state`, for a moment; whoever reads or writes the store has the turn, for as
    long as that takes. A log that has gone back is an error from then on.

    note        takes the next line in, the ledger first
    patience_s  how long one who writes is waited for, before a BusyError
    """

    def __init__(self, store: Store, ledger: Ledger, note: Callable[[int, Event], None], patience_s: float) -> None:
        self._store, self._ledger, self._note, self._patience_s = store, ledger, note, patience_s
        self.state, self._turn = RLock(), RLock()
        self._broken = self._failed = ""
        self._retry, self._asked, self._failed_at = -float("inf"), float("inf"), -float("inf")

    @property
    def trouble(self) -> str:
        """Trouble with the log, as the last reading or writing of it found; empty where that worked in time."""
        silent_s = time.monotonic() - self._asked
        return f"the log has not answered for {silent_s:.0f} s" if silent_s > LATE_S else self._failed

    def sync(self, known: Iterable[Record] = ()) -> None:
        """Take in what others wrote.

        known  the next lines of this very store, read and checked before: to do so again would take half of the time
        """
        with self._taking_turn(self._patience_s):
            self._take((record.number, record.event) for record in known)
            self.read_on()

    def refresh(self) -> None:
        """Take in what others wrote, where that can be had in a moment: not while nothing answers."""
        self._check_whole()
        if time.monotonic() < self._retry:
            return
        try:
            with self._taking_turn(MOMENT_S):
                self.read_on()
        except RewoundError:
            raise
        except BusyError:
            return
        except StoreError:
            self._retry = time.monotonic() + RETRY_S

    @contextmanager
    def turn(self) -> Iterator["Turn"]:
        """The turn to write; meanwhile nobody else changes the ledger, so that it may be read without `state`."""
        with self._taking_turn(self._patience_s):
            yield Turn(self)

    def append(self, events: Sequence[Event]) -> list[Record] | None:
        """Write events, and give their records; None, and none is written, where others wrote since the last reading.

        Those that were sent before are not written again.
        """
        earlier = [self.earlier(event) for event in events]
        new = [event for event, known in zip(events, earlier, strict=True) if known is None]
        with self._asking():
            numbers = self._store.append_all(new, self._ledger.number) if new else []
        if numbers is None:
            return None
        self._take(zip(numbers, new, strict=True))
        fresh = (Record(number, event) for number, event in zip(numbers, new, strict=True))
        return [next(fresh) if known is None else known for known in earlier]

    def earlier(self, event: Event) -> Record | None:
        """The record of the same event sent before; an error where another was sent by its key."""
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
        """While the store is asked, take note of how that goes."""
        begun = self._asked = time.monotonic()
        try:
            yield
            took_s = time.monotonic() - begun
            self._failed = f"the log took {took_s:.1f} s to answer" if took_s > LATE_S else ""
        except StoreError as error:
            self._failed, self._failed_at = str(error), time.monotonic()
            if isinstance(error, RewoundError):
                self._broken = self._failed
            raise
        finally:
            self._asked = float("inf")

    def _wait_for_turn(self, wait_s: float) -> None:
        """Wait in line for as long as it moves; not behind one who has been waiting for the store, or has in vain."""
        came = time.monotonic()
        while not self._turn.acquire(timeout=min(wait_s, SLICE_S)):
            now = time.monotonic()
            if self._failed_at > came or now > came + QUEUE * wait_s or now > self._asked + wait_s:
                raise BusyError("others are waiting for the log; ask again in a moment")
        if self._failed_at > came:
            self._turn.release()
            raise BusyError("others have waited for the log in vain; ask again in a moment")

    def _check_whole(self) -> None:
        if self._broken:
            raise RewoundError(self._broken)

    def read_on(self) -> None:
        """Take in what others wrote; by who has the turn."""
        with self._asking():
            lines = self._store.read(self._ledger.number)
        self._take(lines)

    def _take(self, lines: Iterator[tuple[int, Event]]) -> None:
        for number, event in lines:
            try:
                with self.state:
                    self._note(number, event)
            except InputError as error:
                # The ledger has half of the line: nothing that is read off it from now on would be right.
                self._broken = self._failed = f"{error}; correct the collection, or restore a backup, and restart"
                raise RewoundError(self._broken) from error


class Turn:
    """A turn at a log, for one who writes.

        while turn.goes_on():
            turn.write(events as they are to be now)

    records  of what was written; None before
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self.records: list[Record] | None = None

    def goes_on(self) -> bool:
        """Take in what others wrote, and say that it is time to write; False once that is done."""
        if self.records is None:
            self._log.read_on()
        return self.records is None

    def write(self, events: Sequence[Event]) -> None:
        """Write events, unless others were faster: then they are to be made anew."""
        self.records = self._log.append(events)
