"""Reading and writing of judgments.

The form is recognised from the file's contents:

- TREC qrels: `query 0 document grade`; lists: `query document grade`, with or without exactly these words as a header.
  The grade -1 means unjudged and is left out; -2 is junk, the lowest grade. A pair has one line.
- CSV or a tab-separated table with a header, or JSON Lines, with COLUMNS. The grade is in `grade`, or in `fine` and
  `broad`, of which the scale selects one; a line with only the other one is left out, and `grade` may not contradict
  the one selected. A second line on a pair by the same assessor is a revision: all are kept, in order. The columns
  CARRIED may be present too: a line with a reason in `cannot` instead of a grade leaves the pair unjudged, and a line
  with `no` in `counts` is ignored. `defused` names the columns of a line in which a leading apostrophe protects
  spreadsheets from the text.
- XML, and JSON as written by ranx: see `audiosim.tables.nested`.
- Groups of equal relevance, the lowest number the most relevant, in `group`, or as the last column of
  `query 0 document group` or `query document group` in a file called `groups` or under a header of just these words.
  A file has groups or grades throughout. Groups are ranks of the numbers that occur: the last one is level 1, groups
  before it are higher; 0 is left for documents in no group. A scale with other levels is an error.

A grade may be one of Evalutron's words: NS, SS, VS, or not, somewhat, very similar, are 0, 1, 2 of the broad scale.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePath
from sys import intern
from typing import Literal, NamedTuple, get_args

import numpy as np

from audiosim.collection.evidence import PIECE_NAME, RESERVED, spelled
from audiosim.collection.mirex import Exclusions, is_numbered, is_sparse, read_matrix, read_sparse
from audiosim.collection.scales import OffScaleError, guess_scale
from audiosim.collection.task import check_aspect
from audiosim.collection.trec_runs import read_plain
from audiosim.collection.values import (
    FINE,
    CodedJudgments,
    Document,
    Judgment,
    JudgmentSequence,
    Pair,
    PairedComparison,
    Run,
    Scale,
    coded,
    on_one_table,
)
from audiosim.errors import FormatError, InputError
from audiosim.stats.arrays import Array
from audiosim.tables.arrays import check_regular
from audiosim.tables.columns import Columns, words_by_appearance
from audiosim.tables.nested import is_xml, ranx_rows, ranx_values, xml_rows
from audiosim.tables.schema import Say, check_identifier
from audiosim.tables.text import (
    BYTE_ORDER_MARK,
    Lines,
    columns_hint,
    csv_line,
    finite,
    parse_json,
    read_lines,
    shortest,
    whole,
    write_text,
)
from audiosim.text import did_you_mean, nearest_name, quoted, repeated, shortened

# Tables with a header: documents.tsv, queries.tsv, systems.tsv. Tabs separate the fields, without quoting.


TableRow = tuple[int, dict[str, str]]
DOCUMENT_COLUMNS = ("document", "artist", "genre", "path")


def read_documents(path: str | Path) -> dict[str, Document]:
    """The documents of a documents.tsv: `document`, any of `artist`, `genre`, `path`, and more; empty means unknown."""
    rows = _read_unique(Path(path), "document", known=DOCUMENT_COLUMNS)
    return {identifier: _document(row) for identifier, row in rows}


def _document(row: dict[str, str]) -> Document:
    known = {column: value for column, value in row.items() if value}
    identifier = known.pop("document")
    return Document(identifier, known.pop("artist", None), known.pop("genre", None), known.pop("path", None), known)


def read_queries(path: str | Path) -> dict[str, str]:
    """The document of each query in a queries.tsv; queries without a document are left out."""
    rows = _read_unique(Path(path), "query", others=["document"])
    return {query: row["document"] for query, row in rows if row["document"]}


def read_systems(path: str | Path) -> dict[str, str]:
    """The team of each system of a systems.tsv; systems without a team are left out."""
    rows = _read_unique(Path(path), "system", others=["team"])
    return {system: row["team"] for system, row in rows if row["team"]}


def _read_unique(
    path: Path, key: str, others: Sequence[str] | None = None, known: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a tab-separated file by their identifier; any other columns are allowed if `others` is None.

    known   columns with a meaning, if any are allowed
    """
    lines = read_lines(path, f"a header with {' and '.join([key, *(others or [])])}")
    seen: dict[str, int] = {}
    required = [key, *(others or [])]
    rows = read_rows(path, lines, lambda _, text: text.split("\t"), required, others and required, known)
    for number, row in rows:
        identifier = row[key]
        check_identifier(path, number, key, identifier)
        if identifier in seen:
            raise FormatError(
                path, number, f"{key} {identifier} is on line {seen[identifier]} already, expected it once"
            )
        seen[identifier] = number
        yield identifier, row


def read_rows(
    path: Path,
    lines: Iterator[tuple[int, str]],
    split: Callable[[int, str], list[str]],
    required: Sequence[str],
    allowed: Sequence[str] | None,
    known: Sequence[str] = (),
) -> Iterator[TableRow]:
    """The lines after the header, each as its number and its fields by column; all but paths are trimmed.

    split     splits a line, given with its number, into fields
    required  columns that must be present
    allowed   columns that may be present, None for any
    known     columns with a meaning, if any are allowed
    """
    number, text = next(lines)
    header = [name.strip() for name in split(number, text)]
    _check_header(path, number, header)
    _check_columns(path, number, header, required, allowed)
    _check_misspelt(path, number, header, known)
    for number, text in lines:
        fields = split(number, text)
        if len(fields) != len(header):
            raise FormatError(path, number, f"expected {len(header)} columns as in the header, found {len(fields)}")
        row = zip(header, fields, strict=True)
        yield number, {column: text if column == "path" else text.strip() for column, text in row}


def _check_header(path: Path, number: int, header: list[str]) -> None:
    for position, column in enumerate(header, start=1):
        if not column.strip():
            raise FormatError(path, number, f"column {position} of the header has no name, expected one")
    if (twice := repeated(header)) is not None:
        raise FormatError(path, number, f"the header names column {twice} twice, expected it once")


def _check_columns(
    path: Path, number: int, header: list[str], required: Sequence[str], allowed: Sequence[str] | None
) -> None:
    for column in required:
        if column not in header:
            found = f"expected a column {column} in the header, found {', '.join(header)}"
            raise FormatError(path, number, f"{found}{_header_hint(column, header)}")
    for column in header if allowed else ():
        if column not in (allowed or ()):
            expected = f"expected {', '.join(allowed or ())}{did_you_mean(column, allowed or ())}"
            raise FormatError(path, number, f"unknown column {column}, {expected}")


def _header_hint(column: str, header: list[str]) -> str:
    """Hint at the probable cause of a missing column, or nothing."""
    if len(header) == 1 and (hint := columns_hint(header[0], "tabs")):
        return hint
    near = nearest_name(column, header)
    return f"; did you mean {column} for {near}?" if near else ""


