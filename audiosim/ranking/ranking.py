"""The systems' expected scores, and the confidence in their order."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from audiosim.joint.check import NOT_CHECKED, ModelCheck
from audiosim.measures.measure import Measure
from audiosim.ranking.about import THESE, About, DifferenceDistribution, check_distribution
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row, cached_property, listed, rows_of
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.inference.ties import equalised, nearness, shared_ranks
from audiosim.stats.normal.multivariate import Moments
from audiosim.stats.score_matrix import bounded_mean

if TYPE_CHECKING:
    from altair import LayerChart


PREDICTED = "predicted, nothing judged"  # correct on average over collections, not on each


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """The systems' expected scores, and the confidence in their order.

    measure       measure of the scores
    model         name of the estimator
    systems       s names, in the order of the moments
    scores        moments of the s mean scores, over the queries that the ranking is about, with their covariance;
                  means that differ by rounding alone become equal
    queries       number of queries
    judged        number of judged pairs in the pool
    pool          number of pairs in the pool
    draws         number of draws behind the moments; None if they were computed without drawing
    distribution  for mean scores and differences: Student's t as in the thesis, or normal as in
                  Urbano & Schedl (2013), equations 6 to 8
    correlated    True if the gains were modelled as correlated; otherwise the scores' variances are too small
    check         check of the model against the judgments so far; a failed one widens the scores, see `with_check`
    about         queries and people that the scores and their order are about
    sampling      (s, s) part of the covariance due to the queries being a sample of their kind; None for a ranking
                  about these queries
    judges        number of people who judged; 0 if the model does not distinguish them
    comparisons   number of comparisons of two documents that were used
    reach         makes the lowest and the highest score that each system can have, (s,) each; None: 0 to 1, or any
                  score above 0 if the measure is unbounded
    others        makes the ranking about listeners at large, if several judged and this one is about the panel
    statements    makes the rows with groups, ranks and probabilities of being the best; None: scores alone
    notes         sentences on judgments that the measure leaves unused, and on pairs that another model predicts
    """

    index: ClassVar = ("system",)
    shown: ClassVar = ("expectation", "low", "high", "group", "rank_low", "rank_high", "best")

    measure: Measure
    model: str
    systems: tuple[str, ...]
    scores: Moments
    queries: int
    judged: int
    pool: int
    draws: int | None = None
    distribution: DifferenceDistribution = "t"
    correlated: bool = False
    check: ModelCheck = NOT_CHECKED
    about: About = THESE
    sampling: Array | None = None
    judges: int = 0
    comparisons: int = 0
    reach: Callable[[], tuple[Array, Array]] | None = field(default=None, repr=False)
    others: "Callable[[], Ranking] | None" = field(default=None, repr=False)
    statements: "Callable[[Ranking], list[Row]] | None" = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_distribution(self.distribution)
        mean = equalised(self.scores.mean, self.measure.bounded)
        object.__setattr__(self, "scores", Moments(mean, self.scores.covariance))

    @cached_property
    def at_large(self) -> "Ranking | None":
        """Ranking about listeners at large; None if only one person judged, or if it is about them already."""
        return None if self.others is None else self.others()

    def with_check(self, check: ModelCheck) -> "Ranking":
        """Ranking with a check of its model; a failed check multiplies all deviations by its factor."""
        return replace(self.wider(check.factor), check=check)

    def wider(self, factor: float) -> "Ranking":
        """Ranking with the deviations due to missing judgments multiplied by a factor.

        The variation between queries is observed in the scores themselves and stays the same.
        """
        if factor == 1:
            return self  # keeps its cached properties
        sampling = 0 if self.sampling is None else self.sampling
        covariance = (self.scores.covariance - sampling) * factor**2 + sampling
        return replace(self, scores=Moments(self.scores.mean, covariance))

    def of_this_kind(self, between: Array) -> "Ranking":
        """Ranking about queries of this kind, from one about these queries.

            Var[difference] = Var[mean of d | judgments] + E[sample variance of d | judgments] / queries

        d is the difference of two systems on one query. This is the law of total variance, for queries that are a
        random sample of their kind. With everything judged the first term is 0, and the confidence is one minus the
        one-sided p-value of the paired t-test.

        between  (s, s) expected sample covariance of the scores over the queries; see `ExpectedScores.between_queries`
        """
        sampling = between / self.queries
        scores = Moments(self.scores.mean, self.scores.covariance + sampling)
        about = replace(self.about, queries="queries")
        return replace(self, scores=scores, about=about, sampling=sampling, reach=None)

    @property
    def of_these(self) -> "Ranking":
        """Ranking about these queries alone: missing judgments are the only uncertainty."""
        if self.sampling is None:
            return self
        scores = Moments(self.scores.mean, self.scores.covariance - self.sampling)
        return replace(self, scores=scores, about=replace(self.about, queries="these"), sampling=None)

    def __repr__(self) -> str:
        return (
            f"{self.measure} of {len(self.systems)} systems, {self.resting}: {self.sureness}, "
            f"best {listed(self.leaders)} at {self.scores.mean.max():.3f}"
        )

    def plot(self) -> "LayerChart":
        """The expected score of each system with its 95 % interval, best on top."""
        rows = self.score_rows()
        low, middle, high = ([row[key] for row in rows] for key in ("low", "expectation", "high"))
        return draw_intervals([row["system"] for row in rows], low, middle, high, f"expected {self.measure}")

    @cached_property
    def order(self) -> Integers:
        """(s,) the systems by expected score, best first; equal ones in the order of the runs."""
        return np.argsort(-self.scores.mean, kind="stable")

    @property
    def ranks(self) -> Integers:
        """(s,) rank of each system by expected score, 1 for the best; equal ones share it."""
        return shared_ranks(self.scores.mean)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The systems with the highest expected score: several if they are equal."""
        return tuple(np.array(self.systems, dtype=object)[self.ranks == 1].tolist())

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The better and the worse system of every pair, (p,) each, p = s (s - 1) / 2, best first."""
        better, worse = np.triu_indices(len(self.systems), 1)
        return self.order[better], self.order[worse]

    def place_of(self, a: str, b: str) -> int:
        """Place of two systems among the pairs, in either order."""
        (i, j), (first, second) = sorted(map(self.systems.index, (a, b))), self.pairs
        low, high = np.minimum(first, second), np.maximum(first, second)
        return int(np.flatnonzero((low == i) & (high == j))[0])

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
    def tied(self) -> Booleans:
        """(p,) pairs of systems known to be equal, such as one run under two names; these have no order."""
        expectation, variance = self.differences
        return np.asarray((variance == 0) & (expectation == 0))

    @cached_property
    def firsts(self) -> Integers:
        """(s,) place of the first system known to be equal to each one, which may be itself."""
        places, tied = np.arange(len(self.systems)), self.tied
        np.minimum.at(places, self.pairs[1][tied], self.pairs[0][tied])
        return places

    @cached_property
    def confidences(self) -> Array:
        """(p,) the confidence in the order of each pair, in [1/2, 1].

            F_t(E / sqrt(Var)), with (queries - 1) degrees of freedom

        1 for a pair whose difference is known, even if it is 0. Urbano (2013), equation 8.20, with the sign corrected;
        a single query gets one degree of freedom, the widest t distribution.
        """
        return np.where(self.tied, 1.0, self.above(0.0))

    def above(self, size: float) -> Array:
        """(p,) probability that the better of each pair is better by more than `size`; 1/2 if the difference equals it.

        F_t((E - size) / sqrt(Var))
        """
        return self._positive(self.differences[0] - size)

    def larger(self, size: float) -> Array:
        """(p,) probability that a pair differs by more than `size` in either direction: P(|difference| > size)."""
        return self.above(size) + self._positive(-self.differences[0] - size)

    def settled(self, size: float) -> Array:
        """(p,) the probability of the likeliest of three verdicts: better by more than `size`, worse, or neither.

        With a size of 0 these are the confidences.
        """
        above, below = self.above(size), self._positive(-self.differences[0] - size)
        return np.where(self.tied, 1.0, np.maximum(above, np.maximum(below, 1 - above - below)))

    def cumulative(self, expectation: float, variance: float) -> float:
        """P(a difference > 0) by its expectation and variance; a known tie gives 1/2."""
        if variance <= 0:
            return float(self._known(np.array(expectation)))
        return self.cumulated(expectation / np.sqrt(variance))

    def cumulated(self, deviations: float) -> float:
        """P(a score is at most this many standard deviations above its expectation)."""
        return float(self._cumulative(np.array(deviations)))

    def _positive(self, expectation: Array) -> Array:
        """(p,) P(value > 0) for values with these expectations and the variances of the differences."""
        variance = self.differences[1]
        deviation = np.sqrt(np.where(variance > 0, variance, 1))
        return np.where(variance > 0, self._cumulative(expectation / deviation), self._known(expectation))

    def _known(self, values: Array) -> Array:
        """P(value > 0) for known values: 0 or 1, and 1/2 for those that are 0 but for rounding."""
        return np.where(np.abs(values) <= nearness(self.scores.mean), 0.5, values > 0)

    def _cumulative(self, deviations: Array) -> Array:
        if self.distribution == "normal":
            return np.asarray(ndtr(deviations))
        return np.asarray(stdtr(self.freedom, deviations))

    def quantile(self, level: float) -> float:
        """Half-width, in standard deviations, of a central interval of this level."""
        middle = (1 + level) / 2
        return float(ndtri(middle) if self.distribution == "normal" else stdtrit(self.freedom, middle))

    @property
    def confidence(self) -> float | None:
        """The confidence in the ranking: the mean over pairs not known to be equal; None where there is none."""
        return self.mean_of_open(self.confidences)

    def mean_of_open(self, values: Array) -> float | None:
        """Mean of values (p,) over the pairs of systems not known to be equal; None if there is none."""
        return None if self.tied.all() else float(values[~self.tied].mean())

    @property
    def sureness(self) -> str:
        """The confidence and its subject, in words."""
        return spelled_confidence(self.confidence, self.about)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """(s,) low and (s,) high end of each system's score, in the order of `systems`.

            E +- t sqrt(Var), with (queries - 1) degrees of freedom; cut to `bounds`

        Urbano (2013), equation 8.19, for these queries. For queries of this kind and bounded scores see `bounded_mean`:
        with everything judged the intervals are those of `evaluate`.
        """
        if self.sampling is not None and self.measure.bounded:
            sampled = np.diagonal(self.sampling)
            further = np.maximum(0, self.scores.variance - sampled)
            return bounded_mean(self.scores.mean, sampled * self.queries, self.queries, further, level)
        half, mean, (least, most) = self.quantile(level) * np.sqrt(self.scores.variance), self.scores.mean, self.bounds
        # An approximate mean may lie outside; its interval contains it all the same.
        return np.minimum(mean, np.maximum(least, mean - half)), np.maximum(mean, np.minimum(most, mean + half))

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """(s,) the lowest and (s,) the highest score that each system can have, given the judgments."""
        if self.reach is not None:
            return self.reach()
        none = np.zeros(len(self.systems))
        return none, none + (1.0 if self.measure.bounded else np.inf)

    @property
    def errors(self) -> Array | None:
        """(s,) standard error of each expected score that comes from drawing grades; None where none were drawn.

        sqrt(Var / draws)
        """
        return None if self.draws is None else np.sqrt(self.scores.variance / self.draws)

    @property
    def basis(self) -> str | int:
        """Basis of the scores: PREDICTED if nothing is judged, else the number of judged pairs."""
        return self.judged or PREDICTED

    @property
    def resting(self) -> str:
        """The basis of the scores in words; called a prediction if nothing is judged."""
        if not self.judged and self.comparisons:
            return f"no pair is judged; the order is based on {self.comparisons:,} comparisons"
        if not self.judged:
            return f"{PREDICTED}: {self.model} predicts all {self.pool:,} pairs"
        if self.judged == self.pool:
            return f"all {self.pool:,} pairs judged"
        return f"{self.judged:,} of {self.pool:,} pairs judged, the others predicted by {self.model}"

    @property
    def freedom(self) -> int:
        """Degrees of freedom of Student's t: the number of queries less 1, at least 1."""
        return max(1, self.queries - 1)

    def rows(self) -> list[Row]:
        """One row per system, best first: `score_rows`, and what `statements` adds."""
        return [dict(row) for row in self._rows]

    @cached_property
    def _rows(self) -> list[Row]:
        return self.score_rows() if self.statements is None else self.statements(self)

    def score_rows(self) -> list[Row]:
        """One row per system, best first: system, expectation, variance, low, high; error where grades were drawn."""
        low, high = self.interval()
        columns = {"expectation": self.scores.mean, "variance": self.scores.variance, "low": low, "high": high}
        columns |= {} if self.errors is None else {"error": self.errors}
        names = [self.systems[place] for place in self.order]
        return rows_of({"system": names} | {name: column[self.order] for name, column in columns.items()})

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems: a, the better one, b, expectation, variance, confidence, and if known equal."""
        expectation, variance = self.differences
        columns = {"expectation": expectation, "variance": variance, "confidence": self.confidences, "equal": self.tied}
        a, b = ([self.systems[place] for place in places] for places in self.pairs)
        return rows_of({"a": a, "b": b} | columns)

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain values, ready for JSON; with the number of draws, if grades are drawn."""
        drawn = {} if self.draws is None else {"draws": self.draws}
        return {
            "measure": str(self.measure),
            "model": self.model,
            "judged": self.judged,
            "pool": self.pool,
            **({"comparisons": self.comparisons} if self.comparisons else {}),
            **drawn,
            "confidence": self.confidence,
            "systems": self.score_rows(),
            "pairs": self.pair_rows(),
            "basis": self.basis,
            "about": self.about.to_dict(),
            **self._of_others(),
            **self.check.to_dict(),
            "notes": list(self.notes),
        }

    def _of_others(self) -> dict[str, Any]:
        """Ranking about listeners at large, as plain values; empty if there is none."""
        found = self.at_large
        if found is None:
            return {}
        said = {"confidence": found.confidence, "systems": found.score_rows(), "about": found.about.to_dict()}
        return {"judges": self.judges, "at_large": said}


