"""Rankings as codes: compact storage for millions of results, and all runs of a collection side by side."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError
from audiosim.results.value import Value, cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.tables.table import Words
from audiosim.text import did_you_mean

Codes = NDArray[np.int32]
Key = TypeVar("Key")
Member = TypeVar("Member")
# Pairs are marked in a table of all queries x documents, if it takes at most this many bytes per result, and 256 MB.
BYTES_A_RESULT, LARGEST_TABLE = 16, 2**28


@dataclass(frozen=True, eq=False)
class CodedRankings(Mapping[str, tuple[str, ...]]):
    """The rankings of one system; reads as a mapping from each query to its documents, best first.

    queries    q names, in order of first appearance
    starts     (q + 1,) start of each query's ranking, and the end of the last
    documents  codes of the documents, ranking after ranking
    names      names of the documents, in the order of their codes; runs of a collection share one table

    A name takes four bytes here and becomes text only on request.
    """

    queries: tuple[str, ...]
    starts: Integers
    documents: Codes
    names: tuple[str, ...]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {query: place for place, query in enumerate(self.queries)}

    def __getitem__(self, query: str) -> tuple[str, ...]:
        place = self._place[query]
        codes = self.documents[self.starts[place] : self.starts[place + 1]]
        return tuple(map(self.names.__getitem__, codes.tolist()))

    def __contains__(self, query: object) -> bool:
        return query in self._place  # Mapping's own method would look up the names of a whole ranking

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def lengths(self) -> Integers:
        """(q,) number of documents of each query."""
        return np.diff(self.starts)

    @property
    def repeated(self) -> str | None:
        """The first query with a document twice in its ranking; None if there is none."""
        query = np.repeat(np.arange(len(self.queries)), self.lengths)
        keys = query * len(self.names) + self.documents
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]]
        return self.queries[int(twice[0]) // len(self.names)] if len(twice) else None


def coded(rankings: Mapping[str, tuple[str, ...]]) -> CodedRankings:
    """Rankings as codes; unchanged if they already are."""
    if isinstance(rankings, CodedRankings):
        return rankings
    found = Words.of(chain.from_iterable(rankings.values()))
    starts = np.concatenate([[0], np.cumsum([len(documents) for documents in rankings.values()], dtype=np.int64)])
    return CodedRankings(tuple(rankings), starts, found.codes, found.names)


def on_one_table(rankings: Iterable[Mapping[str, tuple[str, ...]]]) -> list[CodedRankings]:
    """The rankings as codes, with one table of names."""
    own = list(map(coded, rankings))
    tables = {id(one.names): one.names for one in own}
    if len(tables) < 2:
        return own
    codes, names = codes_of(tables.values())
    moved = dict(zip(tables, codes, strict=True))
    return [CodedRankings(one.queries, one.starts, moved[id(one.names)][one.documents], names) for one in own]


def codes_of(lists: Iterable[Sequence[str]]) -> tuple[list[Codes], tuple[str, ...]]:
    """The names of each list as codes, and all names in the order of their codes."""
    lists = list(lists)
    words = Words.of(chain.from_iterable(lists))
    return np.split(words.codes, np.cumsum(list(map(len, lists)))[:-1]), words.names


@dataclass(frozen=True, eq=False)
class Results:
    """The results of all systems down to a cutoff, one after the other, in the order of systems, queries and ranks.

    queries   names, in order of first appearance in the runs
    names     names of the documents, by their codes
    starts    (s + 1,) start of each system's results, and the end of the last
    query     (r,) code of the query
    document  (r,) code of the document
    rank      (r,) rank, from 1
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    starts: Integers
    query: Codes
    document: Codes
    rank: Codes

    @classmethod
    def of(cls, systems: Iterable["Run"], cutoff: int | None = None) -> "Results":
        """The results of several systems; all of them where no cutoff is given."""
        runs = on_one_table(run.rankings for run in systems)
        codes, queries = codes_of([run.queries for run in runs])
        parts: list[tuple[Codes, Codes, Codes]] = []
        for own, run in zip(codes, runs, strict=False):
            lengths = run.lengths if cutoff is None else np.minimum(run.lengths, min(cutoff, DEEPEST))
            ends = np.cumsum(lengths)
            place = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
            kept = place + np.repeat(run.starts[:-1], lengths)  # only the top, which is a small part of a deep ranking
            parts.append((np.repeat(own, lengths), run.documents[kept], (place + 1).astype(np.int32)))
        query, document, rank = (
            np.concatenate([np.empty(0, dtype=np.int32), *(part[column] for part in parts)], dtype=np.int32)
            for column in range(3)
        )
        starts = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
        return cls(queries, runs[0].names if runs else (), starts, query, document, rank)

    @property
    def keys(self) -> Integers:
        """(r,) number of each (query, document), equal for equal pairs."""
        return self.query.astype(np.int64) * len(self.names) + self.document

    @property
    def system(self) -> Integers:
        """(r,) the place of the system."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def finders(self) -> Integers:
        """(r,) number of systems with the same result."""
        if fits_table(len(self.queries) * len(self.names), len(self.document)):
            return np.bincount(self.keys)[self.keys]
        _, code, count = np.unique(self.keys, return_inverse=True, return_counts=True)
        return np.asarray(count[code])

    def documents_of(self, place: int) -> Integers:
        """Codes of the documents of one system, rising."""
        return _distinct(self.document[self.starts[place] : self.starts[place + 1]], len(self.names))

    @property
    def documents(self) -> frozenset[str]:
        """Names of the documents of all systems."""
        return frozenset(_names_in(self.document, self.names))


def _names_in(codes: Codes | Integers, names: Sequence[str]) -> list[str]:
    """The names that occur, each once, in the order of their table."""
    return list(map(names.__getitem__, _distinct(codes, len(names)).tolist()))


def _distinct(codes: Codes | Integers, size: int) -> Integers:
    """The codes that occur, rising, from a table with a given number of names."""
    found = np.zeros(size, dtype=np.bool_)
    found[codes] = True
    return np.flatnonzero(found)


def fits_table(places: int, results: int) -> bool:
    """True if a table with this many places is small compared with this many results."""
    return places <= min(LARGEST_TABLE, BYTES_A_RESULT * max(results, 1))


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The pairs that any of several systems retrieved, each once.

    queries    names, in order of first appearance in the runs
    names      names of documents, by their codes
    keys       (p,) query x len(names) + document of each pair, rising
    documents  names of the documents of these pairs
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    keys: Integers
    documents: frozenset[str]

    @classmethod
    def of(cls, systems: Iterable["Run"], largest: int = LARGEST_TABLE) -> "Retrieved":
        """The pairs in the runs of several systems; `largest` bounds the bytes of a table of queries x documents."""
        runs = on_one_table(run.rankings for run in systems)
        codes, queries = codes_of([run.queries for run in runs])
        names = runs[0].names if runs else ()
        # One system after the other: all results together would take twelve bytes each.
        both = zip(codes, runs, strict=False)
        keys = (np.repeat(one.astype(np.int64) * len(names), run.lengths) + run.documents for one, run in both)
        places, results = len(queries) * len(names), sum(len(run.documents) for run in runs)
        if places <= largest and fits_table(places, results):
            marked = np.zeros(places, dtype=np.bool_)
            for some in keys:
                marked[some] = True
            found = np.flatnonzero(marked)
        else:
            found = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys]))
        return cls(queries, names, found, frozenset(_names_in(found % max(len(names), 1), names)))


# The values of an evaluation, each with its rules.


DEEPEST = 2**31 - 1  # rank of a result
HIGHEST_LEVEL = 1e9

SHOWN_LEVELS = 8


class Pair(NamedTuple):
    """A query and a document."""

    query: str
    document: str


@dataclass(frozen=True, slots=True)
class Scale(Value):
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


def parse_scale(value: str | Sequence[float], others: Sequence[str] = ()) -> Scale:
    """The scale with a name (`fine`, `broad`, `binary`), or with levels: a list, or text such as "0,1,2,3" or "0-3".

    others  what an unknown name could have been, besides, in its error
    """
    if isinstance(value, str) and value in SCALES:
        return SCALES[value]
    ends = re.fullmatch(r"([0-9]{1,3})-([0-9]{1,3})", value.strip()) if isinstance(value, str) else None
    if ends and int(ends[1]) >= int(ends[2]):
        raise InputError(f"the levels of scale {value} must rise, expected the lowest first, such as 0-3")
    try:
        # Python reads 1_0 as ten.
        said = value.replace("_", "?").split(",") if isinstance(value, str) else value
        levels = tuple(map(float, range(int(ends[1]), int(ends[2]) + 1) if ends else said))
    except (TypeError, ValueError):
        known = f"{', '.join((*SCALES, *others))} or a list of levels{did_you_mean(str(value), SCALES)}"
        raise InputError(f"unknown scale {value!r}, expected {known}") from None
    return Scale("custom", levels)


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
        if (query := coded(self.rankings).repeated) is not None:
            raise InputError(f"system {self.system} retrieves a document twice for query {query}, expected it once")

    def __repr__(self) -> str:
        results = sum(map(len, self.rankings.values()))
        return f"Run of {self.system}: {results:,} results for {len(self.rankings):,} queries"


def queries_of(runs: Iterable[Run]) -> dict[str, None]:
    """The queries that any run answers, each once, in the order of the runs."""
    return dict.fromkeys(query for run in runs for query in run.rankings)


def documents_in(runs: Iterable[Run]) -> set[str]:
    """The documents that any run retrieved."""
    return set(Retrieved.of(runs).documents)


def deepest(runs: Iterable[Run]) -> int:
    """The length of the longest ranking; 0 without any."""
    return max((int(coded(run.rankings).lengths.max(initial=0)) for run in runs), default=0)


def common_queries(runs: Sequence[Run]) -> frozenset[str]:
    """Queries that at least half of the systems answer: presumably those that every system should answer."""
    answers = Counter(query for run in runs for query in run.rankings)
    return frozenset(query for query, count in answers.items() if 2 * count >= len(runs))


def retrieved_by(runs: Iterable[Run], cutoff: int | None = None) -> dict[str, set[str]]:
    """The documents that any system retrieved for each query, down to a cutoff if one is given."""
    results = Results.of(runs, cutoff)
    found: dict[str, set[str]] = {query: set() for query in results.queries}
    for key in np.unique(results.keys).tolist():
        found[results.queries[key // len(results.names)]].add(results.names[key % len(results.names)])
    return found


# Trivial results: the query's own recording, and others by its artist.


SameArtist = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Valid queries, and documents that cannot be results of a query: the query itself and others by its artist.

    query_documents  document of each query; if there are any, other rows of a file are not queries
    artists          artist of each document, where known
    """

    query_documents: Mapping[str, str] = field(default_factory=dict)
    artists: Mapping[str, str] = field(default_factory=dict)

    def queries(self) -> dict[str, list[str]]:
        """The queries of each document, by document."""
        return grouped((document, query) for query, document in self.query_documents.items())


