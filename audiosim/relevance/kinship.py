"""Kinship of a pool with a model's training collections, by content or declaration, not by folder name.

    home      the same result lists: nearly all places in those of the pool occur in the training collection
    systems   other queries, but systems of the same names, and the same documents or a common `edition_of`
    edition   the same documents or a common `edition_of`, but other systems, or another scale
    stranger  any other collection

A place is a query, a document, and the document ranked above it. With fewer systems or queries, a smaller cutoff,
reordered lines or other judgments, all places still occur in the training collection; new queries bring new places.
Documents are the same if their identifier, genre and artist are.

The share of a model's knowledge that carries over is a correlation: a parameter that varies between collections with
variance T^2 varies around that of a kin collection with variance

    (1 - carried) T^2

in addition to the uncertainty about the kin itself. Everything carries over at home, and nothing to a stranger. For
kin the share is learned from collections with several editions: see `training.between_editions`.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Literal, get_args

import numpy as np

from audiosim.corpus.pool import Pool
from audiosim.relevance.content import documents_of, places_of
from audiosim.relevance.provenance import Source

Kinship = Literal["home", "systems", "edition", "stranger"]
NEAREST_FIRST: tuple[Kinship, ...] = get_args(Kinship)
KIN: tuple[Kinship, ...] = ("systems", "edition")
MOST = 0.95  # share of known places from which the pool is home: a corrected run does not make another collection
TOO_MANY = 2  # times as many pairs as known places: not all can be known, even if their number is underestimated
HALF = 0.5  # share of systems with known names from which they count as the same
SHARED = 0.05  # share of known documents from which they count as the same


def kinship_of(pool: Pool, sources: Iterable[Source]) -> Kinship:
    """The nearest kinship of a pool with any of the collections that a model was fitted to."""
    places, documents = cache(lambda: places_of(pool)), cache(lambda: documents_of(pool))
    found = (_kinship(pool, source, places, documents) for source in sources)
    return min(found, key=NEAREST_FIRST.index, default="stranger")


def _kinship(pool: Pool, source: Source, places: Callable[[], set[str]], documents: Callable[[], set[str]]) -> Kinship:
    """Kinship with one collection; a file without its content recognises home by the hash of the whole pool."""
    if source.pairs == len(pool.pairs) and source.pool == pool.content_hash:
        return "home"
    if source.places is None or source.documents is None:
        return "stranger"
    same_scale = source.scale == str(pool.scale)
    # A pool has at least one place per pair: with far more pairs than known places, there is no need to look.
    larger = np.count_nonzero(pool.found) > TOO_MANY * source.places.size
    if same_scale and not larger and source.places.containment(places()) >= MOST:
        return "home"
    series = {source.edition_of, source.collection} - {""}
    declared = pool.edition_of in series or source.edition_of == pool.collection
    if not declared and source.documents.containment(documents()) < SHARED:
        return "stranger"
    return "systems" if same_scale and same_systems(pool.systems, source.names) else "edition"


def same_systems(systems: Iterable[str], known: Iterable[str]) -> bool:
    """True if most systems have known names: they then count as the same, perhaps improved."""
    names = set(systems)
    return len(names & set(known)) >= HALF * len(names)
