"""Content of a pool, independent of its folder's name, and sketches that estimate the overlap of two contents."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from audiosim.corpus.pool import Pool

KEPT = 256  # number of smallest hashes kept: a share of 1/2 has a standard error of .03
BYTES = 4  # bytes of a hash


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a set's items: a random sample in which equal items of two sets agree.

    hashes  hexadecimal, rising
    whole   True if the sketch holds all items

    Broder (1997), "On the resemblance and containment of documents", doi:10.1109/SEQUEN.1997.666900.
    """

    hashes: tuple[str, ...]
    whole: bool

    @classmethod
    def of(cls, items: Iterable[str], kept: int = KEPT) -> "Sketch":
        """Sketch of some items, in any order, each counted once."""
        hashes = sorted(set(map(_hash, items)))
        return cls(tuple(hashes[:kept]), len(hashes) <= kept)

    @property
    def size(self) -> float:
        """Estimate of the number of items, with an error of about a sixteenth, from the density of the kept hashes."""
        return len(self.hashes) if self.whole else (len(self.hashes) - 1) * 256**BYTES / int(self.hashes[-1], 16)

    def containment(self, items: Iterable[str]) -> float:
        """Estimate of the share of other items that are in the set; 0 if none of them is sampled.

        |A and B| / |B|,  over the items of B whose hash is at most the largest kept for A
        """
        largest = self.hashes[-1] if self.hashes else ""
        sampled = {code for code in map(_hash, items) if self.whole or code <= largest}
        return len(sampled & set(self.hashes)) / len(sampled) if sampled else 0.0


def places_of(pool: Pool) -> set[str]:
    """The places of all result lists down to the cutoff: query, document, and the document ranked above it.

    These are shingles of two documents, as in Broder: two documents in the same order are hardly a coincidence,
    even if identifiers are as common as d1 and d2.
    """
    ranks = pool.ranks.tocoo()
    order = np.lexsort((ranks.data, pool.query[ranks.col], ranks.row))
    place, rank = ranks.col[order], ranks.data[order]
    above = np.where(rank > 1, np.roll(place, 1), -1)  # ranks of one system and query start at 1
    found = np.unique(np.stack([place, above], axis=1), axis=0)
    named = ((pool.pairs[at], pool.pairs[over].document if over >= 0 else "") for at, over in found.tolist())
    return {f"{pair.query}\0{pair.document}\0{over}" for pair, over in named}


def documents_of(pool: Pool) -> set[str]:
    """The retrieved documents with their metadata: identifier, genre and artist."""
    genres, artists = ((*names, "") for names in (pool.genre_names, pool.artist_names))  # code -1 is unknown
    found = np.flatnonzero(pool.found)
    codes: dict[str, int] = {}
    document = [codes.setdefault(pool.pairs[place].document, len(codes)) for place in found.tolist()]
    known = np.unique(np.stack([np.array(document, dtype=np.int64), pool.genre[found], pool.artist[found]]), axis=1)
    names = tuple(codes)
    return {f"{names[one]}\0{genres[genre]}\0{artists[artist]}" for one, genre, artist in known.T.tolist()}


def _hash(item: str) -> str:
    return blake2b(item.encode(), digest_size=BYTES).hexdigest()
