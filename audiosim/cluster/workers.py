"""Work done in separate processes: if a task crashes or hangs its process, only that task is lost.

Each worker holds a few tasks and answers them one by one, in order. If a worker ends, the first unanswered task
must have ended it; the others go to another worker.
"""

import math
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from subprocess import DEVNULL, Popen, TimeoutExpired
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from audiosim.errors import InputError

if sys.platform != "win32":
    from multiprocessing.reduction import send_handle

Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 4  # tasks held by each worker, so that it need not wait for the next
WINDOW = 256  # most tasks per worker that are in progress, or finished before an earlier one
START_S = 120.0  # time allowed for a worker to start
END_S = 10.0  # time allowed for a worker to end after it has closed its connection
CALL = "import sys; sys.path[:] = {}; from audiosim.cluster import worker; worker.{}({})"
FORKS = sys.platform != "win32"
# Threads of the arithmetic libraries would compete for the processors that the workers already use.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
# Keep freed memory for the next task: requesting it again takes a quarter of the time to describe a clip (glibc).
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}


def spread_on_workers(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    workers: int,
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
    prepare: Callable[[], object] | None = None,
) -> Generator[Result, None, None]:
    """The result of each task, in the order of the tasks, each as early as possible.

    work     function called in the workers; it, the tasks and the results must pickle, and stay below about 10 kB
    tasks    iterated when needed, not all at once
    workers  number of workers, at least 1; not more than needed are started, and each uses one thread
    limit_s  seconds that a task may take before its worker is ended
    lost     function that gives the result of a task that ended its worker, from the way it ended: "crashed (...)" or
             "took more than ... s"
    prepare  called before the first task, to load what the tasks need; only once for all workers if processes can fork

    An exception in the work is raised here in its turn. Closing the generator ends the workers at once; they also end
    with this process, in whatever way it ends. They do not run the main module, so a script needs no guard against
    that.
    """
    nursery = _Nursery((work, prepare))
    crew = _Crew(nursery, workers, limit_s, lost)
    try:
        yield from crew.results(enumerate(tasks))
    finally:
        crew.end()
        nursery.end()


class Standby(Generic[Task, Result]):
    """A worker prepared in advance, for tasks that come one by one and at any time.

    Each task gets a forked process, which has everything loaded and leaves nothing behind. Threads may share a Standby:
    they wait for each other.
    """

    def __init__(
        self,
        work: Callable[[Task], Result],
        limit_s: Callable[[Task], float],
        lost: Callable[[Task, str], Result],
        prepare: Callable[[], object] | None = None,
    ) -> None:
        """Store the arguments; nothing is started before `start` or the first task.

        Arguments as for `spread_on_workers`.
        """
        self._nursery, self._limit_s, self._lost = _Nursery((work, prepare)), limit_s, lost
        self._turn = Lock()

    def start(self) -> None:
        """Load everything that the tasks need, so that the first task need not wait."""
        with self._turn:
            self._nursery.prepare()

    def do(self, task: Task) -> Result:
        """The result of a task; an exception that the work raises is raised here."""
        with self._turn:
            crew = _Crew(self._nursery, 1, self._limit_s, self._lost)
            try:
                return next(crew.results(enumerate([task])))
            finally:
                crew.end()

    def end(self) -> None:
        """End the forking process."""
        with self._turn:
            self._nursery.end()


