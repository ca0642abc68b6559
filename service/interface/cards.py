"""Cards of all collections, open or closed: their entries in lists of collections."""

from contextlib import suppress
from dataclasses import dataclass

from audiosim.corpus.model import Scale
from audiosim.errors import AudiosimError
from audiosim.service.shelf.open_collections import OpenCollections, UnopenedError
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.prediction_types import CollectionOut


@dataclass(frozen=True, slots=True)
class Card:
    """Summary of a collection when it was last open.

    said   its entry in a list
    scale  scale of its judgments
    line   last line of its log
    """

    said: CollectionOut
    scale: Scale
    line: int

    @classmethod
    def of(cls, one: ServedCollection) -> "Card":
        """The current card of an open collection."""
        said = CollectionOut.from_domain(one, one.predictor(), levels=False)
        return cls(said, one.collection.scale, one.campaign.number)


class Cards:
    """Cards of the collections of a service.

    A collection that was never open is opened for its card, and so is a closed one whose log others have extended. A
    collection that fails to open has no card.
    """

    def __init__(self, collections: OpenCollections) -> None:
        self._collections = collections
        self._kept: dict[str, Card] = {}
        self._looked_at: set[str] = set()
        collections.closing = self._keep

    def all(self) -> list[Card]:
        """Every card, in the order of the collections; opens collections that were never open, which takes time."""
        lines, there = self._lines(), self._collections.open
        found = (self._card(name, there.get(name), lines.get(name, 0)) for name in self._collections.names)
        return [card for card in found if card is not None]

    def look_at_next(self) -> bool:
        """Make the card of a collection that was never open; True if there may be more of those."""
        there = self._collections.open
        for name in self._collections.names:
            if name not in self._looked_at:
                known = name in self._kept or name in there
                if not known:
                    self._card(name, None, 0)
                self._looked_at.add(name)  # only after success: it is retried while the database does not answer
                if not known:
                    return True
        return False

    def _lines(self) -> dict[str, int]:
        stores = self._collections.stores()
        return stores[0].lines() if stores else {}

    def _card(self, name: str, one: ServedCollection | None, line: int) -> Card | None:
        kept = self._kept.get(name)
        if one is not None:
            return Card.of(one)
        if kept is not None and kept.line >= line:
            return kept
        try:
            with self._collections.held(name, used=False) as opened:
                card = self._kept[name] = Card.of(opened)
                return card
        except UnopenedError:
            return None  # the reason is in the log

    def _keep(self, name: str, one: ServedCollection) -> None:
        """Store the card of a collection that is closing; otherwise the next list would open it again."""
        self._kept.pop(name, None)
        with suppress(AudiosimError):
            self._kept[name] = Card.of(one)
