"""Judgments as files."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated

from fastapi import HTTPException, Query, Request
from fastapi.responses import Response, StreamingResponse

from audiosim.campaign.event import QUESTIONNAIRE, Event, Plain
from audiosim.campaign.log_reader import judged_aspects, log_lines
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.judgments import COUNTS, GRADES, judgments_csv_lines, qrels_lines
from audiosim.corpus.lines import csv_line, shortest
from audiosim.corpus.model import Judgment
from audiosim.corpus.question import CONSENT, CONSENT_TEXT, MEASURED, MOMENT, PERSONAL
from audiosim.errors import InputError
from audiosim.service.campaigns.questions import STANDARD
from audiosim.service.entrance.exchange import CollectionDep, attachment, chapter
from audiosim.service.files.export_rows import csv_lines, defuse, json_lines, judgment_rows, spreadsheet_lines
from audiosim.service.shelf.served_collection import ServedCollection

router = chapter("judging")

FORMATS = {
    "aspects": "text/csv",
    "answers": "text/csv",
    "csv": "text/csv",
    "spreadsheet": "text/csv",
    "qrels": "text/plain",
    "jsonl": "application/jsonl",
    "log": "application/x-ndjson",
}
ASKED = {
    **{kind: name for name, kind in FORMATS.items() if name not in ("aspects", "spreadsheet")},
    "application/x-ndjson": "jsonl",
    "*/*": "csv",
    "text/*": "csv",
}
LINES = 1000  # sent at a time
STATE = "Audiosim-State"
DEFUSED = "Audiosim-Defused"
LOST = "Audiosim-Lost"
LOST_IN_QRELS = "names, times and comparisons: a ranking from this file takes all grades as one person's mean grades"
FormatQuery = Annotated[
    str | None,
    Query(
        alias="format",
        pattern=f"^({'|'.join(FORMATS)})$",
        description="csv and jsonl carry everything and can be imported again, except collections of several aspects, "
        "whose form is aspects; spreadsheet is csv with an apostrophe before every text that would be taken for a "
        "formula, counted in the header Audiosim-Defused; qrels has the mean grade of each pair, not the names that "
        "a ranking by several people needs, as the header Audiosim-Lost says; aspects has a line for each aspect, as a "
        "file of judgments has; answers has a column for each question; log is the whole log, "
        "line by line; a given format goes before the Accept header",
    ),
]
EXPORTED = {kind: {"schema": {"type": "string"}} for kind in FORMATS.values()}


@router.get(
    "/collections/{collection}/judgments",
    response_class=Response,
    responses={
        200: {
            "description": "The judgments that hold; the header Audiosim-State says in which state",
            "content": EXPORTED,
        },
    },
)
def export_judgments(request: Request, one: CollectionDep, form: FormatQuery = None) -> StreamingResponse:
    """The judgments in force, including the collection's own, as a file."""
    form = form or negotiated(request.headers.get("accept", "*/*"))
    one.campaign.refresh()
    number, lines, more = _lines(one, form)
    name = f"{one.collection.identifier}-{number}{'-spreadsheet.csv' if form == 'spreadsheet' else f'.{form}'}"
    headers = {STATE: str(number), **attachment(name), **more}
    return StreamingResponse(_chunks(lines), headers=headers, media_type=FORMATS[form])


@router.get(
    "/collections/{collection}/questionnaires",
    response_class=Response,
    responses={200: {"description": "A line for each person and moment", "content": {"text/csv": {}}}},
)
def export_questionnaires(one: CollectionDep) -> StreamingResponse:
    """The answers of people about themselves, before and after judging, as CSV: one column per question.

    They include answers to questions removed since. A text that a spreadsheet would take for a formula gets an
    apostrophe in front; the header Audiosim-Defused counts these.
    """
    one.campaign.refresh()
    count, lines = questionnaire_lines(one)
    headers = attachment("questionnaires.csv") | {DEFUSED: str(count)}
    return StreamingResponse(_chunks(lines), headers=headers, media_type="text/csv")


def aspect_judgments(one: ServedCollection) -> list[Judgment]:
    """The judgments in force, one per aspect; an error if a pair has one grade."""
    aspects = one.collection.aspects
    if aspects is None:
        raise InputError(f"collection {one.collection.identifier} has no aspects: ask for csv or jsonl")
    found = judged_aspects(one.campaign.log(), aspects)
    return [judgment for some in found.values() for judgment in some]


def questionnaire_lines(one: ServedCollection) -> tuple[int, list[str]]:
    """The number of cells with an apostrophe added, and people's last answers about themselves as lines of CSV."""
    said = [record.event for record in one.campaign.log() if record.event.kind == QUESTIONNAIRE]
    task = one.collection.assessor_task
    asked = [] if task is None else [question.name for question in task.asked_of_people]
    asked = list(dict.fromkeys([*asked, *(name for event in said for name in event.details if name not in PERSONAL)]))
    lines, count = [csv_line(["assessor", MOMENT, "time", CONSENT, CONSENT_TEXT, *asked])], 0
    last: dict[tuple[str, Plain], Event] = {}
    for event in said:
        last.pop((event.assessor, event.details[MOMENT]), None)  # re-inserted, so that it comes last
        last[event.assessor, event.details[MOMENT]] = event
    for event in last.values():
        kept = event.details
        row: list[object] = [event.assessor, kept[MOMENT], event.time, "yes" if kept.get(CONSENT) else None]
        row += [kept.get(CONSENT_TEXT), *(shortest(kept.get(name)) for name in asked)]
        cells = ["" if value is None else str(value) for value in row]
        texts = [cell if isinstance(value, str) else "" for cell, value in zip(cells, row, strict=True)]
        for place in defuse(texts):
            cells[place], count = texts[place], count + 1
        lines.append(csv_line(cells))
    return count, lines


def negotiated(accept: str) -> str:
    """The export format that an Accept header prefers."""
    wishes = []
    for place, wish in enumerate(accept.split(",")):
        kind, *parameters = (part.strip().lower() for part in wish.split(";"))
        weight = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
        if kind in ASKED and re.fullmatch(r"[01](\.\d{0,3})?", weight) and float(weight) > 0:
            wishes.append((-float(weight), place, ASKED[kind]))
    if not wishes:
        raise HTTPException(406, f"judgments are available as {', '.join(dict.fromkeys(FORMATS.values()))}")
    return min(wishes)[2]


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
        return number, lines, {DEFUSED: str(count)}
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
