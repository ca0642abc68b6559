"""Is what `joint` states true on collections that it was not learned from? Each in turn, without its source.

    python benchmarks/calibration.py --parts 50
    python benchmarks/calibration.py --only dl2019,synthetic --parts 8

The collections of ../shared/data, documents unknown, and synthetic ones: see KINDS. How collections vary is learned
without the source of the one that is played; then campaigns are replayed on random parts of it. Beside each stands what
judging at random gives. The last lines are the means over collections; with --check exit code 1 where these are off.
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
from scipy import stats
from threadpoolctl import threadpool_limits

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import BROAD, FINE
from audiosim.corpus.pool import build_pool
from audiosim.expected.estimation import expected_scores
from audiosim.measures.measure import parse_measure
from audiosim.relevance.consensus import log_teams
from audiosim.relevance.estimators import estimator_of
from audiosim.relevance.published import Model, load_model
from audiosim.selection import Selection, parse_stopping_rule
from audiosim.simulation import Design, Effects, Trial, draw_parts, follow, synthetic_collection
from audiosim.training.between_collections import Estimates, estimates_of, learn_between

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
BUDGETS = (50, 100, 200)  # at which judging by the rule is held against judging at random
OFF = 0.03  # most that what is stated may be off on a collection from 50 judgments on, beyond two standard errors
OFF_IN_MEAN = 0.01  # the same, in the mean over the real collections
COVERED = (0.90, 0.98)  # of 95 % intervals, in the mean over the real collections
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
    found = follow(trial, drawn, AT, [parse_stopping_rule(goal) for goal in GOALS], jobs=jobs).to_dict()
    for row in found["curve"]:
        print(row_of(name, row))
    for row in found["goals"]:
        said = "not reached" if not row["reached"] else f"right {row['accuracy']:.3f} after {row['judged']:.0f}"
        print(f"{name:20} {row['goal']}: {row['reached']} of {parts}, {said}", flush=True)
    return found


def at_random(collection: Collection, parts: Sequence[Any], seed: int = 0) -> dict[int, dict[str, float]]:
    """Peers that need no model, at equal budgets: pairs judged at random, each system scored by its judged documents.

    shrunken  right orders by the mean with three judgments' worth of the mean of all
    t         right orders by the plain mean, with the share and half width of 95 % t-intervals that hold the score
    ppi       the same by prediction-powered inference, where ppi-python is installed: the number of teams predicts
    """
    found: dict[int, list[list[float]]] = {budget: [] for budget in BUDGETS}
    for code, part in enumerate(parts):
        pool = build_pool(part.of(collection))
        gains = pool.spread(part.of(collection).grades()) / pool.scale.maximum
        lists = np.asarray(pool.retrieved.toarray()) > 0
        truth = np.array([gains[row].mean() for row in lists])
        order = np.random.default_rng([seed, code]).permutation(len(gains))
        for budget in BUDGETS:
            shown = np.isin(np.arange(len(gains)), order[:budget])
            found[budget].append(_by_judged(gains, lists, shown, truth, log_teams(pool)))
    names = ("shrunken", "t", "t holds", "t half width", "ppi", "ppi holds", "ppi half width")
    return {budget: dict(zip(names, np.nanmean(rows, axis=0).tolist(), strict=True)) for budget, rows in found.items()}


def _by_judged(gains: Any, lists: Any, shown: Any, truth: Any, predicted: Any) -> list[float]:
    overall, rows = gains[shown].mean(), []
    line = np.polyfit(predicted[shown], gains[shown], 1) if np.ptp(predicted[shown]) > 0 else np.array([0.0, overall])
    guess = np.polyval(line, predicted)
    for row, true in zip(lists, truth, strict=True):
        own = gains[row & shown]
        half = stats.t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
        mean = own.mean() if len(own) else overall
        low, high = _ppi(own, guess[row & shown], guess[row & ~shown])
        middle = (low + high) / 2
        rows.append(
            [
                (own.sum() + 3 * overall) / (len(own) + 3),
                mean,
                abs(mean - true) <= half if np.isfinite(half) else np.nan,
                half,
                middle if np.isfinite(middle) else overall,
                low <= true <= high if np.isfinite(middle) else np.nan,
                (high - low) / 2,
            ]
        )
    table = np.array(rows, dtype=float)
    first, second = np.triu_indices(len(truth), 1)
    real_ = np.sign(truth[first] - truth[second])
    right = [np.mean((1 + real_ * np.sign(table[first, at] - table[second, at])) / 2) for at in (0, 1, 4)]
    seen = np.nanmean(table, axis=0)
    return [right[0], right[1], seen[2], seen[3], right[2], seen[5], seen[6]]


def _ppi(own: Any, guessed: Any, others: Any) -> tuple[float, float]:
    """95 % interval of a mean by prediction-powered inference; NaN where it is not installed or has too few."""
    try:
        from ppi_py import ppi_mean_ci
    except ImportError:
        return np.nan, np.nan
    if len(own) < 3 or len(others) < 3:
        return np.nan, np.nan
    low, high = ppi_mean_ci(own, guessed, others, alpha=0.05)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def verdict(found: Mapping[str, dict[str, Any]]) -> list[str]:
    """What is not as it should be, one line for each; the collections of KINDS are shown, not judged."""
    wrong, rows = [], {name: of["curve"] for name, of in found.items() if name in SOURCES}
    for place, judged in enumerate(AT):
        if judged < 50 or not rows:
            continue
        excess = {name: curve[place]["excess"] for name, curve in rows.items()}
        errors = {name: curve[place]["excess_error"] or 0 for name, curve in rows.items()}
        wrong += [
            f"{name}: {value:+.3f} at {judged}" for name, value in excess.items() if abs(value) > OFF + 2 * errors[name]
        ]
        mean, error = np.mean(list(excess.values())), np.sqrt(sum(of**2 for of in errors.values())) / len(errors)
        print(f"mean over {len(rows)} collections at {judged}: excess {mean:+.3f} +- {error:.3f}", end="")
        if abs(mean) > OFF_IN_MEAN + 2 * error:
            wrong.append(f"mean over collections: {mean:+.3f} at {judged}")
        for kind in ("systems", "differences"):
            held = np.mean([curve[place]["coverage"][kind] or 1 for curve in rows.values()])
            print(f"  {kind} {held:.2f}", end="")
            if not COVERED[0] - 0.02 <= held <= COVERED[1] + 0.01:
                wrong.append(f"95 % intervals of {kind} hold {held:.2f} at {judged}")
        print()
    return wrong


def main() -> None:
    """Print how true what is stated is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="collections, kinds, or `synthetic`, with commas")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--measure", default="CG")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="exit with 1 where what is stated is off")
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
            drawn = draw_parts(
                collection,
                options.parts,
                np.random.default_rng(0),
                queries=min(QUERIES.get(name, 20), len({query for run in collection.runs for query in run.rankings})),
                held_out="queries",
            )
            for budget, row in at_random(collection, drawn).items():
                print(
                    f"{name:20} {budget:5d}  at random: "
                    + "  ".join(f"{key} {value:.3f}" for key, value in row.items())
                )
    wrong = verdict(found)
    for line in wrong:
        print(f"NOT AS STATED  {line}")
    if options.out:
        options.out.write_text(json.dumps(found))
    sys.exit(1 if wrong and options.check else 0)


if __name__ == "__main__":
    main()
