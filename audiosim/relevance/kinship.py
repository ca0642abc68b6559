"""Kinship of a pool with the collections that a model learned from: told by content, or declared; not by a folder.

    home      the same result lists: nearly all places in those of the pool are among those learned from
    systems   other queries, but systems of the same names, and the same documents or a common `edition_of`
    edition   the same documents or a common `edition_of`, but other systems, or another scale
    stranger  any other

A place is a query, a document, and the document ranked above it. With fewer systems, fewer queries, a smaller cutoff,
lines in another order or other judgments all places are still among those learned from; new queries bring new ones.
Documents are the same if their identifier, genre and artist are.

How much of what a model learned carries over is a correlation: a parameter that differs between collections, with a
variance T^2, has about that of its kin a variance of

    (1 - carried) T^2

beside what is unknown of the kin itself. At home all carries over, to a stranger nothing; in between it is learned from
collections that have several editions: see `training.between_editions`.
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
MOST = 0.95  # share of the places that are known at home: a corrected run does not make another collection
TOO_MANY = 2  # times as many pairs as there are places are not in these, however far off their number is estimated
HALF = 0.5  # share of the systems that have known names where they are the same
SHARED = 0.05  # share of the documents that are known where they are the same


def kinship_of(pool: Pool, sources: Iterable[Source]) -> Kinship:
    """The nearest kinship of a pool with any of the collections that a model was fitted to."""
    places, documents = cache(lambda: places_of(pool)), cache(lambda: documents_of(pool))
    found = (_kinship(pool, source, places, documents) for source in sources)
    return min(found, key=NEAREST_FIRST.index, default="stranger")


def _kinship(pool: Pool, source: Source, places: Callable[[], set[str]], documents: Callable[[], set[str]]) -> Kinship:
    """Kinship with one collection; a file that does not have its content knows home by the hash of the whole pool."""
    if source.pairs == len(pool.pairs) and source.pool == pool.content_hash:
        return "home"
    if source.places is None or source.documents is None:
        return "stranger"
    same_scale = source.scale == str(pool.scale)
    # A pool has a place for each pair at least: where these are far more than all places learned from, no need to look.
    larger = np.count_nonzero(pool.found) > TOO_MANY * source.places.size
    if same_scale and not larger and source.places.containment(places()) >= MOST:
        return "home"
    series = {source.edition_of, source.collection} - {""}
    declared = pool.edition_of in series or source.edition_of == pool.collection
    if not declared and source.documents.containment(documents()) < SHARED:
        return "stranger"
    return "systems" if same_scale and same_systems(pool.systems, source.names) else "edition"


def same_systems(systems: Iterable[str], known: Iterable[str]) -> bool:
    """True if most of some systems have names among the known ones: they are taken for the same, perhaps improved."""
    names = set(systems)
    return len(names & set(known)) >= HALF * len(names)