def _check_misspelt(path: Path, number: int, header: list[str], known: Sequence[str]) -> None:
    """Raise an error if a column's name resembles that of a missing known one: its values would go unnoticed."""
    others = [column for column in header if column not in known]
    for name in known:
        near = None if name in header else nearest_name(name, others)
        if near:
            problem = (
                f"unknown column {near}, did you mean {name}? Rename it to {name}, or to something clearly different"
            )
            raise FormatError(path, number, problem)


def document_lines(documents: Iterable[Document]) -> list[str]:
    """The lines of a documents.tsv; columns that are empty for all documents are left out."""
    filled = [_columns(document) for document in documents]
    columns = dict.fromkeys(column for row in filled for column in row)
    header = [column for column in DOCUMENT_COLUMNS if column in columns]
    header += [column for column in columns if column not in header]
    return [tsv_line(header), *(tsv_line([row.get(column, "") for column in header]) for row in filled)]


def _columns(document: Document) -> dict[str, str]:
    clash = set(DOCUMENT_COLUMNS) & set(document.more)
    if clash:
        raise InputError(f"document {document.identifier} has an extra column named {min(clash)}, a reserved name")
    named = zip(DOCUMENT_COLUMNS, (document.identifier, document.artist, document.genre, document.path), strict=True)
    return {column: value for column, value in named if value} | dict(document.more)


def query_lines(query_documents: Mapping[str, str]) -> list[str]:
    """The lines of a queries.tsv."""
    return [tsv_line(pair) for pair in [("query", "document"), *query_documents.items()]]


def system_lines(teams: Mapping[str, str]) -> list[str]:
    """The lines of a systems.tsv."""
    return [tsv_line(pair) for pair in [("system", "team"), *teams.items()]]


def tsv_line(values: Sequence[str]) -> str:
    """One line of a table; an InputError if a value would break it, or the first is not an identifier."""
    for value in values:
        if "\t" in value or "\n" in value or "\r" in value:
            raise InputError(f"{value!r} cannot be written to a table: it contains a tab or a line end")
    if not values[0] or values[0] != values[0].strip() or values[0].startswith(BYTE_ORDER_MARK):
        raise InputError(f"{values[0]!r} cannot be written to a table: expected an identifier")
    return "\t".join(values)


def known_artists(documents: Mapping[str, Document], not_artists: frozenset[str]) -> dict[str, str]:
    """The artist of each document that has one."""
    artists = ((identifier, document.artist) for identifier, document in documents.items())
    return {identifier: artist for identifier, artist in artists if artist and artist not in not_artists}


# Reading and writing of comparisons: which of two documents is more relevant to a query, or neither.


REQUIRED = ("query", "document_a", "document_b", "answer")
COLUMNS = (*REQUIRED, "assessor", "seconds")
HEAD_BYTES = 4096
MOST_SECONDS = 1e6  # longest time that an answer may have taken


def read_comparisons(path: str | Path) -> tuple[PairedComparison, ...]:
    """The comparisons of a comparisons.tsv, in the order of their lines.

    A tab-separated table with a header: REQUIRED, and any of `assessor` and `seconds`. A repeated answer about the
    same two documents is a revision; all are kept.
    """
    return tuple(one for _, one in numbered_comparisons(path))


def numbered_comparisons(path: str | Path) -> list[tuple[int, PairedComparison]]:
    """The comparisons of a comparisons.tsv, each with the number of its line; see `read_comparisons`."""
    path = Path(path)
    lines = read_lines(path, f"a header with {', '.join(REQUIRED)}")
    rows = read_rows(path, lines, lambda _, text: text.split("\t"), REQUIRED, COLUMNS)
    return [(number, _comparison(path, number, row)) for number, row in rows]


def has_comparisons(text: bytes) -> bool:
    """True if the header of a file's text is that of comparisons."""
    head = text[:HEAD_BYTES].decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).lstrip()
    return {"document_a", "document_b"} <= set(head.partition("\n")[0].strip().split("\t"))


def _comparison(path: Path, number: int, row: dict[str, str]) -> PairedComparison:
    for column in REQUIRED[:-1]:
        check_identifier(path, number, column, row[column])
    spelled = row.get("seconds") or None
    seconds = None if spelled is None else finite(path, number, "seconds", spelled)
    if seconds is not None and seconds > MOST_SECONDS:
        raise FormatError(path, number, f"expected seconds from 0 to {MOST_SECONDS:.0f}, got {spelled}")
    try:
        return PairedComparison(
            row["query"],
            row["document_a"],
            row["document_b"],
            row["answer"],
            row.get("assessor", ""),
            seconds,
        )
    except InputError as error:
        raise FormatError(path, number, str(error)) from None


def comparison_lines(comparisons: Iterable[PairedComparison]) -> list[str]:
    """The lines of a comparisons.tsv."""
    rows = [
        (one.query, one.document_a, one.document_b, one.answer, one.assessor, _spelled(one.seconds))
        for one in comparisons
    ]
    return [tsv_line(row) for row in [COLUMNS, *rows]]


def _spelled(seconds: float | None) -> str:
    return "" if seconds is None else str(shortest(seconds))


# Grades by judging machines, in the folder `judges/` of a collection, one table per machine.
#
# judges/NAME.tsv    header; `query`, `document`, and `grade` or `score`: any number, on any scale; empty is unknown
#
# `[judges.NAME]` in collection.toml has further facts on one: `kind`, always "machine"; `maker`, `version` and
# `prompt`,
# any text; `may_favour`, a team or system; `file`, the path of its table if it is elsewhere.


