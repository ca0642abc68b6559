"""Contract of stopping rules, as checks that name violations in words.

A text is parsed to a rule, and the rule's text is parsed to an equal one. For a judging loop with none, some and all
pairs judged, a rule gives a finite level, and True if enough is judged; the same state gives the same answer,
regardless of other requests.
"""

import numpy as np

from audiosim.collection.values import Judgment
from audiosim.errors import AudiosimError, InputError
from audiosim.joint.estimators import uniform
from audiosim.ranking.expected import ExpectedScores
from audiosim.ranking.selection import Selection
from audiosim.ranking.stopping import StoppingDefinition, StoppingRule, parse_stopping_rule
from audiosim.text import one_line


def check_stopping_rule(definition: StoppingDefinition, expected: ExpectedScores, rng: np.random.Generator) -> None:
    """Check a kind of stopping rule against its contract; an InputError names the violation.

    definition  the installed definition
    expected    expected scores by any measure, in a pool of at least two pairs
    rng         generator for trial judgments
    """
    rule = _parsed(definition, definition.example)
    if _parsed(definition, str(rule)) != rule:
        raise InputError(f"stopping rule {definition.name}: {rule} must be parsed as an equal rule")
    pool, pairs = expected.pool, expected.pool.pairs
    grades = rng.choice(pool.scale.levels, len(pairs)).tolist()
    judgments = [Judgment(*pair, grade) for pair, grade in zip(pairs, grades, strict=True)]
    counts = (0, len(pairs) // 2, len(pairs))
    states = [Selection.start(pool, expected, uniform(pool), judgments[:count]) for count in counts]
    before = [_asked(rule, definition.name, state) for state in states]
    if before != [_asked(rule, definition.name, state) for state in states]:
        raise InputError(f"stopping rule {definition.name}: the same judgments give a different answer the second time")


def _parsed(definition: StoppingDefinition, text: str) -> StoppingRule:
    try:
        rule: object = parse_stopping_rule(text, {definition.name: definition})
    except AudiosimError:
        raise
    except Exception as error:
        raise InputError(f"stopping rule {definition.name}: {text} raises {one_line(error)}") from error
    if not isinstance(rule, StoppingRule):
        raise InputError(f"stopping rule {definition.name} must have level and reached, got {type(rule).__name__}")
    return rule


def _asked(rule: StoppingRule, name: str, state: Selection) -> tuple[float, bool]:
    try:
        level: object = rule.level(state)
        reached: object = rule.reached(state)
    except AudiosimError:
        raise
    except Exception as error:
        raise InputError(f"stopping rule {name}: raises {one_line(error)}") from error
    if not isinstance(level, float | int | np.floating | np.integer) or not np.isfinite(level):
        raise InputError(f"stopping rule {name}: level must be a finite number, got {level!r}")
    if not isinstance(reached, bool | np.bool_):
        raise InputError(f"stopping rule {name}: reached must be True or False, got {reached!r}")
    return float(level), bool(reached)
