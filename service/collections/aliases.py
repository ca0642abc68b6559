"""Aliases: opaque identifiers of a campaign's queries and documents, for people who must not know what they hear."""

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Protocol

BYTES = 12
LONG = 4  # characters; names as long as this are recognised anywhere in a sentence
UNKEPT = secrets.token_hex(32)  # for campaigns without a database, which end with this process


class Called(Protocol):
    """A function that returns a query's or document's name in the form that a reader may know."""

    def __call__(self, name: str, /) -> str: ...


def by_name(name: str) -> str:
    """The name itself, for readers who may know it."""
    return name


class Aliases:
    """Aliases of names, the same on every server of a database and after a restart.

        BLAKE2b(name), keyed by BLAKE2b(campaign), keyed by the secret

    names     of queries and documents
    campaign  identifier of the collection, so that aliases of two campaigns cannot be compared
    secret    secret of the servers; with it and a list of titles, anybody could compute aliases
    """

    def __init__(self, names: Iterable[str], campaign: str, secret: str = UNKEPT) -> None:
        data = campaign.encode(errors="surrogatepass")
        self._key = hashlib.blake2b(data, key=bytes.fromhex(secret)).digest()
        self._names = {self.of(name): name for name in names}

    def of(self, name: str) -> str:
        """The alias of a name."""
        data = name.encode(errors="surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=BYTES).hexdigest()

    def name(self, said: str) -> str | None:
        """The name behind an alias; None for anything else, even for a name, so that guessing reveals nothing."""
        return self._names.get(said)


def renamed(words: str, names: Iterable[str], called: Called) -> str:
    """A sentence with other names for queries and documents.

    Names are replaced after "query" and "document" and in quotation marks; long names are also replaced as whole words.
    Short ones, such as "a" or "1", may be ordinary words of the sentence.
    """
    spoken = {form: called(name) for name in names if name for form in (name, repr(name)[1:-1])}
    patterns = []
    for form in sorted(spoken, key=len, reverse=True):
        text = re.escape(form)
        places = [rf"(?<={noun} ){text}(?!\w)" for noun in ("query", "document")] + [rf"(?<=['\"]){text}(?=['\"])"]
        patterns += [*places, rf"(?<!\w){text}(?!\w)"] if len(form) >= LONG else places
    return re.sub("|".join(patterns), lambda found: spoken[found[0]], words) if patterns else words
