"""Layers of Vega-Lite: the drawings on some axes, kept beside them, so that pages can show them with hover.

Each function makes the layers for its namesake in `drawing`, from the same numbers; this imports nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LayerSpec = dict[str, Any]
ACCENT, SOFT, FAINT = "#0b6e8a", "#5b6675", "#b0b0b0"
PALETTE = (ACCENT, "#c2571a", SOFT, "#6a4c93")
NUMBER = ".3f"
MOST_NAMES = 12  # most names above columns
_KEPT: "WeakKeyDictionary[Axes, list[LayerSpec]]" = WeakKeyDictionary()


def keep_layers(axes: "Axes", layers: Sequence[LayerSpec]) -> None:
    """Keep layers beside the axes that they are drawn on, after earlier ones."""
    _KEPT.setdefault(axes, []).extend(layers)


def kept_layers(axes: "Axes") -> list[LayerSpec]:
    """Layers of the drawings on some axes; none without a drawing by `drawing`."""
    return list(_KEPT.get(axes, ()))


def interval_layers(
    labels: Sequence[str], low: ArrayLike, middle: ArrayLike, high: ArrayLike, across: str
) -> list[LayerSpec]:
    """Intervals with their middles, one under the other."""
    rows = _rows(name=labels, low=low, middle=middle, high=high)
    tooltip = _tooltip(("name", ""), ("middle", across), ("low", "from"), ("high", "to"))
    shared = {"y": _names(), "tooltip": tooltip}
    rule = {"x": _axis("low", across), "x2": {"field": "high"}, "color": {"value": ACCENT}, **shared}
    dot = {"x": _axis("middle", across), "color": {"value": ACCENT}, **shared}
    values = {"values": rows}
    return [
        {"data": values, "mark": {"type": "rule", "strokeWidth": 3}, "encoding": rule},
        {"data": values, "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1}, "encoding": dot},
    ]


def bar_layers(labels: Sequence[str], values: ArrayLike, across: str) -> list[LayerSpec]:
    """Bars from 0, one under the other."""
    encoding = {
        "y": _names(),
        "x": _axis("value", across, zero=True),
        "color": {"value": ACCENT},
        "tooltip": _tooltip(("name", ""), ("value", across)),
    }
    return [{"data": {"values": _rows(name=labels, value=values)}, "mark": "bar", "encoding": encoding}]


def curve_layers(lines: Sequence[Any], across: str, up: str) -> list[LayerSpec]:
    """Curves with their bands; each is a `drawing.Line`."""
    rows = [row for line in lines for row in _curve(line)]
    tooltip = _tooltip(("name", ""), ("x", across), ("y", up))
    names = [line.name for line in lines]
    colours = {"domain": names, "range": [PALETTE[place % len(PALETTE)] for place in range(len(names))]}
    legend = {} if len(names) > 1 else {"legend": None}
    coloured = {"field": "name", "type": "nominal", "scale": colours, "title": None, **legend}
    places = {"x": _axis("x", across), "y": _axis("y", up), "color": coloured}
    band = {**places, "y": _axis("low", up), "y2": {"field": "high"}}
    data = {"values": rows}
    layers = [
        {"data": data, "mark": {"type": "line", "strokeWidth": 2}, "encoding": places},
        {
            "data": data,
            "mark": {"type": "point", "size": 120, "opacity": 0},
            "encoding": {**places, "tooltip": tooltip},
        },
    ]
    banded = any(line.low is not None for line in lines)
    return [{"data": data, "mark": {"type": "area", "opacity": 0.18}, "encoding": band}, *layers] if banded else layers


def point_layers(name: str, x: ArrayLike, y: ArrayLike, across: str, up: str, **more: ArrayLike) -> list[LayerSpec]:
    """Points, with further facts about each."""
    rows = _rows(x=x, y=y, **more)
    tooltip = _tooltip(("name", ""), ("x", across), ("y", up), *((key, key) for key in more))
    encoding = {"x": _axis("x", across), "y": _axis("y", up), "color": {"value": ACCENT}, "tooltip": tooltip}
    mark = {"type": "point", "filled": True, "size": 70}
    return [{"data": {"values": [{"name": name, **row} for row in rows]}, "mark": mark, "encoding": encoding}]


def triangle_layers(labels: Sequence[str], values: ArrayLike, marked: ArrayLike) -> list[LayerSpec]:
    """All pairs of systems, the better one's row and the worse one's column."""
    numbers, filled = np.asarray(values, dtype=float), np.asarray(marked, dtype=bool)
    # Names over many columns overlap; the numbers of the rows do not.
    heads = list(labels) if len(labels) <= MOST_NAMES else [str(place) for place in range(1, len(labels) + 1)]
    names = list(labels) if len(labels) <= MOST_NAMES else [f"{name}  {place}" for place, name in enumerate(labels, 1)]
    rows = [
        {
            "row": names[a],
            "column": heads[b],
            "better": labels[a],
            "worse": labels[b],
            "value": _plain(numbers[a, b]),
            "marked": bool(filled[a, b]),
        }
        for a in range(len(labels))
        for b in range(a + 1, len(labels))
    ]
    across = {"field": "column", "type": "nominal", "sort": heads[1:], "title": None}
    encoding = {
        "x": across | {"axis": {"orient": "top", "labelAngle": -45 if heads == names else 0, "labelOverlap": True}},
        "y": {"field": "row", "type": "nominal", "sort": names[:-1], "title": None, "axis": {"labelLimit": 220}},
        "color": {"value": ACCENT},
        "opacity": {"condition": {"test": "datum.marked", "value": 0.55}, "value": 0.1},
        "tooltip": _tooltip(("better", "better"), ("worse", "worse"), ("value", "")),
    }
    return [{"data": {"values": rows}, "mark": {"type": "rect"}, "encoding": encoding}]


def look_layers(
    labels: Sequence[str], ranked: Mapping[str, Sequence[tuple[float, float, float] | None]], across: str, up: str
) -> list[LayerSpec]:
    """Scores of systems at several looks, side by side, each with its interval."""
    looks = [" · ".join(label.split("\n")) for label in labels]
    rows = [
        {"look": looks[place], "name": name, "low": _plain(one[0]), "score": _plain(one[1]), "high": _plain(one[2])}
        for name, found in ranked.items()
        for place, one in enumerate(found)
        if one is not None
    ]
    tooltip = _tooltip(("name", ""), ("look", "look"), ("score", up), ("low", "from"), ("high", "to"))
    colours = [PALETTE[place] if place < len(PALETTE) else FAINT for place in range(len(ranked))]
    coloured = {"field": "name", "type": "nominal", "title": None, "scale": {"domain": list(ranked), "range": colours}}
    x = {"field": "look", "type": "ordinal", "sort": looks, "title": across, "axis": {"labelAngle": -30}}
    places = {"x": x, "y": _axis("score", up), "color": coloured}
    beside = {**places, "xOffset": {"field": "name", "type": "nominal", "sort": list(ranked)}, "tooltip": tooltip}
    data = {"values": rows}
    whisker = {**beside, "y": _axis("low", up), "y2": {"field": "high"}}
    return [
        {"data": data, "mark": {"type": "rule"}, "encoding": whisker},
        {"data": data, "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1}, "encoding": beside},
    ]


def _rows(**columns: Any) -> list[dict[str, Any]]:
    """Rows from columns, with numbers as in JSON; a single number is repeated in all rows."""
    count = max(np.size(column) for column in columns.values())
    spread = {key: np.broadcast_to(np.asarray(column), (count,)).tolist() for key, column in columns.items()}
    return [{key: _plain(column[place]) for key, column in spread.items()} for place in range(count)]


def _curve(line: Any) -> list[dict[str, Any]]:
    ends = {} if line.low is None or line.high is None else {"low": line.low, "high": line.high}
    return [{"name": line.name, **row} for row in _rows(x=line.x, y=line.y, **ends)]


def _plain(value: Any) -> Any:
    """A value as in JSON; null for NaN and infinity."""
    if isinstance(value, str | bool | int):
        return value
    return float(value) if np.isfinite(value) else None


def _names() -> LayerSpec:
    return {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}


def _axis(field: str, title: str, zero: bool = False) -> LayerSpec:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": zero}, "axis": {"tickCount": 6}}


def _tooltip(*fields: tuple[str, str]) -> list[LayerSpec]:
    """Tooltip of a mark: (field, title) per line; numbers have three decimals."""
    words = {"name", "look", "better", "worse"}
    return [
        {"field": field, "type": "nominal" if field in words else "quantitative", "title": title or field}
        | ({} if field in words else {"format": NUMBER})
        for field, title in fields
    ]
