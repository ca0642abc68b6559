"""A collection from a folder of music; its recordings as a map on a page, and as pictures."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import Collection
from audiosim.collection.layouts import SOUNDS
from audiosim.collection.values import queries_of
from audiosim.errors import InputError, SoundError, of_argument
from audiosim.results.progress import progress
from audiosim.results.value import Result, Row
from audiosim.sound.embeddings import find_embedding
from audiosim.sound.folder import QUERY_COUNT
from audiosim.sound.map import MapBy
from audiosim.tables.text import check_output_file, write_text
from audiosim.text import NOTES, counted

if TYPE_CHECKING:
    from audiosim.sound.describe import Failure
    from audiosim.sound.folder import MusicFolder
    from audiosim.sound.generated import GeneratedFolder
    from audiosim.sound.map import SoundMap

_WITHOUT_INDEX = f"{{}} has no index of its sounds: make one with `audiosim extract COLLECTION -o COLLECTION/{SOUNDS}`"


@dataclass(frozen=True, eq=False)
class Extraction(Result):
    """Outcome of an extraction.

    folder   folder of the index
    done     number of its recordings
    failed   files that could not be described, or not by an embedding
    counts   numbers of band-limited and of silent recordings
    seconds  time that it took
    """

    _columns: ClassVar = ("path", "error")

    folder: Path
    done: int
    failed: tuple["Failure", ...]
    counts: Mapping[str, int]
    seconds: float

    @property
    def incomplete(self) -> str:
        """Words on files that are not in the index; empty if all are."""
        if not self.done:
            return "no file could be described"
        return f"{counted(len(self.failed), 'file')} left out, the index has the others" if self.failed else ""

    def rows(self) -> list[Row]:
        """One row per file that failed."""
        return [failure.row() for failure in self.failed]

    def to_dict(self) -> Row:
        """The outcome as plain values, ready for JSON."""
        return {"done": self.done, "failed": self.rows(), **self.counts, "seconds": self.seconds}


def extract_index(
    sounds: Sequence[str],
    output: str | Path,
    *,
    jobs: Annotated[int, Ge(1)] | None = None,
    scheduler: str | None = None,
    vectors: Sequence[Path] = (),
    embeddings: Sequence[str] = (),
    prune: bool = False,
    frames: str | None = None,
) -> Extraction:
    """Describe each recording by a Gaussian of its MFCC frames, and save the descriptions as an index.

    Unchanged files that are already in the index are skipped. Bad files are listed, one line each, and left out; a file
    that crashes its decoder, or takes more than 120 s and 4 s per megabyte, is bad too. Run the command again to resume
    it. The exit code is 1 if any file was left out; INDEX has the others. If INDEX is the sounds.index of a collection,
    the closeness of its recordings is computed too, for the first ranking. The machines of a cluster must find the
    sounds under the same paths or URLs.

    sounds      sound files, folders, URLs of either, or a documents.tsv
    output      folder of the index; an existing one is continued
    jobs        worker processes. Default: one per core
    vectors     keep vectors of the recordings beside the index, as a second description: NAME.npy with NAME.ids (one
                identifier per line), npz, CSV or Parquet; may be repeated
    embeddings  also describe each recording by a vector: tonal (librosa's chroma, tonnetz and contrast) or an installed
                embedding; may be repeated
    prune       first remove recordings whose file is missing; URLs stay
    frames      standard: MFCC, spectral contrast and descriptors of the mel bands; mfcc: only MFCC, as in the papers;
                or names joined by commas: mfcc, contrast, bands and installed descriptors. Default: those of an
                existing index, otherwise standard

    Example: `audiosim extract demo/sounds -o sounds.index`

    Again, without deleted files: `audiosim extract demo/sounds -o sounds.index --prune`

    As in the papers: `audiosim extract demo/sounds -o mfcc.index --frames mfcc`

    With librosa's chroma: `audiosim extract demo/sounds -o chroma.index --frames mfcc,chroma`

    With harmony as a second description: `audiosim extract demo/sounds -o sounds.index --with tonal`

    With the embeddings of a network, made elsewhere: `--vectors clap.npy`, the identifiers in clap.ids.

    On a cluster: `audiosim extract s3://bucket/music -o sounds.index --scheduler tcp://10.0.0.1:8786`
    """
    from audiosim.joint.terms import prepare_closeness
    from audiosim.sound.describe import find_frames, frames_of_index
    from audiosim.sound.embedding import keep_vectors
    from audiosim.sound.index import extract
    from audiosim.sound.vectors import embed

    output, chosen, start = Path(output), [find_embedding(name).name for name in embeddings], time.monotonic()
    parameters = of_argument("frames")(find_frames)(frames) if frames else frames_of_index(output)
    with progress("extracting") as show:
        found = extract(
            sounds, jobs or -1, into=output, parameters=parameters, scheduler=scheduler, prune=prune,
            progress=lambda done, failed, total: show(done + failed, total),
        )  # fmt: skip
    lost = embed(output, chosen, jobs=jobs, scheduler=scheduler) if chosen and found.ids else ()
    kept = keep_vectors(output, vectors, found.ids) if vectors else ()
    if output.name == SOUNDS:
        prepare_closeness(output.parent)
    for piece in kept:
        if lacking := sum(name not in set(map(str, piece.keys)) for name in found.ids):
            NOTES.info("%s: %d of %d recordings have no vector", piece.source, lacking, len(found.ids))
    taken = round(time.monotonic() - start, 3)
    return Extraction(output, len(found.ids), (*found.failed, *lost), found.counts(), taken)


def init(
    folder: str | Path,
    output: str | Path,
    *,
    queries: Annotated[int, Ge(1)] = QUERY_COUNT,
    seed: int = 0,
    jobs: Annotated[int, Ge(1)] | None = None,
    embeddings: Sequence[str] = (),
    generated: bool = False,
) -> "MusicFolder | GeneratedFolder":
    """Turn a music folder into a collection: read its tags, index its sound, and draw a first sample of queries.

    Writes documents.tsv with artist, genre, album, title and length by the files' tags, queries.tsv, collection.toml,
    sounds.index, and a baseline run: the recordings that sound nearest to each query. Identifiers are safe in run files
    and URLs. Possible duplicates are listed; choose which to keep. FOLDER is not changed. Run the command again to
    resume it, or to add new files; your changes to documents.tsv, queries.tsv and collection.toml are kept. The exit
    code is 1 if any file was bad and left out; the collection has the others.

    Of generated music, systems are folders, and every recording gets an identifier that does not reveal its system.

    folder      folder with sound files; nothing in it is changed
    output      folder of the collection to make
    queries     largest number of recordings to draw as queries
    seed        seed of that draw
    jobs        worker processes. Default: one per core
    embeddings  also describe each recording by a vector, as `audiosim extract` does; may be repeated
    generated   FOLDER has a folder per system and one called prompts, each with one recording per prompt, under the
                same names. A prompt may also be a text: prompts/NAME.txt, or a line of prompts.tsv

    Example: `audiosim init demo/sounds -o campaign/`
    """
    from audiosim.joint.terms import prepare_closeness
    from audiosim.sound.folder import collect
    from audiosim.sound.generated import collect_generated

    if generated:
        given = {
            "queries": queries * (queries != QUERY_COUNT),
            "seed": seed,
            "jobs": jobs,
            "embeddings": ",".join(embeddings),
        }
        for name, value in given.items():
            if value:
                raise InputError(f"`{name}={value!r}` means nothing with `generated=True`, expected one of them")
        return collect_generated(folder, output)
    with progress("extracting") as show:
        made = collect(
            folder, output, queries=queries, seed=seed, n_jobs=jobs or -1,
            progress=lambda done, failed, total: show(done + failed, total),
            embeddings=tuple(map(find_embedding, embeddings)),
        )  # fmt: skip
    prepare_closeness(made.collection)
    return made


def sound_map(
    collection: object,
    output: str | Path | None = None,
    by: MapBy = "pca",
    descriptions: Sequence[str] | None = None,
    pictures: bool = False,
) -> "SoundMap":
    """Draw a map of the recordings as a page: recordings that sound alike lie together, and a click plays one.

    Rings are queries. For each query the page shows the results of each system, and those not judged yet. Clips stay
    where they are, so the page works on the machine that has them.

    collection    folder of a collection with sounds.index, or of an index; or a `Collection`
    output        file of the page, which ends in .html. Default: none is written
    by            pca: principal components; umap: neighbourhoods, which needs audiosim[maps]
    descriptions  description to draw by, such as levelled or tonal; repeatable. Default: all
    pictures      also draw the queries' recordings: mel spectrograms

    Example: `audiosim map demo -o map.html`
    """
    from audiosim.sound.descriptions import Searched
    from audiosim.sound.map import map_of
    from audiosim.sound.store import HEAD

    check_output_file(output)
    alone = isinstance(collection, str | Path) and (Path(collection) / HEAD).exists()
    read = None if alone else as_collection(collection)
    if read is not None and read.sounds is None:
        raise InputError(_WITHOUT_INDEX.format(read.name))
    folder = Path(str(collection)) if read is None else read.sounds
    searched = Searched.load([folder or ""])
    groups = {} if read is None else {name: one.genre or one.artist for name, one in read.documents.items()}
    retrieved = set() if read is None else {name for run in read.runs for top in run.rankings.values() for name in top}
    queries = {} if read is None else read.query_documents
    found = map_of(searched, groups, queries, by, descriptions, retrieved)
    if output is not None:
        from audiosim.report.rendering import map_page

        paths = {one.identifier: one.path for one in searched.shards[0].recordings}
        name, drawn = Path(str(folder)).stem if read is None else read.name, {}
        if pictures:
            with progress("drawing") as show:
                drawn = _pictures({one: paths[one] for one in found.queries.values()}, show)
        page = map_page(name, found, paths, Path(output).parent, read, pictures=drawn)
        write_text(Path(output), [page])
        return replace(found, page=Path(output))
    return found


def query_pictures(collection: Collection) -> dict[str, bytes]:
    """Pictures of the recordings of a collection's queries, as JPEG files; recordings that cannot be read have none."""
    from audiosim.sound.index import AudioIndex

    if collection.sounds is None:
        raise InputError(_WITHOUT_INDEX.format(collection.name))
    paths = {one.identifier: one.path for one in AudioIndex.load(collection.sounds).recordings}
    queries = sorted(queries_of(collection.runs))
    documents = {query: collection.query_document(query) for query in queries}
    asked = {query: paths[document] for query, document in documents.items() if document in paths}
    with progress("drawing") as show:
        return _pictures(asked, show)


def _pictures(paths: Mapping[str, str], show: Callable[[int, int], object]) -> dict[str, bytes]:
    """Pictures of recordings; recordings with a missing or unreadable file have none."""
    from audiosim.sound.clips import picture_of

    found: dict[str, bytes] = {}
    for done, (name, path) in enumerate(paths.items(), start=1):
        with suppress(SoundError):
            found[name] = picture_of(path)
        show(done, len(paths))
    return found
