"""Plots with hover: the marks of `plot`, each showing its numbers under the pointer.

Notebooks show them directly (Vega-Lite); a separate page, an Altair chart and reports need `audiosim[hover]`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from audiosim.errors import InputError
from audiosim.results.value import need
from audiosim.results.vega_layers import SOFT, LayerSpec, kept_layers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"  # names the language; nothing is fetched from there
MIME = "application/vnd.vegalite.v5+json"
VERSION = "5.21"  # version of Vega-Lite, for pages
WIDTH_PX, HEIGHT_PX, STEP_PX = 560, 300, 20


class Drawable(Protocol):
    """Result that draws itself."""

    def plot(self, *, axes: "Axes") -> "Axes": ...


@dataclass(frozen=True, eq=False)
class HoverPlot:
    """Plot with hover.

    spec  specification in Vega-Lite, with all data included
    """

    spec: dict[str, Any]

    def __repr__(self) -> str:
        return f"plot with hover: {len(self.spec['layer'])} layers"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The plot as notebooks show it."""
        return {MIME: self.spec, "text/plain": repr(self)}

    def to_dict(self) -> dict[str, Any]:
        """The plot in Vega-Lite, as plain values."""
        return self.spec

    def altair(self) -> object:
        """The plot as an Altair chart, to change or combine with others."""
        need("hover", "an Altair chart")
        import altair

        chart: object = altair.Chart.from_dict(self.spec)
        return chart

    def save(self, path: str | Path) -> None:
        """Write the plot: .html as a page that needs no other file, .json as Vega-Lite, .svg or .png as a picture."""
        path = Path(path)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.spec), encoding="utf-8")
            return
        need("hover", f"a plot as {path.suffix or 'a file'}")
        import vl_convert

        fixed = self.spec | {"width": WIDTH_PX, "background": "white"}
        if path.suffix == ".html":
            path.write_text(vl_convert.vegalite_to_html(self.spec, VERSION, bundle=True), encoding="utf-8")
        elif path.suffix == ".svg":
            path.write_text(vl_convert.vegalite_to_svg(fixed, VERSION), encoding="utf-8")
        elif path.suffix == ".png":
            path.write_bytes(vl_convert.vegalite_to_png(fixed, VERSION, scale=2))
        else:
            raise InputError(f"{path}: expected a name that ends in .html, .json, .svg or .png")


def hover(result: object) -> HoverPlot:
    """Plot a result with hover: what `plot` draws, with the numbers of each mark under the pointer.

    result  anything with `plot`, such as the result of `estimate`; or axes that one was drawn on
    """
    axes: Any = result
    if hasattr(result, "plot") and not hasattr(result, "get_xlim"):
        from audiosim.results.plots import page_axes

        axes = result.plot(axes=page_axes())
    if not hasattr(axes, "get_xlim") or not (layers := kept_layers(axes)):
        raise InputError(f"expected a result that has a plot of numbers, got {type(result).__name__}")
    return HoverPlot(hover_spec(axes, layers))


def hover_spec(axes: "Axes", layers: list[LayerSpec]) -> dict[str, Any]:
    """Specification of some layers, with the scales of the axes that they were drawn on."""
    layers = json.loads(json.dumps(layers))
    if axes.get_xscale() == "log":
        for encoding in (layer["encoding"] for layer in layers):
            encoding["x"]["scale"] = {"type": "log"}
    named = any(layer["encoding"]["y"]["type"] == "nominal" for layer in layers)
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": {"step": STEP_PX} if named else HEIGHT_PX,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": "transparent",
        "config": {
            "font": "system-ui, sans-serif",
            "view": {"stroke": None},
            "axis": {"gridColor": SOFT, "gridOpacity": 0.2},
        },
        "layer": layers,
    }
