"""Statements of a campaign at one moment beside the truth: confidence in an order, intervals, scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from audiosim.ranking import Selection
from audiosim.results.value import parts
from audiosim.simulation.replay import agreement_with_truth, error_of_differences, right, true_scores
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.ranks import spearman

# Calibration of rankings: claims in bins of confidence, compared with their accuracy.


BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # bins of Urbano (2013), Tables 8.2 and 8.4


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """Claims about pairs of systems in several rankings, with their truth.

    stated  confidence (p,) in the order of each pair, for each ranking
    right   accuracy (p,) of each of these orders, for each ranking: 1, 0, or 1/2 for a tie
    judged  number of judged pairs of documents, for each ranking
    """

    stated: tuple[Array, ...]
    right: tuple[Array, ...]
    judged: tuple[int, ...]

    def bins(self) -> list[dict[str, Any]]:
        """One row per bin of confidence: its ends, the number and share of claims, mean confidence, accuracy.

        As in Urbano (2013), Tables 8.2 and 8.4; mean confidence and accuracy of an empty bin are None.
        """
        stated, right = np.concatenate(self.stated), np.concatenate(self.right)
        place = _bin_of(stated)
        rows = []
        for code, (low, high) in enumerate(pairwise(BINS)):
            inside = place == code
            count = int(inside.sum())
            row: dict[str, Any] = {"low": low, "high": high, "claims": count, "share": count / max(1, len(stated))}
            row["stated"] = float(stated[inside].mean()) if count else None
            row["accuracy"] = float(right[inside].mean()) if count else None
            rows.append(row)
        return rows

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: the mean over the bins, by their share, of |accuracy - mean confidence|.

        Naeini, Cooper & Hauskrecht (2015), AAAI, with the thesis's bins. It is never below 0: for calibrated claims it
        is the chance deviation in each bin.
        """
        return float(sum(row["share"] * abs(row["accuracy"] - row["stated"]) for row in self.bins() if row["claims"]))

    @property
    def calibration_error_error(self) -> float | None:
        """Standard error of the calibration error by the jackknife over rankings.

        None for a single ranking.
        """
        if len(self.stated) < 2:
            return None
        claims = zip(self.stated, self.right, strict=True)
        gaps = np.stack([np.bincount(_bin_of(stated), right - stated, len(BINS) - 1) for stated, right in claims])
        sizes = np.array([len(stated) for stated in self.stated])
        return jackknife_error(np.abs(gaps.sum(axis=0) - gaps).sum(axis=1) / (sizes.sum() - sizes))

    @property
    def brier(self) -> float:
        """Brier score: mean of (confidence - right)^2, with right 1 or 0; 0 is best, a coin has 1/4.

        Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
        """
        return float(((np.concatenate(self.stated) - np.concatenate(self.right)) ** 2).mean())

    def by_ranking(self) -> dict[str, list[float]]:
        """Mean confidence and accuracy of each ranking, and the difference of the two."""
        stated, accuracy = ([float(values.mean()) for values in of] for of in (self.stated, self.right))
        excess = [claim - truth for claim, truth in zip(stated, accuracy, strict=True)]
        return {"stated": stated, "accuracy": accuracy, "excess": excess}

    def means(self) -> dict[str, float | None]:
        """Means over the rankings and their standard errors: judged, stated, accuracy, excess; None where unknown."""
        columns = {"judged": self.judged} | self.by_ranking()
        return {key: value for name, values in columns.items() for key, value in mean_and_error(name, values).items()}

    def to_dict(self) -> dict[str, Any]:
        """The claims as plain values, ready for JSON; errors are standard errors over the rankings."""
        errors = parts(self, "calibration_error", "calibration_error_error", "brier")
        return self.means() | errors | {"bins": self.bins()}


def _bin_of(stated: Array) -> Integers:
    """(p,) bin of each confidence: its low end is included; the last bin includes its high end too."""
    return np.clip(np.searchsorted(BINS, stated, side="right") - 1, 0, len(BINS) - 2)


