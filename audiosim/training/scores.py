"""Quality of predicted levels, on the rows of a fit and on held-out rows."""

from typing import NamedTuple

import numpy as np

from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.ordinal import OrdinalFit, expectation, fit_ordinal, level_probabilities, variance
from audiosim.training.examples import Sample

LEAST = 1e-9  # lower bound of a level's probability
CURVE = tuple(round(0.05 * step, 2) for step in range(1, 20))
GROUPS = 10  # number of groups of rows with similar expectations, for the calibration plot


class Forecast(NamedTuple):
    """Predictions for some rows.

    probabilities  (n, l)
    predictor      (n,) the linear predictor; None if all rows have the same prediction
    """

    probabilities: Array
    predictor: Array | None


class PredictionScore(NamedTuple):
    """Quality of predictions; grades, levels and variances are over the scale's maximum.

    predictor          model, historical or uniform
    sample             rows, and the use of their judgments
    rmse               root of the mean squared difference of grade and expectation
    mean_variance      the mean squared difference according to the predictions
    log_score          mean of -log P(true level), in nats; probabilities are at least LEAST
    coverage_50 to 95  share of true levels within predictive sets, see `coverage`
    calibration_slope  see `calibration_slope`; None for a constant predictor
    """

    predictor: str
    sample: str
    rows: int
    rmse: float
    mean_variance: float
    log_score: float
    coverage_50: float
    coverage_80: float
    coverage_95: float
    calibration_slope: float | None


class Calibrated(NamedTuple):
    """Rows with similar expectations: mean expectation and mean truth."""

    expected: float
    actual: float
    rows: int


def forecast(found: OrdinalFit, features: Array) -> Forecast:
    """Predictions for some rows from a fit.

    features  (n, k) features of its terms
    """
    predictor = features @ found.coefficients
    return Forecast(level_probabilities(found.thresholds, predictor), predictor + found.thresholds.mean())


def constant_forecast(shares: Array, sample: Sample) -> Forecast:
    """The same prediction for every row."""
    return Forecast(np.tile(shares, (len(sample.level), 1)), None)


def score_predictions(predictor: str, where: str, predicted: Forecast, sample: Sample) -> PredictionScore:
    """Quality of the predictions of some rows."""
    probabilities = predicted.probabilities
    true = probabilities[np.arange(len(sample.level)), sample.level]
    missed = expectation(probabilities, sample.levels_truth) - sample.truth
    return PredictionScore(
        predictor=predictor,
        sample=where,
        rows=len(sample.level),
        rmse=float(np.sqrt(np.mean(missed**2))),
        mean_variance=float(variance(probabilities, sample.levels_truth).mean()),
        log_score=float(-np.log(np.maximum(LEAST, true)).mean()),
        coverage_50=coverage(probabilities, sample.level, 0.5),
        coverage_80=coverage(probabilities, sample.level, 0.8),
        coverage_95=coverage(probabilities, sample.level, 0.95),
        calibration_slope=calibration_slope(predicted, sample),
    )


def coverage(probabilities: Array, level: Integers, nominal: float) -> float:
    """The share of rows with the true level in their predictive set; `nominal` if the probabilities are correct.

    The set takes levels in order of probability until they sum to `nominal`. As whole levels seldom sum to it, the last
    level belongs to the set in part, by the missing probability divided by its own, as if drawn at random; a row with
    this level counts by that part. Levels of equal probability are taken together, in equal parts. Nothing is drawn:
    the result is the mean over all draws.

    probabilities  (n, l)
    level          (n,) the true ones
    """
    true = probabilities[np.arange(len(level)), level][:, None]
    tied = np.isclose(probabilities, true, rtol=1e-12, atol=0)
    before = np.sum(probabilities, axis=1, where=(probabilities > true) & ~tied)
    alike = np.maximum(LEAST, np.sum(probabilities, axis=1, where=tied))  # 0 for an excluded level
    return float(np.clip((nominal - before) / alike, 0, 1).mean())


def coverage_curve(probabilities: Array, level: Integers) -> list[tuple[float, float]]:
    """The coverage of predictive sets of .05, .1, ..., .95: (nominal, actual)."""
    return [(nominal, coverage(probabilities, level, nominal)) for nominal in CURVE]


def calibration_slope(predicted: Forecast, sample: Sample) -> float | None:
    """The coefficient of the linear predictor in a separate ordinal model; 1 is correct, below 1 overconfident.

    1 on the rows of the fit. None if the predictor is the same for all rows, or separates the levels.
    Cox (1958), doi:10.1093/biomet/45.3-4.562.
    """
    if predicted.predictor is None:
        return None
    try:
        return float(fit_ordinal(predicted.predictor[:, None], sample.level, labels=sample.labels).coefficients[0])
    except InputError:
        return None


def calibration(probabilities: Array, sample: Sample) -> list[Calibrated]:
    """Ten groups of rows, from the lowest expectation to the highest."""
    expected = expectation(probabilities, sample.levels_truth)
    order = np.argsort(expected, kind="stable")
    return [
        Calibrated(float(expected[rows].mean()), float(sample.truth[rows].mean()), len(rows))
        for rows in np.array_split(order, min(GROUPS, len(order)))
    ]
