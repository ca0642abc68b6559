"""Rankings as codes: compact storage for millions of results, and all runs of a collection side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audiosim.arrays import Booleans, Integers
from audiosim.properties import cached_property

Codes = NDArray[np.int32]
# Pairs are marked in a table of all queries x documents, if it takes at most this many bytes per result, and 256 MB.
BYTES_A_RESULT, LARGEST_TABLE = 16, 2**28


@dataclass(frozen=True, eq=False)
class CodedRankings(Mapping[str, tuple[str, ...]]):
    """The rankings of one system; reads as a mapping from each query to its documents, best first.

    queries    q names, in order of first appearance
    starts     (q + 1,) start of each query's ranking, and the end of the last
    documents  codes of the documents, ranking after ranking
    names      names of the documents, in the order of their codes; runs of a collection share one table

    A name takes four bytes here and becomes text only on request.
    """

    queries: tuple[str, ...]
    starts: Integers
    documents: Codes
    names: tuple[str, ...]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {query: place for place, query in enumerate(self.queries)}

    def __getitem__(self, query: str) -> tuple[str, ...]:
        place = self._place[query]
        codes = self.documents[self.starts[place] : self.starts[place + 1]]
        return tuple(map(self.names.__getitem__, codes.tolist()))

    def __contains__(self, query: object) -> bool:
        return query in self._place  # Mapping's own method would look up the names of a whole ranking

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def lengths(self) -> Integers:
        """(q,) number of documents of each query."""
        return np.diff(self.starts)

    @cached_property
    def repeated(self) -> str | None:
        """The first query with a document twice in its ranking; None if there is none."""
        query = np.repeat(np.arange(len(self.queries)), self.lengths)
        keys = query * len(self.names) + self.documents
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]]
        return self.queries[int(twice[0]) // len(self.names)] if len(twice) else None


def coded(rankings: Mapping[str, tuple[str, ...]]) -> CodedRankings:
    """Rankings as codes; unchanged if they already are."""
    if isinstance(rankings, CodedRankings):
        return rankings
    codes: dict[str, int] = {}
    found = [codes.setdefault(one, len(codes)) for documents in rankings.values() for one in documents]
    starts = np.concatenate([[0], np.cumsum([len(documents) for documents in rankings.values()], dtype=np.int64)])
    return CodedRankings(tuple(rankings), starts, np.array(found, dtype=np.int32), tuple(codes))


def on_one_table(rankings: Sequence[CodedRankings]) -> list[CodedRankings]:
    """The same rankings with one table of names."""
    tables = {id(one.names): one.names for one in rankings}
    if len(tables) < 2:
        return list(rankings)
    codes: dict[str, int] = {}
    moved = {
        key: np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int32)
        for key, names in tables.items()
    }
    names = tuple(codes)
    return [CodedRankings(one.queries, one.starts, moved[id(one.names)][one.documents], names) for one in rankings]


def lengths_of(rankings: Mapping[str, tuple[str, ...]]) -> Integers:
    """(q,) number of documents of each query."""
    if isinstance(rankings, CodedRankings):
        return rankings.lengths
    return np.array([len(documents) for documents in rankings.values()], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Results:
    """The results of all systems down to a cutoff, one after the other, in the order of systems, queries and ranks.

    queries   names, in order of first appearance in the runs
    names     names of the documents, by their codes
    starts    (s + 1,) start of each system's results, and the end of the last
    query     (r,) code of the query
    document  (r,) code of the document
    rank      (r,) rank, from 1
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    starts: Integers
    query: Codes
    document: Codes
    rank: Codes

    @classmethod
    def of(cls, rankings: Sequence[Mapping[str, tuple[str, ...]]], cutoff: int | None = None) -> "Results":
        """The results in several systems' rankings; all of them where no cutoff is given."""
        runs = on_one_table([coded(one) for one in rankings])
        codes: dict[str, int] = {}
        parts: list[tuple[Codes, Codes, Codes]] = []
        for run in runs:
            own = np.array([codes.setdefault(query, len(codes)) for query in run.queries], dtype=np.int32)
            lengths = run.lengths if cutoff is None else np.minimum(run.lengths, cutoff)
            ends = np.cumsum(lengths)
            place = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
            kept = place + np.repeat(run.starts[:-1], lengths)  # only the top, which is a small part of a deep ranking
            parts.append((np.repeat(own, lengths), run.documents[kept], (place + 1).astype(np.int32)))
        query, document, rank = (
            np.concatenate([np.empty(0, dtype=np.int32), *(part[column] for part in parts)], dtype=np.int32)
            for column in range(3)
        )
        starts = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
        return cls(tuple(codes), runs[0].names if runs else (), starts, query, document, rank)

    @property
    def keys(self) -> Integers:
        """(r,) number of each (query, document), equal for equal pairs."""
        return self.query.astype(np.int64) * len(self.names) + self.document

    @property
    def system(self) -> Integers:
        """(r,) the place of the system."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def finders(self) -> Integers:
        """(r,) number of systems with the same result."""
        if fits_table(len(self.queries) * len(self.names), len(self.document)):
            return np.bincount(self.keys)[self.keys]
        _, code, count = np.unique(self.keys, return_inverse=True, return_counts=True)
        return np.asarray(count[code])

    def documents_of(self, place: int) -> Integers:
        """Codes of the documents of one system, rising."""
        return _distinct(self.document[self.starts[place] : self.starts[place + 1]], len(self.names))

    @property
    def documents(self) -> list[str]:
        """Names of the documents of all systems."""
        return _names_in(self.document, self.names)


def contained(keys: Integers, known: Integers, places: int) -> Booleans:
    """(r,) True for each key that is among the known ones.

    places  number of possible keys, from 0
    """
    if not fits_table(places, len(keys) + len(known)):
        return np.isin(keys, known)
    table = np.zeros(places, dtype=np.bool_)
    table[known] = True
    return table[keys]


def _names_in(codes: Codes | Integers, names: Sequence[str]) -> list[str]:
    """The names that occur, each once, in the order of their table."""
    return [names[code] for code in _distinct(codes, len(names)).tolist()]


def _distinct(codes: Codes | Integers, size: int) -> Integers:
    """The codes that occur, rising, from a table with a given number of names."""
    found = np.zeros(size, dtype=np.bool_)
    found[codes] = True
    return np.flatnonzero(found)


def fits_table(places: int, results: int) -> bool:
    """True if a table with this many places is small compared with this many results."""
    return places <= min(LARGEST_TABLE, BYTES_A_RESULT * max(results, 1))


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The pairs that any of several systems retrieved, each once.

    queries  names, in order of first appearance in the runs
    names    names of the documents, by their codes
    keys     (p,) query x len(names) + document of each pair, rising
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    keys: Integers

    @classmethod
    def of(cls, rankings: Sequence[Mapping[str, tuple[str, ...]]], largest: int = LARGEST_TABLE) -> "Retrieved":
        """The pairs in several systems' rankings; `largest` bounds the bytes of a table of queries x documents."""
        runs = on_one_table([coded(one) for one in rankings])
        codes: dict[str, int] = {}
        own = [np.array([codes.setdefault(query, len(codes)) for query in run.queries], dtype=np.int64) for run in runs]
        names = runs[0].names if runs else ()
        # One system after the other: all results together would take twelve bytes each.
        keys = (np.repeat(one * len(names), run.lengths) + run.documents for one, run in zip(own, runs, strict=True))
        places, results = len(codes) * len(names), sum(len(run.documents) for run in runs)
        if places <= largest and fits_table(places, results):
            found = np.zeros(places, dtype=np.bool_)
            for some in keys:
                found[some] = True
            return cls(tuple(codes), names, np.flatnonzero(found))
        return cls(tuple(codes), names, np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys])))

    @property
    def query(self) -> Integers:
        """(p,) code of the query of each pair."""
        return self.keys // max(len(self.names), 1)

    @property
    def document(self) -> Integers:
        """(p,) code of the document of each pair."""
        return self.keys % max(len(self.names), 1)

    @cached_property
    def documents(self) -> frozenset[str]:
        """Names of the documents."""
        return frozenset(_names_in(self.document, self.names))

    def by_query(self) -> dict[str, set[str]]:
        """Names of the documents of each query."""
        found: dict[str, set[str]] = {query: set() for query in self.queries}
        for query, document in zip(self.query.tolist(), self.document.tolist(), strict=True):
            found[self.queries[query]].add(self.names[document])
        return found
