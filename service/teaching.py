"""Learning in a process of its own: what takes seconds of a processor holds up nobody who judges.

Run as a module it reads a pickled `Lesson` and writes the pickled estimator that has learned; both come from the
service itself.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from typing import BinaryIO

from audiosim.campaign import Lesson
from audiosim.errors import ServiceError
from audiosim.relevance.estimators import RelevanceEstimator

NICENESS = 5  # who judges goes first
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
GRACE_S = 5.0


class Learner:
    """A process that learns one lesson."""

    def __init__(self, lesson: Lesson) -> None:
        """Begin to learn."""
        self.lesson = lesson
        self._said = pickle.dumps(lesson)
        self._process = subprocess.Popen(  # noqa: S603 - this very module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(os.environ),
        )

    def learned(self) -> RelevanceEstimator:
        """The estimator that has learned, once that is done."""
        found, _ = self._process.communicate(self._said)
        if self._process.returncode != 0:
            raise ServiceError(f"the process that learns ended with status {self._process.returncode}")
        learned: RelevanceEstimator = pickle.loads(found)  # noqa: S301 - written by our own process
        return learned

    def stop(self) -> None:
        """End it, whatever it has learned."""
        self._process.kill()


def _environment(known: Mapping[str, str]) -> dict[str, str]:
    """One thread for linear algebra, and the modules of this process, plugins among them."""
    path = os.pathsep.join(filter(None, sys.path))
    return {**known, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}


def _learn(source: BinaryIO, target: BinaryIO) -> None:
    os.nice(NICENESS)
    lesson = pickle.load(source)  # noqa: S301 - written by our own process
    pickle.dump(lesson.learned(), target)


if __name__ == "__main__":
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a plugin prints is no answer
    with answer:
        _learn(sys.stdin.buffer, answer)