class _Nursery:
    """Source of workers.

    If processes can be forked, one process loads everything that the work needs and forks each worker. Forking costs a
    twentieth of a new start, and forking this process itself, which has threads, would be unsafe. Elsewhere each worker
    is started separately.
    """

    def __init__(self, job: object) -> None:
        self._job = job
        self._process: Popen[bytes] | None = None
        self._connection: Connection | None = None

    def prepare(self) -> None:
        """Prepare to fork, if processes can be forked."""
        if FORKS:
            self._parent()

    def start(self, there: Connection) -> "_Process":
        """A worker that answers tasks on a pipe."""
        if not FORKS:
            return _Started(_start("serve", there.fileno()))
        try:
            parent = self._parent()
            parent.send(None)
            send_handle(parent, there.fileno(), self._process.pid if self._process else 0)
            return _Forked(parent, parent.recv())
        except (EOFError, OSError):
            self._connection = None  # makes the next worker come from a new process
            raise InputError(f"a worker process cannot be started: it crashed ({_how(self._code())})") from None

    def job(self) -> object:
        """Job to send to a worker that was not forked."""
        return None if FORKS else self._job

    def end(self) -> None:
        """End the forking process."""
        if self._connection is not None:
            self._connection.close()
            self._code()
            self._connection = None

    def _parent(self) -> Connection:
        if self._connection is None:
            self._connection, there = Pipe()
            with there:
                self._process = _start("breed", there.fileno())
            self._connection.send(self._job)
            if not self._connection.poll(START_S):
                self._process.kill()
                raise InputError(f"a worker process cannot be started: it took more than {START_S:.0f} s")
            self._connection.recv()
        return self._connection

    def _code(self) -> int:
        if self._process is None:
            return 0
        with suppress(TimeoutExpired):
            return self._process.wait(END_S)
        self._process.kill()
        return self._process.wait()


class _Process(Protocol):
    """A worker's process."""

    def end(self, patience_s: float) -> int:
        """Wait for its end, or kill it; return its exit code."""
        ...


class _Started:
    """A process that we started."""

    def __init__(self, process: "Popen[bytes]") -> None:
        self._process = process

    def end(self, patience_s: float) -> int:
        """See `_Process`."""
        with suppress(TimeoutExpired):
            self._process.wait(patience_s)
        self._process.kill()
        return self._process.wait()


class _Forked:
    """A process forked by the nursery."""

    def __init__(self, parent: Connection, process: int) -> None:
        self._parent, self._process = parent, process

    def end(self, patience_s: float) -> int:
        """See `_Process`."""
        try:
            self._parent.send((self._process, patience_s))
            return int(self._parent.recv())
        except (EOFError, OSError):
            return -signal.SIGKILL  # the nursery is gone, and with it the pipes that keep its workers


def _how(code: int) -> str:
    return f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit code {code}"


class _Worker(Generic[Task]):
    """A worker's process, and its unanswered tasks by number."""

    def __init__(self, nursery: _Nursery) -> None:
        self.connection, there = Pipe()
        with there:
            self._process = nursery.start(there)
        self.tasks: deque[tuple[int, Task]] = deque()
        self.started = False
        self.since = time.monotonic()  # time of the last sign of life, or of the last task
        if (job := nursery.job()) is not None:
            self._send(job)

    def add(self, number: int, task: Task) -> None:
        """One more task to do."""
        if self.started and not self.tasks:
            self.since = time.monotonic()
        self.tasks.append((number, task))
        self._send(task)

    def answer(self) -> tuple[int, tuple[bool, Any]] | None:
        """The number of an answered task, and its answer; None if the worker only reports that it has started."""
        message = self.connection.recv()
        self.since = time.monotonic()
        if self.started:
            return self.tasks.popleft()[0], message
        self.started = True
        return None

    def end(self, patience_s: float = 0.0) -> str:
        """Wait for the process to end, or kill it; return how it ended."""
        if not patience_s:
            self.connection.close()
        code = self._process.end(patience_s)
        self.connection.close()
        return _how(code)

    def _send(self, message: object) -> None:
        with suppress(OSError):  # if the process has ended, the next receipt reports it
            self.connection.send(message)


