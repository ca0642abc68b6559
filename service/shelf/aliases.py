"""Aliases: opaque identifiers of a campaign's queries and documents, for people who must not know what they hear."""

import hashlib
from collections.abc import Iterable
from typing import Protocol

BYTES = 12


class Called(Protocol):
    """Name of a query or document towards somebody."""

    def __call__(self, name: str, /) -> str: ...


def by_name(name: str) -> str:
    """The name itself: for those who may know it."""
    return name


class Aliases:
    """Aliases of names, the same on every server of a campaign and after a restart, so that nothing has to be stored.

        BLAKE2b(name), keyed by the campaign

    names     of queries and documents
    campaign  what tells this campaign from others; who knows it and a list of names can compute their aliases
    """

    def __init__(self, names: Iterable[str], campaign: str) -> None:
        self._key = hashlib.blake2b(campaign.encode(errors="surrogatepass")).digest()
        self._names = {self.of(name): name for name in names}

    def of(self, name: str) -> str:
        """The alias of a name."""
        data = name.encode(errors="surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=BYTES).hexdigest()

    def name(self, said: str) -> str:
        """The name that an alias stands for; a name stands for itself."""
        return self._names.get(said, said)
