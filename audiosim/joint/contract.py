"""Contract of an estimator of relevance, as checks that name violations in words.

For any judgments, `predict` returns a Belief about every pair of the pool given these judgments: levels that rise
within the scale, probabilities with rows that sum to 1, the model used for each pair, and a prior of the gains,
correlated or not, which the belief itself conditions on the judgments. The same judgments give the same answer,
regardless of earlier requests. A pair's own judgment does not change its own prediction. Neither the given judgments
nor earlier answers are modified.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.errors import AudiosimError, InputError
from audiosim.joint.estimators import EstimatorFactory, RelevanceEstimator
from audiosim.joint.posterior import Belief
from audiosim.stats.arrays import Array
from audiosim.text import one_line

ROUNDING = 1e-9  # tolerance of a probability, which an estimator may compute in another order


@contextmanager
def foreign(what: str, where: str = "") -> Iterator[None]:
    """Run a plugin's code: any exception but our own is an InputError that says what raised it, and where."""
    try:
        yield
    except AudiosimError:  # its message explains the error
        raise
    except Exception as error:
        raise InputError(f"{what} raises {one_line(error)}{where}") from error


def check_estimator(factory: EstimatorFactory, text: str, pool: Pool, rng: np.random.Generator) -> None:
    """Check an estimator against the contract of RelevanceEstimator; an InputError names the violation.

    factory  makes the estimator of a pool
    text     text after the colon of `--model NAME:TEXT`
    pool     at least two pairs; grades are drawn for some of them
    """
    checked = _Checked(_make(factory, text, pool), pool)
    nothing = np.full(len(pool.pairs), np.nan)
    half, full = nothing.copy(), rng.choice(pool.scale.levels, len(nothing))
    some = rng.permutation(len(nothing))[: max(1, len(nothing) // 2)]
    half[some] = full[some]
    first = checked.predict(nothing, "nothing judged")
    kept = first.probabilities.copy()
    before = checked.predict(half, "half of the pairs judged").probabilities.copy()
    checked.check_repeats(half, before)
    if not np.array_equal(first.probabilities, kept):
        raise InputError(f"{checked.name}: a later prediction changes an earlier one")
    checked.check_history(nothing, kept, "nothing judged")
    checked.check_own_judgment(half, int(some[0]), before)
    checked.predict(full, "every pair judged")
    fresh = _Checked(_make(factory, text, pool), pool)
    fresh.check_history(half, before, "half of the pairs judged")


def _make(factory: EstimatorFactory, text: str, pool: Pool) -> RelevanceEstimator:
    with foreign("the factory of an estimator"):
        made = factory(pool, text)
    name, predict = getattr(made, "name", None), getattr(made, "predict", None)
    if not isinstance(name, str) or not name or not callable(predict):
        raise InputError(
            "the factory of an estimator must return an object with a name and a predict, "
            f"got {type(made).__name__} with name {name!r}"
        )
    return made


@dataclass(frozen=True)
class _Checked:
    """An estimator with a check of every prediction."""

    estimator: RelevanceEstimator
    pool: Pool

    @property
    def name(self) -> str:
        return self.estimator.name

    def predict(self, grades: Array, state: str) -> Belief:
        """Its belief, if it is about this pool and these judgments; a Belief checks itself.

        state  state of the judgments, in words
        """
        given = grades.copy()
        try:
            with foreign("predict", f", with {state}"):
                belief: object = self.estimator.predict(given)
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error.__cause__
        if not np.array_equal(given, grades, equal_nan=True):
            raise InputError(f"{self.name}: predict changes the grades passed to it")
        if not isinstance(belief, Belief):
            raise InputError(f"{self.name}: predict must return a Belief, got {type(belief).__name__}")
        n, scale = len(grades), self.pool.scale
        if len(belief.marginals) != n:
            raise InputError(f"{self.name}: there must be a row for each of {n} pairs, got {belief.marginals.shape}")
        if belief.maximum != scale.maximum:
            raise InputError(f"{self.name}: the highest grade must be {scale.maximum:g}, got {belief.maximum:g}")
        if not np.array_equal(belief.grades, grades, equal_nan=True):
            raise InputError(f"{self.name}: the grades of a Belief must be those passed to predict")
        return belief

    def check_repeats(self, grades: Array, before: Array) -> None:
        """Check that the same judgments twice in a row give the same answer to the last bit."""
        if not np.array_equal(before, self.predict(grades, "the same judgments again").probabilities):
            raise InputError(f"{self.name}: two predictions from the same judgments differ")

    def check_history(self, grades: Array, expected: Array, state: str) -> None:
        """Check that predictions depend only on the judgments, not on earlier predictions."""
        again = self.predict(grades, state).probabilities
        if again.shape != expected.shape or not np.allclose(again, expected, rtol=0, atol=ROUNDING):
            raise InputError(f"{self.name}: an earlier prediction changes the prediction with {state}")

    def check_own_judgment(self, grades: Array, row: int, before: Array) -> None:
        """Check that a judged pair's prediction ignores its own judgment, changed or withdrawn."""
        lowest, highest = self.pool.scale.levels[0], self.pool.scale.maximum
        for other in (highest if grades[row] == lowest else lowest, np.nan):
            changed = grades.copy()
            changed[row] = other
            after = self.predict(changed, "one judgment changed").probabilities
            if after.shape != before.shape or not np.allclose(before[row], after[row], rtol=0, atol=ROUNDING):
                raise InputError(f"{self.name}: a pair's own judgment changes its own prediction")
