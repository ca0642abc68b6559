"""Queue of pairs for assessors."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from numbers import Integral
from typing import NamedTuple

import numpy as np

from audiosim.campaign.event import ADJUDICATION
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.state import Ledger
from audiosim.collection.pool import Pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.ranking import Selection
from audiosim.ranking.values import OF_NOISE, OpinionValues
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Booleans

# Pairs that check an assessor: pairs that they judged before, and pairs with a known grade.


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


# Choice of the pairs to judge twice, and of the assessors for the second judgment.


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


# Queries that stay with the person who began them.


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


NOISE_SHARE = 0.25  # share of a person's answers that may be second opinions for learning the noise


class Offer(NamedTuple):
    """A pair offered to an assessor, with the reason if it is for a second opinion or an adjudication."""

    pair: Pair
    why: str = ""


class Queue:
    """The pairs of a pool, in the order in which they are offered to an assessor.

    settings  settings of the campaign; a pair leaves the queue when `cannot_limit` assessors cannot judge it
    withheld  pairs that are not offered
    """

    def __init__(self, pool: Pool, settings: CampaignSettings, withheld: Container[Pair] = ()) -> None:
        self._pool, self._settings = pool, settings
        self._seconds, self._whole = SecondOpinions(settings.twice, settings.seed), WholeQueries()
        self._checks = CheckPairs(pool, settings)
        self._cannot_limit = settings.cannot_limit
        self._withheld = frozenset(pair for pair in pool.pairs if pair in withheld)
        self._judged = np.zeros(len(pool.pairs), dtype=np.bool_)  # by the log: the selection may be behind it

    def note(self, pair: Pair, assessors: Collection[str]) -> None:
        """Record the people with a valid judgment of a pair."""
        if pair in self._pool.positions:
            self._judged[self._pool.positions[pair]] = bool(assessors)
            self._seconds.note(pair, assessors)
            self._whole.note(pair, assessors)

    @property
    def waiting(self) -> int:
        """Number of pairs that wait for a second assessor."""
        return len(self._seconds)

    def dropped(self, ledger: Ledger) -> list[Pair]:
        """The pairs that left the queue."""
        return [pair for pair, by in ledger.cannot.items() if len(by) >= self._cannot_limit]

    def choose(
        self, ledger: Ledger, selection: Selection, now: datetime, count: int, assessor: str, by_query: bool
    ) -> list[Offer]:
        """The pairs to offer; see `Campaign.ask`. With several candidates on a page, those of one page."""
        if self._settings.candidates > 1:
            return self._page(ledger, selection, now, min(count, self._settings.candidates), assessor)
        return self._offers(ledger, selection, now, count, assessor, by_query)

    def _page(self, ledger: Ledger, selection: Selection, now: datetime, count: int, assessor: str) -> list[Offer]:
        """Offers of one query, filled up with its best free pairs; then the assessor's other leased pairs.

        All leased pairs are offered, so that asking again extends every lease: after an undo there are two pages.
        """
        kept = self._kept(ledger, now, assessor)
        offers = [Offer(pair) for pair in kept[:count]] or self._offers(ledger, selection, now, count, assessor, True)
        page = [offer for offer in offers if offer.pair.query == offers[0].pair.query]
        if page and len(page) < count and page[0].pair.query not in self._of_others(ledger, now, assessor):
            free = self.free(ledger, selection, now, assessor)
            free &= self._mask((*(offer.pair for offer in page), *(lease.pair for lease in ledger.leases(now))))
            free &= self._pool.query == self._queries[page[0].pair.query]
            page += [Offer(pair) for pair in selection.ask(count - len(page), free, True, assessor or None)]
        return page + [Offer(pair) for pair in kept if Offer(pair) not in page]

    def _kept(self, ledger: Ledger, now: datetime, assessor: str) -> list[Pair]:
        """Pairs leased to an assessor, starting with those of the query that was handed out last."""
        if not assessor or assessor in ledger.aside:
            return []
        out = self._unanswerable(ledger, assessor)
        held = [
            lease.pair
            for lease in ledger.leases(now)
            if lease.assessor == assessor
            and lease.pair not in out
            and lease.pair in self._pool.positions
            and (lease.again or assessor not in ledger.assessors(lease.pair))  # drops a withdrawn revision
        ]
        last = {pair.query: place for place, pair in enumerate(held)}
        return sorted(held, key=lambda pair: -last[pair.query])

    def _of_others(self, ledger: Ledger, now: datetime, assessor: str) -> set[str]:
        """Queries reserved for other assessors; none if the campaign does not keep queries whole."""
        if not (assessor and self._settings.whole_queries):
            return set()
        held = ((lease.pair, lease.assessor) for lease in ledger.leases(now))
        return self._whole.of_others(assessor, self._here(ledger, now), held)

    def _offers(
        self, ledger: Ledger, selection: Selection, now: datetime, count: int, assessor: str, by_query: bool
    ) -> list[Offer]:
        if not isinstance(count, Integral) or count < 1:
            raise InputError(f"the number of pairs to ask for must be a whole number of at least 1, got {count!r}")
        if assessor in ledger.aside:
            return []
        held = {lease.pair: lease.assessor for lease in ledger.leases(now)}
        out = self._unanswerable(ledger, assessor)
        asked = self._adjudicated(ledger, held, assessor)
        first = dict.fromkeys((*asked, *self._first(held, assessor)))
        pairs = list(islice((pair for pair in first if pair not in out and pair in self._pool.positions), count))
        if len(pairs) < count:
            pairs += self._checks.offered(ledger, assessor, {*held, *out, *pairs}, count - len(pairs))
        why = dict.fromkeys(asked, ADJUDICATION)
        if len(pairs) < count and assessor and self._settings.second_opinions:
            opinion = self._opinion(ledger, selection, assessor, {*held, *out, *pairs})
            pairs += opinion
            why |= opinion
        if len(pairs) < count:
            allowed = self._mask((*held, *out, *pairs)) & ~self._judged
            if assessor and self._settings.whole_queries:
                others = self._of_others(ledger, now, assessor)
                free = allowed & np.isin(self._pool.query, [self._queries[query] for query in others], invert=True)
                pairs += selection.ask(count - len(pairs), free, by_query, assessor)
                allowed[[self._pool.positions[pair] for pair in pairs if pair in self._pool.positions]] = False
            if len(pairs) < count:
                pairs += selection.ask(count - len(pairs), allowed, by_query, assessor or None)
        return [Offer(pair, why.get(pair, "")) for pair in pairs]

    def _unanswerable(self, ledger: Ledger, assessor: str) -> set[Pair]:
        """Pairs that an assessor cannot judge, and pairs that left the queue or are withheld."""
        out = {pair for pair, by in ledger.cannot.items() if assessor in by or len(by) >= self._cannot_limit}
        return out | self._withheld

    def answerable(self, ledger: Ledger, assessor: str) -> Booleans:
        """(n,) pairs that an assessor may be asked about, judged or not."""
        return self._mask(self._unanswerable(ledger, assessor))

    def free(self, ledger: Ledger, selection: Selection, now: datetime, assessor: str) -> Booleans:
        """(n,) unjudged pairs that an assessor may be handed now."""
        held = {lease.pair for lease in ledger.leases(now) if lease.assessor != assessor}
        return self._mask({*self._unanswerable(ledger, assessor), *held}) & ~self._judged & ~selection.belief.judged

    def _mask(self, out: Iterable[Pair]) -> Booleans:
        allowed = np.ones(len(self._pool.pairs), dtype=np.bool_)
        allowed[[place for pair in out if (place := self._pool.positions.get(pair)) is not None]] = False
        return allowed

    def _opinion(self, ledger: Ledger, selection: Selection, assessor: str, out: Collection[Pair]) -> dict[Pair, str]:
        """At most one pair for an assessor's second opinion, and the reason; to learn the noise, one answer in four."""
        values = OpinionValues.of(selection, assessor)
        if values is None:
            return {}
        own = (pair for pair in ledger.judged if assessor in ledger.assessors(pair))
        shared, free = self._mask((*out, *own)) & self._judged, self._mask(out) & ~self._judged
        found = values.second_opinion(shared, free)
        if found is None:
            return {}
        place, why = found
        events = [ledger.record(number).event for number in ledger.counting(assessor)]
        answered = [event.pair for event in events if event.kind != "comparison"]
        seconds = sum(len(ledger.assessors(pair)) > 1 for pair in answered)
        often = why == OF_NOISE and seconds >= NOISE_SHARE * (len(answered) + 1)
        return {} if often else {self._pool.pairs[place]: why}

    @cached_property
    def _queries(self) -> dict[str, int]:
        return {query: code for code, query in enumerate(self._pool.queries)}

    def _here(self, ledger: Ledger, now: datetime) -> set[str]:
        """The assessors who answered or received a pair within the last lease time."""
        since = now.timestamp() - self._settings.lease_s
        return {lease.assessor for lease in ledger.leases(now)} | {
            name for name, times in ledger.times.items() if times[-1] > since
        }

    def _adjudicated(self, ledger: Ledger, held: Mapping[Pair, str], assessor: str) -> list[Pair]:
        """Pairs that wait for a person's adjudication and that nobody else has now."""
        asked = ledger.adjudications.get(assessor, {})
        return [
            pair for pair in asked if held.get(pair, assessor) == assessor and assessor not in ledger.assessors(pair)
        ]

    def _first(self, held: Mapping[Pair, str], assessor: str) -> Iterator[Pair]:
        """Pairs that come before the selection's own choice: the assessor's leases, then second judgments."""
        if assessor:
            yield from (pair for pair, holder in held.items() if holder == assessor)
            yield from (pair for pair in self._seconds.offered(assessor) if pair not in held)
