"""Plots of numbers on matplotlib's axes: an axes in, the same axes out; with None a new one.

One function for each kind of plot, for notebooks, reports and documentation alike; imported only to draw.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from audiosim.showing import shortened_to

COLOURS = ("#0b6e8a", "#c2571a", "#5b6675", "#6a4c93")
LONGEST = 24  # characters of a label
ROW_HEIGHT = 0.26  # of a row in inches, so that forty systems can be read


class Line(NamedTuple):
    """A line of a plot of curves: points, and the band around them where there is one."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


def new_axes(rows: int | None = None) -> Axes:
    """New axes of a figure, as high as so many rows ask for."""
    from matplotlib import pyplot

    height = 4.0 if rows is None else 1.1 + ROW_HEIGHT * max(rows, 4)
    axes: Axes = pyplot.subplots(figsize=(6.4, height), layout="constrained")[1]
    return axes


def draw_intervals(
    labels: Sequence[str], low: ArrayLike, middle: ArrayLike, high: ArrayLike, across: str, axes: Axes | None = None
) -> Axes:
    """Intervals with their middles, one under the other, the first on top.

    labels             (n,) of the rows; long ones are cut in the middle
    low, middle, high  (n,) an infinite end is drawn to the edge
    across             what the values are
    """
    axes = new_axes(len(labels)) if axes is None else axes
    low, middle, high = (np.asarray(values, dtype=float) for values in (low, middle, high))
    places = np.arange(len(labels))
    finite = np.concatenate([values[np.isfinite(values)] for values in (low, middle, high)])
    edges = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    axes.hlines(places, np.clip(low, *edges), np.clip(high, *edges), color=COLOURS[0], linewidth=2)
    axes.plot(middle, places, "o", color=COLOURS[0], markersize=5)
    return _rows(axes, labels, across)


def draw_bars(
    labels: Sequence[str],
    values: ArrayLike,
    across: str,
    axes: Axes | None = None,
    errors: ArrayLike | None = None,
) -> Axes:
    """Bars from 0, one under the other, the first on top.

    labels  (n,) of the rows
    values  (n,)
    across  what they are
    errors  (n,) by how much each may be off, to both sides
    """
    axes = new_axes(len(labels)) if axes is None else axes
    axes.barh(np.arange(len(labels)), np.asarray(values, dtype=float), xerr=errors, color=COLOURS[0], height=0.7)
    return _rows(axes, labels, across)


def draw_curves(lines: Sequence[Line], across: str, up: str, axes: Axes | None = None) -> Axes:
    """Curves over one axis of numbers, each with its band if it has one, and a legend where there are several.

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
    return _titled(axes, across, up)


def draw_points(
    x: ArrayLike,
    y: ArrayLike,
    errors: ArrayLike,
    across: str,
    up: str,
    axes: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Points with their errors upwards and downwards; what is not a number is left out."""
    axes = new_axes() if axes is None else axes
    axes.errorbar(x, y, yerr=np.nan_to_num(np.asarray(errors, dtype=float)), fmt="o", color=COLOURS[0], label=name)
    return _titled(axes, across, up)


def _rows(axes: Axes, labels: Sequence[str], across: str) -> Axes:
    axes.set_yticks(np.arange(len(labels)), [shortened_to(label, LONGEST) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(across)
    return _plain(axes)


def _titled(axes: Axes, across: str, up: str) -> Axes:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    return _plain(axes)


def _plain(axes: Axes) -> Axes:
    axes.spines[["top", "right"]].set_visible(False)
    return axes