JUDGES = "judges"
GRADE_COLUMNS = ("grade", "score")
MachineKind = Literal["machine"]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings of one judge in collection.toml.

    kind        always "machine"
    maker       who made it, any text; empty: unspecified
    version     its version; empty: unspecified
    prompt      its prompt, or where that is described; empty: unspecified
    may_favour  team or system that it may favour; empty: its maker, if that is one of them
    file        its table, relative to the collection's folder; empty: `judges/NAME.tsv`
    """

    kind: MachineKind = "machine"
    maker: str = ""
    version: str = ""
    prompt: str = ""
    may_favour: str = ""
    file: str = ""

    @property
    def given(self) -> bool:
        """True if anything is said of the machine itself."""
        return any((self.maker, self.version, self.prompt, self.may_favour))


@dataclass(frozen=True, eq=False)
class MachineJudge:
    """A machine that judges: grades of pairs on its own scale, higher for more relevant.

    name      letters, digits, - and _, beginning with a letter
    pairs     k distinct pairs
    grades    (k,) finite numbers
    settings  who made it, and whom it may favour
    source    file it was read from, or None
    """

    name: str
    pairs: tuple[Pair, ...]
    grades: Array
    settings: JudgeSettings = JudgeSettings()
    source: Path | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not PIECE_NAME.fullmatch(self.name) or self.name in RESERVED:
            raise InputError(
                f"judge {self.name!r:.80}: expected a name of letters, digits, - and _ that begins with a letter and "
                f"is none of {', '.join(RESERVED)}"
            )
        grades = np.array(self.grades, dtype=np.float64)
        grades.flags.writeable = False
        object.__setattr__(self, "grades", grades)
        if grades.shape != (len(self.pairs),) or not len(grades):
            raise InputError(
                f"judge {self.name}: expected a grade for each of {len(self.pairs)} pairs, got {grades.shape}"
            )
        if not np.all(np.isfinite(grades)):
            row = int(np.argmin(np.isfinite(grades)))
            raise InputError(
                f"judge {self.name}: {spelled(self.pairs[row])} has the grade {grades[row]}, expected a number"
            )
        if len(set(self.pairs)) < len(self.pairs):
            raise InputError(f"judge {self.name}: a pair occurs twice, expected it once")

    @classmethod
    def of(cls, name: str, grades: Mapping[Pair, float], settings: JudgeSettings = JudgeSettings()) -> "MachineJudge":
        """A judge from a mapping of (query, document) to numbers."""
        pairs = tuple(Pair(*pair) for pair in grades)
        try:
            return cls(name, pairs, np.array(list(grades.values()), dtype=np.float64), settings)
        except (ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"judge {name}: expected numbers: {error}") from None


def read_judges(folder: Path, settings: Mapping[str, JudgeSettings] | None = None) -> tuple[MachineJudge, ...]:
    """All machines that judge a collection: those named in collection.toml, then other tables of `judges/`."""
    settings, place = settings or {}, folder / JUDGES
    files = (
        {path.name.partition(".tsv")[0]: path for path in sorted(place.iterdir()) if _is_table(path)}
        if place.is_dir()
        else {}
    )
    paths = {
        name: folder / one.file if one.file else files.get(name, place / f"{name}.tsv")
        for name, one in settings.items()
    }
    for name, path in paths.items():
        if not path.exists():
            raise InputError(f"{path}: no such file, expected the grades of judge {name} named in collection.toml")
    return tuple(
        read_judge(path, name, settings.get(name, JudgeSettings()))
        for name, path in {**paths, **{name: path for name, path in files.items() if name not in paths}}.items()
    )


def read_judge(path: Path, name: str, settings: JudgeSettings = JudgeSettings()) -> MachineJudge:
    """The machine with the grades in a table; every error names the line."""
    check_regular(path)
    lines = read_lines(path, "a header with query, document and grade")
    grades: dict[Pair, float] = {}
    for number, row in read_rows(path, lines, _fields, ("query", "document"), None, GRADE_COLUMNS):
        column = next((one for one in GRADE_COLUMNS if one in row), None)
        if column is None:
            raise FormatError(path, 1, f"expected a column grade or score in the header, found {', '.join(row)}")
        if not row[column]:
            continue
        pair = Pair(row["query"], row["document"])
        for kind, identifier in zip(("query", "document"), pair, strict=True):
            check_identifier(path, number, kind, identifier)
        if pair in grades:
            raise FormatError(path, number, f"{spelled(pair)} occurs twice, expected it once")
        grades[pair] = finite(path, number, column, row[column])
    if not grades:
        raise FormatError(path, 1, "no pair has a grade, expected some")
    try:
        return MachineJudge(name, tuple(grades), np.array(list(grades.values())), settings, path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def judge_lines(judge: MachineJudge) -> list[str]:
    """The lines of a judge's table."""
    rows = ((*pair, str(shortest(grade))) for pair, grade in zip(judge.pairs, judge.grades.tolist(), strict=True))
    return [tsv_line(row) for row in [("query", "document", "grade"), *rows]]


def check_names_of_judges(judges: Iterable[MachineJudge], evidence: Iterable[str]) -> None:
    """Raise an error if two judges, or a judge and a piece of evidence, share a name."""
    taken = set(evidence)
    for judge in judges:
        if judge.name in taken:
            raise InputError(
                f"{_where(judge)}judge {judge.name}: another judge, or a piece of evidence, has the same name"
            )
        taken.add(judge.name)


def check_favoured(judges: Iterable[MachineJudge], names: Collection[str]) -> None:
    """Raise an error if a judge may favour what is not one of these teams and systems."""
    for judge in judges:
        favoured = judge.settings.may_favour
        if favoured and favoured not in names:
            expected = f"expected a team or a system in may_favour{did_you_mean(favoured, sorted(names))}"
            raise InputError(f"{_where(judge)}judge {judge.name}: {expected}, got {favoured!r}")


def _where(judge: MachineJudge) -> str:
    return "" if judge.source is None else f"{judge.source}: "


def _fields(_: int, line: str) -> list[str]:
    return line.split("\t")


