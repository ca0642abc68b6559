"""Fair shares: how many pairs may be with one assessor at a time, and with all who come from one address."""

import math
from collections import OrderedDict
from threading import Lock

from audiosim.campaign import Campaign

OF_NAME = 0.1  # of the pool
OF_ADDRESS = 0.5
FEWEST = 10  # that a name or an address may have whatever the pool
MOST_ADDRESSES = 10_000


class Shares:
    """Record of who asked from where, and how many pairs more they may be handed.

    Names can be made up and an address has to be had, so that invented names do not hold the whole pool. A holder of
    a token cannot invent names: for them only the share of a name counts.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[str, set[str]] = OrderedDict()
        self._lock = Lock()

    def left(self, campaign: Campaign, assessor: str, address: str) -> int:
        """Number of pairs that an assessor may have in all, those that they have now included.

        address  where they ask from; empty: from anywhere
        """
        leases, pool = campaign.leases(), len(campaign.selection.pool.pairs)
        own = sum(lease.assessor == assessor for lease in leases)
        name = max(FEWEST, math.ceil(OF_NAME * pool))
        if not address:
            return max(own, name)
        together = self._together(address, assessor)
        held = sum(lease.assessor in together for lease in leases)
        return max(own, min(name, own + max(FEWEST, math.ceil(OF_ADDRESS * pool)) - held))

    def _together(self, address: str, assessor: str) -> set[str]:
        """All who asked from an address, this one among them."""
        with self._lock:
            names = self._names.setdefault(address, set())
            self._names.move_to_end(address)
            names.add(assessor)
            while len(self._names) > MOST_ADDRESSES:
                self._names.popitem(last=False)
            return set(names)
