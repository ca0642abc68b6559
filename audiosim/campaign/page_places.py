"""Grades of candidates that were judged together on a page, with their places, from a log."""

from collections.abc import Iterator, Sequence

from audiosim.campaign.event import ASIDE, Event, Record
from audiosim.corpus.model import Scale
from audiosim.corpus.question import ON_ONE_PAGE, PLACE
from audiosim.expected.position_effect import PlacedGrade


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
