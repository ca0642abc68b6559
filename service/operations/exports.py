"""Judgments as files."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from audiosim.campaign import Campaign, Event, Record
from audiosim.campaign.event import ANSWERS, ASIDE, QUESTIONNAIRE, Plain
from audiosim.campaign.event import Event as ThreadEvent
from audiosim.campaign.reader import judged_aspects, log_lines
from audiosim.collection.kinds import CARRIED, COUNTS, DEFUSED, GRADES, cell_of
from audiosim.collection.kinds import COLUMNS_OF_JUDGMENTS as COLUMNS
from audiosim.collection.task import CONSENT, CONSENT_TEXT, MEASURED, MOMENT, PERSONAL
from audiosim.collection.values import Judgment, Pair, mean_grades
from audiosim.collection.written import judgments_csv_lines, qrels_lines
from audiosim.errors import InputError
from audiosim.service.collections.questions import STANDARD
from audiosim.service.collections.served import ServedCollection
from audiosim.service.http.exchange import FreshDep, attachment, chapter, sends
from audiosim.service.http.languages import preferred
from audiosim.tables.text import csv_line, shortest

# Export of the judgments in force with all details, one per row: CSV, JSON Lines or a spreadsheet table.
#
# An export can be imported again: `audiosim.collection.kinds` reads each form.


FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # first characters of cells that a spreadsheet may take for formulas
CSV_COLUMNS = tuple(dict.fromkeys(["query", "document", "grade", "assessor", "time", *COLUMNS, COUNTS, *CARRIED]))
Row = Mapping[str, Any]
Given = tuple[Pair, str]


def judgment_rows(campaign: Campaign) -> tuple[int, list[Row]]:
    """The number of a state, and a row for each judgment in force and each pair that cannot be judged.

    A row has the judgment on the collection's scale, the grades as given, the reason in `cannot`, the note, the seconds
    taken and listened, the lease (`leased` and `until`), and further fields in `details`. Unknown values are left out.
    Ignored judgments come last, with `counts` no: judgments on pairs never handed out, and those of people set aside.
    `doubt` gives a reason to doubt that the assessor listens.
    """
    number, judgments = campaign.snapshot(back=None)
    records = [record for record in campaign.log() if record.number <= number]
    held, leases = _held(records)
    aside = names_aside(records)
    rows = [_judged(one, held.pop((one.pair, one.assessor), None), leases) for one in judgments]
    rows += [_row(record.event, leases.get(record.number)) for record in held.values()]
    rows = [{**row, COUNTS: False} if row.get("assessor", "") in aside else row for row in rows]
    rows.sort(key=lambda row: row.get(COUNTS) is False)
    doubts = campaign.doubts()
    return number, [_filled({**row, "doubt": doubts.get(row.get("assessor", ""))}) for row in rows]


def names_aside(records: Iterable[Record]) -> set[str]:
    """The people set aside after the first lines of a log."""
    last = {record.event.judge: record.event.kind for record in records if record.event.kind in ASIDE}
    return {name for name, kind in last.items() if kind == "set_aside"}


def _held(records: Iterable[Record]) -> tuple[dict[Given, Record], dict[int, Event]]:
    """Each assessor's last answer about each pair, and the lease of each answer by the answer's number."""
    answers: dict[Given, list[Record]] = {}
    given_by: dict[int, Given] = {}
    open_leases: dict[Given, Event] = {}
    leases: dict[int, Event] = {}
    for record in records:
        event = record.event
        given = (event.pair, event.assessor)
        if event.kind == "lease":
            open_leases[given] = event
        elif event.kind in ANSWERS:
            answers.setdefault(given, []).append(record)
            given_by[record.number] = given
            if given in open_leases:
                leases[record.number] = open_leases[given]
        elif event.kind == "undo" and event.refers in given_by:  # the pair is that of the withdrawn answer
            given = given_by[event.refers]
            answers[given] = [answer for answer in answers[given] if answer.number != event.refers]
    return {given: found[-1] for given, found in answers.items() if found}, leases


def _judged(judgment: Judgment, record: Record | None, leases: Mapping[int, Event]) -> Row:
    said = {name: getattr(judgment, name) for name in ("query", "document", "grade", "assessor", "time")}
    row = {} if record is None or record.event.kind != "judgment" else _row(record.event, leases.get(record.number))
    return row | _filled(said)


def _row(event: Event, lease: Event | None) -> dict[str, Any]:
    details = dict(event.details)
    reason = details.pop("reason", None) if event.kind == "cannot" else None
    named = {name: details.pop(name) for name in CARRIED if name in details}
    row: dict[str, Any] = {"query": event.query, "document": event.document}
    row |= {
        "assessor": event.assessor,
        "time": event.time,
        **event.grades,
        **named,
        "cannot": reason,
        COUNTS: None if event.counts else False,
        "details": details,
    }
    return _filled(row | ({} if lease is None else {"leased": lease.time, "until": lease.until}))


def _filled(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, "", {})}


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Rows as JSON Lines, readable by audiosim."""
    return (json.dumps({name: shortest(value) for name, value in row.items()}, ensure_ascii=False) for row in rows)


