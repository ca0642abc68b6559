"""Rules that choose what to judge: found by name, and checked against their contract.

A rule says of every pair of the pool what its judgment is worth: a finite number, 0 or more. The same belief and
ranking give the same weights, whatever was asked between. A rule is asked again after every
batch of judgments, and never between.
"""

from importlib.metadata import EntryPoint

import numpy as np

from audiosim.arrays import Array
from audiosim.errors import InputError, did_you_mean
from audiosim.expected.estimation import ExpectedScores, rank
from audiosim.plugins.installed import choose, installed, load, one_line, told
from audiosim.relevance.estimators import uniform
from audiosim.selection.rules import RULES, Rule, RuleFactory, make_rule

SELECTIONS = "audiosim.selections"


def find_rule(name: str, expected: ExpectedScores, seed: int = 0) -> Rule:
    """The rule that a `--rule` names: one of audiosim's, or an installed one.

    seed  of what it may draw

    Looks at what is installed only where the name is none of audiosim's.
    """
    if name in RULES:
        return make_rule(name, expected, seed)
    points = installed(SELECTIONS)
    point = choose(points, name)
    if point is None:
        known = dict.fromkeys([*RULES, *(point.name for point in points)])
        raise InputError(f"unknown rule {name!r}, expected one of {', '.join(known)}{did_you_mean(name, known)}")
    return _made(load_rule(point), expected, seed)


def load_rule(point: EntryPoint) -> RuleFactory:
    """The factory that an entry point of `audiosim.selections` stands for."""
    loaded = load(point)
    if not callable(loaded):
        raise InputError(f"{told(point)} must be a function of expected scores and a seed, got {type(loaded).__name__}")
    factory: RuleFactory = loaded
    return factory


def check_rule(factory: RuleFactory, expected: ExpectedScores, rng: np.random.Generator) -> None:
    """Check a rule against its contract; an InputError says what it does wrong.

    factory   as installed
    expected  of any measure, in a pool of at least two pairs
    rng       for the judgments that are tried
    """
    rule = _made(factory, expected, 0)
    pool = expected.pool
    grades = np.full(len(pool.pairs), np.nan)
    first = _weights(rule, expected, grades).copy()
    some = rng.permutation(len(grades))[: max(1, len(grades) // 2)]
    grades[some] = rng.choice(pool.scale.levels, len(some))
    _weights(rule, expected, grades)
    if not np.array_equal(first, _weights(rule, expected, np.full(len(grades), np.nan))):
        raise InputError(f"rule {rule.name}: the same judgments give other weights after others were asked for")


def _made(factory: RuleFactory, expected: ExpectedScores, seed: int) -> Rule:
    try:
        rule = factory(expected, seed)
    except Exception as error:  # it is another's code, so it may raise anything
        raise InputError(f"a rule cannot be made: {one_line(error)}") from error
    if not isinstance(getattr(rule, "name", None), str) or not rule.name:
        raise InputError("a rule must have a name")
    return rule


def _weights(rule: Rule, expected: ExpectedScores, grades: Array) -> Array:
    belief = uniform(expected.pool).predict(grades)
    ranking = rank(expected, "uniform", expected.scores(belief), int(belief.judged.sum()))
    try:
        weights: object = rule.weights(belief, ranking)
    except Exception as error:
        raise InputError(f"rule {rule.name}: weights raises {one_line(error)}") from error
    if not isinstance(weights, np.ndarray) or weights.shape != grades.shape:
        found = getattr(weights, "shape", type(weights).__name__)
        raise InputError(f"rule {rule.name}: weights must be an array of {len(grades)}, got {found}")
    if weights.dtype.kind not in "fiu":
        raise InputError(f"rule {rule.name}: weights must be an array of numbers, got {weights.dtype}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InputError(f"rule {rule.name}: weights must be finite and 0 or more")
    return weights
