"""Connection of a client, ended if the head of a request is too large or arrives too slowly."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 10
MOST_HEAD_BYTES = 64 * 2**10
CROWDED = 800  # connections; beyond this, a new one replaces the one that has been idle longest
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(HttpToolsProtocol):
    """HTTP connection of uvicorn with limits on heads; uvicorn alone would wait for a head for ever and keep all of it.

    head_s  longest time for the head of a request; for the first one, from the start of the connection
    """

    head_s: float = HEAD_S

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        self._patience: asyncio.TimerHandle | None = None
        self._asked = 0.0  # time of its last request, or of its start

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The address of the peer itself, regardless of forwarding headers.
        self.app_state = {**self.app_state, "peer": self.client[0] if self.client else ""}
        self._patience = self.loop.call_later(self.head_s, self._give_up)
        self._asked = self.loop.time()
        if len(self.connections) > CROWDED:
            idle = (one for one in self.connections if isinstance(one, Connection) and one.is_idle and one is not self)
            longest = min(idle, key=lambda one: one._asked, default=None)
            if longest is not None:
                longest._end(b"")

    @property
    def is_idle(self) -> bool:
        """True if no request is in progress."""
        closing = self.transport is None or self.transport.is_closing()
        return not closing and (self.cycle is None or self.cycle.response_complete)

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        waits = self.cycle is before and (before is None or before.response_complete)
        self._head_bytes = self._head_bytes + len(data) if waits else 0
        if self._head_bytes > MOST_HEAD_BYTES:
            self._end(TOO_LARGE)
        elif not waits:
            self._asked = self.loop.time()
            self._calm()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.head_s, self._give_up)

    def _give_up(self) -> None:
        self._end(TOO_SLOW if self._head_bytes else b"")

    def _end(self, last_words: bytes) -> None:
        self._calm()
        if not self.transport.is_closing():
            self.transport.write(last_words)
            self.transport.close()

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
