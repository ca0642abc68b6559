"""Do verdicts keep their word? Stops, checks of the model, intervals of ranks and of effort, on campaigns kept.

    python benchmarks/campaigns.py FOLDER
    python benchmarks/verdicts.py FOLDER             the stop, the check, the ranks
    python benchmarks/verdicts.py FOLDER --effort 2  predictions of effort, on so many campaigns of each kind

FOLDER has campaigns as benchmarks/campaigns.py keeps them. For each kind the margin of a stop is learned on all others:
the least factor by which deviations are to be taken larger, for the orders at the stops to be as often right as asked.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from campaigns import BATCH, HOME, WIDER, Played, at_home, away, begin, kept
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.expected.ranking import Ranking
from audiosim.expected.verdicts import Verdicts
from audiosim.measures.measure import parse_measure
from audiosim.relevance.model_check import MOST, ModelCheck
from audiosim.relevance.prequential import Grouping
from audiosim.selection.stopping import CAUTION, CHECKED
from audiosim.simulation.effort import Effort
from audiosim.simulation.remaining import drawn_grades, played
from audiosim.simulation.trials import selections
from audiosim.stats.multivariate import Moments

TARGETS = (0.9, 0.95, 0.975)
OFF = 0.005  # that accuracy at a stop may be below the target
FREQUENT = 0.3  # share of a kind's campaigns that must have got to a goal for a figure of it
PLANNED_AT, DRAWN = 100, 5
Kinds = Mapping[str, Sequence[Played]]


def campaigns(folder: Path) -> Kinds:
    """Campaigns by kind."""
    found: dict[str, list[Played]] = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        found[path.stem[:-4]].append(kept(path))
    return found


def stopped(one: Played, target: float, factor: float) -> tuple[float, float] | None:
    """Judgments made and accuracy when a goal was first met with deviations so many times as large; None if never."""
    there = np.flatnonzero((one.stated[:, WIDER.index(factor)] >= target) & (one.judged >= CHECKED))
    return (float(one.judged[there[0]]), float(one.accuracy[there[0]])) if len(there) else None


def at_stops(some: Sequence[Played], target: float, factor: float) -> tuple[int, float, float, float]:
    """Number of campaigns that met a goal; their mean accuracy then, its standard error, and their mean judgments."""
    seen = [stop for one in some if (stop := stopped(one, target, factor)) is not None]
    if not seen:
        return 0, math.nan, math.nan, math.nan
    judged, accuracy = np.array(seen).T
    error = accuracy.std(ddof=1) / math.sqrt(len(seen)) if len(seen) > 1 else math.nan
    return len(seen), float(accuracy.mean()), float(error), float(judged.mean())


def learned_factor(others: Kinds) -> float:
    """The least factor with which the mean over the kinds of accuracy less target is not below 0."""
    for factor in WIDER:
        gaps = [
            accuracy - target
            for some in others.values()
            for target in TARGETS
            for count, accuracy, _, _ in [at_stops(some, target, factor)]
            if count >= FREQUENT * len(some)
        ]
        if np.mean(gaps) >= 0:
            return factor
    return WIDER[-1]


def stopping(found: Kinds, figures: Figures) -> None:
    """Accuracy at the stops of each kind, as stated and with the factor that is in use; what is learned without it."""
    own = {name: some for name, some in found.items() if not name.startswith("unlike")}
    caution = min(WIDER, key=lambda factor: abs(factor - CAUTION))
    rows, columns = [], ["", "campaigns", "factor of the others"]
    for target in TARGETS:
        columns += [f"met {target:g}", "right as stated", "judged", f"right x {caution:g}", "+-", "judged"]
    for name, some in own.items():
        others = {other: of for other, of in own.items() if other != name}
        row = [name, len(some), learned_factor(others) if others else None]
        for target in TARGETS:
            plain, wider = at_stops(some, target, 1.0), at_stops(some, target, caution)
            row += [float(wider[0]), plain[1], round(plain[3]) if plain[0] else None, *wider[1:3]]
            row.append(round(wider[3]) if wider[0] else None)
        rows.append([None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row])
    figures.table("stopping", columns, rows)


def check_of(one: Played) -> ModelCheck:
    """Check of the model of a campaign, at its end."""
    groups = []
    chosen = slice(0, MOST)
    for kind, code in (("query", one.query[chosen]), ("genre", one.genre[chosen])):
        there = np.unique(code[code >= 0])
        groups.append(Grouping(kind, tuple(map(str, there)), code[:, None] == there, True))
    seen = one.found[chosen]
    there = np.flatnonzero(seen.any(axis=0))
    groups.append(Grouping("system", tuple(map(str, there)), seen[:, there], False))
    large = tuple(of for of in groups if len(of.names) > 1)
    return ModelCheck(one.chances[chosen], large, one.before[chosen], one.lean[chosen])


def fit(found: Kinds, figures: Figures) -> None:
    """Campaigns of which the model was refused, and after how many judgments."""
    rows = []
    for name, every in found.items():
        some = [one for one in every if len(one.order)]
        checks = [check_of(one) for one in some]
        at = [1 + int(np.argmax(of.e_values >= 20)) for of in checks if of.verdict == "FAIL"]
        soon = sum(place <= 200 for place in at)
        rows.append([name, len(some), len(at), soon, round(float(np.median(at))) if at else None])
    figures.table("fit", ["", "campaigns", "refused", "within 200 judgments", "median judgments then"], rows)
    spoilt = [row for row in rows if str(row[0]).startswith("unlike")]
    if spoilt:
        noticed = sum(row[3] for row in spoilt) / sum(row[1] for row in spoilt)
        figures.add("spoilt campaigns noticed within 200 judgments", 100 * noticed, "%", 90, least=True)
    home = [row for row in rows if row[0] == HOME]
    if home:
        figures.add("refused of halves of mirex2011 at home", 100 * home[0][2] / home[0][1], "%", 5)


def ranks(found: Kinds, figures: Figures) -> None:
    """Coverage of the intervals of ranks: of all systems at once, and of one; and how wide they are."""
    rows = []
    for name, some in found.items():
        if name.startswith("unlike"):
            continue
        for judged in (100, 200, 400):
            whole, each, width = [], [], []
            for one in some:
                for place in np.flatnonzero(one.at == judged).tolist():
                    low, high = Verdicts(ranking_of(one, place)).ranks
                    least = 1 + (one.truth[:, None] < one.truth - 1e-12).sum(axis=1)
                    most = len(one.truth) - (one.truth[:, None] > one.truth + 1e-12).sum(axis=1)
                    inside = (low <= most) & (least <= high)
                    whole.append(inside.all())
                    each.append(inside.mean())
                    width.append((high - low + 1).mean() / len(low))
            if whole:
                cells = [np.mean(values) for values in (whole, each, width)]
                rows.append([f"{name}, {judged} judged", len(whole), *map(float, cells)])
    columns = ["", "campaigns", "all ranks inside", "a rank inside", "width of the interval, of all ranks"]
    figures.table("ranks", columns, rows)
    inside = [row[2] * row[1] for row in rows], [row[1] for row in rows]
    figures.add(
        "intervals of ranks that hold all ranks at once", 100 * sum(inside[0]) / sum(inside[1]), "%", 95, least=True
    )


def ranking_of(one: Played, place: int) -> Ranking:
    """The ranking of a campaign at a moment."""
    systems = tuple(map(str, range(len(one.truth))))
    moments = Moments(one.mean[place], one.covariance[place])
    return Ranking(parse_measure("CG@5"), "joint", systems, moments, int(one.queries), int(one.at[place]), 0)


def effort(found: Kinds, parts: int, figures: Figures) -> None:
    """Predictions of the effort to go at PLANNED_AT judgments, beside what the replays needed."""
    rows, logs, models = [], [], {}
    for name, some in found.items():
        if name.startswith("unlike"):
            continue
        for number, one in enumerate(some[:parts]):
            needed = stopped(one, 0.95, min(WIDER, key=lambda factor: abs(factor - CAUTION)))
            if needed is None or needed[0] <= PLANNED_AT:
                continue
            part, model = at_home(number) if name == HOME else away(name, number, models)
            start, grades = begin(part, model, number)
            state = next(state for state in selections(start, grades) if state.judged == PLANNED_AT)
            planned = predicted(state, number)
            low, high = planned.interval
            actual = needed[0] - PLANNED_AT
            logs.append(math.log((actual + 1) / (planned.judgments + 1)))
            rows.append(
                [f"{name} {number}", planned.judgments, low, high, actual, "yes" if low <= actual <= high else "no"]
            )
            print(rows[-1], flush=True)
    figures.table("effort", ["", "predicted", "low", "high", "needed", "inside"], rows)
    figures.add("80 % intervals that held what was needed", 100 * np.mean([row[-1] == "yes" for row in rows]), "%")
    figures.add("mean logarithm of needed over predicted", float(np.mean(logs)), "")
    figures.add("standard deviation of it", float(np.std(logs, ddof=1)), "")


def predicted(state, seed: int) -> Effort:
    """The effort to go to confidence=0.95 as `audiosim plan` predicts it."""
    from dataclasses import replace

    from audiosim.selection import parse_stopping_rule

    rng, target = np.random.default_rng(seed), parse_stopping_rule("confidence=0.95")
    now = replace(state, learns=False, batch=BATCH)
    counts = [played(now, drawn_grades(now.belief, rng), target, lambda: True)[1] for _ in range(DRAWN)]
    return Effort(str(target), state.judged, tuple(sorted(counts)), None, 30, 1, ())


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--effort", type=int, default=0, metavar="CAMPAIGNS", help="of each kind")
    options = parser.parse_args()
    found = campaigns(options.folder)
    with threadpool_limits(1):
        if options.effort:
            with Figures("verdicts", "effort") as figures:
                effort(found, options.effort, figures)
            return
        with Figures("verdicts") as figures:
            stopping(found, figures)
            fit(found, figures)
            ranks(found, figures)


if __name__ == "__main__":
    main()