def without_same_artist(
    runs: Sequence[Run], exclusions: Exclusions, choice: SameArtist | None
) -> tuple[tuple[Run, ...], str | None]:
    """The runs to evaluate, and a sentence on such results in them, or None.

    exclusions  document of each query, and the artists; an unlisted query is the document of the same name
    choice      `drop` leaves such results out and moves up those below, as MIREX does; `keep` keeps them; None keeps
                them with a note
    """
    if choice not in (None, *get_args(SameArtist)):
        raise InputError(f"same_artist must be keep or drop, got {choice!r}")
    rankings = on_one_table([run.rankings for run in runs])
    names = rankings[0].names if rankings else ()
    documents = {query: exclusions.query_documents.get(query, query) for one in rankings for query in one.queries}
    if choice == "keep" or (not exclusions.artists and {*documents.values()}.isdisjoint(names)):
        return tuple(runs), None
    codes = {name: code for code, name in enumerate(names)}
    artists = {name: code for code, name in enumerate(dict.fromkeys(exclusions.artists.values()))}
    artist = {document: artists[name] for document, name in exclusions.artists.items()}
    of_name = np.array([artist.get(name, -2) for name in names], dtype=np.int64)
    own, alike, example, kept = 0, 0, "", []
    for run, one in zip(runs, rankings, strict=True):
        asked = [documents[query] for query in one.queries]
        query = np.repeat(np.arange(len(asked)), one.lengths)
        itself = one.documents == np.array([codes.get(name, -1) for name in asked], dtype=np.int64)[query]
        by = of_name[one.documents] == np.array([artist.get(name, -1) for name in asked], dtype=np.int64)[query]
        own, alike, left = own + int(itself.sum()), alike + int((by & ~itself).sum()), ~(itself | by)
        if not example and not left.all():
            row = int(np.argmin(left))
            found = f"document {names[one.documents[row]]} for query {one.queries[query[row]]}"
            example = f"such as {found} in system {run.system}"
        starts = np.concatenate([[0], np.cumsum(np.bincount(query[left], minlength=len(asked)))])
        kept.append(replace(run, rankings=CodedRankings(one.queries, starts, one.documents[left], names)))
    if not example:
        return tuple(runs), None
    found = f"{_results(own)} the query's own recording, {_results(alike)} by its artist, {example}"
    if choice == "drop":
        return tuple(kept), f"{found}: left out"
    return tuple(runs), f'{found}: kept; `same_artist="drop"` leaves them out, keep omits this note'


