"""Work distributed over the machines of a Dask cluster: small tasks in batches, large ones one by one.

This uses distributed's own futures, not joblib's backend for Dask. That backend (joblib 1.6) survives the loss of a
machine. But it waits forever if the scheduler gives up a batch, for instance when a fourth machine is lost with the
same batch, and it uses only the machines present at the start.
"""

import math
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from audiosim.cluster import workers
from audiosim.errors import InputError
from audiosim.stats.threads import one_thread

if TYPE_CHECKING:
    from distributed import Client, Future

Task = TypeVar("Task")
Result = TypeVar("Result")

BATCH = 1000  # most tasks sent together: seconds of work, compared with which starting a process takes little time
ROUNDS = 4  # fewest batches for each thread of the cluster, if there is enough work
WINDOW = 4  # most batches per thread that are in progress, or finished before an earlier one
RETRIES = 2  # retries of a batch that raises, for instance on a machine without free memory
CONNECT_S = 10
JOIN_S = 60  # time allowed for the first machine to join
DECIDING = ("audiosim", "numpy", "scipy")  # packages with versions that affect results to the last bit
Versions = dict[str, str | None]


def spread_on_cluster(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    scheduler: str,
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
) -> Generator[Result, None, None]:
    """The result of each task, in the order of the tasks; see `workers.spread_on_workers`.

    scheduler  address, such as tcp://10.0.0.1:8786

    Each thread of the cluster does its batch in a separate process, so that a crash costs one task there too. If a
    machine is lost, another one repeats its batch; after four losses the tasks of a batch are lost. Machines may come
    and go meanwhile. Closing the generator cancels the batches not yet begun.
    """
    with _connect(scheduler) as client:
        try:
            yield from _in_batches(client, partial(_whole, work, limit_s=limit_s, lost=lost), tasks, lost)
        except (CancelledError, OSError):  # the connection closes, or is not restored
            raise InputError(f"the scheduler at {scheduler} is gone; finished results are kept") from None


def together(work: Callable[[Task], Result], tasks: Sequence[Task], scheduler: str) -> Iterator[Result]:
    """The result of each task, in the order of the tasks, each done by a thread of a cluster; see `spread`.

    For a few large tasks that run no foreign code: an exception in one is raised here.
    """
    with _connect(scheduler) as client:
        from distributed.comm import CommClosedError

        _threads(client)
        try:
            for future in [client.submit(work, task, pure=False, retries=RETRIES) for task in tasks]:
                yield future.result()
        except (CancelledError, CommClosedError):
            raise InputError(f"the scheduler at {scheduler} is gone") from None


def number_by_number(work: Callable[[int], Result], count: int, scheduler: str) -> Generator[Result, None, None]:
    """The result for each number below a count, in their order, each by one thread of a cluster.

    work  function that is sent to each machine once; it and the results must pickle

    Matrix products use one thread, so that results equal those of this machine bit for bit; a machine with other
    versions of the libraries is refused. Another machine repeats the work of a lost one. An exception in the work is
    raised here. Closing the generator cancels work not begun.
    """
    with _connect(scheduler) as client:
        import dask
        from distributed.protocol.pickle import dumps

        _threads(client)
        here = _versions()
        _check_machines(client, here)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
            # The result of a task instead of scattered data: if it is lost with a machine, the scheduler has it
            # computed again.
            packed = client.submit(bytes, dumps(work), pure=False)
        futures = deque(client.submit(_unpacked, packed, number, here, pure=False) for number in range(count))
        try:
            for number in range(count):
                yield _result(futures.popleft(), f"part {number + 1} of {count}")
        except (CancelledError, OSError):
            raise InputError(f"the scheduler at {scheduler} is gone") from None
        finally:
            client.cancel(list(futures))


def _unpacked(packed: bytes, number: int, expected: Versions) -> object:
    """The result for a number; an InputError on a machine with other versions, which may have joined late."""
    if (here := _versions()) != expected:
        raise InputError(f"a worker that joined runs {_spelled(here)}, expected {_spelled(expected)} as here")
    with one_thread():
        return pickle.loads(packed)(number)  # noqa: S301  the sender may run anything on this machine anyway


def _result(future: "Future", what: str) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        times = error.allowed_failures + 1
        raise InputError(f"{what} was given up: {times} workers were lost while computing it") from None


def _versions() -> Versions:
    return {name: getattr(import_module(name), "__version__", None) for name in DECIDING}


def _spelled(versions: Versions) -> str:
    return ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items())


def _check_machines(client: "Client", here: Versions) -> None:
    """Raise an InputError that names the workers whose versions differ from this machine's."""

    def asked(names: tuple[str, ...] = DECIDING) -> Versions:
        # Sent as code, not as the name of a module, so that machines with an older audiosim, or none, can also answer.
        from importlib import import_module

        found: Versions = {}
        for name in names:
            try:
                found[name] = import_module(name).__version__
            except ImportError:
                found[name] = None
        return found

    others = {address: versions for address, versions in client.run(asked).items() if versions != here}
    if others:
        address, versions = next(iter(others.items()))
        more = f"; {len(others) - 1} more differ" if len(others) > 1 else ""
        raise InputError(f"worker {address} runs {_spelled(versions)}, expected {_spelled(here)} as here{more}")


def _in_batches(
    client: "Client",
    whole: Callable[[Sequence[Task]], list[Result]],
    tasks: Sequence[Task],
    lost: Callable[[Task, str], Result],
) -> Iterator[Result]:
    size = max(1, min(BATCH, math.ceil(len(tasks) / (ROUNDS * _threads(client)))))
    batches = (tasks[start : start + size] for start in range(0, len(tasks), size))
    under_way: deque[tuple[Sequence[Task], Future]] = deque()
    while True:
        for batch in islice(batches, max(0, WINDOW * _threads(client) - len(under_way))):
            under_way.append((batch, client.submit(whole, batch, pure=False, retries=RETRIES)))
        if not under_way:
            return
        yield from _results(*under_way.popleft(), lost)


def _whole(
    work: Callable[[Task], Result],
    batch: Sequence[Task],
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
) -> list[Result]:
    return list(workers.spread_on_workers(work, batch, 1, limit_s, lost))


def _results(batch: Sequence[Task], future: "Future", lost: Callable[[Task, str], Result]) -> Iterator[Result]:
    from distributed import KilledWorker

    try:
        yield from future.result()
    except KilledWorker:
        yield from (lost(task, "was given up: every machine that worked on it was lost") for task in batch)


def _connect(scheduler: str) -> "Client":
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
        return ClosedAtOnce(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, MemoryError):  # the last one if another server's answer is read as a length
        raise InputError(f"no scheduler answers at {scheduler}, expected an address like tcp://10.0.0.1:8786") from None


def _threads(client: "Client") -> int:
    """Number of threads on the cluster now; waits for the first."""
    try:
        client.wait_for_workers(1, timeout=JOIN_S)
    except TimeoutError:
        address = client.scheduler.address
        raise InputError(f"the scheduler at {address} has no worker after {JOIN_S} s, expected at least one") from None
    return sum(client.nthreads().values()) or 1
