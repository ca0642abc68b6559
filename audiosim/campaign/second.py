"""Choice of the pairs to judge twice, and of the assessors for the second judgment."""

import hashlib
import json
from collections.abc import Collection, Iterator

from audiosim.corpus.model import Pair
from audiosim.errors import InputError


class SecondOpinions:
    """The pairs that wait for a second assessor, kept up to date as judgments change.

    A pair is judged twice if a hash of the seed, the query and the document, as a fraction, is below the share.
    Therefore no choice has to be stored, and a larger share includes the pairs of a smaller one.

    share  share of the pairs to judge twice, in [0, 1]
    """

    def __init__(self, share: float, seed: int) -> None:
        if not 0 <= share <= 1:
            raise InputError(f"the share of pairs judged twice must be in [0, 1], got {share:g}")
        self._share, self._seed = share, seed
        self._waiting: dict[str, dict[Pair, None]] = {}  # waiting pairs, by their first assessor

    def wanted(self, pair: Pair) -> bool:
        """True if a pair is one of those to judge twice."""
        digest = hashlib.blake2b(json.dumps([self._seed, *pair]).encode(), digest_size=8).digest()
        return int.from_bytes(digest) < self._share * 2**64

    def note(self, pair: Pair, assessors: Collection[str]) -> None:
        """Record the people with a valid judgment of a pair."""
        if not self._share or not self.wanted(pair):
            return
        for waiting in self._waiting.values():
            waiting.pop(pair, None)
        if len(assessors) == 1:
            (first,) = assessors
            self._waiting.setdefault(first, {})[pair] = None

    def offered(self, assessor: str) -> Iterator[Pair]:
        """The pairs that another person has judged and that wait for a second judgment."""
        return (pair for first, waiting in self._waiting.items() if first != assessor for pair in waiting)

    def __len__(self) -> int:
        """Number of waiting pairs."""
        return sum(map(len, self._waiting.values()))
