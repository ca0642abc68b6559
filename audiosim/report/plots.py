"""Plots as SVG: text that a page holds, in the page's own colours.

The classes `plot-axis`, `plot-grid`, `plot-ideal`, `plot-line`, `plot-dot`, `plot-bar` and `plot-text`
are the page's to colour. What is true, where it stands beside what is said, has the colour of the text.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

SIDE = 320  # of the area of a square plot; units are pixels at the drawing's own size
LEFT, BOTTOM, TOP, RIGHT = 56, 48, 12, 16
ROW, LABELS, BARS, NUMBERS = 30, 110, 380, 80
KEY, LETTER = 30, 7.5  # height of a row that names marks, width of a letter in it
QUARTERS, FIFTHS = (0, 0.25, 0.5, 0.75, 1), (0, 0.2, 0.4, 0.6, 0.8, 1)
MARKS = ((0, 0), (4, 45), (3, 0), (4, 0), (3, 180))  # corners, and turn in degrees; without corners a circle
SMALLEST, LARGEST, PLAIN = 3.0, 9.0, 4.0  # radius of the lightest mark, of the heaviest, of one without weight
SERIES = 'class="plot-line plot-dot" fill-opacity=".35"', 'class="plot-line" stroke-opacity=".45"'  # of areas, of lines
SAID = 'class="plot-dot"', 'class="plot-line"'
TRUE = 'fill="currentColor"', 'fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="5 4"'


class Point(NamedTuple):
    """A point of a plot: where it is, what a pointer over it shows, what its area says, how far off y may be."""

    x: float
    y: float
    shown: str
    weight: float = 1
    error: float | None = None


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
        _ideal(),
        f'<polyline class="plot-line" points="{path}"/>',
        *dots,
    ]
    return _drawing(LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, f"{up} by {across}", parts)


def calibration_plot(
    series: Sequence[tuple[str, Sequence[Point]]], across: str, up: str, ticks: Sequence[float] = QUARTERS, of: str = ""
) -> str:
    """Several series of weighted points of a square, with the diagonal on which they should lie.

    series  (name, points); at most `len(MARKS)`, each with a mark of its own and stronger than the one before
    across  title of the x axis
    up      title of the y axis
    ticks   of both axes, which go from the first to the last
    of      what the names are of
    """
    heaviest = max((point.weight for _, points in series for point in points), default=1)
    parts, key = [*_square_axes(across, up, ticks), _ideal()], []
    for number, (name, points) in enumerate(series):
        strength = f'<g opacity="{0.35 + 0.65 * (number + 1) / len(series):.2f}">'
        places = [(_x(_share(point.x, ticks)), _y(_share(point.y, ticks))) for point in points]
        marks = [
            _mark(number, place, SERIES[0], point.shown, max(SMALLEST, LARGEST * math.sqrt(point.weight / heaviest)))
            for place, point in zip(places, points, strict=True)
        ]
        parts.append(f"{strength}{_line(places, SERIES)}{''.join(marks)}</g>")
        key.append((name, f"{strength}{_mark(number, (0, 0), SERIES[0])}</g>"))
    return _with_key(parts, of, key, f"{up} by {across}")


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


def bands_plot(
    said: tuple[str, Sequence[Point]], true: tuple[str, Sequence[Point]], across: str, up: str, low: float = 0.0
) -> str:
    """Stated and true values over one axis of numbers from 0 on, each in the band of its error.

    said    (name, points), y from `low` to 1
    true    the same; drawn dashed and in the colour of the text
    across  title of the x axis
    up      title of the y axis
    low     where the y axis starts
    """
    most = max(point.x for _, points in (said, true) for point in points) or 1.0
    parts, key = _curve_axes(most, low, across, up, [tick / most for tick in _round_numbers(most)], FIFTHS), []
    for number, ((name, points), paint) in enumerate(zip((said, true), (SAID, TRUE), strict=True)):
        x = [_x(point.x / most) for point in points]
        lower, middle, upper = (
            [_y(_share(min(1.0, point.y + side * (point.error or 0)), (low, 1))) for point in points]
            for side in (-1, 0, 1)
        )
        edge = [*zip(x, upper, strict=True), *reversed([*zip(x, lower, strict=True)])]
        places = list(zip(x, middle, strict=True))
        marks = [_mark(number, place, paint[0], point.shown) for place, point in zip(places, points, strict=True)]
        parts += [f'<polygon {paint[0]} fill-opacity=".18" points="{_path(edge)}"/>', _line(places, paint), *marks]
        key.append((name, _line([(-11, 0), (11, 0)], paint) + _mark(number, (0, 0), paint[0])))
    return _with_key(parts, "", key, f"{up} by {across}")


def _curve_axes(
    most: float,
    low: float,
    across: str,
    up: str,
    right: Sequence[float] = QUARTERS,
    upward: Sequence[float] = QUARTERS,
) -> list[str]:
    """Axes from 0 to `most` and from `low` to 1, with ticks at these shares of each."""
    parts = [_text(_x(tick), _y(0) + 16, "middle", f"{tick * most:,.0f}") for tick in right]
    for tick in upward:
        parts += [
            f'<line class="plot-grid" x1="{_x(0)}" y1="{_y(tick)}" x2="{_x(1)}" y2="{_y(tick)}"/>',
            _text(_x(0) - 8, _y(tick), "end", f"{low + tick * (1 - low):.2f}".removeprefix("0")),
        ]
    return [*parts, *_frame(across, up)]


def _round_numbers(most: float) -> list[int]:
    """At most seven whole numbers from 0 to `most`, at steps of 1, 2 or 5 times a power of ten."""
    power = 10 ** max(0, math.floor(math.log10(most / 6)))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= most / 6)
    return [step * count for count in range(int(most / step) + 1)]


def _frame(across: str, up: str) -> list[str]:
    middle = _y(0.5)
    return [
        f'<path class="plot-axis" d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}"/>',
        _text(_x(0.5), _y(0) + 38, "middle", across),
        f'<g transform="rotate(-90 14 {middle})">{_text(14, middle, "middle", up)}</g>',
    ]


def _square_axes(across: str, up: str, ticks: Sequence[float] = QUARTERS) -> list[str]:
    parts = []
    for tick in ticks:
        share, shown = _share(tick, ticks), f"{tick:g}".removeprefix("0") or "0"
        parts += [
            f'<line class="plot-grid" x1="{_x(share)}" y1="{_y(0)}" x2="{_x(share)}" y2="{_y(1)}"/>',
            f'<line class="plot-grid" x1="{_x(0)}" y1="{_y(share)}" x2="{_x(1)}" y2="{_y(share)}"/>',
            _text(_x(share), _y(0) + 16, "middle", shown),
            _text(_x(0) - 8, _y(share), "end", shown),
        ]
    return [*parts, *_frame(across, up)]


def _ideal() -> str:
    """The diagonal of a square."""
    return f'<line class="plot-ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'


def _share(value: float, ticks: Sequence[float]) -> float:
    """Position of a value between the first tick and the last."""
    return (value - ticks[0]) / (ticks[-1] - ticks[0])


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _line(places: Sequence[tuple[float, float]], paint: tuple[str, str]) -> str:
    return f'<polyline {paint[1]} points="{_path(places)}"/>'


def _mark(number: int, place: tuple[float, float], paint: str, shown: str = "", radius: float = PLAIN) -> str:
    """The mark of a series, of the area of a circle of that radius."""
    (x, y), (corners, turn) = place, MARKS[number]
    title = f"<title>{escape(shown)}</title>" if shown else ""
    if not corners:
        return f'<circle {paint} cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">{title}</circle>'
    reach = radius * math.sqrt(2 * math.pi / (corners * math.sin(2 * math.pi / corners)))
    angles = [math.radians(turn + 360 * corner / corners) for corner in range(corners)]
    outline = [(x + reach * math.sin(angle), y - reach * math.cos(angle)) for angle in angles]
    return f'<polygon {paint} points="{_path(outline)}">{title}</polygon>'


def _with_key(parts: Sequence[str], of: str, key: Sequence[tuple[str, str]], title: str) -> str:
    """A square plot under the names of what it shows, in as many rows as they need.

    of   what the names are of
    key  (name, its mark at the origin)
    """
    width, start = LEFT + SIDE + 1.5 * RIGHT, LETTER * len(of) + 24 if of else _x(0) + 11
    drawn, x, y = [_text(14, KEY / 2, "start", of)] if of else [], start, KEY / 2
    for name, mark in key:
        wide = 16 + LETTER * len(name)
        if x > start and x + wide > width:
            x, y = start, y + ROW - 8
        drawn += [f'<g transform="translate({x:.1f} {y})">{mark}</g>', _text(x + 16, y, "start", name)]
        x += wide + 20
    above = y + KEY / 2
    drawn += [f'<g transform="translate(0 {above})">', *parts, "</g>"]
    return _drawing(width, above + TOP + SIDE + BOTTOM, title, drawn)


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