def _is_table(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if not path.name.removesuffix(".gz").endswith(".tsv"):
        raise InputError(f"{path}: expected the grades of a judge in a file NAME.tsv")
    return True


# Grades of TREC qrels outside any scale: unjudged pairs, and junk.


UNJUDGED, JUNK = -1, -2
ODD = {UNJUDGED: "unjudged, left out", JUNK: "junk, the lowest grade"}


def say_odd(grades: Counter[float], say: Say) -> None:
    """Report the treatment of grades of qrels outside the scale, one sentence for each kind."""
    for grade, what in ODD.items():
        if grades[grade]:
            say(f"{grades[grade]:,} {'grade' if grades[grade] == 1 else 'grades'} of {grade}: taken as {what}")


# Large files of TREC qrels and lists of query, document and grade as arrays; others are left to `judgments`.
#
# Plain means ASCII, the same three or four columns throughout with one space or tab between, numbers as grades, and
# one
# line for each pair. `collection.kinds` reads all other files line by line and reports all errors. Both give the same
# result.


def read_plain_judgments(path: Path, columns: int) -> CodedJudgments | None:
    """A judgment for each line, with its grade unchanged; None if the file is not plain.

    columns  number of columns of the first line, 3 or 4
    """
    found = Columns.read(path, columns)
    query, document, grade = 0, columns - 2, columns - 1
    if found is None or not found.narrow(query, document):
        return None
    grades = found.numbers(grade)
    if grades is None:
        return None
    queries, query_codes = words_by_appearance(found.words(query))
    documents, document_codes = words_by_appearance(found.words(document))
    keys = query_codes.astype(np.int64) * len(documents) + document_codes
    keys.sort()
    if (keys[1:] == keys[:-1]).any():
        return None
    return CodedJudgments(queries, documents, query_codes, document_codes, grades)


def graded_columns(path: Path, plain: CodedJudgments, scale: Scale | None, say: Say) -> tuple[Scale, CodedJudgments]:
    """The scale and the judgments of a plain file; see `judgments.read_judgments`."""
    kinds, counts = np.unique(plain.grades, return_counts=True)
    say_odd(Counter(dict(zip(kinds.tolist(), counts.tolist(), strict=True))), lambda said: say(f"{path}: {said}"))
    grades = [grade for grade in kinds.tolist() if grade != UNJUDGED]
    kept = plain.grades != UNJUDGED
    try:
        if scale is None and grades:
            usual = {0.0 if grade == JUNK else grade for grade in grades}
            scale, sentence = guess_scale(usual, count=int(kept.sum()))
            say(sentence)
    except OffScaleError as error:
        raise FormatError(path, _line_of_grade(plain, [error.grade]), str(error)) from None
    scale = scale or FINE
    wrong = [grade for grade in grades if grade != JUNK and grade not in scale]
    if wrong:
        line = _line_of_grade(plain, wrong)
        try:
            scale.check(float(plain.grades[line - 1]))
        except InputError as error:
            raise FormatError(path, line, str(error)) from None
    settled = np.where(plain.grades == JUNK, scale.levels[0], plain.grades)
    return scale, plain.chosen(kept, settled[kept])


def _line_of_grade(plain: CodedJudgments, grades: list[float]) -> int:
    """The first line of a plain file with any of some grades."""
    return int(np.flatnonzero(np.isin(plain.grades, grades))[0]) + 1


# Reading and writing of runs: the documents that each system retrieved for each query.
#
# The form is recognised from the file's contents; a file has one form throughout.
#
# - TREC: `query Q0 document rank score system`. The score orders, highest first; equal scores are ordered by
# document,
# highest first, as in trec_eval (form_res_rels.c: scores and then strcmp, both falling; double precision since
# its pull request 38). As there, the rank is not used; a repeated rank within a ranking is noted.
# - Lists: `system query document`, best first; a first line with just these words is a header.
# - MIREX result files: see `audiosim.collection.mirex`.
# - JSON as written by ranx: {"q1": {"d1": 0.9, "d2": 0.4}}, scores by query and document; ordered like TREC runs.
#
# A system is named by its tag. If several files share a tag for rankings of the same queries, their file names name
# the
# systems, as `system_from="file"` does throughout: the name without `.gz` and without a suffix of letters.


SystemFrom = Literal["file", "tag"]
TREC = "query Q0 document rank score system"
LIST = "system query document"
FORMS = f"a TREC run ({TREC}), lines of {LIST}, or a MIREX result file"


@dataclass(slots=True)
class _Ranking:
    """One ranking of a TREC run while it is read."""

    system: str
    query: str
    ranks: set[int] = field(default_factory=set)
    scores: dict[str, float] = field(default_factory=dict)
    last: tuple[int, float] | None = None
    rising: int = 0
    falling: int = 0
    level: int = 0

    def add(self, path: Path, number: int, document: str, rank: str, score: str) -> bool:
        """Add a line; True if its rank is new."""
        place = whole(path, number, "rank", rank)
        if document in self.scores:
            raise _twice(path, number, self.system, self.query, document)
        value = self.scores[intern(document)] = finite(path, number, "score", score)
        if self.last is not None and place > self.last[0]:
            self.rising += value > self.last[1]
            self.falling += value < self.last[1]
            self.level += value == self.last[1]
        self.last = place, value
        fresh = place not in self.ranks
        self.ranks.add(place)
        return fresh

    def best_first(self) -> tuple[str, ...]:
        pairs = sorted(zip(self.scores.values(), self.scores, strict=True), reverse=True)
        return tuple([document for _, document in pairs])


def read_runs(
    paths: Iterable[str | Path],
    exclusions: Exclusions | None = None,
    system_from: SystemFrom | None = None,
    say: Say = lambda _: None,
) -> tuple[Run, ...]:
    """The runs of one file or several, in order of appearance; each system is in one file.

    exclusions   for MIREX result files: valid queries, and documents that cannot be results
    system_from  source of system names; None: the tag, or the file if several files share a tag
    say          called with one sentence on each peculiarity that is not an error
    """
    if system_from not in (None, *get_args(SystemFrom)):
        raise InputError(f"system_from must be file or tag, got {system_from!r}")
    files = [Path(path) for path in paths]
    plain = {
        path: [(line, Run(tag, rankings)) for line, tag, rankings in systems]
        for path, systems in read_plain(files).items()
    }
    found = [
        _Found(path, *one)
        for path in files
        for one in (plain[path] if path in plain else _read_file(path, exclusions or Exclusions(), say))
    ]
    shared = {tag for tag, count in Counter(one.run.system for one in found).items() if count > 1}
    by_file = {one.path for one in found if system_from == "file" or (system_from is None and one.run.system in shared)}
    if shared and system_from is None:
        _check_other_rankings(found)
        say(f"{len(by_file)} files share the tag {min(shared)}: their systems are named by their files")
    _check_single([one for one in found if one.path in by_file])
    return _unique([one.named_by_file() if one.path in by_file else one for one in found])


@dataclass(frozen=True, slots=True)
class _Found:
    """A run, its file, and the line on which it starts."""

    path: Path
    line: int
    run: Run

    def named_by_file(self) -> "_Found":
        name = Path(self.path.name.removesuffix(".gz"))
        # Only an ending in letters is a suffix: the 2 of KL.2 distinguishes two systems.
        return _Found(
            self.path, self.line, Run(name.stem if name.suffix[1:].isalpha() else name.name, self.run.rankings)
        )


def _check_other_rankings(found: Sequence[_Found]) -> None:
    """Raise an error if files with one tag rank different queries: they look like parts of one run."""
    first: dict[str, _Found] = {}
    for one in found:
        other = first.setdefault(one.run.system, one)
        if other is not one and not one.run.rankings.keys() & other.run.rankings.keys():
            raise _again(one, other, "one system in one file, or --system-from file if they are two systems")


def _check_single(found: Sequence[_Found]) -> None:
    """Check that a file that names its system holds only one."""
    first: dict[Path, _Found] = {}
    for one in found:
        other = first.setdefault(one.path, one)
        if other is not one and other.run.system == one.run.system:
            raise _again(one, other, "it once")
        if other is not one:
            both = f"the file holds systems {other.run.system} and {one.run.system}"
            raise FormatError(one.path, one.line, f"{both}, expected one if files name the systems")


def _unique(found: Sequence[_Found]) -> tuple[Run, ...]:
    first: dict[str, _Found] = {}
    for one in found:
        if (other := first.setdefault(one.run.system, one)) is not one:
            raise _again(one, other, "it once, or --system-from file if they are two systems")
    return tuple(one.run for one in found)


def _again(one: _Found, other: _Found, expected: str) -> FormatError:
    return FormatError(one.path, one.line, f"system {one.run.system} is in {other.path} already, expected {expected}")


def _read_file(path: Path, exclusions: Exclusions, say: Say) -> list[tuple[int, Run]]:
    """Each run of a file with the line on which it starts."""
    lines = read_lines(path, FORMS)
    head = list(islice(lines, 2))
    (number, first), second = head[0], head[1][1] if len(head) > 1 else ""
    lines = chain(head, lines)
    columns = len(first.split())
    if first.strip() == "{" or (first.lstrip().startswith("{") and ":" in first and first.rstrip()[-1] in "{}"):
        return [(number, _read_ranx(path, lines))]
    if "\t" not in first and is_sparse(second):
        return [(number, read_sparse(path, lines, exclusions))]
    if is_numbered(second) and not _is_trec(first):
        return [(number, read_matrix(path, lines, exclusions))]
    if columns not in (6, 3):
        hint = columns_hint(first, "tabs or spaces") or _spaces(columns > 6)
        raise FormatError(path, number, f"expected {FORMS}, found {columns} columns{hint}")
    if first.startswith("#") and columns != len(TREC.split()) and _is_trec(second):
        raise FormatError(path, number, f"expected a TREC run ({TREC}) from the first line on, found {quoted(first)}")
    return _read_trec(path, lines, say) if columns == 6 else _read_list(path, lines)


def _read_ranx(path: Path, lines: Lines) -> Run:
    """The run of a JSON file of scores by query and document, as written by ranx; the file's name is the system's."""
    rankings: dict[str, _Ranking] = {}
    system = path.name.removesuffix(".gz").removesuffix(".json")
    for place, (query, document, score) in enumerate(ranx_values(path, lines)):
        rankings.setdefault(query, _Ranking(system, query)).add(path, 1, document, str(place), score)
    return Run(system, {query: ranking.best_first() for query, ranking in rankings.items()})


def _is_trec(line: str) -> bool:
    """True if a first line certainly belongs to a TREC run; the name line of a matrix may also have six words."""
    fields = line.split()
    return len(fields) == 6 and fields[3].isdecimal()


def _read_trec(path: Path, lines: Lines, say: Say) -> list[tuple[int, Run]]:
    rankings: dict[tuple[str, str], _Ranking] = {}
    starts: dict[str, int] = {}
    repeated: list[int] = []
    for number, text in lines:
        try:
            query, _, document, rank, score, system = text.split()
        except ValueError:
            raise _wrong_columns(path, number, TREC, text) from None
        ranking = rankings.get((system, query))
        if ranking is None:
            # Interned, because millions of lines repeat a few thousand names.
            system, query = intern(system), intern(query)
            ranking = rankings[system, query] = _Ranking(system, query)
            starts.setdefault(system, number)
        if not ranking.add(path, number, document, rank, score):
            repeated.append(number)
    if repeated:
        many = f"{len(repeated)} lines repeat a rank of their ranking"
        said = many if len(repeated) > 1 else "the line repeats a rank of its ranking"
        say(f"{path}:{repeated[0]}: {said}; scores decide, as in trec_eval")
    for system, number in starts.items():
        own = [ranking for ranking in rankings.values() if ranking.system == system and ranking.last is not None]
        if any(one.rising for one in own) and not any(one.falling for one in own):
            say(
                f"{path}:{number}: the scores of system {system} rise with the rank, as distances do: the last rank "
                f"counts as best, as in trec_eval; give similarities, such as negative distances"
            )
        if any(one.level for one in own) and not any(one.rising or one.falling for one in own):
            say(
                f"{path}:{number}: all scores of system {system} for a query are equal: documents are ordered by name, "
                f"the last first, and ranks do not count, as in trec_eval; give scores that fall with the rank"
            )
    return _runs(starts, {key: ranking.best_first() for key, ranking in rankings.items()})


def _read_list(path: Path, lines: Lines) -> list[tuple[int, Run]]:
    rankings: dict[tuple[str, str], dict[str, None]] = {}
    starts: dict[str, int] = {}
    for number, text in lines:
        fields = text.split()
        if len(fields) != 3:
            raise _wrong_columns(path, number, LIST, text)
        if not starts and fields == LIST.split():
            continue
        if not starts and set(fields) == set(LIST.split()):
            raise FormatError(path, number, f"the columns are {' '.join(fields)}, expected them as {LIST}")
        system, query, document = map(intern, fields)
        starts.setdefault(system, number)
        ranking = rankings.setdefault((system, query), {})
        if document in ranking:
            raise _twice(path, number, system, query, document)
        ranking[document] = None
    if not starts:
        raise FormatError(path, 1, f"the file ends after its header, expected lines of {LIST}")
    return _runs(starts, {key: tuple(ranking) for key, ranking in rankings.items()})


def _runs(starts: dict[str, int], rankings: dict[tuple[str, str], tuple[str, ...]]) -> list[tuple[int, Run]]:
    by_system: dict[str, dict[str, tuple[str, ...]]] = {system: {} for system in starts}
    for (system, query), documents in rankings.items():
        by_system[system][query] = documents
    return [(starts[system], Run(system, found)) for system, found in by_system.items()]


def _wrong_columns(path: Path, number: int, columns: str, text: str) -> FormatError:
    wanted, found = len(columns.split()), len(text.split())
    expected = f"expected {wanted} columns ({columns}) as on the lines above"
    return FormatError(
        path, number, f"{expected}, found {found}{_spaces(found > wanted and found != len(TREC.split()))}"
    )


def _spaces(more: bool) -> str:
    return "; a name with a space counts as two columns" if more else ""


def _twice(path: Path, number: int, system: str, query: str, document: str) -> FormatError:
    where = f"the ranking of system {system} for query {query}"
    return FormatError(path, number, f"document {document} is twice in {where}, expected each document once")


def run_lines(runs: Iterable[Run]) -> list[str]:
    """The lines of a TREC run, one system after another; the scores count down to 1."""
    lines = []
    for run in runs:
        for query, documents in _filled(run).items():
            names = [check_word(run.system), check_word(query)]
            for rank, document in enumerate(documents, start=1):
                score = len(documents) - rank + 1
                lines.append(f"{names[1]} Q0 {check_word(document)} {rank} {score} {names[0]}")
    return lines


def _filled(run: Run) -> Mapping[str, tuple[str, ...]]:
    """The rankings of a run; an error if one is empty, which a TREC run cannot express."""
    empty = [query for query, documents in run.rankings.items() if not documents]
    if empty or not run.rankings:
        where = f"query {empty[0]}" if empty else "any query"
        raise InputError(f"system {run.system} retrieves nothing for {where}, which a TREC run cannot express")
    return run.rankings


def check_word(identifier: str) -> str:
    """The identifier, checked to contain no white space."""
    if identifier.split() != [identifier] or identifier.startswith(BYTE_ORDER_MARK):
        raise InputError(f"{identifier!r} cannot be written: white space separates columns here, expected none")
    return identifier


def write_run(path: str | Path, runs: Iterable[Run]) -> None:
    """Write a TREC run of one or more systems, creating its folder if need be."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(path, run_lines(runs))


GRADES = ("grade", "fine", "broad")
COLUMNS_OF_JUDGMENTS = ("query", "document", *GRADES, "assessor", "time")
# Further columns of files exported by a service; they are ignored.
CARRIED = (
    "note",
    "seconds",
    "played_s",
    "query_played_s",
    "document_played_s",
    "cannot",
    "leased",
    "until",
    "doubt",
    "details",
)
GROUP, ASPECT = "group", "aspect"
COUNTS, DEFUSED = "counts", "defused"
VALUES = (*GRADES, GROUP)
KNOWN = (*COLUMNS_OF_JUDGMENTS, ASPECT, COUNTS, *CARRIED, DEFUSED, GROUP)
YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
FORMS_OF_JUDGMENTS = (
    "TREC qrels (query 0 document grade), lines of query document grade, CSV with a header, or JSON Lines"
)
LISTS = [[*names, last] for names in (("query", "document"), ("query", "0", "document")) for last in ("grade", GROUP)]
WORDS = {"ns": 0.0, "ss": 1.0, "vs": 2.0, "not similar": 0.0, "somewhat similar": 1.0, "very similar": 2.0}


class Statement(NamedTuple):
    """Contents of one line: its grades by column."""

    line: int
    query: str
    document: str
    grades: dict[str, float]
    assessor: str = ""
    time: str = ""
    aspect: str = ""


def read_judgments(
    path: str | Path, scale: Scale | None = None, say: Say = lambda _: None
) -> tuple[Scale, JudgmentSequence]:
    """The scale and the judgments of a file.

    scale  scale of the grades; None: guessed from the columns and grades
    say    called with a sentence on the guess of the scale, and with one on each kind of odd grade
    """
    path = Path(path)
    if (plain := _read_columns(path)) is not None:
        return graded_columns(path, plain, scale, say)
    statements = _read_statements(path, say)
    _check_aspects(path, statements)
    statements, scale = _without_groups(path, statements, scale, say)
    scale, column = _guess_scale(path, statements, say) if scale is None else (scale, scale.name)
    judgments = []
    for statement in statements:
        grade = _grade(path, statement, column)
        if grade is not None:
            judgments.append(_judgment(path, statement, scale, scale.levels[0] if grade == JUNK else grade))
    if statements and not judgments:
        raise _wrong_column(path, statements[0], scale)
    return scale, tuple(judgments)


def lines_of_pairs(path: Path) -> list[tuple[int, Pair, str]]:
    """The line, the pair and the assessor of each judgment in a file that `read_judgments` reads, in their order."""
    return [(one.line, Pair(one.query, one.document), one.assessor) for one in _read_statements(path, lambda _: None)]


def _read_columns(path: Path) -> CodedJudgments | None:
    """The lines of a plain file of qrels; None for any other file; see `plain_judgments`."""
    if named_groups(path):
        return None
    try:
        _, first = next(read_lines(path, FORMS_OF_JUDGMENTS))
    except InputError:  # the line-by-line reader reports the error
        return None
    text = first.strip()
    columns = 0 if is_xml(first) or text.startswith("{") or _is_header(first) else len(text.split())
    return read_plain_judgments(path, columns) if columns in (3, 4) else None


def _check_aspects(path: Path, statements: Sequence[Statement]) -> None:
    """Raise an error if only some lines have an aspect, or if the name of an aspect is not allowed."""
    several = any(statement.aspect for statement in statements)
    for statement in statements if several else ():
        try:
            check_aspect(statement.aspect)
        except InputError as error:
            raise FormatError(path, statement.line, str(error)) from None


def _wrong_column(path: Path, statement: Statement, scale: Scale) -> FormatError:
    columns = f"{scale.name} or grade" if scale.name in GRADES else "grade"
    problem = f"expected a grade for the {scale.name} scale in {columns}, found only {' and '.join(statement.grades)}"
    return FormatError(path, statement.line, problem)


def _judgment(path: Path, statement: Statement, scale: Scale, grade: float) -> Judgment:
    try:
        scale.check(grade)
    except InputError as error:
        raise FormatError(path, statement.line, str(error)) from None
    return Judgment(*statement[1:3], grade, statement.assessor, statement.time, statement.aspect)


def _without_groups(
    path: Path, statements: list[Statement], scale: Scale | None, say: Say
) -> tuple[list[Statement], Scale | None]:
    """The statements with levels instead of groups, and their scale; both unchanged if there are no groups."""
    numbers = {statement.grades[GROUP] for statement in statements if GROUP in statement.grades}
    if not (numbers or named_groups(path)):
        return statements, scale
    for statement in statements:
        if [*statement.grades] != [GROUP]:
            found = " and ".join(statement.grades)
            raise FormatError(path, statement.line, f"expected a group alone as on all lines, found {found}")
    own = Scale("custom", tuple(float(level) for level in range(len(numbers) + 1)))
    if scale is not None and scale.levels != own.levels:
        problem = f"the file has {len(numbers)} groups of equal relevance, which are no grades of the scale {scale}"
        raise FormatError(path, statements[0].line, f"{problem}: write the grade of each group instead")
    say(f"{len(numbers)} groups of equal relevance: taken as levels {len(numbers)} to 1, the first the most relevant")
    level = {number: float(place) for place, number in enumerate(sorted(numbers, reverse=True), start=1)}
    return [one._replace(grades={"grade": level[one.grades[GROUP]]}) for one in statements], scale or own


def _grade(path: Path, statement: Statement, column: str) -> float | None:
    """The grade in a column, or in `grade` if it is empty; None if there is neither."""
    general = statement.grades.get("grade")
    grade = statement.grades.get(column, general)
    if general is not None and grade != general:
        problem = f"grade {general:g} contradicts {column} {grade:g}: both are on the same scale"
        raise FormatError(path, statement.line, f"{problem}, expected one of them")
    return grade


def _guess_scale(path: Path, statements: Sequence[Statement], say: Say) -> tuple[Scale, str]:
    """The scale, and its column: the first present of `fine`, `broad` and `grade`."""
    columns = {column for statement in statements for column in statement.grades}
    column = next((name for name in ("fine", "broad") if name in columns), "grade")
    grades = [statement.grades[column] for statement in statements if column in statement.grades]
    if not grades:
        return FINE, column
    try:
        scale, sentence = guess_scale({0.0 if grade == JUNK else grade for grade in grades}, column, len(grades))
    except OffScaleError as error:
        line = next(one.line for one in statements if one.grades.get(column) == error.grade)
        raise FormatError(path, line, str(error)) from None
    say(sentence)
    return scale, column


def _read_statements(path: Path, say: Say) -> list[Statement]:
    lines = read_lines(path, FORMS_OF_JUDGMENTS)
    number, first = next(lines)
    lines = chain([(number, first)], lines)
    if is_xml(first):
        rows: Iterable[tuple[int, dict[str, str]]] = xml_rows(path, lines)
        return [_from_row(path, number, row) for number, row in rows if _rests(path, number, row)]
    # An identifier may start with a brace, but a line of qrels ends with a grade.
    if first.strip() == "{" or (first.strip().startswith("{") and first.strip().endswith(("}", "{"))):
        return _from_braces(path, number, first, lines)
    if _is_header(first):
        split = _split_tabs if "\t" in first else partial(_split_commas, path)
        rows = read_rows(path, lines, split, COLUMNS_OF_JUDGMENTS[:2], KNOWN)
        return [_from_row(path, number, _armed(path, number, row)) for number, row in rows if _rests(path, number, row)]
    columns = len(first.split())
    if columns not in (4, 3):
        hint = columns_hint(first, "commas or tabs, under a header" if _names_columns(first) else "spaces or tabs")
        raise FormatError(path, number, f"expected {FORMS_OF_JUDGMENTS}, found {columns} columns{hint}")
    return _read_once(path, lines, columns, say)


def _from_braces(path: Path, number: int, first: str, lines: Lines) -> list[Statement]:
    """The statements of a JSON file: an object per line, or one object query -> document -> grade, as by ranx."""
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        record = None
    whole = first.strip().endswith("{") if record is None else any(isinstance(one, dict) for one in record.values())
    if whole and not (isinstance(record, dict) and "query" in record):
        rows = ranx_rows(path, lines, GROUP if named_groups(path) else "grade")
        return [_from_row(path, number, row) for number, row in rows]
    records = ((number, _json_record(path, number, text)) for number, text in lines)
    return [_from_json(path, number, record) for number, record in records if _rests(path, number, record)]


def _is_header(line: str) -> bool:
    names = [name.strip('" ').lower() for name in re.split(r"[,\t]", line)]
    return len(names) > 1 and ("query" in names or "document" in names)


def _is_object(line: str) -> bool:
    """True for a line of JSON Lines."""
    return line.lstrip().startswith("{") and '"document"' in line


def _names_columns(line: str) -> bool:
    return "query" in line.lower() or "document" in line.lower()


def _read_once(path: Path, lines: Lines, columns: int, say: Say) -> list[Statement]:
    """The statements of TREC qrels or of a list of three columns, with one line per pair."""
    column = GROUP if named_groups(path) else "grade"
    seen: dict[Pair, int] = {}
    statements = []
    odd = Counter[float]()
    for number, text in lines:
        fields = text.split()
        if len(fields) != columns:
            raise FormatError(path, number, f"expected {columns} columns as on the lines above, found {len(fields)}")
        if not seen and fields in LISTS:
            column = fields[-1]
            continue
        pair = Pair(fields[0], fields[-2])
        if pair in seen:
            problem = f"query {pair.query} and document {pair.document} are on line {seen[pair]} already"
            raise FormatError(path, number, f"{problem}, expected each pair once")
        seen[pair] = number
        grades = _judgments_spelled(path, number, column, fields[-1])
        odd.update(grades.values())
        if UNJUDGED not in grades.values():
            statements.append(Statement(number, *pair, grades))
    say_odd(odd, lambda said: say(f"{path}: {said}"))
    return statements


def named_groups(path: PurePath) -> bool:
    """True if numbers without a column's name in this file are groups."""
    return path.name.partition(".")[0].lower() == "groups"


def nameless(name: str, body: bytes) -> bytes:
    """The contents of a file of judgments, with a header if only its name says that it has groups.

    name  of the file, which later readers of the contents do not know
    """
    if not named_groups(PurePath(name)):
        return body
    lines = body.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).splitlines()
    first = next((line for line in lines if line.strip()), "")
    if _is_header(first) or is_xml(first) or first.split() in LISTS or _is_object(first):
        return body
    header = {len(words): " ".join(words) for words in LISTS if words[-1] == GROUP}.get(len(first.split()))
    if header is None:
        raise InputError(f"{name}: expected a header with query, document and group, or lines of them")
    return f"{header}\n".encode() + body.removeprefix(BYTE_ORDER_MARK.encode())


