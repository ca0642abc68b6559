"""Evaluation with full judgments: scores, people, tests between systems."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from audiosim.collection.arguments import judgments_second
from audiosim.collection.check import complete_part
from audiosim.collection.collection import Collection
from audiosim.collection.grading import on_scale
from audiosim.collection.pool import build_pool
from audiosim.collection.values import grouped
from audiosim.errors import ArgumentError, InputError, check_count
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.satisfaction import number_satisfied, published_mapping, user_form
from audiosim.measures.satisfaction import success as probability_of_success
from audiosim.measures.scores import Scores, Unjudged, judged_runs, score_bounds
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, listed, plain, rows_of
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.distributions import DistributionFits, Empirical, fit_distributions
from audiosim.stats.ranks import Friedman, RankAgreement, RankComparison, friedman_test, rank_agreement, tukey_test
from audiosim.stats.score_matrix import Interval, mean_interval, prediction_interval
from audiosim.stats.tests import (
    LISTENERS,
    MOST_DRAWS,
    SAMPLES,
    TESTS,
    Comparison,
    benjamini_hochberg,
    crossed_test,
    holm,
    paired_test,
)
from audiosim.text import NOTES, counted

if TYPE_CHECKING:
    from altair import LayerChart

FRIEDMAN = "friedman"  # test of all systems at once, with Tukey's honestly significant differences between all pairs
SYSTEM_TESTS = (*TESTS, FRIEDMAN, LISTENERS)
SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Scores of fully judged systems, and statements about their differences.

    scores      scores of the s systems, best first
    intervals   (s) the mean score of each and its 95 % interval, see `mean_interval`
    new         (s) 95 % prediction interval for the score on one new query, for normal scores; rows cut it to [0, 1],
                and widen it to hold that of the mean, which takes no distribution for granted
    satisfied   (s) the share of users that the system satisfies, and its 95 % interval over queries;
                None if no mapping to users is published for this measure and scale
    success     (s,) P(Succ): the probability that most users are satisfied on a new query; None likewise
    test        between systems, one of SYSTEM_TESTS
    comparison  test of differences between all pairs of systems; None for one system, one query, or Friedman's test
    ranks       Friedman's test and Tukey's comparison of all pairs by mean rank; None with any other test
    bounds      (s) each: bounds of the mean if all documents were judged; None: not requested
    of_users    (s, n + 1) the probability that 0, 1, ... n users of arbitrary queries are satisfied; None likewise
    """

    _index: ClassVar = ("system",)
    _shown: ClassVar = ("mean", "low", "high")

    scores: Scores
    intervals: tuple[Interval, ...]
    new: tuple[Interval, ...]
    satisfied: tuple[Interval, ...] | None
    success: Array | None
    test: str
    comparison: Comparison | None
    ranks: tuple[Friedman, RankComparison] | None = None
    bounds: tuple[Array, Array] | None = None
    of_users: Array | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One row per system, best first."""
        rows, means = [], self.scores.means.tolist()
        for place, (system, mean, new) in enumerate(zip(self.scores.systems, self.intervals, self.new, strict=True)):
            row = {"system": system, "mean": means[place], "low": mean.lower, "high": mean.upper}
            highest = 1.0 if self.scores.measure.bounded else math.inf
            row |= {"new_query_low": max(0.0, min(new.lower, mean.lower))}
            row |= {"new_query_high": min(highest, max(new.upper, mean.upper))}
            if self.satisfied is not None and self.success is not None:
                people = self.satisfied[place]
                row |= {"satisfied": people.estimate, "satisfied_low": people.lower, "satisfied_high": people.upper}
                row |= {"success": float(self.success[place])}
            if self.of_users is not None:
                row |= _users(self.of_users[place])
            if self.ranks is not None:
                row |= {"mean_rank": float(self.ranks[0].mean_ranks[place])}
            if self.bounds is not None:
                row |= {"least": float(self.bounds[0][place]), "most": float(self.bounds[1][place])}
            rows.append(row)
        return rows

    def pair_rows(self) -> list[dict[str, Any]]:
        """One row per pair of systems, the better one first: difference, effect size, interval, p-values.

        Intervals of differences end where these do: at -1 and 1, unless the scores are unbounded. With Friedman's test
        the better one and the differences are by mean rank, and p is adjusted for all pairs already.
        """
        if self.ranks is not None:
            return self._rank_rows(self.ranks[1])
        found = self.comparison
        if found is None:
            return []
        names, most = self.scores.systems, 1.0 if self.scores.measure.bounded else math.inf
        columns = {
            "difference": found.difference,
            "effect_size": found.standardised,
            "low": np.maximum(-most, found.lower),
            "high": np.minimum(most, found.upper),
            "p": found.p_value,
            "p_holm": holm(found.p_value),
            "p_benjamini_hochberg": benjamini_hochberg(found.p_value),
        }
        return _pair_rows(names, found.first, found.second, columns)

    def _rank_rows(self, found: RankComparison) -> list[dict[str, Any]]:
        turned = found.difference < 0  # the order of mean ranks is not that of mean scores
        first, second = np.where(turned, (found.second, found.first), (found.first, found.second))
        low, high = np.where(turned, (-found.upper, -found.lower), (found.lower, found.upper))
        columns = {"difference": np.abs(found.difference), "low": low, "high": high, "p": found.p_value}
        return _pair_rows(self.scores.systems, first, second, columns)

    @property
    def significant(self) -> int:
        """Number of pairs of systems with significant differences at .05, over all pairs together."""
        adjusted = "p" if self.ranks is not None else "p_holm"
        return sum(row[adjusted] < SIGNIFICANT for row in self.pair_rows())

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, ready for JSON; an infinite end or effect size is null."""
        single = min(self.scores.values.shape) < 2
        found: dict[str, Any] = {"queries": len(self.scores.queries), "test": None if single else self.test}
        if self.ranks is not None:
            test = self.ranks[0]
            found["friedman"] = {"chi_squared": test.statistic, "freedom": test.freedom, "p": test.p_value}
        found |= {"systems": self.rows(), "pairs": self.pair_rows()}
        return {name: plain(one) for name, one in found.items()}

    def agreement(self, other: "Evaluation") -> RankAgreement:
        """Agreement with the ranking of the same systems by another measure."""
        theirs = dict(zip(other.scores.systems, other.scores.means, strict=True))
        return rank_agreement(self.scores.means, np.array([theirs[system] for system in self.scores.systems]))

    def __repr__(self) -> str:
        means = self.scores.means
        best = [system for system, mean in zip(self.scores.systems, means, strict=True) if mean == means.max()]
        pairs = len(self.pair_rows())
        differing = f"; {self.significant} of {pairs} pairs of systems differ at .05 ({self.test})" if pairs else ""
        shape = f"{counted(len(self.scores.systems), 'system')} on {counted(len(self.scores.queries), 'query')}"
        return f"{self.scores.measure} of {shape}: best {listed(best)} at {means.max():.3f}{differing}"

    def plot(self) -> "LayerChart":
        """The mean score of each system with its 95 % interval, best on top."""
        rows = self.rows()
        low, middle, high = ([row[key] for row in rows] for key in ("low", "mean", "high"))
        return draw_intervals([row["system"] for row in rows], low, middle, high, str(self.scores.measure))


