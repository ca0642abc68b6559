"""Studies of the stability of an evaluation: generalizability, with one assessor or several, and split halves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, Pair, grades_by_assessor, retrieved_by
from audiosim.errors import InputError
from audiosim.evaluation.evaluation import to_score
from audiosim.measures.measure import Measure
from audiosim.measures.scores import Scores, Unjudged, judged_runs
from audiosim.results.plots import Line, draw_curves
from audiosim.results.value import Result, Row
from audiosim.stats.arrays import Array
from audiosim.stats.generalizability import Crossed, Curve, Nested, crossed, nested
from audiosim.stats.split_half import SplitHalf, split_half
from audiosim.stats.tests import MOST_DRAWS, SAMPLES, named_test

if TYPE_CHECKING:
    from altair import LayerChart

STABLE = 0.95  # coefficient that a query set must reach; Urbano (2013), Tables 6.2 and 6.3
QUERY_COUNTS = (5, 10, 20, 30, 40, 50, 75, 100, 150, 200)


@dataclass(frozen=True, eq=False)
class Reliability(Result):
    """Generalizability study of the scores of a collection.

    measure  measure of the scores
    study    variance components, systems x queries
    growth   rows of `growth_rows`, the study after each further fully judged query; empty if not requested

    Urbano (2013), chapter 6.
    """

    measure: Measure
    study: Crossed
    growth: tuple[dict[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The study as plain values, ready for JSON.

        `system`, `query` and `residual` are shares of the variance; `generalizability` is E rho^2 and `dependability`
        Phi at the present number of queries, each with its 95 % interval. The queries for each are the fewest that
        bring it to .95, None if the systems do not differ.
        """
        study = self.study
        plain = study.shares() | coefficients_of(study, study.curve(study.queries))
        plain |= {"queries": study.queries, "negative": list(study.negative)}
        return plain | ({"growth": list(self.growth)} if self.growth else {})

    def rows(self) -> list[Row]:
        """One row per number of queries: both coefficients and their intervals; of the growth, if requested."""
        return list(self.growth) or self.study.curve(np.array(QUERY_COUNTS, dtype=float)).rows()

    def plot(self) -> "LayerChart":
        """Both coefficients and their 95 % intervals by the number of queries."""
        curve = self.study.curve(np.array(QUERY_COUNTS, dtype=float))
        lines = [
            Line("E rho², of the ranking", curve.queries, curve.relative, curve.relative_lower, curve.relative_upper),
            Line("Phi, of the scores", curve.queries, curve.absolute, curve.absolute_lower, curve.absolute_upper),
        ]
        return draw_curves(lines, "queries", f"stability of {self.measure}")

    def __repr__(self) -> str:
        plain = self.to_dict()
        return (
            f"{self.measure} of {self.study.systems} systems on {self.study.queries} queries: "
            f"E rho^2 {plain['generalizability']:.3f}, Phi {plain['dependability']:.3f}"
        )


def coefficients_of(study: Crossed | Nested, curve: Curve) -> dict[str, Any]:
    """Both coefficients with their intervals, and the numbers of queries that bring them to STABLE, as plain values.

    curve  that of the study at its own number of queries
    """
    found: dict[str, Any] = {}
    for name, kind in (("generalizability", "relative"), ("dependability", "absolute")):
        for end, of in (("", ""), ("_low", "_lower"), ("_high", "_upper")):
            found[f"{name}{end}"] = float(getattr(curve, f"{kind}{of}")[0])
    return found | {
        "queries_for_generalizability": study.queries_for_relative(STABLE),
        "queries_for_dependability": study.queries_for_absolute(STABLE),
    }


@judgments_second
def reliability(
    collection: object,
    measure: str | Measure = "CG",
    *,
    unjudged: Unjudged = "error",
    scale: str | None = None,
    while_judging: bool = False,
    complete: bool = False,
    judgments: object = None,
) -> Reliability:
    """Study how stable the scores of a collection are, and how many queries would suffice.

    collection     `Collection` or its folder
    measure        such as "nDCG@5"
    unjudged       treatment of retrieved documents without judgment; see `judged_runs`
    scale          artificial scale for the judgments, such as graded-4 or binary-40; None for their own
    while_judging  True to study only the fully judged queries, ignoring `unjudged`, and to do so after each of them in
                   the order in which they were completed (section 6.5)
    complete       as for `evaluate`
    judgments      as for `evaluate`
    """
    collection, measure = to_score(collection, measure, scale, judgments, complete)
    if not while_judging:
        return Reliability(measure, crossed(judged_runs(collection, measure.cutoff, unjudged).scores(measure).values))
    scores = judged_runs(collection, measure.cutoff, "zero").scores(measure)
    completed = completed_queries(collection, measure.cutoff)
    if len(completed) < 2:
        raise InputError(
            f"{collection.identifier}: {len(completed)} queries are judged in full down to rank {measure.cutoff}, "
            "a study while judging needs two"
        )
    places = [scores.queries.index(query) for query in completed]
    return Reliability(measure, crossed(scores.values[:, places]), growth_rows(scores, completed))


