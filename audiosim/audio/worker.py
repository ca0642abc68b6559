"""What a worker process does: answer one task after another. See `workers` for the side that it answers."""

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

from audiosim.errors import AudiosimError

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection

Task = TypeVar("Task")
Result = TypeVar("Result")


def serve(file: int) -> None:
    """Answer at a pipe, in a process started for it, until the other end is closed."""
    connection = Connection(file)
    _mute_libraries()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts means the process that started this one
    if sys.platform != "win32":
        Thread(target=_end_with_parent, args=[file], daemon=True).start()
    try:
        work = connection.recv()
        connection.send(None)
        while True:
            connection.send(_answer(work, connection.recv()))
    except (EOFError, OSError):
        return


def _mute_libraries() -> None:
    """What Python writes goes to the standard error; what the libraries of codecs write themselves, nowhere."""
    sys.stdout = sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _end_with_parent(file: int) -> None:
    """End this process as soon as the other end of the pipe is gone, whatever it is at."""
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
    except Exception as error:  # a bug: its traceback is what is wanted of it
        error.add_note(f"in a worker process:\n{''.join(traceback.format_exception(error))}")
        return False, _sendable(error)


def _sendable(error: Exception) -> Exception:
    """The error itself, where it pickles."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - what was written just here
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
