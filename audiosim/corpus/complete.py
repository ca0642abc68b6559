"""The completely judged part of a collection: systems and queries with rankings judged down to a cutoff."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from audiosim.arrays import Booleans
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Run, queries_of
from audiosim.errors import InputError


class CompletePart(NamedTuple):
    """A collection of complete systems and queries, and a sentence on the number of omitted ones."""

    collection: Collection
    sentence: str


def complete_part(collection: Collection, cutoff: int) -> CompletePart:
    """Part of a collection in which every retrieved document down to a cutoff is judged.

    Leaves out, one at a time, the system or query with the largest share of incompletely judged rankings, until none is
    incomplete. If shares are equal, a query goes before a system, and the later of two queries or systems goes first.
    A system that retrieves nothing for a query is complete there.
    """
    queries = list(queries_of(collection.runs))
    holes = _holes(collection, queries, cutoff)
    systems, kept = _without_holes(holes)
    if not systems.any() or not kept.any():
        raise InputError(f"{collection.identifier}: no system is judged down to rank {cutoff} for any query")
    wanted = {query for query, keep in zip(queries, kept, strict=True) if keep}
    runs = tuple(
        Run(run.system, {query: documents for query, documents in run.rankings.items() if query in wanted})
        for run, keep in zip(collection.runs, systems, strict=True)
        if keep
    )
    judgments = tuple(judgment for judgment in collection.judgments if judgment.query in wanted)
    part = replace(collection, runs=runs, judgments=judgments)
    return CompletePart(part, _sentence(collection, systems, kept, cutoff))


def _holes(collection: Collection, queries: list[str], cutoff: int) -> Booleans:
    """(systems, queries) True where a document down to the cutoff is unjudged."""
    judged = {judgment.pair for judgment in collection.judgments}
    return np.array(
        [
            [any((query, one) not in judged for one in run.rankings.get(query, ())[:cutoff]) for query in queries]
            for run in collection.runs
        ],
        dtype=bool,
    ).reshape(len(collection.runs), len(queries))


def _without_holes(holes: Booleans) -> tuple[Booleans, Booleans]:
    """Rows and columns that remain after removing those with most unjudged documents, one at a time."""
    rows, columns = np.ones(holes.shape[0], dtype=bool), np.ones(holes.shape[1], dtype=bool)
    while np.any(left := holes & rows[:, None] & columns):
        by_row = left.sum(axis=1) / columns.sum()
        by_column = left.sum(axis=0) / rows.sum()
        if by_column.max() >= by_row.max():
            columns[np.flatnonzero(by_column == by_column.max())[-1]] = False
        else:
            rows[np.flatnonzero(by_row == by_row.max())[-1]] = False
    return rows, columns


def _sentence(collection: Collection, systems: Booleans, queries: Booleans, cutoff: int) -> str:
    counts = f"{systems.sum()} of {len(systems)} systems and {queries.sum()} of {len(queries)} queries"
    left_out = [run.system for run, keep in zip(collection.runs, systems, strict=True) if not keep]
    return f"complete down to rank {cutoff}: {counts}" + (f"; without {', '.join(left_out)}" if left_out else "")
