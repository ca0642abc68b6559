"""Cards of all collections: what a list of them says of each, also of those that are closed."""

from contextlib import suppress
from dataclasses import dataclass

from audiosim.corpus.model import Scale
from audiosim.errors import AudiosimError
from service.opened import OpenCollections, UnopenedError
from service.served import ServedCollection
from service.wire import CollectionOut


@dataclass(frozen=True, slots=True)
class Card:
    """Summary of a collection as it was when it was last open.

    said   what a list says of it
    scale  that it is judged on
    line   last line of its log
    """

    said: CollectionOut
    scale: Scale
    line: int

    @classmethod
    def of(cls, one: ServedCollection) -> "Card":
        """The card of an open collection now."""
        said = CollectionOut.from_domain(one, one.predictor(), levels=False)
        return cls(said, one.collection.scale, one.campaign.number)


class Cards:
    """Cards of the collections of a service.

    One that was never open is opened for its card; so is a closed one whose log others have written to. A collection
    that cannot be opened has no card.
    """

    def __init__(self, collections: OpenCollections) -> None:
        self._collections = collections
        self._kept: dict[str, Card] = {}
        self._looked_at: set[str] = set()
        collections.closing = self._keep

    def all(self) -> list[Card]:
        """Every card, in the order of the collections; where many were never open, this takes their time to open."""
        lines, there = self._lines(), self._collections.open
        found = (self._card(name, there.get(name), lines.get(name, 0)) for name in self._collections.names)
        return [card for card in found if card is not None]

    def look_at_next(self) -> bool:
        """Make the card of a collection that was never open; whether there may be more of those."""
        there = self._collections.open
        for name in self._collections.names:
            if name not in self._looked_at:
                known = name in self._kept or name in there
                if not known:
                    self._card(name, None, 0)
                self._looked_at.add(name)  # only now: while the database does not answer, it is tried again
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
            return None  # the log says why

    def _keep(self, name: str, one: ServedCollection) -> None:
        """Keep the card of a collection that is being closed; without it, it is opened for the next list."""
        self._kept.pop(name, None)
        with suppress(AudiosimError):
            self._kept[name] = Card.of(one)
