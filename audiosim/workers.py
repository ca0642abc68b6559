"""Work shared by processes, in the order of its pieces: on this machine, and on a Dask cluster.

- `each_in_turn` does numbered pieces of our own code with joblib, on whichever backend the user chose there.
- `spread` and `Crew` do tasks that may crash or hang, such as decoding a damaged file, with pebble: only that task is
  lost.
- Both may use a Dask cluster instead, given by the address of its scheduler. They use distributed's own futures, as
  joblib's backend for Dask (joblib 1.6) waits forever if the scheduler gives up a task, for instance when a fourth
  machine is lost with it, and uses only the machines present at the start.
"""

import atexit
import math
import multiprocessing
import os
import pickle
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from audiosim.errors import InputError, check_count
from audiosim.stats.threads import one_thread

if TYPE_CHECKING:
    from distributed import Client

Task = TypeVar("Task")
Result = TypeVar("Result")

# Numbered pieces of work.


def each_in_turn(
    work: Callable[[int], Result],
    count: int,
    jobs: int,
    progress: Callable[[int, int], None],
    scheduler: str | None = None,
) -> Iterator[Result]:
    """The result for each number below a count, in order; `progress` gets the number done.

    jobs       processes on this machine; with more than one the work must pickle
    scheduler  address of a Dask cluster that does the work instead. Another machine repeats the work of a lost one

    If `joblib.parallel_config` names a backend, such as "dask" or "ray", that backend does the work and `jobs` is
    ignored. Results are the same bit for bit on all of them, because matrix products use one thread, and a cluster has
    the same versions of the libraries. Closing the iterator cancels work not begun.
    """
    check_count("the number of jobs", jobs)
    progress(0, count)
    own, alone = _own_backend(), partial(_on_one_thread, work)
    if scheduler is not None:
        results = _numbers_on_cluster(scheduler, work, count)
    elif own is not None or min(jobs, count) > 1:
        results = _by_joblib(alone, count, min(jobs, count), own)
    else:
        results = (alone(number) for number in range(count))
    with closing(results):
        for done, result in enumerate(results, start=1):
            progress(done, count)
            yield result


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes of this machine that share work, or a Dask cluster given by its address; see `each_in_turn`."""

    jobs: int = 1
    scheduler: str | None = None

    def each(self, work: Callable[[int], Result], count: int) -> Iterator[Result]:
        """The result for each number below a count, in order."""
        return each_in_turn(work, count, self.jobs, lambda done, of: None, self.scheduler)

    def map(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """The result of each task, in order."""
        return self.each(partial(_at, work, tasks), len(tasks))


def _at(work: Callable[[Task], Result], tasks: Sequence[Task], place: int) -> Result:
    return work(tasks[place])


HERE = Workers()


def _on_one_thread(work: Callable[[int], Result], number: int) -> Result:
    """The result with matrix products on one thread: another order of summation changes the last digit."""
    with one_thread():
        return work(number)


def _own_backend() -> Any:
    """Backend that the user chose with `joblib.parallel_config`; None for joblib's default."""
    if "joblib" not in sys.modules:  # imported here, as a single process need not pay for its start-up time
        return None
    import joblib  # noqa: F401  waits for another thread that is importing it, as the next line would not
    from joblib.parallel import BACKENDS, DEFAULT_BACKEND, get_active_backend

    backend, jobs = get_active_backend()
    # If the backend is the default one, the user chose it only together with a number of processes.
    return None if type(backend) is BACKENDS[DEFAULT_BACKEND] and jobs in (None, 1) else backend


def _by_joblib(work: Callable[[int], Result], count: int, jobs: int, own: Any) -> Generator[Result, None, None]:
    """Run in joblib's processes, each on one thread, or on the user's own backend."""
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    done, streamed = 0, own is None or own.supports_return_generator
    with nullcontext() if own else joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        parallel = joblib.Parallel(return_as="generator" if streamed else "list")
        results = parallel(map(joblib.delayed(work), range(count)))
        try:
            for done, result in enumerate(results, start=1):  # noqa: B007  the message below needs it
                yield result
        except TerminatedWorkerError as error:
            code = re.search(r"exit codes of the workers are {(.*)}", str(error))
            how = f" ({', '.join(dict.fromkeys(code[1].split(', ')))})" if code else ""  # two processes may end at once
            raise InputError(f"a worker process at part {done + 1} of {count}, or a later one, crashed{how}") from None
        finally:
            if streamed:
                results.close()