def _judgments_spelled(path: Path, number: int, column: str, text: str) -> dict[str, float]:
    """A grade or group by its column; Evalutron's words belong to the column `broad`."""
    word = WORDS.get(" ".join(text.lower().split()))
    if word is not None and column in ("grade", "broad"):
        return {"broad": word}
    return {column: _number(path, number, column, text)}


def _number(path: Path, number: int, column: str, text: str) -> float:
    """A grade, or the number of a group, exact however large."""
    value = finite(path, number, column, text)
    if column == GROUP and not (value >= 1 and value.is_integer()):
        raise FormatError(path, number, f"expected a group of 1 or more, found {text}")
    return int(text) if column == GROUP and text.strip().isdecimal() else value


def _split_tabs(_: int, text: str) -> list[str]:
    return text.split("\t")


def _split_commas(path: Path, number: int, text: str) -> list[str]:
    """The fields of one line of CSV; a line is a whole record, as no identifier contains a line end."""
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise FormatError(path, number, f"not CSV: {error}, expected one record per line") from None


def _from_row(path: Path, number: int, row: dict[str, str]) -> Statement:
    grades: dict[str, float] = {}
    for name in VALUES:
        said = _judgments_spelled(path, number, name, row[name]) if row.get(name) else {}
        if any(grades.get(key, value) != value for key, value in said.items()):  # a word in `grade` is also `broad`
            raise FormatError(
                path, number, f"grade {row['grade']} contradicts {name} {row[name]}, expected one of them"
            )
        grades |= said
    beside = (row.get(name, "") for name in ("assessor", "time", ASPECT))
    return _statement(path, number, row["query"], row["document"], grades, *beside)


