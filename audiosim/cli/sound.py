"""Commands that hear: describe recordings, find the nearest."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from audiosim.cli.options import As, Format, print_result
from audiosim.errors import InputError
from audiosim.report.screen import progress
from audiosim.report.views import extraction_view, rows_view


def extract(
    sounds: Annotated[
        list[Path],
        typer.Argument(metavar="SOUND...", help="Sound files, folders, or a documents.tsv.", show_default=False),
    ],
    index: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="INDEX",
            help="Folder of the index; one that is there is continued.",
            show_default=False,
        ),
    ],
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", help="Worker processes; one per core if not given.", min=1)
    ] = None,
    form: As = Format.table,
) -> None:
    """Describe recordings by the Gaussian of their MFCC frames, and save that as an index.

    Files that are already in the index are passed over; bad files are listed and the rest is done.

    Example: `audiosim extract music/ -o sounds.index`
    """
    from audiosim.audio.index import extract as extract_sounds

    start = time.monotonic()
    with progress("extracting") as show:
        found = extract_sounds(
            sounds, jobs or -1, into=index, progress=lambda done, failed, total: show(done + failed, total)
        )
    for failure in found.failed:
        sys.stderr.write(f"audiosim: {failure.path}: {failure.error}\n")
    failed = [failure._asdict() for failure in found.failed]
    result = {"done": len(found.ids), "failed": failed, "seconds": round(time.monotonic() - start, 3)}
    print_result(form, result, failed, lambda: extraction_view(result, index))
    if not found.ids:
        raise InputError("no file could be described")


def neighbours(
    index: Annotated[
        Path, typer.Argument(metavar="INDEX", help="Folder that `audiosim extract` wrote.", show_default=False)
    ],
    count: Annotated[int, typer.Option("-k", help="How many neighbours of each query.", min=1)] = 5,
    system: Annotated[str, typer.Option(help="Name of the system in the run.")] = "nearest",
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="queries.tsv; not given: every recording is a query.")
    ] = None,
    not_same_artist: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="documents.tsv: leave out recordings by the query's artist."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write the TREC run; not given: to the screen."),
    ] = None,
    form: As = Format.table,
) -> None:
    """The nearest recordings of each query by sound, as a TREC run: a baseline system.

    Nearest by the symmetrised Kullback-Leibler divergence; json and csv give it in nats, table the run.

    Example: `audiosim neighbours sounds.index -k 5 --system KL --not-same-artist documents.tsv -o runs/KL.trec`
    """
    from audiosim.audio.index import AudioIndex, nearest_run
    from audiosim.corpus.formats import read_documents, read_queries, run_lines, write_run

    recordings = AudioIndex.load(index)
    artists = (
        {name: document.artist for name, document in read_documents(not_same_artist).items()}
        if not_same_artist
        else None
    )
    asked = read_queries(queries) if queries else dict(zip(recordings.ids, recordings.ids, strict=True))
    if output is not None:
        write_run(output, [nearest_run(recordings, system, asked, count, artists)])
    elif form is Format.table:
        sys.stdout.writelines(
            f"{line}\n" for line in run_lines([nearest_run(recordings, system, asked, count, artists)])
        )
    else:
        near = recordings.neighbours(dict.fromkeys(asked.values()), count, artists)
        rows = [
            {"query": query, "document": other.identifier, "rank": rank, "divergence": other.divergence}
            for query, document in asked.items()
            for rank, other in enumerate(near[document], start=1)
        ]
        print_result(form, rows, rows, lambda: rows_view(rows))
