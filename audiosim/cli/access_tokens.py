"""Create, list and revoke the tokens that control access to a service."""

from typing import Annotated

import typer

from audiosim.cli.options import As, Format, print_result
from audiosim.cli.service_settings import in_memory
from audiosim.errors import InputError
from audiosim.report.rank import rows_view

app = typer.Typer(
    add_completion=False,
    help="Create, list and revoke the tokens that control access to a service.\n\n"
    "Example: `audiosim token create --role assessor --name ann --db sqlite:///my-demo/campaign.db`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="AUDIOSIM_DB",
        help="Database of the service, such as sqlite:///campaign.db; or its --tokens, if it has no --db.",
        show_default=False,
    ),
]


@app.command()
def create(
    database: Database,
    role: Annotated[
        str,
        typer.Option(
            help="assessor: judges, and sees no ranking; client: predictions and rankings; organiser: everything.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str, typer.Option(help="Owner of the token; judgments of an assessor carry this name.", show_default=False)
    ],
    collection: Annotated[str, typer.Option(help="Limit access to this collection. Default: all.")] = "",
    expires: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Days until it expires. Default: never.")
    ] = None,
    form: As = Format.table,
) -> None:
    """Create a token and print it; it is shown only now, as only its hash is stored.

    Example: `audiosim token create --role assessor --name ann --db sqlite:///my-demo/campaign.db --expires 30`
    """
    from audiosim.service.access.tokens import TokenStore

    if in_memory(database):
        raise InputError(
            f"--db {database} is in memory, so the token would be lost at once: expected a file, or PostgreSQL"
        )
    secret = TokenStore(database).create(name, role, collection, expires)
    row = {"name": name, "role": role, "collection": collection or None, "token": secret}
    print_result(form, row, [row], lambda: secret)


@app.command("list")
def list_tokens(database: Database, form: As = Format.table) -> None:
    """List the owners of all tokens and when each expires; the tokens themselves are not stored.

    Example: `audiosim token list --db sqlite:///my-demo/campaign.db`
    """
    from audiosim.service.access.tokens import TokenStore

    rows = [
        {
            "name": token.name,
            "role": token.role,
            "collection": token.collection or None,
            "created": token.created,
            "expires": token.expires or None,
        }
        for token in TokenStore(database, reading=True).tokens()
    ]
    shown = [row | {"collection": row["collection"] or "all", "expires": row["expires"] or "never"} for row in rows]
    print_result(form, rows, rows, lambda: rows_view(shown) if rows else "there are no tokens")


@app.command()
def revoke(
    database: Database,
    name: Annotated[str, typer.Argument(help="Name of its owner.", show_default=False)],
    form: As = Format.table,
) -> None:
    """Revoke a token; a running service notices within seconds.

    Example: `audiosim token revoke ann --db sqlite:///my-demo/campaign.db`
    """
    from audiosim.service.access.tokens import TokenStore

    TokenStore(database, existing=True).revoke(name)
    row = {"name": name, "revoked": True}
    print_result(form, row, [row], lambda: f"the token of {name} is revoked")
