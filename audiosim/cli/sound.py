"""Commands on sound: describe recordings, find the nearest."""

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from audiosim.cli.options import As, Format, Seed, print_result
from audiosim.errors import InputError
from audiosim.report.rank import extraction_view, music_folder_view, rows_view
from audiosim.results.progress import progress
from audiosim.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from audiosim.sound.describe import Failure
    from audiosim.sound.descriptions import Divergence


def extract(
    sounds: Annotated[
        list[str],
        typer.Argument(
            metavar="SOUND...", help="Sound files, folders, URLs of either, or a documents.tsv.", show_default=False
        ),
    ],
    index: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="INDEX",
            help="Folder of the index; an existing one is continued.",
            show_default=False,
        ),
    ],
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", help="Worker processes. Default: one per core.", min=1)
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Do the work on a Dask cluster, such as tcp://10.0.0.1:8786, whose machines find the sounds under "
            "the same paths or URLs. Needs audiosim\\[scale].",
        ),
    ] = None,
    vectors: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Keep vectors of the recordings beside the index, as a second description: NAME.npy with NAME.ids "
            "(one identifier per line), npz, CSV or Parquet; may be repeated.",
            show_default=False,
        ),
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="Also describe each recording by a vector: tonal (librosa's chroma, tonnetz and contrast) or an "
            "installed embedding; may be repeated.",
            show_default=False,
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="First remove recordings whose file is missing; URLs stay.")
    ] = False,
    frames: Annotated[
        str | None,
        typer.Option(
            help="standard: MFCC, spectral contrast and descriptors of the mel bands; mfcc: only MFCC, as in the "
            "papers; or names joined by commas: mfcc, contrast, bands and installed descriptors. Default: those of "
            "an existing index, otherwise standard.",
            show_default=False,
        ),
    ] = None,
    form: As = Format.table,
) -> None:
    """Describe each recording by a Gaussian of its MFCC frames, and save the descriptions as an index.

    Unchanged files that are already in the index are skipped. Bad files are listed, one line each, and left out; a file
    that crashes its decoder, or takes more than 120 s and 4 s per megabyte, is bad too. Run the command again to resume
    it. If INDEX is the sounds.index of a collection, the closeness of its recordings is computed too, for the first
    ranking.

    Example: `audiosim extract my-demo/sounds -o sounds.index`

    Again, without deleted files: `audiosim extract my-demo/documents.tsv -o sounds.index --prune`

    As in the papers: `audiosim extract my-demo/sounds -o mfcc.index --frames mfcc`

    With librosa's chroma: `audiosim extract my-demo/sounds -o chroma.index --frames mfcc,chroma`

    With harmony as a second description: `audiosim extract my-demo/sounds -o sounds.index --with tonal`

    With the embeddings of a network, made elsewhere: `--vectors clap.npy`, the identifiers in clap.ids.

    On a cluster: `audiosim extract s3://bucket/music -o sounds.index --scheduler tcp://10.0.0.1:8786`
    """
    from audiosim.collection.collection import SOUNDS
    from audiosim.joint.terms import prepare_closeness
    from audiosim.sound.describe import find_frames, frames_of_index
    from audiosim.sound.embedding import keep_vectors
    from audiosim.sound.embeddings import find_embedding
    from audiosim.sound.index import extract as extract_sounds
    from audiosim.sound.vectors import embed

    chosen = [find_embedding(name).name for name in embeddings or ()]
    start = time.monotonic()
    with progress("extracting") as show:
        found = extract_sounds(
            sounds,
            jobs or -1,
            into=index,
            parameters=find_frames(frames) if frames else frames_of_index(index),
            progress=lambda done, failed, total: show(done + failed, total),
            scheduler=scheduler,
            prune=prune,
        )
    lost = embed(index, chosen, jobs=jobs, scheduler=scheduler) if chosen and found.ids else ()
    kept = keep_vectors(index, vectors, found.ids) if vectors else ()
    if index.name == SOUNDS:
        prepare_closeness(index.parent)
    _name_failed([*found.failed, *lost])
    for piece in kept:
        lacking = sum(name not in set(map(str, piece.keys)) for name in found.ids)
        if lacking:
            sys.stderr.write(f"audiosim: {piece.source}: {lacking} of {len(found.ids)} recordings have no vector\n")
    failed = [{"path": _encodable(failure.path), "error": failure.error} for failure in (*found.failed, *lost)]
    known = found.counts()
    result = {"done": len(found.ids), "failed": failed, **known, "seconds": round(time.monotonic() - start, 3)}
    print_result(form, result, failed, lambda: extraction_view(result, index))
    if not found.ids:
        raise InputError("no file could be described")


