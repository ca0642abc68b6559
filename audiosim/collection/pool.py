"""The pool: all pairs that may need a judgment, as arrays."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
from scipy import sparse

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import Evidence, MachineJudge
from audiosim.collection.values import Judgment, Pair, PairedComparison, Results, Scale, mean_grades
from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.text import counted

UNKNOWN = -1
NOT_EXPECTED = "known, but not used in expected grades before any judgment"  # only in effects that documents share
NO_QUERY_GENRE = "the genre of every query is unknown; queries.tsv, or the table of queries, names its recording"


@dataclass(frozen=True, eq=False)
class Groups:
    """Pairs of one query with documents of the same artist or genre.

    group    (n,) number of the pair's group; the pairs of a query with unknown values form a group too
    sizes    (g,) number of pairs in each group that some system retrieved
    known    (n,) True where the pair's value is known
    """

    group: Integers
    sizes: Integers
    known: Booleans


@dataclass(frozen=True, eq=False)
class Pool:
    """The distinct pairs down to a cutoff in any run, in order of first appearance in the runs; then further ones.

    Further pairs were requested without being retrieved by any system; they do not change the statements about the
    others. Judged pairs that no system retrieved down to the cutoff count only in the ideal ranking of their query. n
    is the number of pairs, s that of systems. Codes number the distinct values; -1 is unknown.

    collection       identifier of the collection
    scale            scale of its judgments
    pairs            (n) pairs
    systems          (s) names
    teams            (s,) code of each system's team
    queries          names, in the order of their codes: those of the runs, then others that are judged
    query_documents  document of each query, in the same order
    cutoff           last rank that counts
    ranks            (s, n) sparse: the rank, from 1, at which a system retrieved a pair's document
    query            (n,) code of the pair's query
    genre            (n,) code of the document's genre
    query_genre      (n,) code of the query's genre, comparable with `genre`
    artist           (n,) code of the document's artist
    sounds           folder of the index of the recordings, or None
    evidence         further evidence given by the user
    judges           machines that judge
    genre_names      names of genres, by code
    artist_names     names of artists, by code
    team_names       team of each system
    edition_of       collection that this one is an edition of; empty: unspecified
    comparisons      comparisons of its pairs, and of others
    beyond           grades of the judged pairs that it does not have, of its queries
    """

    collection: str
    scale: Scale
    pairs: tuple[Pair, ...]
    systems: tuple[str, ...]
    teams: Integers
    queries: tuple[str, ...]
    query_documents: tuple[str, ...]
    cutoff: int
    ranks: sparse.csr_array
    query: Integers
    genre: Integers
    query_genre: Integers
    artist: Integers
    positions: dict[Pair, int] = field(repr=False)
    sounds: Path | None = None
    evidence: tuple[Evidence, ...] = ()
    judges: tuple[MachineJudge, ...] = ()
    genre_names: tuple[str, ...] = ()
    artist_names: tuple[str, ...] = ()
    team_names: tuple[str, ...] = ()
    edition_of: str = ""
    comparisons: tuple[PairedComparison, ...] = field(default=(), repr=False)
    beyond: Mapping[Pair, float] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        systems = counted(len(self.systems), "system")
        sizes = f"{counted(len(self.queries), 'query')}, {systems}, {len(self.pairs):,} pairs"
        return f"Pool of {self.collection} at cutoff {self.cutoff}: {sizes}"

    @cached_property
    def retrieved(self) -> sparse.csr_array:
        """(s, n) sparse: 1 where a system retrieved a pair's document."""
        return sparse.csr_array((np.ones(self.ranks.nnz), self.ranks.indices, self.ranks.indptr), self.ranks.shape)

    @cached_property
    def found(self) -> Booleans:
        """(n,) True where any system retrieved the pair's document."""
        return np.asarray(np.bincount(self.ranks.indices, minlength=len(self.pairs)) > 0)

    @cached_property
    def ranked(self) -> Integers:
        """(s, q, k) the pair at each rank, down to the last rank with any; the number of pairs where there is none."""
        deepest = int(self.ranks.data.max(initial=1))
        ranked = np.full((len(self.systems), len(self.queries), deepest), len(self.pairs))
        cells = self.ranks.tocoo()
        ranked[cells.row, self.query[cells.col], cells.data - 1] = cells.col
        return ranked

    @cached_property
    def answered(self) -> int:
        """Number of queries for which any system retrieved anything."""
        return len(np.unique(self.query[self.found]))

    @cached_property
    def query_sizes(self) -> Integers:
        """(n,) number of retrieved documents of the pair's query, each counted once."""
        return np.bincount(self.query[self.found], minlength=len(self.queries))[self.query]

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of levels, cutoff, systems, pairs in their order, and the rank of each result of each system.

        Pools with the same hash have the same pairs in the same order.
        """
        ranks = self.ranks.tocoo()
        content = [
            self.scale.levels,
            self.cutoff,
            self.systems,
            self.pairs,
            *(column.tolist() for column in (ranks.row, ranks.col, ranks.data)),
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @cached_property
    def genres(self) -> Groups:
        """The pairs of each query by the genre of their document."""
        return self._groups(self.genre)

    @cached_property
    def artists(self) -> Groups:
        """The pairs of each query by the artist of their document."""
        return self._groups(self.artist)

    def _groups(self, code: Integers) -> Groups:
        key = self.query * (code.max() + 2) + code + 1
        codes, group = np.unique(key, return_inverse=True)
        return Groups(group, np.bincount(group[self.found], minlength=len(codes)), code != UNKNOWN)

    @cached_property
    def coded_beyond(self) -> tuple[Integers, Array]:
        """(b,) query codes and (b,) grades of the judged pairs beyond the pool."""
        codes = {query: code for code, query in enumerate(self.queries)}
        query = np.array([codes[pair.query] for pair in self.beyond], dtype=np.int64)
        return query, np.array(list(self.beyond.values()), dtype=np.float64)

    def beside(self, judgments: Iterable[Judgment]) -> "Pool":
        """The pool with other judgments beyond it, of its queries; itself if these are the same."""
        known = set(self.queries)
        others = (one for one in judgments if one.pair not in self.positions and one.query in known)
        beyond = mean_grades(others)
        return self if beyond == self.beyond else replace(self, beyond=beyond)

    def locate_judged(self, grades: Mapping[Pair, float]) -> Integers:
        """(k,) places of the judged pairs, in their order; those outside the pool are left out."""
        return self.locate([pair for pair in grades if pair in self.positions])

    def locate(self, pairs: Iterable[Pair]) -> Integers:
        """Position of each pair in the pool; a pair outside it is an error."""
        try:
            return np.array([self.positions[pair] for pair in pairs], dtype=np.int64)
        except KeyError as error:
            query, document = error.args[0]
            raise InputError(
                f"no system retrieved document {document} for query {query} in its top {self.cutoff}"
            ) from None

    def spread(self, grades: Mapping[Pair, float]) -> Array:
        """(n,) grades at the places of their pairs, NaN elsewhere; grades outside the pool are left out."""
        spread = np.full(len(self.pairs), np.nan)
        for pair, grade in grades.items():
            if pair in self.positions:
                spread[self.positions[pair]] = grade
        return spread

    def judged(self, grades: Array) -> dict[Pair, float]:
        """The grades of the judged pairs by pair, the inverse of `spread`.

        grades  (n,) NaN where unjudged
        """
        judged = np.flatnonzero(~np.isnan(grades))
        return {self.pairs[i]: grade for i, grade in zip(judged.tolist(), grades[judged].tolist(), strict=True)}


def check_collection(collection: object) -> None:
    """Raise an error unless this is a collection."""
    if not isinstance(collection, Collection):
        raise InputError(f"expected a collection, such as Collection.load(folder), got {collection!r}")


def build_pool(collection: Collection, cutoff: int | None = None, also: Iterable[Pair] = ()) -> Pool:
    """The pool of a collection's runs down to a cutoff, by default the collection's own.

    also    further pairs of any query and document, retrieved or not
    """
    check_collection(collection)
    cutoff = collection.cutoff if cutoff is None else cutoff
    positions, ranks = _rank_matrix(collection, cutoff)
    if not positions:
        raise InputError(f"collection {collection.identifier}: no run retrieves anything")
    for pair in also:
        positions.setdefault(pair, len(positions))
    ranks = sparse.csr_array((ranks.data, ranks.indices, ranks.indptr), shape=(len(collection.runs), len(positions)))
    pairs = tuple(positions)
    beyond = mean_grades(one for one in collection.judgments if one.pair not in positions)
    (genre, query_genre), genre_names = _codes(
        [collection.genre(pair.document) for pair in pairs],
        [collection.genre(collection.query_document(pair.query)) for pair in pairs],
    )
    (artist,), artist_names = _codes([collection.artist(pair.document) for pair in pairs])
    (teams,), _ = _codes([collection.team(run.system) for run in collection.runs])
    asked = (query for run in collection.runs for query in run.rankings)
    named = dict.fromkeys(chain(asked, (pair.query for pair in chain(pairs, beyond))))
    queries = {query: code for code, query in enumerate(named)}
    return Pool(
        collection=collection.identifier,
        scale=collection.scale,
        pairs=pairs,
        systems=tuple(run.system for run in collection.runs),
        teams=teams,
        queries=tuple(queries),
        query_documents=tuple(collection.query_document(query) for query in queries),
        cutoff=cutoff,
        ranks=ranks,
        query=np.array([queries[pair.query] for pair in pairs]),
        genre=genre,
        query_genre=query_genre,
        artist=artist,
        positions=positions,
        sounds=collection.sounds,
        evidence=collection.evidence,
        judges=collection.graders,
        genre_names=genre_names,
        artist_names=artist_names,
        team_names=tuple(collection.team(run.system) for run in collection.runs),
        edition_of=collection.edition_of,
        comparisons=collection.comparisons,
        beyond=beyond,
    )


def _rank_matrix(collection: Collection, cutoff: int) -> tuple[dict[Pair, int], sparse.csr_array]:
    """The place of each pair, in order of first appearance in the runs, and its rank in each run."""
    results = Results.of(collection.runs, cutoff)
    _, first, code = np.unique(results.keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    shape = (len(collection.runs), len(order))
    matrix = sparse.csr_array((results.rank, place[code], results.starts.astype(np.int32)), shape=shape)
    matrix.sort_indices()
    line = first[order]
    queries = map(results.queries.__getitem__, results.query[line].tolist())
    documents = map(results.names.__getitem__, results.document[line].tolist())
    return {pair: at for at, pair in enumerate(map(Pair, queries, documents))}, matrix


def _codes(*columns: Sequence[str | None]) -> tuple[list[Integers], tuple[str, ...]]:
    """The values of each column as codes shared by all columns, and the values in the order of their codes."""
    codes: dict[str | None, int] = {None: UNKNOWN}
    coded = [
        np.array([codes.setdefault(value, len(codes) - 1) for value in column], dtype=np.int64) for column in columns
    ]
    return coded, tuple(value for value in codes if value is not None)
