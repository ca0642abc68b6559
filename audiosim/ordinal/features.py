"""Features by name: their columns, and the design matrix of a model."""

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.ordinal import judgment, output
from audiosim.ordinal import sound as audio
from audiosim.ordinal.feature import Feature
from audiosim.stats.arrays import Array
from audiosim.text import choices

FEATURES: Mapping[str, Feature] = {
    one.name: one for module in (output, judgment, audio) for one in vars(module).values() if isinstance(one, Feature)
}
AUDIO = tuple(feature for feature in FEATURES.values() if feature.kind == "audio")


def factors(term: str) -> list[str]:
    """The features that a term multiplies: `fSYS:OV` is fSYS times OV."""
    return term.split(":")


def check_terms(terms: Sequence[str], known: Mapping[str, Feature] = FEATURES, lists: Sequence[str] = ()) -> None:
    """Raise an error that names the first unknown feature.

    lists  names of lists of features that it could have been, besides
    """
    for name in (name for term in terms for name in factors(term)):
        if name not in known:
            raise InputError(f"unknown feature {name!r}, expected one of {choices(name, [*lists, *known])}")


def needs_judgments(terms: Sequence[str], known: Mapping[str, Feature] = FEATURES) -> bool:
    """True if any feature of these terms depends on the judgments made so far."""
    return any(known[name].reads != "nothing" for term in terms for name in factors(term))


def columns(
    pool: Pool, grades: Array, names: Sequence[str], known: Mapping[str, Feature] = FEATURES
) -> dict[str, Array]:
    """The named features of all pairs of a pool: each (n,), NaN where unknown.

    grades  (n,) the judgments made so far, NaN where unjudged
    """
    check_terms(names, known)
    return {
        name: known[name].values(pool) if known[name].reads == "nothing" else known[name].values(pool, grades)
        for name in names
    }


def design(table: Mapping[str, Array], terms: Sequence[str]) -> Array:
    """(n, t) one column per term, from a table of features."""
    return np.column_stack([reduce(np.multiply, [table[name] for name in factors(term)]) for term in terms])
