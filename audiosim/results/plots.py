"""Plots of numbers as Altair charts, each mark with its numbers under the pointer.

One function for each kind of plot, for notebooks, pages and documentation alike; Altair is imported only to draw.
Channels are made by their classes: plain texts are looked up among all of Altair's, for most of the time of a chart.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from audiosim.results.value import Row, need, plain, rows_of, shortened_to

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        """Altair, imported at its first use."""

        def __getattr__(self, name: str) -> Any:
            need("plots", "a plot")
            import altair

            return getattr(altair, name)

    alt = _Altair()

ACCENT, SOFT, FAINT = "#0b6e8a", "#5b6675", "#b0b0b0"
COLOURS = (ACCENT, "#c2571a", SOFT, "#6a4c93")
SHADES = [*COLOURS, "#3d8b37", "#b8860b", "#c23b6b", "#4a6fa5"]  # of groups
LONGEST = 24  # most characters of a label
WIDTH, HEIGHT, SQUARE, ROW = 420, 260, 300, 19  # pixels; ROW of each of the rows
HEAVIEST = 200  # area of the largest mark, in square pixels
NUMBERED = 14  # most systems of a triangle with numbers in its cells
NAMED = 24  # most systems of a triangle with numbers over all columns
TENTHS = 10
POINTED = 150  # most points of a curve with numbers under the pointer
LINE_SHARE = 0.045  # height of a line of small letters, as a share of the plot
SHORTENED = (
    f"length(datum.label) > {LONGEST} ? substring(datum.label, 0, {LONGEST // 2}) + '…' + "
    f"substring(datum.label, length(datum.label) - {(LONGEST - 1) // 2}) : datum.label"
)


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


def draw_intervals(
    labels: Sequence[str],
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    across: str,
    outer: tuple[ArrayLike, ArrayLike] | None = None,
    beside: float | None = None,
) -> "alt.LayerChart":
    """Intervals with their middles, one under the other, the first on top.

    labels             (n,) labels of the rows; long ones are shortened in the middle
    low, middle, high  (n,) an infinite end is drawn to the edge
    across             title of the values
    outer              (n,) and (n,) ends of wider intervals, drawn thinner
    beside             value that a dashed line marks
    """
    ends = {"low": low, "middle": middle, "high": high} | dict(zip(("least", "most"), outer or (), strict=False))
    values = {name: np.asarray(column, dtype=float) for name, column in ends.items()}
    finite = np.concatenate([column[np.isfinite(column)] for column in values.values()])
    edges = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    drawn = {name: np.clip(column, *edges) for name, column in values.items()}
    said = {"": "name", across: "middle", "from": "low", "to": "high"}
    rows, exact = (rows_of({"name": list(labels)} | columns) for columns in (drawn, values))
    base = _chart(rows, said, exact).encode(y=_names())
    spans = [("least", "most", 1, SOFT)] if outer else []
    layers = [
        base.mark_rule(strokeWidth=width, color=colour).encode(x=_axis(start, across), x2=alt.X2(end))
        for start, end, width, colour in (*spans, ("low", "high", 2.5, ACCENT))
    ]
    dots = base.mark_point(filled=True, size=45, opacity=1, color=ACCENT).encode(x=_axis("middle", across))
    return alt.layer(*_line(x=beside), *layers, dots).properties(width=WIDTH, height={"step": ROW})


def draw_bars(
    labels: Sequence[str],
    values: ArrayLike,
    across: str,
    errors: ArrayLike | None = None,
    shown: Sequence[str] | None = None,
) -> "alt.LayerChart":
    """Bars from 0, one under the other, the first on top.

    labels  (n,) labels of the rows
    values  (n,)
    across  title of the values
    errors  (n,) error of each to both sides; NaN for no line
    shown   (n,) texts after the bars
    """
    numbers = np.asarray(values, dtype=float)
    reach = np.full(len(numbers), np.nan) if errors is None else np.asarray(errors, dtype=float)
    columns = {"name": list(labels), "value": numbers, "low": numbers - reach, "high": numbers + reach}
    said = {"": "name", across: "value"}
    rows = rows_of(columns | {"shown": list(shown or [""] * len(labels))})
    base = _chart(rows, said).encode(y=_names(), x=_axis("value", across, zero=True))
    lines = base.mark_rule(color=SOFT).encode(x=_axis("low", across, zero=True), x2=alt.X2("high"))
    texts = base.mark_text(align="left", dx=4).encode(text=alt.Text("shown:N"))
    more = [*([] if errors is None else [lines]), *([] if shown is None else [texts])]
    bars = base.mark_bar(color=ACCENT)
    return alt.layer(bars, *more).properties(width=WIDTH, height={"step": ROW})


def draw_curves(
    lines: Sequence[Line], across: str, up: str, log: bool = False, within: tuple[float, float] | None = None
) -> "alt.LayerChart":
    """Curves over one numeric axis, each with its band if it has one, and a legend if there are several.

    across, up  titles of the axes
    log         True for a logarithmic axis across
    within      ends of the axis upwards
    """
    rows = [row for line in lines for row in _curve(line)]
    some = [row for line in lines for row in _thinned(_curve(line))]
    said = {"": "name", across: "x", up: "y"}
    names, counts = [line.name for line in lines], all(float(row["x"]).is_integer() for row in rows)
    legend = None
    if len(names) > 1:
        symbol = {"symbolType": "stroke", "symbolOpacity": 1, "symbolStrokeWidth": 2, "symbolSize": 200}
        legend = alt.Legend(orient="bottom", columns=2, labelLimit=WIDTH // 2, title=None, **symbol)
    scale = alt.Scale(domain=names, range=[COLOURS[place % len(COLOURS)] for place in range(len(names))])
    dashes = alt.Scale(domain=names, range=[[1, 0] if place < len(COLOURS) else [5, 3] for place in range(len(names))])
    placed = {
        "x": alt.X(
            "x:Q",
            title=across,
            scale=alt.Scale(type="log" if log else "linear", zero=False, nice=not log),
            axis=alt.Axis(tickCount=6, **({"tickMinStep": 1} if counts else {})),
        ),
        "color": alt.Color("name:N", scale=scale, legend=legend),
    }
    base = alt.Chart(alt.Data(values=rows)).encode(**placed)
    upwards = _axis("y", up, within=within, of=alt.Y)
    drawn = base.mark_line(strokeWidth=2, aria=False).encode(
        y=upwards, strokeDash=alt.StrokeDash("name:N", scale=dashes, legend=legend)
    )
    lower = _axis("low", up, within=within, of=alt.Y)
    bands = base.mark_area(opacity=0.18, aria=False).encode(y=lower, y2=alt.Y2("high"))
    points = _chart(some, said).mark_point(filled=True, size=120, opacity=0).encode(y=upwards, **placed)
    under = [bands] if any(line.low is not None for line in lines) else []
    return alt.layer(*under, drawn, points).properties(width=WIDTH, height=HEIGHT)


def draw_looks(
    labels: Sequence[str],
    ranked: Mapping[str, Sequence[tuple[float, float, float] | None]],
    across: str,
    up: str,
) -> "alt.LayerChart":
    """Scores of systems at several looks, side by side, each with its interval; names are at the right end.

    labels      (n,) labels of the looks
    ranked      (n,) by system, the best of the last look first: low, score and high; None for a look without it
    across, up  titles of the axes
    """
    spread = 0.5 / max(1, len(ranked) - 1)
    rows = [
        dict(zip(("low", "score", "high"), one, strict=True))
        | {"name": name, "look": labels[place], "at": place + (number * spread - 0.25 if len(ranked) > 1 else 0.0)}
        for number, (name, found) in enumerate(ranked.items())
        for place, one in enumerate(found)
        if one is not None
    ]
    said = {"": "name", "look": "look", up: "score", "from": "low", "to": "high"}
    shades = [COLOURS[place] if place < len(COLOURS) else FAINT for place in range(len(ranked))]
    colour = alt.Color("name:N", scale=alt.Scale(domain=list(ranked), range=shades), legend=None)
    heads = [[shortened_to(line, LONGEST // 2) for line in label.split("\n")] for label in labels]
    ticks = alt.Axis(values=list(range(len(labels))), labelExpr=f"{heads}[datum.value]", grid=False)
    scale = alt.Scale(domain=[-0.5, len(labels) - 0.5], nice=False)
    base = _chart(rows, said).encode(color=colour, x=alt.X("at:Q", title=across, axis=ticks, scale=scale))
    lines = base.mark_line(strokeWidth=1.5, opacity=0.5, aria=False).encode(y=_axis("score", up, of=alt.Y))
    spans = base.mark_rule().encode(y=_axis("low", up, of=alt.Y), y2=alt.Y2("high"))
    dots = base.mark_point(filled=True, size=35, opacity=1).encode(y=_axis("score", up, of=alt.Y))
    ends = alt.Chart(alt.Data(values=_ends(ranked, len(labels) - 0.5, rows)))
    texts = ends.mark_text(aria=False, align="left", dx=6, fontSize=11).encode(x="at:Q", y="score:Q", text="shown:N")
    return alt.layer(lines, spans, dots, texts).properties(width=max(4, len(labels)) * 80, height=HEIGHT)


def _ends(ranked: Mapping[str, Sequence[Any]], across: float, rows: Sequence[Row]) -> list[Row]:
    """Names beside the last scores, moved apart as little as needed to avoid overlaps."""
    from scipy.optimize import isotonic_regression

    ends = sorted((found[-1][1], name) for name, found in ranked.items() if found[-1] is not None)
    room = (max(row["high"] for row in rows) - min(row["low"] for row in rows)) * LINE_SHARE * np.arange(len(ends))
    places = isotonic_regression(np.array([score for score, _ in ends]) - room).x + room if ends else room
    return [
        {"at": across, "score": place, "shown": shortened_to(name, LONGEST)}
        for place, (_, name) in zip(places.tolist(), ends, strict=True)
    ]


def draw_points(
    x: ArrayLike, y: ArrayLike, errors: ArrayLike, across: str, up: str, within: tuple[float, float] | None = None
) -> "alt.LayerChart":
    """Points with their errors upwards and downwards; NaNs are left out.

    within  ends of the axis upwards
    """
    middle, reach = np.asarray(y, dtype=float), np.nan_to_num(np.asarray(errors, dtype=float))
    said = {across: "x", up: "y", "error": "error"}
    columns = {"x": np.asarray(x), "y": middle, "low": middle - reach, "high": middle + reach, "error": reach}
    rows = [row for row in rows_of(columns) if np.isfinite(row["y"])]
    base = _chart(rows, said).encode(x=_axis("x", across))
    spans = base.mark_rule(color=ACCENT).encode(y=_axis("low", up, within=within, of=alt.Y), y2=alt.Y2("high"))
    dots = base.mark_point(filled=True, size=45, opacity=1, color=ACCENT).encode(
        y=_axis("y", up, within=within, of=alt.Y)
    )
    return alt.layer(spans, dots).properties(width=WIDTH, height=HEIGHT)


def draw_calibration(
    series: Sequence[Series], across: str, up: str, low: float = 0.0, key: str = ""
) -> "alt.LayerChart":
    """Points in a square with sides from `low` to 1, and the diagonal on which they should be.

    series  each with a mark of its own; the area of a mark is its share of the largest weight
    across  title of the stated values
    up      title of the observed values
    key     title of the legend
    """
    rows = [
        {"name": one.name} | row
        for one in series
        for row in rows_of(
            {
                "x": np.asarray(one.x, dtype=float),
                "y": np.asarray(one.y, dtype=float),
                "weight": np.broadcast_to(np.asarray(one.weight, dtype=float), np.shape(one.x)),
            }
        )
    ]
    said = {key: "name", across: "x", up: "y", "weight": "weight"} if len(series) > 1 else {across: "x", up: "y"}
    names, edges = [one.name for one in series], (low, 1.0)
    legend = alt.Legend(orient="top-left", title=key or None) if len(series) > 1 else None
    strengths = [0.3 + 0.6 * (place + 1) / len(series) for place in range(len(series))]
    heaviest = max((row["weight"] for row in rows), default=1.0)
    placed = {"x": _axis("x", across, within=edges), "y": _axis("y", up, within=edges, of=alt.Y)}
    base = _chart(rows, said).encode(
        **placed,
        opacity=alt.Opacity("name:N", scale=alt.Scale(domain=names, range=strengths), legend=legend),
    )
    lines = base.mark_line(color=ACCENT, strokeWidth=1.5, aria=False).encode(detail="name:N", order="x:Q")
    marks = base.mark_point(filled=True, color=ACCENT).encode(
        size=alt.Size("weight:Q", scale=alt.Scale(domain=[0, heaviest], range=[0, HEAVIEST]), legend=None),
        shape=alt.Shape("name:N", scale=alt.Scale(domain=names), legend=legend),
    )
    ends = alt.Chart(alt.Data(values=[{"x": low, "y": low}, {"x": 1.0, "y": 1.0}]))
    diagonal = ends.mark_line(aria=False, color=SOFT, strokeDash=[4, 3], strokeWidth=1).encode(**placed)
    return alt.layer(diagonal, lines, marks).properties(width=SQUARE, height=SQUARE)


def draw_tenths(places: ArrayLike, across: str) -> "alt.LayerChart":
    """Shares of values in each tenth of [0, 1], beside the expected tenth.

    places  (n,) values in [0, 1]
    across  title of the values
    """
    values = np.asarray(places, dtype=float)
    counts, edges = np.histogram(values, TENTHS, (0, 1))
    said = {"from": "low", "to": "high", "share": "share"}
    rows = rows_of({"low": edges[:-1], "high": edges[1:], "share": counts / len(values)})
    bars = _chart(rows, said).mark_bar(color=ACCENT, binSpacing=2)
    bars = bars.encode(
        x=alt.X("low:Q", title=across, bin="binned"), x2=alt.X2("high"), y=_axis("share", "share", zero=True, of=alt.Y)
    )
    return alt.layer(bars, *_line(y=1 / TENTHS)).properties(width=WIDTH, height=HEIGHT * 2 // 3)


def draw_map(
    coordinates: ArrayLike, names: Sequence[str], groups: Sequence[str], ringed: Sequence[bool]
) -> "alt.LayerChart":
    """Points in two dimensions without units, a colour for each group, rings around some.

    coordinates  (n, 2)
    names        (n,)
    groups       (n,)
    ringed       (n,)
    """
    places, kinds = np.asarray(coordinates, dtype=float), sorted(set(groups))
    columns = {"name": list(names), "group": list(groups), "ringed": list(ringed), "x": places[:, 0], "y": places[:, 1]}
    legend = alt.Legend(title=None, orient="right") if len(kinds) > 1 else None
    scale = alt.Scale(domain=kinds, range=[SHADES[place % len(SHADES)] for place in range(len(kinds))])
    said = {"": "name", "group": "group"}
    base = _chart(rows_of(columns), said).encode(x=alt.X("x:Q", axis=None), y=alt.Y("y:Q", axis=None))
    dots = base.mark_point(filled=True, size=28, opacity=0.9)
    dots = dots.encode(color=alt.Color("group:N", scale=scale, legend=legend))
    rings = base.mark_point(size=80, strokeWidth=1.2, color="black").transform_filter("datum.ringed")
    width, height = np.ptp(places, axis=0) if len(places) else (1.0, 1.0)
    share = float(np.clip(height / width, 0.5, 1.5)) if width else 1.0
    return alt.layer(dots, rings).properties(width=WIDTH, height=round(share * WIDTH))


def in_cell(value: float) -> str:
    """A number to two decimals; = for NaN, that of equal systems, and ∞ for an infinite one."""
    return "=" if np.isnan(value) else f"{value:.2f}" if np.isfinite(value) else "∞"


def draw_triangle(labels: Sequence[str], values: ArrayLike, marked: ArrayLike) -> "alt.LayerChart":
    """All pairs of systems, the better one's row and the worse one's column; marked cells are filled.

    labels  (s,) best first
    values  (s, s) shown in the cells above the diagonal where NUMBERED systems or fewer leave them room; NaN for equal
            systems
    marked  (s, s) True where a cell is filled
    """
    numbers, filled = np.asarray(values, dtype=float), np.asarray(marked, dtype=bool)
    # Names over many columns overlap; the numbers of the rows do not.
    heads = [f"{shortened_to(name, LONGEST)}  {place}" for place, name in enumerate(labels, 1)]
    rows = [
        {"row": heads[a], "column": b + 1, "better": labels[a], "worse": labels[b], "value": numbers[a, b]}
        | {"marked": bool(filled[a, b]), "shown": in_cell(numbers[a, b])}
        for a in range(len(labels))
        for b in range(a + 1, len(labels))
    ]
    said = {"better": "better", "worse": "worse", "value": "shown"}
    kept = [place + 1 for place in range(1, len(labels)) if len(labels) <= NAMED or (place + 1) % 5 == 0]
    across = alt.X("column:O", title=None, axis=alt.Axis(orient="top", labelAngle=0, values=kept, ticks=False))
    down = alt.Y("row:N", sort=None, title=None, axis=alt.Axis(labelLimit=WIDTH // 2, ticks=False, domain=False))
    base = _chart(rows, said).encode(x=across, y=down)
    strength = alt.when("datum.marked").then(alt.value(0.55)).otherwise(alt.value(0.1))
    cells = base.mark_rect(color=ACCENT, stroke="white", strokeWidth=1.5).encode(opacity=strength)
    texts = [base.mark_text(fontSize=11).encode(text=alt.Text("shown:N"))] if len(labels) <= NUMBERED else []
    side = 36 if texts else ROW * 2 // 3
    return alt.layer(cells, *texts).properties(width={"step": side}, height={"step": ROW})


def _chart(rows: Sequence[Row], said: Mapping[str, str], exact: Sequence[Row] | None = None) -> "alt.Chart":
    """A chart of rows whose marks show some columns under the pointer, and to readers without eyes in words.

    said   title -> column
    exact  the same rows with the numbers for the words; None: those of the rows
    """
    words = [", ".join(_worded(title, row[column]) for title, column in said.items()) for row in exact or rows]
    values = [plain(row) | {"said": one} for row, one in zip(rows, words, strict=True)]
    tips = [
        alt.Tooltip(f"{column}:N", title=title or column)
        if all(isinstance(row[column], str) for row in values)
        else alt.Tooltip(f"{column}:Q", title=title or column, format=",.4~g")
        for title, column in said.items()
    ]
    return alt.Chart(alt.Data(values=values)).encode(tooltip=tips, description=alt.Description("said:N"))


def _worded(title: str, value: Any) -> str:
    return f"{title} {value if isinstance(value, str) else f'{value:,.4g}'}".strip()


def _names() -> "alt.Y":
    return alt.Y(
        "name:N", sort=None, title=None, axis=alt.Axis(labelLimit=0, labelExpr=SHORTENED, labelPadding=5, ticks=False)
    )


def _axis(field: str, title: str, zero: bool = False, within: tuple[float, float] | None = None, of: Any = None) -> Any:
    """An axis with few round ticks.

    within  ends of the axis; None: those of the values
    of      direction; None: across
    """
    scale = alt.Scale(zero=zero) if within is None else alt.Scale(domain=list(within))
    return (of or alt.X)(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))


def _line(**at: float | None) -> list["alt.Chart"]:
    """A dashed line across the plot, at one x or y; none for None."""
    ((axis, value),) = at.items()
    if value is None:
        return []
    direction = {"x": alt.X, "y": alt.Y}[axis]
    drawn = alt.Chart(alt.Data(values=[{"beside": value}])).mark_rule(color=SOFT, strokeDash=[4, 3], aria=False)
    return [drawn.encode(**{axis: direction("beside:Q")})]


def _curve(line: Line) -> list[Row]:
    ends = {} if line.low is None or line.high is None else {"low": line.low, "high": line.high}
    columns = {"x": line.x, "y": line.y} | ends
    rows = rows_of({name: np.asarray(column, dtype=float) for name, column in columns.items()})
    return [plain({"name": line.name} | row) for row in rows]


def _thinned(rows: list[Row]) -> list[Row]:
    """At most POINTED rows that have a value, evenly spaced."""
    known = [row for row in rows if row["y"] is not None]
    return known[:: max(1, -(-len(known) // POINTED))]
