"""A bar that shows the progress of long work, in notebooks and on a terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

EVERY_S = 0.1  # seconds between two updates of a bar in a notebook


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, in notebooks and on a terminal's stderr: call it with (done, total)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = Console(stderr=True)
    if shown.is_jupyter:
        with _notebook_progress(what) as show:
            yield show
        return
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


@contextmanager
def _notebook_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """An HTML bar, which every notebook shows, and which disappears at the end."""
    from IPython.display import HTML, display

    handle, start, last = display(HTML(""), display_id=True), time.monotonic(), 0.0

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < EVERY_S and done < total:
            return
        last = now
        left = f", {(now - start) / done * (total - done):.0f} s left" if done else ""
        said = f"{escape(what)}: {done:,} of {total:,}{left}"
        handle.update(HTML(f'<progress value="{done}" max="{total}"></progress> {said}'))

    try:
        yield show
    finally:
        handle.update(HTML(""))
