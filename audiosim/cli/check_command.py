"""The command that checks a collection."""

import typer

from audiosim.cli import options
from audiosim.evaluation.check import check as check_collection
from audiosim.report.rank import check_view


def check(
    folder: options.CollectionFolder,
    judgments: options.JudgmentsFile = None,
    scale: options.ScaleName = None,
    same_artist: options.FromOwnArtist = None,
    system_from: options.NamedBy = None,
    form: options.As = options.Format.table,
) -> None:
    """Show how a collection was read, and what looks like a mistake.

    Per system: queries answered, median number of results, share of the results that no other system has, share judged.
    Results and documents count down to the cutoff. The exit code is 1 if something looks wrong, so that a script can
    stop.

    Examples: `audiosim check my-demo`

    `audiosim check my-demo --judgments my-demo/truth.qrels --format json`
    """
    collection = options.CollectionOptions(judgments, system_from, same_artist, scale, partial=True).read(folder)
    found = check_collection(collection, folder=folder)
    options.print_result(form, found.to_dict(), found.rows(), lambda: check_view(found))
    if found.problems:
        raise typer.Exit(1)