def spelled_confidence(confidence: float | None, about: About = THESE) -> str:
    """A confidence in an order of systems and its subject, in words; None: there is nothing to order."""
    if confidence is None:
        return "nothing to order: no two systems differ"
    return f"confidence {confidence:.3f} ({about.words})"


# Changes from one ranking of some systems to another, such as the ranking by another model.


@dataclass(frozen=True, eq=False)
class RankingChange:
    """Two rankings of the same systems, before and after a change."""

    before: Ranking
    after: Ranking

    @property
    def turned(self) -> tuple[tuple[str, str], ...]:
        """Pairs of systems that change places; the previously better one comes first."""
        names, before, after = self.before.systems, self.before.scores.mean, self.after.scores.mean
        pairs = zip(*self.before.pairs, strict=True)
        return tuple((names[a], names[b]) for a, b in pairs if before[a] > before[b] and after[a] < after[b])

    @property
    def most_changed(self) -> tuple[str, float]:
        """System with the largest change of score, and the score after less the score before."""
        changes = self.after.scores.mean - self.before.scores.mean
        place = int(np.argmax(np.abs(changes)))
        return self.before.systems[place], float(changes[place])

    @property
    def words(self) -> str:
        """The change in words, for a sentence that names its reason."""
        system, change = self.most_changed
        count = len(self.turned)
        turned = f"{count} {'pair of systems changes' if count == 1 else 'pairs of systems change'} places"
        best = [listed(ranking.leaders) for ranking in (self.before, self.after)]
        words = ["is" if len(ranking.leaders) == 1 else "are" for ranking in (self.before, self.after)]
        stays = f"{best[0]} {'stays' if words[0] == 'is' else 'stay'} best"
        first = f"{best[1]} {words[1]} best in place of {best[0]}" if best[0] != best[1] else stays
        both = self.before.confidence, self.after.confidence
        sure = " -> ".join("-" if one is None else f"{one:.3f}" for one in both)
        return (
            f"{turned if count else 'no two systems change places'}, {first}; "
            f"{system} moves most, by {change:+.3f}; confidence on {self.before.about.words} {sure}"
        )

    def rows(self, word: str) -> list[dict[str, Any]]:
        """One row per system, in the order before the change: rank and score before and after.

        word  end of the names of columns about the later ranking
        """
        rank, rank_after = self.before.ranks, self.after.ranks
        (low, high), (low_after, high_after) = self.before.interval(), self.after.interval()
        return [
            {
                "system": self.before.systems[place],
                "rank": int(rank[place]),
                "score": float(self.before.scores.mean[place]),
                "low": float(low[place]),
                "high": float(high[place]),
                f"rank_{word}": int(rank_after[place]),
                f"score_{word}": float(self.after.scores.mean[place]),
                f"low_{word}": float(low_after[place]),
                f"high_{word}": float(high_after[place]),
            }
            for place in self.before.order.tolist()
        ]
