"""Limits on time: reading what was sent ends, and so does a server that is told to stop, whatever it reads."""

import ctypes
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from threading import Event, Thread
from types import FrameType
from typing import TypeVar

import uvicorn

from audiosim.errors import FormatError, InputError

LOG = logging.getLogger("service")
READING_S = 60.0  # to read what was sent
BYTES_PER_S = 2_000_000  # further time for large files: a twentieth of the usual speed
GRACE_S, END_S = 4, 7.0  # for requests in progress, and for everything, after the server is told to stop

Result = TypeVar("Result")


class _OverdueError(BaseException):
    """Raised in a thread that has exceeded its time; not an Exception, so that the work cannot take it for its own."""


def reading_s(size: int) -> float:
    """Seconds for reading so many bytes."""
    return READING_S + size / BYTES_PER_S


@contextmanager
def sent_file(content: bytes, name: str) -> Iterator[Path]:
    """A temporary file with what was sent; errors name its line, but not its place."""
    with TemporaryDirectory(prefix="audiosim-") as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            yield path
        except FormatError as error:
            raise InputError(f"line {error.line}: {error.problem}") from None
        except InputError as error:
            raise InputError(str(error).removeprefix(f"{path}: ")) from None


def within(limit_s: float, work: Callable[[], Result]) -> Result:
    """Result of reading something; an InputError if that takes longer than the limit, and the reading is stopped.

    The work runs in a thread of its own. Python code is stopped at its next step; a function of a library continues
    until it returns, and holds nothing up.
    """
    result = Future[Result]()

    def run() -> None:
        try:
            result.set_result(work())
        except _OverdueError:
            pass  # nobody waits for it; kept, it would keep the frames that hold the open file
        except BaseException as error:
            result.set_exception(error)

    thread = Thread(target=run, name="reading", daemon=True)
    thread.start()
    try:
        return result.result(limit_s)
    except TimeoutError:
        if result.done():  # just now, or with a TimeoutError of its own
            return result.result()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_OverdueError))
        raise InputError(f"reading it takes more than {limit_s:.3g} s: expected a simpler or smaller file") from None


class Server(uvicorn.Server):
    """A server that ends within END_S of being told to stop, even if a thread is still at work."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping, self._ended = Event(), Event()

    def run(self, sockets: list[socket] | None = None) -> None:
        """Serve until told to stop."""
        before = {*threading.enumerate()}
        Thread(target=self._cut_off, name="ending", daemon=True).start()
        try:
            super().run(sockets)
        finally:
            # Python waits for threads at its exit, so the limit stays in force while any of them is at work.
            if all(thread.daemon for thread in threading.enumerate() if thread not in before):
                self._ended.set()
            self._stopping.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note a signal to stop."""
        self._stopping.set()
        super().handle_exit(sig, frame)

    def _cut_off(self) -> None:
        self._stopping.wait()
        if not self._ended.wait(END_S):
            LOG.warning("stopped while something was still in progress, %.0f s after being told to stop", END_S)
            os._exit(0)
