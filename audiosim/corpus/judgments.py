"""Judgments, read and written.

Five forms, told apart by what a file holds:

- TREC qrels: `query 0 document grade`; lists: `query document grade`, with or without just these words as a header.
  The grade -1 means unjudged and is left out. A pair has one line.
- CSV or a tab-separated table with a header, or JSON Lines, with COLUMNS. A grade stands in `grade`, or in `fine` and
  `broad`, of which the scale picks its own; a line that is silent there but not elsewhere is left out. What the same
  assessor says again of a pair is a revision: all is kept, in order. CARRIED may stand there too; where `cannot`
  gives a reason instead of a grade, the pair is not judged, and where `counts` says no, nothing rests on the line.
  `defused` names the columns of a line that have an apostrophe before their text, as spreadsheets need it.
"""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from audiosim.corpus.lines import Lines, columns_hint, csv_line, finite, read_lines, shortest, write_text
from audiosim.corpus.metadata_tables import check_identifier, read_rows
from audiosim.corpus.model import BINARY, BROAD, FINE, Judgment, Pair, Scale
from audiosim.corpus.runs import check_word
from audiosim.errors import FormatError, InputError, did_you_mean, quoted, shortened

GRADES = ("grade", "fine", "broad")
COLUMNS = ("query", "document", *GRADES, "assessor", "time")
# What files of a service say beside; it is passed over.
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
COUNTS, DEFUSED = "counts", "defused"
KNOWN = (*COLUMNS, COUNTS, *CARRIED, DEFUSED)
YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
FORMS = "TREC qrels (query 0 document grade), lines of query document grade, CSV with a header, or JSON Lines"
LIST = ["query", "document", "grade"]
UNJUDGED = -1


class Statement(NamedTuple):
    """Statement of one line: the grades by the column they stand in."""

    line: int
    query: str
    document: str
    grades: dict[str, float]
    assessor: str = ""
    time: str = ""


def read_judgments(path: str | Path, scale: Scale | None = None) -> tuple[Scale, tuple[Judgment, ...]]:
    """The scale and the judgments of a file; where no scale is given, it is guessed from the columns and grades."""
    path = Path(path)
    statements = _read_statements(path)
    scale = scale or _guess_scale(path, statements)
    judgments = []
    for statement in statements:
        grade = statement.grades.get(scale.name, statement.grades.get("grade"))
        if grade is not None:
            judgments.append(_judgment(path, statement, scale, grade))
    if statements and not judgments:
        raise _wrong_column(path, statements[0], scale)
    return scale, tuple(judgments)


def _wrong_column(path: Path, statement: Statement, scale: Scale) -> FormatError:
    columns = f"{scale.name} or grade" if scale.name in GRADES else "grade"
    problem = f"expected a grade for the {scale.name} scale in {columns}, found only {' and '.join(statement.grades)}"
    return FormatError(path, statement.line, problem)


def _judgment(path: Path, statement: Statement, scale: Scale, grade: float) -> Judgment:
    try:
        scale.check(grade)
    except InputError as error:
        raise FormatError(path, statement.line, str(error)) from None
    return Judgment(statement.query, statement.document, grade, statement.assessor, statement.time)


def _guess_scale(path: Path, statements: Sequence[Statement]) -> Scale:
    """The scale that a column is named after, or the smallest of binary, broad and fine that has all grades."""
    columns = {column for statement in statements for column in statement.grades}
    if columns - {"grade"}:
        return FINE if "fine" in columns else BROAD
    scales = [BINARY, BROAD, FINE]
    for statement in statements:
        grade = statement.grades["grade"]
        scales = [scale for scale in scales if grade in scale]
        if not scales:
            problem = f"grade {grade:g} is on none of the scales binary, broad and fine"
            raise FormatError(path, statement.line, f"{problem}, expected a scale in collection.toml")
    return scales[0] if statements else FINE


def _read_statements(path: Path) -> list[Statement]:
    lines = read_lines(path, FORMS)
    number, first = next(lines)
    lines = chain([(number, first)], lines)
    # An identifier may start with a brace, but a line of qrels ends with a grade.
    if first.strip().startswith("{") and first.strip().endswith("}"):
        records = ((number, _json_record(path, number, text)) for number, text in lines)
        return [_from_json(path, number, record) for number, record in records if _rests(path, number, record)]
    if _is_header(first):
        split = _split_tabs if "\t" in first else partial(_split_commas, path)
        rows = read_rows(path, lines, split, COLUMNS[:2], KNOWN)
        return [_from_row(path, number, _armed(path, number, row)) for number, row in rows if _rests(path, number, row)]
    columns = len(first.split())
    if columns not in (4, 3):
        hint = columns_hint(first, "commas or tabs, under a header" if _names_columns(first) else "spaces or tabs")
        raise FormatError(path, number, f"expected {FORMS}, found {columns} columns{hint}")
    return _read_once(path, lines, columns)


def _is_header(line: str) -> bool:
    names = [name.strip('" ').lower() for name in re.split(r"[,\t]", line)]
    return len(names) > 1 and ("query" in names or "document" in names)


def _names_columns(line: str) -> bool:
    return "query" in line.lower() or "document" in line.lower()


