"""Recordings that arrived after an index was made: a second index with the same parameters, in `arrivals/`.

The first index does not change, so closeness and the state of a campaign, which depend on it, do not change either.
"""

from pathlib import Path

from audiosim.audio.describe import Described
from audiosim.audio.index import AudioIndex
from audiosim.audio.index_head import HEAD
from audiosim.audio.index_store import Appender
from audiosim.corpus.arrivals import ARRIVALS
from audiosim.stats.gaussians.gaussian import from_triangles, to_rows


def later_folder(folder: str | Path) -> Path:
    """Folder of the index of recordings that came later than a given index."""
    return Path(folder).parent / ARRIVALS / Path(folder).name


def load_all(folder: str | Path) -> tuple[AudioIndex, int]:
    """An index followed by the recordings that came later, and the number of its own.

    A later recording that `extract` has since described counts among the index's own.
    """
    index, later = AudioIndex.load(folder), later_folder(folder)
    if not (later / HEAD).exists():
        return index, len(index)
    arrived, own = AudioIndex.load(later), set(index.ids)
    fresh = [place for place, name in enumerate(arrived.ids) if name not in own]
    some = AudioIndex(tuple(arrived.recordings[place] for place in fresh), arrived.rows[fresh], arrived.parameters)
    return (index.joined(some) if fresh else index), len(index)


def append_later(folder: str | Path, described: Described) -> None:
    """Add a recording to those that came after an index was made; it is stored safely on return."""
    parameters = AudioIndex.load(folder).parameters
    d = parameters.dimension
    row = described.row.reshape(1, -1)
    later_folder(folder).parent.mkdir(parents=True, exist_ok=True)
    with Appender(later_folder(folder), parameters) as index:
        index.append(described.recording, to_rows(row[:, :d], from_triangles(row[:, d:], d))[0])
