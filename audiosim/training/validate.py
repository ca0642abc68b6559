"""Validation of a fitted model on held-out rows: by query, by collection, and with parts of the queries judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from audiosim.errors import InputError
from audiosim.ordinal.features import FEATURES, factors
from audiosim.ordinal.model import Model
from audiosim.stats.arrays import Array, Booleans
from audiosim.training.cross_validate import HeldOutPrediction, View, cross_validate
from audiosim.training.examples import AT_HOME, Examples, Judged, Sample, Way, draw, seen_only, ways_to_hold_out
from audiosim.training.fit import (
    FittedModel,
    fit_sample,
    identifiable,
    ordinal_model,
    published_historical,
    with_patterns,
)
from audiosim.training.joint import fit_joint
from audiosim.training.plan import Notes, Plan
from audiosim.training.scores import Forecast, PredictionScore, constant_forecast, forecast, score_predictions
from audiosim.training.validate_joint import (
    HALVINGS,
    JUDGED,
    PRIOR,
    IntervalCoverage,
    joint_intervals,
    joint_scores,
)
from audiosim.workers import HERE, Workers

CLOSE = 1e-8  # gain of log-likelihood at which a search in a validation ends: 1e-4 standard errors from the maximum
SEES_ALL = (
    "computed on held-out rows from every judgment of the query but the pair's own: these scores show the quality of "
    "the coefficients if nearly everything is judged, not that of the model if little is judged"
)
SEES_OTHERS = "computed without any judgment of a held-out query, both in the rows of a fit and in the held-out ones"
SEES_DRAWN = (
    "from each held-out query this share of the pairs was drawn at random (seed {seed}); features of the others use "
    "their judgments, and the others are scored. The model is fitted with all other queries fully judged, like that "
    "in the file; {matched} has the same terms, fitted to features from equally few judgments of the row's own query"
)
USUAL = "historical, of these"  # the frequencies of the levels in the training data
MATCHED = "model fitted at this share"
JOINT_SEES = (
    "from each held-out query this share of the pairs was drawn at random (seed {seed}); the model uses these and no "
    "other judgments of these queries, and the others are scored; {prior} uses no judgment"
)


@dataclass(frozen=True, eq=False)
class ModelValidation:
    """Quality of a model, in sample and on held-out rows.

    scores     scores of the model and of others, row by row
    forecast   forecast for the held-out queries; in sample if none is held out
    intervals  coverage of a joint model's intervals for means
    """

    scores: tuple[PredictionScore, ...]
    forecast: Forecast
    intervals: tuple[IntervalCoverage, ...]


def validate_model(
    fitted: FittedModel, plan: Plan, progress: Callable[[int, int], None], notes: Notes, workers: Workers = HERE
) -> ModelValidation:
    """Scores of a fitted model in sample, and of models with its terms on rows held out of their fits.

    progress  called with the number of fits done and their total
    notes     receive explanations of the scores
    workers   fit joint models
    """
    sample = fitted.sample
    seen = forecast(fitted.found, sample.features)
    historical = constant_forecast(sample.shares, sample)
    scores = _scores("in sample", seen, historical, fitted.judged.examples, sample, plan)
    held, unseen, intervals = _validate(fitted, plan, progress, notes, workers)
    return ModelValidation((*scores, *held), seen if unseen is None else unseen, intervals)


def _scores(
    where: str,
    model: Forecast,
    historical: Forecast,
    examples: Examples,
    sample: Sample,
    plan: Plan,
    matched: Forecast | None = None,
) -> list[PredictionScore]:
    count = len(sample.levels)
    named = {PRIOR if plan.joint else "model": model}
    if matched is not None:
        named[MATCHED] = matched
    named |= {
        USUAL: historical,
        "uniform": constant_forecast(np.full(count, 1 / count), sample),
    }
    shipped = _shipped_historical(examples, sample)
    if shipped is not None:
        named["historical, shipped"] = constant_forecast(shipped, sample)
    return [score_predictions(name, where, predicted, sample) for name, predicted in named.items()]


def _validate(
    fitted: FittedModel, plan: Plan, progress: Callable[[int, int], None], notes: Notes, workers: Workers
) -> tuple[list[PredictionScore], Forecast | None, tuple[IntervalCoverage, ...]]:
    """The scores on held-out rows, by query and by collection, the predictions by query, and intervals."""
    judged, sample = fitted.judged, fitted.sample
    known = judged.examples.with_known(sample.terms)
    ways = ways_to_hold_out(judged.examples, known, plan.folds)
    views = {way.label: [View(way.label, known)] for way in ways}
    if ways:
        views[ways[0].label] += _judged_in_part(judged.examples, sample, plan, ways[0].label)
        _note_learned(sample, plan, notes)
    scores, first = [], None
    folds = sum(len(way.names) for way in ways)
    advance = _count(2 * (folds + HALVINGS) if plan.joint and ways else folds, progress)
    for way in ways:
        found, reasons = cross_validate(judged, way, views[way.label], sample.terms, sample.levels, advance)
        notes.add(*reasons)
        for view, predicted in zip(views[way.label], found, strict=True):
            _note_fewer(view, predicted, notes)
            both = predicted.model, predicted.historical
            scores += _scores(view.label, *both, judged.examples, predicted.sample, plan, predicted.matched)
            first = first or predicted.model
    joint: list[PredictionScore] = []
    intervals: tuple[IntervalCoverage, ...] = ()
    if plan.joint and ways:
        joint, intervals = _validate_joint(fitted, plan, ways, advance, notes, workers)
    labels = list(dict.fromkeys(row.sample for row in [*joint, *scores]))
    return sorted([*joint, *scores], key=lambda row: labels.index(row.sample)), first, intervals


def _validate_joint(
    fitted: FittedModel, plan: Plan, ways: Sequence[Way], advance: Callable[[], None], notes: Notes, workers: Workers
) -> tuple[list[PredictionScore], tuple[IntervalCoverage, ...]]:
    """The joint model's scores on the same rows, and on the remaining ones if some are judged; and its intervals."""
    judged, sample = fitted.judged, fitted.sample
    start = {name: size for name, (size, _) in (fitted.model.components or {}).items()}
    shares, learn = tuple(filter(None, plan.judged)) or (JUDGED,), partial(_learned, judged, sample, plan, start)
    known = judged.examples.with_known(sample.terms)
    scores: list[PredictionScore] = []
    for way in ways:
        views = [View(way.label, known), *_views(judged.examples, shares, plan.seed, way.label)]
        scores += joint_scores(judged, way, views, learn, sample.levels, advance, workers)
    spelled = ", ".join(f"{100 * share:g} %" for share in shares)
    notes.add(f"{spelled} of each judged: {JOINT_SEES.format(seed=plan.seed, prior=PRIOR)}")
    try:
        return scores, joint_intervals(judged, learn, plan.seed, advance, workers)
    except InputError as error:  # half of the judgments may be too few
        notes.add(f"no intervals, which need halves of the queries: {error}")
        return scores, ()


