"""Limits on how many people join by open links, so that nobody fills a campaign with invented people."""

import math
from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock
from time import monotonic

HOUR_S = 3600.0
NEW_OF_ADDRESS = 100  # people in an hour: a class behind one address may come at once
NEW_IN_ALL = 1_000
ASKED_OF_ADDRESS = 600  # requests in an hour, including those of people who joined earlier
MOST_ADDRESSES = 10_000


class JoiningLimits:
    """Counts of people who joined within an hour, by client and in all, in this process."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._asked, self._new = _Counts(ASKED_OF_ADDRESS), _Counts(NEW_OF_ADDRESS)
        self._all = _Counts(NEW_IN_ALL)

    def asks(self, client: str) -> int:
        """Count a request of a client; return the seconds until the client may ask again, or 0."""
        with self._lock:
            return self._asked.count(client, self._clock())

    def comes(self, client: str) -> int:
        """Count a new person from a client; return the seconds until the next may join, or 0."""
        with self._lock:
            now = self._clock()
            return self._new.count(client, now) or self._all.count("", now)


class _Counts:
    def __init__(self, most: int) -> None:
        self._most, self._moments = most, OrderedDict[str, deque[float]]()

    def count(self, key: str, now: float) -> int:
        moments = self._moments.setdefault(key, deque())
        self._moments.move_to_end(key)
        while moments and moments[0] <= now - HOUR_S:
            moments.popleft()
        if len(moments) >= self._most:
            return math.ceil(moments[0] + HOUR_S - now)
        moments.append(now)
        if len(self._moments) > MOST_ADDRESSES:
            self._moments.popitem(last=False)
        return 0
