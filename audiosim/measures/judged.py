"""Scores of every system for every query, where the judgments are made."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Pair, Scale
from audiosim.errors import InputError
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.scores import score
from audiosim.showing import frame_of

if TYPE_CHECKING:
    import pandas as pd

Unjudged = Literal["error", "zero", "skip"]


@dataclass(frozen=True, eq=False)
class Scores:
    """Score of each system for each query.

    measure  what was measured
    systems  s names
    queries  q names
    values   (s, q) scores
    """

    measure: Measure
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    values: Array

    def __post_init__(self) -> None:
        expected = (len(self.systems), len(self.queries))
        if self.values.shape != expected:
            raise InputError(f"scores must be {expected} to match systems and queries, got {self.values.shape}")

    @property
    def means(self) -> Array:
        """(s,) the mean score of each system over the queries."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def order(self) -> Integers:
        """(s,) the systems by mean score, best first; equal ones in the order of the runs."""
        return np.argsort(-self.means, kind="stable")

    def to_frame(self) -> "pd.DataFrame":
        """The scores as a pandas table: one row per system, one column per query."""
        table = frame_of(
            [[system, *row] for system, row in zip(self.systems, self.values, strict=True)],
            ["system", *self.queries],
            "system",
        )
        return table.rename_axis("query", axis=1)


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """Rankings with the grades of their documents: what scores are made of, once for all measures.

    scale    of the grades
    systems  s names
    queries  q names
    grades   (s, q, n) grade at each rank, best rank first; NaN where nothing was retrieved
    judged   (q, m) grades of all judged documents of each query, best first, 0 after the last
    """

    scale: Scale
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    grades: Array
    judged: Array

    def scores(self, measure: str | Measure) -> Scores:
        """Score of each system for each query, down to at most the depth of the rankings."""
        measure = as_measure(measure)
        values = score(measure, self.scale, self.grades, self.judged)
        return Scores(measure, self.systems, self.queries, values)


def judged_runs(collection: Collection, cutoff: int, unjudged: Unjudged = "error") -> JudgedRuns:
    """The rankings of a collection down to a cutoff, with the grades of their documents.

    unjudged  what a document without judgment does: `error`; `zero`, it gains 0; `skip`, those below it move up, as in
              the condensed lists of Sakai (2007)

    Queries are those that any run names, in the order in which the runs first name them; a system that retrieves
    nothing for one of them gains nothing there.
    """
    return graded_runs(collection, collection.grades(), cutoff, unjudged)


def graded_runs(
    collection: Collection, given: Mapping[Pair, float], cutoff: int, unjudged: Unjudged = "error"
) -> JudgedRuns:
    """The rankings of a collection with other grades than its judgments', such as drawn ones; as `judged_runs`.

    given  grades by pair, from 0 to the highest of the scale
    """
    by_query = _by_query(given)
    queries = tuple(dict.fromkeys(query for run in collection.runs for query in run.rankings))
    rankings = [[run.rankings.get(query, ()) for query in queries] for run in collection.runs]
    grades = grades_of(collection.identifier, queries, rankings, by_query, cutoff, unjudged)
    systems = tuple(run.system for run in collection.runs)
    return JudgedRuns(collection.scale, systems, queries, grades, best_first([by_query.get(q, {}) for q in queries]))


def scores(collection: Collection, measure: str | Measure = "CG@5", unjudged: Unjudged = "error") -> Scores:
    """Score of each system of a collection for each query, from the judgments it has.

    measure   such as "nDCG@5"
    unjudged  what a document without judgment does: `error`, `zero` or `skip`
    """
    measure = as_measure(measure)
    return judged_runs(collection, measure.cutoff, unjudged).scores(measure)


def _by_query(grades: Mapping[Pair, float]) -> dict[str, dict[str, float]]:
    by_query: dict[str, dict[str, float]] = {}
    for (query, document), grade in grades.items():
        by_query.setdefault(query, {})[document] = grade
    return by_query


def best_first(by_query: Sequence[Mapping[str, float]]) -> Array:
    """(q, m) the grades of each query's documents, best first, 0 after the last."""
    sizes = np.array([len(grades) for grades in by_query], dtype=np.int64)
    table = np.zeros((len(sizes), int(sizes.max(initial=0))))
    table[np.arange(table.shape[1]) < sizes[:, None]] = [grade for grades in by_query for grade in grades.values()]
    return -np.sort(-table, axis=1)


def grades_of(
    name: str,
    queries: Sequence[str],
    rankings: Sequence[Sequence[Sequence[str]]],
    by_query: Mapping[str, Mapping[str, float]],
    cutoff: int,
    unjudged: Unjudged,
) -> Array:
    """(s, q, n) the grades of the documents of each system's ranking for each query; NaN after the last.

    name      of the collection, for complaints
    rankings  for each system its documents for each query, best first
    by_query  the grades of each query's documents
    """
    check_unjudged(unjudged)
    depth = None if unjudged == "skip" else cutoff
    known = [by_query.get(query, {}) for query in queries]
    rows = [
        [_graded(documents[:depth], grades, unjudged, cutoff) for documents, grades in zip(lists, known, strict=True)]
        for lists in rankings
    ]
    if unjudged == "error":
        _complain(name, queries, rankings, known, rows)
    return _rectangle(rows)


def check_unjudged(unjudged: str) -> None:
    if unjudged not in get_args(Unjudged):
        raise InputError(
            f"unknown choice {unjudged!r} for unjudged documents, expected {', '.join(get_args(Unjudged))}"
        )


def _graded(
    documents: Sequence[str], grades: Mapping[str, float], unjudged: Unjudged, cutoff: int
) -> list[float | None]:
    found = list(map(grades.get, documents))
    if unjudged == "zero":
        return [0.0 if grade is None else grade for grade in found] if None in found else found
    if unjudged == "skip":
        return list(islice((grade for grade in found if grade is not None), cutoff))
    return found


def _complain(
    name: str,
    queries: Sequence[str],
    rankings: Sequence[Sequence[Sequence[str]]],
    known: Sequence[Mapping[str, float]],
    rows: Sequence[Sequence[Sequence[float | None]]],
) -> None:
    """Refuse documents without judgment: how many pairs, and the first one."""
    missing = dict.fromkeys(
        (queries[q], rankings[s][q][i])
        for s, row in enumerate(rows)
        for q, found in enumerate(row)
        if None in found
        for i, grade in enumerate(found)
        if grade is None
    )
    if missing:
        query, document = next(iter(missing))
        first = f"the first is document {document} for query {query}"
        raise InputError(
            f"{name}: {len(missing)} retrieved pairs are not judged, {first}; choose unjudged=zero or skip"
        )


def _rectangle(rows: Sequence[Sequence[Sequence[float | None]]]) -> Array:
    """(s, q, n) rows of any length, NaN after the last."""
    lengths = np.array([[len(found) for found in row] for row in rows], dtype=np.int64)
    table = np.full((*lengths.shape, int(lengths.max(initial=0))), np.nan)
    values: Iterable[float | None] = (grade for row in rows for found in row for grade in found)
    table[np.arange(table.shape[2]) < lengths[..., None]] = np.fromiter(values, dtype=np.float64, count=lengths.sum())
    return table
