"""Fair shares: limits on the pairs leased to one assessor, and to all users of one address."""

import math
from collections import OrderedDict
from threading import Lock

from audiosim.campaign import Campaign

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
