"""Plots of a report of record, by Matplotlib as SVG; the same numbers give the same text."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from audiosim.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.26  # inches that a system takes
TENTHS = 10


def interval_drawing(
    rows: Sequence[Mapping[str, Any]], name: str, title: str, new: tuple[str, str] | None = None
) -> str:
    """Intervals of the systems, best at the top.

    rows   of `Publication.system_rows`
    name   of the column drawn; its ends are in `name_low` and `name_high`
    title  of the axis
    new    columns of a second, thinner interval
    """
    figure = Figure(figsize=(7, 0.9 + ROW * len(rows)))
    axes = figure.subplots()
    places = np.arange(len(rows))[::-1]
    if new is not None:
        axes.hlines(places, [row[new[0]] for row in rows], [row[new[1]] for row in rows], color="0.65", linewidth=1)
    low, high = ([row[f"{name}_{end}"] for row in rows] for end in ("low", "high"))
    axes.hlines(places, low, high, color="#0b6e8a", linewidth=3)
    axes.plot([row[name] for row in rows], places, "o", color="#0b6e8a", markersize=5)
    axes.set_yticks(places, [str(row["system"]) for row in rows])
    axes.set_xlabel(title)
    return _svg(figure, axes)


def calibration_drawing(chances: Array) -> str:
    """Shares of judgments in each tenth of their predictive distributions, (k,) chances in [0, 1]."""
    figure = Figure(figsize=(5, 2.6))
    axes = figure.subplots()
    counts, edges = np.histogram(chances, TENTHS, (0, 1))
    axes.bar(edges[:-1], counts / len(chances), 1 / TENTHS, align="edge", color="#0b6e8a", edgecolor="white")
    axes.axhline(1 / TENTHS, color="0.4", linestyle="--")
    axes.set_xlabel("place in the predictive distribution")
    axes.set_ylabel("share of judgments")
    return _svg(figure, axes)


def course_drawing(curve: Sequence[tuple[int, float]]) -> str:
    """The confidence in the ranking by the number of judgments."""
    figure = Figure(figsize=(6, 2.8))
    axes = figure.subplots()
    axes.plot(*zip(*curve, strict=True), color="#0b6e8a")
    axes.set_ylim(0.5, 1)
    axes.set_xlabel("judgments")
    axes.set_ylabel("confidence")
    return _svg(figure, axes)


def _svg(figure: Figure, axes: "Axes") -> str:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "audiosim", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
