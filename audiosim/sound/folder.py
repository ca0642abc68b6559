"""A collection from a folder of music: recordings, tags, duplicates, and a sample of queries."""

import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_documents, read_queries
from audiosim.collection.layouts import prepare_folder
from audiosim.collection.settings import Settings, read_settings, settings_lines
from audiosim.collection.values import FINE, Document, Run
from audiosim.collection.written import document_lines, query_lines, run_lines
from audiosim.errors import InputError
from audiosim.results.value import Result
from audiosim.sound import jensen_shannon
from audiosim.sound.describe import Failure
from audiosim.sound.embedding import Embedding
from audiosim.sound.gaussians import Singles, to_rows
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.neighbours import nearest_run
from audiosim.sound.parameters import Parameters
from audiosim.sound.sources import LeftOut, SoundSource, find_sounds
from audiosim.sound.store import Recording
from audiosim.sound.tags import Tags, read_tags
from audiosim.sound.vectors import embed_index
from audiosim.tables.text import write_texts
from audiosim.text import counted

# Files of a collection made by an earlier `collect`: a further call keeps the changes made by their owner.


DOCUMENTS, QUERIES, SETTINGS = "documents.tsv", "queries.tsv", "collection.toml"


@dataclass(frozen=True, slots=True)
class EditedFolder:
    """Contents of a folder's files before a call writes them; empty without files.

    documents  rows of documents.tsv, by identifier
    queries    document of each query of queries.tsv
    settings   text of collection.toml
    sounds     folder of the recordings in these settings
    """

    documents: Mapping[str, Document]
    queries: Mapping[str, str]
    settings: str
    sounds: str | None

    def edited(self, found: Document) -> Document:
        """A recording with the non-empty fields of its row; path and length are the present ones."""
        row = self.documents.get(found.identifier)
        if row is None:
            return found
        more = {**found.more, **row.more, "seconds": found.more["seconds"]}
        return Document(found.identifier, row.artist or found.artist, row.genre or found.genre, found.path, more)

    def settings_lines(self, settings: Settings) -> list[str]:
        """The lines of collection.toml, unchanged except that a missing folder of the recordings is added."""
        if not self.settings:
            return settings_lines(settings)
        lacking = settings_lines(Settings(sounds=settings.sounds)) if self.sounds is None else []
        return [*lacking, *self.settings.splitlines()]


def read_edited(folder: Path, sounds: str) -> EditedFolder:
    """The files of a folder that an earlier call wrote; an error if they belong to another folder of recordings.

    sounds  folder of the recordings, relative to the collection's
    """
    documents, queries, settings = (folder / name for name in (DOCUMENTS, QUERIES, SETTINGS))
    text = settings.read_text(encoding="utf-8-sig") if settings.exists() else ""
    before = read_settings(settings).sounds if text else None
    if before not in (None, sounds):
        raise InputError(
            f"{folder}: was made of {before}, got {sounds}; expected the same folder, or another name for the "
            f"collection. If the recordings have moved, change sounds in {settings}"
        )
    return EditedFolder(
        read_documents(documents) if documents.exists() else {},
        read_queries(queries) if queries.exists() else {},
        text,
        before,
    )


INDEX, SYSTEM, CUTOFF = "sounds.index", "audiosim-nearest", 5
QUERY_COUNT = 50
FEWEST = 2  # fewest recordings: a baseline needs some besides the query's own
# Dimensions independent of loudness and nearly independent of coders: the shape of the spectrum, contrast below 3.2
# kHz.
STABLE = (*(f"mfcc {number}" for number in range(1, 5)), *(f"contrast {octave}" for octave in range(5)))
SAME = 0.15  # largest divergence by these, in nats: 96 clips of 8 games are .21 apart or more, MP3 copies .09 (median)
SAME_S, SAME_SHARE = 0.5, 0.01  # largest difference in length between copies, in seconds and as a share
NEAREST = 3  # neighbours of each recording that are compared with it


