"""What a measure is expected to be, and how sure that is, while judgments are missing."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import stdtr, stdtrit

from audiosim.arrays import Array, Integers
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import InputError
from audiosim.measures.gains import discounts as discounts_of_ranks
from audiosim.measures.measure import Measure, as_measure
from audiosim.relevance.estimators import RelevanceEstimator, built_in, gains
from audiosim.stats.moments import Moments

if TYPE_CHECKING:
    import pandas as pd


def discounts(measure: Measure) -> Array:
    """(cutoff,) the weight of each rank: 1 for CG, 1 / log2(rank + 1) for DCG, or its like in another base.

    The user-oriented forms of Urbano (2013), equations 3.3 and 3.4. A measure that is no such sum of gains is refused.
    """
    if measure.name not in ("CG", "DCG") or measure.word("gain") != "linear" or measure.word("form") != "bounded":
        raise InputError(f"{measure} cannot be expected yet, only CG and DCG with linear gain and bounded form can")
    return (
        np.ones(measure.cutoff) if measure.name == "CG" else discounts_of_ranks(measure.cutoff, measure.number("base"))
    )


def rank_weights(measure: Measure, pool: Pool) -> sparse.csr_array:
    """(s, n) sparse: the discount at the rank where each system retrieved each pair."""
    if pool.cutoff != measure.cutoff:
        raise InputError(f"{measure} needs the pool of the top {measure.cutoff}, this one is of the top {pool.cutoff}")
    weight = discounts(measure)[pool.ranks.data - 1]
    return sparse.csr_array((weight, pool.ranks.indices, pool.ranks.indptr), shape=pool.ranks.shape)


def score_weights(measure: Measure, pool: Pool) -> sparse.csr_array:
    """(s, n) sparse: the matrix W for which W gains is each system's mean score over the queries.

        W[a, d] = discount(rank of d in a) / (sum of the discounts x number of queries)

    Urbano (2013), equations 8.9, 8.13 and 8.17. A system that retrieved fewer documents than the
    cutoff, or nothing for a query, gains 0 there.
    """
    return sparse.csr_array(rank_weights(measure, pool) / (discounts(measure).sum() * len(pool.queries)))


@dataclass(frozen=True, eq=False)
class Ranking:
    """The systems' expected scores, and how sure their order is.

    measure  what was measured
    model    name of the estimator
    systems  s names, in the order of the moments
    scores   moments of the s mean scores over the queries, with their covariance
    queries  number of queries
    judged   number of judged pairs in the pool
    pool     number of pairs in the pool
    """

    measure: Measure
    model: str
    systems: tuple[str, ...]
    scores: Moments
    queries: int
    judged: int
    pool: int

    @cached_property
    def order(self) -> Integers:
        """(s,) the systems by expected score, best first; equal ones in the order of the runs."""
        return np.argsort(-self.scores.mean, kind="stable")

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The better and the worse system of every pair, (p,) each, p = s (s - 1) / 2, best first."""
        better, worse = np.triu_indices(len(self.systems), 1)
        return self.order[better], self.order[worse]

    @cached_property
    def differences(self) -> tuple[Array, Array]:
        """(p,) expectation and (p,) variance of the difference of each pair, better minus worse.

        E = mu_a - mu_b, Var = S_aa + S_bb - 2 S_ab: a document in both lists cancels.
        Urbano (2013), equations 8.11 and 8.12.
        """
        better, worse = self.pairs
        covariance, variance = self.scores.covariance, self.scores.variance
        difference = variance[better] + variance[worse] - 2 * covariance[better, worse]
        rounding = (variance[better] + variance[worse]) * self.pool * np.finfo(float).eps
        return self.scores.mean[better] - self.scores.mean[worse], np.where(difference > rounding, difference, 0)

    @cached_property
    def confidences(self) -> Array:
        """(p,) the confidence in the sign of each pair's difference, in [1/2, 1].

            F_t(E / sqrt(Var)), with (queries - 1) degrees of freedom

        A known difference gives 1, a known tie 1/2. Urbano (2013), equation 8.20, with the sign
        mended; a single query has the one degree of freedom of the widest t there is.
        """
        expectation, variance = self.differences
        known = np.where(expectation > 0, 1.0, 0.5)
        deviation = np.sqrt(np.where(variance > 0, variance, 1))
        return np.where(variance > 0, stdtr(self._freedom, expectation / deviation), known)

    @property
    def confidence(self) -> float:
        """The confidence in the ranking: the mean over all pairs; 1 for a single system."""
        return float(self.confidences.mean()) if len(self.confidences) else 1.0

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """(s,) low and (s,) high end of each system's score, in the order of `systems`.

            E +- t sqrt(Var), with (queries - 1) degrees of freedom; cut to [0, 1]

        Urbano (2013), equation 8.19: the doubt about these queries' judgments, not about other queries.
        """
        half = stdtrit(self._freedom, (1 + level) / 2) * np.sqrt(self.scores.variance)
        return np.maximum(0, self.scores.mean - half), np.minimum(1, self.scores.mean + half)

    @property
    def _freedom(self) -> int:
        return max(1, self.queries - 1)

    def system_rows(self) -> list[dict[str, Any]]:
        """One row per system, best first: system, expectation, variance, low, high."""
        low, high = self.interval()
        columns = np.stack([self.scores.mean, self.scores.variance, low, high], axis=1)[self.order].tolist()
        keys = ("expectation", "variance", "low", "high")
        return [
            {"system": self.systems[i]} | dict(zip(keys, row, strict=True))
            for i, row in zip(self.order, columns, strict=True)
        ]

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems: a, the better one, b, expectation, variance, confidence."""
        columns = np.stack([*self.differences, self.confidences], axis=1).tolist()
        keys = ("expectation", "variance", "confidence")
        return [
            {"a": self.systems[a], "b": self.systems[b]} | dict(zip(keys, row, strict=True))
            for a, b, row in zip(*self.pairs, columns, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain values, ready for JSON."""
        return {
            "measure": str(self.measure),
            "model": self.model,
            "judged": self.judged,
            "pool": self.pool,
            "confidence": self.confidence,
            "systems": self.system_rows(),
            "pairs": self.pair_rows(),
        }

    def to_frame(self) -> "pd.DataFrame":
        """The systems as a pandas table, best first, indexed by system."""
        import pandas as pd

        return pd.DataFrame(self.system_rows()).set_index("system")


