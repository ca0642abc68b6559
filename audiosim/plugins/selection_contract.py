"""Contract of selection rules, as checks that name violations in words.

A rule gives every pair of the pool a weight, the value of its judgment: a finite number, 0 or more. The same belief and
ranking give the same weights, regardless of other requests. A rule is called again after every batch of judgments, and
never within one.
"""

import numpy as np

from audiosim.errors import InputError
from audiosim.joint.estimators import uniform
from audiosim.plugins.contents import made_rule
from audiosim.ranking.expected import ExpectedScores, rank
from audiosim.ranking.rules import SelectionRule, SelectionRuleFactory
from audiosim.stats.arrays import Array
from audiosim.text import one_line


def check_selection_rule(factory: SelectionRuleFactory, expected: ExpectedScores, rng: np.random.Generator) -> None:
    """Check a rule against its contract; an InputError names the violation.

    factory   the installed factory
    expected  expected scores by any measure, in a pool of at least two pairs
    rng       generator for trial judgments
    """
    rule = made_rule(factory, expected, 0)
    pool = expected.pool
    grades = np.full(len(pool.pairs), np.nan)
    first = _weights(rule, expected, grades).copy()
    some = rng.permutation(len(grades))[: max(1, len(grades) // 2)]
    grades[some] = rng.choice(pool.scale.levels, len(some))
    _weights(rule, expected, grades)
    if not np.array_equal(first, _weights(rule, expected, np.full(len(grades), np.nan))):
        raise InputError(f"selection rule {rule.name}: the same judgments give different weights after other requests")


def _weights(rule: SelectionRule, expected: ExpectedScores, grades: Array) -> Array:
    belief = uniform(expected.pool).predict(grades)
    ranking = rank(expected, "uniform", expected.scores(belief), int(belief.judged.sum()))
    try:
        weights: object = rule.weights(belief, ranking)
    except Exception as error:
        raise InputError(f"selection rule {rule.name}: weights raises {one_line(error)}") from error
    if not isinstance(weights, np.ndarray) or weights.shape != grades.shape:
        found = getattr(weights, "shape", type(weights).__name__)
        raise InputError(f"selection rule {rule.name}: weights must be an array of {len(grades)}, got {found}")
    if weights.dtype.kind not in "fiu":
        raise InputError(f"selection rule {rule.name}: weights must be an array of numbers, got {weights.dtype}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InputError(f"selection rule {rule.name}: weights must be finite and 0 or more")
    return weights