class Twins(NamedTuple):
    """Two recordings that may be the same: their divergence in nats, and the length of the first in seconds."""

    one: str
    other: str
    divergence: float
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class MusicFolder(Result):
    """Result of processing a folder.

    collection  folder of the collection
    documents   recordings that were described
    failed      files that could not be described, and the reasons
    unknown     number of recordings without a value, by column of documents.tsv
    twins       pairs of recordings that may be the same
    queries     document of each query: a drawn sample, or those of an earlier call
    kept        True if the queries are those of an earlier call
    counts      numbers of band-limited and of silent recordings
    """

    _index: ClassVar = ("document",)

    collection: Path
    documents: tuple[Document, ...]
    failed: tuple[Failure, ...]
    unknown: dict[str, int]
    twins: tuple[Twins, ...]
    queries: dict[str, str]
    kept: bool
    counts: dict[str, int]

    def __repr__(self) -> str:
        recordings = counted(len(self.documents), "recording")
        return f"{recordings}, {len(self.queries):,} of them queries, in {self.collection}"

    def rows(self) -> list[dict[str, Any]]:
        """One row per recording: its tags, its path, and whether it is a query."""
        return [
            {"document": one.identifier, "artist": one.artist, "genre": one.genre, "path": one.path, **one.more}
            | {"query": one.identifier in self.queries.values()}
            for one in self.documents
        ]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "collection": str(self.collection),
            "documents": len(self.documents),
            "failed": [failure.row() for failure in self.failed],
            **self.counts,
            "unknown": self.unknown,
            "near_duplicates": [twins._asdict() for twins in self.twins],
            "queries": list(self.queries),
            "queries_kept": self.kept,
        }


def collect(
    folder: str | Path,
    into: str | Path,
    *,
    queries: int = QUERY_COUNT,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int, int], object] | None = None,
    embeddings: Sequence[Embedding] = (),
) -> MusicFolder:
    """Make a collection of the sound below a folder.

    folder   folder with sound files of any format that `extract` reads
    into     folder of the collection; one made by `collect` is continued; files of another collection there are an
             error. A continued collection keeps the changes of its owner: filled fields of documents.tsv,
             collection.toml, and queries.tsv, whose queries stay as long as their recordings
    queries  largest number of recordings to draw as queries, from as many artists as possible and from each genre in
             turn
    seed     seed of that sample
    n_jobs   worker processes, see `extract`
    embeddings  further descriptions of the recordings, beside their Gaussians; existing vectors of the index are used
                too

    Writes documents.tsv (document, artist, genre, path, album, title, seconds), queries.tsv, collection.toml,
    sounds.index and the run of one system, which retrieves the recordings nearest in sound by other artists, or by the
    query's own if there are no others.
    Identifiers are the paths below the folder, with `_` for characters that runs or addresses do not allow.
    """
    if queries < 1:
        raise InputError(f"at least one query must be drawn, got {queries}")
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: is not a folder, expected one with sound files")
    runs = Path(into) / "runs"
    only_ours = not runs.exists() or {path.name for path in runs.iterdir()} <= {f"{SYSTEM}.trec"}
    prepared = prepare_folder(into, {DOCUMENTS, QUERIES, SETTINGS} | ({"runs"} if only_ours else set()))
    place = Path(os.path.relpath(folder, prepared)).as_posix()
    before = read_edited(prepared, place)
    sounds = _named(find_sounds(folder, keep_suffixes=True))
    index = extract(sounds, n_jobs, into=prepared / INDEX, progress=progress, prune=True)
    heard = int(np.count_nonzero(~index.silent))
    if heard < FEWEST:
        raise InputError(f"{folder}: {counted(heard, 'recording')} with sound, expected at least {FEWEST} to compare")
    failed = [one for each in embeddings for one in embed_index(prepared / INDEX, each, n_jobs, progress=progress)]
    documents = tuple(before.edited(_document(recording, prepared)) for recording in index.recordings)
    twins = find_twins(index)
    by_name = {document.identifier: document for document in documents}
    kept = {query: document for query, document in before.queries.items() if document in by_name}
    unfit = {*(one.identifier for one in index.recordings if one.silent), *(pair.other for pair in twins)}
    asked = kept or {name: name for name in draw_queries(documents, unfit, queries, seed)}
    run = _baseline(index, asked, by_name)
    name = Path(folder).resolve().name
    # A small folder has few recordings by other artists: a cutoff that no run reaches would be reported as a mistake.
    cutoff = max(1, max((len(found) for found in run.rankings.values()), default=CUTOFF))
    made = Collection(name, name, FINE, cutoff, (run,), by_name, asked)
    _write(prepared, made, place, before)
    unknown = {column: sum(getattr(one, column) is None for one in documents) for column in ("artist", "genre")}
    return MusicFolder(prepared, documents, (*index.failed, *failed), unknown, twins, asked, bool(kept), index.counts())


def _baseline(index: AudioIndex, queries: Mapping[str, str], documents: Mapping[str, Document]) -> Run:
    """The baseline system; a query without recordings by other artists retrieves those by its own."""
    artists = {name: document.artist for name, document in documents.items()}
    found = nearest_run(index, SYSTEM, queries, CUTOFF, artists)
    alone = {query: own for query, own in queries.items() if not found.rankings[query]}
    if not alone:
        return found
    return Run(SYSTEM, {**found.rankings, **nearest_run(index, SYSTEM, alone, CUTOFF).rankings})


