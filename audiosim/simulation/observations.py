"""Statements of a campaign at one moment beside the truth: confidence in an order, intervals, scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from audiosim.arrays import Array
from audiosim.selection import Selection
from audiosim.simulation.calibration import Claims, jackknife_error, mean_and_error
from audiosim.simulation.replay import (
    agreement_with_truth,
    error_of_differences,
    right,
    true_scores,
)
from audiosim.stats.inference.rank_agreement import spearman

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
        (better, worse), reach = ranking.pairs, ranking.quantile(LEVEL)
        difference = self.scores[better] - self.scores[worse]
        scores, open_ = ranking.scores, ~ranking.tied | ranking.tied.all()
        return Observation(
            judged=selection.judged,
            stated=ranking.confidences[open_],
            right=right(ranking, self.scores)[open_],
            gap=np.abs(difference)[open_],
            error=float(np.abs(scores.mean - self.scores).mean()),
            bias=float((scores.mean - self.scores).mean()),
            inside={
                "systems": _inside(scores.mean, scores.variance, reach, self.scores),
                "differences": _inside(*ranking.differences, reach, difference),
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
