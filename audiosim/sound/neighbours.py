"""The recordings nearest to others; several descriptions, weighted by how well each predicts judgments."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge

from audiosim.collection.arguments import as_collection
from audiosim.collection.kinds import read_documents, read_queries
from audiosim.collection.values import Pair, Run
from audiosim.collection.written import run_lines, write_run
from audiosim.errors import ArgumentError, InputError
from audiosim.results.plots import Line, draw_curves
from audiosim.results.value import Rows
from audiosim.sound.describe import Failure, frames_of_index
from audiosim.sound.descriptions import ByGaussians, Description, Divergence, Searched, descriptions_of
from audiosim.sound.embedding import GAUSSIANS, embedded_files
from audiosim.sound.embeddings import EMBEDDING_POINT, find_embedding
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.recordings import RecordingTable
from audiosim.sound.search import Neighbour, neighbours_by, proximities_by
from audiosim.sound.vectors import vectors_of
from audiosim.stats.arrays import Array
from audiosim.tables.text import check_output_file
from audiosim.workers import Workers

if TYPE_CHECKING:
    from altair import LayerChart


# A baseline system: it retrieves the recordings that sound nearest to the query's own recording.


def nearest_run(
    index: AudioIndex, system: str, queries: Mapping[str, str], k: int, artists: Mapping[str, str | None] | None = None
) -> Run:
    """The baseline system that retrieves for each query the recordings nearest to its own, by all descriptions.

    queries  query -> its own recording
    """
    searched = Searched((index,))
    nearest = neighbours_by(searched, descriptions_of(searched), dict.fromkeys(queries.values()), k, artists)
    return Run(system, {query: tuple(near.identifier for near in nearest[own]) for query, own in queries.items()})


FEWEST = 10  # fewest judged pairs with all descriptions


def learned_weights(
    searched: Searched,
    descriptions: Sequence[Description],
    recordings: Mapping[str, str],
    grades: Mapping[Pair, float],
) -> Array:
    """(d,) weights of descriptions, at least 0 and of mean 1.

        argmin over w >= 0 of  |y - P w|^2 + (s2 / b^2) |w - b|^2

    y grades and P mutual proximities, each less its mean over the query's pairs; b and s2 are the slope and the
    variance of the residuals where all weights are the same. With few judgments the weights stay almost equal; many
    judgments decide them.

    recordings  query -> its own recording
    grades      (query, document) -> grade

    The weights are equal if sound as a whole does not predict the better document.
    """
    pairs: dict[str, list[tuple[str, float]]] = defaultdict(list)
    known = set(searched.ids)
    for (query, document), grade in grades.items():
        if recordings.get(query) in known and document in known and document != recordings[query]:
            pairs[query].append((document, grade))
    parts = [_of_query(searched, descriptions, recordings[query], some) for query, some in pairs.items()]
    y = np.concatenate([np.empty(0), *(part[:, 0] for part in parts)])
    proximities = np.concatenate([np.empty((0, len(descriptions))), *(part[:, 1:] for part in parts)])
    if len(y) < FEWEST:
        raise InputError(
            f"weights need at least {FEWEST} judged pairs of recordings with all descriptions, found {len(y)}"
        )
    return _fit(proximities, y)


def _of_query(
    searched: Searched, descriptions: Sequence[Description], recording: str, pairs: Iterable[tuple[str, float]]
) -> Array:
    """(m, 1 + d) centred grades and proximities of a query's pairs, without pairs that lack a description."""
    documents, grades = zip(*pairs, strict=True)
    close = proximities_by(searched, descriptions, recording, documents)
    table = np.column_stack([np.array(grades, dtype=np.float64), close.T])
    table = table[~np.isnan(table).any(axis=1)]
    return table - table.mean(axis=0) if len(table) else table


def _fit(proximities: Array, y: Array) -> Array:
    d = proximities.shape[1]
    together = proximities.sum(axis=1)
    square = float(together @ together)
    slope = float(together @ y) / square if square > 0 else 0.0
    if slope <= 0:
        return np.ones(d)
    strength = float(np.sqrt(np.mean((y - slope * together) ** 2))) / slope
    from scipy.optimize import nnls  # imported here, as most uses need not pay for its start-up time

    rows = np.concatenate([proximities, strength * np.eye(d)])
    found, _ = nnls(rows, np.concatenate([y, np.full(d, strength * slope)]))
    return np.asarray(found / found.mean())


