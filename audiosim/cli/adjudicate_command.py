"""Command that gives a disputed pair to one more person and lists the decisions."""

from typing import Annotated

import msgspec
import typer

from audiosim.cli.options import As, Format, print_result
from audiosim.report.rank import rows_view


def adjudicate(
    service: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="Collection of a service, such as http://127.0.0.1:8000/v1/collections/demo.",
            show_default=False,
        ),
    ],
    query: Annotated[str | None, typer.Argument(help="Query of the pair.", show_default=False)] = None,
    document: Annotated[str | None, typer.Argument(help="Document of the pair.", show_default=False)] = None,
    assessor: Annotated[
        str | None, typer.Argument(help="Person who will judge it, and has not judged it yet.", show_default=False)
    ] = None,
    form: As = Format.table,
) -> None:
    """Give a disputed pair to one more person, as "Ask..." on the organiser's page does; list such pairs.

    The pair comes first in that person's queue; their judgment is one more opinion. `audiosim judges --disagreements`
    lists the pairs on which people differ most. The table lists all pairs given in this way, each with its status
    (waiting, judged, cannot, set aside) and the grade. An organiser's token is taken from AUDIOSIM_TOKEN and is sent
    only to the host named in AUDIOSIM_TOKEN_HOST.

    Examples: `audiosim adjudicate http://127.0.0.1:8000/v1/collections/my-demo`

    `audiosim adjudicate http://127.0.0.1:8000/v1/collections/my-demo q01 d027 carol`
    """
    from audiosim.service.client import Client
    from audiosim.service.transport import collection_address

    root, collection = collection_address(service)
    if query is not None and (document is None or assessor is None):
        raise typer.BadParameter("expected QUERY DOCUMENT ASSESSOR, or none of them", param_hint="QUERY")
    with Client(root) as client:
        if query is not None and document is not None and assessor is not None:
            client.organiser.ask_adjudication(collection, query, document, assessor)
        found = client.organiser.adjudications(collection)
    rows = [msgspec.to_builtins(one) for one in found.adjudications]
    nothing = f"{collection}: no pair has been given to anyone"
    print_result(form, msgspec.to_builtins(found), rows, lambda: rows_view(rows) if rows else nothing)
