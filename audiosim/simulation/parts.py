"""Random parts of a collection for simulated campaigns, and the remainder, from which a model may learn."""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Run, queries_of
from audiosim.errors import InputError

HeldOutKind = Literal["queries", "teams"]


@dataclass(frozen=True, slots=True)
class Part:
    """Some queries and teams of a collection.

    queries   names of the queries
    teams     names of the teams
    held_out  data that a model used here must not have learned from: these queries, or these teams as well
    """

    queries: frozenset[str]
    teams: frozenset[str]
    held_out: HeldOutKind

    def of(self, collection: Collection) -> Collection:
        """Part for a simulated campaign."""
        return part_of(collection, self.queries, self.teams)

    def rest(self, collection: Collection) -> Collection:
        """Data that a model may learn from: the other queries, with all systems or only with those of other teams."""
        queries, teams = frozenset(queries_of(collection.runs)), frozenset(teams_of(collection))
        if not queries - self.queries:
            raise InputError(f"a part of all {len(queries)} queries leaves none to learn from; draw fewer queries")
        if self.held_out == "queries":
            return part_of(collection, queries - self.queries, teams)
        if not teams - self.teams:
            raise InputError(f"a part of all {len(teams)} teams leaves none to learn from; draw fewer teams")
        return part_of(collection, queries - self.queries, teams - self.teams)


def draw_parts(
    collection: Collection,
    times: int,
    rng: np.random.Generator,
    queries: int | None = None,
    teams: int | None = None,
    held_out: HeldOutKind = "teams",
) -> tuple[Part, ...]:
    """Random parts, with queries and teams drawn without replacement.

    times    number of parts
    queries  number in each part; None: half of them, rounded up
    teams    number in each part; None: all teams if queries are held out; three quarters, rounded up, if teams are held
             out

    Parts depend only on these arguments, so that all methods and models are compared on equal parts. Their queries are
    the same for any number of teams.
    """
    every, named = list(queries_of(collection.runs)), teams_of(collection)
    queries = -(-len(every) // 2) if queries is None else queries
    usual = len(named) if held_out == "queries" else -(-3 * len(named) // 4)
    teams = usual if teams is None else teams
    _check_sizes(times, queries, len(every), teams, len(named))
    _check_pairs(collection, teams)
    drawn = [(rng.permutation(len(every))[:queries], rng.permutation(len(named))[:teams]) for _ in range(times)]
    return tuple(
        Part(frozenset(every[i] for i in some), frozenset(named[i] for i in few), held_out) for some, few in drawn
    )


def teams_of(collection: Collection) -> list[str]:
    """The teams behind the runs, each once."""
    return list(dict.fromkeys(collection.team(run.system) for run in collection.runs))


def _check_sizes(times: int, queries: int, every: int, teams: int, named: int) -> None:
    if times < 1:
        raise InputError(f"the number of repeats must be at least 1, got {times}")
    if not 1 <= queries <= every:
        raise InputError(f"a part must have 1 to {every} queries, got {queries}")
    if not 1 <= teams <= named:
        raise InputError(f"a part must have 1 to {named} teams, got {teams}")


def _check_pairs(collection: Collection, teams: int) -> None:
    """Check that every part has two systems to compare, even if the smallest teams are drawn."""
    sizes = sorted(Counter(collection.team(run.system) for run in collection.runs).values())
    if sum(sizes[:teams]) < 2:
        raise InputError(f"a part needs two systems to compare, but one with {teams} teams may have a single system")


def part_of(collection: Collection, queries: Set[str], teams: Set[str]) -> Collection:
    """The collection with only some of its queries and teams, as an edition of it.

    Judgments of documents that none of these teams retrieved are left out too.
    """
    runs = tuple(
        Run(run.system, {query: documents for query, documents in run.rankings.items() if query in queries})
        for run in collection.runs
        if collection.team(run.system) in teams
    )
    found = {(query, document) for run in runs for query, top in run.rankings.items() for document in top}
    judgments = tuple(judgment for judgment in collection.judgments if judgment.pair in found)
    series = collection.edition_of or f"parts of {collection.identifier}"
    return replace(collection, runs=runs, judgments=judgments, edition_of=series)
