"""Report of record: all statements about a collection's systems, judged in full or in part, each with its subject.

There are two kinds of statement. About these queries: the result of full judgments, with the uncertainty of those
missing. About queries of this kind: the mean over all of them, so that the variation between queries counts too. Scores
and their differences are those of the ranking about either, as in `estimate` and `compare`. The shares of users are no
moments of a ranking. If judgments are missing, they use multiple imputation: grades are drawn from the belief several
times, each completed collection is analysed as if judged in full, and the results are combined by Rubin's rules.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from audiosim.collection.aspects import MEAN
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import JudgmentSequence, grades_by_assessor
from audiosim.errors import InputError
from audiosim.evaluation.evaluation import Evaluation, evaluate
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, after_judgments, make_estimator
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.satisfaction import published_mapping, user_form
from audiosim.ordinal.model import Source, source_of
from audiosim.people.agreement import Agreement, agreement
from audiosim.ranking.about import OF_THIS_KIND, THESE, About, DifferenceDistribution
from audiosim.ranking.expected import FEWEST_QUERIES, confidences, expected_scores, grounds_of
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.separation import verdicts_on, with_next
from audiosim.ranking.verdicts import Verdicts
from audiosim.results.value import Row
from audiosim.simulation.alternatives import scores_of
from audiosim.simulation.remaining import drawn_grades
from audiosim.stats.arrays import Array
from audiosim.stats.score_matrix import bounded_mean

LEVEL = 0.95
IMPUTATIONS = 20


@dataclass(frozen=True, slots=True)
class Pooled:
    """A mean over queries of this kind, from several completed collections.

    estimate   mean of the means of the completed collections
    low, high  ends of the interval at LEVEL
    """

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Array) -> "Pooled":
        """The mean of values (m, q) of q queries in each of m completed collections.

            T = W + (1 + 1/m) B,  W the mean of s^2 / q, B the variance of the completed means

        with 1 / (1 / nu + 1 / (q - 1)) degrees of freedom, nu = (m - 1) (T / ((1 + 1/m) B))^2: those of the imputations
        and of the complete data together. Rubin (1987), Multiple Imputation for Nonresponse in Surveys, section 3.1;
        they are not reduced if much is missing, because predictions rest on other collections too. With one collection
        this is the t-interval.
        """
        (times, queries), estimate = values.shape, float(values.mean())
        within, between = _variances(values)
        total = within + between
        if total <= 0:
            return cls(estimate, estimate, estimate)
        complete, missing = queries - 1, between / total
        freedom = 1 / (missing**2 / (times - 1) + 1 / complete) if times > 1 else complete
        reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(total)
        return cls(estimate, estimate - reach, estimate + reach)

    @classmethod
    def of_shares(cls, values: Array) -> "Pooled":
        """The mean of shares (m, q) in [0, 1], with the ends of `bounded_mean`.

        B counts by the squared ratio of Student's t, with m - 1 degrees of freedom, to the normal quantile.
        """
        (times, queries), (within, between) = values.shape, _variances(values)
        wider = float(stdtrit(times - 1, (1 + LEVEL) / 2) / ndtri((1 + LEVEL) / 2)) ** 2 if times > 1 else 1.0
        low, high = bounded_mean(values.mean(), within * queries, queries, between * wider, LEVEL)
        return replace(cls.of(values), low=float(low), high=float(high))

    @classmethod
    def of_differences(cls, values: Array) -> "Pooled":
        """The mean of differences (m, q) of two shares, with an interval cut to [-1, 1]."""
        found = cls.of(values)
        return replace(found, low=max(-1.0, found.low), high=min(1.0, found.high))

    def named(self, name: str) -> dict[str, float]:
        """The interval as columns of a table."""
        return {name: self.estimate, f"{name}_low": self.low, f"{name}_high": self.high}


def _variances(values: Array) -> tuple[float, float]:
    """W and (1 + 1/m) B of `Pooled`."""
    times, queries = values.shape
    between = float(values.mean(axis=1).var(ddof=1)) * (1 + 1 / times) if times > 1 else 0.0
    return float(np.mean(values.var(axis=1, ddof=1))) / queries, between


@dataclass(frozen=True, eq=False)
class Record:
    """All statements of a report about a collection's systems by one measure.

    collection  collection with the judgments used
    verdicts    verdicts on the s systems and these queries, with the check of the model
    headline    the same about queries of this kind; `verdicts` itself if another subject is asked for
    kind        ranking on queries of this kind; None if there are too few queries
    satisfied   (m, s, q) P(Sat), the share of users that each result list satisfies, in m completed collections, one if
                everything is judged; None if no mapping is published
    threshold   share of users above which a list is a success
    agreement   agreement of the assessors
    curve       (judged, confidence) in the order of the judgments; empty if everything is judged
    source      checksums of the pool (levels, cutoff, systems, pairs and their ranks) and of the judgments
    model       name and version of the model that predicted the unjudged pairs; None if all are judged
    aspects     verdicts on these queries by each aspect, if the others are about the mean of several aspects
    evaluations  evaluations by this and further measures, by name; empty if judgments are missing
    """

    collection: Collection
    verdicts: Verdicts
    headline: Verdicts
    kind: Ranking | None
    satisfied: Array | None
    threshold: float
    agreement: Agreement
    curve: tuple[tuple[int, float | None], ...]
    source: Source
    model: dict[str, str] | None
    aspects: Mapping[str, Verdicts]
    evaluations: Mapping[str, Evaluation]

    @property
    def complete(self) -> bool:
        """True if every pair of the pool is judged."""
        return self.ranking.judged == self.ranking.pool

    @property
    def ranking(self) -> Ranking:
        """The ranking on these queries."""
        return self.verdicts.ranking

    @property
    def judgments(self) -> JudgmentSequence:
        """The judgments behind the record, by aspect if there are several."""
        aspects = self.collection.aspects
        if aspects is None or self.collection.aspect != MEAN:
            return self.collection.judgments
        return aspects.every

    def rows(self) -> list[Row]:
        """One row per system, best first: on these queries, and, if there are several, on queries of this kind.

        expectation, low, high, group, rank_low, rank_high, best, top: on these queries
        score, score_low, score_high: mean over queries of this kind
        satisfied, ..._low, ..._high: P(Sat), the share of users satisfied, likewise
        satisfied_least, satisfied_most: ends of the prediction interval for P(Sat) of a new query, at LEVEL
        satisfied_above: value that P(Sat) of 95 % of new queries exceeds
        success, ..._low, ..._high: P(Succ), the share of queries with P(Sat) above the threshold
        """
        if self.kind is None:
            return self.verdicts.rows()
        scores, (low, high) = self.kind.scores, self.kind.scores.interval(LEVEL)
        rows = []
        for row in self.verdicts.rows():
            place = self.kind.systems.index(row["system"])
            score = Pooled(*(float(values[place]) for values in (scores.mean, low, high))).named("score")
            rows.append(row | score | self._people(place))
        return rows

    def aspect_rows(self) -> list[dict[str, Any]]:
        """One row per aspect and system, best first: the columns of `rows` about these queries."""
        return [{"aspect": name, **row} for name, verdicts in self.aspects.items() for row in verdicts.rows()]

    def _people(self, place: int) -> dict[str, float]:
        if self.satisfied is None:
            return {}
        shares = self.satisfied[:, place]
        least, above, most = np.quantile(shares, [(1 - LEVEL) / 2, 1 - LEVEL, (1 + LEVEL) / 2]).tolist()
        success = Pooled.of_shares((shares > self.threshold).astype(np.float64))
        new = {"satisfied_least": least, "satisfied_most": most, "satisfied_above": above}
        return Pooled.of_shares(shares).named("satisfied") | new | success.named("success")

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems, the better one first: confidence on these queries, differences on such queries.

        difference, satisfied_difference and success_difference have the ends of their intervals, `_low` and `_high`;
        p is of the difference of scores; `equal` tells systems that are known to be.
        """
        rows = [{key: row[key] for key in ("a", "b", "confidence", "equal")} for row in self.ranking.pair_rows()]
        if self.kind is None:
            return rows
        scores = self.kind.scores
        intervals = zip(scores.differences[0], *scores.difference_interval(LEVEL), strict=True)
        for row, better, worse, interval, p in zip(rows, *scores.pairs, intervals, scores.p_values, strict=True):
            row |= Pooled(*map(float, interval)).named("difference") | {"p": float(p)}
            if self.satisfied is not None:
                first, second = self.satisfied[:, better], self.satisfied[:, worse]
                row |= Pooled.of_differences(first - second).named("satisfied_difference")
                succeeds = (first > self.threshold).astype(np.float64) - (second > self.threshold)
                row |= Pooled.of_differences(succeeds).named("success_difference")
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values, ready for JSON."""
        collection, ranking = self.collection, self.ranking
        return {
            "collection": collection.identifier,
            "name": collection.name,
            "measure": str(ranking.measure),
            "queries": ranking.scores.queries,
            "judged": ranking.judged,
            "pool": ranking.pool,
            "comparisons": len(collection.comparisons),
            "headline": self._of(self.headline),
            "beside": self._of(self.verdicts),
            "confidence": ranking.confidence,
            "sentence": self.verdicts.sentence,
            "family_wise": self.verdicts.level,
            "groups": self.verdicts.group_rows(),
            "top_k": self.verdicts.k,
            "level": LEVEL,
            "threshold": self.threshold,
            "imputations": 0 if self.satisfied is None else len(self.satisfied),
            "content": self.source.pool,
            "model": self.model,
            **ranking.check.to_dict(),
            "systems": self.rows(),
            "pairs": self.pair_rows(),
            "agreement": self.agreement.to_dict(),
            "curve": [list(point) for point in self.curve],
            "aspects": {name: verdicts.sentence for name, verdicts in self.aspects.items()},
        }

    @staticmethod
    def _of(verdicts: Verdicts) -> dict[str, Any]:
        """Sentence, confidence and subject of some verdicts."""
        ranking = verdicts.ranking
        return {
            "about": ranking.about.to_dict(),
            "words": ranking.about.words,
            "sentence": verdicts.sentence,
            "confidence": ranking.confidence,
        }


def record_of(
    collection: Collection,
    measure: str | Measure = "CG",
    model: NameOrFile | None = None,
    *,
    others: Iterable[str | Measure] = (),
    estimator: RelevanceEstimator | None = None,
    about: About = OF_THIS_KIND,
    threshold: float = 0.5,
    distribution: DifferenceDistribution = "t",
    imputations: int = IMPUTATIONS,
    curve: Iterable[tuple[int, float | None]] | None = None,
) -> Record:
    """Record of a collection, judged in full or in part.

    model        as for `estimate`; predicts the unjudged pairs
    others       further measures, for scores if everything is judged
    estimator    estimator made of the model already; None: made here
    about        subject of the verdicts, if it is not queries of this kind with these queries beside them
    threshold    threshold of success: a share of the users, in [0, 1]
    imputations  number of completed collections, for the shares of users, if judgments are missing; at least 2
    curve        confidence in the order of the judgments, if it is known; None: computed
    """
    measure = as_measure(measure, collection.cutoff)
    if not 0 <= threshold <= 1:
        raise InputError(f"the threshold of success is a share of the users, from 0 to 1, got {threshold:g}")
    if imputations < 2:
        raise InputError(f"the number of imputations must be at least 2, got {imputations}")
    pool, grades = build_pool(collection, measure.cutoff), collection.grades()
    spread = pool.spread(grades)
    whole = not np.isnan(spread).any()
    start = make_estimator(pool, model) if estimator is None else estimator
    estimator = after_judgments(pool, start, collection.judgments)
    expected, belief = expected_scores(measure, pool), estimator.predict(spread)
    grounds = grounds_of(expected, estimator, belief, distribution, pool.locate_judged(grades))
    kind = None
    if len(pool.queries) >= FEWEST_QUERIES:
        kind = grounds.about(replace(about, queries=OF_THIS_KIND.queries), expected)
    here = THESE if about == OF_THIS_KIND or kind is None else about
    verdicts = headline = with_next(Verdicts(grounds.about(here, expected)), expected, belief)
    if about == OF_THIS_KIND and kind is not None:
        headline = with_next(Verdicts(kind), expected, belief)
    satisfied = _satisfied(collection, pool, measure, grounds.belief, 1 if whole else imputations)
    if curve is None and not whole:
        curve = confidences(pool, measure, start, collection.judgments, distribution=distribution, about=here)
    every = [as_measure(one, collection.cutoff) for one in (measure, *others)] if whole else []
    return Record(
        collection,
        verdicts,
        headline,
        kind,
        satisfied,
        threshold,
        _agreement(collection),
        tuple(curve or ()),
        source_of(pool, spread),
        None if whole else {"name": estimator.name, "version": str(getattr(estimator, "version", ""))},
        _by_aspect(collection, measure, model, distribution),
        {str(one): evaluate(collection, one, success=threshold) for one in every},
    )


def _by_aspect(
    collection: Collection, measure: Measure, model: NameOrFile | None, distribution: DifferenceDistribution
) -> dict[str, Verdicts]:
    """Verdicts on these queries by each aspect of a collection that is ranked by their mean; empty for any other."""
    if collection.aspects is None or collection.aspect != MEAN:
        return {}
    found = {}
    for name in collection.aspects.names:
        own = collection.by_aspect(name)
        pool = build_pool(own, measure.cutoff)
        estimator = after_judgments(pool, make_estimator(pool, model), own.judgments)
        found[name] = verdicts_on(own, estimator, expected_scores(measure, pool), distribution)
    return found


def _satisfied(collection: Collection, pool: Pool, measure: Measure, belief: Belief, times: int) -> Array | None:
    """(m, s, q) P(Sat) of collections completed with drawn grades; None if no mapping is published."""
    people, rng = user_form(measure), np.random.default_rng(0)
    try:
        mapping = published_mapping(people, collection.scale.name)
    except InputError:
        return None
    completed = (belief.grades if times == 1 else drawn_grades(belief, rng) for _ in range(times))
    return np.array([mapping.probability(scores_of(pool, people, grades)) for grades in completed])


def _agreement(collection: Collection) -> Agreement:
    by_assessor = grades_by_assessor(collection.judgments)
    grades = {pair: {name: {"grade": grade} for name, grade in by.items()} for pair, by in by_assessor.items()}
    return agreement(grades, collection.scale)
