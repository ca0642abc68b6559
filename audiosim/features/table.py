"""Features by name: one column, or the matrix that a model multiplies."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features import judgment, output

OUTPUT: Mapping[str, Callable[[Pool], Array]] = MappingProxyType(
    {
        "fSYS": output.system_share,
        "fTEAM": output.team_share,
        "OV": output.overlap,
        "aRANK": output.mean_rank,
        "sGEN": output.same_genre,
        "fGEN": output.genre_share,
        "fART": output.artist_share,
    }
)
JUDGMENT: Mapping[str, Callable[[Pool, Array], Array]] = MappingProxyType(
    {
        "aSYS": judgment.mean_grade_of_systems,
        "aART": judgment.mean_grade_of_artist,
    }
)


def factors(term: str) -> list[str]:
    """The features that a term multiplies: `fSYS:OV` is fSYS times OV."""
    return term.split(":")


def check_terms(terms: Sequence[str]) -> None:
    """An error that names the first feature nobody knows."""
    for name in (name for term in terms for name in factors(term)):
        if name not in OUTPUT and name not in JUDGMENT:
            raise InputError(f"unknown feature {name!r}, expected one of {', '.join([*OUTPUT, *JUDGMENT])}")


def needs_judgments(terms: Sequence[str]) -> bool:
    """Whether any feature of these terms depends on the judgments made so far."""
    return any(name in JUDGMENT for term in terms for name in factors(term))


def columns(pool: Pool, grades: Array, names: Sequence[str]) -> dict[str, Array]:
    """The named features of all pairs of a pool: each (n,), NaN where unknown.

    grades  (n,) the judgments made so far, NaN where unjudged
    """
    check_terms(names)
    return {name: OUTPUT[name](pool) if name in OUTPUT else JUDGMENT[name](pool, grades) for name in names}


def design(table: Mapping[str, Array], terms: Sequence[str]) -> Array:
    """(n, t) one column per term, from a table of features."""
    return np.column_stack([np.prod([table[name] for name in factors(term)], axis=0) for term in terms])
