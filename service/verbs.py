"""Verbs that a running service carries out, asked through its client."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from audiosim.collection import joining
from audiosim.collection.kinds import kind_of, nameless
from audiosim.errors import ArgumentError
from audiosim.results.value import Result, Row
from audiosim.service.client import Client
from audiosim.service.transport import collection_address
from audiosim.service.types.collections import RunsOut
from audiosim.service.types.people import AdjudicationsOut
from audiosim.tables.text import whole_text
from audiosim.text import counted


@dataclass(frozen=True)
class Answer(Result):
    """The answer of a service.

    said  the answer, as the client has it
    part  its field with the rows
    line  the answer in one line
    """

    said: RunsOut | AdjudicationsOut
    part: str
    line: str

    def __repr__(self) -> str:
        return self.line

    def to_dict(self) -> dict[str, Any]:
        """The answer, as over HTTP."""
        found: dict[str, Any] = msgspec.to_builtins(self.said)
        return found

    def rows(self) -> list[Row]:
        """The rows of the answer."""
        rows: list[Row] = self.to_dict()[self.part]
        return rows


@dataclass(frozen=True)
class Imported(Result):
    """Judgments or comparisons in the log of a collection.

    collection  its name
    kind        judgments or comparisons
    lines       number of its rows; those that were there already are not written again
    state       state of the campaign, a number that grows
    """

    collection: str
    kind: str
    lines: int
    state: int

    def __repr__(self) -> str:
        return f"{self.collection} has the file's {counted(self.lines, self.kind.removesuffix('s'))}"

    def to_dict(self) -> dict[str, Any]:
        """The number under the name of the kind, and the state."""
        return {"collection": self.collection, self.kind: self.lines, "state": self.state}


def join(
    target: str,
    run: Path,
    system: str | None = None,
    team: str | None = None,
    replace: bool = False,
    partial: bool = False,
) -> "joining.Joined | Answer":
    """Add or replace a system's run in a collection, even while a campaign runs; judgments are kept.

    In a folder the run is added under `arrivals/`; a running service picks it up within a second. A service at an
    address may need an organiser's token: it is taken from AUDIOSIM_TOKEN and is sent only to the host in
    AUDIOSIM_TOKEN_HOST.

    Examples: `audiosim join demo new-system.trec --team NEW`

    `audiosim join http://127.0.0.1:8000/v1/collections/demo new-system.trec`

    target   folder of a collection, or its address at a service, such as http://127.0.0.1:8000/v1/collections/NAME
    run      a run file, in any format
    system   name of the system, if the file holds a single run
    team     team of the systems
    replace  replace a run even if the new one answers far fewer queries
    partial  accept runs that answer fewer than 90 % of the queries; otherwise they are an error
    """
    if "://" not in target:
        return joining.join(target, run, system, team, replace, partial)
    root, collection = collection_address(target)
    text = whole_text(run)
    with Client(root) as client:
        sent = client.add_runs(collection, text, system=system, team=team, replace=replace, partial=partial)
    return Answer(sent, "systems", f"joined {collection}")


def import_judgments(service: str, judgments: Path, progress: Callable[[int, int], object] | None = None) -> Imported:
    """Import a file of judgments or comparisons into a running service, whole or not at all.

    Assessors need not wait for it, and it resumes if the service restarts. An organiser's token is taken from
    AUDIOSIM_TOKEN and is sent only to the host named in AUDIOSIM_TOKEN_HOST.

    Example: `audiosim import http://127.0.0.1:8000/v1/collections/demo demo/judgments.csv`

    service    collection of a service, such as http://127.0.0.1:8000/v1/collections/demo
    judgments  qrels, CSV, JSON Lines or a comparisons.tsv, as in a collection's folder
    progress   called with the lines written, and those of the file
    """
    root, collection = collection_address(service)
    text = nameless(judgments.name, whole_text(judgments).encode())
    kind = "comparisons" if kind_of(text) == "comparisons" else "judgments"

    with Client(root) as client:
        send = client.import_comparisons if kind == "comparisons" else client.import_judgments
        done = send(collection, text, progress=lambda now: progress and progress(now.written, now.lines or 0))
    return Imported(collection, kind, done.lines or 0, done.state)


def adjudicate(
    service: str, query: str | None = None, document: str | None = None, assessor: str | None = None
) -> Answer:
    """Give a disputed pair to one more person, as "Ask..." on the organiser's page does; list such pairs.

    The pair comes first in that person's queue; their judgment is one more opinion. `audiosim disagreements`
    lists the pairs on which people differ most. The table lists all pairs given in this way, each with its status
    (waiting, judged, cannot, set aside) and the grade. An organiser's token is taken from AUDIOSIM_TOKEN and is sent
    only to the host named in AUDIOSIM_TOKEN_HOST.

    Examples: `audiosim adjudicate http://127.0.0.1:8000/v1/collections/demo`

    `audiosim adjudicate http://127.0.0.1:8000/v1/collections/demo q01 d027 carol`

    service   collection of a service, such as http://127.0.0.1:8000/v1/collections/demo
    query     query of the pair
    document  document of the pair
    assessor  person who will judge it, and has not judged it yet
    """
    root, collection = collection_address(service)
    with Client(root) as client:
        if query is not None:
            if document is None or assessor is None:
                raise ArgumentError("query", "expected QUERY DOCUMENT ASSESSOR, or none of them")
            client.organiser.ask_adjudication(collection, query, document, assessor)
        found = client.organiser.adjudications(collection)
    return Answer(found, "adjudications", f"{collection}: no pair has been given to anyone")
