"""Calibration: stated confidence beside the truth, as one page that needs no other file."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rich.console import Group
from rich.text import Text

from audiosim.report.html import document, figure, folded, table
from audiosim.report.plots import MARKS, Point, bands_plot, calibration_plot
from audiosim.report.screen import PlainTable
from audiosim.report.simulation import followed_view

BINS = ("judged", "bin", "claims", "share", "stated", "accuracy")
BIN_HEADS = ("Judged", "Confidence", "Pairs", "Share", "Stated", "Accuracy")
FORMS = {"judged": ",.0f", "claims": ",", "share": ".1%", "stated": ".3f", "accuracy": ".3f"}


def followed_page(name: str, result: Mapping[str, Any]) -> str:
    """The report on campaigns on many parts of a collection: plots, and the tables and notes of the screen.

    name    of the collection
    result  see `simulation.Followed.to_dict`, with what was played beside it, as for `followed_view`
    """
    curve, (said, *shown, note) = result["curve"], _on_screen(result)
    parts = [
        f"<p>{said}</p>",
        '<h2>Does it keep its word?</h2><div class="plots">',
        figure(_calibration(_some(curve)), _calibration_caption(curve)),
        _course(curve),
        "</div>",
        folded(table(BINS, BIN_HEADS, [_bin_row(row, one) for row in curve for one in row["bins"]], _spell)),
        *shown,
        f'<p class="soft">{note}</p>',
    ]
    return document(f"{name}: confidence, stated and true", parts)


def _calibration(curve: Sequence[Mapping[str, Any]]) -> str:
    series = [(_count(row), [_point(row, one) for one in row["bins"] if one["claims"]]) for row in curve]
    lowest = min((min(point.x, point.y) for _, points in series for point in points), default=0.5)
    first = min(5, math.floor(10 * lowest))
    ticks = [tenth / 10 for tenth in range(first, 11)]
    return calibration_plot(series, "stated confidence", "share of pairs ordered rightly", ticks, "judged:")


def _point(row: Mapping[str, Any], one: Mapping[str, Any]) -> Point:
    shown = (
        f"{_count(row)} judged, {one['claims']:,} pairs from {one['low']:g} to {one['high']:g}: "
        f"stated {one['stated']:.3f}, right {one['accuracy']:.3f}"
    )
    return Point(one["stated"], one["accuracy"], shown, one["claims"])


def _calibration_caption(curve: Sequence[Mapping[str, Any]]) -> str:
    left_out = " Some of the moments, from the first to the last." if len(curve) > len(MARKS) else ""
    return (
        "Pairs of systems in bins of confidence, of all parts together; the larger a mark, the more pairs. On the "
        f"dashed line the confidence is right, below it too high.{left_out}"
    )


def _course(curve: Sequence[Mapping[str, Any]]) -> str:
    """Stated and true confidence by the number of judgments; empty where there is but one moment."""
    if len(curve) < 2:
        return ""
    stated, accuracy = (
        [Point(row["judged"], row[key], f"{word} {row[key]:.3f}", error=row[f"{key}_error"]) for row in curve]
        for key, word in (("stated", "stated"), ("accuracy", "true"))
    )
    lowest = min(point.y - (point.error or 0) for point in (*stated, *accuracy))
    low = max(0, min(9, math.floor(10 * lowest))) / 10
    drawing = bands_plot(("stated", stated), ("true", accuracy), "judgments", "confidence, stated and true", low)
    bands = "" if curve[0]["stated_error"] is None else " Bands reach one standard error to both sides."
    return figure(drawing, f"The mean confidence, and the share of pairs ordered rightly.{bands}")


def _some(curve: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """As many moments as there are marks, from the first to the last."""
    last, count = len(curve) - 1, min(len(curve), len(MARKS))
    return [curve[round(place * last / max(1, count - 1))] for place in range(count)]


def _on_screen(result: Mapping[str, Any]) -> list[str]:
    """Sentences, titles and tables that the screen shows of the same result."""
    view = followed_view(result)
    assert isinstance(view, Group)
    return [_as_html(part) for part in view.renderables]


def _as_html(part: Any) -> str:
    if isinstance(part, PlainTable):
        return _as_table(part)
    text = escape(part.plain.strip())
    return f"<h2>{text}</h2>" if part.style == "bold" else text


def _as_table(shown: PlainTable) -> str:
    keys = [str(number) for number in range(len(shown.heads))]
    # A `Text` is set as a number, a `str` as a word.
    kinds = [Text if setting == "right" else str for setting in shown.settings]
    rows = [{key: kind(str(cell)) for key, kind, cell in zip(keys, kinds, cells, strict=True)} for cells in shown.rows]
    return table(keys, shown.heads, rows, lambda _, cell: str(cell))


def _bin_row(row: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "judged": row["judged"], "bin": f"{one['low']:g} to {one['high']:g}"}


def _spell(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:{FORMS[key]}}"


def _count(row: Mapping[str, Any]) -> str:
    return f"{row['judged']:,.1f}".removesuffix(".0")
