"""Contracts of measures, selection rules and stopping rules: one function each, for the tests of a plugin.

Each raises an InputError that names the violation in words.
"""

import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audiosim.collection.values import BINARY, BROAD, FINE, Judgment, Scale
from audiosim.errors import InputError
from audiosim.joint.contract import foreign
from audiosim.joint.estimators import uniform
from audiosim.measures.lists import discounted, gain_of, share_of
from audiosim.measures.measure import Definition, Measure, Parameter, ParameterValue, as_defined, score
from audiosim.measures.satisfaction import user_form
from audiosim.ranking.expected import ExpectedScores, rank
from audiosim.ranking.linear import weights_of_ranks
from audiosim.ranking.rules import SelectionRule, SelectionRuleFactory, made_rule
from audiosim.ranking.selection import Selection
from audiosim.ranking.stopping import StoppingDefinition, StoppingRule
from audiosim.stats.arrays import Array
from audiosim.text import one_line

SYSTEMS, QUERIES, JUDGED = 3, 4, 9
CUTOFF = 5
ROUNDING = 1e-9  # relative tolerance of a score: sums may be taken in another order
PADDING = ((0, 0), (0, 0), (0, 2))  # two further ranks in (s, q, n)
SCALES = (FINE, BROAD, BINARY, Scale("uneven", (0.0, 0.5, 1.0, 3.0)))


def check_measure(definition: Definition, rng: np.random.Generator) -> None:
    """Check a measure against its contract; an InputError names the violation.

    A score is a finite number for each ranking, on any scale; grades may lie between its levels, as expected grades do.
    A measure takes the arguments of `audiosim.measures.measure.score` and does not modify them. Rankings get the same
    scores together as separately, with any number of axes before the last. Ranks without a document (NaN) at the end of
    a list change nothing, and neither do the zeros after the last judged document. An empty list scores 0. With default
    parameters, a list with the highest grade at every rank scores more than 0, and all scores are from 0 to 1, since
    intervals are cut to that range. Other parameters, such as form=original, may give scores outside.

    A measure declared as a weighted sum of gains scores exactly that sum for all grades. If a measure names another one
    as its form on two levels, both have the same scores there, in their user-oriented forms.

    A score may fall when a grade rises: a better grade also raises the ideal, so a relative score may fall.

    definition  the installed definition
    rng         generator for trial grades and parameters

    """
    for measure in _choices(definition, rng):
        _check_pickles(measure)
        for scale in SCALES:
            if measure.lowest_rel > scale.maximum:
                continue  # refused for such a scale: see `expected_scores`
            checked = _Checked(measure, scale)
            checked.check_edges()
            checked.check_rank_weights()
            for depth in (1, CUTOFF - 2, CUTOFF, CUTOFF + 3):
                checked.check_rankings(*_rankings(scale, depth, rng))


def _choices(definition: Definition, rng: np.random.Generator) -> Iterator[Measure]:
    """The measure with defaults, then with each word of each parameter, and with a number for each numeric one."""
    yield Measure(definition, CUTOFF)
    for parameter in definition.parameters:
        needed: tuple[tuple[str, ParameterValue], ...] = () if parameter.needs is None else (parameter.needs,)
        for value in _values(parameter, rng):
            yield Measure(definition, CUTOFF, (*needed, (parameter.name, value)))


def _values(parameter: Parameter, rng: np.random.Generator) -> tuple[ParameterValue, ...]:
    """Each word, or a number; for a text with a pattern only the default can be tried."""
    if parameter.choices or parameter.pattern:
        return parameter.choices
    low = parameter.low if math.isfinite(parameter.low) else min(parameter.high, 0.0) - 2
    return (float(rng.uniform(low, min(parameter.high, low + 2))),)


