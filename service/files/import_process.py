"""Import of a file of judgments or comparisons: checked as a whole, then written to the log in parts.

Assessors and readers meanwhile wait for at most one part.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from audiosim.campaign.comparison_ledger import what_compares
from audiosim.campaign.event import Event, check_aspects, comparison_event, judgment_event
from audiosim.campaign.names import name_key
from audiosim.corpus.comparisons import has_comparisons, numbered_comparisons
from audiosim.corpus.judgments import lines_of_pairs, read_judgments
from audiosim.corpus.model import Judgment, PairedComparison
from audiosim.errors import ClosedError, FormatError, InputError, RewoundError, StoreError
from audiosim.messages import one_line
from audiosim.service.files.import_store import DONE, FAILED, Import, ImportStore
from audiosim.service.process.time_limit import reading_s, within
from audiosim.service.shelf.served_collection import ServedCollection

PART = 100  # answers written at a time
REST_S = 0.005  # between two parts, for other writers
AGAIN_S = 0.5  # before the next attempt, after a failure to write the log or in a paused campaign


def import_next(
    one: ServedCollection,
    imports: ImportStore,
    pause: Callable[[float], bool],
    limit_s: Callable[[int], float] = reading_s,
) -> bool:
    """Import the next waiting file; True if there was one.

    pause    waits for a number of seconds; True if the service stops: the next start then continues the import
    limit_s  seconds for reading a file of so many bytes; a file that takes longer has failed
    """
    taken = imports.take(one.collection.identifier)
    if taken is None:
        return False
    file, body = taken
    try:
        events = within(limit_s(len(body)), lambda: events_of(file, body, one))
        _write(one, imports, file, events, pause)
    except InputError as error:
        imports.end(file.number, FAILED, str(error))
    except StoreError:
        raise  # continued once the database answers
    except Exception as error:
        # The sender gets the error; retrying for ever would block all files behind this one.
        imports.end(file.number, FAILED, f"a bug in the service: {one_line(error)}")
        raise
    return True


def _write(
    one: ServedCollection, imports: ImportStore, file: Import, events: Sequence[Event], pause: Callable[[float], bool]
) -> None:
    """Write the remaining events of a file, until the end or until the service stops."""
    written, wait_s = file.written, 0.0
    while written < len(events) and not pause(wait_s):
        try:
            one.campaign.tell_all(events[written : written + PART])
        except RewoundError:
            return  # the next start continues here
        except (ClosedError, StoreError) as error:
            imports.note(file.number, lines=len(events), problem=str(error))
            wait_s = AGAIN_S
        else:
            written = min(len(events), written + PART)
            imports.note(file.number, lines=len(events), written=written, problem="")
            wait_s = REST_S
    if written >= len(events):
        imports.end(file.number, DONE)


def events_of(file: Import, body: bytes, one: ServedCollection) -> list[Event]:
    """The judgments or comparisons of a file as log events; an error, with its line, if any of them is invalid."""
    if has_comparisons(body):
        one.campaign.comparisons.check_taken()
    with tempfile.TemporaryDirectory(prefix="audiosim-") as folder:
        path = Path(folder) / "judgments"
        path.write_bytes(body)
        try:
            lines, said = _comparisons_in(path) if has_comparisons(body) else ([], _judgments_in(path, one))
        except FormatError as error:
            raise InputError(f"line {error.line}: {error.problem}") from None
        try:
            events = _checked(said, file, one)
        except InputError:
            for place, answer in enumerate(said):
                try:
                    _checked([answer], file, one)
                except InputError as error:
                    raise InputError(f"line {_line_of(path, place, said, lines)}: {error}") from None
            raise
    return [replace(event, key=f"{file.prefix}/{place}") for place, event in enumerate(events, start=1)]


def _checked(said: Sequence[Judgment | PairedComparison], file: Import, one: ServedCollection) -> list[Event]:
    """Answers as events that the campaign accepts."""
    events = [
        comparison_event(answer, file.time)
        if isinstance(answer, PairedComparison)
        else judgment_event(answer, one.collection.scale, file.time)
        for answer in said
    ]
    check_aspects(events, () if one.collection.aspects is None else one.collection.aspects.names)
    pairs = (event.comparison.pairs if event.kind == "comparison" else (event.pair,) for event in events)
    one.campaign.selection.pool.locate(chain.from_iterable(pairs))
    for assessor in {event.assessor for event in events}:
        one.campaign.known_as(assessor)  # an error if the name has no visible character
    return events


def _judgments_in(path: Path, one: ServedCollection) -> Sequence[Judgment | PairedComparison]:
    return read_judgments(path, one.collection.scale)[1]


def _comparisons_in(path: Path) -> tuple[list[int], Sequence[Judgment | PairedComparison]]:
    """The comparisons in a file with their lines, repeated ones once; contradictory answers are an error."""
    found: dict[Any, tuple[int, PairedComparison]] = {}
    for line, answer in numbered_comparisons(path):
        person, query, documents = what_compares(answer)
        # Answers without a name may come from several people.
        what = (name_key(person), query, documents) if person else line
        first, said = found.setdefault(what, (line, answer))
        if _better(said) != _better(answer):
            about = f"{answer.document_a} and {answer.document_b} for query {query}"
            raise InputError(f"line {line}: another answer of {person} on {about} is on line {first}, expected one")
    if not found:
        raise InputError("the file has no comparisons: expected a line below the header")
    lines, answers = zip(*found.values(), strict=True)
    return list(lines), answers


def _better(one: PairedComparison) -> str:
    """The more relevant document, empty if both are equal."""
    return {"a": one.document_a, "b": one.document_b}.get(one.answer, "")


def _line_of(path: Path, place: int, said: Sequence[Judgment | PairedComparison], lines: Sequence[int]) -> int:
    """Line of an answer, from the given lines for comparisons, from the file for judgments."""
    answer = said[place]
    if isinstance(answer, PairedComparison):
        return lines[place]
    return next(
        line for line, pair, assessor in lines_of_pairs(path) if (pair, assessor) == (answer.pair, answer.assessor)
    )
