"""The terminal: a console, a progress bar, a plain table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


def plain_table(*columns: tuple[str, JustifyMethod] | str) -> Table:
    """A table without lines; a column is its head, set right, or its head and how it is set."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        head = column if isinstance(column, str) else column[0]
        table.add_column(head, justify="right" if isinstance(column, str) else column[1], no_wrap=True)
    return table


def console(stderr: bool = False, record: bool = False) -> Console:
    """Console as wide as the terminal, or wide enough for every column where there is none."""
    shown = Console(stderr=stderr, record=record, highlight=False, soft_wrap=False)
    return shown if shown.is_terminal else Console(stderr=stderr, record=record, highlight=False, width=110)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr with rate and time left, where stderr is a terminal; call what it gives with (done, total)."""
    shown = Console(stderr=True)
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=shown,
        transient=True,
        disable=not shown.is_terminal,
    )
    task = bar.add_task(what, total=None, rate="")
    with bar:

        def show(done: int, total: int) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.0f}/s" if speed else "")

        yield show
