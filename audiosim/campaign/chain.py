"""The hash chain of a log: every line carries a digest of itself and of all lines before it.

Two logs with the same last digest are the same log. If a log still has a known digest at its number, it has only grown;
otherwise it was truncated or replaced.
"""

import hashlib
import json

from audiosim.campaign.event import Event

FIRST = ""  # the digest before the first line


def link(before: str, number: int, event: Event) -> str:
    """SHA-256, hexadecimal, of the previous digest, the line's number, and all fields of its event.

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