def _start(role: str, file: int) -> "Popen[bytes]":
    """Start a Python process that answers tasks on the pipe with a number, or that forks such workers."""
    command = [sys.executable, "-c", CALL.format(ascii(sys.path), role, file)]
    environment = os.environ | ONE_THREAD | KEPT_MEMORY
    if sys.platform == "win32":
        os.set_handle_inheritable(file, True)
        return Popen(command, env=environment, stdin=DEVNULL, stdout=2, close_fds=False)  # noqa: S603
    return Popen(command, env=environment, stdin=DEVNULL, stdout=2, pass_fds=[file])  # noqa: S603


class _Crew(Generic[Task, Result]):
    """The workers, and the state of each task."""

    def __init__(
        self,
        nursery: _Nursery,
        size: int,
        limit_s: Callable[[Task], float],
        lost: Callable[[Task, str], Result],
    ) -> None:
        self._nursery, self._size, self._limit_s, self._lost = nursery, size, limit_s, lost
        self._workers: list[_Worker[Task]] = []
        self._again: deque[tuple[int, Task]] = deque()  # tasks to give to another worker
        self._done: dict[int, tuple[bool, Any]] = {}  # results that wait for earlier ones
        self._given = self._yielded = 0

    def results(self, tasks: Iterator[tuple[int, Task]]) -> Iterator[Result]:
        while self._hand_out(tasks):
            self._receive()
            while self._yielded in self._done:
                well, answer = self._done.pop(self._yielded)
                if not well:
                    raise answer
                self._yielded += 1
                yield answer

    def end(self) -> None:
        for worker in self._workers:
            worker.end()

    def _hand_out(self, tasks: Iterator[tuple[int, Task]]) -> bool:
        """Give every worker as many tasks as it has room for; True if any task is under way."""
        while len(self._workers) < self._size or any(len(worker.tasks) < AHEAD for worker in self._workers):
            numbered = self._take(tasks)
            if numbered is None:
                break
            self._least_busy().add(*numbered)
        return any(worker.tasks for worker in self._workers)

    def _take(self, tasks: Iterator[tuple[int, Task]]) -> tuple[int, Task] | None:
        if self._again:
            return self._again.popleft()
        if self._given >= self._yielded + WINDOW * self._size:
            return None
        numbered = next(tasks, None)
        self._given += numbered is not None
        return numbered

    def _least_busy(self) -> _Worker[Task]:
        if len(self._workers) < self._size and all(worker.tasks for worker in self._workers):
            self._workers.append(_Worker(self._nursery))
            return self._workers[-1]
        return min(self._workers, key=lambda worker: len(worker.tasks))

    def _receive(self) -> None:
        """Wait for an answer, an end or a time limit, and handle all that have come."""
        left = min(map(self._deadline, self._workers)) - time.monotonic()
        ready = wait([worker.connection for worker in self._workers], max(0.0, left) if left < math.inf else None)
        for worker in tuple(self._workers):
            if worker.connection in ready:
                self._hear(worker)
            elif time.monotonic() > self._deadline(worker):
                limit_s = self._limit_s(worker.tasks[0][1]) if worker.started else START_S
                self._dismiss(worker, f"took more than {limit_s:.0f} s")

    def _deadline(self, worker: _Worker[Task]) -> float:
        if not worker.started:
            return worker.since + START_S
        return worker.since + self._limit_s(worker.tasks[0][1]) if worker.tasks else math.inf

    def _hear(self, worker: _Worker[Task]) -> None:
        with suppress(EOFError, OSError):
            self._done.update([answered] if (answered := worker.answer()) else [])
            return
        self._dismiss(worker)

    def _dismiss(self, worker: _Worker[Task], overdue: str = "") -> None:
        """End a worker: its current task is lost, the later ones are not."""
        self._workers.remove(worker)
        how = worker.end(0.0 if overdue else END_S)
        why = overdue or f"crashed ({how})"
        if not worker.started:
            raise InputError(f"a worker process cannot be started: it {why}")
        if worker.tasks:
            number, task = worker.tasks.popleft()
            self._done[number] = True, self._lost(task, why)
            self._again.extendleft(reversed(worker.tasks))
