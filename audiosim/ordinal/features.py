"""Features by name: one column, the design matrix of a model, or a table updated with the judgments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.ordinal import judgment, output
from audiosim.ordinal import sound as audio
from audiosim.ordinal.feature import Feature
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.text import did_you_mean

FEATURES: Mapping[str, Feature] = {
    one.name: one for module in (output, judgment, audio) for one in vars(module).values() if isinstance(one, Feature)
}
AUDIO = tuple(feature for feature in FEATURES.values() if feature.kind == "audio")
MANY = 32  # number of changed judgments from which a table is computed again


def factors(term: str) -> list[str]:
    """The features that a term multiplies: `fSYS:OV` is fSYS times OV."""
    return term.split(":")


def check_terms(terms: Sequence[str], known: Mapping[str, Feature] = FEATURES) -> None:
    """Raise an error that names the first unknown feature."""
    for name in (name for term in terms for name in factors(term)):
        if name not in known:
            raise InputError(f"unknown feature {name!r}, expected one of {', '.join(known)}{did_you_mean(name, known)}")


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
    return {name: _column(known[name], pool, grades) for name in names}


def design(table: Mapping[str, Array], terms: Sequence[str]) -> Array:
    """(n, t) one column per term, from a table of features."""
    return np.column_stack([reduce(np.multiply, [table[name] for name in factors(term)]) for term in terms])


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Features of all pairs of a pool in one state of the judgments; immutable: `after` returns the next one.

    pool      n pairs
    features  its columns
    grades    (n,) the judgments made so far, NaN where unjudged
    columns   each feature's (n,) values, NaN where unknown
    computed  rows for which a feature was computed in this step, rising
    """

    pool: Pool
    features: tuple[Feature, ...]
    grades: Array
    columns: Mapping[str, Array]
    computed: Integers

    @classmethod
    def of(cls, pool: Pool, grades: Array, features: Iterable[Feature]) -> "Table":
        """The table of some features, computed from scratch."""
        features = tuple(features)
        table = {feature.name: _column(feature, pool, grades) for feature in features}
        return cls(pool, features, grades.copy(), table, np.arange(len(grades)))

    def after(self, grades: Array) -> "Table":
        """The table after a change of judgments: equal to a new one, but only the affected values are computed."""
        changed = np.flatnonzero(~((grades == self.grades) | (np.isnan(grades) & np.isnan(self.grades))))
        learned = [feature for feature in self.features if not callable(feature.values)]
        if len(changed) == 0 or not learned:
            return replace(self, grades=grades.copy(), computed=np.empty(0, dtype=np.int64))
        if len(changed) > MANY:
            again = {feature.name: _column(feature, self.pool, grades) for feature in learned}
            return replace(
                self, grades=grades.copy(), columns={**self.columns, **again}, computed=np.arange(len(grades))
            )
        return self._recomputed(grades, changed, learned)

    def _recomputed(self, grades: Array, changed: Integers, learned: Sequence[Feature]) -> "Table":
        table, computed = dict(self.columns), np.zeros(len(grades), dtype=np.bool_)
        for feature in learned:
            rows = np.flatnonzero(_touched(feature, self.pool, changed))
            if len(rows):
                table[feature.name] = _with(table[feature.name], rows, _compute(feature, self.pool, grades, rows))
                computed[rows] = True
        return replace(self, grades=grades.copy(), columns=table, computed=np.flatnonzero(computed))


def _column(feature: Feature, pool: Pool, grades: Array) -> Array:
    return _compute(feature, pool, grades, np.arange(len(grades)))


def _compute(feature: Feature, pool: Pool, grades: Array, rows: Integers) -> Array:
    return feature.values(pool) if callable(feature.values) else feature.values.compute(pool, grades, rows)


def _touched(feature: Feature, pool: Pool, changed: Integers) -> Booleans:
    touched = np.zeros(len(pool.pairs), dtype=np.bool_)
    for index in changed.tolist():
        if not callable(feature.values):
            touched[feature.values.touched(pool, index)] = True
    return touched


def _with(column: Array, rows: Integers, values: Array) -> Array:
    changed = column.copy()
    changed[rows] = values
    return changed
