"""Export of the judgments in force with all details, one per row: CSV, JSON Lines or a spreadsheet table.

An export can be imported again: `audiosim.corpus.judgments` reads each form.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from audiosim.campaign import Campaign, Event, Record
from audiosim.campaign.event import ANSWERS, ASIDE
from audiosim.corpus.judgments import CARRIED, COLUMNS, COUNTS, DEFUSED
from audiosim.corpus.lines import csv_line, shortest
from audiosim.corpus.model import Judgment, Pair

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
    said: dict[str, Any] = {"query": judgment.query, "document": judgment.document, "grade": judgment.grade}
    said |= {"assessor": judgment.assessor, "time": judgment.time}
    if record is None or record.event.kind != "judgment":
        return _filled(said)
    return _row(record.event, leases.get(record.number)) | _filled(said)


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
    """Rows as CSV, readable by audiosim: one line each; line ends within a text become a backslash and an n."""
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


def defuse(cells: list[str]) -> list[int]:
    """Add an apostrophe to cells that a spreadsheet may take for formulas; return their places."""
    armed = [place for place, cell in enumerate(cells) if cell.startswith(FORMULAS)]
    for place in armed:
        cells[place] = f"'{cells[place]}"
    return armed


def _cells(row: Row) -> list[str]:
    return [_one_line(row.get(name)) for name in CSV_COLUMNS]


def _one_line(value: object) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = "" if value is None else str(shortest(value))
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")
