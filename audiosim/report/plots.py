"""Plots as SVG: text that a page holds, in the page's own colours.

The classes `plot-axis`, `plot-grid`, `plot-ideal`, `plot-line`, `plot-dot`, `plot-bar` and `plot-text`
are the page's to colour.
"""

import math
from collections.abc import Sequence
from html import escape

SIDE = 320  # of the area of a square plot; units are pixels at the drawing's own size
LEFT, BOTTOM, TOP, RIGHT = 56, 48, 12, 16
ROW, LABELS, BARS, NUMBERS = 30, 110, 380, 80
KEY, LETTER = 30, 7  # height of the row that names the marks, about the width of a letter in it
QUARTERS = (0, 0.25, 0.5, 0.75, 1)
MARKS = ((0, 0), (4, 45), (3, 0), (4, 0), (3, 180))  # corners and turn in degrees; without corners a circle
SMALLEST, LARGEST = 2.5, 10.0  # radius of a mark whose area says a number


def agreement_plot(points: Sequence[tuple[float, float, str]], across: str, up: str) -> str:
    """Points of a unit square joined by a line, with the diagonal on which they should lie.

    points  (x, y, what a pointer over it shows), x and y in [0, 1]
    across  title of the x axis
    up      title of the y axis
    """
    path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y, _ in points)
    dots = [
        f'<circle class="plot-dot" cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="4.5"><title>{escape(shown)}</title></circle>'
        for x, y, shown in points
    ]
    parts = [
        *_square_axes(across, up),
        f'<polyline class="plot-line" points="{path}"/>',
        *dots,
    ]
    return _drawing(LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, f"{up} by {across}", parts)


def agreements_plot(
    series: Sequence[tuple[str, Sequence[tuple[float, float, float, str]]]],
    across: str,
    up: str,
    ticks: Sequence[float] = QUARTERS,
    called: str = "",
) -> str:
    """Several series of weighted points of a square, with the diagonal on which they should lie.

    series  (name, points (x, y, weight, what a pointer over it shows)); at most `len(MARKS)`, each fainter than the
            next and with a mark of its own, whose area grows with the weight
    across  title of the x axis
    up      title of the y axis
    ticks   of both axes, at equal distances; they go from the first to the last
    called  what stands before the names
    """
    heaviest = max(weight for _, points in series for _, _, weight, _ in points)
    parts = _square_axes(across, up, ticks)
    for number, (_, points) in enumerate(series):
        placed = [(_x(_along(x, ticks)), _y(_along(y, ticks)), weight, shown) for x, y, weight, shown in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in placed)
        marks = [
            _mark(number, x, y, max(SMALLEST, LARGEST * math.sqrt(weight / heaviest)), shown)
            for x, y, weight, shown in placed
        ]
        line = f'<polyline class="plot-line" stroke-opacity=".5" points="{path}"/>'
        parts.append(f'<g opacity="{_strength(number, len(series)):.2f}">{line}{"".join(marks)}</g>')
    names = [name for name, _ in series]
    return _with_key(parts, [called, *names], f"{up} by {across}")


def bar_plot(bars: Sequence[tuple[str, float, str]], title: str, errors: Sequence[float | None] = ()) -> str:
    """Bars from 0, one under the other, each with its label before it and its value after it.

    bars    (label, value of 0 or more, value as text)
    title   what the values are, for those who hear the page
    errors  by how much each value may be off, drawn to both sides of a bar's end, not below 0; None for no line
    """
    lines = [0.0 if error is None else error for error in errors] or [0.0] * len(bars)
    largest = max((value + error for (_, value, _), error in zip(bars, lines, strict=True)), default=0.0) or 1.0
    parts = []
    for place, ((label, value, shown), error) in enumerate(zip(bars, lines, strict=True)):
        middle, width = place * ROW + ROW / 2, max(1.0, value / largest * BARS)
        low, high = (LABELS + max(0.0, end) / largest * BARS for end in (value - error, value + error))
        parts += [
            _text(LABELS - 10, middle, "end", label),
            f'<rect class="plot-bar" x="{LABELS}" y="{middle - 9}" width="{width:.1f}" height="18" rx="2"/>',
            *([_whisker(low, high, middle)] if error else []),
            _text(max(LABELS + width, high) + 8, middle, "start", shown),
        ]
    return _drawing(LABELS + BARS + NUMBERS, len(bars) * ROW, title, parts)


