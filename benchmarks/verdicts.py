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
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from campaigns import HOME, WIDER, Played, kept
from figures import Figures
from scipy.stats import beta
from threadpoolctl import threadpool_limits

from audiosim.joint.check import ALARM
from audiosim.measures.measure import parse_measure
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.scores import SystemScores
from audiosim.ranking.stopping import CAUTION, CHECKED
from audiosim.ranking.verdicts import Verdicts
from audiosim.simulation.replay import right

TARGETS = (0.9, 0.95, 0.975)
OFF = 0.005  # by which accuracy at a stop may be below the target
FREQUENT = 0.3  # share of a kind's campaigns that must have met a goal, to give a figure
CAUTIONS = (0, 10, 25, 50, 75, 100, 125, 150, 200, 300)  # judgments, to try
SAME_AS_HOME = "mirex2011"  # the collection of HOME, which is left out for it as well
LOOKS = (100, 200, 400)  # judgments after which statements are compared
BINS = (0.0, 0.02, 0.1, 0.3, 0.6, 0.9, 1.0)
TOP = 3
ROUNDING = 1e-9  # tolerance for equal scores
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


def share_interval(count: int, of: int) -> tuple[float, float]:
    """95 % interval of a share, in percent; Clopper & Pearson (1934), doi:10.1093/biomet/26.4.404."""
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return 100 * float(low), 100 * float(high)


def fit(found: Kinds, figures: Figures) -> None:
    """Campaigns with a rejected model, and the number of judgments until then."""
    rows = []
    for name, some in found.items():
        at = [1 + int(np.argmax(one.e_values >= ALARM)) for one in some if one.e_values.max() >= ALARM]
        soon = sum(place <= 200 for place in at)
        rows.append([name, len(some), len(at), soon, round(float(np.median(at))) if at else None])
    figures.table("fit", ["", "campaigns", "refused", "within 200 judgments", "median judgments then"], rows)
    spoilt = [row for row in rows if str(row[0]).startswith("unlike")]
    if spoilt:
        noticed, of = sum(row[3] for row in spoilt), sum(row[1] for row in spoilt)
        note = "of {}, 95 %: {:.0f} to {:.0f}".format(of, *share_interval(noticed, of))
        figures.add("spoilt campaigns noticed within 200 judgments", 100 * noticed / of, "%", 90, note, least=True)
    home = next((row for row in rows if row[0] == HOME), None)
    if home:
        note = "of {}, 95 %: {:.0f} to {:.0f}".format(home[1], *share_interval(home[2], home[1]))
        figures.add("refused of halves of mirex2011 at home", 100 * home[2] / home[1], "%", 5, note)


def after_refusal(found: Kinds, figures: Figures) -> None:
    """Statements of rejected models, and of their replacements, compared with the truth."""
    rows, every = [], []
    for name, some in found.items():
        seen = [_held(one, judged) for one in some for judged in LOOKS if _refused(one, judged)]
        if seen:
            rows.append([name, float(len(seen)), *np.mean(seen, axis=0).tolist()])
            every += [seen] if name.startswith("unlike") else []
    columns = [
        "",
        "moments",
        "stated",
        "right",
        "95 % intervals hold %",
        "stated instead",
        "right instead",
        "hold % instead",
    ]
    figures.table("after refusal", columns, rows)
    if every:
        held = [np.mean(seen, axis=0) for seen in every]
        figures.add(
            "95 % intervals that hold, as the refused model has them", float(np.mean([of[2] for of in held])), "%"
        )
        instead = float(np.mean([of[5] for of in held]))
        figures.add("95 % intervals that hold, as stated instead", instead, "%", 90, least=True)


def _refused(one: Played, judged: int) -> bool:
    return bool(one.failed[one.checked_at == judged].any()) and bool((one.at == judged).any())


def _held(one: Played, judged: int) -> list[float]:
    """Mean confidence, accuracy and coverage of differences: of the original ranking, and of the replacement."""
    place, checked = int(np.argmax(one.at == judged)), int(np.argmax(one.checked_at == judged))
    stated = ranking_of(one, one.mean[place], one.covariance[place], judged)
    instead = ranking_of(one, one.checked_mean[checked], one.checked_covariance[checked], judged)
    return [
        figure
        for of in (stated, instead)
        for figure in (of.confidence, float(right(of, one.truth).mean()), _covered(of, one))
    ]


