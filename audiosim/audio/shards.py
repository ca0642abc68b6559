"""A large index in several folders, its shards: searched one by one, or side by side on a Dask cluster."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from audiosim.audio.cluster import together
from audiosim.audio.index import AudioIndex, Neighbour
from audiosim.audio.search import Divergence
from audiosim.errors import InputError


def search_shards(
    shards: Iterable[str | Path],
    queries: AudioIndex,
    k: int,
    *,
    divergence: Divergence = "kl",
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The k recordings of all shards that are nearest to each query, nearest first, never one of its own identifier.

    shards      folders of indexes of the same parameters, no recording in two of them
    queries     an index of what is looked for, such as one of a new clip or some recordings of a shard
    k           at least 1
    divergence  "kl", symmetrised Kullback-Leibler, of which the answer is that of one index that held all; or "js",
                Jensen-Shannon, which in each shard ranks the 100 nearest by the other
    scheduler   address of a Dask cluster, whose machines find the folders under the same paths; None: in this process,
                one after the other

    Ranks by the divergence: mutual proximity of shards refers to recordings of their own and does not compare. Of
    equals the one of the earlier shard comes first.
    """
    folders = [str(shard) for shard in shards]
    if not folders:
        raise InputError("there is no shard to search, expected one index at least")
    tasks = [(folder, queries, k, divergence) for folder in folders]
    found: Iterator[dict[str, tuple[Neighbour, ...]]] = (
        map(_search_one, tasks) if scheduler is None else together(_search_one, tasks, scheduler)
    )
    best: dict[str, tuple[Neighbour, ...]] = dict.fromkeys(queries.ids, ())
    for answer in found:
        best = {name: _merged((best[name], answer[name]), k) for name in best}
    return best


def _search_one(task: tuple[str, AudioIndex, int, Divergence]) -> dict[str, tuple[Neighbour, ...]]:
    folder, queries, k, divergence = task
    near = AudioIndex.load(folder).neighbours_of(queries, k + 1, divergence=divergence, proximity=False)
    return {name: tuple(one for one in found if one.identifier != name)[:k] for name, found in near.items()}


def _merged(lists: Sequence[Sequence[Neighbour]], k: int) -> tuple[Neighbour, ...]:
    return tuple(heapq.nsmallest(k, (one for found in lists for one in found), key=_divergence))


def _divergence(one: Neighbour) -> float:
    return one.divergence


def split(folder: str | Path, into: str | Path, count: int) -> tuple[Path, ...]:
    """Write an index as shards of about equal size, in folders numbered from 0; where they are.

    count  at least 1
    """
    if count < 1:
        raise InputError(f"there must be at least one shard, got {count}")
    index, made = AudioIndex.load(folder), []
    for number in range(count):
        part = slice(len(index) * number // count, len(index) * (number + 1) // count)
        shard = AudioIndex(tuple(index.recordings[part]), index.rows[part], index.parameters)
        made.append(Path(into) / f"{number:04}.index")
        shard.save(made[-1])
    return tuple(made)