def _read_once(path: Path, lines: Lines, columns: int) -> list[Statement]:
    """The statements of TREC qrels or of a list of three columns: each pair once."""
    seen: dict[Pair, int] = {}
    statements = []
    for number, text in lines:
        fields = text.split()
        if len(fields) != columns:
            raise FormatError(path, number, f"expected {columns} columns as on the lines above, found {len(fields)}")
        if not seen and fields == LIST:
            continue
        pair = Pair(fields[0], fields[-2])
        if pair in seen:
            problem = f"query {pair.query} and document {pair.document} are on line {seen[pair]} already"
            raise FormatError(path, number, f"{problem}, expected each pair once")
        seen[pair] = number
        grade = finite(path, number, "grade", fields[-1])
        if grade != UNJUDGED:
            statements.append(Statement(number, *pair, {"grade": grade}))
    return statements


def _split_tabs(_: int, text: str) -> list[str]:
    return text.split("\t")


def _split_commas(path: Path, number: int, text: str) -> list[str]:
    """The fields of one line of CSV, which is a whole record: no identifier holds a line end."""
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise FormatError(path, number, f"not CSV: {error}, expected one record per line") from None


def _from_row(path: Path, number: int, row: dict[str, str]) -> Statement:
    grades = {name: finite(path, number, name, row[name]) for name in GRADES if row.get(name)}
    return _statement(path, number, row["query"], row["document"], grades, row.get("assessor", ""), row.get("time", ""))


def _rests(path: Path, number: int, row: Mapping[str, object]) -> bool:
    """True if anything rests on a line: it counts, and does not say why a pair cannot be judged."""
    said = row.get(COUNTS)
    counts = True if said in (None, "") else YES_NO.get(str(said).strip().lower())
    if counts is None:
        raise FormatError(path, number, f"expected yes or no for {COUNTS}, found {quoted(str(said))}")
    return counts and (not row.get("cannot") or any(row.get(name) not in (None, "") for name in GRADES))


def _armed(path: Path, number: int, row: dict[str, str]) -> dict[str, str]:
    """A line of a table without the apostrophes that it says it has."""
    names = row.get(DEFUSED, "").split()
    for name in names:
        if not row.get(name, "").startswith("'"):
            raise FormatError(path, number, f"expected an apostrophe first in {quoted(name)}, as {DEFUSED} says")
    return {name: value[1:] if name in names else value for name, value in row.items()}


def _json_record(path: Path, number: int, text: str) -> dict[str, object]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else error
        raise FormatError(path, number, f"not JSON: {problem}, expected one object per line") from None
    if not isinstance(record, dict):
        raise FormatError(path, number, f"expected a JSON object with query and document, found {text[:40]}")
    for key in record:
        if key not in KNOWN:
            expected = f"expected {', '.join(COLUMNS)}{did_you_mean(key, KNOWN)}"
            raise FormatError(path, number, f"unknown key {shortened(key)}, {expected}")
    return record


def _from_json(path: Path, number: int, record: dict[str, object]) -> Statement:
    grades = {name: _json_number(path, number, name, record[name]) for name in GRADES if record.get(name) is not None}
    query, document, assessor, time = (
        _json_text(path, number, record, key) for key in ("query", "document", "assessor", "time")
    )
    return _statement(path, number, query, document, grades, assessor, time)


def _json_number(path: Path, number: int, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(path, number, f"expected a finite number for {name}, found {json.dumps(value)}")
    return finite(path, number, name, str(value))


def _json_text(path: Path, number: int, record: dict[str, object], key: str) -> str:
    """A text of a JSON object, empty where there is none; identifiers are often numbers and stand as such."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise FormatError(path, number, f"expected text for {key}, found {json.dumps(value)}")
    return "" if value is None else str(value)


def _statement(
    path: Path, number: int, query: str, document: str, grades: dict[str, float], assessor: str, time: str
) -> Statement:
    check_identifier(path, number, "query", query)
    check_identifier(path, number, "document", document)
    if not grades:
        raise FormatError(path, number, f"no grade, expected one in {', '.join(GRADES)}")
    return Statement(number, query, document, grades, assessor, time)


def qrels_lines(judgments: Iterable[Judgment]) -> list[str]:
    """The lines of TREC qrels; an assessor, a time or a second grade of a pair has no place there."""
    judgments = tuple(judgments)
    if not fits_qrels(judgments):
        raise InputError("qrels hold one grade per pair, no assessor and no time: write these judgments as CSV")
    return [f"{check_word(j.query)} 0 {check_word(j.document)} {shortest(j.grade)}" for j in judgments]


def fits_qrels(judgments: Sequence[Judgment]) -> bool:
    """True if qrels can say all that the judgments say."""
    nameless = not any(judgment.assessor or judgment.time for judgment in judgments)
    return nameless and len({judgment.pair for judgment in judgments}) == len(judgments)


def judgments_csv_lines(judgments: Iterable[Judgment]) -> list[str]:
    """The lines of a judgments.csv: query, document, grade, assessor, time."""
    lines = [csv_line(["query", "document", "grade", "assessor", "time"])]
    for judgment in judgments:
        _check_written(judgment)
        fields = [judgment.query, judgment.document, str(shortest(judgment.grade)), judgment.assessor, judgment.time]
        lines.append(csv_line(fields))
    return lines


def _check_written(judgment: Judgment) -> None:
    for value in (judgment.query, judgment.document, judgment.assessor, judgment.time):
        if "\n" in value or "\r" in value:
            raise InputError(f"{value!r} cannot be written: it contains a line end")
    if not judgment.query.strip() or not judgment.document.strip():
        raise InputError(f"query {judgment.query!r} and document {judgment.document!r} cannot be written: one is empty")


def write_judgments_csv(path: str | Path, judgments: Iterable[Judgment]) -> None:
    """Write judgments as CSV, with assessor and time."""
    write_text(path, judgments_csv_lines(judgments))
