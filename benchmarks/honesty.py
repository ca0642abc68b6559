"""Benchmark of honesty: audiosim and its peers on the same collections and budgets.

    python benchmarks/honesty.py --keep FOLDER [--parts 8] [--peers all] [--only dl2019]
    python benchmarks/honesty.py --collection FOLDER... [--measure CG] [--at 0,50,100]    on your own, fully judged

Random parts of each collection are drawn with a seed, with unknown documents. On each part every method has 50, 100,
200 and 400 pairs judged, or as many as --at says, and states which systems are better. Reported are the share of pairs
of systems ranked right, the stated share less that, the share of 95 % intervals that hold the truth, and their width;
at 0, too, for methods that state something with nothing judged. The methods are described in docs/honesty.md and named
in peers/known.py. Collections are those of ../shared/data, each played without anything that the model learned from its
source, and any fully judged folder named by --collection, played by the shipped model.

With --keep each finished part is kept: an interrupted run continues, runs of several collections or methods add up, and
--figures sums up the kept parts and writes tables and pictures. GLIDE needs Python 3.12, or --glide with the folder of
its source.
"""

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from calibration import Start, bare, between_all, model_for, parts_of, real
from figures import Figures
from peers.comparison import BUDGETS, OWN, Honesty, across, columns_of, compare_methods
from peers.known import chosen_peers
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.errors import AudiosimError
from audiosim.ordinal.model import Model, load_model
from audiosim.results.plots import ACCENT, COLOURS, SOFT
from audiosim.simulation.trials import Trial
from audiosim.stats.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGES = Path(__file__).resolve().parents[1] / "docs"
AT = ",".join(map(str, (0, *BUDGETS)))
INTERVALS_AT = 100  # number judged at which intervals are reported
DEAR = ("cje",)  # methods that take longer than all others together
SAID = {"stated": "stated", "systems": "scores held", "differences": "differences held", "half": "half width"}
GAIN = {50: 0.1, 100: 0.1, 200: 0.08, 400: 0.06}  # by which audiosim should be right more often than shrunken means
TITLES = {
    "gp": "Gaussian process, maximum likelihood, audiosim's pairs",
    "mtc": "MTC",
    "active": "active comparisons",
    "statap": "statAP's sampling",
    "means": "means, t",
    "shrunken": "shrunken means",
    "teams": "number of teams, nothing judged",
    "ppi": "ppi-python 0.2.3",
    "cje": "cje-eval 0.9.3",
    "choix": "choix 0.4.1, Bradley-Terry",
    "glide": "GLIDE 0.10, active inference",
}


def asked(options: argparse.Namespace) -> dict[str, tuple[Collection, Model]]:
    """Collections to play, each with audiosim's model for it."""
    names, model = [name for name in options.only.split(",") if name], load_model("joint-fine")
    found = {path.name: (bare(Collection.load(path)), model) for path in options.collection}
    if options.collection and not names:
        return found
    estimates = between_all()
    return found | {name: (one, model_for(name, model, estimates)) for name, one in real(names).items()}


def played(name: str, collection: Collection, model: Model, options: argparse.Namespace) -> Honesty:
    """Every method on parts of a collection."""
    chosen, lacking = chosen_peers(options.peers)
    for why in lacking:
        print(f"left out: {why}")
    parts = parts_of(name, collection, options.parts)
    trial = Trial(replace(collection, name=name), Start(model, options.measure))

    def told(done: int, total: int) -> None:
        print(f"{name}: {done} of {total} parts", flush=True)

    few = {method: chosen.pop(method) for method in DEAR if method in chosen}
    at = tuple(map(int, options.at.split(",")))
    found = compare_methods(trial, parts, chosen, at, jobs=options.jobs, keep=options.keep, progress=told)
    if not few or not options.dear:
        return found
    more = compare_methods(trial, parts[: options.dear], few, at, jobs=options.jobs, keep=options.keep, progress=told)
    both = [dict(a) | dict(b) for a, b in zip(found.played, more.played, strict=False)]
    return replace(found, played=(*both, *found.played[len(both) :]))


def titled(method: str) -> str:
    """Name of a method on the page."""
    return TITLES.get(method, method)


