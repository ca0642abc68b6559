"""Pages that need no other file: Jinja templates, and charts as inline SVG.

Jinja and Altair are imported only when a page is written.
"""

import json
import math
import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from audiosim.collection.collection import Collection
from audiosim.collection.values import Pair
from audiosim.ordinal.model import Source
from audiosim.sound.map import SoundMap
from audiosim.text import counted, spelled_p

if TYPE_CHECKING:
    from altair import LayerChart
    from jinja2 import Environment
    from markupsafe import Markup


# Colours of the page for those of a chart, light or dark like the reader's screen.
COLOURS = {
    "black": "var(--ink)",
    "#000": "var(--ink)",
    "#888": "var(--soft)",
    "#ddd": "var(--line)",
    "white": "var(--panel)",
    "#5b6675": "var(--soft)",
    "#b0b0b0": "var(--soft)",
    "#0b6e8a": "var(--accent)",
    "#c2571a": "var(--second)",
    "#6a4c93": "var(--third)",
}
ON_PAGES = {"background": "transparent", "view": {"stroke": None}, "axis": {"titleFontWeight": "normal"}}
MARK = re.compile(r'<(\w+) aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*" ([^>]*)/>')
Origin = Mapping[str, str]  # origin of a page: its last lines


def render(template: str, title: str, origin: Origin | None = None, **context: Any) -> str:
    """A whole page.

    template  name of the template in report/templates
    title     title of the page
    origin    date, data and versions, shown at the end; None: none
    context   variables of the template
    """
    return _environment().get_template(template).render(title=title, origin=origin or {}, **context)


def origin_of(written: date, source: Source, **more: str) -> Origin:
    """Origin of a page on a collection: date, program, and checksums of pool and judgments.

    more  further rows, such as the model
    """
    return {
        **written_on(written),
        "Collection": f"{source.collection}: {source.judged:,} of {source.pairs:,} pairs judged, {source.systems} "
        f"systems, {source.queries} queries, cutoff {source.cutoff}",
        "SHA-256 of the pool": source.pool,
        "SHA-256 of the judgments": source.judgments,
    } | more


def written_on(written: date) -> Origin:
    """Origin of a page that lists its own sources: date and program version."""
    return {"Written": f"{written.isoformat()} by audiosim {version('audiosim')}"}


def inline_svg(chart: "LayerChart", title: str) -> "Markup":
    """A chart as inline SVG, in the page's colours and fonts, each mark with its numbers under the pointer.

    title  title for screen readers

    It needs no script; the same numbers give the same SVG.
    """
    import vl_convert
    from markupsafe import Markup, escape

    # `chart.save` would check what our own functions have built, for a quarter of the time.
    drawn = vl_convert.vegalite_to_svg(chart.properties(config=ON_PAGES).to_dict(validate=False))
    drawn = re.sub(r'<text [^>]*opacity="0">[^<]*</text>| xmlns(:xlink)?="[^"]*"', "", drawn)
    drawn = MARK.sub(r"<\1 \3><title>\2</title></\1>", drawn)
    drawn = re.sub(r' (aria-[a-z]+|role|class|version|font-family|pointer-events|opacity="1)="[^"]*"', "", drawn)
    drawn = re.sub('"(#[0-9a-f]{3,6}|black|white)"', lambda colour: f'"{COLOURS.get(colour[1], colour[1])}"', drawn)
    return Markup(drawn.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1))  # noqa: S704  Vega escapes


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("audiosim.report"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"short": _short, "p": spelled_p, "signed": "{:+.3f}".format, "percent": lambda x: f"{100 * x:g} %"}
    made.filters |= {"isolated": _isolated, "counted": counted, "general": lambda number: f"{number:g}"}
    return made


def _isolated(sentence: str, names: Sequence[str]) -> "Markup":
    """A sentence with names in <bdi>: a name written from right to left would otherwise reverse the text after it."""
    from markupsafe import Markup, escape

    if not names:
        return escape(sentence)
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    parts = re.split(rf"(?<!\w)({either})(?!\w)", sentence)
    return Markup().join(Markup("<bdi>{}</bdi>").format(one) if place % 2 else one for place, one in enumerate(parts))


def _short(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}" if math.isfinite(number) else "∞"


# The map of a collection as a page: the places of queries, results and unjudged documents, with their sound.


SIDE = 720  # side of the map, in units of the page
MARGIN = 16


def map_page(
    name: str,
    found: SoundMap,
    paths: Mapping[str, str],
    folder: Path,
    collection: Collection | None = None,
    pictures: Mapping[str, bytes] | None = None,
) -> str:
    """The page of a map; clips are played from their present places.

    name        name of the collection
    paths       file or URL of each recording
    folder      folder of the page; paths of files are relative to it
    collection  collection that gives the systems and judgments; None: none
    pictures    JPEG file of each recording, shown when it is selected
    """
    groups, drawn = found.shown_groups, pictures or {}
    colours = sorted(set(groups), key=lambda group: (group == "other", group))
    low, high = found.coordinates.min(axis=0), found.coordinates.max(axis=0)
    scaled = MARGIN + (SIDE - 2 * MARGIN) * (found.coordinates - low) / (high - low).clip(1e-9)
    points = [
        {"name": one, "x": round(float(x), 1), "y": round(SIDE - float(y), 1), "group": colours.index(group)}
        | {"sound": sound_address(paths.get(one, ""), folder)}
        | ({"picture": b64encode(drawn[one]).decode()} if one in drawn else {})
        for one, (x, y), group in zip(found.names, scaled, groups, strict=True)
    ]
    data = {"points": points, "queries": _asked(found, collection)}
    return render(
        "map.html",
        f"{name}: map of its recordings",
        None,
        count=len(points),
        by=found.by,
        colours=colours,
        side=SIDE,
        systems=[] if collection is None else sorted(run.system for run in collection.runs),
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
    )


def sound_address(path: str, folder: Path) -> str:
    """Address of a sound for a page in a folder; empty if there is none."""
    if not path or "://" in path:
        return path
    return quote(Path(os.path.relpath(path, folder)).as_posix())


def _asked(found: SoundMap, collection: Collection | None) -> list[dict[str, Any]]:
    """Each query with its recording, and the results of each system: rank, and grade if judged."""
    places = {name: place for place, name in enumerate(found.names)}
    grades = {} if collection is None else collection.grades()
    runs, cutoff = ((), 0) if collection is None else (collection.runs, collection.cutoff)
    asked = []
    for query, recording in found.queries.items():
        results: dict[str, list[list[Any]]] = {}
        for run in runs:
            top = run.rankings.get(query, ())[:cutoff]
            some = [[places[one], grades.get(Pair(query, one))] for one in top if one in places]
            if some:
                results[run.system] = some
        asked.append({"name": query, "at": places[recording], "results": results})
    return asked