def _rests(path: Path, number: int, row: Mapping[str, object]) -> bool:
    """True if a line is used: it counts, and it does not declare the pair impossible to judge."""
    said = row.get(COUNTS)
    counts = True if said in (None, "") else YES_NO.get(str(said).strip().lower())
    if counts is None:
        raise FormatError(path, number, f"expected yes or no for {COUNTS}, found {quoted(str(said))}")
    return counts and (not row.get("cannot") or any(row.get(name) not in (None, "") for name in VALUES))


def _armed(path: Path, number: int, row: dict[str, str]) -> dict[str, str]:
    """A line of a table with its protective apostrophes removed."""
    names = row.get(DEFUSED, "").split()
    for name in names:
        if not row.get(name, "").startswith("'"):
            raise FormatError(path, number, f"expected a leading apostrophe in {quoted(name)}, as {DEFUSED} names it")
    return {name: value[1:] if name in names else value for name, value in row.items()}


def _json_record(path: Path, number: int, text: str) -> dict[str, object]:
    record = parse_json(path, number, text, "one object per line")
    if not isinstance(record, dict):
        raise FormatError(path, number, f"expected a JSON object with query and document, found {text[:40]}")
    for key in record:
        if key not in KNOWN:
            expected = f"expected {', '.join(COLUMNS_OF_JUDGMENTS)}{did_you_mean(key, KNOWN)}"
            raise FormatError(path, number, f"unknown key {shortened(key)}, {expected}")
    return record


