"""Preloaded by the process from which tests fork; does once what every fork would do anew."""

import gc
import os
import sys
from collections.abc import Mapping
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from types import SimpleNamespace

from audiosim.measures.measure import as_measure
from audiosim.service.operations.pages import shipped
from audiosim.service.process import learning
from audiosim.stats.threads import stay_on_one_thread

stay_on_one_thread()  # finds the libraries of linear algebra
as_measure("CG@5")  # finds the installed measures
shipped()  # compresses the files of the pages
FORKS = get_context("forkserver")


class Learner:
    """A process that learns, as `subprocess.Popen` gives it, but forked from one that has imported everything.

    Its start is tested where `Errand` is; here, imports would take most of its time.
    """

    def __init__(self, command: list[str], stdin: int, stdout: int, env: Mapping[str, str]) -> None:
        source, there = FORKS.Pipe(duplex=False)
        here, target = FORKS.Pipe(duplex=False)
        passed = source, target, Connection(os.dup(2), readable=False)
        self.stdin, self.stdout = (os.fdopen(os.dup(there.fileno()), "wb"), os.fdopen(os.dup(here.fileno()), "rb"))
        self._process = FORKS.Process(target=_learn, args=(*passed, dict(env)), daemon=True)
        self._process.start()
        for end in (*passed, there, here):
            end.close()

    def wait(self) -> int | None:
        """Wait for the exit status."""
        self._process.join()
        return self._process.exitcode

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


def _learn(source: Connection, target: Connection, log: Connection, variables: dict[str, str]) -> None:
    gc.freeze()  # as in tests/conftest.py
    for place, end in enumerate((source, target, log)):
        os.dup2(end.fileno(), place)
        end.close()
    os.environ.update(variables)
    sys.stdin = os.fdopen(0)
    learning.main()


def fork_learners() -> None:
    """Fork what learns for a service that was itself forked, from where the service was."""
    # Python means to reuse a parent's server of forks, but starts another one unless it is the parent's own child.
    forkserver._forkserver.ensure_running = lambda: None
    learning.subprocess = SimpleNamespace(Popen=Learner, PIPE=-1)
