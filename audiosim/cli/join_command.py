"""Command that adds runs to a collection, even while it is served."""

from functools import partial as partial_of
from pathlib import Path
from typing import Annotated, Any

import typer

from audiosim.cli.options import As, Format, Partial, print_result
from audiosim.report.rank import rows_view
from audiosim.tables.text import whole_text


def join(
    target: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION|URL",
            help="Folder of a collection, or its address at a service, such as "
            "http://127.0.0.1:8000/v1/collections/NAME.",
            show_default=False,
        ),
    ],
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A run file, in any format.", exists=True, dir_okay=False, show_default=False
        ),
    ],
    system: Annotated[str | None, typer.Option(help="Name of the system, if the file holds a single run.")] = None,
    team: Annotated[str | None, typer.Option(help="Team of the systems.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a run even if the new one answers far fewer queries.")
    ] = False,
    partial: Partial = False,
    form: As = Format.table,
) -> None:
    """Add or replace a system's run in a collection, even while a campaign runs; judgments are kept.

    In a folder the run is added under `arrivals/`; a running service picks it up within a second. A service at an
    address may need an organiser's token: it is taken from AUDIOSIM_TOKEN and is sent only to the host in
    AUDIOSIM_TOKEN_HOST.

    Examples: `audiosim join my-demo new-system.trec --team NEW`

    `audiosim join http://127.0.0.1:8000/v1/collections/my-demo new-system.trec`
    """
    add = partial_of(_sent, target) if "://" in target else partial_of(_added, Path(target))
    found = add(run, system, team, replace, partial)
    print_result(form, found, found["systems"], lambda: rows_view(found["systems"]))


def _added(
    folder: Path, path: Path, system: str | None, team: str | None, replace: bool, partial: bool
) -> dict[str, Any]:
    from audiosim.collection.joining import join as join_folder

    return join_folder(folder, path, system, team, replace, partial).to_dict()


def _sent(url: str, path: Path, system: str | None, team: str | None, replace: bool, partial: bool) -> dict[str, Any]:
    import msgspec

    from audiosim.service.client import Client
    from audiosim.service.transport import collection_address

    root, collection = collection_address(url)
    text = whole_text(path)
    with Client(root) as client:
        sent = client.add_runs(collection, text, system=system, team=team, replace=replace, partial=partial)
    found: dict[str, Any] = msgspec.to_builtins(sent)
    return found
