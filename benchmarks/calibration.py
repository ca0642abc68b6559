"""Are the statements of `joint` true on collections that it was not learned from? Each in turn, without its source.

    python benchmarks/calibration.py --parts 50
    python benchmarks/calibration.py --only dl2019,synthetic --parts 8

The collections of ../shared/data, with unknown documents, and synthetic ones: see KINDS. The variation between
collections is learned without the source of the one that is played; then campaigns are replayed on random parts of it.
The last lines are the means over collections, and the faults of each; with --check, the exit code is 1 if there are
any. With --keep FOLDER each finished part is kept there: an interrupted run continues, several runs may share the parts
(--share 0/2, 1/2), and --parts 0 sums up the kept ones. --with judges the files written by several runs with --out
together. With --home the model is learned on the other queries of the collection, with everything known about its
documents. For peers at equal budgets see benchmarks/honesty.py.
"""

import argparse
import json
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figures
from synthetic import Design, Effects, synthetic_collection
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, queries_of
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Between, Model, load_model
from audiosim.ranking import Selection, StoppingRule, parse_stopping_rule
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.stopping import CHECKED
from audiosim.report.simulate import draw_bins, draw_course
from audiosim.simulation.trials import Followed, Part, Trial, draw_parts, follow
from audiosim.training.joint import Estimates, estimates_of, learn_between
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
sys.path.insert(0, str(ROOT / "models"))
from make_joint import SOURCES  # noqa: E402  the sources are told where they are shipped from

STOPS = ("confidence=0.9", "confidence=0.95")
COVERAGE = ("systems", "differences")
FOLDERS = (
    "foreign/dl2019",
    "foreign/ehealth2013",
    "foreign/ehealth2014",
    "foreign/covid1",
    "foreign/ted-ende",
    "mirex2011",
)
QUERIES = {"ted-ende": 100}  # queries in a part, because each has only one document; 20 elsewhere
AT = (0, 50, 100, 200, 400)
OFF = 0.03  # largest error of stated confidence on a collection, from 50 judgments on
OFF_IN_MEAN = 0.01  # the same for the mean over the real collections
COVERED = (0.90, 0.98)  # share of 95 % intervals that may hold, on each collection
SHORT = 0.01  # largest shortfall of accuracy at a stop by stated confidence
DRAWS = 200  # draws of grades at each look, for simulated measures
# kind: the design, the effects, the scale
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
    """Start of a campaign, with a model of other collections or with a given model.

    measure  without its cutoff
    cutoff   None: that of the collection
    selection_rule  None: the model's usual one
    """

    model: Model
    measure: str
    cutoff: int | None = None
    selection_rule: str | None = None

    def __call__(self, part: Collection, own: Model | None) -> Selection:
        pool = build_pool(part, self.cutoff)
        measure = parse_measure(f"{self.measure}@{pool.cutoff}")
        expected = expected_scores(measure, pool, draws=DRAWS)
        return Selection.start(
            pool, expected, estimator_of(pool, own or self.model), selection_rule=self.selection_rule
        )


def bare(collection: Collection) -> Collection:
    """The collection without any metadata of documents."""
    return replace(collection, documents={}, query_documents={}, not_artists=frozenset(), sounds=None)


def real(names: Sequence[str], known: bool = False) -> dict[str, Collection]:
    """The available collections, by the name of their folder; with metadata of documents only if `known`."""
    there = {Path(name).name: DATA / name for name in FOLDERS if (DATA / name).is_dir()}
    chosen = {name: Collection.load(path) for name, path in there.items() if not names or name in names}
    return chosen if known else {name: bare(collection) for name, collection in chosen.items()}


def synthetic(names: Sequence[str]) -> dict[str, Collection]:
    """A collection of each kind."""
    drawn = {
        kind: bare(synthetic_collection(np.random.default_rng(code), *how))
        for code, (kind, how) in enumerate(KINDS.items())
    }
    return {name: one for name, one in drawn.items() if not names or "synthetic" in names or name in names}


def between_all() -> list[Estimates]:
    """Estimates of each real collection."""
    found = []
    for name, collection in real([]).items():
        pool = build_pool(collection)
        found.append(estimates_of(pool, pool.spread(collection.grades()), SOURCES[name]))
    return found


