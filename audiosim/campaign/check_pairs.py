"""Pairs that check an assessor: some that they judged before, and some whose grade is known."""

import hashlib
import json
from collections.abc import Container, Iterable, Iterator

from audiosim.campaign.ledger import Ledger
from audiosim.campaign.settings import CampaignSettings
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool

REPEATED_AFTER = 10  # answers of the same person, so that they do not remember the first


class CheckPairs:
    """Choice of the pairs that an assessor is handed once more, and of known ones.

    Both are a share of what each assessor answers; which pairs they are is drawn by a hash of the seed and the names:
    nobody has to remember it.
    """

    def __init__(self, pool: Pool, settings: CampaignSettings) -> None:
        self._settings = settings
        self._known = [pair for pair in settings.known_grades if pair in pool.positions]
        self._pool = pool

    def offered(self, ledger: Ledger, assessor: str, out: Container[Pair], count: int) -> list[Pair]:
        """Pairs that are due to be handed to an assessor among `count` more.

        out  pairs that they are not to have, and those that are with anybody now
        """
        settings = self._settings
        if not assessor or not (settings.repeats or self._known):
            return []
        answered = ledger.counting(assessor)
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
        """Pairs that somebody judged some time ago, and once."""
        repeated = set(ledger.repeats(assessor))
        for number in answered[:-REPEATED_AFTER]:
            event = ledger.record(number).event
            once = event.kind == "judgment" and event.pair not in repeated
            if once and event.pair in self._pool.positions and assessor in ledger.assessors(event.pair):
                yield event.pair

    def _drawn(self, pairs: Iterable[Pair], assessor: str, out: Container[Pair]) -> list[Pair]:
        """Those that may be had, in an order drawn by lot."""

        def lot(pair: Pair) -> bytes:
            return hashlib.blake2b(json.dumps([self._settings.seed, assessor, *pair]).encode(), digest_size=8).digest()

        return sorted({pair for pair in pairs if pair not in out}, key=lot)
