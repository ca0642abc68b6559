"""A large index in several folders, its shards, searched one by one or in parallel on a Dask cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from audiosim.arrays import Array, Booleans
from audiosim.audio.index import AudioIndex, Neighbour
from audiosim.audio.index_store import ENTRIES
from audiosim.audio.search import SAMPLE, SHORTLIST, TOGETHER, Divergence, drawn_references
from audiosim.cluster.dask_cluster import together
from audiosim.errors import InputError
from audiosim.stats.gaussians import jensen_shannon, kullback_leibler
from audiosim.stats.gaussians.gaussian import Singles
from audiosim.stats.gaussians.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds

OPEN = 16  # shards kept open by a process: each identifier takes 0.1 kB of memory, mapped files none
Spread = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


class Found(NamedTuple):
    """Recordings of shards: their identifiers, their rows (n, width), and which have a limited band (n,)."""

    names: tuple[str, ...]
    rows: Singles
    limited: Booleans


class Shortlist(NamedTuple):
    """Recordings nearest to a query by Kullback-Leibler, nearest first, and their divergences (n,)."""

    names: tuple[str, ...]
    rows: Singles
    limited: Booleans
    divergence: Array


def search_shards(
    shards: Iterable[str | Path],
    queries: AudioIndex,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The k recordings of all shards nearest to each query, nearest first, never one with the query's own identifier.

    shards      folders of indexes with the same parameters, no recording in two of them
    queries     index of the recordings searched for, such as a new clip's or one from `gather`
    k           number of neighbours, at least 1
    artists     identifier -> artist: recordings by the query's artist are left out
    divergence  "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon
    proximity   True to rank by mutual proximity, with 1,000 recordings of all shards as references
    scheduler   address of a Dask cluster, whose machines find the folders under the same paths; None: in this process,
                one shard after the other

    The answer equals that of one index with the recordings of all shards in their order; see `AudioIndex.neighbours`.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    folders = [str(shard) for shard in shards]
    if not folders:
        raise InputError("there is no shard to search: expected at least one index")
    spread: Spread = map if scheduler is None else partial(together, scheduler=scheduler)
    open_in = list(spread(_count_open, folders))
    count, plain = sum(open_in), divergence == "kl" and not proximity
    size = k if plain else max(1, count) if count <= SAMPLE else max(SHORTLIST, 4 * k)
    references = _references(folders, open_in, spread) if proximity else None
    best: dict[str, tuple[Neighbour, ...]] = {}
    for start in range(0, len(queries), TOGETHER):
        part = slice(start, start + TOGETHER)
        asked = AudioIndex(tuple(queries.recordings[part]), np.asarray(queries.rows[part]), queries.parameters)
        lists = list(spread(_shortlists, [(folder, asked, size, artists) for folder in folders]))
        for place, name in enumerate(asked.ids):
            near = _merged([found[place] for found in lists], size)
            own = Found((name,), asked.rows[place : place + 1], asked.limited[place : place + 1])
            best[name] = _ranked(own, near, references, divergence, asked.parameters.dimension)[:k]
    return best


def neighbours_in(
    indexes: Sequence[str | Path],
    identifiers: Iterable[str] | None,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The neighbours of some recordings of an index (None: of all), which is in one folder or in shards.

    indexes    its folders
    scheduler  address of a cluster that searches the shards; see `search_shards`, and `AudioIndex.neighbours` for the
               rest
    """
    if len(indexes) == 1 and scheduler is None:
        index, wanted = AudioIndex.load(indexes[0]), None if identifiers is None else dict.fromkeys(identifiers)
        return index.neighbours(wanted, k, artists, divergence=divergence, proximity=proximity)
    asked = gather(indexes, identifiers)
    return search_shards(indexes, asked, k, artists, divergence=divergence, proximity=proximity, scheduler=scheduler)