def _encodable(path: str) -> str:
    """A path with escapes for bytes that are not text."""
    return path.encode("utf-8", "backslashreplace").decode()


class DivergenceName(StrEnum):
    """Names that `--divergence` accepts."""

    kl = "kl"
    js = "js"


def neighbours(
    indexes: Annotated[
        list[Path],
        typer.Argument(
            metavar="INDEX...",
            help="Folder of an index; several are shards of one index, with no recording in two of them.",
            show_default=False,
        ),
    ],
    count: Annotated[int, typer.Option("-k", help="Number of neighbours per query.", min=1)] = 5,
    system: Annotated[str, typer.Option(help="Name of the system in the run.")] = "nearest",
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOUND",
            help="Query by example: a sound file, a folder or a URL that need not be in the index; may be repeated.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A queries.tsv. Default: every recording is a query.")
    ] = None,
    not_same_artist: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A documents.tsv: exclude recordings by the query's artist."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File for the TREC run. Default: the screen."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Descriptions to use, joined by commas: gaussians, or levelled, which ignores loudness, and names "
            "of vectors beside the index. Ranks by the mean of their mutual proximities, weighted as in "
            "gaussians=3,clap=1. Default: gaussians and all vectors.",
            show_default=False,
        ),
    ] = None,
    judged: Annotated[
        Path | None,
        typer.Option(
            metavar="COLLECTION",
            help="Learn the weights of the descriptions from the judgments of a collection.",
            show_default=False,
        ),
    ] = None,
    divergence: Annotated[
        DivergenceName, typer.Option(help="kl: symmetrised Kullback-Leibler; js: Jensen-Shannon of Gaussians.")
    ] = DivergenceName.js,
    mutual_proximity: Annotated[
        bool, typer.Option(help="Rank by mutual proximity, which reduces hubs, or by the divergence itself.")
    ] = True,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Search shards in parallel on a Dask cluster, such as tcp://10.0.0.1:8786, whose machines find them "
            "under the same paths. Needs audiosim\\[scale].",
        ),
    ] = None,
    form: As = Format.table,
) -> None:
    """Find the recordings that sound most like each query, and write them as a TREC run: a baseline system.

    Silent recordings are left out. json and csv give the divergence, in nats, and the mutual proximity; table
    gives the run, or with --like the neighbours of each sound.

    Example: `audiosim neighbours my-demo/sounds.index --not-same-artist my-demo/documents.tsv -o nearest.trec`

    Like a sound of your own: `audiosim neighbours my-demo/sounds.index --like my-demo/sounds/d001.ogg`

    Ignoring loudness: `audiosim neighbours my-demo/sounds.index --by levelled`

    In shards: `audiosim neighbours shards/*.index -o nearest.trec`
    """
    from audiosim.sound.neighbours import neighbours as find_neighbours

    if like and (queries or not_same_artist):
        raise typer.BadParameter("--queries and --not-same-artist are about recordings of the index, not --like")
    kind: Divergence = "kl" if divergence is DivergenceName.kl else "js"
    found = find_neighbours(
        indexes, count, system, like, queries, not_same_artist, output, by=_weighted(by),
        judged=judged, divergence=kind, mutual_proximity=mutual_proximity, scheduler=scheduler,
    )  # fmt: skip
    _name_failed(found.failed)
    if output is None and form is Format.table and not like:
        sys.stdout.writelines(f"{line}\n" for line in found.lines())
    elif output is None:
        rows = found.rows()
        print_result(form, rows, rows, lambda: rows_view(rows))


def _weighted(by: str | None) -> dict[str, float] | None:
    """Descriptions with their weights, as written in `--by`; 1 if no weight is given."""
    if by is None:
        return None
    found = {}
    for name, _, weight in (part.partition("=") for part in by.split(",")):
        try:
            found[name.strip()] = float(weight or 1)
        except ValueError:
            raise typer.BadParameter(f"expected a number as the weight of {name.strip()}, got {weight}") from None
    return found


