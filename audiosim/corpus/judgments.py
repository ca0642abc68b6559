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
- XML, and JSON as written by ranx: see `audiosim.corpus.nested_judgments`.
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
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from typing import NamedTuple

from audiosim.corpus.coded_judgments import CodedJudgments, JudgmentSequence
from audiosim.corpus.identifiers import Say, check_identifier
from audiosim.corpus.lines import (
    BYTE_ORDER_MARK,
    Lines,
    columns_hint,
    csv_line,
    finite,
    parse_json,
    read_lines,
    shortest,
    write_text,
)
from audiosim.corpus.metadata_tables import read_rows
from audiosim.corpus.model import FINE, Judgment, Pair, Scale
from audiosim.corpus.nested_judgments import is_xml, ranx_rows, xml_rows
from audiosim.corpus.odd_grades import JUNK, UNJUDGED, say_odd
from audiosim.corpus.plain_judgments import graded_columns, read_plain_judgments
from audiosim.corpus.runs import check_word
from audiosim.corpus.scale_guess import OffScaleError, guess_scale
from audiosim.corpus.task_file import check_aspect
from audiosim.errors import FormatError, InputError
from audiosim.messages import did_you_mean, quoted, shortened

GRADES = ("grade", "fine", "broad")
COLUMNS = ("query", "document", *GRADES, "assessor", "time")
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
KNOWN = (*COLUMNS, ASPECT, COUNTS, *CARRIED, DEFUSED, GROUP)
YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
FORMS = "TREC qrels (query 0 document grade), lines of query document grade, CSV with a header, or JSON Lines"
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
        _, first = next(read_lines(path, FORMS))
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
    lines = read_lines(path, FORMS)
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
        rows = read_rows(path, lines, split, COLUMNS[:2], KNOWN)
        return [_from_row(path, number, _armed(path, number, row)) for number, row in rows if _rests(path, number, row)]
    columns = len(first.split())
    if columns not in (4, 3):
        hint = columns_hint(first, "commas or tabs, under a header" if _names_columns(first) else "spaces or tabs")
        raise FormatError(path, number, f"expected {FORMS}, found {columns} columns{hint}")
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
        grades = _spelled(path, number, column, fields[-1])
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


def _spelled(path: Path, number: int, column: str, text: str) -> dict[str, float]:
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
        said = _spelled(path, number, name, row[name]) if row.get(name) else {}
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
            expected = f"expected {', '.join(COLUMNS)}{did_you_mean(key, KNOWN)}"
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
