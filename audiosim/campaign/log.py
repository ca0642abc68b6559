"""The log of a campaign as far as this process has taken it in: one at a time writes, and nobody waits for long."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from audiosim.campaign.event import Event, Record
from audiosim.campaign.ledger import Ledger
from audiosim.campaign.store import Store, check_repeated
from audiosim.errors import BusyError, RewoundError, StoreError

RETRY_S = 1.0  # after a log could not be read, until readers try again


class Log:
    """A store and the ledger of what was read of it, which agree.

    Whoever looks at the ledger holds `state`, for a moment; whoever reads or writes the store has the turn, for as
    long as that takes. A log that has gone back is an error from then on.

    note        takes the next line in, the ledger first
    patience_s  how long to wait for the turn, before a BusyError
    """

    def __init__(self, store: Store, ledger: Ledger, note: Callable[[int, Event], None], patience_s: float) -> None:
        self._store, self._ledger, self._note, self._patience_s = store, ledger, note, patience_s
        self.state, self._turn = RLock(), RLock()
        self._broken = ""
        self._retry = -float("inf")

    def sync(self) -> None:
        """Take in what others wrote."""
        with self._taking_turn(self._patience_s):
            self._read_on()

    def refresh(self) -> None:
        """Take in what others wrote, where that can be had at once: not while somebody writes, or nothing answers."""
        self._check_whole()
        if time.monotonic() < self._retry:
            return
        try:
            with self._taking_turn(0):
                self._read_on()
        except RewoundError:
            raise
        except BusyError:
            return
        except StoreError:
            self._retry = time.monotonic() + RETRY_S

    def append(self, make: Callable[[], Sequence[Event]]) -> list[Record]:
        """Write events; where others were faster, see what they wrote and make them anew.

        make  gives the events, checked, as they are to be now
        """
        with self._taking_turn(self._patience_s):
            while True:
                self._read_on()
                with self.state:
                    events = make()
                    earlier = [self.earlier(event) for event in events]
                new = [event for event, known in zip(events, earlier, strict=True) if known is None]
                numbers = self._store.append_all(new, self._ledger.number) if new else []
                if numbers is not None:
                    break
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
        if not self._turn.acquire(timeout=wait_s):
            raise BusyError("others are writing to the log; ask again in a moment")
        try:
            self._check_whole()
            yield
        except RewoundError as error:
            self._broken = str(error)
            raise
        finally:
            self._turn.release()

    def _check_whole(self) -> None:
        if self._broken:
            raise RewoundError(self._broken)

    def _read_on(self) -> None:
        self._take(self._store.read(self._ledger.number))

    def _take(self, lines: Iterator[tuple[int, Event]]) -> None:
        for number, event in lines:
            with self.state:
                self._note(number, event)
