"""Definition of a feature: a named column of numbers, one for each pair of a pool."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal, Protocol, TypeVar
from weakref import WeakKeyDictionary

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers

FeatureKind = Literal["output", "judgment", "audio"]
Reads = Literal["nothing", "own query", "other queries", "all queries"]
Subject = Literal["retrieval", "genre", "artist"]
Result = TypeVar("Result")


class Learned(Protocol):
    """A column that depends on the judgments made so far; a pair's own judgment never enters its own value."""

    def compute(self, pool: Pool, grades: Array, rows: Integers) -> Array:
        """(r,) the values of some pairs, NaN where unknown.

        grades  (n,) grades of all pairs, NaN where unjudged
        rows    (r,) places of the pairs in the pool
        """
        ...

    def touched(self, pool: Pool, index: int) -> Integers:
        """Pairs, rising, with a value that a judgment of the pair at `index` may change; never `index` itself."""
        ...


@dataclass(frozen=True, slots=True)
class Feature:
    """A named column, with its description for model files.

    name     letters and digits, such as fSYS
    kind     its source: the systems' output, judgments, or sound
    reads    queries from which it uses judgments; a query without judgments has no values of kind `own query`
    version  version of the definition, from 1: it rises when the same data give different values
    meaning  description in one line
    values   (n,) values of all pairs of a pool, NaN where unknown; or their computation from judgments
    about    its subject, unless it is sound: the systems that retrieved a document, or the document's genre or artist
    """

    name: str
    kind: FeatureKind
    reads: Reads
    version: int
    meaning: str
    values: Callable[[Pool], Array] | Learned
    about: Subject = "retrieval"

    def __post_init__(self) -> None:
        if not self.name.isalnum():
            raise InputError(f"the name of a feature must be letters and digits, got {self.name!r}")
        if self.version < 1:
            raise InputError(f"the version of feature {self.name} must be at least 1, got {self.version}")
        if callable(self.values) != (self.reads == "nothing"):
            raise InputError(f"feature {self.name} must be learned if and only if it reads judgments")


def once_per_pool(compute: Callable[[Pool], Result]) -> Callable[[Pool], Result]:
    """The same function with its result cached as long as the pool exists; the result must not refer to the pool."""
    results: WeakKeyDictionary[Pool, Result] = WeakKeyDictionary()

    @wraps(compute)
    def kept(pool: Pool) -> Result:
        if pool not in results:
            results[pool] = compute(pool)
        return results[pool]

    return kept