def csv_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Rows as CSV, readable by audiosim: one line each; line ends, tabs and backslashes in a note as in `cell_of`."""
    yield csv_line(CSV_COLUMNS)
    for row in rows:
        yield csv_line(_cells(row))


def spreadsheet_lines(rows: Iterable[Row]) -> tuple[int, list[str]]:
    """Rows as CSV for a spreadsheet, and the number of cells with an apostrophe added, which prevents formulas.

    The last column lists the columns with added apostrophes, so that reading the row removes them.
    """
    count, lines = 0, [csv_line([*CSV_COLUMNS, DEFUSED])]
    for row in rows:
        cells = _cells(row)
        armed = defuse(cells)
        count += len(armed)
        lines.append(csv_line([*cells, " ".join(CSV_COLUMNS[place] for place in armed)]))
    return count, lines


def defuse(cells: list[Any]) -> list[int]:
    """Add an apostrophe to texts that a spreadsheet may take for formulas; return their places."""
    armed = [place for place, cell in enumerate(cells) if isinstance(cell, str) and cell.startswith(FORMULAS)]
    for place in armed:
        cells[place] = f"'{cells[place]}"
    return armed


def _cells(row: Row) -> list[str]:
    written = {name: cell_of(str(row[name])) for name in ("note", "cannot") if name in row}
    return [written.get(name, _one_line(row.get(name))) for name in CSV_COLUMNS]


def _one_line(value: object) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = "" if value is None else str(shortest(value))
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")


router = chapter("judging")

Form = Literal["aspects", "answers", "csv", "spreadsheet", "qrels", "jsonl", "log"]
FORMATS: dict[Form, str] = {
    "aspects": "text/csv",
    "answers": "text/csv",
    "csv": "text/csv",
    "spreadsheet": "text/csv",
    "qrels": "text/plain",
    "jsonl": "application/jsonl",
    "log": "application/x-ndjson",
}
ASKED: dict[str, Form] = {
    **{kind: name for name, kind in FORMATS.items() if name not in ("aspects", "spreadsheet")},
    "application/x-ndjson": "jsonl",
    "*/*": "csv",
    "text/*": "csv",
}
LINES = 1000  # sent at a time
STATE = "Audiosim-State"
DEFUSED_OF_EXPORTS = "Audiosim-Defused"
LOST = "Audiosim-Lost"
LOST_IN_QRELS = "names, times and comparisons: a ranking from this file takes all grades as one person's mean grades"
FormatQuery = Annotated[
    Form | None,
    Query(
        alias="format",
        description="csv and jsonl carry everything and can be imported again; spreadsheet is csv with an apostrophe "
        "before every text that would be taken for a formula, counted in the header Audiosim-Defused; qrels has the "
        "mean grade of each pair, not the names that a ranking by several people needs, as the header Audiosim-Lost "
        "says; aspects has a line for each aspect, as a file of judgments has; answers has a column for each "
        "question; log is the whole log, line by line; a given format goes before the Accept header",
    ),
]


@router.get(
    "/collections/{collection}/judgments",
    **sends(
        "The judgments that hold; the header Audiosim-State says in which state",
        *FORMATS.values(),
        refused={406: "The header Accept names no form that there is."},
    ),
)
def export_judgments(request: Request, one: FreshDep, form: FormatQuery = None) -> StreamingResponse:
    """The judgments in force, including the collection's own, as a file."""
    form = form or negotiated(request.headers.get("accept", "*/*"))
    number, lines, more = _lines(one, form)
    name = f"{one.collection.identifier}-{number}{'-spreadsheet.csv' if form == 'spreadsheet' else f'.{form}'}"
    headers = {STATE: str(number), **attachment(name), **more}
    return StreamingResponse(_chunks(lines), headers=headers, media_type=FORMATS[form])