def _from_json(path: Path, number: int, record: dict[str, object]) -> Statement:
    given = {name: record[name] for name in VALUES if record.get(name) is not None}
    grades = {name: _json_number(path, number, name, value) for name, value in given.items()}
    query, document, *said = (
        _json_text(path, number, record, key) for key in ("query", "document", "assessor", "time", ASPECT)
    )
    return _statement(path, number, query, document, grades, *said)


def _json_number(path: Path, number: int, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(path, number, f"expected a finite number for {name}, found {json.dumps(value)}")
    return _number(path, number, name, str(value))


def _json_text(path: Path, number: int, record: dict[str, object], key: str) -> str:
    """A text field of a JSON object, empty if absent; identifiers may be numbers."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise FormatError(path, number, f"expected text for {key}, found {json.dumps(value)}")
    if isinstance(value, str) and "\0" in value:
        raise FormatError(path, number, f"{key} has a byte 0, expected text")
    return "" if value is None else str(value)


def _statement(
    path: Path, number: int, query: str, document: str, grades: dict[str, float], assessor: str, time: str, aspect: str
) -> Statement:
    check_identifier(path, number, "query", query)
    check_identifier(path, number, "document", document)
    if not grades:
        raise FormatError(path, number, f"no grade, expected one in {', '.join(GRADES)}")
    return Statement(number, query.strip(), document.strip(), grades, assessor.strip(), time, aspect)


def qrels_lines(judgments: Iterable[Judgment]) -> list[str]:
    """The lines of TREC qrels, which cannot hold an assessor, a time or a second grade of a pair."""
    judgments = tuple(judgments)
    if not fits_qrels(judgments):
        raise InputError("qrels hold one grade per pair, no assessor and no time: write these judgments as CSV")
    return [f"{check_word(j.query)} 0 {check_word(j.document)} {shortest(j.grade)}" for j in judgments]


def fits_qrels(judgments: Sequence[Judgment]) -> bool:
    """True if qrels can hold these judgments without loss."""
    nameless = not any(judgment.assessor or judgment.time or judgment.aspect for judgment in judgments)
    return nameless and len({judgment.pair for judgment in judgments}) == len(judgments)


def judgments_csv_lines(judgments: Iterable[Judgment]) -> list[str]:
    """The lines of a judgments.csv: query, document, grade, assessor, time, and aspect if there are any."""
    judgments = tuple(judgments)
    several = any(judgment.aspect for judgment in judgments)
    lines = [csv_line(["query", "document", "grade", "assessor", "time", *([ASPECT] if several else [])])]
    for judgment in judgments:
        _check_written(judgment)
        fields = [judgment.query, judgment.document, str(shortest(judgment.grade)), judgment.assessor, judgment.time]
        lines.append(csv_line([*fields, *([judgment.aspect] if several else [])]))
    return lines


def _check_written(judgment: Judgment) -> None:
    for value in (judgment.query, judgment.document, judgment.assessor, judgment.time):
        if "\n" in value or "\r" in value:
            raise InputError(f"{value!r} cannot be written: it contains a line end")
        if value != value.strip():
            raise InputError(f"{value!r} cannot be written: readers would trim it")
    if not judgment.query or not judgment.document:
        raise InputError(f"query {judgment.query!r} and document {judgment.document!r} cannot be written: one is empty")


def write_judgments_csv(path: str | Path, judgments: Iterable[Judgment]) -> None:
    """Write judgments as CSV, with assessor and time."""
    write_text(path, judgments_csv_lines(judgments))


# Lists of pairs: a query and a document per line, separated by a tab or spaces; a header is optional.


HEADER = ["query", "document"]


def read_pairs(path: str | Path) -> dict[Pair, int]:
    """The pairs of a file in their order, each with the number of its line.

    Raises an error if a line does not have two names, or if a pair is repeated.
    """
    path, pairs = Path(path), dict[Pair, int]()
    for number, text in read_lines(path, "a query and a document per line"):
        fields = [field.strip() for field in text.split("\t")] if "\t" in text else text.split()
        if not pairs and fields == HEADER:
            continue
        if len(fields) != 2 or not all(fields):
            raise FormatError(path, number, f"expected 2 fields (query, document), found {len(fields)}")
        pair = Pair(*fields)
        if pair in pairs:
            raise FormatError(
                path, number, f"query {pair.query}, document {pair.document} is on line {pairs[pair]} already"
            )
        pairs[pair] = number
    if not pairs:
        raise FormatError(path, 1, "the file holds no pair, expected a query and a document per line")
    return pairs


# Trivial results: the query's own recording, and others by its artist.


SameArtist = Literal["keep", "drop"]


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
    if choice == "keep" or not _any(runs, exclusions):
        return tuple(runs), None
    own, artist, example = 0, 0, ""
    kept = []
    for run in runs:
        rankings = {}
        for query, documents in run.rankings.items():
            document = exclusions.query_documents.get(query, query)
            admitted = exclusions.admit(document, list(documents))
            itself = int(document in documents)
            own, artist = own + itself, artist + len(documents) - len(admitted) - itself
            if len(admitted) < len(documents) and not example:
                first = next(name for name in documents if name not in admitted)
                example = f"such as document {first} for query {query} in system {run.system}"
            rankings[query] = admitted
        kept.append(replace(run, rankings=rankings))
    if not own + artist:
        return tuple(runs), None
    found = f"{_results(own)} the query's own recording, {_results(artist)} by its artist, {example}"
    if choice == "drop":
        return tuple(kept), f"{found}: left out"
    return tuple(runs), f"{found}: kept; --same-artist drop leaves them out, keep omits this note"


def _any(runs: Sequence[Run], exclusions: Exclusions) -> bool:
    """True if any result is the query's own recording, or by its artist."""
    rankings = on_one_table([coded(run.rankings) for run in runs])
    names = rankings[0].names if rankings else ()
    queries = {exclusions.query_documents.get(query, query) for one in rankings for query in one.queries}
    if not exclusions.artists and queries.isdisjoint(names):
        return False
    codes = {name: code for code, name in enumerate(names)}
    artists: dict[str, int] = {}
    for name in exclusions.artists.values():
        artists.setdefault(name, len(artists))
    known = (exclusions.artists.get(name) for name in names)
    artist = np.array([-2 if name is None else artists[name] for name in known], dtype=np.int64)
    for one in rankings:
        asked = [exclusions.query_documents.get(query, query) for query in one.queries]
        own = np.array([codes.get(document, -1) for document in asked], dtype=np.int64)
        by = (exclusions.artists.get(document) for document in asked)
        theirs = np.array([-1 if name is None else artists[name] for name in by], dtype=np.int64)
        query = np.repeat(np.arange(len(asked)), one.lengths)
        if np.any((one.documents == own[query]) | (artist[one.documents] == theirs[query])):
            return True
    return False


def _results(count: int) -> str:
    return f"{count:,} {'result is' if count == 1 else 'results are'}"