def _results(count: int) -> str:
    return f"{count:,} {'result is' if count == 1 else 'results are'}"


# Judgments as codes: compact storage for millions of grades, each of which becomes an object only on request.


@dataclass(frozen=True, eq=False, repr=False)
class CodedJudgments(Sequence[Judgment]):
    """Judgments of one unnamed assessor, at most one per pair; behaves like a tuple of judgments and equals one.

    query      j names
    document   j names
    grades     (j,) finite numbers
    """

    query: Words
    document: Words
    grades: Array

    @classmethod
    def of(cls, grades: Mapping[Pair, float]) -> "CodedJudgments":
        """The judgments with the grades of some pairs."""
        names = Words.of(query for query, _ in grades), Words.of(document for _, document in grades)
        return cls(*names, np.array(list(grades.values()), dtype=np.float64))

    @cached_property
    def _objects(self) -> tuple[Judgment, ...]:
        return tuple(map(Judgment, self.query.cells(), self.document.cells(), self.grades.tolist()))

    def __getitem__(self, place: Any) -> Any:
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


JudgmentSequence = tuple[Judgment, ...] | CodedJudgments


def _as_codes(judgments: Sequence[Judgment]) -> tuple[Words, Words]:
    """The query and the document of each judgment."""
    if isinstance(judgments, CodedJudgments):
        return judgments.query, judgments.document
    return Words.of(one.query for one in judgments), Words.of(one.document for one in judgments)


