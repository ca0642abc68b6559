"""Train a model on the judgments of some collections, and say how good it is."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np

from audiosim.arrays import Array, Booleans
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.registry import FEATURES
from audiosim.features.table import factors
from audiosim.relevance.provenance import Provenance, package_versions, source_of
from audiosim.relevance.published import Model, load_model, model_for_scale, model_names
from audiosim.stats.ordinal import thresholds_of, variance
from audiosim.stats.ordinal_fit import Fit
from audiosim.training.cross_validation import Predicted, View, cross_validate
from audiosim.training.examples import Examples, Sample, judged_pools, make_examples
from audiosim.training.findings import Findings, JudgmentVersion, Training, coefficient_rows, component_rows
from audiosim.training.folds import AT_HOME, Judged, Way, draw, ways_to_hold_out
from audiosim.training.joint_fit import fit_joint
from audiosim.training.joint_validation import (
    HALVINGS,
    JUDGED,
    PRIOR,
    Interval,
    joint_intervals,
    joint_scores,
    seen_only,
)
from audiosim.training.likelihood import (
    Step,
    effects,
    eliminate,
    fit_sample,
    identifiable,
    nagelkerke,
    null_log_likelihood,
)
from audiosim.training.own_judgment import AFFECTED, WARNING
from audiosim.training.patterns import with_patterns
from audiosim.training.plan import Plan
from audiosim.training.validation import (
    Forecast,
    Score,
    calibration,
    constant_forecast,
    coverage_curve,
    forecast,
    score,
)

SEES_ALL = (
    "on held-out rows made of every judgment of the query but the pair's own: the scores there tell how good the "
    "coefficients are where nearly all is judged, not how good the model is where little is"
)
SEES_OTHERS = "made of no judgment of a held-out query, in the rows of a fit or in those held out"
SEES_DRAWN = (
    "of each held-out query this share of the pairs was drawn at random (seed {seed}); the features of the rest see "
    "their judgments and are scored. The model is fitted where all other queries are judged in full, like the one in "
    "the file; {matched} is one of the same terms that learned from features of as few judgments of the row's own query"
)
MATCHED = "model fitted at this share"
JOINT_SEES = (
    "of each held-out query this share of the pairs was drawn at random (seed {seed}); the model knows these, and "
    "nothing else of any query, and the rest is scored; {prior} reads no judgment"
)


def train(
    collections: Sequence[Collection],
    plan: Plan,
    say: Callable[[str], None] = lambda _: None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Training:
    """Fit a model to the judgments of some collections, pooled, and validate it.

    collections  of one scale
    say          is told what is left out, and why
    progress     is told how many fits of the validation are done, and of how many
    """
    pools = judged_pools(collections)
    examples = make_examples(pools, sorted(plan.features), plan.own_judgment)
    notes = _Notes(say)
    if plan.own_judgment:
        notes.add(WARNING)
    terms, steps = _choose_terms(examples, plan, notes)
    sample = examples.known(terms)
    _note_rows(examples, sample, notes)
    found = fit_sample(sample, groups=True)
    judged = Judged(pools, examples, as_given=plan.own_judgment)
    findings = _findings(judged, sample, found, plan, steps, progress, notes)
    if set(AFFECTED) & {name for term in terms for name in factors(term)}:
        findings = replace(findings, versions=_versions(pools, terms))
    model = _model(pools, sample, found, plan)
    if plan.joint:
        model = fit_joint(pools, model if plan.fallback is not None else with_patterns(model, examples))
        findings = replace(findings, components=component_rows(model, _mean_deviation(sample, found)))
    return Training(replace(model, report=findings.to_dict()), findings)


def _mean_deviation(sample: Sample, found: Fit) -> float:
    """Of the grades by the fit, over its rows, in units of the scale."""
    spread = variance(forecast(found, sample.features).probabilities, sample.levels)
    return float(np.sqrt(spread).mean())


class _Notes:
    """Sentences for the report, said as they come."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.said: list[str] = []
        self._say = say

    def add(self, *sentences: str) -> None:
        for sentence in sentences:
            self.said.append(sentence)
            self._say(sentence)


def _choose_terms(examples: Examples, plan: Plan, notes: _Notes) -> tuple[tuple[str, ...], list[Step]]:
    some = _known_somewhere(examples, plan.terms, notes) if plan.joint else plan.terms
    terms, reasons = identifiable(examples.known(some))
    notes.add(*reasons)
    if not terms:
        raise InputError(f"no feature tells anything about the level: {'; '.join(reasons)}")
    if plan.eliminate is None:
        return terms, []
    return eliminate(examples, terms, plan.eliminate, notes.add)


def _known_somewhere(examples: Examples, terms: tuple[str, ...], notes: _Notes) -> tuple[str, ...]:
    """The terms that are known for some pair; a joint model does without the others, unless it would have none."""
    known = tuple(term for term in terms if examples.with_known((term,)).any())
    if known:
        notes.add(*(f"{term} is unknown for every judged pair: left out" for term in terms if term not in known))
    return known or terms