def _rankings(scale: Scale, depth: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """(s, q, n) grades and (q, m) judged ones, some lists shorter than others; half of the grades between levels."""
    levels = np.array(scale.levels)
    judged = rng.choice(levels, (QUERIES, JUDGED))
    judged = np.where(rng.random(judged.shape) < 0.5, judged, rng.uniform(0, scale.maximum, judged.shape))
    lists = [[rng.permutation(row)[:depth] for row in judged] for _ in range(SYSTEMS)]
    grades: Array = np.array(lists)
    lengths = rng.integers(0, depth + 1, (SYSTEMS, QUERIES, 1))
    return np.where(np.arange(depth) < lengths, grades, np.nan), -np.sort(-judged, axis=1)


def _check_pickles(measure: Measure) -> None:
    try:
        same = pickle.loads(pickle.dumps(measure)) == measure  # noqa: S301, written just here
    except Exception as error:
        raise InputError(f"{measure}: cannot be sent to another process: {one_line(error)}") from error
    if not same:
        raise InputError(f"{measure}: becomes a different measure when it is sent to another process")


@dataclass(frozen=True)
class _Checked:
    """A measure on a scale, with a check of every score."""

    measure: Measure
    scale: Scale

    @property
    def _label(self) -> str:
        return f"{self.measure} on the {self.scale.name} scale"

    def score(self, grades: Array, judged: Array) -> Array:
        """Score by the measure, if it is well-formed."""
        given = grades.copy(), judged.copy()
        with foreign(f"{self._label}: score", f", for grades {grades.shape} and judged {judged.shape}"):
            found: object = as_defined(self.measure, self.scale, *given)
        if not all(np.array_equal(*pair, equal_nan=True) for pair in zip(given, (grades, judged), strict=True)):
            raise InputError(f"{self._label}: score changes the arrays passed to it")
        if not isinstance(found, np.ndarray | np.generic) or not np.issubdtype(found.dtype, np.float64):
            came = f"array of {found.dtype}" if isinstance(found, np.ndarray) else type(found).__name__
            raise InputError(f"{self._label}: score must return an array of float64, got {came}")
        if found.shape != grades.shape[:-1]:
            raise InputError(
                f"{self._label}: scores of grades {grades.shape} must be {grades.shape[:-1]}, got {found.shape}"
            )
        self._check_values(np.asarray(found))
        return np.asarray(found)

    def _check_values(self, found: Array) -> None:
        if not np.all(np.isfinite(found)):
            raise InputError(f"{self._label}: scores must be finite, got {found[~np.isfinite(found)].flat[0]}")
        wrong = (found < -ROUNDING) | (found > 1 + ROUNDING)
        if not self.measure.parameters and np.any(wrong):
            raise InputError(
                f"{self._label}: scores must be 0 to 1 with default parameters, got {found[wrong].flat[0]:g}"
            )

    def check_edges(self) -> None:
        """Check lists without documents, without judgments, and with only the highest grade."""
        best = np.full(JUDGED, self.scale.maximum)
        for nothing in (np.empty(0), np.full(CUTOFF, np.nan)):
            for judged in (best, np.zeros(JUDGED), np.empty(0)):
                if (found := self.score(nothing, judged)) != 0:
                    raise InputError(
                        f"{self._label}: a list in which nothing was retrieved must score 0, got {found:g}"
                    )
        if (found := self.score(best, best)) <= 0 and not self.measure.parameters:
            raise InputError(f"{self._label}: the highest grade at every rank must score more than 0, got {found:g}")

    def check_rank_weights(self) -> None:
        """Check that weights are finite, one per rank, and proportional to a single document's score at that rank."""
        weights: object = self.measure.rank_weights
        if weights is None:
            return
        if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.shape != (CUTOFF,):
            found = getattr(weights, "shape", type(weights).__name__)
            raise InputError(f"{self._label}: rank_weights must be an array of {CUTOFF} float64, got {found}")
        if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not weights[0] > 0:
            raise InputError(f"{self._label}: rank_weights must be finite, 0 or more, the first above 0, got {weights}")
        if not self.measure.relative:
            one_each = np.where(np.eye(CUTOFF) > 0, self.scale.maximum, 0.0)
            alone = score(self.measure, self.scale, one_each, np.zeros((CUTOFF, 1)))
            self._compare(
                weights_of_ranks(self.measure, self.scale), alone, "documents must score in proportion to rank_weights"
            )

    def _check_sum(self, grades: Array, judged: Array, found: Array) -> None:
        """Check that the scores are the weighted sums in the definition."""
        gain, weights = gain_of(self.measure), self.measure.rank_weights
        if weights is None:
            return
        if self.measure.relative:
            expected = share_of(discounted(gain(grades), weights), discounted(gain(judged), weights))
        else:
            highest = gain(np.array(self.scale.maximum))
            expected = discounted(gain(grades) / highest, weights_of_ranks(self.measure, self.scale))
        self._compare(np.asarray(expected), found, "scores must be the sum of gains weighted by rank_weights")

    def _check_two_levels(self, grades: Array, judged: Array) -> None:
        """Check that on two levels it has the same scores as the measure that it names."""
        other = self.measure.definition.two_levels
        if other is None or self.measure.parameters or len(self.scale.levels) > 2:
            return
        grades, judged = (np.where(values > 0, self.scale.maximum, 0 * values) for values in (grades, judged))
        own, named = (
            score(user_form(measure), self.scale, grades, judged)
            for measure in (self.measure, Measure(other, self.measure.cutoff))
        )
        self._compare(named, own, f"on two levels it must have the scores of {other.name}")

    def check_rankings(self, grades: Array, judged: Array) -> None:
        """Check that lists have the same scores together and alone, every time, and with any padding."""
        together = self.score(grades, judged)
        if not np.array_equal(together, self.score(grades, judged)):
            raise InputError(f"{self._label}: two scores of the same rankings differ")
        self._check_sum(grades, judged, together)
        self._check_two_levels(grades, judged)
        alone = [[self.score(grades[s, q], judged[q]) for q in range(QUERIES)] for s in range(SYSTEMS)]
        self._compare(together, np.array(alone), "rankings must have the same scores together as one by one")
        turned = self.score(grades[None, :, ::-1], judged[::-1])
        self._compare(together, turned[0, :, ::-1], "the order of the queries must not matter, nor one more axis")
        drawn = self.score(np.stack([grades, grades]), np.stack([judged, judged])[:, None])
        self._compare(np.stack([together, together]), drawn, "judged may also have an axis of draws")
        longer = self.score(np.pad(grades, PADDING, constant_values=np.nan), np.pad(judged, PADDING[1:]))
        self._compare(together, longer, "ranks without a document and zeros after the judged ones must change nothing")

    def _compare(self, expected: Array, found: Array, rule: str) -> None:
        wrong = ~np.isclose(found, expected, rtol=ROUNDING, atol=ROUNDING)
        if np.any(wrong):
            there, here = expected[wrong].flat[0], found[wrong].flat[0]
            raise InputError(f"{self._label}: {rule}, got {here:g} instead of {there:g}")


def check_selection_rule(factory: SelectionRuleFactory, expected: ExpectedScores, rng: np.random.Generator) -> None:
    """Check a selection rule against its contract; an InputError names the violation.

    A rule gives every pair of the pool a weight, the value of its judgment: a finite number, 0 or more. The same belief
    and ranking give the same weights, regardless of other requests. A rule is called again after every batch of
    judgments, and never within one.

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


def _weights(tried: SelectionRule, expected: ExpectedScores, grades: Array) -> Array:
    belief = uniform(expected.pool).predict(grades)
    ranking = rank(expected, "uniform", expected.scores(belief), int(belief.judged.sum()))
    with foreign(f"selection rule {tried.name}: weights"):
        weights: object = tried.weights(belief, ranking)
    if not isinstance(weights, np.ndarray) or weights.shape != grades.shape:
        found = getattr(weights, "shape", type(weights).__name__)
        raise InputError(f"selection rule {tried.name}: weights must be an array of {len(grades)}, got {found}")
    if weights.dtype.kind not in "fiu":
        raise InputError(f"selection rule {tried.name}: weights must be an array of numbers, got {weights.dtype}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InputError(f"selection rule {tried.name}: weights must be finite and 0 or more")
    return weights


def check_stopping_rule(definition: StoppingDefinition, expected: ExpectedScores, rng: np.random.Generator) -> None:
    """Check a kind of stopping rule against its contract; an InputError names the violation.

    A text is parsed to a rule, and the rule's text is parsed to an equal one. For a judging loop with none, some and
    all pairs judged, a rule gives a finite level, and True if enough is judged; the same state gives the same answer,
    regardless of other requests.

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
    with foreign(f"stopping rule {definition.name}: {text}"):
        rule: object = definition.rule(text)
    if not isinstance(rule, StoppingRule):
        raise InputError(f"stopping rule {definition.name} must have level and reached, got {type(rule).__name__}")
    return rule


def _asked(tried: StoppingRule, name: str, state: Selection) -> tuple[float, bool]:
    with foreign(f"stopping rule {name}:"):
        level: object = tried.level(state)
        reached: object = tried.reached(state)
    if not isinstance(level, float | int | np.floating | np.integer) or not np.isfinite(level):
        raise InputError(f"stopping rule {name}: level must be a finite number, got {level!r}")
    if not isinstance(reached, bool | np.bool_):
        raise InputError(f"stopping rule {name}: reached must be True or False, got {reached!r}")
    return float(level), bool(reached)
