"""Scores of every system for every query, if all documents are judged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from audiosim.collection.collection import Collection
from audiosim.collection.facts import check_judgments
from audiosim.collection.kinds import read_judgments, read_runs
from audiosim.collection.values import (
    CodedJudgments,
    CodedRankings,
    Judgment,
    Results,
    Scale,
    coded,
    fits_table,
    graded_pairs,
    judged_keys,
    judged_names,
    on_one_table,
)
from audiosim.errors import InputError, not_judged
from audiosim.measures.measure import MINIMUM, Measure, as_measure, score, usual_minimum
from audiosim.results.value import cached_property, frame_of
from audiosim.stats.arrays import Array, Integers, places_within
from audiosim.stats.inference.ties import equalised
from audiosim.text import choices, counted

if TYPE_CHECKING:
    import pandas as pd


Unjudged = Literal["error", "zero", "skip"]
NEARLY_ALL = 0.9  # share of relevant pairs from which on a measure of relevant ones says little


@dataclass(frozen=True, eq=False)
class Scores:
    """Score of each system for each query.

    measure  measure of the scores
    systems  s names
    queries  q names
    values   (s, q) scores; those of one query that differ by rounding alone become equal
    """

    measure: Measure
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    values: Array

    def __post_init__(self) -> None:
        expected = (len(self.systems), len(self.queries))
        if self.values.shape != expected:
            raise InputError(f"scores must be {expected} to match systems and queries, got {self.values.shape}")
        object.__setattr__(self, "values", equalised(self.values, self.measure.bounded))

    @property
    def means(self) -> Array:
        """(s,) mean score of each system over the queries; those that differ by rounding alone are equal."""
        return equalised(self.values.mean(axis=1), self.measure.bounded)

    @property
    def order(self) -> Integers:
        """(s,) the systems by mean score, best first; equal ones in the order of the runs."""
        return np.argsort(-self.means, kind="stable")

    def to_frame(self) -> "pd.DataFrame":
        """The scores as a pandas table: one row per system, one column per query."""
        table = frame_of(
            [[system, *row] for system, row in zip(self.systems, self.values, strict=True)],
            ["system", *self.queries],
            ["system"],
        )
        return table.rename_axis("query", axis=1)


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """Rankings with the grades of their documents, from which all measures are computed.

    scale    scale of the grades
    systems  s names
    queries  q names
    grades   (s, q, n) grade at each rank, best rank first; NaN where nothing was retrieved
    judged   (q, m) grades of all judged documents of each query, best first, 0 after the last
    cutoff   last rank that was read
    notes    one sentence for each way in which the queries of runs and judgments differ
    """

    scale: Scale
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    grades: Array
    judged: Array
    cutoff: int
    notes: tuple[str, ...] = ()

    def scores(self, measure: str | Measure) -> Scores:
        """Score of each system for each query, down to at most the cutoff of the rankings."""
        measure = as_measure(measure)
        if measure.cutoff > self.cutoff:
            raise InputError(f"{measure} needs the first {measure.cutoff} results, {self.cutoff} were read")
        values = score(measure, self.scale, self.grades, self.judged)
        return Scores(measure, self.systems, self.queries, values)


def judged_runs(collection: Collection, cutoff: int, unjudged: Unjudged = "error") -> JudgedRuns:
    """The rankings of a collection down to a cutoff, with the grades of their documents.

    unjudged  treatment of documents without judgment: `error`; `zero`, they gain 0; `skip`, lower ones move up, as in
              the condensed lists of Sakai (2007)

    Queries are the judged ones, as in trec_eval: those of the runs in order of first appearance, then others. A system
    that retrieves nothing for a query gains nothing there.
    """
    given, rankings = graded_pairs(collection.judgments), [run.rankings for run in collection.runs]
    queries, grades, judged = grades_of(collection.identifier, rankings, given, cutoff, unjudged)
    systems = tuple(run.system for run in collection.runs)
    return JudgedRuns(
        collection.scale, systems, queries, grades, judged, cutoff, tuple(_query_notes(collection, queries))
    )


def _query_notes(collection: Collection, queries: Sequence[str]) -> Iterator[str]:
    """Sentences on queries that some system does not answer, and on answered ones that do not count."""
    judged, runs = set(queries), collection.runs
    missing = {run.system: len(judged - run.rankings.keys()) for run in runs}
    if some := [f"{system} {count}" for system, count in missing.items() if count]:
        yield f"queries that a system does not answer count 0 for it: {', '.join(some)} of {len(queries)}"
    if left := {query for run in runs for query in run.rankings} - judged:
        yield f"{counted(len(left), 'query')} of the runs, such as {min(left)}, not judged at all: left out"


def scores(collection: Collection, measure: str | Measure = "CG", unjudged: Unjudged = "error") -> Scores:
    """Score of each system of a collection for each query, by its judgments.

    measure   such as "nDCG@5"
    unjudged  treatment of a document without judgment: `error`, `zero` or `skip`
    """
    measure = as_measure(measure, collection.cutoff)
    return judged_runs(collection, measure.cutoff, unjudged).scores(measure)


def grades_of(
    name: str, rankings: Sequence[Mapping[str, tuple[str, ...]]], given: CodedJudgments, cutoff: int, unjudged: str
) -> tuple[tuple[str, ...], Array, Array]:
    """Queries; (s, q, n) grades of the documents of each system, NaN after the last; (q, m) as in `JudgedRuns`.

    Queries are the judged ones; with unjudged=error, or without any judgment, those of the runs too.

    name      name of the collection, for error messages
    rankings  documents of each system for each query, best first
    """
    check_unjudged(unjudged)
    runs = on_one_table([coded(one) for one in rankings])
    answered, asked = dict.fromkeys(query for run in runs for query in run.queries), judged_names(given)[0]
    both = [query for query in answered if query in asked or unjudged == "error" or not asked]
    queries = {query: code for code, query in enumerate(dict.fromkeys((*both, *asked)))}
    known = _Known.of(given, queries, runs)
    depth = None if unjudged == "skip" else cutoff
    longest = max((int(run.lengths.max(initial=0)) for run in runs), default=0)
    table = np.full((len(runs), len(queries), min(longest, cutoff)), np.nan)
    missing: list[_Graded] = []
    deepest = 0
    # One system after the other: all results as codes of 8 bytes would take four times as much.
    for system, run in enumerate(runs):
        of = _graded(run, queries, known, depth)
        if unjudged == "error" and np.isnan(of.grade).any():
            missing.append(of.lines(np.flatnonzero(np.isnan(of.grade))))
        of = _settled(of, unjudged, cutoff)
        table[system, of.query, of.rank - 1] = of.grade
        deepest = max(deepest, int(of.rank.max(initial=0)))
    if missing:
        if not asked:
            raise not_judged(f"{name}: nothing is judged")
        raise _incomplete(name, tuple(queries), runs, missing)
    return tuple(queries), table[:, :, :deepest], known.best_first()


class _Graded(NamedTuple):
    """The results of a system, ranking after ranking.

    query     (r,) codes; each ranking is contiguous
    document  (r,) codes
    rank      (r,) rank, from 1
    grade     (r,) NaN where unjudged
    """

    query: Integers
    document: Integers
    rank: Integers
    grade: Array

    def lines(self, which: Integers) -> "_Graded":
        return _Graded(self.query[which], self.document[which], self.rank[which], self.grade[which])


@dataclass(frozen=True, eq=False)
class _Known:
    """Grades of pairs by codes.

    queries  number of queries
    names    number of documents with a code
    results  number of results with grades that will be requested
    keys    (g,) query x names + document, rising
    grades  (g,) their grades
    query   (j,) query of every grade, including those of documents without a code
    every   (j,) all these grades
    """

    queries: int
    names: int
    results: int
    keys: Integers
    grades: Array
    query: Integers
    every: Array

    @classmethod
    def of(cls, given: CodedJudgments, queries: Mapping[str, int], runs: Sequence[CodedRankings]) -> "_Known":
        names = runs[0].names if runs else ()
        query, grades = given.query.on(queries), given.grades
        document = given.document.on({document: code for code, document in enumerate(names)})
        ours, keys = query >= 0, query * len(names) + document
        order = np.flatnonzero(ours & (document >= 0))
        order = order[np.argsort(keys[order])]
        results = sum(len(run.documents) for run in runs)
        return cls(len(queries), len(names), results, keys[order], grades[order], query[ours], grades[ours])

    def find(self, keys: Integers) -> Array:
        """(r,) grades of some keys; NaN for unknown ones."""
        if not len(self.keys):
            return np.full(len(keys), np.nan)
        if self._places is not None:
            return np.append(self.grades, np.nan)[self._places[keys]]
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.grades[place], np.nan)

    @cached_property
    def _places(self) -> NDArray[np.int32] | None:
        """The place of each key in `keys`, -1 if it is missing; None if there are too many possible keys."""
        if not fits_table(self.queries * self.names, self.results):
            return None
        places = np.full(self.queries * self.names, -1, dtype=np.int32)
        places[self.keys] = np.arange(len(self.keys), dtype=np.int32)
        return places

    def best_first(self) -> Array:
        """(q, m) grades of each query's documents, best first, 0 after the last."""
        return best_first(self.every, self.query, self.queries)