def _covered(ranking: Ranking, one: Played) -> float:
    better, worse = ranking.scores.pairs
    expectation, variance = ranking.scores.differences
    reach = ranking.scores.quantile(0.95) * np.sqrt(variance) + ROUNDING
    return 100 * float(np.mean(np.abs(expectation - (one.truth[better] - one.truth[worse])) <= reach))


def ranking_of(one: Played, mean: np.ndarray, covariance: np.ndarray, judged: int) -> Ranking:
    """The ranking from recorded moments of a campaign."""
    systems = tuple(map(str, range(len(one.truth))))
    shape = int(one.queries), int(one.pairs)
    scores = SystemScores(mean.astype(np.float64), covariance.astype(np.float64), *shape)
    return Ranking(parse_measure("CG@5"), "joint", systems, scores, judged, int(one.pairs))


def _looks(found: Kinds) -> Iterator[tuple[str, int, Played, Verdicts]]:
    """The kind, the judgments, the campaign and its verdicts at the LOOKS; spoilt campaigns are left out."""
    for name, some in found.items():
        for judged in () if name.startswith("unlike") else LOOKS:
            for one in some:
                for place in np.flatnonzero(one.at == judged).tolist():
                    yield name, judged, one, Verdicts(ranking_of(one, one.mean[place], one.covariance[place], judged))


def ranks(found: Kinds, figures: Figures) -> None:
    """Coverage of the intervals of ranks, for all systems at once and for single ones, and of all pairs told apart."""
    rows: dict[str, list[list[float]]] = {}
    for name, judged, one, verdicts in _looks(found):
        low, high = verdicts.ranks
        least = 1 + (one.truth[:, None] < one.truth - ROUNDING).sum(axis=1)
        most = len(one.truth) - (one.truth[:, None] > one.truth + ROUNDING).sum(axis=1)
        inside = (low <= most) & (least <= high)
        told = one.truth[:, None] >= one.truth - ROUNDING
        found_ = [inside.all(), inside.mean(), told[verdicts.better].all(), (high - low + 1).mean() / len(low)]
        rows.setdefault(f"{name}, {judged} judged", []).append(list(map(float, found_)))
    columns = ["", "campaigns", "all ranks inside", "a rank inside", "all told apart are so", "width, of all ranks"]
    figures.table("ranks", columns, [[name, len(of), *np.mean(of, axis=0).tolist()] for name, of in rows.items()])
    every = np.array([row for of in rows.values() for row in of])
    for what, column in (("intervals of ranks that hold all ranks at once", 0), ("groups of which all is right", 2)):
        note = f"of {len(every)} looks at campaigns, which go together"
        figures.add(what, 100 * float(every[:, column].mean()), "%", 95, note, least=True)


def chances(found: Kinds, figures: Figures) -> None:
    """Probabilities of being the best, and among the best TOP, compared with how often this was true."""
    for title, k in (("chances of the best", 1), (f"chances of the best {TOP}", TOP)):
        said, so = [], []
        for _, _, one, verdicts in _looks(found):
            if len(one.truth) > k:
                said.append(verdicts.top(k))
                so.append(_share_of_top(one.truth, k))
        given, true = np.concatenate(said), np.concatenate(so)
        rows = []
        for low, high in pairwise(BINS):
            chosen = (given >= low) & ((given < high) | (high == BINS[-1]))
            if chosen.any():
                rows.append(
                    [f"{low:g} to {high:g}", int(chosen.sum()), float(given[chosen].mean()), float(true[chosen].mean())]
                )
        figures.table(title, ["said", "systems", "mean of what was said", "share that was so"], rows)


def _share_of_top(truth: np.ndarray, k: int) -> np.ndarray:
    """(s,) 1 for the best k, shared by those equal at the edge."""
    edge = np.sort(truth)[-k]
    above, level = truth > edge + ROUNDING, np.abs(truth - edge) <= ROUNDING
    return np.asarray(above + level * (k - above.sum()) / level.sum())


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
