"""Findings of training: a model, and a report on its quality."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr

from audiosim.ordinal.model import Model, model_fields
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row, Value
from audiosim.stats.arrays import Array
from audiosim.stats.ordinal import OrdinalFit, variance
from audiosim.training.examples import LEFT_OUT, Sample
from audiosim.training.fit import Effect, FittedModel, Step, effects, nagelkerke, null_log_likelihood
from audiosim.training.plan import Notes, Plan
from audiosim.training.scores import (
    Calibrated,
    PredictionScore,
    calibration,
    coverage_curve,
    forecast,
)
from audiosim.training.validate import USUAL, ModelValidation
from audiosim.training.validate_joint import PRIOR, IntervalCoverage

if TYPE_CHECKING:
    from altair import LayerChart


class Coefficient(NamedTuple):
    """A coefficient or threshold with both kinds of standard errors, and z and p by each.

    standard_error         error from the information matrix: correct if judgments were independent
    robust_standard_error  allows for correlated judgments of one query; None with a single query
    """

    term: str
    coefficient: float
    standard_error: float
    robust_standard_error: float | None
    z: float
    p: float
    robust_z: float | None
    robust_p: float | None


class ComponentRow(NamedTuple):
    """A component of a joint model: the size of its effects on a grade.

    size            standard deviation of the effects, as a share of that of a pair's grade by the ordinal part
    standard_error  standard error of the size; None if the judgments do not determine it
    points          the size in units of the scale, for a pair with the mean standard deviation
    points_error    the standard error in these units
    """

    component: str
    size: float
    standard_error: float | None
    points: float
    points_error: float | None


@dataclass(frozen=True, eq=False)
class Findings(Value):
    """The report of a training.

    judged               number of pairs with a judgment
    rows                 number of these pairs with all features known, used in the fit
    queries              number of queries of these rows
    unknown              number of judged pairs that lack each feature
    levels               (level, rows)
    log_likelihood       log-likelihoods at the maximum, and of the model without terms
    r_squared            Nagelkerke's R^2
    coefficients         one per term
    thresholds           one for each level but the lowest
    effects              contribution of each term
    components           components of a joint model; empty for others
    scores               scores of the model, historical and uniform; in sample, on held-out rows, and on the
                         unjudged rows when a share of each held-out query is judged
    calibration          on held-out queries, or in sample without folds
    coverage             (nominal, actual) coverage for the same rows
    intervals            coverage of a joint model's intervals for means; empty for others
    eliminated           the terms that elimination dropped, in order
    notes                omissions with reasons; cautions
    unseen               sentence on what the model is worth on a collection that it has not seen
    """

    judged: int
    rows: int
    queries: int
    unknown: dict[str, int]
    levels: tuple[tuple[float, int], ...]
    log_likelihood: float
    null_log_likelihood: float
    r_squared: float
    coefficients: tuple[Coefficient, ...]
    thresholds: tuple[Coefficient, ...]
    effects: tuple[Effect, ...]
    components: tuple[ComponentRow, ...]
    scores: tuple[PredictionScore, ...]
    calibration: tuple[Calibrated, ...]
    coverage: tuple[tuple[float, float], ...]
    intervals: tuple[IntervalCoverage, ...]
    eliminated: tuple[Step, ...]
    notes: tuple[str, ...]
    unseen: str

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        coverage = [{"nominal": nominal, "actual": actual} for nominal, actual in self.coverage]
        levels = [{"level": level, "rows": rows} for level, rows in self.levels]
        found: dict[str, Any] = Value.to_dict(self)
        return found | {"levels": levels, "coverage": coverage}


@dataclass(frozen=True, eq=False)
class Training(Result):
    """A trained model and its report."""

    _index: ClassVar = ("term",)

    model: Model
    findings: Findings

    def to_dict(self) -> dict[str, Any]:
        """Contents of the model file, including the report."""
        return model_fields(self.model)

    def rows(self) -> list[Row]:
        """One row per term: its coefficient and contribution."""
        pairs = zip(self.findings.coefficients, self.findings.effects, strict=True)
        return [coefficient._asdict() | effect._asdict() for coefficient, effect in pairs]

    def __repr__(self) -> str:
        found = self.findings
        return (
            f"{self.model.name}: {len(self.model.terms)} terms, fitted to {found.rows:,} of {found.judged:,} judgments"
        )

    def plot(self) -> "LayerChart":
        """The coefficients with two standard errors on either side."""
        rows = self.findings.coefficients
        middle = np.array([row.coefficient for row in rows])
        reach = 2 * np.array([row.robust_standard_error or row.standard_error for row in rows])
        names = [row.term for row in rows]
        return draw_intervals(names, middle - reach, middle, middle + reach, "coefficient", beside=0.0)


def coefficient_rows(sample: Sample, found: OrdinalFit) -> tuple[tuple[Coefficient, ...], tuple[Coefficient, ...]]:
    """The coefficients and the thresholds of a fit, with their standard errors."""
    t = len(found.thresholds)
    plain = np.sqrt(np.diag(found.covariance))
    robust = None if found.robust is None else np.sqrt(np.diag(found.robust))
    names = [*sample.labels[1:], *sample.terms]
    values = np.concatenate([found.thresholds, found.coefficients])
    rows = tuple(_coefficient(name, place, values, plain, robust) for place, name in enumerate(names))
    return rows[t:], rows[:t]


def component_rows(model: Model, deviation: float) -> tuple[ComponentRow, ...]:
    """The components of a joint model; empty for another.

    deviation  mean standard deviation of a pair's grade by the ordinal part, in units of the scale
    """
    return tuple(
        ComponentRow(name, size, error, size * deviation, None if error is None else error * deviation)
        for name, (size, error) in (model.components or {}).items()
    )


def _coefficient(name: str, place: int, values: Array, plain: Array, robust: Array | None) -> Coefficient:
    value, error = float(values[place]), float(plain[place])
    z = value / error
    if robust is None:
        return Coefficient(name, value, error, None, z, _two_sided(z), None, None)
    robust_error = float(robust[place])
    robust_z = value / robust_error
    return Coefficient(name, value, error, robust_error, z, _two_sided(z), robust_z, _two_sided(robust_z))


def _two_sided(z: float) -> float:
    return float(2 * ndtr(-abs(z)))


# Description of a fitted model: the contribution of each term, its quality, and the terms left out.


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
        notes=tuple(notes.said),
        unseen=worth_unseen(fitted.model, validated.scores),
    )
    return Training(replace(fitted.model, report=findings.to_dict()), findings)


def worth_unseen(model: Model, scores: Sequence[PredictionScore]) -> str:
    """Sentence on the error of a model's grades on a collection that it has not seen, as far as validation shows it.

    scores  of the model's validation
    """
    said = f"What {model.name} is worth on a collection that it has not seen"
    fallen = f" Where a feature is unknown, {model.fallback_name} predicts." if model.terms and model.fallback else ""
    found = {row.predictor: row for row in scores if row.sample == LEFT_OUT}
    if USUAL not in found:
        return f"{said} is not known: validation needs two collections with known features, and folds.{fallen}"
    own, usual = found.get("model") or found[PRIOR], found[USUAL].rmse
    worth = f"{100 * (1 - own.rmse / usual):.0f} % less error of a grade" if own.rmse < usual else "nothing"
    return (
        f"{said}: {worth}, {own.rmse:.3f} of the scale where the frequencies of grades give {usual:.3f}, on "
        f"{own.rows:,} judged pairs, each collection left out in turn.{fallen}"
    )


def _mean_deviation(fitted: FittedModel) -> float:
    """Mean standard deviation of grades under the ordinal fit, over its rows, in units of the scale."""
    sample = fitted.sample
    spread = variance(forecast(fitted.found, sample.features).probabilities, sample.levels)
    return float(np.sqrt(spread).mean())