def best_first(grades: Array, query: Integers, queries: int) -> Array:
    """(q, m) the grades (n,) of each query, best first, 0 after the last.

    query  (n,) code of the query of each grade
    """
    order = np.lexsort((-grades, query))
    query = query[order]
    sizes = np.bincount(query, minlength=queries)
    table = np.zeros((queries, int(sizes.max(initial=0))))
    table[query, places_within(sizes)] = grades[order]
    return table


def _graded(run: CodedRankings, queries: Mapping[str, int], known: _Known, depth: int | None) -> _Graded:
    """The results of a system down to a depth."""
    rank = places_within(run.lengths) + 1
    own = np.array([queries.get(query, -1) for query in run.queries], dtype=np.int64)
    query = np.repeat(own, run.lengths)
    kept = np.flatnonzero((query >= 0) & (rank <= (rank.max(initial=0) if depth is None else depth)))
    query, document = query[kept], run.documents[kept].astype(np.int64)
    return _Graded(query, document, rank[kept], known.find(query * known.names + document))


def _settled(of: _Graded, unjudged: str, cutoff: int) -> _Graded:
    """Results without unknown grades: these become 0, or their documents are left out and lower ones move up."""
    if unjudged != "skip":
        return of._replace(grade=np.nan_to_num(of.grade))
    judged = of.lines(np.flatnonzero(~np.isnan(of.grade)))
    starts = np.flatnonzero(np.diff(judged.query, prepend=-1))
    rank = places_within(np.diff(np.append(starts, len(judged.query)))) + 1
    return judged._replace(rank=rank).lines(np.flatnonzero(rank <= cutoff))


