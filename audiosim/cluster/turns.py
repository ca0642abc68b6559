"""Numbered pieces of work, done in order or in parallel: here, in processes, on a cluster."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from audiosim.cluster.dask_cluster import number_by_number
from audiosim.errors import InputError
from audiosim.stats.threads import one_thread

Result = TypeVar("Result")


def each_in_turn(
    work: Callable[[int], Result],
    count: int,
    jobs: int,
    progress: Callable[[int, int], None],
    scheduler: str | None = None,
) -> Iterator[Result]:
    """The result for each number below a count, in order; `progress` gets the number done.

    jobs       processes on this machine; with more than one the work must pickle
    scheduler  address of a Dask cluster that does the work instead

    If `joblib.parallel_config` names a backend, such as "dask" or "ray", that backend does the work and `jobs` is
    ignored. Results are the same bit for bit on all of them, because matrix products use one thread.
    """
    if jobs < 1:
        raise InputError(f"the number of jobs must be at least 1, got {jobs}")
    progress(0, count)
    if scheduler is not None:
        results = number_by_number(work, count, scheduler)
    elif (own := _own_backend()) is not None:
        results = _by_joblib(_OneThread(work), count, nullcontext(), own.supports_return_generator)
    elif min(jobs, count) == 1:
        results = _here(work, count)
    else:
        results = _in_processes(work, count, jobs)
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


HERE = Workers()


@dataclass(frozen=True, slots=True)
class _OneThread(Generic[Result]):
    """Work with its matrix products on one thread: another order of summation changes the last digit."""

    work: Callable[[int], Result]

    def __call__(self, number: int) -> Result:
        with one_thread():
            return self.work(number)


def _here(work: Callable[[int], Result], count: int) -> Generator[Result, None, None]:
    yield from map(_OneThread(work), range(count))


def _own_backend() -> Any:
    """Backend that the user chose with `joblib.parallel_config`; None for joblib's default."""
    import sys

    if "joblib" not in sys.modules:  # imported here, as a single process need not pay for its start-up time
        return None
    from joblib.parallel import BACKENDS, DEFAULT_BACKEND, get_active_backend

    backend, jobs = get_active_backend()
    # If the backend is the default one, the user chose it only together with a number of processes.
    return None if type(backend) is BACKENDS[DEFAULT_BACKEND] and jobs in (None, 1) else backend


def _in_processes(work: Callable[[int], Result], count: int, jobs: int) -> Generator[Result, None, None]:
    """Run in joblib's processes, each on one thread."""
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    done = 0
    config = joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1)
    with closing(_by_joblib(work, count, config)) as results:
        try:
            for done, result in enumerate(results, start=1):  # noqa: B007  the message below needs it
                yield result
        except TerminatedWorkerError as error:
            code = re.search(r"exit codes of the workers are {(.*)}", str(error))
            how = f" ({', '.join(dict.fromkeys(code[1].split(', ')))})" if code else ""  # two processes may end at once
            raise InputError(f"a worker process at part {done + 1} of {count}, or a later one, crashed{how}") from None


def _by_joblib(
    work: Callable[[int], Result], count: int, config: AbstractContextManager[Any], streamed: bool = True
) -> Generator[Result, None, None]:
    import joblib

    with config:
        parallel = joblib.Parallel(return_as="generator" if streamed else "list")
        results = parallel(map(joblib.delayed(work), range(count)))
        with closing(results) if streamed else nullcontext():
            yield from results
