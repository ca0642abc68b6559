"""Progress of work in a separate process, reported to the process that waits for it; see `learning_process`."""

from collections.abc import Callable
from typing import NamedTuple


class ErrandProgress(NamedTuple):
    """Number of steps done, and of all steps."""

    done: int
    total: int


listeners: list[Callable[[ErrandProgress], object]] = []  # of this process, called at each step


def tell_progress(done: int, total: int) -> None:
    """Report the progress of this process's work."""
    for listen in listeners:
        listen(ErrandProgress(done, total))
