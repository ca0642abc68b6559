"""Plots of numbers on matplotlib's axes: an axes in, the same axes out; with None a new one.

One function for each kind of plot, for notebooks, reports and documentation alike; imported only to draw.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from audiosim.results.value import need, shortened_to
from audiosim.results.vega_layers import (
    bar_layers,
    curve_layers,
    interval_layers,
    keep_layers,
    look_layers,
    point_layers,
    triangle_layers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACCENT, INK, SOFT = "#0b6e8a", "#1d2530", "#5b6675"
COLOURS = (ACCENT, "#c2571a", SOFT, "#6a4c93")
LONGEST = 24  # most characters of a label
ROW_HEIGHT = 0.26  # height of a row in inches, so that forty systems are legible
WIDTH, HEIGHT, SQUARE = 6.4, 4.0, 4.4  # sizes of plots in inches
MARKS = "os^Dv"  # marks of the series, in their order
HEAVIEST = 130.0  # area of the largest mark, in square points
NUMBERED = 14  # most systems of a triangle with numbers in its cells
ROOMY = 24  # most systems of a triangle with labels on all columns
TENTHS = 10
LINE_SHARE = 0.045  # height of a line of small letters, as a share of the plot


class Line(NamedTuple):
    """A line of a plot of curves: points, and an optional band around them."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


class Series(NamedTuple):
    """Points of a calibration plot, with weights shown by their areas."""

    name: str
    x: ArrayLike
    y: ArrayLike
    weight: ArrayLike = 1.0


def new_axes(rows: int | None = None) -> "Axes":
    """New axes of a figure shown in notebooks, high enough for `rows`."""
    need("plots", "a plot")
    from matplotlib import pyplot

    axes: Axes = pyplot.subplots(figsize=(WIDTH, _height(rows)), layout="constrained")[1]
    return axes


