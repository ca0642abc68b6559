"""Short words for people: a long text cut in its middle, a result as a notebook shows it."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

ROWS = 60  # of a table in a notebook


def shortened_to(text: str, width: int) -> str:
    """A text of at most so many characters, at least 3: its beginning and its end, with … between."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def notebook_html(sentence: str, table: "pd.DataFrame") -> str:
    """A result as notebooks show it: one sentence, and a table of at most ROWS rows with three decimals."""
    shown: str = table.to_html(float_format=lambda value: f"{value:.3f}", max_rows=ROWS)
    return f"<p>{escape(sentence)}</p>{shown}"