Paths = str | Path | Sequence[str | Path]
By = str | Sequence[str] | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class NearestRecordings(Rows):
    """Recordings that sound most like each query, nearest first.

    system  name of their run
    found   neighbours by query
    failed  query sounds that could not be described
    by_example  True if the queries are sounds outside the index
    written     file of the run; None if none was written
    """

    system: str
    found: Mapping[str, tuple[Neighbour, ...]]
    failed: tuple[Failure, ...] = ()
    by_example: bool = False
    written: Path | None = None

    def __repr__(self) -> str:
        return f"{len(self.found):,} queries with the recordings nearest to each, as the run of {self.system}"

    @property
    def run(self) -> Run:
        """The neighbours as a baseline system."""
        return Run(self.system, {query: tuple(one.identifier for one in near) for query, near in self.found.items()})

    def rows(self) -> list[dict[str, Any]]:
        """One row per neighbour: query, document, rank, divergence in nats, and mutual proximity if requested."""
        return [
            {"query": query, "document": other.identifier, "rank": rank, "divergence": other.divergence}
            | ({} if other.proximity is None else {"proximity": None if isnan(other.proximity) else other.proximity})
            for query, near in self.found.items()
            for rank, other in enumerate(near, start=1)
        ]

    def lines(self) -> list[str]:
        """The lines of a TREC run."""
        self._check_names()
        return list(run_lines([self.run]))

    def save(self, path: str | Path) -> None:
        """Write a TREC run; a missing folder is created."""
        self._check_names()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_run(path, [self.run])

    def _check_names(self) -> None:
        names = {*self.found, *(one.identifier for near in self.found.values() for one in near)}
        spaced = next((name for name in sorted(names) if name.split() != [name]), None)
        if spaced is not None:
            remedy = "audiosim init FOLDER gives recordings names that a run can hold; json and csv print any name"
            raise InputError(f"{spaced!r} has white space, which separates the columns of a run: {remedy}")

    def plot(self) -> "LayerChart":
        """The mean divergence of each rank over the queries."""
        depth = max((len(near) for near in self.found.values()), default=0)
        at = [[near[rank].divergence for near in self.found.values() if rank < len(near)] for rank in range(depth)]
        line = Line(self.system, list(range(1, depth + 1)), [float(np.mean(values)) for values in at])
        return draw_curves([line], "rank", "divergence, nats")