def _write(folder: Path, collection: Collection, sounds: str, before: EditedFolder) -> None:
    (folder / "runs").mkdir(exist_ok=True)
    settings = Settings(collection.name, collection.scale, collection.cutoff, sounds=sounds)
    write_texts(
        {
            folder / DOCUMENTS: document_lines(collection.documents.values()),
            folder / QUERIES: query_lines(collection.query_documents),
            folder / f"runs/{SYSTEM}.trec": run_lines(collection.runs),
            folder / SETTINGS: before.settings_lines(settings),
        }
    )


def _named(sounds: dict[str, SoundSource]) -> dict[str, SoundSource]:
    """Files by identifiers that are safe in a run, a table and a URL; a second file of the same name gets a number."""
    found: dict[str, SoundSource] = {}
    for place, source in sounds.items():
        safe = place if isinstance(source, LeftOut) else safe_identifier(place)
        number = 2
        while (name := safe if safe not in found else f"{safe}-{number}") in found:
            number += 1
        found[name] = source
    return found


def safe_identifier(place: str) -> str:
    """A path as an identifier: letters and digits of any alphabet, `-`, `.` and `+` stay; all else becomes `_`."""
    composed = unicodedata.normalize("NFC", place)
    words = "".join(sign if sign.isalnum() or sign in "-.+" else "_" for sign in composed).split("_")
    return "_".join(word for word in words if word) or "_"


def _document(recording: Recording, collection: Path) -> Document:
    path = os.path.relpath(recording.path, collection)
    tags: Tags = read_tags(recording.path)
    more = {"album": tags.album or "", "title": tags.title or "", "seconds": f"{recording.seconds:.1f}"}
    return Document(recording.identifier, tags.artist, tags.genre, Path(path).as_posix(), more)


def find_twins(index: AudioIndex) -> tuple[Twins, ...]:
    """Recordings that may be the same, nearest first.

    Two recordings may be the same if their lengths agree within half a second or 1 %, and their Gaussians within .15
    nats by Jensen-Shannon divergence; these Gaussians use only dimensions that are independent of loudness and almost
    independent of coding. Silent recordings are all alike and left out. Copies in low quality may be farther apart. An
    index without those dimensions gives no twins.
    """
    heard = np.flatnonzero(~index.silent)
    if len(heard) < 2 or not set(STABLE) <= set(index.parameters.dimensions):
        return ()
    places = [index.parameters.dimensions.index(name) for name in STABLE]
    rows: Singles = to_rows(index.means[heard][:, places], index.covariances[heard][:, places][:, :, places])
    names = tuple(Recording(index.ids[place]) for place in heard)
    stable = AudioIndex(names, rows, Parameters(coefficients=len(places)))
    near = stable.neighbours(None, NEAREST, divergence="kl", proximity=False)
    row = {recording.identifier: number for number, recording in enumerate(names)}
    seconds = {recording.identifier: recording.seconds for recording in index.recordings}
    pairs = {frozenset((one, other.identifier)) for one, others in near.items() for other in others}
    found = []
    for one, other in (sorted(pair, key=row.__getitem__) for pair in pairs):
        if abs(seconds[one] - seconds[other]) <= max(SAME_S, SAME_SHARE * seconds[one]):
            own, theirs = rows[row[one]][None], rows[row[other]][None]
            distance = float(jensen_shannon.jensen_shannon_divergence(own, theirs, len(places))[0, 0])
            if distance < SAME:
                found.append(Twins(one, other, distance, seconds[one]))
    return tuple(sorted(found, key=lambda pair: (pair.divergence, pair.one, pair.other)))


def draw_queries(documents: Sequence[Document], unfit: Iterable[str], count: int, seed: int) -> tuple[str, ...]:
    """Recordings drawn as queries: from each genre in turn, and within it from each artist, before any artist repeats.

    unfit  identifiers that are never drawn
    count  largest number to draw
    """
    rng, left = np.random.default_rng(seed), set(unfit)
    genres: dict[str | None, dict[str, list[str]]] = {}
    for place in rng.permutation(len(documents)):
        one = documents[place]
        if one.identifier not in left:
            artists = genres.setdefault(one.genre, {})
            artists.setdefault(one.artist or f"\0{one.identifier}", []).append(one.identifier)
    return tuple(_in_turn([_in_turn(list(artists.values())) for artists in genres.values()])[:count])


def _in_turn(lists: Sequence[Sequence[str]]) -> list[str]:
    """The first of each list, then the second of each, and so on."""
    return [one for group in zip_longest(*lists) for one in group if one is not None]
