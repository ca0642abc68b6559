"""ErrandProgress of work in a separate process, told to whoever waits for it; see `learning_process`."""

from collections.abc import Callable
from typing import NamedTuple


class ErrandProgress(NamedTuple):
    """So many steps of so many are done."""

    done: int
    total: int


listeners: list[Callable[[ErrandProgress], object]] = []  # of this process, called at each step


def tell_progress(done: int, total: int) -> None:
    """Tell the progress of this process's work."""
    for listen in listeners:
        listen(ErrandProgress(done, total))
