"""Description of a fitted model: the contribution of each term, its quality, and the terms left out."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.features.table import factors
from audiosim.stats.responses.ordinal import variance
from audiosim.training.examples import Sample, make_examples
from audiosim.training.findings import Findings, JudgmentVersion, Training, coefficient_rows, component_rows
from audiosim.training.held_out import ModelValidation
from audiosim.training.likelihood import effects, fit_sample, nagelkerke, null_log_likelihood
from audiosim.training.model_fit import FittedModel
from audiosim.training.notes import Notes
from audiosim.training.own_judgment import AFFECTED
from audiosim.training.plan import Plan
from audiosim.training.validation import Forecast, calibration, coverage_curve, forecast, score_predictions


def describe_model(fitted: FittedModel, validated: ModelValidation, plan: Plan, notes: Notes) -> Training:
    """The model with its report, and the findings behind the report."""
    judged, sample, found = fitted.judged, fitted.sample, fitted.found
    coefficients, thresholds = coefficient_rows(sample, found)
    null, rows = null_log_likelihood(sample), len(sample.level)
    findings = Findings(
        judged=len(judged.examples.level),
        rows=rows,
        queries=len(np.unique(sample.group)),
        unknown=judged.examples.unknown(sample.terms),
        levels=tuple(zip(sample.levels.tolist(), np.bincount(sample.level).tolist(), strict=True)),
        own_judgment=plan.own_judgment,
        log_likelihood=found.log_likelihood,
        null_log_likelihood=null,
        r_squared=nagelkerke(found.log_likelihood, null, rows),
        coefficients=coefficients,
        thresholds=thresholds,
        effects=tuple(effects(sample)),
        components=component_rows(fitted.model, _mean_deviation(fitted)) if plan.joint else (),
        scores=validated.scores,
        calibration=tuple(calibration(validated.forecast.probabilities, sample)),
        coverage=tuple(coverage_curve(validated.forecast.probabilities, sample.level)),
        intervals=validated.intervals,
        eliminated=fitted.steps,
        versions=_versions(judged.pools, sample.terms),
        notes=tuple(notes.said),
    )
    return Training(replace(fitted.model, report=findings.to_dict()), findings)


def _mean_deviation(fitted: FittedModel) -> float:
    """Mean standard deviation of grades under the ordinal fit, over its rows, in units of the scale."""
    sample = fitted.sample
    spread = variance(forecast(fitted.found, sample.features).probabilities, sample.levels)
    return float(np.sqrt(spread).mean())


def _versions(judged: Sequence[tuple[Pool, Array]], terms: tuple[str, ...]) -> tuple[JudgmentVersion, ...]:
    """The same terms with the pair's own judgment left out, included, and included in the fit but not in use.

    Empty if no term uses the judgment.
    """
    names = sorted({name for term in terms for name in factors(term)})
    if not set(AFFECTED) & set(names):
        return ()
    honest = make_examples(judged, names).known(terms)
    flattered = make_examples(judged, names, own_judgment=True).known(terms)
    found = [_version("left out", honest), _version("included", flattered)]
    if np.array_equal(honest.levels, flattered.levels):
        unseen = forecast(fit_sample(flattered), honest.features)
        found.append(_describe("included in the fit, left out in use", unseen, honest, None))
    return tuple(found)


def _version(label: str, sample: Sample) -> JudgmentVersion:
    found = fit_sample(sample)
    null = null_log_likelihood(sample)
    r_squared = nagelkerke(found.log_likelihood, null, len(sample.level))
    return _describe(label, forecast(found, sample.features), sample, r_squared)


def _describe(label: str, predicted: Forecast, sample: Sample, r_squared: float | None) -> JudgmentVersion:
    found = score_predictions("model", label, predicted, sample)
    return JudgmentVersion(label, found.rows, r_squared, found.rmse, found.mean_variance, found.coverage_95)
