"""Judgments as codes: compact storage for millions of grades, each of which becomes an object only on request."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.model import Judgment
from audiosim.corpus.rankings import Codes, Results, Retrieved
from audiosim.properties import cached_property


@dataclass(frozen=True, eq=False, repr=False)
class CodedJudgments(Sequence[Judgment]):
    """Judgments of one unnamed assessor, at most one per pair; behaves like a tuple of judgments and equals one.

    queries    names, in order of first appearance
    documents  names by their codes
    query      (j,) codes
    document   (j,) codes
    grades     (j,) finite numbers
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    query: Codes
    document: Codes
    grades: Array

    @cached_property
    def _objects(self) -> tuple[Judgment, ...]:
        queries, documents = self.queries, self.documents
        columns = zip(self.query.tolist(), self.document.tolist(), self.grades.tolist(), strict=True)
        return tuple([Judgment(queries[query], documents[one], grade) for query, one, grade in columns])

    @overload
    def __getitem__(self, place: int) -> Judgment: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Judgment, ...]: ...

    def __getitem__(self, place: int | slice) -> Judgment | tuple[Judgment, ...]:
        return self._objects[place]

    def __len__(self) -> int:
        return len(self.grades)

    def __iter__(self) -> Iterator[Judgment]:
        return iter(self._objects)

    def __eq__(self, other: object) -> bool:
        return self._objects == (other._objects if isinstance(other, CodedJudgments) else other)

    def __hash__(self) -> int:
        return hash(self._objects)

    def __add__(self, more: Sequence[Judgment]) -> tuple[Judgment, ...]:
        return (*self, *more)

    def __radd__(self, before: Sequence[Judgment]) -> tuple[Judgment, ...]:
        return (*before, *self)

    def __repr__(self) -> str:
        return repr(self._objects)

    def chosen(self, which: Booleans, grades: Array) -> "CodedJudgments":
        """Some of the judgments, with other grades.

        which   (j,) True for the judgments to keep
        grades  new grade of each of these
        """
        return replace(self, query=self.query[which], document=self.document[which], grades=grades)

    @property
    def judged_queries(self) -> list[str]:
        """Queries with a judgment, in the order of the file."""
        return [self.queries[code] for code in np.flatnonzero(np.bincount(self.query, minlength=1)).tolist()]

    @property
    def judged_documents(self) -> list[str]:
        """Documents with a judgment."""
        return [self.documents[code] for code in np.flatnonzero(np.bincount(self.document, minlength=1)).tolist()]

    def on(self, queries: Mapping[str, int], documents: Mapping[str, int]) -> tuple[Integers, Integers]:
        """(j,) codes of the queries and of the documents in other tables, -1 if a name is missing there."""
        query = np.array([queries.get(name, -1) for name in self.queries], dtype=np.int64)
        document = np.array([documents.get(name, -1) for name in self.documents], dtype=np.int64)
        return query[self.query], document[self.document]


JudgmentSequence = tuple[Judgment, ...] | CodedJudgments


def distinct_grades(judgments: Sequence[Judgment]) -> list[float]:
    """The grades that occur, each once."""
    if isinstance(judgments, CodedJudgments):
        return [float(grade) for grade in np.unique(judgments.grades)]
    return list(dict.fromkeys(judgment.grade for judgment in judgments))


def assessors_in(judgments: Sequence[Judgment]) -> set[str]:
    """Names of the assessors; empty for those without a name."""
    if isinstance(judgments, CodedJudgments):
        return {""} if len(judgments) else set()
    return {judgment.assessor for judgment in judgments}


def have_aspects(judgments: Sequence[Judgment]) -> bool:
    """True if any judgment has an aspect; judgments as codes have none, and do not become objects here."""
    return not isinstance(judgments, CodedJudgments) and any(one.aspect for one in judgments)


def judged_names(judgments: Sequence[Judgment]) -> tuple[dict[str, None], dict[str, None]]:
    """The judged queries and documents, each once."""
    if isinstance(judgments, CodedJudgments):
        return dict.fromkeys(judgments.judged_queries), dict.fromkeys(judgments.judged_documents)
    return {one.query: None for one in judgments}, {one.document: None for one in judgments}


def judged_keys(within: Results | Retrieved, judgments: Sequence[Judgment]) -> Integers:
    """Query x len(names) + document of each judgment, except those with a query or document that is in no run."""
    queries = {query: code for code, query in enumerate(within.queries)}
    documents = {name: code for code, name in enumerate(within.names)}
    if isinstance(judgments, CodedJudgments):
        query, document = judgments.on(queries, documents)
    else:
        query = np.array([queries.get(one.query, -1) for one in judgments], dtype=np.int64)
        document = np.array([documents.get(one.document, -1) for one in judgments], dtype=np.int64)
    known = (query >= 0) & (document >= 0)
    return np.asarray(query[known] * len(within.names) + document[known])
