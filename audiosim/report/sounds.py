"""A collection from a folder of music; its recordings as a map on a page, and as pictures."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import SOUNDS, Collection
from audiosim.collection.values import queries_of
from audiosim.errors import InputError, SoundError
from audiosim.results.progress import progress
from audiosim.sound.embeddings import find_embedding
from audiosim.tables.text import write_text

if TYPE_CHECKING:
    from audiosim.sound.folder import MusicFolder
    from audiosim.sound.map import MapBy, SoundMap

_WITHOUT_INDEX = f"{{}} has no index of its sounds: make one with audiosim extract -o COLLECTION/{SOUNDS}"


def init(
    folder: str | Path,
    output: str | Path,
    *,
    queries: int = 50,
    seed: int = 0,
    jobs: int | None = None,
    embeddings: Sequence[str] = (),
) -> "MusicFolder":
    """Turn a music folder into a collection: read its tags, index its sound, draw a first sample of queries.

    folder   folder with sound files; nothing in it is changed
    output   folder of the collection
    queries  largest number of recordings to draw as queries
    seed     seed of that draw
    jobs     worker processes; None: one per core
    embeddings  names of installed ones that describe the recordings beside the Gaussians

    A further call continues where the last one stopped, and adds new files. It keeps what you changed: filled fields of
    documents.tsv, the queries of queries.tsv, and collection.toml.
    """
    from audiosim.joint.terms import prepare_closeness
    from audiosim.sound.folder import collect

    with progress("extracting") as show:
        made = collect(
            folder,
            output,
            queries=queries,
            seed=seed,
            n_jobs=jobs or -1,
            progress=lambda done, failed, total: show(done + failed, total),
            embeddings=tuple(map(find_embedding, embeddings)),
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
    """Draw a map of recordings as a page that plays them; recordings that sound alike lie together.

    collection    `Collection` or its folder, with an index of its sounds; or the folder of an index alone
    output        file of the page, which ends in .html; None: not written
    by            "pca" or "umap"; see `audiosim.sound.map.map_coordinates`
    descriptions  descriptions to use: "gaussians" or "levelled", names of vectors; None: Gaussians and vectors
    pictures      True to include the mel spectrograms of the queries' recordings
    """
    from audiosim.sound.descriptions import Searched
    from audiosim.sound.map import map_of
    from audiosim.sound.store import HEAD

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