def neighbours_like(
    indexes: Sequence[str | Path],
    sounds: AudioIndex,
    k: int,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The recordings of an index, in one folder or in shards, nearest to sounds that are not in it.

    sounds  described with the parameters of the index; an identifier that occurs in both means another recording

    See `AudioIndex.neighbours_of` and `search_shards` for the rest.
    """
    if len(indexes) == 1 and scheduler is None:
        return AudioIndex.load(indexes[0]).neighbours_of(sounds, k, divergence=divergence, proximity=proximity)
    # A search of shards leaves out the query's own identifier. An impossible file name keeps a recording of the same
    # name in.
    asked = AudioIndex(
        tuple(replace(one, identifier=f"{one.identifier}\0") for one in sounds.recordings),
        sounds.rows,
        sounds.parameters,
    )
    near = search_shards(indexes, asked, k, divergence=divergence, proximity=proximity, scheduler=scheduler)
    return dict(zip(sounds.ids, near.values(), strict=True))


def gather(shards: Iterable[str | Path], identifiers: Iterable[str] | None) -> AudioIndex:
    """Some recordings of shards (None: all), as an index in memory."""
    indexes = [AudioIndex.load(shard) for shard in shards]
    if not indexes:
        raise InputError("there is no shard to search: expected at least one index")
    where: dict[str, int] = {}
    for number, index in enumerate(indexes):
        for name in index.ids:
            if where.setdefault(name, number) != number:
                raise InputError(f"{name!r} is in two shards, {indexes[where[name]].folder} and {index.folder}")
    wanted = list(where if identifiers is None else dict.fromkeys(identifiers))
    missing = next((name for name in wanted if name not in where), None)
    if missing is not None:
        raise InputError(f"no recording is called {missing!r} in these {len(indexes)} shards of {len(where)}")
    parts = [_chosen(index, [name for name in wanted if where[name] == n]) for n, index in enumerate(indexes)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.joined(part)
    return whole


def _chosen(index: AudioIndex, names: Sequence[str]) -> AudioIndex:
    places = index.positions(names)
    return AudioIndex(tuple(index.recordings[place] for place in places), index.rows_at(places), index.parameters)


def _opened(folder: str) -> AudioIndex:
    """An open shard, kept by the process for its next search."""
    entries = Path(folder) / ENTRIES
    return _opened_at(folder, entries.stat().st_mtime_ns if entries.exists() else 0)


@lru_cache(OPEN)
def _opened_at(folder: str, changed_ns: int) -> AudioIndex:
    return AudioIndex.load(folder)


def _count_open(folder: str) -> int:
    return int(np.count_nonzero(~_opened(folder).silent))


def _references(folders: Sequence[str], open_in: Sequence[int], spread: Spread) -> Found:
    """References drawn once from the open recordings of all shards, as `search` draws them from one index."""
    drawn, ends = drawn_references(sum(open_in)), np.cumsum(open_in)
    tasks = [
        (folder, drawn[(drawn >= end - size) & (drawn < end)] - (end - size))
        for folder, size, end in zip(folders, open_in, ends, strict=True)
    ]
    return _together(list(spread(_some_open, tasks)))


def _some_open(task: tuple[str, Any]) -> Found:
    """The open recordings of a shard with the given numbers."""
    folder, numbers = task
    index = _opened(folder)
    places = np.flatnonzero(~index.silent)[numbers]
    return Found(tuple(index.ids[place] for place in places), index.rows_at(places), index.limited[places])


def _together(parts: Sequence[Found]) -> Found:
    names = tuple(name for part in parts for name in part.names)
    rows, limited = ([getattr(part, what) for part in parts] for what in ("rows", "limited"))
    return Found(names, np.concatenate(rows), np.concatenate(limited))


def _shortlists(task: tuple[str, AudioIndex, int, Mapping[str, str | None] | None]) -> list[Shortlist]:
    """Nearest recordings of one shard for each query, without the query itself and recordings by its artist."""
    folder, queries, size, artists = task
    index, known = _opened(folder), artists or {}
    works = Counter(known.get(name) for name in index.ids) if known else Counter()
    spare = 1 + max((works[artist] for name in queries.ids if (artist := known.get(name))), default=0)
    near = index.neighbours_of(queries, size + spare, divergence="kl", proximity=False)
    result = []
    for name, found in near.items():
        artist = known.get(name)
        kept = [
            one for one in found if one.identifier != name and not (artist and known.get(one.identifier) == artist)
        ][:size]
        names = tuple(one.identifier for one in kept)
        places = index.positions(names)
        distances = np.array([one.divergence for one in kept])
        result.append(Shortlist(names, index.rows_at(places), index.limited[places], distances))
    return result


def _merged(lists: Sequence[Shortlist], size: int) -> Shortlist:
    """The nearest of all shards; of equally near ones, the earlier shard's come first."""
    divergence = np.concatenate([one.divergence for one in lists])
    order = np.argsort(divergence, kind="stable")[:size]
    found = _together([Found(one.names, one.rows, one.limited) for one in lists])
    names = tuple(found.names[place] for place in order)
    return Shortlist(names, found.rows[order], found.limited[order], divergence[order])


def _ranked(
    own: Found, near: Shortlist, references: Found | None, divergence: Divergence, d: int
) -> tuple[Neighbour, ...]:
    divergences = near.divergence if divergence == "kl" else _divergences(own.rows, near.rows, divergence, d)[0]
    if references is None:
        order, close = np.argsort(divergences, kind="stable"), [None] * len(divergences)
    else:
        names = np.array(references.names, dtype=object)
        counted = (names != np.array(near.names, dtype=object)[:, None]) & (names != own.names[0])
        from_own, from_others = (_divergences(rows, references.rows, divergence, d) for rows in (own.rows, near.rows))
        given = divergences, from_own[0], from_others, counted
        if has_two_kinds(references.limited):
            proximity = proximity_of_kinds(*given, bool(own.limited[0]), near.limited, references.limited)
        else:
            proximity = mutual_proximity(*given)
        order, close = np.lexsort((divergences, -proximity)), proximity.tolist()
    return tuple(Neighbour(near.names[place], float(divergences[place]), close[place]) for place in order)


def _divergences(rows: Singles, others: Singles, divergence: Divergence, d: int) -> Array:
    """(r, c) divergences of some rows from others."""
    if divergence == "js":
        return jensen_shannon.jensen_shannon_divergence(rows, others, d)
    packed = kullback_leibler.pack(np.concatenate([rows, others]), d)
    places = np.arange(len(packed))
    return kullback_leibler.kullback_leibler_divergence(
        packed, places[: len(rows)], places[len(rows) :], "double"
    ).astype(float)


def split(folder: str | Path, into: str | Path, count: int) -> tuple[Path, ...]:
    """Write an index as shards of about equal size, in folders numbered from 0; return the folders.

    count  number of shards, at least 1
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