def _note_rows(examples: Examples, sample: Sample, notes: _Notes) -> None:
    judged, used = len(examples.level), len(sample.level)
    if used < judged:
        why = ", ".join(f"{name} for {count:,}" for name, count in examples.unknown(sample.terms).items())
        notes.add(f"{judged - used:,} of {judged:,} judged pairs left out, as a feature is unknown: {why}")
    missing = [f"{level:g}" for level in examples.all_levels if level not in sample.levels]
    if missing:
        notes.add(f"no judgment is of level {', '.join(missing)}: the model has no such level")
    if len(sample.levels) < 2:
        raise InputError(f"all {used:,} judgments are of the level {sample.levels[0]:g}: there is nothing to predict")
    if len(np.unique(sample.group)) < 2:
        notes.add("all judgments are of one query: there are no robust standard errors")


def _findings(
    judged: Judged,
    sample: Sample,
    found: Fit,
    plan: Plan,
    steps: Sequence[Step],
    progress: Callable[[int, int], None],
    notes: _Notes,
) -> Findings:
    coefficients, thresholds = coefficient_rows(sample, found)
    examples, null, rows = judged.examples, null_log_likelihood(sample), len(sample.level)
    seen = forecast(found, sample.features)
    scores = _scores("in sample", seen, constant_forecast(sample.shares, sample), examples, sample, plan)
    held, unseen, intervals = _validate(judged, sample, plan, progress, notes)
    last = seen if unseen is None else unseen
    return Findings(
        judged=len(examples.level),
        rows=rows,
        queries=len(np.unique(sample.group)),
        unknown=examples.unknown(sample.terms),
        levels=tuple(zip(sample.levels.tolist(), np.bincount(sample.level).tolist(), strict=True)),
        own_judgment=plan.own_judgment,
        log_likelihood=found.log_likelihood,
        null_log_likelihood=null,
        r_squared=nagelkerke(found.log_likelihood, null, rows),
        coefficients=coefficients,
        thresholds=thresholds,
        effects=tuple(effects(sample)),
        components=(),
        scores=(*scores, *held),
        calibration=tuple(calibration(last.probabilities, sample)),
        coverage=tuple(coverage_curve(last.probabilities, sample.level)),
        intervals=intervals,
        eliminated=tuple(steps),
        versions=(),
        notes=tuple(notes.said),
    )


def _scores(
    where: str,
    model: Forecast,
    historical: Forecast,
    examples: Examples,
    sample: Sample,
    plan: Plan,
    matched: Forecast | None = None,
) -> list[Score]:
    count = len(sample.levels)
    named = {"model, OWN judgment" if plan.own_judgment else PRIOR if plan.joint else "model": model}
    if matched is not None:
        named[MATCHED] = matched
    named |= {
        "historical, of these": historical,
        "uniform": constant_forecast(np.full(count, 1 / count), sample),
    }
    shipped = _shipped_historical(examples, sample)
    if shipped is not None:
        named["historical, shipped"] = constant_forecast(shipped, sample)
    return [score(name, where, predicted, sample) for name, predicted in named.items()]


def _validate(
    judged: Judged, sample: Sample, plan: Plan, progress: Callable[[int, int], None], notes: _Notes
) -> tuple[list[Score], Forecast | None, tuple[Interval, ...]]:
    """The scores on held-out rows, by query and by collection, what was predicted of them by query, and intervals."""
    known = judged.examples.with_known(sample.terms)
    ways = ways_to_hold_out(judged.examples, known, plan.folds)
    views = {way.label: [View(way.label, known)] for way in ways}
    if ways:
        views[ways[0].label] += _judged_in_part(judged.examples, sample, plan, ways[0].label)
        _note_learned(sample, plan, notes)
    scores, first = [], None
    folds = sum(len(way.names) for way in ways)
    told = _count(2 * (folds + HALVINGS) if plan.joint and ways else folds, progress)
    for way in ways:
        found, reasons = cross_validate(judged, way, views[way.label], sample.terms, sample.levels, told)
        notes.add(*reasons)
        for view, predicted in zip(views[way.label], found, strict=True):
            _note_fewer(view, predicted, notes)
            both = predicted.model, predicted.historical
            scores += _scores(view.label, *both, judged.examples, predicted.sample, plan, predicted.matched)
            first = first or predicted.model
    joint, intervals = _validate_joint(judged, sample, plan, ways, told, notes) if plan.joint and ways else ([], ())
    labels = list(dict.fromkeys(row.sample for row in [*joint, *scores]))
    return sorted([*joint, *scores], key=lambda row: labels.index(row.sample)), first, intervals


def _validate_joint(
    judged: Judged, sample: Sample, plan: Plan, ways: Sequence[Way], told: Callable[[], None], notes: _Notes
) -> tuple[list[Score], tuple[Interval, ...]]:
    """The scores of the joint model on the same rows, and on those left where some are judged; and its intervals."""
    shares, learn = tuple(filter(None, plan.judged)) or (JUDGED,), partial(_learned, judged, sample, plan)
    known = judged.examples.with_known(sample.terms)
    scores: list[Score] = []
    for way in ways:
        views = [View(way.label, known), *_views(judged.examples, shares, plan.seed, way.label)]
        scores += joint_scores(judged, way, views, learn, sample.levels, told)
    spelled = ", ".join(f"{100 * share:g} %" for share in shares)
    notes.add(f"{spelled} of each judged: {JOINT_SEES.format(seed=plan.seed, prior=PRIOR)}")
    try:
        return scores, joint_intervals(judged, learn, plan.seed, told)
    except InputError as error:  # half of the judgments may be too few
        notes.add(f"no intervals, which are of halves of the queries: {error}")
        return scores, ()


