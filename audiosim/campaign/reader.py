"""Reading of a campaign's log, as judgments or line by line; setting judges aside in it."""

import json
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from audiosim.campaign.decisions import last_choice, reworded_by
from audiosim.campaign.event import ASIDE, JUDGING, QUESTIONNAIRE, Event, Record, turn_event, utc_now
from audiosim.campaign.log import Identity, check_same
from audiosim.campaign.rules import check_aside
from audiosim.campaign.state import Ledger, before_log
from audiosim.collection.aspects import Aspects
from audiosim.collection.collection import Collection
from audiosim.collection.task import ON_ONE_PAGE, PLACE
from audiosim.collection.values import Judgment, Scale
from audiosim.people.effects import PlacedGrade
from audiosim.results.value import listed
from audiosim.text import NOTES


def judgments_in(url: str, collection: Collection, back: Names[str] = ()) -> tuple[Judgment, ...]:
    """The valid judgments of a collection: its own, changed by the log of its campaign.

    url   URL of an existing database, which is only read; a campaign that has not begun adds nothing
    back  names, in any case and form, of people set aside whose judgments are to count
    """
    ledger = _ledger_after(*_logged(url, collection), collection)
    return ledger.judgments({ledger.name(name) for name in back})


def judgments_after(records: Sequence[Record], collection: Collection) -> tuple[Judgment, ...]:
    """The valid judgments of a collection after the lines of a log: its own, changed by the log."""
    return _ledger_after(records, "", collection).judgments()


def with_log(url: str, collection: Collection) -> Collection:
    """The collection with the valid judgments, comparisons and texts of its campaign's log, aspect by aspect.

    url  address of a database, such as sqlite:///campaign.db, which a service may use meanwhile
    """
    return after_log(url, collection)[0]


def after_log(url: str, collection: Collection) -> tuple[Collection, list[Record]]:
    """The collection after the lines of its campaign's log, as `with_log`, and these lines."""
    records, about = _logged(url, collection)
    collection, _ = reworded_by(collection, records)
    ledger, aspects = _ledger_after(records, about, collection), collection.aspects
    judged = ledger.judgments() if aspects is None else judged_aspects(records, aspects)
    compared = ledger.comparisons.in_force(ledger.aside.keys())
    if chosen := last_choice(records)[1]:
        NOTES.info("the campaign's model is %s: `model=FILE`, its name or its file, gives its numbers", chosen)
    return replace(collection, judgments=judged, comparisons=compared), records


def _ledger_after(records: Sequence[Record], about: str, collection: Collection) -> Ledger:
    """A collection's own judgments and comparisons, changed by a log; `about` says whose log it is, if known."""
    own = before_log(collection.judgments, (one.event for one in records))
    ledger = Ledger(collection.scale, own, collection.comparisons)
    for number, event, _ in records:
        ledger.apply(number, event)
    if about:
        check_same(Identity.load(about), Identity.of(collection), ledger.judged)
    return ledger


def judged_aspects(records: Iterable[Record], aspects: Aspects) -> Aspects:
    """The valid judgments after the lines of a log, by aspect; `aspects` has those before its first line."""
    records = list(records)
    return Aspects(aspects.scale, {name: _of_aspect(records, aspects, name) for name in aspects.names}, aspects.aspect)


def _of_aspect(records: Iterable[Record], aspects: Aspects, name: str) -> tuple[Judgment, ...]:
    lines = [one for one in records if one.event.kind not in JUDGING or name in one.event.details]  # not all have it
    ledger = Ledger(aspects.scale, before_log(aspects.parts[name], (one.event for one in lines)))
    for number, event, _ in lines:
        ledger.apply(number, event.of_aspect(name))
    return tuple(replace(one, aspect=name) for one in ledger.judgments())


def turn_aside(url: str, collection: Collection, kind: str, judge: str, reason: str = "") -> Record:
    """Set a judge aside in the log of a collection's campaign, or take them back, even while a service has it open.

    kind  set_aside or take_back
    """
    from audiosim.campaign.database import DatabaseStore
    from audiosim.campaign.schema import check_upgraded

    check_upgraded(url)
    with closing(DatabaseStore(url, collection.identifier)) as store:
        ledger, written = Ledger(collection.scale, collection.judgments, collection.comparisons), None
        while written is None:
            for number, event in store.read(ledger.number):
                ledger.apply(number, event)
            event = turn_event(kind, utc_now(), "", reason, judge=ledger.name(judge))
            check_aside(event, ledger)
            written = store.append_all([event], ledger.number)
    return Record(written[0], event)


def log_in(url: str, collection: Collection) -> list[Record]:
    """The lines of the log of a collection's campaign; none if it has not begun."""
    return _logged(url, collection)[0]


def _logged(url: str, collection: Collection) -> tuple[list[Record], str]:
    """The lines of a campaign's log, and the description of the collection that it is about."""
    from audiosim.campaign.database import DatabaseStore

    with closing(DatabaseStore(url, collection.identifier, reading=True)) as store:
        records = [Record(number, event) for number, event in store.read()]
        if not records and (others := sorted(name for name, last in store.lines().items() if last)):
            NOTES.info("the database has no judgments of %s, only of %s", collection.identifier, listed(others))
        return records, store.described()[0]


def published(records: Iterable[Record]) -> Iterator[Record]:
    """The lines of a log that may be published: all but people's answers about themselves."""
    return (record for record in records if record.event.kind != QUESTIONNAIRE)


def log_lines(records: Iterable[Record]) -> Iterator[str]:
    """The lines of a campaign's log as JSON."""
    return (json.dumps({"number": record.number, **record.event.row()}, ensure_ascii=False) for record in records)


# Grades of candidates that were judged together on a page, with their places, from a log.


def placed_grades(records: Sequence[Record], scale: Scale) -> list[PlacedGrade]:
    """The grades that were given on pages of several candidates, in the order of the log.

    Withdrawn answers, those of people set aside, and answers without a place, as earlier versions wrote them, are left
    out. A person's answers about a query belong to one page until a place occurs again.
    """
    pages: dict[tuple[str, str], tuple[int, int, set[int]]] = {}  # number, candidates, places: last page of each
    found: list[PlacedGrade] = []
    for event in _in_force(records):
        count, place = event.details.get(ON_ONE_PAGE), event.details.get(PLACE)
        grade = event.grade_on(scale)
        if not isinstance(count, int) or not isinstance(place, int) or grade is None or count < 2:
            continue
        number, candidates, places = pages.get((event.assessor, event.query), (-1, 0, set()))
        if candidates != count or place in places:
            number, places = len(found), set()  # a unique number for the page
        pages[event.assessor, event.query] = number, count, places | {place}
        found.append(PlacedGrade(event.assessor, number, (place - 1) / (count - 1), grade / scale.maximum))
    return found


def _in_force(records: Sequence[Record]) -> Iterator[Event]:
    """The valid judgments, without withdrawn ones and those of people set aside."""
    undone = {record.event.refers for record in records if record.event.kind == "undo"}
    turns = {record.event.judge: record.event.kind for record in records if record.event.kind in ASIDE}
    for number, event, _ in records:
        held = event.kind == "judgment" and event.counts and number not in undone
        if held and turns.get(event.assessor) != "set_aside":
            yield event
