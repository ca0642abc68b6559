"""The map of a collection as a page: the places of queries, results and unjudged documents, with their sound."""

import json
import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from audiosim.audio.sound_map import SoundMap
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Pair
from audiosim.report.rendering import render

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
