"""The values of an evaluation, each with its rules."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

from audiosim.corpus.rankings import CodedRankings
from audiosim.errors import InputError

HIGHEST_LEVEL = 1e9

SHOWN_LEVELS = 8


class Pair(NamedTuple):
    """A query and a document."""

    query: str
    document: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The grades that an assessor may give.

    name    such as "fine"
    levels  the grades, rising, at least two, the lowest 0 or more
    """

    name: str
    levels: tuple[float, ...]
    _grades: frozenset[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_grades", frozenset(self.levels))
        if len(self.levels) < 2 or not all(math.isfinite(level) for level in self.levels):
            raise InputError(f"a scale needs at least two levels, all finite, got {list(self.levels)}")
        if any(low >= high for low, high in zip(self.levels, self.levels[1:], strict=False)) or self.levels[0] < 0:
            raise InputError(f"the levels of a scale must rise from 0 or more, got {list(self.levels)}")
        if self.levels[-1] > HIGHEST_LEVEL:  # powers of it must also be finite
            raise InputError(f"the levels of a scale may go up to {HIGHEST_LEVEL:g}, got {self.levels[-1]:g}")

    @property
    def maximum(self) -> float:
        """The highest grade; a gain is a grade divided by it."""
        return self.levels[-1]

    def __contains__(self, grade: float) -> bool:
        """True if an assessor may give the grade."""
        return grade in self._grades

    def check(self, grade: float) -> float:
        """The grade, checked to be on the scale."""
        if grade not in self._grades:
            raise InputError(f"grade {grade:g} is not on the {self.name} scale ({self})")
        return float(grade)

    def __repr__(self) -> str:
        levels = f"{self.levels}" if len(self.levels) <= SHOWN_LEVELS else f"<{self}>"
        return f"Scale(name={self.name!r}, levels={levels})"

    def __str__(self) -> str:
        if len(self.levels) > SHOWN_LEVELS:
            return f"{len(self.levels)} levels from {self.levels[0]:g} to {self.levels[-1]:g}"
        return " ".join(f"{level:g}" for level in self.levels)


FINE = Scale("fine", tuple(float(level) for level in range(101)))
BROAD = Scale("broad", (0.0, 1.0, 2.0))
BINARY = Scale("binary", (0.0, 1.0))
SCALES = {scale.name: scale for scale in (FINE, BROAD, BINARY)}


def parse_scale(value: str | Sequence[float]) -> Scale:
    """The scale with a name (`fine`, `broad`, `binary`), or with levels: a list, or text such as "0,1,2,3" or "0-3"."""
    if not isinstance(value, str):
        if not isinstance(value, Iterable):
            raise _unknown_scale(value)
        return Scale("custom", tuple(float(level) for level in value))
    if value in SCALES:
        return SCALES[value]
    if "_" in value:  # Python reads 1_0 as ten
        raise _unknown_scale(value)
    ends = re.fullmatch(r"([0-9]{1,3})-([0-9]{1,3})", value.strip())
    if ends and int(ends[1]) >= int(ends[2]):
        raise InputError(f"the levels of scale {value} must rise, expected the lowest first, such as 0-3")
    try:
        levels = range(int(ends[1]), int(ends[2]) + 1) if ends else map(float, value.split(","))
        return Scale("custom", tuple(map(float, levels)))
    except InputError:
        raise
    except ValueError:
        raise _unknown_scale(value) from None


def _unknown_scale(value: object) -> InputError:
    return InputError(f"unknown scale {value!r}, expected {', '.join(SCALES)} or a list of levels")


def as_scale(value: Scale | str | Sequence[float]) -> Scale:
    """A scale, parsed if it is a name or levels."""
    return value if isinstance(value, Scale) else parse_scale(value)


@dataclass(frozen=True, slots=True)
class Document:
    """A recording; None means unknown.

    artist, genre  names
    path           sound file, relative to the collection's folder
    more           further columns of documents.tsv, kept as they are
    """

    identifier: str
    artist: str | None = None
    genre: str | None = None
    path: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgment:
    """Judgment of one pair by one assessor.

    grade     on the collection's scale, a finite number; NumPy numbers become Python's
    assessor  name; empty if not named
    time      ISO 8601, empty where unknown
    aspect    name of the aspect; empty if a pair has one grade
    """

    query: str
    document: str
    grade: float
    assessor: str = ""
    time: str = ""
    aspect: str = ""

    def __post_init__(self) -> None:
        if type(self.grade) not in (float, int):
            if not isinstance(self.grade, Real) or isinstance(self.grade, bool):
                raise InputError(f"expected a number as grade of document {self.document}, got {self.grade!r}")
            object.__setattr__(self, "grade", float(self.grade))
        if not math.isfinite(self.grade):
            raise InputError(f"expected a finite number as grade of document {self.document}, got {self.grade}")

    @property
    def pair(self) -> Pair:
        return Pair(self.query, self.document)


ANSWERS = ("a", "b", "=")


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Comparison of two documents of a query by one assessor.

    answer    the more relevant one, "a" or "b", or "=" if equal
    assessor  name; empty if not named
    seconds   time taken, None where unknown
    """

    query: str
    document_a: str
    document_b: str
    answer: str
    assessor: str = ""
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise InputError(f"expected a, b or = as answer, got {self.answer!r}")
        if self.document_a == self.document_b:
            raise InputError(f"expected two documents to compare, got {self.document_a} twice")
        if self.seconds is not None and not self.seconds >= 0:
            raise InputError(f"expected seconds of at least 0, got {self.seconds}")

    @property
    def pairs(self) -> tuple[Pair, Pair]:
        """The two pairs compared."""
        return Pair(self.query, self.document_a), Pair(self.query, self.document_b)


def check_judgment(said: object) -> Judgment:
    """The argument, checked to be a judgment."""
    if not isinstance(said, Judgment):
        raise InputError(f"expected a judgment such as Judgment('q1', 'd7', grade=70), got {said!r}")
    return said


@dataclass(frozen=True, slots=True)
class Run:
    """Results of one system: its documents for each query, best first, none twice."""

    system: str
    rankings: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        if isinstance(self.rankings, CodedRankings):
            query = self.rankings.repeated
        else:
            query = next((query for query, some in self.rankings.items() if len(set(some)) < len(some)), None)
        if query is not None:
            raise InputError(f"system {self.system} retrieves a document twice for query {query}")

    def __repr__(self) -> str:
        results = sum(map(len, self.rankings.values()))
        return f"Run of {self.system}: {results:,} results for {len(self.rankings):,} queries"


def queries_of(runs: Iterable[Run]) -> dict[str, None]:
    """The queries that any run answers, each once, in the order of the runs."""
    return dict.fromkeys(query for run in runs for query in run.rankings)


def retrieved_by(runs: Iterable[Run], cutoff: int | None = None) -> dict[str, set[str]]:
    """The documents that any system retrieved for each query, down to a cutoff if one is given."""
    found: dict[str, set[str]] = {}
    for run in runs:
        for query, documents in run.rankings.items():
            found.setdefault(query, set()).update(documents[:cutoff])
    return found
