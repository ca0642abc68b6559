"""Is what `joint` states true on collections that it was not learned from? Each in turn, without its source.

    python benchmarks/calibration.py --parts 50
    python benchmarks/calibration.py --only dl2019,synthetic --parts 8

The collections of ../shared/data, documents unknown, and synthetic ones: see KINDS. How collections vary is learned
without the source of the one that is played; then campaigns are replayed on random parts of it. The last lines
are the means over collections, and what `make calibration` holds them to.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import BROAD, FINE
from audiosim.corpus.pool import build_pool
from audiosim.expected.estimation import expected_scores
from audiosim.measures.measure import parse_measure
from audiosim.relevance.estimators import estimator_of
from audiosim.relevance.published import Model, load_model
from audiosim.selection import Selection, parse_stop
from audiosim.simulate import Design, Effects, Trial, draw_parts, follow, synthetic_collection
from audiosim.training.between import Estimates, estimates_of, learn_between

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
sys.path.insert(0, str(ROOT / "models"))
from make_joint import SOURCES  # noqa: E402  the sources are told where they are shipped from

FOLDERS = (
    "foreign/dl2019",
    "foreign/ehealth2013",
    "foreign/ehealth2014",
    "foreign/covid1",
    "foreign/ted-ende",
    "mirex2011",
)
QUERIES = {"ted-ende": 100}  # in a part; 20 elsewhere: what is retrieved there for a query is one document
AT = (0, 50, 100, 200, 400)
GOALS = ("confidence=0.9", "confidence=0.95")
# kind: the design, the effects, the scale, the cutoff
KINDS: Mapping[str, tuple[Design, Effects, Any]] = {
    "no system differs": (Design(12, 6, 40, 5, 60), Effects(team=0.0, system=0.0), FINE),
    "systems differ much": (Design(12, 6, 40, 5, 60), Effects(team=0.12, system=0.1), FINE),
    "queries differ much": (Design(20, 8, 40, 5, 60), Effects(query=0.3, rest=0.1), FINE),
    "noise": (Design(12, 12, 40, 5, 60), Effects(query=0.05, rest=0.3), BROAD),
    "one document each": (Design(10, 10, 200, 1, 30), Effects(mean=0.6), FINE),
    "ten documents each": (Design(24, 6, 30, 10, 80), Effects(team=0.06, system=0.04), BROAD),
    "few relevant": (Design(16, 8, 40, 5, 60), Effects(mean=0.1, same_genre=0.05), BROAD),
}


@dataclass(frozen=True)
class Start:
    """Where a campaign starts: with a model of other collections."""

    model: Model
    measure: str

    def __call__(self, part: Collection, _: Model | None) -> Selection:
        pool = build_pool(part)
        expected = expected_scores(parse_measure(f"{self.measure}@{pool.cutoff}"), pool)
        return Selection.start(pool, expected, estimator_of(pool, self.model))


def bare(collection: Collection) -> Collection:
    """The collection with nothing known of its documents."""
    return replace(collection, documents={}, query_documents={}, not_artists=frozenset(), sounds=None)


def real(names: Sequence[str]) -> dict[str, Collection]:
    """The collections that are there, by the name of their folder."""
    there = {Path(name).name: DATA / name for name in FOLDERS if (DATA / name).is_dir()}
    return {name: bare(Collection.load(path)) for name, path in there.items() if not names or name in names}


def synthetic(names: Sequence[str]) -> dict[str, Collection]:
    """A collection of each kind."""
    drawn = {
        kind: bare(synthetic_collection(np.random.default_rng(code), *how))
        for code, (kind, how) in enumerate(KINDS.items())
    }
    return {name: one for name, one in drawn.items() if not names or "synthetic" in names or name in names}


def between_all() -> list[Estimates]:
    """What each real collection says."""
    found = []
    for name, collection in real([]).items():
        pool = build_pool(collection)
        found.append(estimates_of(pool, pool.spread(collection.grades()), SOURCES[name]))
    return found


def row_of(name: str, row: Mapping[str, Any]) -> str:
    """A moment of a collection as a line."""
    cover = "  ".join(
        f"{kind} {value:.2f}" for kind, value in row["coverage"].items() if not kind.endswith("error") and value
    )
    told = {key: f"{row[key]:.3f} +- {row[f'{key}_error'] or 0:.3f}" for key in ("accuracy", "excess")}
    return (
        f"{name:20} {row['judged']:5.0f}  stated {row['stated']:.3f}  true {told['accuracy']}  excess {told['excess']}"
        f"  {cover}  error {row['error']:.4f}"
    )


def play(name: str, collection: Collection, model: Model, parts: int, measure: str, jobs: int) -> dict[str, Any]:
    """Campaigns on parts of a collection."""
    every = len({query for run in collection.runs for query in run.rankings})
    queries = min(QUERIES.get(name, 20), every)
    drawn = draw_parts(collection, parts, np.random.default_rng(0), queries=queries, held_out="queries")
    trial = Trial(collection, Start(replace(model, training=None), measure))
    found = follow(trial, drawn, AT, [parse_stop(goal) for goal in GOALS], jobs=jobs).to_dict()
    for row in found["curve"]:
        print(row_of(name, row))
    for row in found["goals"]:
        said = "not reached" if not row["reached"] else f"right {row['accuracy']:.3f} after {row['judged']:.0f}"
        print(f"{name:20} {row['goal']}: {row['reached']} of {parts}, {said}", flush=True)
    return found


def main() -> None:
    """Print how true what is stated is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="collections, kinds, or `synthetic`, with commas")
    parser.add_argument("--parts", type=int, default=50)
    parser.add_argument("--measure", default="CG")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where to write what is found, as JSON")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    model, found = load_model("joint-fine"), {}
    with threadpool_limits(1):
        estimates = between_all()
        for name, collection in {**real(names), **synthetic(names)}.items():
            start = time.process_time()
            between = learn_between([one for one in estimates if one.source != SOURCES.get(name)])
            found[name] = play(
                name, collection, replace(model, between=between), options.parts, options.measure, options.jobs
            )
            print(f"{name:20} {time.process_time() - start:.0f} s", flush=True)
    if options.out:
        options.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