@router.get("/collections/{collection}/questionnaires", **sends("A line for each person and moment", "text/csv"))
def export_questionnaires(one: FreshDep) -> StreamingResponse:
    """The answers of people about themselves, before and after judging, as CSV: one column per question.

    They include answers to questions removed since. A text that a spreadsheet would take for a formula gets an
    apostrophe in front; the header Audiosim-Defused counts these.
    """
    count, lines = questionnaire_lines(one)
    headers = attachment("questionnaires.csv") | {DEFUSED_OF_EXPORTS: str(count)}
    return StreamingResponse(_chunks(lines), headers=headers, media_type="text/csv")


def aspect_judgments(one: ServedCollection) -> list[Judgment]:
    """The judgments in force, one per aspect; an error if a pair has one grade."""
    aspects = one.collection.aspects
    if aspects is None:
        raise InputError(f"collection {one.collection.identifier} has no aspects: ask for csv or jsonl")
    return list(judged_aspects(one.campaign.log(), aspects).every)


def questionnaire_lines(one: ServedCollection) -> tuple[int, list[str]]:
    """The number of cells with an apostrophe added, and people's last answers about themselves as lines of CSV."""
    said = [record.event for record in one.campaign.log() if record.event.kind == QUESTIONNAIRE]
    task = one.collection.assessor_task
    asked = [] if task is None else [question.name for question in task.asked_of_people]
    asked = list(dict.fromkeys([*asked, *(name for event in said for name in event.details if name not in PERSONAL)]))
    lines, count = [csv_line(["assessor", MOMENT, "time", CONSENT, CONSENT_TEXT, *asked])], 0
    last: dict[tuple[str, Plain], ThreadEvent] = {}
    for event in said:
        last.pop((event.assessor, event.details[MOMENT]), None)  # re-inserted, so that it comes last
        last[event.assessor, event.details[MOMENT]] = event
    for event in last.values():
        kept = event.details
        row: list[object] = [event.assessor, kept[MOMENT], event.time, "yes" if kept.get(CONSENT) else None]
        row += [kept.get(CONSENT_TEXT), *(shortest(kept.get(name)) for name in asked)]
        count += len(defuse(row))
        lines.append(csv_line(row))
    return count, lines


def negotiated(accept: str) -> Form:
    """The export format that an Accept header prefers."""
    form = next((ASKED[kind] for kind in preferred(accept) if kind in ASKED), None)
    if form is None:
        raise HTTPException(406, f"judgments are available as {', '.join(dict.fromkeys(FORMATS.values()))}")
    return form


def _lines(one: ServedCollection, form: str) -> tuple[int, Iterable[str], dict[str, str]]:
    """The number of a state, the lines of its file, and further facts about it as headers."""
    if form == "log":
        records = one.campaign.log()
        return (records[-1].number if records else 0), log_lines(records), {}
    if form == "aspects":
        return one.campaign.number, judgments_csv_lines(aspect_judgments(one)), {}
    if form == "answers":
        return one.campaign.number, answer_lines(one), {}
    if form == "qrels":
        number, judgments = one.campaign.snapshot()
        return (
            number,
            qrels_lines(Judgment(*pair, grade) for pair, grade in mean_grades(judgments).items()),
            {LOST: LOST_IN_QRELS},
        )
    number, rows = judgment_rows(one.campaign)
    if form == "spreadsheet":
        count, lines = spreadsheet_lines(rows)
        return number, lines, {DEFUSED_OF_EXPORTS: str(count)}
    return number, (csv_lines if form == "csv" else json_lines)(rows), {}


def answer_lines(one: ServedCollection) -> Iterator[str]:
    """The answers in force, each assessor's last for each pair, as lines of CSV: one column per question."""
    held = {
        (record.event.pair, name): record.event
        for name in one.campaign.assessors()
        for record in one.campaign.answers(name)
        if record.event.kind != "repeat"
    }
    aside = one.campaign.aside()
    asked = (*one.questions.aspects, *(question.name for question in (*one.questions.own, *STANDARD)))
    more = (*asked, "reason", *MEASURED)
    columns = ("query", "document", "assessor", "time", *GRADES, COUNTS, *more)
    yield csv_line(columns)
    for event in held.values():
        row = event.row() | {name: event.details.get(name) for name in more}
        row[COUNTS] = None if event.counts and event.assessor not in aside else "no"
        yield csv_line([shortest(row[name]) for name in columns])


def _chunks(lines: Iterable[str]) -> Iterator[bytes]:
    rest = iter(lines)
    while chunk := list(islice(rest, LINES)):
        yield "".join(f"{line}\n" for line in chunk).encode()