def distinct_grades(judgments: Sequence[Judgment]) -> list[float]:
    """The grades that occur, each once, rising."""
    grades = judgments.grades if isinstance(judgments, CodedJudgments) else [one.grade for one in judgments]
    return list(map(float, np.unique(grades)))


def assessors_in(judgments: Sequence[Judgment]) -> set[str]:
    """Names of the assessors; empty for those without a name."""
    return {""} if isinstance(judgments, CodedJudgments) else {judgment.assessor for judgment in judgments}


def contradiction(judgments: Sequence[Judgment]) -> tuple[int, int] | None:
    """Places of two judgments that contradict each other: of one pair, by nobody, neither of them later; or None."""
    first: dict[tuple[str, str, str], int] = {}
    for place, one in enumerate(() if isinstance(judgments, CodedJudgments) else judgments):
        if not (one.assessor or one.time):
            before = first.setdefault((one.query, one.document, one.aspect), place)
            if judgments[before].grade != one.grade:
                return before, place
    return None


def contradicting(one: Judgment, other: Judgment, where: str) -> str:
    """The error for two judgments that contradict each other; `where` says where the first one is."""
    return (
        f"query {one.query} and document {one.document} have the grade {one.grade:g}{where} already, got "
        f"{other.grade:g}, expected one grade, or the names of the assessors"
    )


def have_aspects(judgments: Sequence[Judgment]) -> bool:
    """True if any judgment has an aspect; judgments as codes have none, and do not become objects here."""
    return not isinstance(judgments, CodedJudgments) and any(one.aspect for one in judgments)


def judged_names(judgments: Sequence[Judgment]) -> tuple[dict[str, None], dict[str, None]]:
    """The judged queries, in the order of the file, and documents, each once."""
    query, document = (dict.fromkeys(_names_in(one.codes, one.names)) for one in _as_codes(judgments))
    return query, document


def judged_keys(within: Results | Retrieved, judgments: Sequence[Judgment]) -> Integers:
    """Query x len(names) + document of each judgment, except those with a query or document that is in no run."""
    tables = (within.queries, within.names)
    query, document = (
        one.on({name: code for code, name in enumerate(names)})
        for one, names in zip(_as_codes(judgments), tables, strict=True)
    )
    known = (query >= 0) & (document >= 0)
    return np.asarray(query[known] * len(within.names) + document[known])


# Grades of pairs, from the judgments of one or more assessors.


def grouped(pairs: Iterable[tuple[Key, Member]]) -> dict[Key, list[Member]]:
    """The members of each key, keys and members in the order in which they come."""
    found: dict[Key, list[Member]] = {}
    for key, member in pairs:
        found.setdefault(key, []).append(member)
    return found


def grades_by_assessor(judgments: Iterable[Judgment]) -> dict[Pair, dict[str, float]]:
    """The last grade that each assessor gave each pair, in the order in which pairs were first judged."""
    grades: dict[Pair, dict[str, float]] = {}
    for judgment in judgments:
        grades.setdefault(judgment.pair, {})[judgment.assessor] = judgment.grade
    return grades


def mean_grade(said: Mapping[str, float]) -> float:
    """Mean grade of a pair over its assessors; NaN without any."""
    return sum(said.values()) / len(said) if said else math.nan


def graded_pairs(judgments: Sequence[Judgment]) -> CodedJudgments:
    """The mean grade of each judged pair, as codes."""
    return judgments if isinstance(judgments, CodedJudgments) else CodedJudgments.of(mean_grades(judgments))


def mean_grades(judgments: Iterable[Judgment]) -> dict[Pair, float]:
    """Mean grade of each judged pair over its assessors, in the order in which pairs were first judged."""
    return {pair: mean_grade(said) for pair, said in grades_by_assessor(judgments).items()}
