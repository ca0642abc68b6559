"""People's answers to "which of two result lists is better?", read from a file.

    answer  query  A1 ... Ak  B1 ... Bk  broad_A1 ... broad_Ak  broad_B1 ... broad_Bk

A tab-separated table with a header: one answer per line, `a`, `b`, both `good` or both `bad`; the documents
of the two lists, best first; and the grade of each on a scale, named at the beginning of the column's name. A
file may have grades on several scales; other columns, such as the person's name, are ignored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from audiosim.collection.grading import Grading, find_grading
from audiosim.collection.values import FINE, SCALES, Scale
from audiosim.errors import FormatError, InputError
from audiosim.stats.arrays import Array, Booleans
from audiosim.tables.reading import as_it_is
from audiosim.tables.schema import Schema
from audiosim.tables.table import Table, finite
from audiosim.text import quoted

CHOICES = ("a", "b", "good", "bad")
LISTS = ("A", "B")


def _schema(columns: Sequence[str]) -> Schema:
    expected = "a header with answer, query and the documents of the lists A and B"
    return Schema("answers", expected, {name: (name,) for name in columns}, tuple(columns), open=True, kept=True)


ANSWERS = _schema(("answer", "query"))


@dataclass(frozen=True, slots=True)
class ListPair:
    """Two lists of documents for a query, best rank first.

    line    line of its file, without the answer
    answer  known answer of a trap; otherwise empty
    """

    query: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    line: str
    answer: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of people about pairs of lists.

    choices  (n,) each a, b, good or bad: the better list, or the verdict on both
    grades   (n, 2, k) grades of the documents of the two lists, best rank first
    scale    scale of the grades
    """

    choices: tuple[str, ...]
    grades: Array
    scale: Scale

    def __post_init__(self) -> None:
        if self.grades.ndim != 3 or self.grades.shape[:2] != (len(self.choices), 2) or not self.grades.size:
            raise InputError(
                f"the grades of {len(self.choices)} answers must be (answers, 2, cutoff), got {self.grades.shape}"
            )
        for choice in sorted(set(self.choices) - {*CHOICES}):
            raise InputError(f"unknown answer {choice!r}, expected {', '.join(CHOICES)}")
        for grade in np.unique(self.grades).tolist():
            self.scale.check(grade)

    @property
    def cutoff(self) -> int:
        """The length of the lists."""
        return int(self.grades.shape[2])

    def read_as(self, grading: Grading) -> "Answers":
        """The answers with their grades converted to another scale."""
        if self.scale.levels != grading.source.levels:
            raise InputError(f"expected grades on the {grading.source.name} scale, got {self.scale.name}")
        return replace(self, grades=grading(self.grades), scale=grading.target)

    def said(self, *choices: str) -> Booleans:
        """(n,) True where an answer is one of these."""
        return np.isin(self.choices, choices)


def read_answers(path: str | Path, scale: str | None = None) -> Answers:
    """The answers of a file.

    scale  name of the scale of the grades to use; not needed if the file has grades on only one scale. An artificial
           scale, such as graded-4 or binary-40, is made from fine grades
    """
    path = Path(path)
    if scale is not None and scale not in SCALES:
        grading = find_grading(scale)
        return read_answers(path, FINE.name).read_as(grading)
    table = as_it_is(path, ANSWERS)
    number, header = table.head or 1, list(table.columns)
    picked, cutoff = _scale(path, number, header, scale), _cutoff(path, number, header)
    rows = _named(_schema(_columns(picked, cutoff)).settled(table), "query")
    said = [(_choice(path, line, row), _grades(path, line, row, picked, cutoff)) for line, row in rows]
    return Answers(tuple(choice for choice, _ in said), np.array([grades for _, grades in said]), picked)


