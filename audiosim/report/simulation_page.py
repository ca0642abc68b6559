"""Calibration: stated confidence beside the truth, as one page that needs no other file."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group

from audiosim.report.rendering import Grid, Origin, grid, inline_svg, render
from audiosim.report.screen import PlainTable
from audiosim.report.simulation import followed_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = ("judged", "bin", "claims", "share", "stated", "accuracy")
BIN_HEADS = ("Judged", "Confidence", "Pairs", "Share", "Stated", "Accuracy")
FORMS = {"judged": ",.0f", "claims": ",", "share": ".1%", "stated": ".3f", "accuracy": ".3f"}
MOMENTS = 5  # most moments with a plot of their bins


def followed_page(name: str, result: Mapping[str, Any], origin: Origin | None = None) -> str:
    """The report on campaigns on many parts of a collection: plots, and the tables and notes of the screen.

    name    name of the collection
    result  see `simulation.Followed.to_dict`, with the results of further simulations, as for `followed_view`
    origin  origin of the page: see `origin_of`
    """
    curve, (said, *shown, note) = result["curve"], _on_screen(result)
    bins = [_bin_row(row, one) for row in curve for one in row["bins"]]
    return render(
        "followed.html",
        f"{name}: confidence, stated and true",
        origin,
        said=said,
        drawings=_drawings(curve),
        some=len(curve) > MOMENTS,
        bands=curve[0]["stated_error"] is not None,
        bins=grid(BINS, BIN_HEADS, bins, _spell),
        shown=shown,
        note=note,
    )


def draw_bins(curve: Sequence[Mapping[str, Any]], axes: "Axes | None" = None) -> "Axes":
    """Stated confidence and the share of correctly ordered pairs, by bins of confidence at some moments.

    curve  rows of `Followed.to_dict`
    """
    from audiosim.plots import Series, draw_calibration

    series, ends = [], [0.5]
    for row in curve:
        held = [one for one in row["bins"] if one["claims"]]
        stated, accuracy, claims = ([one[key] for one in held] for key in ("stated", "accuracy", "claims"))
        series.append(Series(_count(row), stated, accuracy, claims))
        ends += stated + accuracy
    low = math.floor(10 * min(ends)) / 10
    return draw_calibration(series, "stated confidence", "share of pairs ordered rightly", axes, low, "judged")


def draw_course(curve: Sequence[Mapping[str, Any]], axes: "Axes | None" = None) -> "Axes":
    """Stated and true confidence by the number of judgments, each with the band of its standard error.

    curve  rows of `Followed.to_dict`
    """
    from audiosim.plots import Line, draw_curves

    judged, lines = [row["judged"] for row in curve], []
    for key, name in (("stated", "stated"), ("accuracy", "true")):
        values, errors = ([row[column] for row in curve] for column in (key, f"{key}_error"))
        ends: list[list[float]] = []
        if errors[0] is not None:
            ends = [[min(1.0, a + side * b) for a, b in zip(values, errors, strict=True)] for side in (-1, 1)]
        lines.append(Line(name, judged, values, *ends))
    return draw_curves(lines, "judgments", "confidence, stated and true", axes)


def _drawings(curve: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Both plots; for a single moment only the first."""
    from audiosim.plots import SQUARE, page_axes, square_axes

    bins = inline_svg(draw_bins(_some(curve), square_axes()), "share of pairs ordered rightly by stated confidence")
    if len(curve) < 2:
        return {"bins": bins}
    return {"bins": bins, "course": inline_svg(draw_course(curve, page_axes(height=SQUARE)), "confidence by judgments")}


def _some(curve: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most MOMENTS moments, from the first to the last."""
    last, count = len(curve) - 1, min(len(curve), MOMENTS)
    return [curve[round(place * last / max(1, count - 1))] for place in range(count)]


def _on_screen(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sentences, titles and tables of the terminal view."""
    view = followed_view(result)
    assert isinstance(view, Group)
    return [_part(part) for part in view.renderables]


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, PlainTable):
        return {"kind": "table", "grid": _as_grid(part)}
    return {"kind": "title" if part.style == "bold" else "text", "text": part.plain.strip()}


def _as_grid(shown: PlainTable) -> Grid:
    kinds = ["number" if setting == "right" else "word" for setting in shown.settings]
    rows = tuple((False, tuple(str(cell) for cell in cells)) for cells in shown.rows)
    return Grid(tuple(zip(shown.heads, kinds, strict=True)), rows)


def _bin_row(row: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "judged": row["judged"], "bin": f"{one['low']:g} to {one['high']:g}"}


def _spell(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:{FORMS[key]}}"


def _count(row: Mapping[str, Any]) -> str:
    return f"{row['judged']:,.1f}".removesuffix(".0")
