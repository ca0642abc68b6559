"""Pairs that check an assessor: pairs that they judged before, and pairs with a known grade."""

import hashlib
import json
from collections.abc import Container, Iterable, Iterator

from audiosim.campaign.ledger import Ledger
from audiosim.campaign.settings import CampaignSettings
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool

REPEATED_AFTER = 10  # answers of a person before they get a pair again, so that they forget the first answer


class CheckPairs:
    """Choice of the repeated and known pairs for an assessor.

    Both are a share of each assessor's answers. A hash of the seed and the names selects the pairs, so that no choice
    has to be stored.
    """

    def __init__(self, pool: Pool, settings: CampaignSettings) -> None:
        self._settings = settings
        self._known = [pair for pair in settings.known_grades if pair in pool.positions]
        self._pool = pool

    def offered(self, ledger: Ledger, assessor: str, out: Container[Pair], count: int) -> list[Pair]:
        """Check pairs due among the next `count` pairs of an assessor.

        out  pairs to leave out, and pairs leased to anybody
        """
        settings = self._settings
        if not assessor or not (settings.repeats or self._known):
            return []
        # Comparisons are not answers about a pair, so they make no check pairs due.
        answered = [one for one in ledger.counting(assessor) if ledger.record(one).event.kind != "comparison"]
        held = ledger.held(assessor)
        again = len(ledger.repeats(assessor)) + sum(lease.again for lease in held)
        seen = sum(ledger.answered(pair, assessor) or any(one.pair == pair for one in held) for pair in self._known)
        more = len(answered) + count
        due = max(0, int(settings.repeats * more) - again)
        found = self._drawn(self._judged(ledger, assessor, answered), assessor, out)[:due]
        due = max(0, int(settings.known * more) - seen)
        fresh = (pair for pair in self._known if not ledger.answered(pair, assessor) and pair not in found)
        return [*found, *self._drawn(fresh, assessor, out)[:due]][:count]

    def _judged(self, ledger: Ledger, assessor: str, answered: list[int]) -> Iterator[Pair]:
        """Pairs that the assessor judged once, some time ago."""
        repeated = set(ledger.repeats(assessor))
        for number in answered[:-REPEATED_AFTER]:
            event = ledger.record(number).event
            once = event.kind == "judgment" and event.pair not in repeated
            if once and event.pair in self._pool.positions and assessor in ledger.assessors(event.pair):
                yield event.pair

    def _drawn(self, pairs: Iterable[Pair], assessor: str, out: Container[Pair]) -> list[Pair]:
        """The available ones among these pairs, in a random order fixed by the seed."""

        def lot(pair: Pair) -> bytes:
            return hashlib.blake2b(json.dumps([self._settings.seed, assessor, *pair]).encode(), digest_size=8).digest()

        return sorted({pair for pair in pairs if pair not in out}, key=lot)