def neighbours(
    indexes: Paths,
    count: Annotated[int, Ge(1)] = 5,
    system: str = "nearest",
    like: Paths | None = None,
    queries: str | Path | None = None,
    not_same_artist: str | Path | None = None,
    output: str | Path | None = None,
    *,
    by: By | None = None,
    judged: object = None,
    divergence: Divergence = "js",
    mutual_proximity: bool = True,
    scheduler: str | None = None,
) -> NearestRecordings:
    """Find the recordings that sound most like each query, and write them as a TREC run: a baseline system.

    Silent recordings are left out. json and csv give the divergence, in nats, and the mutual proximity; table
    gives the run, or the neighbours of each sound given as an example.

    indexes           folder of an index; several are shards of one index, with no recording in two of them
    count             number of neighbours per query
    system            name of the system in the run
    like              query by example: a sound file, a folder or a URL that need not be in the index; may be repeated
    queries           a queries.tsv. Default: every recording is a query
    not_same_artist   a documents.tsv: exclude recordings by the query's artist
    output            file for the TREC run. Default: the screen
    by                descriptions to use, joined by commas: gaussians, or levelled, which ignores loudness, and names
                      of vectors beside the index. Ranks by the mean of their mutual proximities, weighted as in
                      gaussians=3,clap=1. Default: gaussians and all vectors
    judged            collection from whose judgments the weights of the descriptions are learned
    divergence        kl: symmetrised Kullback-Leibler; js: Jensen-Shannon of Gaussians
    mutual_proximity  rank by mutual proximity, which reduces hubs, or by the divergence itself
    scheduler         search shards in parallel on a Dask cluster, such as tcp://10.0.0.1:8786, whose machines find them
                      under the same paths

    Example: `audiosim neighbours demo/sounds.index --not-same-artist demo/documents.tsv -o nearest.trec`

    Like a sound of your own: `audiosim neighbours demo/sounds.index --like demo/sounds/d001.ogg`

    Ignoring loudness: `audiosim neighbours demo/sounds.index --by levelled`

    In shards: `audiosim neighbours shards/*.index -o nearest.trec`
    """
    if like and (queries or not_same_artist):
        raise ArgumentError("like", "queries and not_same_artist are about recordings of the index, not other sounds")

    check_output_file(output, makes_folder=True)
    shards, weights = _several(indexes), _weights(by)
    sounds = _described_like(shards[0], _several(like)) if like else None
    alone = scheduler is not None or divergence != "js" or not mutual_proximity
    if alone and (judged is not None or [*(weights or [GAUSSIANS])] != [GAUSSIANS]):
        raise InputError(
            "several descriptions are compared in this process, by Jensen-Shannon and mutual proximity: expected "
            "neither a scheduler nor another divergence, or gaussians alone"
        )
    searched = Searched.load(shards, map if scheduler is None else Workers(scheduler=scheduler).map)
    if sounds is not None:
        names = [] if alone else [name for name in searched.pieces if weights is None or name in weights]
        searched = replace(searched, asked=sounds, asked_vectors=_vectors_like(searched.shards, sounds, names))
    descriptions = (ByGaussians(searched, divergence),) if alone else descriptions_of(searched, weights)
    weighed: Any = None if weights is None else [weights[one.name] for one in descriptions]
    if judged is not None and len(descriptions) > 1:
        weighed = _learned(searched.shards, [one.name for one in descriptions], judged)
    documents = read_documents(Path(not_same_artist)) if not_same_artist else None
    artists = None if documents is None else {name: one.artist for name, one in documents.items()}
    own = read_queries(Path(queries)) if queries else None
    asked = None if own is None else own.values()
    found = neighbours_by(searched, descriptions, asked, count, artists, weighed, proximity=mutual_proximity)
    near = found if own is None else {name: found[of] for name, of in own.items()}
    result = NearestRecordings(system, near, () if sounds is None else sounds.failed, by_example=like is not None)
    if output is None:
        return result
    result.save(output)
    return replace(result, written=Path(output))


def _learned(shards: tuple[RecordingTable, ...], names: Sequence[str], judged: object) -> Array:
    """Weights of descriptions, from the judgments of a collection."""
    within, collection = Searched(shards), as_collection(judged)
    return learned_weights(within, descriptions_of(within, names), collection.query_documents, collection.grades())


def _weights(by: By | None) -> dict[str, float] | None:
    """Weight of each description; None: equal weights of all available ones."""
    if by is None:
        return None
    found = dict(by) if isinstance(by, Mapping) else _read_weights(",".join([by] if isinstance(by, str) else by))
    wrong = next((name for name, weight in found.items() if not 0 < weight < float("inf")), None)
    if wrong is not None:
        raise InputError(f"the weight of {wrong} must be above 0, got {found[wrong]:g}")
    return found


def _read_weights(text: str) -> dict[str, float]:
    """Descriptions with their weights, as in gaussians=3,clap=1; 1 if no weight is given."""
    found = {}
    for name, _, weight in (part.partition("=") for part in text.split(",")):
        try:
            found[name.strip()] = float(weight or 1)
        except ValueError:
            raise ArgumentError("by", f"expected a number as the weight of {name.strip()}, got {weight}") from None
    return found


def _vectors_like(shards: Sequence[RecordingTable], sounds: AudioIndex, names: Sequence[str]) -> dict[str, Array]:
    """Vectors of query sounds, by those installed embeddings that made the vectors of the index."""
    installed = set(EMBEDDING_POINT.names())
    made = [
        name
        for name in names
        if name in installed and any(one.folder and embedded_files(one.folder, name) is not None for one in shards)
    ]
    return {name: vectors_of(sounds, find_embedding(name)) for name in made}


def _several(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _described_like(index: str | Path, sounds: Sequence[str | Path]) -> AudioIndex:
    """Sounds described like those of an index; an error if none can be described."""
    AudioIndex.load(index)  # raises before any sound is read
    found = extract(list(sounds), parameters=frames_of_index(Path(index)))
    if not found.ids:
        reasons = "; ".join(f"{one.path}: {one.error}" for one in found.failed[:1]) or f"{sounds[0]}"
        raise InputError(f"no sound to query by could be described, expected at least one: {reasons}")
    if found.silent.all():
        raise InputError(f"{sounds[0]}: is silent, and silence has no neighbours; expected an audible sound")
    return found