def _whisker(low: float, high: float, middle: float) -> str:
    """A line between two places of a row, with a stroke at either end."""
    ends = "".join(f"M{x:.1f} {middle - 5}v10" for x in (low, high))
    return f'<path class="plot-axis" d="M{low:.1f} {middle}H{high:.1f}{ends}"/>'


def interval_plot(rows: Sequence[tuple[str, float, float, float, str]], title: str) -> str:
    """Intervals with their middles on one axis, one under the other, each with its label before it.

    rows   (label, low, middle, high, what a pointer over it shows)
    title  what the values are
    """
    start = min(low for _, low, _, _, _ in rows)
    span = (max(high for _, _, _, high, _ in rows) - start) or 1.0
    parts = [*_ticks(start, span, len(rows) * ROW)]
    for place, (label, low, middle, high, shown) in enumerate(rows):
        y = place * ROW + ROW / 2
        left, centre, right = (LABELS + (value - start) / span * BARS for value in (low, middle, high))
        parts += [
            _text(LABELS - 10, y, "end", label),
            f'<line class="plot-line" x1="{left:.1f}" y1="{y}" x2="{right:.1f}" y2="{y}"/>',
            f'<circle class="plot-dot" cx="{centre:.1f}" cy="{y}" r="4.5"><title>{escape(shown)}</title></circle>',
        ]
    return _drawing(LABELS + BARS + NUMBERS, len(rows) * ROW + 30, title, parts)


def _ticks(start: float, span: float, height: float) -> list[str]:
    """Upright lines at five values from start on, the values below them."""
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = LABELS + share * BARS
        parts += [
            f'<line class="plot-grid" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"/>',
            _text(x, height + 16, "middle", f"{start + share * span:.2f}"),
        ]
    return parts


def curve_plot(
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: str, up: str, low: float = 0.0
) -> str:
    """Curves over one axis of numbers from 0 on, their names at their ends.

    curves  (name, points (x, y)), y from `low` to 1
    across  title of the x axis
    up      title of the y axis
    low     where the y axis starts
    """
    most = max(x for _, points in curves for x, _ in points) or 1.0
    parts = [*_curve_axes(most, low, across, up)]
    for number, (name, points) in enumerate(curves):
        path = " ".join(f"{_x(x / most):.1f},{_y((y - low) / (1 - low)):.1f}" for x, y in points)
        last = points[-1]
        parts += [
            f'<polyline class="plot-line plot-{number}" points="{path}"/>',
            _text(_x(last[0] / most) - 4, _y((last[1] - low) / (1 - low)) + (16 if number else -12), "end", name),
        ]
    return _drawing(LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, f"{up} by {across}", parts)


def _curve_axes(most: float, low: float, across: str, up: str) -> list[str]:
    parts = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts += [
            f'<line class="plot-grid" x1="{_x(0)}" y1="{_y(tick)}" x2="{_x(1)}" y2="{_y(tick)}"/>',
            _text(_x(tick), _y(0) + 16, "middle", f"{tick * most:,.0f}"),
            _text(_x(0) - 8, _y(tick), "end", f"{low + tick * (1 - low):.2f}".removeprefix("0")),
        ]
    return [*parts, *_frame(across, up)]


def _frame(across: str, up: str) -> list[str]:
    middle = _y(0.5)
    return [
        f'<path class="plot-axis" d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}"/>',
        _text(_x(0.5), _y(0) + 38, "middle", across),
        f'<g transform="rotate(-90 14 {middle})">{_text(14, middle, "middle", up)}</g>',
    ]


def _square_axes(across: str, up: str) -> list[str]:
    parts = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        shown = f"{tick:g}".removeprefix("0") or "0"
        parts += [
            f'<line class="plot-grid" x1="{_x(tick)}" y1="{_y(0)}" x2="{_x(tick)}" y2="{_y(1)}"/>',
            f'<line class="plot-grid" x1="{_x(0)}" y1="{_y(tick)}" x2="{_x(1)}" y2="{_y(tick)}"/>',
            _text(_x(tick), _y(0) + 16, "middle", shown),
            _text(_x(0) - 8, _y(tick), "end", shown),
        ]
    return [*parts, *_frame(across, up)]


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return (
        f'<text class="plot-text" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central">'
        f"{escape(text)}</text>"
    )


def _x(share: float) -> float:
    return LEFT + share * SIDE


def _y(share: float) -> float:
    return TOP + (1 - share) * SIDE


def _drawing(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {math.ceil(width)} {math.ceil(height)}" width="{math.ceil(width)}" role="img"'
    return f'{head} aria-label="{escape(title)}">{"".join(parts)}</svg>'