# Tasks that may crash or hang their process.

AHEAD = 256  # most tasks per worker that are in progress, or finished before an earlier one
PAUSE_S = 0.01  # time between two looks at the workers, which end or exceed their limit
PATIENCE_S = 5  # longest wait for pebble's threads to end
# Threads of the arithmetic libraries would compete for the processors that the workers already use. Freed memory is
# kept for the next task: requesting it again takes a quarter of the time to describe a clip (glibc).
ENVIRONMENT = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
) | {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}


def spread(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    workers: int,
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
    prepare: Callable[[], object] | None = None,
) -> Generator[Result, None, None]:
    """The result of each task, in the order of the tasks, each as early as possible.

    tasks    iterated when needed, not all at once
    workers  number of workers, at least 1; not more than needed are started, and each uses one thread

    Other arguments as for `Crew`. Closing the generator ends the workers at once.
    """
    remaining = iter(tasks)
    first = list(islice(remaining, workers))
    with Crew(work, limit_s, lost, prepare, workers=len(first)) as crew:
        waiting: deque[tuple[Task, Future[Result]]] = deque()
        for task in chain(first, remaining):
            waiting.append((task, crew.give(task)))
            while waiting and (waiting[0][1].done() or len(waiting) >= AHEAD * workers):
                yield crew.result(*waiting.popleft())
        while waiting:
            yield crew.result(*waiting.popleft())


class Crew(Generic[Task, Result]):
    """Worker processes for tasks that may crash or hang them: only that task is lost. Threads may share a crew.

    The workers end with this process, in whatever way it ends. They do not run the main module, so a script needs no
    guard against that.
    """

    def __init__(
        self,
        work: Callable[[Task], Result],
        limit_s: Callable[[Task], float],
        lost: Callable[[Task, str], Result],
        prepare: Callable[[], object] | None = None,
        workers: int = 1,
    ) -> None:
        """Store the arguments; nothing is started before `start` or the first task.

        work     function called in the workers; it, the tasks and the results must pickle
        limit_s  seconds that a task may take before its worker is ended
        lost     function that gives the result of a task that ended its worker, from the way it ended: "crashed (...)"
                 or "took more than ... s"
        prepare  called in each worker before its first task, to load what the tasks need
        """
        self._limit_s, self._lost, self._workers = limit_s, lost, workers
        self._begin, self._starting = (work, prepare), Lock()
        self._pool: Any = None

    def start(self) -> None:
        """Load everything that the tasks need, so that the first task need not wait."""
        import pebble
        from joblib.externals.loky.backend.context import LokyContext
        from joblib.externals.loky.backend.process import LokyProcess

        with self._starting:
            if self._pool is not None and self._pool.active:
                return
            self.end()  # a pool whose workers could not be started
            pebble.CONSTS.sleep_unit = PAUSE_S
            # Python forbids daemons, such as Dask's workers and the service's, to have children, which could outlive
            # them: ours do not.
            multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
            context = LokyContext()
            context.Process = partial(LokyProcess, env=ENVIRONMENT)
            # Nobody writes to this pipe: its end tells the workers that this process is gone.
            self._alive = multiprocessing.Pipe(duplex=False)
            # Python closes a generator that is left when no thread can start any more: `end` would wait for ever.
            atexit.register(self._let_go)
            arguments = (self._alive[0], *self._begin)
            self._pool = _pool(self._workers, initializer=_settle, initargs=arguments, context=context)
            assert self._pool.active  # asking for it starts the workers

    def give(self, task: Task) -> "Future[Result]":
        """A task to do; `result` waits for it."""
        self.start()
        found: Future[Result] = self._pool.schedule(_do, [task], timeout=self._limit_s(task))
        return found

    def result(self, task: Task, future: "Future[Result]") -> Result:
        """The result of a task that was given; an exception that the work raises is raised here."""
        from pebble import ProcessExpired

        try:
            return future.result()
        except ProcessExpired as error:
            code = error.exitcode
            how = f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit code {code}"
            return self._lost(task, f"crashed ({how})")
        except TimeoutError:
            return self._lost(task, f"took more than {self._limit_s(task):.0f} s")
        except BrokenProcessPool as error:
            raise InputError(f"worker processes end: {error}") from None

    def do(self, task: Task) -> Result:
        """The result of a task."""
        return self.result(task, self.give(task))

    def end(self) -> None:
        """End the workers at once."""
        if self._pool is not None:
            self._pool.stop()
            # An interrupt just after this thread took a lock of pebble's leaves it taken: Condition.__enter__ raises.
            # A thread that waits for that lock would never end, nor would a wait for that thread.
            ending = Thread(target=self._pool.join, daemon=True)
            ending.start()
            ending.join(PATIENCE_S)
            self._let_go()
            atexit.unregister(self._let_go)

    def _let_go(self) -> None:
        """End the workers that are left, and wait for none."""
        self._pool = None
        for one in self._alive:
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _pool(workers: int, **settings: Any) -> Any:
    """Pebble's pool, which reads everything that a worker sent before it looks for the task that ended it.

    A worker says which task it begins. pebble may see the worker's end before it has read this, and then takes the
    pool for broken or waits for the task's limit (pebble 5.2, noxdafox/pebble#153).
    """
    from pebble.pool.process import PoolManager, ProcessPool

    class Manager(PoolManager):
        reading = Lock()

        def process_next_message(self, timeout: float) -> None:
            self._read(timeout)

        def update_workers(self) -> None:
            manager: Any = self.worker_manager
            ended = manager.inspect_workers()
            self._read(0)
            for one in ended:
                self.handle_worker_expiration(one)
            manager.create_workers()

        def stop(self) -> None:
            manager: Any = self.worker_manager
            manager.force_stop_workers()  # before their locks go, which a worker that still starts would miss
            manager.close_channels()

        def _read(self, timeout: float) -> None:
            channel: Any = self.worker_manager.pool_channel
            with suppress(OSError):  # the pool ends
                while channel.poll(timeout):
                    with self.reading:
                        super().process_next_message(0)
                    timeout = 0

    pool = ProcessPool(workers, **settings)
    pool._pool_manager = Manager(pool._context, settings["context"])
    return pool