def _learned(judged: Judged, sample: Sample, plan: Plan, rows: Booleans) -> Model:
    """The joint model of some rows of the examples (n,)."""
    examples = judged.examples
    part = examples.sample(sample.terms, rows & examples.with_known(sample.terms), sample.levels)
    if len(part.level) == 0 or not np.all(part.shares):
        raise InputError("not every level has a judgment to learn from")
    part = part.having(identifiable(part)[0])
    pools = [(pool, grades) for pool, grades in seen_only(judged, rows) if not np.isnan(grades).all()]
    model = _model(pools, part, fit_sample(part, groups=True), plan)
    return fit_joint(pools, model if plan.fallback is not None else with_patterns(model, examples.of(rows)), vary=False)


def _judged_in_part(examples: Examples, sample: Sample, plan: Plan, label: str) -> list[View]:
    """A view for each judged share, of the rows not drawn; none where no term reads its own query."""
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


def _note_fewer(view: View, predicted: Predicted, notes: _Notes) -> None:
    if predicted.fewer:
        notes.add(
            f"{view.label}: {predicted.fewer:,} of {len(predicted.sample.level):,} pairs lack a feature and are "
            "predicted by a fit of the terms that are known for them"
        )


def _note_learned(sample: Sample, plan: Plan, notes: _Notes) -> None:
    if plan.own_judgment:
        return
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
        notes.add("no term that is left reads the judgments of its own query: there are no scores by judged share")
    elif plan.judged:
        shares = ", ".join(f"{100 * share:g} %" for share in plan.judged)
        notes.add(f"{shares} of each judged: {SEES_DRAWN.format(seed=plan.seed, matched=MATCHED)}")


def _features(sample: Sample) -> set[str]:
    return {name for term in sample.terms for name in factors(term)}


def _shipped_historical(examples: Examples, sample: Sample) -> Array | None:
    """The probabilities of the published distribution of past judgments, where it has the same levels."""
    model = _historical(examples.scale.name, tuple(sample.levels.tolist()))
    return None if model is None else model.probabilities({}, 1)[0]


def _historical(scale: str, levels: tuple[float, ...]) -> Model | None:
    name = f"historical-{scale}"
    model = load_model(name) if name in model_names() else None
    return model if model is not None and model.levels == levels else None


def _versions(judged: Sequence[tuple[Pool, Array]], terms: tuple[str, ...]) -> tuple[JudgmentVersion, ...]:
    """The same terms with the pair's own judgment left out, with it included, and fitted with but used without."""
    names = sorted({name for term in terms for name in factors(term)})
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
    found = score("model", label, predicted, sample)
    return JudgmentVersion(label, found.rows, r_squared, found.rmse, found.mean_variance, found.coverage_95)


def _model(judged: Sequence[tuple[Pool, Array]], sample: Sample, found: Fit, plan: Plan) -> Model:
    """The ordinal model of a fit, without a report."""
    sources = tuple(source_of(pool, grades) for pool, grades in judged)
    scale, packages = judged[0][0].scale.name, package_versions()
    made = f"audiosim {packages['audiosim']}: fitted to {len(sample.level):,} judgments of "
    source = made + ", ".join(source.collection for source in sources)
    covariance = found.covariance if found.robust is None else found.robust
    return Model(
        name=plan.name,
        scale=scale,
        levels=tuple(sample.levels.tolist()),
        terms=sample.terms,
        coefficients=tuple(found.coefficients.tolist()),
        thresholds=tuple(found.thresholds.tolist()),
        fallback=_fallback(plan, judged[0][0].scale, sample),
        source=f"{WARNING}. {source}" if plan.own_judgment else source,
        covariance=tuple(map(tuple, covariance.tolist())),
        training=Provenance(sources, len(sample.level), plan.own_judgment, plan.date, packages),
    )


def _fallback(plan: Plan, scale: Scale, sample: Sample) -> "str | Model":
    """The model for pairs with an unknown feature: a published one by its name, any other as a whole."""
    levels = tuple(sample.levels.tolist())
    if plan.fallback is not None:
        model = model_for_scale(plan.fallback, scale)
        if model.levels != levels:
            raise InputError(f"models {plan.name} and {model.name}, its fallback, differ in their levels")
        return replace(model, covariance=None, report=None) if plan.fallback.endswith(".json") else model.name
    historical = _historical(scale.name, levels)
    if historical is not None:
        return historical.name
    thresholds = tuple(thresholds_of(sample.shares).tolist())
    source = "the shares of the levels among the judgments of the training"
    return Model(f"{plan.name}-shares", scale.name, levels, (), (), thresholds, None, source)
