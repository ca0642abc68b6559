"""Recordings that came after an index was made: an index of their own beside it, of the same frames.

The index stays as it is, and with it all that refers to its recordings: who is close to whom, and what a campaign says.
"""

from pathlib import Path

from audiosim.audio.index import AudioIndex
from audiosim.audio.index_store import HEAD

ARRIVED = "arrived"


def load_all(folder: str | Path) -> tuple[AudioIndex, int]:
    """An index with the recordings that came later after its own, and how many are its own.

    One that `extract` has described since then is the index's own.
    """
    index, later = AudioIndex.load(folder), Path(folder) / ARRIVED
    if not (later / HEAD).exists():
        return index, len(index)
    arrived, own = AudioIndex.load(later), set(index.ids)
    fresh = [place for place, name in enumerate(arrived.ids) if name not in own]
    some = AudioIndex(tuple(arrived.recordings[place] for place in fresh), arrived.rows[fresh], arrived.parameters)
    return (index.joined(some) if fresh else index), len(index)
