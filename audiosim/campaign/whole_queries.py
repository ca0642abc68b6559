"""Queries that stay with the person who has begun them."""

from collections import Counter
from collections.abc import Collection, Iterable

from audiosim.corpus.model import Pair


class WholeQueries:
    """Assessors who have begun each query, kept as judgments come and go.

    A person's severity, and how they hear one query, are the same for all its documents: where one person judges them
    they cancel in what systems are compared by.
    """

    def __init__(self) -> None:
        self._assessors: dict[Pair, tuple[str, ...]] = {}
        self._counts: dict[str, Counter[str]] = {}  # judgments of each query, by assessor

    def note(self, pair: Pair, assessors: Collection[str]) -> None:
        """Take in whose judgments of a pair hold now."""
        counts = self._counts.setdefault(pair.query, Counter())
        counts.subtract(self._assessors.get(pair, ()))
        counts.update(assessors)
        self._assessors[pair] = tuple(assessors)

    def of_others(self, assessor: str, here: Collection[str], held: Iterable[tuple[Pair, str]] = ()) -> set[str]:
        """Queries that somebody else who is here has begun: judged more of than anybody, or holds a pair of.

        here  who is judging now: what somebody who has left began is anybody's
        held  pairs that somebody was handed and has not answered yet, with whom
        """
        begun = {pair.query: holder for pair, holder in held}
        for query, counts in self._counts.items():
            owner, most = max(counts.items(), key=lambda one: one[1], default=("", 0))
            if most > 0:
                begun[query] = owner
        return {query for query, owner in begun.items() if owner != assessor and owner in here}
