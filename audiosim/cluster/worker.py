"""Loop of a worker process: answer one task after another. `workers` is the other side."""

import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

from audiosim.errors import AudiosimError

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection
    from multiprocessing.reduction import recv_handle

Task = TypeVar("Task")
Result = TypeVar("Result")


def serve(file: int) -> None:
    """Answer tasks on a pipe, in a process started for it, until the other end is closed."""
    connection = Connection(file)
    _settle()
    try:
        _serve_with(connection, _ready(connection.recv()))
    except (EOFError, OSError):
        return


def breed(file: int) -> None:
    """Prepare once, then fork a worker for each pipe received, until the other end is closed.

    Receives the work first; then either a pipe for a new worker, answered with its process, or a process and the
    seconds it is given to end by itself, answered with its exit code, negative for a signal.
    """
    connection = Connection(file)
    _settle()
    try:
        work = _ready(connection.recv())
        connection.send(None)
        while True:
            order = connection.recv()
            if order is not None:
                connection.send(_reaped(*order))
                continue
            pipe = recv_handle(connection)
            if not (process := os.fork()):
                connection.close()
                _serve_with(Connection(pipe), work)
                os._exit(0)
            os.close(pipe)
            connection.send(process)
    except (EOFError, OSError):
        return


def _serve_with(connection: Connection, work: Callable[[Task], Result]) -> None:
    if sys.platform != "win32":
        Thread(target=_end_with_parent, args=[connection.fileno()], daemon=True).start()
    try:
        connection.send(None)
        while True:
            connection.send(_answer(work, connection.recv()))
    except (EOFError, OSError):
        return


def _settle() -> None:
    _mute_libraries()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is meant for the process that started this one


def _ready(job: tuple[Callable[[Task], Result], Callable[[], object] | None]) -> Callable[[Task], Result]:
    """The work of a job, after everything it needs has been loaded."""
    work, prepare = job
    if prepare is not None:
        prepare()
    return work


def _reaped(process: int, patience_s: float) -> int:
    """The exit code of a process; it is killed if it does not end by itself."""
    deadline = time.monotonic() + patience_s
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(process, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        time.sleep(0.005)


def _mute_libraries() -> None:
    """Send Python's output to the standard error; discard the output of codec libraries."""
    sys.stdout = sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _end_with_parent(file: int) -> None:
    """End this process as soon as the other end of the pipe is gone, whatever the process is doing."""
    from select import poll

    hung_up = poll()
    hung_up.register(file, 0)
    hung_up.poll()
    os._exit(1)


def _answer(work: Callable[[Task], Result], task: Task) -> tuple[bool, Any]:
    try:
        return True, work(task)
    except AudiosimError as error:
        return False, error
    except Exception as error:  # a bug: send its traceback
        error.add_note(f"in a worker process:\n{''.join(traceback.format_exception(error))}")
        return False, _sendable(error)


def _sendable(error: Exception) -> Exception:
    """The error itself if it pickles."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - written just here
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