def page_axes(rows: int | None = None, height: float | None = None, width: float = WIDTH) -> "Axes":
    """New axes of a figure for a page, which nothing else keeps; high enough for `rows`, or of a height in inches."""
    need("plots", "a plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, _height(rows) if height is None else height), layout="constrained")
    axes: Axes = figure.subplots()
    return axes


def square_axes() -> "Axes":
    """New axes of a square figure for a page."""
    return page_axes(height=SQUARE, width=SQUARE)


def draw_intervals(
    labels: Sequence[str],
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    across: str,
    axes: "Axes | None" = None,
    outer: tuple[ArrayLike, ArrayLike] | None = None,
) -> "Axes":
    """Intervals with their middles, one under the other, the first on top.

    labels             (n,) labels of the rows; long ones are shortened in the middle
    low, middle, high  (n,) an infinite end is drawn to the edge
    across             title of the values
    outer              (n,) and (n,) ends of wider intervals, drawn thinner
    """
    axes = new_axes(len(labels)) if axes is None else axes
    ends = [np.asarray(values, dtype=float) for values in (low, middle, high, *(outer or ()))]
    places = np.arange(len(labels))
    finite = np.concatenate([values[np.isfinite(values)] for values in ends])
    edges = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    if outer is not None:
        axes.hlines(places, np.clip(ends[3], *edges), np.clip(ends[4], *edges), color=SOFT, linewidth=1)
    axes.hlines(places, np.clip(ends[0], *edges), np.clip(ends[2], *edges), color=ACCENT, linewidth=2)
    axes.plot(ends[1], places, "o", color=ACCENT, markersize=5)
    keep_layers(axes, interval_layers(labels, low, middle, high, across))
    return _rows(axes, labels, across)


def draw_bars(
    labels: Sequence[str],
    values: ArrayLike,
    across: str,
    axes: "Axes | None" = None,
    errors: ArrayLike | None = None,
    shown: Sequence[str] | None = None,
) -> "Axes":
    """Bars from 0, one under the other, the first on top.

    labels  (n,) labels of the rows
    values  (n,)
    across  title of the values
    errors  (n,) error of each to both sides; NaN for no line
    shown   (n,) texts after the bars
    """
    axes = new_axes(len(labels)) if axes is None else axes
    bars = axes.barh(np.arange(len(labels)), np.asarray(values, dtype=float), xerr=errors, color=ACCENT, height=0.7)
    if shown is not None:
        axes.bar_label(bars, shown, padding=4, fontsize=9)
        axes.margins(x=0.15)
    keep_layers(axes, bar_layers(labels, values, across))
    return _rows(axes, labels, across)


def draw_curves(lines: Sequence[Line], across: str, up: str, axes: "Axes | None" = None) -> "Axes":
    """Curves over one numeric axis, each with its band if it has one, and a legend if there are several.

    across, up  titles of the axes
    """
    axes = new_axes() if axes is None else axes
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        style = "-" if number < len(COLOURS) else "--"
        axes.plot(line.x, line.y, style, color=colour, label=line.name, linewidth=2)
        if line.low is not None and line.high is not None:
            axes.fill_between(np.asarray(line.x), np.asarray(line.low), np.asarray(line.high), color=colour, alpha=0.18)
    if len(lines) > 1:
        axes.legend(frameon=False)
    keep_layers(axes, curve_layers(lines, across, up))
    return _titled(axes, across, up)


def draw_looks(
    labels: Sequence[str],
    ranked: Mapping[str, Sequence[tuple[float, float, float] | None]],
    across: str,
    up: str,
    axes: "Axes | None" = None,
) -> "Axes":
    """Scores of systems at several looks, side by side, each with its interval; names are at the right end.

    labels      (n,) labels of the looks
    ranked   (n,) rankings by system, the best of the last look first: low, score and high; None for a look without it
    across, up  titles of the axes
    """
    axes = new_axes() if axes is None else axes
    ends: list[tuple[float, str, str]] = []
    spread = 0.5 / max(1, len(ranked) - 1)
    for number, (name, found) in enumerate(ranked.items()):
        colour = COLOURS[number] if number < len(COLOURS) else "#b0b0b0"
        here = [place for place, one in enumerate(found) if one is not None]
        low, score, high = np.array([one for one in found if one is not None], dtype=float).T
        places = np.array(here) + (number * spread - 0.25 if len(ranked) > 1 else 0.0)
        axes.plot(places, score, "-", color=colour, linewidth=1.5, alpha=0.5)
        axes.errorbar(places, score, yerr=[score - low, high - score], fmt="o", color=colour, markersize=4, linewidth=1)
        if here[-1] == len(labels) - 1:
            ends.append((float(score[-1]), name, colour))
    _name_ends(axes, ends, len(labels) - 0.65)
    keep_layers(axes, look_layers(labels, ranked, across, up))
    axes.set_xticks(range(len(labels)), [_looked(label) for label in labels])
    axes.set(xlabel=across, ylabel=up, xlim=(-0.5, len(labels) - 0.5))
    axes.grid(axis="y", alpha=0.2)
    return _plain(axes)


def _looked(label: str) -> str:
    return "\n".join(shortened_to(line, LONGEST // 2) for line in label.split("\n"))


def _name_ends(axes: "Axes", ends: Sequence[tuple[float, str, str]], across: float) -> None:
    """Names beside the ends of lines, moved apart as little as needed to avoid overlaps."""
    from scipy.optimize import isotonic_regression

    low, high = axes.get_ylim()
    room = (high - low) * LINE_SHARE * np.arange(len(ends))
    ends = sorted(ends)
    places = isotonic_regression(np.array([score for score, _, _ in ends]) - room).x + room if ends else room
    for place, (_, name, colour) in zip(places.tolist(), ends, strict=True):
        text = axes.annotate(shortened_to(name, LONGEST), (across, place), fontsize=8, va="center")
        text.set(color=colour if colour in COLOURS else SOFT, annotation_clip=False)


def draw_points(
    x: ArrayLike,
    y: ArrayLike,
    errors: ArrayLike,
    across: str,
    up: str,
    axes: "Axes | None" = None,
    name: str | None = None,
) -> "Axes":
    """Points with their errors upwards and downwards; NaNs are left out."""
    axes = new_axes() if axes is None else axes
    axes.errorbar(x, y, yerr=np.nan_to_num(np.asarray(errors, dtype=float)), fmt="o", color=ACCENT, label=name)
    keep_layers(axes, point_layers(name or "", x, y, across, up, error=errors))
    return _titled(axes, across, up)


def draw_calibration(
    series: Sequence[Series], across: str, up: str, axes: "Axes | None" = None, low: float = 0.0, key: str = ""
) -> "Axes":
    """Points in a square with sides from `low` to 1, and the diagonal on which they should be.

    series  at most `len(MARKS)`, each with a mark of its own; the area of a mark is its share of the largest weight
    across  title of the stated values
    up      title of the observed values
    key     title of the legend
    """
    axes = new_axes() if axes is None else axes
    heaviest = max((float(np.max(one.weight)) for one in series if np.size(one.weight)), default=1.0)
    axes.plot([low, 1], [low, 1], "--", color=SOFT, linewidth=1)
    for number, one in enumerate(series):
        strength = 0.35 + 0.65 * (number + 1) / len(series)
        size = np.broadcast_to(HEAVIEST * np.asarray(one.weight, dtype=float) / heaviest, np.shape(one.x))
        axes.plot(one.x, one.y, color=ACCENT, alpha=0.4 * strength, linewidth=1.5)
        axes.scatter(
            one.x, one.y, size, marker=MARKS[number], color=ACCENT, alpha=0.6 * strength, linewidth=0, clip_on=False
        )
        axes.plot([], [], MARKS[number], color=ACCENT, alpha=strength, label=one.name)
        keep_layers(axes, point_layers(one.name, one.x, one.y, across, up, weight=one.weight))
    if len(series) > 1:
        axes.legend(title=key, frameon=False, loc="upper left")
    reach = 0.03 * (1 - low)
    axes.set(xlim=(low - reach, 1 + reach), ylim=(low - reach, 1 + reach), aspect="equal")
    return _titled(axes, across, up)


def draw_tenths(places: ArrayLike, across: str, axes: "Axes | None" = None) -> "Axes":
    """Shares of values in each tenth of [0, 1], beside the expected tenth.

    places  (n,) values in [0, 1]
    across  title of the values
    """
    axes = new_axes() if axes is None else axes
    places = np.asarray(places, dtype=float)
    counts, edges = np.histogram(places, TENTHS, (0, 1))
    axes.bar(edges[:-1], counts / len(places), 0.9 / TENTHS, align="edge", color=ACCENT)
    axes.axhline(1 / TENTHS, color=SOFT, linestyle="--", linewidth=1)
    keep_layers(axes, point_layers("", edges[:-1] + 0.5 / TENTHS, counts / len(places), across, "share"))
    return _titled(axes, across, "share")


def draw_map(
    coordinates: ArrayLike, groups: Sequence[str], ringed: Sequence[bool], axes: "Axes | None" = None
) -> "Axes":
    """Points in two dimensions without units, a colour for each group, rings around some.

    coordinates  (n, 2)
    groups       (n,)
    ringed       (n,)
    """
    axes = new_axes() if axes is None else axes
    places, of = np.asarray(coordinates, dtype=float), np.asarray(groups, dtype=object)
    shades = [*COLOURS, "#3d8b37", "#b8860b", "#c23b6b", "#4a6fa5"]
    for number, group in enumerate(sorted(set(groups))):
        some = places[of == group]
        axes.scatter(
            some[:, 0], some[:, 1], s=18, color=shades[number % len(shades)], label=shortened_to(group, LONGEST)
        )
    rings = places[np.asarray(ringed, dtype=bool)]
    axes.scatter(rings[:, 0], rings[:, 1], s=60, facecolors="none", edgecolors=INK, linewidths=1)
    axes.set(xticks=[], yticks=[], aspect="equal")
    if len(set(groups)) > 1:
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def draw_triangle(labels: Sequence[str], values: ArrayLike, marked: ArrayLike, axes: "Axes | None" = None) -> "Axes":
    """All pairs of systems, the better one's row and the worse one's column; marked cells are filled.

    labels  (s,) best first
    values  (s, s) shown in the cells above the diagonal where NUMBERED systems or fewer leave them room
    marked  (s, s) True where a cell is filled
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    axes = new_axes(len(labels)) if axes is None else axes
    values, marked = np.asarray(values, dtype=float), np.asarray(marked, dtype=bool)
    cells = [(a, b) for a in range(len(labels)) for b in range(a + 1, len(labels))]
    for is_marked, strength in ((True, 0.55), (False, 0.08)):
        boxes = [Rectangle((b - 0.46, a - 0.46), 0.92, 0.92) for a, b in cells if marked[a, b] == is_marked]
        axes.add_collection(PatchCollection(boxes, facecolor=ACCENT, alpha=strength, linewidth=0))
    if len(labels) <= NUMBERED:
        for a, b in cells:
            number = f"{values[a, b]:.2f}" if np.isfinite(values[a, b]) else "∞"
            axes.text(b, a, number, ha="center", va="center", fontsize=8)
    keep_layers(axes, triangle_layers(labels, values, marked))
    axes.set_yticks(range(len(labels)), [f"{shortened_to(name, LONGEST)}  {n + 1}" for n, name in enumerate(labels)])
    columns = [place for place in range(len(labels)) if len(labels) <= ROOMY or (place + 1) % 5 == 0]
    axes.set_xticks(columns, [str(place + 1) for place in columns])
    axes.set(xlim=(0.5, len(labels) - 0.5), ylim=(len(labels) - 1.5, -0.5))
    axes.tick_params(length=0, labelsize=9 if len(labels) <= ROOMY else 7.5)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    return axes


def _height(rows: int | None) -> float:
    return HEIGHT if rows is None else 1.1 + ROW_HEIGHT * max(rows, 4)


def _rows(axes: "Axes", labels: Sequence[str], across: str) -> "Axes":
    from matplotlib.ticker import MaxNLocator

    axes.set_yticks(np.arange(len(labels)), [shortened_to(label, LONGEST) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.grid(axis="x", alpha=0.2)
    axes.set_xlabel(across)
    return _plain(axes)


def _titled(axes: "Axes", across: str, up: str) -> "Axes":
    from matplotlib.ticker import MaxNLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.2)
    return _plain(axes)


def _plain(axes: "Axes") -> "Axes":
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return axes
