"""Definition of a feature: a named column of numbers, one for each pair of a pool."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal, TypeVar
from weakref import WeakKeyDictionary

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.stats.arrays import Array

FeatureKind = Literal["output", "judgment", "audio"]
Reads = Literal["nothing", "own query", "other queries", "all queries"]
Subject = Literal["retrieval", "genre", "artist"]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Feature:
    """A named column, with its description for model files.

    name     letters and digits, such as fSYS
    kind     its source: the systems' output, judgments, or sound
    reads    queries from which it uses judgments; a query without judgments has no values of kind `own query`
    version  version of the definition, from 1: it rises when the same data give different values
    meaning  description in one line
    values   (n,) values of all pairs of a pool, NaN where unknown; if it reads judgments, also given the (n,) grades of
             all pairs, NaN where unjudged, of which the pair's own never enters its value
    about    its subject, unless it is sound: the systems that retrieved a document, or the document's genre or artist
    """

    name: str
    kind: FeatureKind
    reads: Reads
    version: int
    meaning: str
    values: Callable[..., Array]
    about: Subject = "retrieval"

    def __post_init__(self) -> None:
        if not self.name.isalnum():
            raise InputError(f"the name of a feature must be letters and digits, got {self.name!r}")
        if self.version < 1:
            raise InputError(f"the version of feature {self.name} must be at least 1, got {self.version}")


def once_per_pool(compute: Callable[[Pool], Result]) -> Callable[[Pool], Result]:
    """The same function with its result cached as long as the pool exists; the result must not refer to the pool."""
    results: WeakKeyDictionary[Pool, Result] = WeakKeyDictionary()

    @wraps(compute)
    def kept(pool: Pool) -> Result:
        if pool not in results:
            results[pool] = compute(pool)
        return results[pool]

    return kept
