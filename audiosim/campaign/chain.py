"""The hash chain of a log: every line carries a digest of itself and of all lines before it.

Two logs whose last lines have one digest are the same log; a log that holds a known digest at its number has grown, one
that does not is shorter, or another.
"""

import hashlib
import json

from audiosim.campaign.event import Event

FIRST = ""  # the digest before the first line


def link(before: str, number: int, event: Event) -> str:
    """SHA-256, hexadecimal, of the digest before a line, of its number, and of all that its event says.

    before  digest of the line before, FIRST for line 1
    """
    said = [
        before,
        number,
        event.kind,
        event.time,
        event.assessor,
        event.query,
        event.document,
        event.grades,
        event.details,
        event.key,
        event.refers,
        event.until,
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
