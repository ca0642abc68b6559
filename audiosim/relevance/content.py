"""Content of a pool, whatever its folder is called, and sketches from which to tell how much two contents share."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from audiosim.corpus.pool import Pool

KEPT = 256  # smallest hashes: a share of 1/2 is told with a standard error of .03
BYTES = 4  # of a hash


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of the items of a set: a sample of them, and the same one of equal items in any other set.

    hashes  hexadecimal, rising
    whole   whether these are all there are

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
        """Estimate of the number of items, off by a sixteenth or so: the kept hashes are as dense as all of them."""
        return len(self.hashes) if self.whole else (len(self.hashes) - 1) * 256**BYTES / int(self.hashes[-1], 16)

    def containment(self, items: Iterable[str]) -> float:
        """Estimate of the share of other items that are in the set; 0 where none of them is sampled.

        |A and B| / |B|,  from those of B whose hash is no larger than the largest that is kept of A
        """
        largest = self.hashes[-1] if self.hashes else ""
        sampled = {code for code in map(_hash, items) if self.whole or code <= largest}
        return len(sampled & set(self.hashes)) / len(sampled) if sampled else 0.0


def places_of(pool: Pool) -> set[str]:
    """The places of all result lists down to the cutoff: query, document, and the document ranked above it.

    Shingles of two documents, as Broder has them: documents that stand together in one order are no coincidence, even
    where identifiers are as common as d1 and d2.
    """
    ranks = pool.ranks.tocoo()
    order = np.lexsort((ranks.data, pool.query[ranks.col], ranks.row))
    place, rank = ranks.col[order], ranks.data[order]
    above = np.where(rank > 1, np.roll(place, 1), -1)  # of one system and query ranks go on from 1
    found = np.unique(np.stack([place, above], axis=1), axis=0)
    named = ((pool.pairs[at], pool.pairs[over].document if over >= 0 else "") for at, over in found.tolist())
    return {f"{pair.query}\0{pair.document}\0{over}" for pair, over in named}


def documents_of(pool: Pool) -> set[str]:
    """The documents that some system retrieved, with what is known of them: identifier, genre and artist."""
    genres, artists = ((*names, "") for names in (pool.genre_names, pool.artist_names))  # place -1 is the unknown one
    found = np.flatnonzero(pool.found)
    codes: dict[str, int] = {}
    document = [codes.setdefault(pool.pairs[place].document, len(codes)) for place in found.tolist()]
    known = np.unique(np.stack([np.array(document, dtype=np.int64), pool.genre[found], pool.artist[found]]), axis=1)
    names = tuple(codes)
    return {f"{names[one]}\0{genres[genre]}\0{artists[artist]}" for one, genre, artist in known.T.tolist()}


def _hash(item: str) -> str:
    return blake2b(item.encode(), digest_size=BYTES).hexdigest()
