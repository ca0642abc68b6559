"""Display for people: long texts shortened in the middle, results in notebooks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Protocol

from audiosim.extras import missing, need

if TYPE_CHECKING:
    import pandas as pd

ROWS = 60  # most rows of a table in a notebook
NAMED = 4  # most things named one by one in a sentence, if there are more than one further


def shortened_to(text: str, width: int) -> str:
    """A text shortened to a number of characters, at least 3: its beginning and its end, with … between them."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def listed(names: Sequence[str]) -> str:
    """A, B and C; for many names the first few and the number of others."""
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def notebook_html(sentence: str, to_frame: "Callable[[], pd.DataFrame]", columns: list[str] | None = None) -> str:
    """A result as notebooks show it: one sentence, and a table of at most ROWS rows with three decimals.

    columns  columns of the table to show; None: all

    Without pandas it is the sentence alone.
    """
    if missing("frames"):
        return f"<p>{escape(sentence)}</p>"
    table = to_frame() if columns is None else to_frame()[columns]
    shown: str = table.to_html(float_format=lambda value: f"{value:.3f}", max_rows=ROWS)
    return f"<p>{escape(sentence)}</p>{shown}"


class Tabled(Protocol):
    """A result with a table."""

    def to_frame(self) -> "pd.DataFrame":
        """The table."""
        ...


def in_notebook(result: Tabled) -> str:
    """A result that notebooks show as a sentence and its whole table, in `_repr_html_`."""
    return notebook_html(repr(result), result.to_frame)


def frame_of(
    rows: Iterable[object] | Mapping[str, object], columns: list[str] | None = None, index: str | None = None
) -> "pd.DataFrame":
    """Rows, or columns by name, as a pandas table; pandas is imported only here.

    index  name of the column that the table is indexed by
    """
    need("frames", "to_frame")
    import pandas as pd

    table = pd.DataFrame(dict(rows) if isinstance(rows, Mapping) else list(rows), columns=columns)
    return table if index is None else table.set_index(index)
