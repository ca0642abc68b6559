"""Runs that join a collection: read like its own runs, and checked against its queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from audiosim.collection.arrivals import Arrivals, check_distinct, kept
from audiosim.collection.collection import Collection
from audiosim.collection.facts import check_whole
from audiosim.collection.kinds import known_artists, read_runs
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Exclusions, Run, common_queries, documents_in, queries_of, without_same_artist
from audiosim.errors import InputError
from audiosim.results.value import Result, shortened_to

LONGEST = 200  # length of the short form, in characters
KEPT = 0.9  # share of a run's queries that a replacement must answer


@dataclass(frozen=True, eq=False)
class Joined(Result):
    """Runs that joined a collection.

    collection  collection with the new runs
    runs        runs that joined
    team        team of their systems
    new, gone   numbers of pairs that entered the pool, and of pairs that left it with a replaced run
    """

    _columns: ClassVar = ("system", "team", "queries")

    collection: Collection
    runs: tuple[Run, ...]
    team: str | None
    new: int
    gone: int

    def __repr__(self) -> str:
        systems = ", ".join(run.system for run in self.runs)
        return shortened_to(f"joined {self.collection.identifier}: {systems}; {self.new} new pairs to judge", LONGEST)

    def rows(self) -> list[dict[str, Any]]:
        """One row per run: system, team, number of queries it answers."""
        return [{"system": run.system, "team": self.team, "queries": len(run.rankings)} for run in self.runs]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        counts = {"new": self.new, "gone": self.gone}
        return {"collection": self.collection.identifier, "systems": self.rows(), **counts}


def joining_runs(
    path: str | Path, collection: Collection, system: str | None = None, replace: bool = False, partial: bool = False
) -> tuple[Run, ...]:
    """The runs of a file, in any form that a collection's folder may have.

    system      name of the system, for a file with one run; None: the name in the file
    replace     allows a run to replace one that answers many more queries
    partial     allows runs that answer less than 90 % of the queries that at least half of the systems answer

    Raises an InputError if no run answers a query of the collection, a run answers too few, a name is unprintable or
    differs from a known one only in case or spaces, or most of an earlier run would be lost.
    """
    path = Path(path)
    artists = known_artists(collection.documents, collection.not_artists)
    exclusions = Exclusions(collection.query_documents, artists)
    runs, _ = without_same_artist(
        read_runs([path], exclusions, collection.system_from), exclusions, collection.same_artist
    )
    if system is not None:
        if len(runs) > 1:
            raise InputError(f"{path}: holds {len(runs)} runs, expected a single one for the name {system}")
        runs = (Run(system, runs[0].rankings),)
    known, asked = queries_of(collection.runs), list(queries_of(runs))
    if not known.keys() & asked:
        raise InputError(
            f"{path}: answers no query of {collection.identifier}, expected such as {min(known, default='-')}, "
            f"found {asked[0] if asked else 'none'}"
        )
    _check_names(runs, collection)
    if not replace:
        _check_kept(runs, collection)
    if not (partial or replace):
        check_whole(runs, str(path), common_queries(collection.runs))
    return runs


def _check_names(runs: Sequence[Run], collection: Collection) -> None:
    there = collection.runs
    check_distinct("system", (run.system for run in runs), [run.system for run in there])
    check_distinct("query", queries_of(runs), queries_of(there))
    check_distinct("document", documents_in(runs), documents_in(there) | collection.documents.keys())
    for name in (*(run.system for run in runs), *queries_of(runs), *documents_in(runs)):
        if not name.isprintable():
            raise InputError(f"the run has the name {name!r:.80}, expected printable characters")


def _check_kept(runs: Sequence[Run], collection: Collection) -> None:
    there = {run.system: run.rankings for run in collection.runs}
    for run in runs:
        before = there.get(run.system, {})
        kept = len(before.keys() & run.rankings.keys())
        if kept < KEPT * len(before):
            raise InputError(
                f"the run of {run.system} answers {kept} of the {len(before)} queries that its earlier run answers; "
                "`replace=True` replaces that run anyway"
            )


def join(
    folder: str | Path,
    path: str | Path,
    system: str | None = None,
    team: str | None = None,
    replace: bool = False,
    partial: bool = False,
) -> Joined:
    """Add the runs of a file to a collection's folder; each replaces an earlier run of its system.

    system   as for `joining_runs`
    team     team of the systems
    replace  as for `joining_runs`
    partial  as for `joining_runs`

    Judgments are kept. A service that serves the folder picks up the runs within a second; send them to a service
    elsewhere with `audiosim.Client(url).add_runs`.
    """
    collection = Collection.load(folder, partial=True)  # only the new runs are checked for completeness
    runs = joining_runs(path, collection, system, replace, partial)
    teams: Mapping[str, str] = {run.system: team for run in runs} if team else {}
    came = Arrivals(runs, {}, teams)
    joined = collection.with_arrivals(came)
    with kept(folder, came):
        before, now = (build_pool(one).positions.keys() for one in (collection, joined))
    return Joined(joined, runs, team, len(now - before), len(before - now))