_work: Callable[[Any], Any]  # of this worker


def _settle(alive: Connection, work: Callable[[Any], Any], prepare: Callable[[], object] | None) -> None:
    """Prepare a worker: end it with its parent, and discard what codec libraries print."""
    global _work
    _work = work
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ends a worker that hangs in a library at once
    Thread(target=_end_with_parent, args=[alive], daemon=True).start()
    sys.stdout = sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if prepare is not None:
        prepare()


def _do(task: Any) -> Any:
    return _work(task)


def _end_with_parent(alive: Connection) -> None:
    wait([alive])
    os._exit(1)


# The machines of a Dask cluster.

BATCH = 1000  # most tasks sent together: seconds of work, compared with which starting a process takes little time
ROUNDS = 4  # fewest batches for each thread of the cluster, if there is enough work
RETRIES = 2  # retries of a batch that raises, for instance on a machine without free memory
CONNECT_S = 10
JOIN_S = 60  # time allowed for the first machine to join
DECIDING = ("audiosim", "numpy", "scipy")  # packages with versions that affect results to the last bit
Versions = Mapping[str, str | None]


def spread_on_cluster(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    scheduler: str,
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
) -> Generator[Result, None, None]:
    """The result of each task, in the order of the tasks; see `Crew`.

    scheduler  address, such as tcp://10.0.0.1:8786

    Each thread of the cluster does its batch in a separate process, so that a crash costs one task there too. If a
    machine is lost, another one repeats its batch; after four losses the tasks of a batch are lost. Machines may come
    and go meanwhile. Closing the generator cancels the batches not yet begun.
    """
    with _connected(scheduler) as client:
        size = max(1, min(BATCH, math.ceil(len(tasks) / (ROUNDS * sum(client.nthreads().values())))))
        batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]

        def given_up(place: int, _times: int) -> list[Result]:
            return [lost(task, "was given up: every machine that worked on it was lost") for task in batches[place]]

        for results in _on_cluster(client, partial(_whole, work, limit_s, lost), batches, given_up, RETRIES):
            yield from results


