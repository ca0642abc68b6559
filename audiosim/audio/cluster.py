"""Work spread over the machines of a Dask cluster, in batches.

By distributed's own futures, not by joblib's backend for Dask: that one (joblib 1.6) gets over a machine
that is lost, but waits for ever once the scheduler gives a batch up, as it does when the fourth machine is
lost with the same batch; and it reckons with the machines that are there at the start.
"""

import math
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from audiosim.audio import workers
from audiosim.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, Future

Task = TypeVar("Task")
Result = TypeVar("Result")

BATCH = 1000  # tasks sent together, at most: seconds of work, beside which starting a process is little
ROUNDS = 4  # batches for each thread of the cluster, at least, where there is work enough
WINDOW = 4  # batches for each thread that may be under way, or done before an earlier one is
RETRIES = 2  # of a batch that raises, as where a machine has no memory left
CONNECT_S = 10
JOIN_S = 60  # that the first machine may take to join


def spread_on_cluster(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    scheduler: str,
    limit_s: Callable[[Task], float],
    lost: Callable[[Task, str], Result],
) -> Generator[Result, None, None]:
    """The result of each task, in the order of the tasks; see `workers.spread_on_workers`.

    scheduler  its address, such as tcp://10.0.0.1:8786

    Each thread of the cluster does its batch in a process of its own, so that a crash costs one task there
    too. A batch whose machine is lost is done again by another; where four are lost with it, so are its
    tasks. Machines may come and go meanwhile. Closing the generator cancels the batches not begun.
    """
    with _connect(scheduler) as client:
        try:
            yield from _in_batches(client, partial(_whole, work, limit_s=limit_s, lost=lost), tasks, lost)
        except (CancelledError, OSError):  # a connection that closes, or that nobody takes up again
            raise InputError(f"the scheduler at {scheduler} is gone; what it has answered is kept") from None


def together(work: Callable[[Task], Result], tasks: Sequence[Task], scheduler: str) -> Iterator[Result]:
    """The result of each task, in the order of the tasks, each done by a thread of a cluster; see `spread`.

    For a few large tasks that run no code of others: an exception in one is raised here.
    """
    with _connect(scheduler) as client:
        from distributed.comm import CommClosedError

        _threads(client)
        try:
            for future in [client.submit(work, task, pure=False, retries=RETRIES) for task in tasks]:
                yield future.result()
        except (CancelledError, CommClosedError):
            raise InputError(f"the scheduler at {scheduler} is gone") from None


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
        yield from (lost(task, "was given up: every machine that was at it was lost") for task in batch)


def _connect(scheduler: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a cluster needs Dask, which audiosim[scale] brings: pip install 'audiosim[scale]'") from None
    try:
        return Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError):
        raise InputError(f"no scheduler answers at {scheduler}, expected an address like tcp://10.0.0.1:8786") from None


def _threads(client: "Client") -> int:
    """Number of threads on the cluster now; waits for the first."""
    try:
        client.wait_for_workers(1, timeout=JOIN_S)
    except TimeoutError:
        address = client.scheduler.address
        raise InputError(f"the scheduler at {address} has no worker after {JOIN_S} s, expected one at least") from None
    return sum(client.nthreads().values()) or 1