def ranked(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Methods that judge, by how often they are right on average over the budgets, with audiosim on top."""
    right = {
        name: [row["right"] for row in rows if row["method"] == name and row["budget"]] for name in methods_of(rows)
    }
    return sorted(right, key=lambda name: (name != OWN, -np.mean(right[name])))


def methods_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Methods that judge something, each once."""
    return list(dict.fromkeys(row["method"] for row in rows if row["method"] != "teams"))


def cell(row: Mapping[str, Any], name: str, form: str = ".3f") -> str:
    """A figure with its standard error; empty if nothing is stated."""
    if row[name] is None:
        return ""
    return f"{row[name]:{form}} ± {row[f'{name}_error'] or 0:{form.removeprefix('+')}}"


def tables(figures: Figures, found: Mapping[str, Honesty]) -> None:
    """Keep the table of all methods, tables with standard errors, and tables of each collection."""
    rows = across(list(found.values()))
    by = {(row["method"], row["budget"]): row for row in rows}
    order, at = ranked(rows), [budget for budget in BUDGETS if (OWN, budget) in by]
    shown = [[f"{by[name, one]['right']:.3f}" for one in at] for name in order]
    stated = [["" if (rms := by[name, one]["rms"]) is None else f"{rms:.3f}" for one in at] for name in order]
    held = [
        ["" if (value := by[name, INTERVALS_AT][kind]) is None else f"{value:{form}}" for kind, form in INTERVALS]
        for name in order
    ]
    heads = [f"right at {one}" for one in at] + [f"off by, at {one}" for one in at]
    figures.table(
        "methods",
        ["", *heads, "scores held", "differences held", "half width"],
        [[titled(name), *a, *b, *c] for name, a, b, c in zip(order, shown, stated, held, strict=True)],
    )
    for title, name, form in (("right", "right", ".3f"), ("stated less right", "excess", "+.3f")):
        cells = [[titled(one), *(cell(by[one, budget], name, form) for budget in at)] for one in order]
        figures.table(title, ["", *(f"{budget} judged" for budget in at)], cells)
    for kind in ("systems", "differences"):
        cells = [[titled(one), *(cell(by[one, budget], kind, ".2f") for budget in at)] for one in order]
        figures.table(f"intervals that hold, {kind}", ["", *(f"{budget} judged" for budget in at)], cells)
    of_each(figures, found, order)


INTERVALS = (("systems", ".2f"), ("differences", ".2f"), ("half", ".3f"))


def of_each(figures: Figures, found: Mapping[str, Honesty], order: Sequence[str]) -> None:
    """Keep tables of single collections, and of audiosim beside the number of teams and shrunken means."""
    own = {name: {(row["method"], row["budget"]): row for row in one.rows()} for name, one in found.items()}
    names = [f"{name}, {len(one.played)} parts" for name, one in found.items()]
    for budget in (50, INTERVALS_AT, 200):
        for title, key, form in (("right", "right", ".3f"), ("stated less right", "excess", "+.3f")):
            cells = [
                [titled(one), *(cell(of[one, budget], key, form) if (one, budget) in of else "" for of in own.values())]
                for one in order
            ]
            figures.table(f"{title} at {budget}, each collection", ["", *names], cells)
    nothing = [[titled(one), *(cell(of[one, 0], "right") for of in own.values())] for one in (OWN, "teams")]
    figures.table("right with nothing judged, each collection", ["", *names], nothing)
    for budget, least in GAIN.items():
        above = [of[OWN, budget]["right"] - of["shrunken", budget]["right"] for of in own.values()]
        said = f"audiosim above shrunken means, {budget} judged"
        figures.add(said, float(np.mean(above)), "", least, f"mean of {len(above)} collections", least=True)


def draw(found: Mapping[str, Honesty], folder: Path) -> None:
    """Draw stated and right shares, and the intervals that hold."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = across(list(found.values()))
    by = {(row["method"], row["budget"]): row for row in rows}
    order = [name for name in ranked(rows) if by[name, INTERVALS_AT]["stated"] is not None]
    at = [budget for budget in BUDGETS if (OWN, budget) in by]
    figure, panels = pyplot.subplots(1, len(at), figsize=(11, 4.2), sharey=True, layout="constrained")
    for axes, budget in zip(panels, at, strict=True):
        stated, right = columns_of([by[name, budget] for name in order], "stated", "right")
        draw_stated(list(map(short, order)), stated, right, axes)
        axes.set_title(f"{budget} judged", fontsize=10)
        if budget != at[0]:
            axes.get_legend().remove()
    for axes in panels:
        axes.set_xlim(min(one.get_xlim()[0] for one in panels), 1.01)
    figure.savefig(folder / "honesty.png", dpi=150)
    draw_held(by, order, at, folder / "honesty_intervals.png")


def draw_stated(labels: Sequence[str], stated: Array, right: Array, axes: "Axes") -> None:
    """Stated (filled) and right (open) shares, one method under the other, the first on top.

    labels  (n,) names of the methods; those that state more than is right are drawn in another colour
    stated  (n,) shares of pairs of systems, NaN where nothing is stated
    right   (n,)
    """
    places = np.arange(len(labels))
    over = np.nan_to_num(stated, nan=-1.0) > right
    for which, colour in ((over, COLOURS[1]), (~over, ACCENT)):
        axes.hlines(places[which], right[which], stated[which], color=colour, linewidth=3, alpha=0.45)
        axes.plot(stated[which], places[which], "o", color=colour, markersize=7)
        axes.plot(right[which], places[which], "o", color=colour, markersize=7, markerfacecolor="white")
    axes.plot([], [], "o", color=SOFT, label="stated")
    axes.plot([], [], "o", color=SOFT, markerfacecolor="white", label="right")
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    axes.set_yticks(places, labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.2)
    axes.set_xlabel("share of pairs of systems")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(min(0.5, float(np.nanmin([stated, right]))) - 0.01, 1.01)


def short(method: str) -> str:
    """Name of a method on a plot."""
    return titled(method).partition(",")[0]


def draw_held(
    by: Mapping[tuple[str, int], Mapping[str, Any]], order: Sequence[str], at: Sequence[int], path: Path
) -> None:
    """Draw the share of 95 % intervals of differences that hold, at each budget, beside their half width."""
    from matplotlib import pyplot

    order = [name for name in order if by[name, INTERVALS_AT]["differences"] is not None]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    left.axvspan(0.9, 0.98, color=ACCENT, alpha=0.08)
    left.axvline(0.95, color=SOFT, linestyle="--", linewidth=1)
    for place, budget in enumerate(at):
        held, half = columns_of([by[name, budget] for name in order], "differences", "half")
        strength = 0.3 + 0.7 * (place + 1) / len(at)
        for axes, values in ((left, held), (right, half)):
            axes.scatter(values, range(len(order)), 46, color=COLOURS[0], alpha=strength, label=f"{budget} judged")
    left.set_yticks(range(len(order)), list(map(short, order)))
    left.set_ylim(len(order) - 0.5, -0.5)
    left.set_xlabel("share of 95 % intervals of a difference that hold; .95 is honest")
    right.set_xlabel("half width of an interval; narrower is better only where it holds")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.2)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Play, or sum up kept parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--peers", default="all", help="methods, with commas")
    parser.add_argument("--dear", type=int, default=2, help=f"parts of {', '.join(DEAR)}, which are slow")
    parser.add_argument("--only", default="", help="collections, with commas")
    parser.add_argument("--collection", type=Path, nargs="*", default=[], help="folders of your own, fully judged")
    parser.add_argument("--measure", default="CG", help="a weighted sum of gains: CG, DCG or RBP")
    parser.add_argument("--at", default=AT, help="numbers of judged pairs, with commas")
    parser.add_argument("--keep", type=Path, help="folder of finished parts, from which to continue")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--glide", type=Path, help="folder of the source of GLIDE")
    parser.add_argument("--figures", action="store_true", help="keep tables in results.json, and pictures in docs/")
    options = parser.parse_args()
    if options.figures and options.at != AT:
        parser.error(f"the figures are those at {AT}")
    if options.glide:
        sys.path.insert(0, str(options.glide))
    warnings.simplefilter("ignore")
    try:
        with threadpool_limits(1):
            found = {name: played(name, *one, options) for name, one in asked(options).items()}
    except AudiosimError as error:
        sys.exit(str(error))
    if not options.figures:
        for row in across(list(found.values())):
            said = "".join(f"  {title} {cell(row, key)}" for key, title in SAID.items() if row[key] is not None)
            print(f"{row['method']:10} {row['budget']:5}  right {cell(row, 'right')}{said}")
        return
    with Figures("honesty") as figures:
        tables(figures, found)
    draw(found, PAGES)


if __name__ == "__main__":
    main()
