"""Do verdicts keep their word? Stops, checks of the model, intervals of ranks and chances of the best, on campaigns.

    python benchmarks/campaigns.py FOLDER
    python benchmarks/verdicts.py FOLDER               everything; the ranks take a while
    python benchmarks/verdicts.py FOLDER --only stops  or fit, or ranks

FOLDER has campaigns recorded by benchmarks/campaigns.py. For each kind the caution of a stop is learned on all others,
and never on mirex2011: the least of CAUTIONS with which orders at the stops are right as often as required, in the mean
over the kinds. A stop keeps its word if its order is, up to OFF.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from campaigns import HOME, WIDER, Played, kept
from figures import Figures
from statements import after_refusal, chances, fit, ranks
from threadpoolctl import threadpool_limits

from audiosim.ranking.stopping import CAUTION, CHECKED

TARGETS = (0.9, 0.95, 0.975)
OFF = 0.005  # by which accuracy at a stop may be below the target
FREQUENT = 0.3  # share of a kind's campaigns that must have met a goal, to give a figure
CAUTIONS = (0, 10, 25, 50, 75, 100, 125, 150, 200, 300)  # judgments, to try
SAME_AS_HOME = "mirex2011"  # the collection of HOME, which is left out for it as well
Kinds = Mapping[str, Sequence[Played]]
Form = Callable[[Played], np.ndarray]  # confidence (m,) used by a stop


def campaigns(folder: Path) -> Kinds:
    """Campaigns by kind."""
    found: dict[str, list[Played]] = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        found[path.stem[:-4]].append(kept(path))
    return found


def stated_with(one: Played, factor: np.ndarray) -> np.ndarray:
    """(m,) confidence with deviations (m,) times as large, linear between the recorded factors."""
    factor = np.clip(factor, WIDER[0], WIDER[-1])
    place = np.clip(np.searchsorted(WIDER, factor, side="right") - 1, 0, len(WIDER) - 2)
    low, high = np.array(WIDER)[place], np.array(WIDER)[place + 1]
    share, rows = (factor - low) / (high - low), np.arange(len(place))
    return np.asarray(one.stated[rows, place] * (1 - share) + one.stated[rows, place + 1] * share)


def with_caution(caution: float) -> Form:
    """Confidence used by a stop; see `selection.stopping.caution`."""
    return lambda one: stated_with(one, np.sqrt(1 + caution / np.maximum(one.judged, CHECKED)))


def with_factor(factor: float) -> Form:
    """Confidence with deviations multiplied by a factor, at any number of judgments."""
    return lambda one: stated_with(one, np.full(len(one.judged), factor))


def mean_of_last(looks: int) -> Form:
    """Mean of the confidence over the last judgments."""

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
    """The least of CAUTIONS with which, at each goal, the mean gap over kinds is not below 0."""

    def enough(caution: float) -> bool:
        seen = [gaps(others, target, with_caution(caution)) for target in TARGETS]
        return all(of.mean() >= 0 for of in seen if len(of))

    return next((caution for caution in CAUTIONS if enough(caution)), CAUTIONS[-1])


def stopping(found: Kinds, figures: Figures) -> None:
    """Accuracy at the stops of each kind, as stated and with the caution in use; caution learned without it; forms."""
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
    _limits(own, figures)
    home = {HOME: own.get(HOME, ())}
    others = {name: some for name, some in own.items() if name not in {HOME, SAME_AS_HOME}}
    for title, kinds in (("forms, others", others), ("forms, mirex2011", home)):
        figures.table(title, _form_columns(), [_form_row(name, form, kinds) for name, form in FORMS.items()])


def _limits(own: Kinds, figures: Figures) -> None:
    """Accuracy at the stops with the caution in use, with its limit: on halves of mirex2011, and over the others."""
    others = {name: some for name, some in own.items() if name not in {HOME, SAME_AS_HOME}}
    for target in TARGETS:
        if HOME in own:
            count, accuracy, error, judged = at_stops(own[HOME], target, with_caution(CAUTION))
            note = f"+- {error:.4f}, of {count} halves, after {judged:,.0f} judgments"
            figures.add(f"right at {target:g}, halves of mirex2011", accuracy, "", target - OFF, note, least=True)
        seen = [at_stops(some, target, with_caution(CAUTION)) for some in others.values()]
        met = [of for of, some in zip(seen, others.values(), strict=True) if of[0] >= FREQUENT * len(some)]
        if met:
            error = math.sqrt(sum(of[2] ** 2 for of in met)) / len(met)
            note = f"+- {error:.4f}, mean over {len(met)} kinds, after {np.mean([of[3] for of in met]):,.0f} judgments"
            accuracy = float(np.mean([of[1] for of in met]))
            figures.add(f"right at {target:g}, other kinds", accuracy, "", target - OFF, note, least=True)


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


PARTS: Mapping[str, Sequence[Callable[[Kinds, Figures], None]]] = {
    "stops": (stopping,),
    "fit": (fit, after_refusal),
    "ranks": (ranks, chances),
}


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=list(PARTS))
    options = parser.parse_args()
    found = campaigns(options.folder)
    for name in [options.only] if options.only else PARTS:
        with threadpool_limits(1), Figures("verdicts", name) as figures:
            for part in PARTS[name]:
                part(found, figures)


if __name__ == "__main__":
    main()
