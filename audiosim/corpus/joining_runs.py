"""Runs that are to join a collection: read as its own are, and held against its queries."""

from collections.abc import Mapping
from pathlib import Path

from audiosim.corpus.arrivals import Arrivals, keep_runs
from audiosim.corpus.collection import Collection
from audiosim.corpus.mirex import Exclusions
from audiosim.corpus.model import Run
from audiosim.corpus.runs import read_runs
from audiosim.errors import InputError


def joining_runs(path: str | Path, collection: Collection, system: str | None = None) -> tuple[Run, ...]:
    """The runs of a file in any form that a collection's folder may have.

    system  its name, where the file holds one run; None: as the file says

    An InputError where no run answers a query of the collection.
    """
    path = Path(path)
    artists = {name: artist for name in collection.documents if (artist := collection.artist(name))}
    runs = read_runs([path], Exclusions(collection.query_documents, artists))
    if system is not None:
        if len(runs) > 1:
            raise InputError(f"{path}: holds {len(runs)} runs, expected one that {system} is the name of")
        runs = (Run(system, runs[0].rankings),)
    known = {query for run in collection.runs for query in run.rankings}
    asked = [query for run in runs for query in run.rankings]
    if not known.intersection(asked):
        raise InputError(
            f"{path}: answers no query of {collection.identifier}, expected such as {min(known, default='-')}, "
            f"found {asked[0] if asked else 'none'}"
        )
    return runs


def join(
    folder: str | Path, path: str | Path, system: str | None = None, team: str | None = None
) -> tuple[Collection, tuple[Run, ...]]:
    """Add the runs of a file to a collection's folder, each in place of an earlier one of its system.

    team  of the systems

    The collection as it is now, and the runs. A service that serves the folder takes them in within a second.
    """
    collection = Collection.load(folder)
    runs = joining_runs(path, collection, system)
    teams: Mapping[str, str] = {run.system: team for run in runs} if team else {}
    joined = collection.with_arrivals(Arrivals(runs, {}, teams))
    keep_runs(folder, runs, teams)
    return joined, runs
