"""Statements of campaigns recorded by benchmarks/campaigns.py, compared with the truth: check, ranks, the best."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from campaigns import HOME, Played
from figures import Figures
from scipy.stats import beta

from audiosim.joint.check import ALARM
from audiosim.measures.measure import parse_measure
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.verdicts import Verdicts
from audiosim.simulation.replay import right
from audiosim.stats.normal.multivariate import Moments

Kinds = Mapping[str, Sequence[Played]]
LOOKS = (100, 200, 400)  # judgments after which statements are compared
BINS = (0.0, 0.02, 0.1, 0.3, 0.6, 0.9, 1.0)
TOP = 3
ROUNDING = 1e-9  # tolerance for equal scores


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
    better, worse = ranking.pairs
    expectation, variance = ranking.differences
    reach = ranking.quantile(0.95) * np.sqrt(variance) + ROUNDING
    return 100 * float(np.mean(np.abs(expectation - (one.truth[better] - one.truth[worse])) <= reach))


def ranking_of(one: Played, mean: np.ndarray, covariance: np.ndarray, judged: int) -> Ranking:
    """The ranking from recorded moments of a campaign."""
    systems = tuple(map(str, range(len(one.truth))))
    moments = Moments(mean.astype(np.float64), covariance.astype(np.float64))
    return Ranking(parse_measure("CG@5"), "joint", systems, moments, int(one.queries), judged, int(one.pairs))


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
