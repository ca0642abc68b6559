"""Commands on the database of a service: back up, verify, restore, migrate tables, import judgments."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audiosim.cli.options import As, Format, print_result
from audiosim.report.rank import rows_view
from audiosim.tables.text import whole_text

if TYPE_CHECKING:
    from audiosim.campaign.archive import Archived

Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="AUDIOSIM_DB",
        help="Database of the campaigns, such as sqlite:///campaign.db; a service may use it meanwhile.",
        show_default=False,
    ),
]


def backup(
    database: Database,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File to write; must not exist.", show_default=False)
    ],
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Person to leave unnamed in the file; may be repeated.", show_default=False),
    ] = None,
    form: As = Format.table,
) -> None:
    """Back up all campaign logs and kept models of a database, even while a service uses it; tokens are left out.

    --without replaces a person's name by a random one and removes the texts that they wrote. A note counts the lines
    by other people that still contain the name. To finish the removal, stop the services, restore the file into a new
    database, serve that one, and delete the old one with its backups.

    Example: `audiosim backup --db sqlite:///my-demo/campaign.db -o monday.jsonl`
    """
    from audiosim.campaign.archive import back_up, read_file, texts_naming

    _print(form, back_up(database, output, without or ()))
    logs = [log.events for log in read_file(output).logs] if without else []
    for name in without or ():
        count = texts_naming(logs, name)
        what = "no line" if not count else "1 line" if count == 1 else f"{count} lines"
        sys.stderr.write(f"note: {what} of {output} still {'contain' if count > 1 else 'contains'} {name!r}\n")


def verify_logs(
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help="A backup, or a database.", show_default=False)],
    form: As = Format.table,
) -> None:
    """Check every line of a backup or a database against its hash chain.

    Example: `audiosim verify monday.jsonl`, `audiosim verify sqlite:///my-demo/campaign.db`
    """
    from audiosim.campaign.archive import verify

    _print(form, verify(source))


def restore(
    backup: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.", exists=True, dir_okay=False)],
    database: Database,
    form: As = Format.table,
) -> None:
    """Restore the logs and kept models of a backup into a database that lacks these campaigns, and verify them.

    Example: `audiosim restore monday.jsonl --db sqlite:///restored.db`
    """
    from audiosim.campaign.archive import restore as restore_logs

    _print(form, restore_logs(backup, database))


def migrate(
    database: Database,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with code 1 if an upgrade is due.")
    ] = False,
    form: As = Format.table,
) -> None:
    """Upgrade the tables of a database, as `serve` does when it starts.

    The upgrade is one transaction. An SQLite file is first copied, beside it; back up PostgreSQL yourself. Stop the
    services that use the database: judgments from older versions are refused after the upgrade.

    Example: `audiosim migrate --db sqlite:///my-demo/campaign.db`
    """
    from audiosim.campaign.schema import LATEST, layout_of_database
    from audiosim.campaign.schema import migrate as migrate_tables

    if check:
        layout = layout_of_database(database)
        print_result(form, row := {"layout": layout, "latest": LATEST}, [row], lambda: rows_view([row]))
        if layout != LATEST:
            raise typer.Exit(1)
        return
    row = migrate_tables(database).to_dict()
    print_result(form, row, [row], lambda: rows_view([row]))


def import_judgments(
    service: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="Collection of a service, such as http://127.0.0.1:8000/v1/collections/demo.",
            show_default=False,
        ),
    ],
    judgments: Annotated[
        Path,
        typer.Argument(
            metavar="JUDGMENTS",
            help="Qrels, CSV, JSON Lines or a comparisons.tsv, as in a collection's folder.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ],
    form: As = Format.table,
) -> None:
    """Import a file of judgments or comparisons into a running service, whole or not at all.

    Assessors need not wait for it, and it resumes if the service restarts. An organiser's token is taken from
    AUDIOSIM_TOKEN and is sent only to the host named in AUDIOSIM_TOKEN_HOST.

    Example: `audiosim import http://127.0.0.1:8000/v1/collections/my-demo my-demo/judgments.csv`
    """
    from audiosim.collection.kinds import kind_of, nameless
    from audiosim.results.progress import progress
    from audiosim.service.client import Client
    from audiosim.service.transport import collection_address

    root, collection = collection_address(service)
    text = nameless(judgments.name, whole_text(judgments).encode())
    kind = "comparisons" if kind_of(text) == "comparisons" else "judgments"
    with Client(root) as client, progress(kind) as show:
        send = client.import_comparisons if kind == "comparisons" else client.import_judgments
        done = send(collection, text, progress=lambda now: show(now.written, now.lines or 0))
    found = {"collection": collection, kind: done.lines or 0, "state": done.state}
    print_result(form, found, [found], lambda: f"in the log of {collection}: {found[kind]:,}")


def _print(form: Format, found: "list[Archived]") -> None:
    rows = [one.to_dict() for one in found]
    print_result(form, {"campaigns": rows}, rows, lambda: rows_view(rows) if rows else "there are no campaigns")