def growth_rows(scores: Scores, completed: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
    """The coefficients after each further query, from the second on, as far as scores differ.

    completed  by query, in order: number of judgments made when it was complete
    """
    values = scores.values[:, [scores.queries.index(query) for query in completed]]
    rows = []
    for count, judgments in enumerate(completed.values(), start=1):
        if count > 1 and np.ptp(values[:, :count]) > 0:
            study = crossed(values[:, :count])
            found = coefficients_of(study, study.curve(count))
            rows.append({"queries": count, "judgments": judgments} | found)
    return tuple(rows)


def completed_queries(collection: Collection, cutoff: int) -> dict[str, int]:
    """Fully judged queries, all retrieved documents down to a cutoff, in the order of their completion.

    The value is the number of judgments made when the query was complete.
    """
    first: dict[Pair, int] = {}
    for number, judgment in enumerate(collection.judgments, start=1):
        first.setdefault(judgment.pair, number)
    needed = retrieved_pairs(collection, cutoff)
    ready = {
        query: max((first[pair] for pair in pairs), default=0)
        for query, pairs in needed.items()
        if all(pair in first for pair in pairs)
    }
    return dict(sorted(ready.items(), key=lambda item: item[1]))


def retrieved_pairs(collection: Collection, cutoff: int) -> dict[str, set[Pair]]:
    """Documents of each query that any system retrieved down to a cutoff."""
    found = retrieved_by(collection.runs, cutoff)
    return {query: {Pair(query, document) for document in documents} for query, documents in found.items()}


@dataclass(frozen=True, eq=False)
class AssessorReliability(Result):
    """Generalizability study of scores by several assessors of each query.

    measure   measure of the scores
    study     variance components, systems x (assessors within queries)
    left_out  queries that fewer than two assessors judged in full
    seed      seed of the draws of the intervals

    Urbano (2013), section 6.3.
    """

    measure: Measure
    study: Nested
    left_out: tuple[str, ...]
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The study as plain values, ready for JSON.

        `system`, `query`, `assessor`, `system_query` and `residual` are shares of the variance; the coefficients are
        for the present numbers of queries and assessors, with 95 % intervals. `queries_for_...` keeps the number of
        assessors and `assessors_for_...` that of queries; None if no number brings the coefficient to .95.
        """
        study = self.study
        curve = study.curve(study.queries, np.random.default_rng(self.seed))
        found = study.shares() | coefficients_of(study, curve)
        return found | {
            "assessors_for_generalizability": study.assessors_for_relative(STABLE),
            "assessors_for_dependability": study.assessors_for_absolute(STABLE),
            "queries": study.queries,
            "assessors": study.assessors,
            "left_out": list(self.left_out),
            "negative": list(study.negative),
        }

    def rows(self) -> list[Row]:
        """One row per number of queries, with one to four assessors of each: both coefficients and their intervals."""
        sizes = np.array(QUERY_COUNTS, float)
        return [
            row | {"assessors": assessors}
            for assessors in range(1, 5)
            for row in self.study.curve(sizes, np.random.default_rng(self.seed), assessors=assessors).rows()
        ]

    def plot(self) -> "LayerChart":
        """E rho² by the number of queries, with one to four assessors of each."""
        sizes = np.array(QUERY_COUNTS, dtype=float)
        lines = [Line(f"{h} of each", sizes, self.study.relative(sizes, h)) for h in range(1, 5)]
        return draw_curves(lines, "queries", f"E rho² of {self.measure}")

    def __repr__(self) -> str:
        study = self.study
        return (
            f"{self.measure} of {study.systems} systems on {study.queries} queries with {study.assessors} "
            f"assessors each: E rho^2 {float(study.relative()):.3f}, Phi {float(study.absolute()):.3f}"
        )


def assessor_reliability(
    collection: object,
    measure: str | Measure = "CG",
    *,
    judgments: object = None,
    scale: str | None = None,
    seed: int = 0,
) -> AssessorReliability:
    """Study the stability of scores if several assessors each judged whole queries.

    collection  `Collection` or its folder, whose judgments name their assessors
    judgments   as for `reliability`, as is scale
    seed        seed of the draws of the intervals

    Queries that fewer than two assessors judged in full are left out. If queries differ in the number of their
    assessors, each is cut to the smallest number, first by name, so that the design is balanced.
    """
    collection, measure = to_score(collection, measure, scale, judgments)
    by_query = complete_assessors(collection, measure.cutoff)
    several = {query: names for query, names in by_query.items() if len(names) > 1}
    if len(several) < 2:
        raise InputError(
            f"{collection.identifier}: {len(several)} queries are judged in full by two assessors or more, "
            "a study of assessors needs two such queries"
        )
    fewest = min(len(names) for names in several.values())
    parts = [_judged_by(collection, {query: names[j] for query, names in several.items()}) for j in range(fewest)]
    cube = np.stack([judged_runs(part, measure.cutoff).scores(measure).values for part in parts], axis=2)
    left_out = tuple(query for query in by_query if query not in several)
    return AssessorReliability(measure, nested(cube), left_out, seed)


def complete_assessors(collection: Collection, cutoff: int) -> dict[str, list[str]]:
    """Assessors, by query, who judged all documents that any system retrieved down to a cutoff."""
    by_assessor = grades_by_assessor(collection.judgments)
    needed = retrieved_pairs(collection, cutoff)
    return {
        query: sorted(set.intersection(*(set(by_assessor.get(pair, {})) for pair in pairs)) if pairs else ())
        for query, pairs in needed.items()
    }


def _judged_by(collection: Collection, assessors: Mapping[str, str]) -> Collection:
    """The collection with only some queries, and only the judgments of one assessor for each."""
    kept: list[Judgment] = [one for one in collection.judgments if assessors.get(one.query, None) == one.assessor]
    runs = [
        replace(run, rankings={query: run.rankings.get(query, ()) for query in assessors}) for run in collection.runs
    ]
    return replace(collection, runs=tuple(runs), judgments=tuple(kept))


def split_half_study(
    collection: object,
    measure: str | Measure = "CG",
    *,
    test: str = "t",
    trials: int = 300,
    resamples: int = SAMPLES,
    unjudged: Unjudged = "error",
    judgments: object = None,
    scale: str | None = None,
    seed: int | np.random.Generator = 0,
) -> SplitHalf:
    """Study the stability of significant differences on a random half of the queries in the other half.

    collection  `Collection` or its folder
    test        t, wilcoxon, sign, bootstrap or permutation
    trials      number of splits
    resamples   number of resamples of the last two tests
    unjudged    as for `judged_runs`
    judgments   as for `reliability`, as is scale
    seed        seed of the splits, or a generator

    Urbano (2013), section 5.3.
    """
    collection, measure = to_score(collection, measure, scale, judgments)
    scores: Array = judged_runs(collection, measure.cutoff, unjudged).scores(measure).values
    return split_half(scores, test, np.random.default_rng(seed), trials=trials, samples=resamples)


def stability(
    collection: object,
    measure: str | Measure = "CG",
    *,
    unjudged: Unjudged = "error",
    complete: bool = False,
    assessors: bool = False,
    split_half: bool = False,
    while_judging: bool = False,
    test: str = "t",
    trials: Annotated[int, Ge(1), Le(MOST_DRAWS)] = 300,
    resamples: int = SAMPLES,
    seed: int = 0,
) -> Reliability | AssessorReliability | SplitHalf:
    """Estimate how stable the scores are, and how many queries are needed: a generalizability study.

    unjudged       how to treat a retrieved document without a judgment: error, zero (gain 0) or skip (ignore it)
    complete       keep only systems and queries that are judged down to the cutoff
    assessors      estimate what more assessors would add, from queries judged in full by at least two
    split_half     test on half of the queries, and show how often a significant difference holds on the other half
    while_judging  repeat the study after each query that was judged in full, in the order of judging
    test           of the differences in split halves: t, wilcoxon, sign, bootstrap or permutation
    trials         number of splits in halves
    resamples      number of resamples of bootstrap and permutation

    Examples: `audiosim reliability demo --judgments demo/truth.qrels --measure CG@5 --measure GAP@5`

    `audiosim reliability mine --assessors` (a collection that several people have judged)

    `audiosim reliability demo --judgments demo/truth.qrels --while-judging`

    `audiosim reliability demo --judgments demo/truth.qrels --split-half --test wilcoxon`
    """
    kinds = {"assessors": assessors, "split_half": split_half, "while_judging": while_judging}
    given = [f"`{name}=True`" for name, wanted in kinds.items() if wanted]
    if len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} cannot be combined: each is a study of its own")
    named_test(test)  # whether or not it is used
    collection, measure = to_score(collection, measure, None, complete=complete)
    if assessors:
        return assessor_reliability(collection, measure, seed=seed)
    if split_half:
        return split_half_study(
            collection, measure, test=test, trials=trials, resamples=resamples, unjudged=unjudged, seed=seed
        )
    return reliability(collection, measure, unjudged=unjudged, while_judging=while_judging)
