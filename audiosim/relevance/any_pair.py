"""Predictable pairs of any query and document, retrieved or not."""

from collections.abc import Iterable, Iterator

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.properties import cached_property

PORTION = 200  # unretrieved pairs per query and portion: a query's covariance is a dense matrix


def portions(pool: Pool, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, ...]]:
    """The unretrieved pairs, each once, in portions that keep the covariance blocks small.

    At least one portion, which may be empty.
    """
    waiting: dict[str, list[Pair]] = {}
    for pair in dict.fromkeys(pairs):
        if pair not in pool.positions:
            waiting.setdefault(pair[0], []).append(Pair(*pair))
    for start in range(0, max(map(len, waiting.values()), default=1), PORTION):
        yield tuple(pair for own in waiting.values() for pair in own[start : start + PORTION])


class Known:
    """The documents and queries that a collection knows.

    A document is known if a run, the metadata, the index of sounds or other evidence names it; a query if its own
    document is known or a run answers it. Every known query with every known document can be predicted; if no system
    retrieved the document, only the other evidence is used.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @cached_property
    def documents(self) -> frozenset[str]:
        """Identifiers of the documents."""
        collection = self._collection
        retrieved = (document for run in collection.runs for ranking in run.rankings.values() for document in ranking)
        return frozenset([*retrieved, *collection.documents, *self._heard(), *self._with_evidence()])

    @cached_property
    def queries(self) -> frozenset[str]:
        """The queries that a run answers or queries.tsv lists; any other is the document of the same name."""
        return frozenset(
            [*(query for run in self._collection.runs for query in run.rankings), *self._collection.query_documents]
        )

    def __contains__(self, pair: Pair) -> bool:
        query, document = pair
        return document in self.documents and (query in self.queries or query in self.documents)

    def check(self, pair: Pair) -> None:
        """Raise an error unless the collection knows the query and the document of a pair."""
        if pair not in self:
            what = "query" if pair.document in self.documents else "document"
            raise InputError(
                f"nothing is known of {what} {getattr(pair, what)}: no run, metadata, index or evidence names it"
            )

    def among(self, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        """The known ones among some pairs, each once."""
        return tuple(dict.fromkeys(Pair(*pair) for pair in pairs if pair in self))

    def _with_evidence(self) -> Iterator[str]:
        """Documents that the user's own evidence covers."""
        for piece in self._collection.evidence:
            if piece.about == "document":
                yield from (str(key) for key in piece.keys)
            elif piece.about == "pair":
                yield from (key[1] for key in piece.keys)

    def _heard(self) -> Iterable[str]:
        if self._collection.sounds is None:
            return ()
        from audiosim.audio.later_index import load_all  # imported here: most uses need not pay for its start-up time

        return load_all(self._collection.sounds)[0].ids
