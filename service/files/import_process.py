"""Import of a file of judgments or comparisons: checked as a whole, then written to the log in parts.

Assessors and readers meanwhile wait for at most one part.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from audiosim.campaign.event import Event, check_aspects, comparison_event, judgment_event
from audiosim.corpus.comparisons import has_comparisons, read_comparisons
from audiosim.corpus.judgments import read_judgments
from audiosim.corpus.model import Judgment, PairedComparison, Scale
from audiosim.errors import ClosedError, FormatError, InputError, RewoundError, StoreError
from audiosim.messages import one_line, printable
from audiosim.service.files.import_store import DONE, FAILED, Import, ImportStore
from audiosim.service.shelf.served_collection import ServedCollection

PART = 100  # answers that are written at a time
REST_S = 0.005  # between two parts, in which others write
AGAIN_S = 0.5  # after a log could not be written, or a campaign was paused


def import_next(one: ServedCollection, imports: ImportStore, pause: Callable[[float], bool]) -> bool:
    """Import the next waiting file; True if there was one.

    pause  waits for so many seconds; True if the service stops: the import then continues after the next start
    """
    taken = imports.take(one.collection.identifier)
    if taken is None:
        return False
    file, body = taken
    try:
        events = events_of(file, body, one)
        _write(one, imports, file, events, pause)
    except InputError as error:
        imports.end(file.number, FAILED, printable(str(error)))
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
    """Write the events of a file, from where it was left, until all are there or the service stops."""
    written, wait_s = file.written, 0.0
    while written < len(events) and not pause(wait_s):
        try:
            one.campaign.tell_all(events[written : written + PART])
        except RewoundError:
            return  # until the service is started again
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
    """The judgments or comparisons of a file as log events; an error if any of them is invalid."""
    scale = one.collection.scale
    said = parse_file(body, scale)
    if any(isinstance(answer, PairedComparison) for answer in said):
        one.campaign.comparisons.check_taken()
    made = (
        comparison_event(answer, file.time)
        if isinstance(answer, PairedComparison)
        else judgment_event(answer, scale, file.time)
        for answer in said
    )
    events = [replace(event, key=f"{file.prefix}/{line}") for line, event in enumerate(made, start=1)]
    check_aspects(events, () if one.collection.aspects is None else one.collection.aspects.names)
    pairs = (event.comparison.pairs if event.kind == "comparison" else (event.pair,) for event in events)
    one.campaign.selection.pool.locate(chain.from_iterable(pairs))
    for assessor in {event.assessor for event in events}:
        one.campaign.known_as(assessor)  # an error if the name has no visible character
    return events


def parse_file(body: bytes, scale: Scale) -> Sequence[Judgment | PairedComparison]:
    """The judgments or the comparisons in a file, in any form that a collection's folder may have."""
    with tempfile.TemporaryDirectory(prefix="audiosim-") as folder:
        path = Path(folder) / "judgments"
        path.write_bytes(body)
        try:
            return read_comparisons(path) if has_comparisons(body) else read_judgments(path, scale)[1]
        except FormatError as error:
            raise InputError(f"line {error.line}: {error.problem}") from None
