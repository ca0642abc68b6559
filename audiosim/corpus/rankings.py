"""Rankings as codes: compact storage for millions of results, and all runs of a collection side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audiosim.arrays import Booleans, Integers
from audiosim.properties import cached_property

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CodedRankings(Mapping[str, tuple[str, ...]]):
    """The rankings of one system; reads as a mapping from each query to its documents, best first.

    queries    q names, in order of first appearance
    starts     (q + 1,) start of each query's ranking, and the end of the last
    documents  codes of the documents, ranking after ranking
    names      of the documents, in the order of their codes; runs of a collection share one table

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
        """The first query whose ranking names a document twice, None if there is none."""
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
    names     of the documents, by their codes
    starts    (s + 1,) start of each system's results, and the end of the last
    query     (r,) code of the query
    document  (r,) code of the document
    rank      (r,) from 1
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
            place = np.arange(len(run.documents)) - np.repeat(run.starts[:-1], run.lengths) + 1
            kept: Booleans | slice = slice(None) if cutoff is None else place <= cutoff
            parts.append((np.repeat(own, run.lengths)[kept], run.documents[kept], place[kept].astype(np.int32)))
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

    def keys_of(self, pairs: Iterable[tuple[str, str]]) -> Integers:
        """The numbers of some pairs, without those whose query or document is in no run."""
        queries = {query: code for code, query in enumerate(self.queries)}
        documents = {name: code for code, name in enumerate(self.names)}
        known = (
            queries[query] * len(self.names) + documents[one]
            for query, one in pairs
            if query in queries and one in documents
        )
        return np.fromiter(known, dtype=np.int64)

    def documents_of(self, place: int) -> set[str]:
        """The documents of one system."""
        codes = np.unique(self.document[self.starts[place] : self.starts[place + 1]])
        return set(map(self.names.__getitem__, codes.tolist()))
