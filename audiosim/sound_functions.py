"""The commands that hear, as functions of Python: the nearest recordings, vectors of them, a collection of a folder.

The arguments have the names and places of the commands' own; what was made is also returned.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.corpus.arguments import as_collection
from audiosim.corpus.collection import SOUNDS
from audiosim.corpus.lines import write_text
from audiosim.corpus.model import Run
from audiosim.corpus.runs import run_lines, write_run
from audiosim.corpus.sound_vectors import GAUSSIANS
from audiosim.display import frame_of, notebook_html
from audiosim.errors import InputError, SoundError
from audiosim.plugins import find_embedding, installed_frames, known_embeddings, other_decoders
from audiosim.report.screen import progress

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from audiosim.audio.describe import Failure
    from audiosim.audio.embedding import Embed, Embedding
    from audiosim.audio.index import AudioIndex, Neighbour
    from audiosim.audio.music_folder import MusicFolder
    from audiosim.audio.search import Divergence
    from audiosim.audio.sound_map import MapBy, SoundMap

Paths = str | Path | Sequence[str | Path]
Near = Mapping[str, tuple["Neighbour", ...]]
By = str | Sequence[str] | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class NearestRecordings:
    """Recordings that sound most like each query, nearest first.

    system  name of the run that they make
    found   by query
    failed  sounds to query by that could not be described
    """

    system: str
    found: Mapping[str, tuple["Neighbour", ...]]
    failed: tuple["Failure", ...] = ()

    def __repr__(self) -> str:
        return f"{len(self.found):,} queries with the recordings nearest to each, as the run of {self.system}"

    def _repr_html_(self) -> str:
        """The neighbours as notebooks show them: one line, and a table."""
        return notebook_html(repr(self), self.to_frame)

    @property
    def run(self) -> Run:
        """The neighbours as a baseline system."""
        return Run(self.system, {query: tuple(one.identifier for one in near) for query, near in self.found.items()})

    def rows(self) -> list[dict[str, Any]]:
        """One row per neighbour: query, document, rank, divergence in nats, mutual proximity where it was asked for."""
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
        """Write a TREC run, in a folder that is made where it is not there."""
        self._check_names()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_run(path, [self.run])

    def _check_names(self) -> None:
        names = {*self.found, *(one.identifier for near in self.found.values() for one in near)}
        spaced = next((name for name in sorted(names) if name.split() != [name]), None)
        if spaced is not None:
            remedy = "audiosim init FOLDER names recordings so that they can be; json and csv show them as they are"
            raise InputError(f"{spaced!r} has white space, which separates the columns of a run: {remedy}")

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a pandas table."""
        return frame_of(self.rows())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The divergence of each rank, in the mean over the queries; new axes where None."""
        from audiosim.plots import Line, draw_curves

        depth = max((len(near) for near in self.found.values()), default=0)
        at = [[near[rank].divergence for near in self.found.values() if rank < len(near)] for rank in range(depth)]
        line = Line(self.system, list(range(1, depth + 1)), [float(np.mean(values)) for values in at])
        return draw_curves([line], "rank", "divergence, nats", axes)


def neighbours(
    indexes: Paths,
    count: int = 5,
    system: str = "nearest",
    like: Paths | None = None,
    queries: str | Path | None = None,
    not_same_artist: str | Path | None = None,
    output: str | Path | None = None,
    *,
    by: By | None = None,
    judged: object = None,
    divergence: "Divergence" = "js",
    mutual_proximity: bool = True,
    scheduler: str | None = None,
) -> NearestRecordings:
    """Find the recordings that sound most like each query: a baseline system.

    indexes           a folder that `extract` wrote, or several that are shards of one index
    count             neighbours of each query
    system            name of the run
    like              sounds to query by, which need not be in the index: files, folders, URLs
    queries           a queries.tsv; None: every recording is a query
    not_same_artist   a documents.tsv: recordings by the query's artist are left out
    output            file for the TREC run; None: none is written
    by                descriptions that count: "gaussians" or "levelled", and names of vectors; a mapping of these to
                      weights, or a list where all weigh the same; None: Gaussians and all vectors
    judged            a collection, or its folder: the weights are learned from its judgments
    divergence        "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon of Gaussians
    mutual_proximity  rank by mutual proximity, which tames hubs, or by the divergence itself
    scheduler         address of a Dask cluster that searches the shards

    Silent recordings are left out.
    """
    if like and (queries or not_same_artist):
        raise InputError("queries and not_same_artist are about recordings of the index, not about `like`")
    shards, how = _several(indexes), {"divergence": divergence, "proximity": mutual_proximity, "scheduler": scheduler}
    sounds = _described_like(shards[0], _several(like)) if like else None
    artists, own = _artists_of(not_same_artist), _queries_of(queries)
    asked = None if own is None else own.values()
    plain = scheduler is not None or divergence != "js" or not mutual_proximity
    near, weights = None, _weights(by)
    if not plain:
        near = _near_by(shards, weights, judged, count, asked, artists, sounds)
    elif judged is not None or (weights is not None and [*weights] != [GAUSSIANS]):
        raise InputError("several descriptions are compared in this process, by Jensen-Shannon and mutual proximity")
    if near is None:
        near = _near_by_gaussians(shards, count, asked, artists, sounds, how)
    found = near if own is None else {name: near[of] for name, of in own.items()}
    result = NearestRecordings(system, found, () if sounds is None else sounds.failed)
    if output is not None:
        result.save(output)
    return result


def _near_by_gaussians(
    shards: Sequence[str | Path],
    count: int,
    asked: Iterable[str] | None,
    artists: Mapping[str, str | None] | None,
    sounds: "AudioIndex | None",
    how: Mapping[str, Any],
) -> Near:
    from audiosim.audio.shards import neighbours_in, neighbours_like

    if sounds is not None:
        return neighbours_like(shards, sounds, count, **how)
    return neighbours_in(shards, asked, count, artists, **how)


def _near_by(
    shards: Sequence[str | Path],
    by: Mapping[str, float] | None,
    judged: object,
    count: int,
    asked: Iterable[str] | None,
    artists: Mapping[str, str | None] | None,
    sounds: "AudioIndex | None",
) -> Near | None:
    """Neighbours by several descriptions; None where Gaussians alone count, which a faster search finds."""
    from audiosim.audio.description_weights import learned_weights
    from audiosim.audio.descriptions import descriptions_of, neighbours_by
    from audiosim.audio.recordings import Searched

    searched = Searched.load(shards)
    if not searched.pieces and by is None:
        return None
    if sounds is not None:
        names = [name for name in searched.pieces if by is None or name in by]
        searched = Searched(searched.shards, sounds, _vectors_like(searched.shards, sounds, names))
    descriptions = descriptions_of(searched, by)
    if [one.name for one in descriptions] == [GAUSSIANS]:
        return None
    weights: Any = [1.0 if by is None else by[one.name] for one in descriptions]
    if judged is not None:
        collection = as_collection(judged)
        within = Searched(searched.shards)
        kinds = descriptions_of(within, [one.name for one in descriptions])
        weights = learned_weights(within, kinds, collection.query_documents, collection.grades())
    return neighbours_by(searched, descriptions, asked, count, artists, weights)


def _weights(by: By | None) -> dict[str, float] | None:
    """Weight of each description; None: those that there are count the same."""
    if by is None:
        return None
    found = dict(by) if isinstance(by, Mapping) else dict.fromkeys([by] if isinstance(by, str) else by, 1.0)
    wrong = next((name for name, weight in found.items() if not 0 < weight < float("inf")), None)
    if wrong is not None:
        raise InputError(f"the weight of {wrong} must be above 0, got {found[wrong]:g}")
    return found


def _vectors_like(
    shards: "Sequence[AudioIndex]", sounds: "AudioIndex", names: Sequence[str]
) -> "dict[str, NDArray[np.float64]]":
    """Vectors of sounds to query by, by those embeddings that are installed and made the vectors of the index."""
    from audiosim.audio.index_vectors import vectors_of
    from audiosim.corpus.sound_vectors import embedded_files

    installed = set(known_embeddings())
    made = [
        name
        for name in names
        if name in installed and any(one.folder and embedded_files(one.folder, name) is not None for one in shards)
    ]
    return {name: vectors_of(sounds, find_embedding(name), other_decoders()) for name in made}


def _several(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _artists_of(documents: str | Path | None) -> dict[str, str | None] | None:
    from audiosim.corpus.metadata_tables import read_documents

    return {name: one.artist for name, one in read_documents(Path(documents)).items()} if documents else None


def _queries_of(queries: str | Path | None) -> dict[str, str] | None:
    from audiosim.corpus.metadata_tables import read_queries

    return read_queries(Path(queries)) if queries else None


def _described_like(index: str | Path, sounds: Sequence[str | Path]) -> "AudioIndex":
    """Sounds described as those of an index are; none at all is an error."""
    from audiosim.audio.index import AudioIndex, extract

    AudioIndex.load(index)  # complains before any sound is read
    found = extract(list(sounds), parameters=installed_frames(Path(index)), decoders=other_decoders())
    if not found.ids:
        raise InputError(f"no sound to query by could be described, expected at least one: {sounds[0]}")
    return found


def embed(
    index: str | Path,
    by: "str | Embed | Embedding | Sequence[str | Embed | Embedding]" = "tonal",
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> "tuple[Failure, ...]":
    """Add vectors of its recordings to an index, as a further description; what could not be described, and why.

    index      folder that `extract` wrote
    by         names of installed embeddings, functions of y=samples and sr=rate in Hz that return a vector, or an
               `Embedding`, which has a rate of its own; one or several
    jobs       worker processes, each of which loads the function; None: one per core
    scheduler  address of a Dask cluster that does the work instead
    """
    from audiosim.audio.embedding import Embedding
    from audiosim.audio.index_vectors import embed_index

    given = [by] if isinstance(by, str | Embedding) or callable(by) else list(by)
    chosen = [
        find_embedding(one) if isinstance(one, str) else one if isinstance(one, Embedding) else Embedding.of(one)
        for one in given
    ]
    failed: list[Failure] = []
    for one in chosen:
        with progress(f"describing by {one.name}") as show:
            failed += embed_index(
                index,
                one,
                jobs or -1,
                decoders=other_decoders(),
                progress=lambda done, lost, total: show(done + lost, total),
                scheduler=scheduler,
            )
    return tuple(failed)


def init(
    folder: str | Path,
    output: str | Path,
    *,
    queries: int = 50,
    seed: int = 0,
    jobs: int | None = None,
    by: Sequence[str] = (),
) -> "MusicFolder":
    """Turn a music folder into a collection: read its tags, index its sound, draw a first sample of queries.

    folder   with sound files; nothing in it is changed
    output   folder of the collection
    queries  recordings to draw as queries, at most
    seed     of that sample
    jobs     worker processes; None: one per core
    by       installed embeddings that describe the recordings beside the Gaussians

    Called again it goes on where it was stopped, and takes in what is new.
    """
    from audiosim.audio.music_folder import collect
    from audiosim.relevance.evidence_effects import prepare_closeness

    embeddings = tuple(map(find_embedding, by))
    with progress("extracting") as show:
        made = collect(
            folder,
            output,
            queries=queries,
            seed=seed,
            n_jobs=jobs or -1,
            progress=lambda done, failed, total: show(done + failed, total),
            embeddings=embeddings,
        )
    prepare_closeness(made.collection)
    return made


def sound_map(
    collection: object,
    output: str | Path | None = None,
    by: "MapBy" = "pca",
    descriptions: Sequence[str] | None = None,
    pictures: bool = False,
) -> "SoundMap":
    """Draw a map of recordings, on which what sounds alike lies together, as a page where they can be heard.

    collection    or its folder, with an index of its sounds; or the folder of an index alone
    output        file of the page, which ends in .html; None: none is written
    by            "pca" or "umap"; see `audiosim.audio.sound_map.map_coordinates`
    descriptions  that count: "gaussians" or "levelled", names of vectors; None: Gaussians and vectors
    pictures      of the queries' recordings, their mel spectrograms, are in the page too
    """
    from audiosim.audio.index_store import HEAD
    from audiosim.audio.recordings import Searched
    from audiosim.audio.sound_map import map_of

    alone = isinstance(collection, str | Path) and (Path(collection) / HEAD).exists()
    read = None if alone else as_collection(collection)
    if read is not None and read.sounds is None:
        raise InputError(f"{read.name} has no index of its sounds: audiosim extract -o COLLECTION/{SOUNDS} makes one")
    folder = Path(str(collection)) if read is None else read.sounds
    searched = Searched.load([folder or ""])
    groups = {} if read is None else {name: one.genre or one.artist for name, one in read.documents.items()}
    retrieved = set() if read is None else {name for run in read.runs for top in run.rankings.values() for name in top}
    queries = {} if read is None else read.query_documents
    found = map_of(searched, groups, queries, by, descriptions, retrieved)
    if output is not None:
        from audiosim.report.map_page import map_page

        paths = {one.identifier: one.path for one in searched.shards[0].recordings}
        name, drawn = Path(str(folder)).stem if read is None else read.name, {}
        if pictures:
            with progress("drawing") as show:
                drawn = _pictures({one: paths[one] for one in found.queries.values()}, show)
        page = map_page(name, found, paths, Path(output).parent, read, pictures=drawn)
        write_text(Path(output), [page])
    return found


def _pictures(paths: Mapping[str, str], show: Callable[[int, int], object]) -> dict[str, bytes]:
    """Pictures of recordings; those whose file is gone or cannot be read have none."""
    from audiosim.audio.picture import picture_of

    found: dict[str, bytes] = {}
    for done, (name, path) in enumerate(paths.items(), start=1):
        with suppress(SoundError):
            found[name] = picture_of(path)
        show(done, len(paths))
    return found