def row_of(name: str, row: Mapping[str, Any]) -> str:
    """A moment of a campaign as a line."""
    cover = "  ".join(
        f"{kind} {value:.2f}" for kind, value in row["coverage"].items() if not kind.endswith("error") and value
    )
    text = {key: f"{row[key]:.3f} +- {row[f'{key}_error'] or 0:.3f}" for key in ("accuracy", "excess")}
    return (
        f"{name:20} {row['judged']:5.0f}  stated {row['stated']:.3f}  true {text['accuracy']}  excess {text['excess']}"
        f"  {cover}  error {row['error']:.4f}  bias {row['bias']:+.4f}"
    )


def play(name: str, collection: Collection, model: Model, options: argparse.Namespace) -> dict[str, Any]:
    """Campaigns on parts of a collection, by a model of other collections or of the rest of its queries."""
    trial = trial_of(collection, model, options)
    parts, at = parts_of(name, collection, options.parts, options.home), moments(options)
    return told(name, follow(trial, parts, at, stops(), jobs=options.jobs, scheduler=options.scheduler))


def told(name: str, campaigns: Followed) -> dict[str, Any]:
    """Print campaigns on parts of a collection, and return them as plain values."""
    found = campaigns.to_dict()
    for row in found["curve"]:
        print(row_of(name, row))
    for row in found["goals"]:
        said = "not reached" if not row["reached"] else f"right {row['accuracy']:.3f} after {row['judged']:.0f}"
        print(f"{name:20} {row['goal']}: {row['reached']} of {found['repeats']}, {said}", flush=True)
    return found


def trial_of(collection: Collection, model: Model, options: argparse.Namespace) -> Trial:
    """Campaigns of a collection, by a model of other collections or of the rest of its queries."""
    learn = partial(learned, model.between) if options.home else None
    return Trial(collection, Start(model, options.measure, options.cutoff), learn)


def moments(options: argparse.Namespace) -> list[int]:
    """Numbers of judged pairs to look at."""
    return [int(at) for at in options.at.split(",")]


def stops() -> list[StoppingRule]:
    """Goals to watch for."""
    return [parse_stopping_rule(stop) for stop in STOPS]


