"""Train a model on the judgments of some collections, and say how good it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date as calendar_date
from typing import NamedTuple

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.registry import AUDIO, FEATURES
from audiosim.features.table import check_terms, factors
from audiosim.relevance.examples import Examples, Sample, judged_pools, make_examples
from audiosim.relevance.findings import Findings, JudgmentVersion, Training, coefficient_rows
from audiosim.relevance.likelihood import (
    Step,
    effects,
    eliminate,
    fit_sample,
    identifiable,
    nagelkerke,
    null_log_likelihood,
)
from audiosim.relevance.own_judgment import AFFECTED, WARNING
from audiosim.relevance.provenance import Provenance, package_versions, source_of
from audiosim.relevance.published import Model, load_model, model_for_scale, model_names
from audiosim.relevance.validation import (
    Forecast,
    Score,
    calibration,
    constant_forecast,
    coverage_curve,
    cross_validate,
    deal,
    forecast,
    score,
)
from audiosim.stats.ordinal import thresholds_of
from audiosim.stats.ordinal_fit import Fit

LISTS = {
    "output": ("fSYS", "OV", "fSYS:OV", "fART", "sGEN", "fGEN", "sGEN:fGEN"),
    "judgment": ("fSYS", "aSYS", "aART"),
    "audio": tuple(feature.name for feature in AUDIO),
}
SEES_ALL = (
    "made of every judgment but the pair's own, those of held-out queries too: scores on held-out rows tell how good "
    "the coefficients are where nearly all is judged, not how good the model is where little is"
)
SEES_OTHERS = (
    "made of no judgment of the row's own query, held out or not; "
    "in the rows of a fit, of held-out judgments of other queries too"
)


@dataclass(frozen=True)
class Plan:
    """What to train, and how.

    terms         features and products a:b
    name          of the model
    folds         parts into which the queries are dealt for validation; 0 for none
    eliminate     level of significance for backward elimination; None for none
    own_judgment  whether aSYS and aART contain the pair's own judgment: to reproduce the papers' numbers only
    fallback      name or file of the model for pairs with an unknown feature; None: the historical one of the
                  same levels, or where none is published the shares of the levels here
    date          of the training, ISO 8601
    """

    terms: tuple[str, ...]
    name: str = "trained"
    folds: int = 10
    eliminate: float | None = None
    own_judgment: bool = False
    fallback: str | None = None
    date: str | None = None

    def __post_init__(self) -> None:
        if not self.terms:
            raise InputError("the list of features is empty")
        twice = next((term for term in self.terms if self.terms.count(term) > 1), None)
        if twice is not None:
            raise InputError(f"feature {twice} is given twice")
        check_terms(self.terms)
        if self.folds < 0 or self.folds == 1:
            raise InputError(f"expected at least 2 folds, or 0 for none, got {self.folds}")
        if self.eliminate is not None and not 0 < self.eliminate < 1:
            raise InputError(f"the level of elimination must be between 0 and 1, got {self.eliminate:g}")
        if self.own_judgment and not set(AFFECTED) & self.features:
            raise InputError("own_judgment changes aSYS and aART, neither of which is among the features")
        if self.date is not None:
            _check_date(self.date)

    @property
    def features(self) -> set[str]:
        """The features that the terms multiply."""
        return {name for term in self.terms for name in factors(term)}


def parse_terms(text: str) -> tuple[str, ...]:
    """The terms of a list such as `output`, `fSYS,fGEN,fSYS:fGEN` or `output,aSYS`; names of LISTS stand for theirs."""
    words = [word.strip() for word in text.split(",")]
    return tuple(term for word in words if word for term in LISTS.get(word, (word,)))


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
    judged = judged_pools(collections)
    names = sorted(plan.features)
    examples = make_examples(judged, names, plan.own_judgment)
    notes = _Notes(say)
    if plan.own_judgment:
        notes.add(WARNING)
    terms, steps = _choose_terms(examples, plan, notes)
    sample = examples.known(terms)
    _note_rows(examples, sample, notes)
    found = fit_sample(sample, groups=True)
    findings = _findings(examples, sample, found, plan, steps, progress, notes)
    if set(AFFECTED) & {name for term in terms for name in factors(term)}:
        findings = replace(findings, versions=_versions(judged, terms))
    return Training(_model(judged, sample, found, plan, findings), findings)


class _Way(NamedTuple):
    """A way to hold rows out: what it is called, the fold of each row, (n,), and the names of the folds."""

    label: str
    fold: Integers
    names: tuple[str, ...]


class _Notes:
    """Sentences for the report, said as they come."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.said: list[str] = []
        self._say = say

    def add(self, *sentences: str) -> None:
        for sentence in sentences:
            self.said.append(sentence)
            self._say(sentence)


