"""The extension points: load them, and check them against their contract."""

from importlib.metadata import entry_points

import numpy as np

from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.relevance.estimators import EstimatorFactory, RelevanceEstimator, ordinal
from audiosim.relevance.published import model_names

ESTIMATORS = "audiosim.estimators"


def estimator_factory(name: str) -> tuple[EstimatorFactory, str]:
    """The factory that a `--model` names, and the text it is to be given with the pool.

    name  a name in models/ with or without its scale, a file that ends in .json, or an installed
          estimator: its name, or NAME:TEXT
    """
    installed = {point.name: point for point in entry_points(group=ESTIMATORS)}
    head, _, text = name.partition(":")
    if name.endswith(".json") or any(name in {model, model.rpartition("-")[0]} for model in model_names()):
        return ordinal, name
    if head in installed:
        factory: EstimatorFactory = installed[head].load()
        return factory, text
    known = sorted({model.rpartition("-")[0] for model in model_names()} | set(installed))
    raise InputError(f"unknown model {name!r}, expected a .json file or one of {', '.join(known)}")


def make_estimator(pool: Pool, name: str) -> RelevanceEstimator:
    """The estimator that a `--model` names, for one pool."""
    factory, text = estimator_factory(name)
    return factory(pool, text)


def check_estimator(factory: EstimatorFactory, text: str, pool: Pool, rng: np.random.Generator) -> None:
    """Check an estimator against the contract of RelevanceEstimator; an InputError says what it does wrong.

    text  what `--model NAME:TEXT` would hand over
    pool  at least two pairs; grades are drawn for some of them
    """
    estimator = factory(pool, text)
    grades = np.full(len(pool.pairs), np.nan)
    _check_prediction(estimator, pool, grades)
    some = rng.permutation(len(grades))[: max(1, len(grades) // 2)]
    grades[some] = rng.choice(pool.scale.levels, len(some))
    before = _check_prediction(estimator, pool, grades)
    if not np.array_equal(before, _check_prediction(estimator, pool, grades)):
        raise InputError(f"{estimator.name}: two predictions from the same judgments differ")
    changed = grades.copy()
    changed[some[0]] = pool.scale.levels[0] if grades[some[0]] != pool.scale.levels[0] else pool.scale.levels[-1]
    if not np.allclose(before[some[0]], _check_prediction(estimator, pool, changed)[some[0]], atol=1e-9):
        raise InputError(f"{estimator.name}: a pair's own judgment changes its own prediction")


def _check_prediction(estimator: RelevanceEstimator, pool: Pool, grades: np.ndarray) -> np.ndarray:
    prediction = estimator.predict(grades.copy())
    name, levels, probabilities = estimator.name, prediction.levels, prediction.probabilities
    if np.any(np.diff(levels) <= 0) or levels[0] < 0 or levels[-1] > pool.scale.maximum:
        raise InputError(f"{name}: levels must rise within the scale, got {levels.tolist()}")
    if probabilities.shape != (len(pool.pairs), len(levels)):
        raise InputError(f"{name}: probabilities must be ({len(pool.pairs)}, {len(levels)}), got {probabilities.shape}")
    if not np.all(probabilities >= 0) or not np.allclose(probabilities.sum(axis=1), 1):
        raise InputError(f"{name}: each row of probabilities must be 0 or more and sum to 1")
    if len(prediction.model) != len(pool.pairs) or not np.all(
        (prediction.model >= 0) & (prediction.model < len(prediction.models))
    ):
        raise InputError(f"{name}: each pair must name one of the models {', '.join(prediction.models)}")
    return probabilities