def play_kept(asked: Mapping[str, tuple[Collection, Model]], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Campaigns on parts of collections, one part of each in turn: kept parts are read, others are played and kept.

    Parts shared by other runs are not played here. Parts of several runs are summed up in their order.
    """
    options.keep.mkdir(parents=True, exist_ok=True)
    mine, of = (int(number) for number in options.share.split("/"))
    setting = f"{options.measure}@{options.cutoff or 'own'}{'-home' if options.home else ''}"
    for code in range(mine, options.parts, of):
        for name, (collection, model) in asked.items():
            path = options.keep / f"{name.replace(' ', '_')}-{setting}-{code}.pickle"
            if not path.exists():
                part = parts_of(name, collection, code + 1, options.home)[code:]
                campaigns = follow(trial_of(collection, model, options), part, moments(options), stops())
                path.with_suffix(".part").write_bytes(pickle.dumps(campaigns))
                path.with_suffix(".part").rename(path)
    found = {}
    for name in asked:
        paths = options.keep.glob(f"{name.replace(' ', '_')}-{setting}-[0-9]*.pickle")
        paths = sorted(paths, key=lambda path: int(path.stem.rpartition("-")[2]))
        kept = [pickle.loads(path.read_bytes()) for path in paths]
        if kept:
            parts, courses = (
                tuple(part for one in kept for part in getattr(one, kind)) for kind in ("parts", "courses")
            )
            found[name] = told(name, replace(kept[0], parts=parts, courses=courses))
    return found


def model_for(name: str, model: Model, estimates: Sequence[Estimates]) -> Model:
    """The model to play a collection with: how collections vary is learned without its source."""
    between = learn_between([one for one in estimates if one.source != SOURCES.get(name)]) if estimates else None
    return replace(model, between=between, training=None)


def learned(between: Between | None, rest: Collection) -> Model:
    """The joint model of a collection's other queries, as made by `audiosim train`."""
    made = train([rest], Plan(parse_terms("joint"), folds=0, joint=True)).model
    return made if between is None else replace(made, between=between)


def verdict(found: Mapping[str, dict[str, Any]]) -> list[str]:
    """Faults, one line for each, by collection; synthetic kinds are judged like real collections.

    Each figure may exceed its limit by two of its standard errors.
    """
    wrong = [line for name, of in found.items() for line in _of_one(name, of)]
    rows = {name: of["curve"] for name, of in found.items() if name in SOURCES}
    for moments in zip(*rows.values(), strict=True):
        judged, excess = moments[0]["judged"], np.array([row["excess"] for row in moments])
        error = float(np.sqrt(sum((row["excess_error"] or 0) ** 2 for row in moments)) / len(moments))
        cover = "  ".join(f"{kind} {np.mean([row['coverage'][kind] or 1 for row in moments]):.2f}" for kind in COVERAGE)
        print(f"mean over {len(rows)} collections at {judged:.0f}: {excess.mean():+.3f} +- {error:.3f}  {cover}")
        if judged >= CHECKED and abs(excess.mean()) > OFF_IN_MEAN + 2 * error:
            wrong.append(f"mean over collections: {excess.mean():+.3f} at {judged:.0f}")
    return wrong


def _of_one(name: str, of: Mapping[str, Any]) -> list[str]:
    """Faults of one collection."""
    wrong = []
    for row in of["curve"]:
        if row["judged"] < CHECKED:
            continue
        if abs(row["excess"]) > OFF + 2 * (row["excess_error"] or 0):
            wrong.append(f"{name}: off by {row['excess']:+.3f} at {row['judged']:.0f}")
        for kind in COVERAGE:
            held, error = row["coverage"][kind], row["coverage"].get(f"{kind}_error") or 0
            if held is not None and not COVERED[0] - 2 * error <= held <= COVERED[1] + 2 * error:
                wrong.append(f"{name}: 95 % intervals of {kind} hold {held:.3f} at {row['judged']:.0f}")
    for row in of["goals"]:
        asked = float(row["goal"].partition("=")[2])
        if row["reached"] > 1 and row["accuracy"] < asked - SHORT - 2 * row["accuracy_error"]:
            wrong.append(f"{name}: stopping at {row['goal']} is right {row['accuracy']:.3f}")
    return wrong


def parts_of(name: str, collection: Collection, parts: int, home: bool = False) -> tuple[Part, ...]:
    """Random parts to play, the same for every model and measure; halves if a model learns from the rest."""
    every = len(queries_of(collection.runs))
    queries = -(-every // 2) if home else min(QUERIES.get(name, 20), every)
    return draw_parts(collection, parts, np.random.default_rng(0), queries=queries, held_out="queries")


def keep_figures(found: Mapping[str, dict[str, Any]], part: str, at: Sequence[int]) -> None:
    """Keep the results at some moments in results.json, the collection with the largest error first.

    If pools have fewer pairs, a cell gives their number.
    """
    order = sorted(found, key=lambda name: most_off(found[name]), reverse=True)
    head = ["", *(f"{judged} judged" for judged in at)]
    named = {name: f"{name}, {found[name]['repeats']} parts" for name in order}

    def told(name: str, cell: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
        for judged, row in zip(at, found[name]["curve"], strict=True):
            yield cell(row) if row["judged"] >= judged else f"all {row['judged']:.0f}"

    def rows(cell: Callable[[Mapping[str, Any]], str]) -> list[list[str]]:
        return [[named[name], *told(name, cell)] for name in order]

    with Figures("calibration", part) as figures:
        for title, key in (("stated less true confidence", "excess"), ("expected less true scores", "bias")):
            figures.table(title, head, rows(partial(_with_error, key)))
        figures.table("true confidence", head, rows(partial(_with_error, "accuracy")))
        figures.table("95 % intervals that hold a system's score, a difference", head, rows(_held))
        if len(found) == 1:
            figures.table("all of it", head, _of_one_collection(found[order[0]]["curve"]))
        stop_rows = [[named[name], *map(_stop, found[name]["goals"])] for name in order]
        figures.table("right where judging stops, after so many judgments", ["", *STOPS], stop_rows)


def _of_one_collection(curve: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    keys = {
        "stated confidence": "stated",
        "true": "accuracy",
        "stated less true": "excess",
        "calibration error": "calibration_error",
        "expected less true scores": "bias",
    }
    cells = [[said, *(_with_error(key, row) for row in curve)] for said, key in keys.items()]
    return [*cells, ["95 % intervals that hold a system's score, a difference", *map(_held, curve)]]


def most_off(of: Mapping[str, Any]) -> float:
    """Largest difference of stated and true confidence from CHECKED judgments on."""
    return max((abs(row["excess"]) for row in of["curve"] if row["judged"] >= CHECKED), default=0.0)


def _with_error(key: str, row: Mapping[str, Any]) -> str:
    sign = "+" if key in {"excess", "bias"} else ""
    error = row.get(f"{key}_error")
    return f"{row[key]:{sign}.3f}" + ("" if error is None else f" ± {error:.3f}")


def _held(row: Mapping[str, Any]) -> str:
    found = row["coverage"]
    return ", ".join(f"{found[kind]:.2f} ± {found.get(f'{kind}_error') or 0:.2f}" for kind in COVERAGE)


def _stop(row: Mapping[str, Any]) -> str:
    if not row["reached"]:
        return "reached by none"
    error = "" if row.get("accuracy_error") is None else f" ± {row['accuracy_error']:.3f}"
    return f"{row['accuracy']:.3f}{error} after {row['judged']:.0f} ({row['reached']} parts)"


def plot(found: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Draw stated and true confidence on each collection with two standard errors, the largest error first."""
    import matplotlib.pyplot as plt  # imported late: runs without a drawing start faster

    order = sorted(found, key=lambda name: most_off(found[name]), reverse=True)
    rows = -(-len(order) // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(9, 2.6 * rows), sharex=True, sharey=True, squeeze=False)
    for axis, name in zip(axes.flat, order, strict=False):
        curve = found[name]["curve"]
        judged = [row["judged"] for row in curve]
        for key, color in (("stated", "tab:blue"), ("accuracy", "tab:orange")):
            error = [2 * (row.get(f"{key}_error") or 0) for row in curve]
            label = "true" if key == "accuracy" else key
            axis.errorbar(judged, [row[key] for row in curve], error, color=color, marker="o", ms=3, label=label)
        axis.set_title(name, fontsize=9)
        axis.set_xscale("symlog", linthresh=50)
        axis.set_xticks(judged, [f"{count:.0f}" for count in judged])
    for axis in axes[-1]:
        axis.set_xlabel("judged pairs")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def plot_home(found: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Draw bins of confidence, and stated and true confidence by the number of judgments, for one collection."""
    (of,) = found.values()
    (draw_bins(of["curve"]) | draw_course(of["curve"])).save(path, scale_factor=1.5)


def main() -> None:
    """Print how well the statements hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="collections, kinds, or `synthetic`, with commas")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--measure", default="CG", help="such as nDCG or AP(min=2)")
    parser.add_argument("--cutoff", type=int, help="1 to 10; by default that of the collection")
    parser.add_argument("--at", default=",".join(map(str, AT)), help="numbers of judged pairs to look at")
    parser.add_argument("--home", action="store_true", help="learn from the collection's own other queries")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scheduler", help="address of a Dask cluster that plays instead; see docs/scaling.md")
    parser.add_argument("--keep", type=Path, help="folder of finished parts, from which to continue")
    parser.add_argument("--share", default="0/1", help="which of the parts to play here, such as 1/2: every other one")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a statement is off")
    parser.add_argument("--out", type=Path, help="file for the results as JSON, written after each collection")
    parser.add_argument("--figures", metavar="PART", help="keep the results in results.json, as this part")
    parser.add_argument("--plot", type=Path, help="picture of all of them to write")
    parser.add_argument("--with", dest="earlier", type=Path, nargs="*", default=[], help="results of earlier runs")
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    for path in options.earlier:
        found |= json.loads(path.read_text(encoding="utf-8"))
    names = [name for name in options.only.split(",") if name]
    asked = {} if options.earlier and not names else {**real(names, options.home), **synthetic(names)}
    model, estimates = load_model("joint-fine"), between_all() if asked and options.parts and not options.home else []
    with threadpool_limits(1):
        models = {name: model_for(name, model, estimates) for name in asked}
        if options.keep:
            found |= play_kept({name: (one, models[name]) for name, one in asked.items()}, options)
        for name, collection in {} if options.keep else asked.items():
            start = time.process_time()
            found[name] = play(name, collection, models[name], options)
            print(f"{name:20} {time.process_time() - start:.0f} s", flush=True)
            if options.out:
                options.out.write_text(json.dumps(found), encoding="utf-8")
    if options.out:
        options.out.write_text(json.dumps(found), encoding="utf-8")
    if options.figures:
        keep_figures(found, options.figures, moments(options))
    if options.plot:
        (plot_home if options.home else plot)(found, options.plot)
    wrong = verdict(found)
    for line in wrong:
        print(f"NOT AS STATED  {line}")
    sys.exit(1 if wrong and options.check else 0)


if __name__ == "__main__":
    main()
