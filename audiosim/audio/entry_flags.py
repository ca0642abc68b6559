"""The second number of an index entry: flags; in its lower bits 0 for a new recording, or 1 + the replaced entry."""

import numpy as np

from audiosim.arrays import Integers
from audiosim.audio.checksums import Entries

REMOVES, SILENT, LIMITED = np.uint64(1 << 63), np.uint64(1 << 62), np.uint64(1 << 61)
REPLACES = np.uint64((1 << 61) - 1)


def flags_of(silent: bool, limited: bool) -> np.uint64:
    """Flags of a recording: silent, and known to be band-limited."""
    return (SILENT if silent else np.uint64(0)) | (LIMITED if limited else np.uint64(0))


def held_entries(kinds: Entries) -> Integers:
    """The valid entries, each at the place of the first entry of its identifier."""
    changed = np.flatnonzero(kinds & (REMOVES | REPLACES))
    holds = np.ones(len(kinds), dtype=bool)
    first = np.arange(len(kinds))
    for entry in changed:
        old = int(kinds[entry] & REPLACES) - 1
        holds[old], first[entry] = False, first[old]
        holds[entry] = not kinds[entry] & REMOVES
    places = np.flatnonzero(holds)
    return places[np.argsort(first[places], kind="stable")] if len(changed) else places