def check_unjudged(unjudged: str) -> None:
    if unjudged not in get_args(Unjudged):
        raise InputError(
            f"unknown choice {unjudged!r} for unjudged documents, expected {choices(unjudged, get_args(Unjudged))}"
        )


def _incomplete(
    name: str, queries: Sequence[str], runs: Sequence[CodedRankings], missing: Sequence[_Graded]
) -> InputError:
    """Error message about results without judgment: the number of pairs, and the first one.

    missing  unjudged results, for each system with any
    """
    of = missing[0]
    line = np.lexsort((of.rank, of.query))[0]
    count = len(np.unique(np.concatenate([np.stack([one.query, one.document]) for one in missing], 1), axis=1).T)
    said = f"the first is document {runs[0].names[of.document[line]]} for query {queries[of.query[line]]}"
    return InputError(
        f"{name}: {counted(count, 'retrieved pair', 'is')} not judged, {said}; "
        'choose `unjudged="zero"` or `unjudged="skip"`, or let estimate predict them'
    )


def judgments_beyond(collection: Collection, measure: Measure) -> int:
    """Number of judgments about documents that no system has down to the cutoff."""
    there = Results.of(collection.runs, measure.cutoff)
    return len(collection.judgments) - int(np.isin(judged_keys(there, collection.judgments), there.keys).sum())


def indiscriminate_in_words(collection: Collection, measure: Measure) -> str:
    """A sentence on a measure for which nine in ten judged pairs or more are relevant; empty if it tells more apart.

    Only for measures that count each grade above 0 as relevant, because no lowest one was chosen.
    """
    scale = collection.scale
    if measure.lowest_relevant or MINIMUM not in measure.definition.parameters or len(scale.levels) == 2:
        return ""
    grades = graded_pairs(collection.judgments).grades
    relevant = int((grades > 0).sum())
    if not len(grades) or relevant < NEARLY_ALL * len(grades):
        return ""
    least = usual_minimum(scale, scale.levels[1])
    other = replace(measure, parameters=(*measure.parameters, ("min", least)))
    counts = f"{relevant:,} of {len(grades):,} judged pairs"
    return f"{measure} counts every grade above 0 as relevant, {counts}; {other} counts grades from {least:g} on"