def _learned(judged: Judged, sample: Sample, plan: Plan, start: Mapping[str, float], rows: Booleans) -> Model:
    """The joint model fitted to some rows (n,) of the examples.

    start  standard deviations of the fit to all rows, by name
    """
    examples = judged.examples
    part = examples.sample(sample.terms, rows & examples.with_known(sample.terms), sample.levels)
    if len(part.level) == 0 or not np.all(part.shares):
        raise InputError("not every level has a judgment to learn from")
    part = part.having(identifiable(part)[0])
    pools = [(pool, grades) for pool, grades in seen_only(judged.pools, rows) if not np.isnan(grades).all()]
    model = ordinal_model(pools, part, fit_sample(part, groups=True), plan)
    model = model if plan.fallback is not None else with_patterns(model, examples.of(rows))
    return fit_joint(pools, model, vary=False, start=start, enough=CLOSE)


def _judged_in_part(examples: Examples, sample: Sample, plan: Plan, label: str) -> list[View]:
    """A view of the undrawn rows for each judged share; none if no term reads its own query."""
    if not any(FEATURES[name].reads in AT_HOME for name in _features(sample)):
        return []
    return _views(examples, plan.judged, plan.seed, label)


def _views(examples: Examples, shares: Sequence[float], seed: int, label: str) -> list[View]:
    lots = [draw(examples.group, share, seed) for share in shares]
    return [
        View(f"{label}, {100 * share:g} % of each judged", ~lot, lot) for share, lot in zip(shares, lots, strict=True)
    ]


def _count(total: int, progress: Callable[[int, int], None]) -> Callable[[], None]:
    done = count(1)
    return lambda: progress(next(done), total)


def _note_fewer(view: View, predicted: HeldOutPrediction, notes: Notes) -> None:
    if predicted.fewer:
        notes.add(
            f"{view.label}: {predicted.fewer:,} of {len(predicted.sample.level):,} pairs lack a feature and are "
            "predicted by a fit of their known terms"
        )


def _note_learned(sample: Sample, plan: Plan, notes: Notes) -> None:
    reads = {name: FEATURES[name].reads for name in sorted(_features(sample))}
    own = [name for name, queries in reads.items() if queries in AT_HOME]
    other = [name for name, queries in reads.items() if queries == "other queries"]
    if own:
        notes.add(f"{', '.join(own)}: {SEES_ALL}")
    if other:
        notes.add(f"{', '.join(other)}: {SEES_OTHERS}")
    if plan.joint:
        return
    if plan.judged and not own:
        notes.add("no remaining term uses the judgments of its own query: there are no scores by judged share")
    elif plan.judged:
        shares = ", ".join(f"{100 * share:g} %" for share in plan.judged)
        notes.add(f"{shares} of each judged: {SEES_DRAWN.format(seed=plan.seed, matched=MATCHED)}")


def _features(sample: Sample) -> set[str]:
    return {name for term in sample.terms for name in factors(term)}


def _shipped_historical(examples: Examples, sample: Sample) -> Array | None:
    """The published distribution of past judgments, if it has the same levels."""
    model = published_historical(examples.scale.name, tuple(sample.levels.tolist()))
    return None if model is None else model.probabilities({}, 1)[0]
