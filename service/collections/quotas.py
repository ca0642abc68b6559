"""Quotas: the number of answers that a person has given, and may give."""

import math
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from audiosim.campaign import Campaign
from audiosim.campaign.event import Record
from audiosim.errors import ClosedError


def answers_given(campaign: Campaign, assessor: str) -> int:
    """Number of pairs and comparisons that an assessor answered; a revised answer counts once, a repeat separately."""
    return answers_among(answers_kept(campaign, assessor))


def answers_kept(campaign: Campaign, assessor: str) -> list[Record]:
    """Answers of an assessor about pairs, and comparisons, that were not withdrawn, including revised ones."""
    return [*campaign.answers(assessor), *campaign.comparisons.answers(assessor)]


def answers_among(records: Iterable[Record]) -> int:
    """Number of pairs and comparisons that one assessor answered in these lines, counted as in `answers_given`."""
    return len({_answered(record) for record in records})


def _answered(record: Record) -> tuple[str, frozenset[str], int]:
    """Query, documents, and for a repeat, its line number."""
    event = record.event
    documents = {pair.document for pair in event.comparison.pairs} if event.kind == "comparison" else {event.document}
    return event.query, frozenset(documents), record.number if event.kind == "repeat" else 0


def is_done(campaign: Campaign, name: str, answers: int, quota: int | None) -> bool:
    """True if a person of this name, with this many answers, is done.

    A person is done if the quota is reached, if judging has ended, or if every remaining pair is leased to others: such
    a lease may end, but nobody waits for it. A campaign of comparisons never runs out of them.

    quota  largest number of answers; None: unlimited
    """
    if quota is not None and answers >= quota:
        return True
    if not answers or campaign.state == "paused":
        return False
    if campaign.state == "closed":
        return True
    try:
        return campaign.comparisons.allowed == "none" and not (campaign.leases(name) or campaign.ask(1))
    except ClosedError:  # judging ended meanwhile
        return False


# Fair shares: limits on the pairs leased to one assessor, and to all users of one address.


OF_NAME = 0.1  # of the pool
OF_ADDRESS = 0.5
FEWEST = 10  # for a name or an address, even in a small pool
MOST_ADDRESSES = 10_000


class Shares:
    """Names used from each address, and the number of pairs still allowed to each.

    Names are easy to invent, addresses are not: a limit per address keeps invented names from holding the whole pool.
    Token holders cannot invent names, so only the share of a name limits them.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[str, set[str]] = OrderedDict()
        self._lock = Lock()

    def left(self, campaign: Campaign, assessor: str, address: str) -> int:
        """Number of pairs and comparisons that an assessor may hold in all, including those held now.

        address  address of their request; empty: any
        """
        holders = [lease.assessor for lease in campaign.leases()]
        holders += [lease.assessor for lease in campaign.comparisons.leases()]
        pool = len(campaign.selection.pool.pairs)
        own = holders.count(assessor)
        name = max(FEWEST, math.ceil(OF_NAME * pool))
        if not address:
            return max(own, name)
        together = self._together(address, assessor)
        held = sum(holder in together for holder in holders)
        return max(own, min(name, own + max(FEWEST, math.ceil(OF_ADDRESS * pool)) - held))

    def _together(self, address: str, assessor: str) -> set[str]:
        """All names used from an address, including this one."""
        with self._lock:
            names = self._names.setdefault(address, set())
            self._names.move_to_end(address)
            names.add(assessor)
            while len(self._names) > MOST_ADDRESSES:
                self._names.popitem(last=False)
            return set(names)
