"""Cards of all collections, open or closed: their entries in lists of collections.

They are kept in the database of the logs, so that listing collections after a restart opens no unchanged one.
"""

from contextlib import suppress

import msgspec

from audiosim.campaign import DatabaseStore
from audiosim.errors import AudiosimError
from audiosim.service.collections.open import OpenCollections, UnopenedError
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.predictions import CollectionOut


class Card(msgspec.Struct, frozen=True):
    """Summary of a collection when it was last open.

    said    its entry in a list
    levels  the grades of its scale, which the entry leaves out
    line    last line of its log
    basis   digest of everything it was opened from, except its log; empty if that has changed since
    """

    said: CollectionOut
    levels: tuple[float, ...]
    line: int
    basis: str

    @classmethod
    def of(cls, one: ServedCollection) -> "Card":
        """The current card of an open collection."""
        said = CollectionOut.from_domain(one, one.predictor(), levels=False)
        return cls(said, one.collection.scale.levels, one.campaign.number, one.basis)

    @classmethod
    def parse(cls, text: str) -> "Card | None":
        """The card in a text; None if the text is of another version."""
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text, type=cls)
        return None

    @property
    def scale(self) -> tuple[str, tuple[float, ...]]:
        """Name and levels of its scale."""
        return self.said.scale.name, self.levels

    @property
    def text(self) -> str:
        """The card as JSON."""
        return msgspec.json.encode(self).decode()


class Cards:
    """Cards of the collections of a service.

    A collection is opened to make its card if it has none, or if its files, settings or log have changed since it was
    closed. A collection that fails to open has no card.
    """

    def __init__(self, collections: OpenCollections) -> None:
        self._collections = collections
        self._kept: dict[str, Card] = {}
        self._stored: dict[str, str] = {}  # texts in the database
        self._recalled = False
        self._looked_at: set[str] = set()
        collections.closing = self._keep

    def all(self) -> list[Card]:
        """Every card, in the order of the collections; collections without a card are opened, which takes time."""
        self._recall()
        lines, there = self._lines(), self._collections.open
        found = (self._card(name, there.get(name), lines.get(name, 0)) for name in self._collections.names)
        return [card for card in found if card is not None]

    def look_at_next(self) -> bool:
        """Make the card of a collection that has none; True if more may lack one."""
        self._recall()
        there, lines = self._collections.open, None
        for name in self._collections.names:
            if name not in self._looked_at:
                lines = self._lines() if lines is None else lines
                known = name in there or self._holds(name, lines.get(name, 0))
                if not known:
                    self._card(name, None, lines.get(name, 0))
                self._looked_at.add(name)  # only after success, so that a failure of the database is retried
                if not known:
                    return True
        return False

    def keep_open_ones(self) -> None:
        """Store the cards of the open collections when the service ends."""
        for name, one in self._collections.open.items():
            self._keep(name, one)

    def _recall(self) -> None:
        """Read the cards that an earlier process stored, once."""
        stores = self._collections.stores()
        if not self._recalled and stores:
            self._stored = stores[0].cards()
            self._recalled = True
            found = {name: Card.parse(text) for name, text in self._stored.items()}
            self._kept = {name: card for name, card in found.items() if card is not None} | self._kept

    def _lines(self) -> dict[str, int]:
        stores = self._collections.stores()
        return stores[0].lines() if stores else {}

    def _holds(self, name: str, line: int) -> bool:
        """True if a closed collection would be opened in the same state as when its card was made.

        line  last line of its log
        """
        kept = self._kept.get(name)
        if kept is None or kept.line < line or not kept.basis:
            return False
        return kept.basis == self._collections.basis(name)

    def _card(self, name: str, one: ServedCollection | None, line: int) -> Card | None:
        if one is not None:
            return Card.of(one)
        if self._holds(name, line):
            return self._kept[name]
        try:
            with self._collections.held(name, used=False) as opened:
                return self._put(name, opened)
        except UnopenedError:
            return None  # the reason is in the log

    def _keep(self, name: str, one: ServedCollection) -> None:
        """Store the card of a collection that is closing; the next list then need not open it."""
        self._kept.pop(name, None)
        with suppress(AudiosimError):
            self._put(name, one)

    def _put(self, name: str, one: ServedCollection) -> Card:
        card = self._kept[name] = Card.of(one)
        if isinstance(one.store, DatabaseStore) and card.basis and self._stored.get(name) != card.text:
            with suppress(AudiosimError):  # a card only saves time
                one.store.keep_card(card.text)
                self._stored[name] = card.text
        return card