def _whole(
    work: Callable[[Task], Result],
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
    batch: Sequence[Task],
) -> list[Result]:
    return list(spread(work, batch, 1, limit_s, lost))


def _numbers_on_cluster(scheduler: str, work: Callable[[int], Result], count: int) -> Generator[Result, None, None]:
    def given_up(place: int, times: int) -> Result:
        raise InputError(f"part {place + 1} of {count} was given up: {times} workers were lost while computing it")

    with _connected(scheduler) as client:
        yield from _on_cluster(client, work, range(count), given_up)


def _on_cluster(
    client: "Client",
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    given_up: Callable[[int, int], Result],
    retries: int = 0,
) -> Generator[Result, None, None]:
    """The result of each task, in order, each by a thread of the cluster; closing it cancels tasks not begun.

    work      sent to each machine once; an exception in it is raised here
    given_up  gives the result of a task, by its place, that the scheduler gave up after losing a number of machines
    """
    import dask
    from distributed import KilledWorker
    from distributed.protocol.pickle import dumps

    here, scheduler = _check_machines(client), client.scheduler.address
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        # The result of a task instead of scattered data: if it is lost with a machine, the scheduler has it computed
        # again.
        packed = client.submit(bytes, dumps(work), pure=False)
    every = [packed] * len(tasks)
    futures = deque(client.map(_unpacked, every, tasks, expected=here, pure=False, retries=retries))
    try:
        for place in range(len(tasks)):
            try:
                result: Result = futures.popleft().result()
            except KilledWorker as error:
                result = given_up(place, error.allowed_failures + 1)
            yield result
    except (CancelledError, OSError):  # the connection closes, or is not restored
        raise InputError(f"the scheduler at {scheduler} is gone") from None
    finally:
        client.cancel(list(futures))


def _unpacked(packed: bytes, task: object, expected: Versions) -> object:
    """The result of a task; an InputError on a machine with other versions, which may have joined late."""
    if (here := _versions()) != expected:
        raise InputError(f"a worker that joined runs {_spelled(here)}, expected {_spelled(expected)} as here")
    with one_thread():
        return pickle.loads(packed)(task)  # noqa: S301  the sender may run anything on this machine anyway


def _versions() -> Versions:
    return {name: _version(name) for name in DECIDING}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _spelled(versions: Versions) -> str:
    return ", ".join(f"{name} {known or 'not installed'}" for name, known in versions.items())


def _check_machines(client: "Client") -> Versions:
    """The versions of this machine; an InputError names the workers whose versions differ."""
    here = _versions()
    every = client.get_versions(packages=list(DECIDING))["workers"]
    others = {
        address: versions
        for address, found in every.items()
        if (versions := {name: found["packages"].get(name) for name in DECIDING}) != here
    }
    if others:
        address, versions = next(iter(others.items()))
        more = f"; {len(others) - 1} more differ" if len(others) > 1 else ""
        raise InputError(f"worker {address} runs {_spelled(versions)}, expected {_spelled(here)} as here{more}")
    return here


@contextmanager
def _connected(scheduler: str) -> Iterator["Client"]:
    """A client of a cluster with at least one worker."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a cluster needs Dask, which audiosim[scale] brings: pip install 'audiosim[scale]'") from None

    class ClosedAtOnce(Client):  # type: ignore[misc]  # distributed has no types
        """Client that is closed as soon as it cannot connect.

        distributed leaves this to the garbage collector, which may run in the thread of the next client's loop. Closing
        there waits for a lock that the next client holds until its loop has started.
        """

        def start(self, **options: object) -> None:
            try:
                super().start(**options)
            except BaseException:
                self.close()
                self._loop_runner.stop()  # close() does not end the thread of a client that has closed itself
                raise

    try:
        client = ClosedAtOnce(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, MemoryError):  # the last one if another server's answer is read as a length
        raise InputError(f"no scheduler answers at {scheduler}, expected an address like tcp://10.0.0.1:8786") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=JOIN_S)
        except TimeoutError:
            problem = f"has no worker after {JOIN_S} s, expected at least one"
            raise InputError(f"the scheduler at {scheduler} {problem}") from None
        yield client