# Lower and upper bounds of scores over all possible values of the missing judgments.


# Measures without weights of ranks that never fall when a document in the ranking gets a higher grade, and never rise
# when one in the ideal ranking does.
RISING = {"P", "AP", "RR", "Q", "ERR", "GAP"}


def score_bounds(collection: Collection, measure: str | Measure) -> tuple[Array, Array]:
    """Lowest and highest score that each system could have for each query if all documents were judged, (s, q) each.

    The lowest score gives unjudged documents the lowest grade in a ranking and the highest in the ideal; the highest
    score does the opposite. The difference is the residual of Moffat & Zobel (2008), doi:10.1145/1416950.1416952. Exact
    for measures without an ideal. With an ideal, ranking and ideal are bounded separately, so the bounds contain the
    true score but may be too wide. Documents that no system retrieves down to the cutoff keep their grades. NaN for
    measures that may fall when a grade rises: EDCG, ADR, and those of other packages that are not weighted sums over
    ranks.
    """
    measure = as_measure(measure)
    if not has_bounds(measure):
        unknown = np.full(judged_runs(collection, measure.cutoff, "zero").grades.shape[:2], np.nan)
        return unknown, unknown
    least = judged_runs(collection, measure.cutoff, "zero")
    most = judged_runs(_filled(collection, measure.cutoff, set(least.queries)), measure.cutoff, "zero")
    return bounds_of_grades(measure, collection.scale, (least.grades, least.judged), (most.grades, most.judged))


def has_bounds(measure: Measure) -> bool:
    """True if scores never fall when a document in the ranking gets a higher grade: see `score_bounds`."""
    return measure.rank_weights is not None or measure.name in RISING


def bounds_of_grades(
    measure: Measure, scale: Scale, least: tuple[Array, Array], most: tuple[Array, Array]
) -> tuple[Array, Array]:
    """`score_bounds` of grades of results (s, q, n) and of all judged documents (q, m), each at the lowest and highest.

    least  grades of both with the lowest grade where unjudged
    most   the same with the highest
    """
    low, fully = (score(measure, scale, grades, most[1]) for grades in (least[0], most[0]))
    # A score above 0 implies a relevant document; each measure decides the grade that counts as relevant.
    some = (scale.levels[1], scale.maximum)
    high = [score(measure, scale, most[0], _at_least(least[1], level)) for level in some]
    return low, np.minimum(np.maximum.reduce([fully, *high]), np.maximum(fully, 1.0))


def _filled(collection: Collection, cutoff: int, queries: Set[str]) -> Collection:
    """The collection with the highest grade for every unjudged document of these queries down to the cutoff."""
    judged = {judgment.pair for judgment in collection.judgments}
    missing = dict.fromkeys(
        (query, document)
        for run in collection.runs
        for query, documents in run.rankings.items()
        for document in documents[:cutoff]
        if query in queries and (query, document) not in judged
    )
    more = tuple(Judgment(*pair, collection.scale.maximum) for pair in missing)
    return replace(collection, judgments=collection.judgments + more)


def _at_least(judged: Array, level: float) -> Array:
    """(q, m) grades, best first, with the best raised to at least a level."""
    first = np.maximum(judged[:, :1], level) if judged.shape[1] else np.full((len(judged), 1), level)
    return np.concatenate([first, judged[:, 1:]], axis=1)


# Scores directly from files of runs and judgments, without a collection.


def judged_files(
    runs: Iterable[str | Path],
    judgments: str | Path,
    cutoff: int,
    scale: Scale | None = None,
    unjudged: Unjudged = "error",
) -> JudgedRuns:
    """The rankings of run files down to a cutoff, with the grades of their documents.

    runs       run files, in any form that a collection may have
    judgments  file of judgments, in any form that a collection may have
    scale      scale of the grades; None: guessed from them
    unjudged   treatment of a document without judgment: `error`; `zero`, it gains 0; `skip`, lower ones move up

    Queries are the judged ones: one that a run does not answer counts 0 for it, and `notes` say so.
    """
    check_unjudged(unjudged)
    scale, judged = read_judgments(judgments, scale)
    name = str(judgments)
    collection = Collection(name, name, scale, cutoff, read_runs(runs), judgments=judged)
    check_judgments(collection.runs, judged, judgments)
    return judged_runs(collection, cutoff, unjudged)