def _name_failed(failed: "Iterable[Failure]") -> None:
    for failure in failed:
        sys.stderr.write(f"audiosim: {printable(failure.path)}: {failure.error}\n")


class MapName(StrEnum):
    """Names that `audiosim map --by` accepts."""

    pca = "pca"
    umap = "umap"


def map_sounds(
    collection: Annotated[
        Path,
        typer.Argument(
            metavar="COLLECTION", help="Folder of a collection with sounds.index, or of an index.", show_default=False
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File of the page.")] = Path(
        "map.html"
    ),
    by: Annotated[
        MapName, typer.Option(help="pca: principal components; umap: neighbourhoods, which needs audiosim\\[maps].")
    ] = MapName.pca,
    descriptions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Description to draw by, such as levelled or tonal; repeatable. Default: all."
        ),
    ] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Also draw the queries' recordings: mel spectrograms, by librosa.")
    ] = False,
    form: As = Format.table,
) -> None:
    """Draw a map of the recordings as a page: recordings that sound alike lie together, and a click plays one.

    Rings are queries. For each query the page shows the results of each system, and those not judged yet. Clips stay
    where they are, so the page works on the machine that has them.

    Example: `audiosim map my-demo -o map.html`
    """
    from audiosim.report.sounds import sound_map

    found = sound_map(collection, output, by.value, descriptions, pictures)
    rows = found.rows()
    print_result(form, rows, rows, lambda: Text(f"{len(rows):,} recordings in {output}"))


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with sound files.", show_default=False)],
    collection: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="COLLECTION", help="Folder of the collection to make.", show_default=False
        ),
    ],
    queries: Annotated[int, typer.Option(help="Largest number of recordings to draw as queries.", min=1)] = 50,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", help="Worker processes. Default: one per core.", min=1)
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="Also describe each recording by a vector, as `audiosim extract --with` does; may be repeated.",
            show_default=False,
        ),
    ] = None,
    generated: Annotated[
        bool,
        typer.Option(
            "--generated",
            help="FOLDER has a folder per system and one called prompts, each with one recording per prompt, under "
            "the same names. A prompt may also be a text: prompts/NAME.txt, or a line of prompts.tsv.",
        ),
    ] = False,
    form: As = Format.table,
) -> None:
    """Turn a music folder into a collection: read its tags, index its sound, and draw a first sample of queries.

    Writes documents.tsv with artist, genre, album, title and length by the files' tags, queries.tsv, collection.toml,
    sounds.index, and a baseline run: the recordings that sound nearest to each query. Identifiers are safe in run files
    and URLs. Possible duplicates are listed; choose which to keep. FOLDER is not changed. Run the command again to
    resume it, or to add new files; your changes to documents.tsv, queries.tsv and collection.toml are kept.

    With --generated, systems are folders, and every recording gets an identifier that does not reveal its system.

    Example: `audiosim init my-demo/sounds -o campaign/`
    """
    if generated:
        _refuse_given(context, "--generated", "queries", "seed", "jobs", "embeddings")
        _init_generated(folder, collection, form)
        return
    from audiosim.report.sounds import init as init_collection

    made = init_collection(folder, collection, queries=queries, seed=seed, jobs=jobs, embeddings=embeddings or ())
    _name_failed(made.failed)
    result = made.to_dict()
    result["failed"] = [{"path": _encodable(failure.path), "error": failure.error} for failure in made.failed]
    print_result(form, result, made.rows(), lambda: music_folder_view(result))


def _refuse_given(context: typer.Context, with_option: str, *names: str) -> None:
    """Refuse options that another option makes useless."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name != "DEFAULT":
            raise InputError(f"{parameter.opts[-1]} means nothing with {with_option}, expected one of them")


def _init_generated(folder: Path, collection: Path, form: Format) -> None:
    from audiosim.service.collections.generated import collect_generated

    made = collect_generated(folder, collection)
    rows = [{"system": run.system, "recordings": len(run.rankings)} for run in made.runs]
    said = f"{len(rows)} systems, {len(made.query_documents)} prompts in {collection}"
    print_result(form, {"systems": rows, "prompts": len(made.query_documents)}, rows, lambda: Text(said))