def agreement_rows(found: Mapping[str, Evaluation]) -> list[dict[str, Any]]:
    """One row for every two measures of the same systems: accuracy, tau, rho and RMSE of differences of one to other.

    found  evaluations by measure; see `RankAgreement`
    """
    return [{"a": a, "b": b} | asdict(found[a].agreement(found[b])) for a, b in combinations(found, 2)]


def _pair_rows(
    names: tuple[str, ...], first: Integers, second: Integers, columns: dict[str, Array]
) -> list[dict[str, Any]]:
    systems = np.array(names, dtype=object)
    return rows_of({"a": systems[first], "b": systems[second]} | columns)


def _users(chances: Array) -> dict[str, Any]:
    """Number of satisfied users: the mean, and the probability of more than half of them."""
    users = len(chances) - 1
    return {
        "users": users,
        "users_satisfied": float(chances @ np.arange(users + 1)),
        "most_satisfied": float(chances[users // 2 + 1 :].sum()),
        "users_probabilities": chances.tolist(),
    }


@judgments_second
def evaluate(
    collection: object,
    measure: str | Measure = "CG",
    *,
    unjudged: Unjudged = "error",
    test: str = "t",
    seed: int | np.random.Generator = 0,
    resamples: Annotated[int, Ge(1), Le(MOST_DRAWS)] = SAMPLES,
    scale: str | None = None,
    users: Annotated[int, Ge(1)] | None = None,
    success: Annotated[float, Ge(0), Le(1)] = 0.5,
    complete: bool = False,
    judgments: object = None,
) -> Evaluation:
    """Score systems whose documents are all judged: mean scores, satisfied users, tests of all pairs.

    collection  `Collection` or its folder, or runs in memory; see `Collection.from_frames`
    measure     such as "nDCG@5"
    unjudged    treatment of retrieved documents without judgment: `error`, `zero` (with bounds of the complete
                scores, see `score_bounds`), or `skip` (those below it move up)
    test        test between systems: t, wilcoxon, sign, bootstrap, permutation or friedman, MIREX's own, followed by
                Tukey's honestly significant differences; or listeners, which treats the assessors as a sample too
    seed        seed of bootstrap and permutation, or a generator
    resamples   number of resamples of bootstrap and permutation
    scale       artificial scale for the judgments, such as graded-4 or binary-40; None for their own
    users       number of users of arbitrary queries for the computation of satisfaction; None: not computed
    success     share of satisfied users above which a result list is a success, for P(Succ)
    complete    keep only systems and queries that are judged down to the cutoff; a note says how many are left
    judgments   judgments in memory, or a file, instead of the collection's; `evaluate(runs, qrels)` also works

    Treating unjudged documents as zero also gives the lowest and the highest score that each system could have if
    everything were judged. Several measures are compared by how they rank the systems: tau, rho and the RMSE of the
    differences. Intervals have 95 %. P-values are adjusted for all pairs by Holm and by Benjamini and Hochberg; Tukey's
    need no adjustment. A single query gives scores without tests.

    Examples: `audiosim evaluate demo --judgments demo/truth.qrels --measure nDCG@5 --test friedman`

    `audiosim evaluate demo --judgments demo/truth.qrels --measure AP@5 --scale binary-40 --users 15`
    """
    if test not in SYSTEM_TESTS:
        raise ArgumentError("test", f"test must be one of {', '.join(SYSTEM_TESTS)}, got {test!r}")
    check_count("resamples", resamples)
    collection, measure = to_score(collection, measure, scale, judgments, complete)
    runs = judged_runs(collection, measure.cutoff, unjudged)
    for note in runs.notes:
        NOTES.info("%s", note)
    found = runs.scores(measure)
    order = found.order
    scores = Scores(measure, tuple(found.systems[i] for i in order), found.queries, found.values[order])
    people = runs.scores(user_form(measure)).values[order]
    satisfied, succeeds = _people(measure, collection.scale.name, people, success)
    ranks = None
    tested = len(order) > 1 and len(scores.queries) > 1
    if test == FRIEDMAN and tested:
        ranks = (friedman := friedman_test(scores.values)), tukey_test(friedman)
    comparison = None
    if test in TESTS and tested:
        comparison = paired_test(scores.values, test, np.random.default_rng(seed), samples=resamples)
    elif test == LISTENERS and tested:
        comparison = crossed_test(_by_listener(collection, measure)[order])
    return Evaluation(
        scores=scores,
        intervals=tuple(mean_interval(row, bounded=measure.bounded) for row in scores.values),
        new=tuple(prediction_interval(row) for row in scores.values),
        satisfied=satisfied,
        success=succeeds,
        test=test,
        comparison=comparison,
        ranks=ranks,
        bounds=_bounds(collection, measure, order) if unjudged == "zero" else None,
        of_users=None if users is None else _of_users(measure, collection.scale.name, people, users),
    )


def to_score(
    collection: object, measure: str | Measure, scale: str | None, judgments: object = None, complete: bool = False
) -> tuple[Collection, Measure]:
    """The collection on a scale, on request only its complete part, and the measure with a cutoff; see `evaluate`."""
    collection = on_scale(collection, scale, judgments)
    measure = as_measure(measure, collection.cutoff)
    return complete_part(collection, measure.cutoff) if complete else collection, measure


@judgments_second
def fits(
    collection: object,
    measure: str | Measure = "CG",
    *,
    unjudged: Unjudged = "error",
    scale: str | None = None,
    complete: bool = False,
    seed: int | np.random.Generator = 0,
    judgments: object = None,
) -> DistributionFits:
    """Compare distributions of scores: normal, truncated normal, Beta and empirical, fitted to half of the queries.

    The distance from the scores on the other half is omega (Cramér-von Mises); see `fit_distributions`.

    collection  as for `evaluate`
    unjudged    treatment of retrieved documents without judgment: `error`, `zero` or `skip`
    complete    keep only systems and queries that are judged down to the cutoff
    seed        seed of the splits, or a generator

    Example: `audiosim fits demo --judgments demo/truth.qrels`
    """
    collection, measure = to_score(collection, measure, scale, judgments, complete)
    return fit_distributions(judged_runs(collection, measure.cutoff, unjudged).scores(measure).values, seed)


def _by_listener(collection: Collection, measure: Measure) -> Array:
    """(s, q, a) scores by the grades of each person alone; every person has judged every retrieved document."""
    theirs = grouped((judgment.assessor, judgment) for judgment in collection.judgments)
    wanted = set(build_pool(collection, measure.cutoff).pairs)
    complete = [own for own in theirs.values() if wanted <= {one.pair for one in own}]
    if not len(complete) == len(theirs) > 1:
        raise InputError(
            f"the test listeners needs two people or more who all judged every retrieved document; {len(complete)} of "
            f"{len(theirs)} did. `audiosim compare` with --about queries --about listeners needs some judgments of each"
        )
    every = judged_runs(collection, measure.cutoff)
    found = np.zeros((len(every.systems), len(every.queries), len(complete)))
    for number, own in enumerate(complete):
        runs = judged_runs(replace(collection, judgments=tuple(own)), measure.cutoff)
        found[:, [every.queries.index(query) for query in runs.queries], number] = runs.scores(measure).values
    return found


def _of_users(measure: Measure, scale: str, values: Array, users: int) -> Array:
    """(s, n + 1) probabilities of 0 to n satisfied users, as means over the queries, from scores (s, q).

    Urbano (2013), equation 4.2.
    """
    mapping = published_mapping(user_form(measure), scale)
    return np.asarray(sum(number_satisfied(one, users) for one in mapping.probability(values).T) / values.shape[1])


def _bounds(collection: Collection, measure: Measure, order: Integers) -> tuple[Array, Array]:
    low, high = score_bounds(collection, measure)
    return low.mean(axis=1)[order], high.mean(axis=1)[order]


def _people(
    measure: Measure, scale: str, values: Array, threshold: float
) -> tuple[tuple[Interval, ...] | None, Array | None]:
    """The share of users satisfied by each system, and P(Succ), from its user-oriented scores (s, q)."""
    try:
        mapping = published_mapping(user_form(measure), scale)
    except InputError:
        return None, None
    shares = mapping.probability(values)
    distributions = [Empirical(row) for row in values]
    intervals = tuple(mean_interval(row, bounded=True) for row in shares)
    return intervals, np.array([probability_of_success(one, mapping, threshold) for one in distributions])