def _check_date(text: str) -> None:
    try:
        calendar_date.fromisoformat(text)
    except ValueError:
        raise InputError(f"expected a date such as 2011-10-24, got {text!r}") from None


def _choose_terms(examples: Examples, plan: Plan, notes: _Notes) -> tuple[tuple[str, ...], list[Step]]:
    terms, reasons = identifiable(examples.known(plan.terms))
    notes.add(*reasons)
    if not terms:
        raise InputError(f"no feature tells anything about the level: {'; '.join(reasons)}")
    if plan.eliminate is None:
        return terms, []
    return eliminate(examples, terms, plan.eliminate, notes.add)


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
    examples: Examples,
    sample: Sample,
    found: Fit,
    plan: Plan,
    steps: Sequence[Step],
    progress: Callable[[int, int], None],
    notes: _Notes,
) -> Findings:
    coefficients, thresholds = coefficient_rows(sample, found)
    null, rows = null_log_likelihood(sample), len(sample.level)
    seen = forecast(found, sample)
    scores = _scores("in sample", seen, constant_forecast(sample.shares, sample), examples, sample, plan)
    held, unseen = _validate(examples, sample, plan, progress, notes)
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
        scores=(*scores, *held),
        calibration=tuple(calibration(last.probabilities, sample)),
        coverage=tuple(coverage_curve(last.probabilities, sample.level)),
        eliminated=tuple(steps),
        versions=(),
        notes=tuple(notes.said),
    )


def _scores(
    where: str, model: Forecast, historical: Forecast, examples: Examples, sample: Sample, plan: Plan
) -> list[Score]:
    count = len(sample.levels)
    named = {
        "model, OWN judgment" if plan.own_judgment else "model": model,
        "historical, of these": historical,
        "uniform": constant_forecast(np.full(count, 1 / count), sample),
    }
    shipped = _shipped_historical(examples, sample)
    if shipped is not None:
        named["historical, shipped"] = constant_forecast(shipped, sample)
    return [score(name, where, predicted, sample) for name, predicted in named.items()]


def _validate(
    examples: Examples, sample: Sample, plan: Plan, progress: Callable[[int, int], None], notes: _Notes
) -> tuple[list[Score], Forecast | None]:
    """The scores on held-out rows, by query and by collection, and what was predicted of them by query."""
    ways = _ways(examples, sample, plan.folds)
    if ways and not plan.own_judgment:
        _note_learned(sample, notes)
    total, done = sum(len(way.names) for way in ways), 0

    def told() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    scores, first = [], None
    for way in ways:
        predicted, reasons = cross_validate(sample, way.fold, way.names, told)
        notes.add(*reasons)
        scores += _scores(way.label, predicted["model"], predicted["historical"], examples, sample, plan)
        first = first or predicted["model"]
    return scores, first


def _note_learned(sample: Sample, notes: _Notes) -> None:
    reads = {name: FEATURES[name].reads for name in sorted(_features(sample))}
    own = [name for name, queries in reads.items() if queries in {"own query", "all queries"}]
    other = [name for name, queries in reads.items() if queries == "other queries"]
    if own:
        notes.add(f"{', '.join(own)}: {SEES_ALL}")
    if other:
        notes.add(f"{', '.join(other)}: {SEES_OTHERS}")


def _ways(examples: Examples, sample: Sample, folds: int) -> list[_Way]:
    """By query, unless no folds are wanted; by collection where several have rows."""
    ways = []
    if folds:
        names = tuple(f"fold {fold}" for fold in range(1, folds + 1))
        ways.append(_Way(f"{folds} folds by query", deal(sample.group, folds), names))
        found, code = np.unique(sample.collection, return_inverse=True)
        if len(found) > 1:
            named = tuple(examples.collections[place] for place in found)
            ways.append(_Way("leaving out a collection", code.reshape(-1), named))
    return ways


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
        unseen = forecast(fit_sample(flattered), honest)
        found.append(_describe("included in the fit, left out in use", unseen, honest, None))
    return tuple(found)


def _version(label: str, sample: Sample) -> JudgmentVersion:
    found = fit_sample(sample)
    null = null_log_likelihood(sample)
    return _describe(label, forecast(found, sample), sample, nagelkerke(found.log_likelihood, null, len(sample.level)))


def _describe(label: str, predicted: Forecast, sample: Sample, r_squared: float | None) -> JudgmentVersion:
    found = score("model", label, predicted, sample)
    return JudgmentVersion(label, found.rows, r_squared, found.rmse, found.mean_variance, found.coverage_95)


def _model(judged: Sequence[tuple[Pool, Array]], sample: Sample, found: Fit, plan: Plan, findings: Findings) -> Model:
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
        report=findings.to_dict(),
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
