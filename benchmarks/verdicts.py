"""Do verdicts keep their word? Stops, checks of the model, intervals of ranks and of effort, on campaigns kept.

    python benchmarks/campaigns.py FOLDER
    python benchmarks/verdicts.py FOLDER             the stop, the check, the ranks
    python benchmarks/verdicts.py FOLDER --effort 2  predictions of effort, on so many campaigns of each kind

FOLDER has campaigns as benchmarks/campaigns.py keeps them. For each kind the caution of a stop is learned on all
others, and never on mirex2011: the least of CAUTIONS with which orders at the stops are as often right as asked.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
CAUTIONS = (0, 10, 25, 50, 75, 100, 125, 150, 200, 300)  # judgments, that are tried
SAME_AS_HOME = "mirex2011"  # the collection of HOME, from which nothing is learned for it either
PLANNED_AT, DRAWN = 100, 5
Kinds = Mapping[str, Sequence[Played]]
Form = Callable[[Played], np.ndarray]  # the confidence (m,) that a stop goes by


def campaigns(folder: Path) -> Kinds:
    """Campaigns by kind."""
    found: dict[str, list[Played]] = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        found[path.stem[:-4]].append(kept(path))
    return found


def stated_with(one: Played, factor: np.ndarray) -> np.ndarray:
    """(m,) confidence with deviations (m,) times as large, linear between the factors that were kept."""
    factor = np.clip(factor, WIDER[0], WIDER[-1])
    place = np.clip(np.searchsorted(WIDER, factor, side="right") - 1, 0, len(WIDER) - 2)
    low, high = np.array(WIDER)[place], np.array(WIDER)[place + 1]
    share, rows = (factor - low) / (high - low), np.arange(len(place))
    return np.asarray(one.stated[rows, place] * (1 - share) + one.stated[rows, place + 1] * share)


def with_caution(caution: float) -> Form:
    """Confidence as a stop goes by it: see `selection.stopping.caution`."""
    return lambda one: stated_with(one, np.sqrt(1 + caution / np.maximum(one.judged, CHECKED)))


def with_factor(factor: float) -> Form:
    """Confidence with deviations so many times as large, however much is judged."""
    return lambda one: stated_with(one, np.full(len(one.judged), factor))


def mean_of_last(looks: int) -> Form:
    """Mean of the confidence over the last so many judgments."""

    def found(one: Played) -> np.ndarray:
        sums, ends = np.cumsum(np.insert(one.stated[:, 0], 0, 0)), np.arange(1, len(one.judged) + 1)
        starts = np.maximum(0, ends - looks)
        return np.asarray((sums[ends] - sums[starts]) / (ends - starts))

    return found


FORMS: Mapping[str, Form] = (
    {"as stated": with_factor(1.0)}
    | {f"deviations x {factor:g}": with_factor(factor) for factor in (1.05, 1.1, 1.15, 1.2)}
    | {f"mean of the last {looks}": mean_of_last(looks) for looks in (20, 50, 100)}
    | {f"variance x (1 + {caution:g} / judged)": with_caution(caution) for caution in (25, 50, 100, 150, 200)}
)


def stopped(one: Played, target: float, form: Form) -> tuple[float, float] | None:
    """Judgments made and accuracy when a goal was first met; None if never."""
    there = np.flatnonzero((form(one) >= target) & (one.judged >= CHECKED))
    return (float(one.judged[there[0]]), float(one.accuracy[there[0]])) if len(there) else None


def at_stops(some: Sequence[Played], target: float, form: Form) -> tuple[int, float, float, float]:
    """Number of campaigns that met a goal; their mean accuracy then, its standard error, and their mean judgments."""
    seen = [stop for one in some if (stop := stopped(one, target, form)) is not None]
    if not seen:
        return 0, math.nan, math.nan, math.nan
    judged, accuracy = np.array(seen).T
    return len(seen), float(accuracy.mean()), standard_error(accuracy), float(judged.mean())


def standard_error(values: np.ndarray) -> float:
    """Standard error of a mean; NaN of a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def gaps(kinds: Kinds, target: float, form: Form) -> np.ndarray:
    """(k,) accuracy at the stops less the goal, of each kind of which at least FREQUENT campaigns met it."""
    found = [(at_stops(some, target, form), len(some)) for some in kinds.values()]
    return np.array([accuracy - target for (count, accuracy, *_), all_of in found if count >= FREQUENT * all_of])


def learned_caution(others: Kinds) -> float:
    """The least of CAUTIONS with which, at each goal, the mean gap over kinds is no further below 0 than OFF, surely.

    That is, the mean less its standard error over the kinds.
    """

    def enough(caution: float) -> bool:
        seen = [gaps(others, target, with_caution(caution)) for target in TARGETS]
        return all(of.mean() - standard_error(of) >= -OFF for of in seen if len(of) > 1)

    return next((caution for caution in CAUTIONS if enough(caution)), CAUTIONS[-1])


def stopping(found: Kinds, figures: Figures) -> None:
    """Accuracy at the stops of each kind, as stated and with the caution in use; what is learned without it; forms."""
    own = {name: some for name, some in found.items() if not name.startswith("unlike")}
    rows, columns = [], ["", "campaigns", "caution of the others"]
    for target in TARGETS:
        columns += [f"met {target:g}", "right as stated", "judged", "right with caution", "+-", "judged"]
    for name, some in own.items():
        others = {other: of for other, of in own.items() if other not in {name, HOME, SAME_AS_HOME}}
        row = [name, len(some), learned_caution(others) if others else None]
        for target in TARGETS:
            plain, wider = at_stops(some, target, with_factor(1.0)), at_stops(some, target, with_caution(CAUTION))
            row += [float(wider[0]), plain[1], round(plain[3]) if plain[0] else None, *wider[1:3]]
            row.append(round(wider[3]) if wider[0] else None)
        rows.append([None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row])
    figures.table("stopping", columns, rows)
    home = {HOME: own.get(HOME, ())}
    others = {name: some for name, some in own.items() if name not in {HOME, SAME_AS_HOME}}
    for title, kinds in (("forms, others", others), ("forms, mirex2011", home)):
        figures.table(title, _form_columns(), [_form_row(name, form, kinds) for name, form in FORMS.items()])


def _form_columns() -> list[str]:
    return [""] + [f"{what} {target:g}" for target in TARGETS for what in ("right less", "judged to")]


def _form_row(name: str, form: Form, kinds: Kinds) -> list[str | float | None]:
    row: list[str | float | None] = [name]
    for target in TARGETS:
        seen = [(at_stops(some, target, form), len(some)) for some in kinds.values()]
        met = [of for of, count in seen if count and of[0] >= FREQUENT * count]
        means = [float(np.mean([of[place] for of in met])) for place in (1, 3)] if met else None
        row += [None, None] if means is None else [means[0] - target, round(means[1])]
    return row


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
            needed = stopped(one, 0.95, with_caution(CAUTION))
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
