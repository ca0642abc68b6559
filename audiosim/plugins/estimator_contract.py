"""What an estimator of relevance must keep to, as checks that say in words what it does wrong.

Whatever judgments there are, `predict` answers with a Prediction of every pair of the pool: levels that rise within the
scale, finite probabilities of which each row sums to 1, and the model that spoke for each pair. The same judgments give
the same answer, whatever was asked before. A pair's own judgment moves its own prediction not at all. Neither the
judgments handed over nor an earlier answer are changed.
"""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.errors import AudiosimError, InputError
from audiosim.plugins.points import one_line
from audiosim.relevance.estimators import EstimatorFactory, RelevanceEstimator
from audiosim.relevance.prediction import JointPrediction, Prediction

ROUNDING = 1e-9  # of a probability, where an estimator may compute the same in another order
SUMMING = 1e-6  # of a row of probabilities, which may come from arithmetic of less precision


def check_estimator(factory: EstimatorFactory, text: str, pool: Pool, rng: np.random.Generator) -> None:
    """Check an estimator against the contract of RelevanceEstimator; an InputError says what it does wrong.

    factory  makes the estimator of a pool
    text     what `--model NAME:TEXT` would hand over
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
    try:
        made = factory(pool, text)
    except AudiosimError:  # it says in words what is wrong with the text or the pool
        raise
    except Exception as error:
        raise InputError(f"the factory of an estimator raises {one_line(error)}") from error
    name, predict = getattr(made, "name", None), getattr(made, "predict", None)
    if not isinstance(name, str) or not name or not callable(predict):
        raise InputError(
            "the factory of an estimator must return an object with a name and a predict, "
            f"got {type(made).__name__} with name {name!r}"
        )
    return made


@dataclass(frozen=True)
class _Checked:
    """An estimator whose every prediction is looked at."""

    estimator: RelevanceEstimator
    pool: Pool

    @property
    def name(self) -> str:
        return self.estimator.name

    def predict(self, grades: Array, state: str) -> Prediction | JointPrediction:
        """What it predicts, if that is well-formed.

        state  of the judgments, in words
        """
        given = grades.copy()
        try:
            prediction: object = self.estimator.predict(given)
        except AudiosimError:
            raise
        except Exception as error:
            raise InputError(f"{self.name}: predict raises {one_line(error)}, with {state}") from error
        if not np.array_equal(given, grades, equal_nan=True):
            raise InputError(f"{self.name}: predict changes the grades that it is given")
        if not isinstance(prediction, Prediction | JointPrediction):
            raise InputError(f"{self.name}: predict must return a Prediction, got {type(prediction).__name__}")
        self._check_levels(prediction.levels)
        self._check_probabilities(prediction)
        self._check_models(prediction)
        return prediction

    def _check_levels(self, levels: Array) -> None:
        self._check_array("levels", levels, "float64")
        if levels.ndim != 1 or not len(levels):
            raise InputError(f"{self.name}: levels must be one row of grades, got shape {levels.shape}")
        if not np.all(np.diff(levels) > 0) or not levels[0] >= 0 or not levels[-1] <= self.pool.scale.maximum:
            raise InputError(f"{self.name}: levels must rise within the scale, got {levels.tolist()}")

    def _check_probabilities(self, prediction: Prediction | JointPrediction) -> None:
        probabilities, expected = prediction.probabilities, (len(self.pool.pairs), len(prediction.levels))
        self._check_array("probabilities", probabilities, "float64")
        if probabilities.shape != expected:
            raise InputError(f"{self.name}: probabilities must be {expected}, got {probabilities.shape}")
        right = np.all(probabilities >= 0, axis=1) & (np.abs(probabilities.sum(axis=1) - 1) <= SUMMING)
        if not np.all(right):
            row = int(np.argmin(right))
            query, document = self.pool.pairs[row]
            raise InputError(
                f"{self.name}: each row of probabilities must be 0 or more and sum to 1, that of document {document} "
                f"for query {query} has least {probabilities[row].min():g} and sum {probabilities[row].sum():g}"
            )

    def _check_models(self, prediction: Prediction | JointPrediction) -> None:
        models, model = prediction.models, prediction.model
        if not isinstance(models, tuple) or not models or not all(isinstance(name, str) and name for name in models):
            raise InputError(f"{self.name}: models must be a tuple of names, got {models!r}")
        self._check_array("model", model, "int64")
        if model.shape != (len(self.pool.pairs),) or not np.all((model >= 0) & (model < len(models))):
            raise InputError(f"{self.name}: each pair must name one of the models {', '.join(models)}")

    def _check_array(self, what: str, value: object, kind: str) -> None:
        if not isinstance(value, np.ndarray) or value.dtype != kind:
            came = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            raise InputError(f"{self.name}: {what} must be an array of {kind}, got {came}")

    def check_repeats(self, grades: Array, before: Array) -> None:
        """The same judgments twice in a row give the same to the last bit."""
        if not np.array_equal(before, self.predict(grades, "the same judgments again").probabilities):
            raise InputError(f"{self.name}: two predictions from the same judgments differ")

    def check_history(self, grades: Array, expected: Array, state: str) -> None:
        """The judgments alone decide, not what was predicted before."""
        again = self.predict(grades, state).probabilities
        if again.shape != expected.shape or not np.allclose(again, expected, rtol=0, atol=ROUNDING):
            raise InputError(f"{self.name}: what was predicted before changes the prediction with {state}")

    def check_own_judgment(self, grades: Array, row: int, before: Array) -> None:
        """A judged pair's prediction stays the same if its judgment is another one, or is taken back."""
        lowest, highest = self.pool.scale.levels[0], self.pool.scale.maximum
        for other in (highest if grades[row] == lowest else lowest, np.nan):
            changed = grades.copy()
            changed[row] = other
            after = self.predict(changed, "one judgment changed").probabilities
            if after.shape != before.shape or not np.allclose(before[row], after[row], rtol=0, atol=ROUNDING):
                raise InputError(f"{self.name}: a pair's own judgment changes its own prediction")