def rank(measure: Measure, pool: Pool, model: str, moments: Moments, judged: int) -> Ranking:
    """The ranking that the moments of the pool's gains add up to."""
    scores = moments.project(score_weights(measure, pool))
    return Ranking(measure, model, pool.systems, scores, len(pool.queries), judged, len(pool.pairs))


def estimate(
    collection: Collection, model: str | RelevanceEstimator | None = None, measure: str | Measure = "CG@5"
) -> Ranking:
    """Rank the systems of a collection from the judgments it has, few or none.

    model    name in models/ such as "mout", a model file, "uniform", an estimator for this collection's pool
             down to the measure's cutoff, or None for the default of the collection's scale
    measure  such as "CG@5"
    """
    measure = as_measure(measure)
    discounts(measure)
    pool = build_pool(collection, measure.cutoff)
    return estimate_pool(pool, built_in(pool, model), measure, pool.spread(collection.grades()))


def estimate_pool(pool: Pool, estimator: RelevanceEstimator, measure: Measure, grades: Array) -> Ranking:
    """Rank the systems of a pool from the judgments there are.

    grades  (n,) NaN where unjudged
    """
    moments = gains(pool, estimator.predict(grades), grades)
    return rank(measure, pool, estimator.name, moments, int(np.sum(~np.isnan(grades))))