def read_list_pairs(path: Path, known: bool) -> tuple[str, tuple[ListPair, ...]]:
    """The header without `answer`, and the pairs of lists of a file.

    known  True if every line has an answer; else the column must be empty
    """
    table = as_it_is(path, ANSWERS)
    number, header = table.head or 1, list(table.columns)
    cutoff = _cutoff(path, number, header)
    if header[0] != "answer":
        raise FormatError(path, number, f"expected answer as the first column, found {quoted(header[0])}")
    names = "query", *documents(cutoff)
    rows = _named(_schema(["answer", *names]).settled(table), *names)
    found = tuple(_list_pair(path, line, row, cutoff, known) for line, row in rows)
    return "\t".join(header[1:]), found


def _named(table: Table, *columns: str) -> Iterable[tuple[int, dict[str, str]]]:
    """The rows of a table with their lines; an error if a name in one of the columns is empty."""
    for column in columns:
        table.names(column)
    return zip(table.row_numbers, table.rows(), strict=True)


def _list_pair(path: Path, number: int, row: Mapping[str, str], cutoff: int, known: bool) -> ListPair:
    if known:
        _choice(path, number, row)
    elif row["answer"]:
        raise FormatError(path, number, f"has the answer {quoted(row['answer'])} already, expected an empty one")
    a, b = (tuple(row[f"{name}{rank}"] for rank in range(1, cutoff + 1)) for name in LISTS)
    line = "\t".join(value for column, value in row.items() if column != "answer")
    return ListPair(row["query"], a, b, line, row["answer"])


def documents(cutoff: int) -> list[str]:
    """The columns of the documents: A1 ... Ak, B1 ... Bk."""
    return [f"{name}{rank}" for name in LISTS for rank in range(1, cutoff + 1)]


def grade_columns(scale: str, cutoff: int) -> list[str]:
    """The columns of the grades, such as broad_A1."""
    return [f"{scale}_{column}" for column in documents(cutoff)]


def _columns(scale: Scale, cutoff: int) -> list[str]:
    return ["answer", "query", *documents(cutoff), *grade_columns(scale.name, cutoff)]


def _scale(path: Path, number: int, header: list[str], name: str | None) -> Scale:
    there = [known for known in SCALES if f"{known}_A1" in header]
    if not there:
        expected = ", ".join(f"{known}_A1" for known in SCALES)
        raise FormatError(path, number, f"no grades: expected one of the columns {expected}")
    if name is None and len(there) > 1:
        raise InputError(f"{path} has grades on scales {', '.join(there)}: choose one, such as `scale={there[0]!r}`")
    if name is not None and name not in there:
        raise InputError(f"{path} has no grades on the {name} scale, only {', '.join(there)}")
    return SCALES[name or there[0]]


def _cutoff(path: Path, number: int, header: list[str]) -> int:
    """Number of columns A1, A2, ... before the first gap."""
    cutoff = 0
    while f"A{cutoff + 1}" in header:
        cutoff += 1
    if not cutoff or f"B{cutoff}" not in header or f"B{cutoff + 1}" in header:
        raise FormatError(path, number, "expected columns A1, A2, ... and as many B1, B2, ... in the header")
    return cutoff


def _choice(path: Path, number: int, row: Mapping[str, str]) -> str:
    if not row["answer"]:
        raise FormatError(path, number, f"the column answer is empty, expected {', '.join(CHOICES)}")
    if row["answer"] not in CHOICES:
        raise FormatError(path, number, f"unknown answer {row['answer']!r}, expected {', '.join(CHOICES)}")
    return row["answer"]


def _grades(path: Path, number: int, row: Mapping[str, str], scale: Scale, cutoff: int) -> list[list[float]]:
    for name in LISTS:
        listed = [row[f"{name}{rank}"] for rank in range(1, cutoff + 1)]
        if len(set(listed)) < cutoff:
            raise FormatError(path, number, f"list {name} names a document twice, expected it once")
    return [
        [_grade(path, number, row, scale, f"{scale.name}_{name}{rank}") for rank in range(1, cutoff + 1)]
        for name in LISTS
    ]


def _grade(path: Path, number: int, row: Mapping[str, str], scale: Scale, column: str) -> float:
    grade = finite(path, number, column, row[column])
    if grade not in scale:
        raise FormatError(path, number, f"grade {grade:g} in {column} is not on the {scale.name} scale ({scale})")
    return grade
