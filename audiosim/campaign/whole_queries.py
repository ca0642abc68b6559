"""Queries that stay with the person who began them."""

from collections import Counter
from collections.abc import Collection, Iterable

from audiosim.corpus.model import Pair


class WholeQueries:
    """Assessors who have begun each query, updated as judgments come and go.

    A person's severity and their view of a query affect all its documents equally: if one person judges all of them,
    both cancel when systems are compared.
    """

    def __init__(self) -> None:
        self._assessors: dict[Pair, tuple[str, ...]] = {}
        self._counts: dict[str, Counter[str]] = {}  # judgments of each query, by assessor

    def note(self, pair: Pair, assessors: Collection[str]) -> None:
        """Record the people with a valid judgment of a pair."""
        counts = self._counts.setdefault(pair.query, Counter())
        counts.subtract(self._assessors.get(pair, ()))
        counts.update(assessors)
        self._assessors[pair] = tuple(assessors)

    def of_others(self, assessor: str, here: Collection[str], held: Iterable[tuple[Pair, str]] = ()) -> set[str]:
        """Queries that belong to another active assessor, who judged the most pairs of the query or has one on lease.

        here  active assessors; queries begun by anybody else are free
        held  pairs handed out and not answered yet, with their assessors
        """
        begun = {pair.query: holder for pair, holder in held}
        for query, counts in self._counts.items():
            owner, most = max(counts.items(), key=lambda one: one[1], default=("", 0))
            if most > 0:
                begun[query] = owner
        return {query for query, owner in begun.items() if owner != assessor and owner in here}