def mean_and_error(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Mean and its standard error, sd / sqrt(n); the mean is None without values, the error with fewer than two."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {name: float(np.mean(values)) if len(values) else None, f"{name}_error": error}


def jackknife_error(without: Array) -> float:
    """Standard error of a statistic of n independent parts.

        sqrt((n - 1) / n  sum over parts of (theta without the part - mean of these)^2)

    without  (n,) statistic of all parts except each one in turn

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5. For a mean it is sd / sqrt(n).
    """
    return float(np.sqrt((len(without) - 1) * np.var(without)))


LEVEL = 0.95  # confidence of the intervals that are compared with the truth
KNOWN = 1e-7  # standard deviations below this are rounding errors of fully judged scores


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """A campaign at one moment beside the truth.

    judged  number of judged pairs of documents
    stated  (p,) confidence in the order of each pair of systems, without those known to be equal
    right   (p,) accuracy of that order: 1, 0, or 1/2 for a tie
    gap     (p,) true difference of their scores
    error   mean absolute error of the systems' scores
    bias    mean over the systems of the expected less the true score
    inside  for systems, differences and queries: number of 95 % intervals that contain the true value, and of all
    tau, rho          Kendall's and Spearman's correlation of the ranking with the true one
    rmse_differences  root mean squared error of the expected differences of systems
    """

    judged: int
    stated: Array
    right: Array
    gap: Array
    error: float
    bias: float
    inside: Mapping[str, tuple[int, int]]
    tau: float
    rho: float
    rmse_differences: float


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True scores and order of the systems of a pool.

    scores   (s,) scores of the systems
    queries  (q,) mean gain of each query's pairs
    shares   (q, n) sparse: weight of each pair in the mean of its query
    """

    scores: Array
    queries: Array
    shares: sparse.csr_array

    @classmethod
    def of(cls, selection: Selection, grades: Array) -> "Truth":
        """Truth by the grades of all pairs (n,)."""
        pool = selection.pool
        cells = 1 / pool.query_sizes, (pool.query, np.arange(len(pool.pairs)))
        shares = sparse.csr_array(cells, shape=(len(pool.queries), len(pool.pairs)))
        return cls(true_scores(selection, grades), np.asarray(shares @ (grades / pool.scale.maximum)), shares)

    def beside(self, selection: Selection) -> Observation:
        """Statements of a selection beside the truth.

        Intervals are  E +- t sqrt(Var),  with the ranking's t; intervals of known values do not count. The intervals of
                       queries are for the mean gain of their pairs.
        """
        ranking, gains = selection.ranking, selection.belief.gains.project(self.shares)
        (better, worse), reach = ranking.scores.pairs, ranking.scores.quantile(LEVEL)
        difference = self.scores[better] - self.scores[worse]
        scores, open_ = ranking.scores, ~ranking.scores.tied | ranking.scores.tied.all()
        return Observation(
            judged=selection.judged,
            stated=ranking.scores.confidences[open_],
            right=right(ranking, self.scores)[open_],
            gap=np.abs(difference)[open_],
            error=float(np.abs(scores.mean - self.scores).mean()),
            bias=float((scores.mean - self.scores).mean()),
            inside={
                "systems": _inside(scores.mean, scores.variance, reach, self.scores),
                "differences": _inside(*ranking.scores.differences, reach, difference),
                "queries": _inside(gains.mean, gains.variance, reach, self.queries),
            },
            tau=agreement_with_truth(ranking, self.scores)[1],
            rho=spearman(scores.mean, self.scores),
            rmse_differences=error_of_differences(ranking, self.scores),
        )


def _inside(mean: Array, variance: Array, reach: float, true: Array) -> tuple[int, int]:
    open_ = variance > KNOWN**2
    hold = np.abs(true - mean)[open_] <= reach * np.sqrt(variance[open_])
    return int(hold.sum()), int(open_.sum())


def claims_of(seen: Sequence[Observation]) -> Claims:
    """Claims of several campaigns, each at one moment."""
    return Claims(
        tuple(one.stated for one in seen), tuple(one.right for one in seen), tuple(one.judged for one in seen)
    )


def observation_summary(seen: Sequence[Observation], near: float) -> dict[str, Any]:
    """Several campaigns at the same moment, as plain values; errors are standard errors over the campaigns.

    near  pairs of systems that truly differ by more than this are clear
    """
    claims = claims_of(seen)
    values = claims.to_dict()
    bins = values.pop("bins")
    errors = [one.error for one in seen]
    return {
        **values,
        "clear": _clear(seen, near),
        "coverage": _coverage([one.inside for one in seen]),
        **mean_and_error("error", errors),
        **mean_and_error("bias", [one.bias for one in seen]),
        **agreement_of(seen),
        "bins": bins,
        "by_part": claims.by_ranking() | {"error": errors},
    }


def agreement_of(seen: Sequence[Observation]) -> dict[str, float | None]:
    """Mean agreement of the rankings of several campaigns with the true ones: tau, rho and RMSE of differences."""
    names = ("tau", "rho", "rmse_differences")
    columns = {name: [getattr(one, name) for one in seen] for name in names}
    return {key: value for name in names for key, value in mean_and_error(name, columns[name]).items()}


def _clear(seen: Sequence[Observation], near: float) -> dict[str, float | None]:
    """Share of pairs of systems that truly differ by more than a size, and the claims about these."""
    clear = np.concatenate([one.gap for one in seen]) > near
    found: dict[str, float | None] = {"pairs": float(clear.mean())}
    for name, values in {"stated": [one.stated for one in seen], "accuracy": [one.right for one in seen]}.items():
        found[name] = float(np.concatenate(values)[clear].mean()) if clear.any() else None
    return found


def _coverage(inside: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, float | None]:
    """Share of intervals that contain the true value, by kind, and its standard error by the jackknife."""
    found: dict[str, float | None] = {}
    for kind in inside[0]:
        held, of = np.array([one[kind] for one in inside], dtype=np.float64).T
        others = of.sum() - of
        found[kind] = float(held.sum() / of.sum()) if of.any() else None
        found[f"{kind}_error"] = jackknife_error((held.sum() - held) / others) if (others > 0).all() else None
    return found
