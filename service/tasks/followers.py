"""Clients that follow the changes of campaigns, by server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, suppress

import msgspec
from fastapi.concurrency import run_in_threadpool

from audiosim.errors import StoreError
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.campaign import ChangeOut

POLL_S = 0.5
HEARTBEAT_S = 15.0


class Followers:
    """Clients that watch the changes of campaigns; they are disconnected when the service stops."""

    def __init__(self) -> None:
        self.count = 0
        self.stopping: Callable[[], bool] = lambda: False

    async def follow(
        self, kept: AbstractContextManager[object], find: Callable[[], ServedCollection], last: int | None
    ) -> AsyncIterator[bytes]:
        """Server-sent events with the campaign's state, at once and after each change; its number is the event's id.

        kept  keeps the collection open
        find  returns the collection as served now, since runs may be added
        last  number that the client has already seen
        """
        clock = asyncio.get_running_loop().time
        self.count += 1
        one, spoken = None, clock()
        try:
            with kept:
                while not self.stopping():
                    served = await run_in_threadpool(find)
                    change = await run_in_threadpool(_change, served, last if one in (None, served) else None)
                    one = served
                    if change is not None:
                        last, spoken = change.state, clock()
                        yield b"id: %d\nevent: change\ndata: %s\n\n" % (last, msgspec.json.encode(change))
                    elif clock() - spoken > HEARTBEAT_S:
                        spoken = clock()
                        yield b": still here\n\n"
                    await asyncio.sleep(POLL_S)
        finally:
            self.count -= 1


def _change(one: ServedCollection, last: int | None) -> ChangeOut | None:
    """The state of a campaign if it has changed; None while its log cannot be read."""
    with suppress(StoreError):
        one.campaign.refresh()
        if one.campaign.current_state.number != last:
            return ChangeOut.from_domain(one)
    return None
