"""Vectors beside the recordings of an index, by an embedding: changed files are read again, and a kill loses little."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from audiosim.collection.evidence import Evidence, read_pieces
from audiosim.errors import InputError, SoundError
from audiosim.results.progress import progress
from audiosim.sound.decode import Reader
from audiosim.sound.describe import Embedded, Failure, each_file, opened_sound, second_of_sound
from audiosim.sound.embedding import Embed, Embedding, embedded_files, keep_embedded, vectors_path
from audiosim.sound.embeddings import find_embedding
from audiosim.sound.index import AudioIndex, ShowProgress, follow
from audiosim.sound.store import Recording
from audiosim.stats.arrays import Array
from audiosim.text import one_line

SAVED, SAVED_SHARE = 200, 0.05  # new vectors, and their share of the existing ones, after which the file is written


def embed_index(
    folder: str | Path,
    embedding: Embedding,
    n_jobs: int | None = None,
    *,
    progress: ShowProgress | None = None,
    scheduler: str | None = None,
) -> tuple[Failure, ...]:
    """Keep a vector for each audible recording of an index; the result lists recordings without one, with the reason.

    folder     folder of the index
    n_jobs     worker processes, as for `extract`; each loads the function itself
    progress   called with the number of recordings done (including known ones), failed, and in total
    scheduler  address of a Dask cluster that does the work instead

    A recording is described again if its file has changed since its vector was made. Finished vectors survive an
    interruption, except the last 200 or, if that is more, the last twentieth.
    """
    embedding.prepare()
    index = AudioIndex.load(folder)
    heard = [recording for recording in index.recordings if not recording.silent]
    kept = _kept(Path(folder), embedding.name, heard)
    todo = [recording for recording in heard if recording.identifier not in kept]
    known = saved = len(kept)

    def keep(one: Embedded) -> None:
        nonlocal saved
        kept[one.recording.identifier] = one
        if len(kept) - saved > max(SAVED, SAVED_SHARE * len(kept)):
            _keep(Path(folder), embedding.name, kept.values())
            saved = len(kept)

    outcomes = embed_all(todo, embedding, n_jobs, scheduler=scheduler)
    failed = follow(outcomes, known, len(heard), progress or (lambda done, failed, total: None), keep)
    _keep(Path(folder), embedding.name, kept.values())
    return failed


def _kept(folder: Path, name: str, recordings: Iterable[Recording]) -> dict[str, Embedded]:
    """Vectors of files that have not changed since."""
    files = embedded_files(folder, name)
    if files is None:
        return {}
    (piece,) = read_pieces(vectors_path(folder, name))
    places = {str(key): place for place, key in enumerate(piece.keys)}
    return {
        one.identifier: Embedded(one, piece.values[place].astype(np.float32))
        for one in recordings
        if (place := places.get(one.identifier)) is not None and tuple(files[place]) == (one.size_bytes, one.mtime_ns)
    }


def _keep(folder: Path, name: str, kept: Iterable[Embedded]) -> None:
    every = list(kept)
    if not every:
        return
    vectors = np.array([one.vector for one in every], dtype=np.float64)
    files = np.array([(one.recording.size_bytes, one.recording.mtime_ns) for one in every], dtype=np.int64)
    names = tuple(one.recording.identifier for one in every)
    keep_embedded(folder, Evidence(name, "document", names, vectors), files)


def embed_all(
    recordings: Sequence[Recording], embedding: Embedding, n_jobs: int | None = None, *, scheduler: str | None = None
) -> Generator[Embedded | Failure, None, None]:
    """The vector of each recording, or the reason why it has none, in order; see `describe.describe_all`."""
    read = Reader(embedding.rate_hz)
    if not recordings:
        return
    if n_jobs is None and scheduler is None:
        yield from (embed_file(one, embedding, read) for one in recordings)
        return
    import joblib

    portable = replace(embedding, function=joblib.wrap_non_picklable_objects(embedding.function))
    work = partial(embed_file, embedding=portable, read=read)
    yield from each_file(work, recordings, n_jobs, scheduler, partial(_prepare, portable))


def embed_file(recording: Recording, embedding: Embedding, read: Reader) -> Embedded | Failure:
    """The vector of one file, or the reason why it has none."""
    place = recording.path
    try:
        with opened_sound(place) as path:
            place = str(path)
            signal = read(path)
            vector = embedding.vector(signal.samples)
    except (SoundError, InputError) as error:
        return Failure(recording.path, str(error).removeprefix(f"{place}: "))
    except Exception as error:  # foreign code may raise anything
        return Failure(recording.path, f"embedding {embedding.name} fails: {one_line(error)}")
    if not vector.any():
        return Failure(recording.path, f"embedding {embedding.name} gives a vector of length 0")
    return Embedded(recording, vector.astype(np.float32))


def vectors_of(sounds: AudioIndex, embedding: Embedding) -> Array:
    """(n, d) vectors of recordings; zeros for recordings without one.

    sounds  just described, such as a clip to search by
    """
    embedding.prepare()
    found = list(embed_all(list(sounds.recordings), embedding))
    known = [one.vector for one in found if isinstance(one, Embedded)]
    nothing = np.zeros(len(known[0]) if known else 1)
    return np.array([one.vector if isinstance(one, Embedded) else nothing for one in found], dtype=np.float64)


def _prepare(embedding: Embedding) -> None:
    """Load the data that the function loads at its first call."""
    with suppress(Exception):  # each file will report the error
        embedding.vector(second_of_sound(embedding.rate_hz).samples)


def embed(
    index: str | Path,
    embeddings: str | Embed | Embedding | Sequence[str | Embed | Embedding] = "tonal",
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> tuple[Failure, ...]:
    """Add vectors of its recordings to an index, as a further description; the result lists failures with reasons.

    index      folder that `extract` wrote
    embeddings  one or several of: names of installed embeddings, functions of y=samples and sr=rate in Hz that return a
               vector, and `Embedding` values, which have their own rate
    jobs       worker processes, each of which loads the function; None: one per core
    scheduler  address of a Dask cluster that does the work instead
    """
    given = [embeddings] if isinstance(embeddings, str | Embedding) or callable(embeddings) else list(embeddings)
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
                progress=lambda done, lost, total: show(done + lost, total),
                scheduler=scheduler,
            )
    return tuple(failed)
