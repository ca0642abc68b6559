"""Fit of a model to the judgments of some collections: its terms, an ordinal model, and the correlation of grades."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.relevance.model_files import Model, load_model, model_for_scale, model_names
from audiosim.relevance.provenance import Provenance, package_versions, source_of
from audiosim.stats.responses.ordinal import thresholds_of
from audiosim.stats.responses.ordinal_fit import OrdinalFit
from audiosim.training.examples import Examples, Sample, judged_pools, make_examples
from audiosim.training.folds import Judged
from audiosim.training.joint_fit import fit_joint
from audiosim.training.likelihood import Step, eliminate, fit_sample, identifiable
from audiosim.training.notes import Notes
from audiosim.training.own_judgment import WARNING
from audiosim.training.patterns import with_patterns
from audiosim.training.plan import Plan


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model with the data it was fitted to.

    judged  pools with their grades, and the resulting examples
    sample  rows of the examples used in the fit
    found   ordinal fit to them
    steps   terms that were eliminated, in order
    model   model without a report
    """

    judged: Judged
    sample: Sample
    found: OrdinalFit
    steps: tuple[Step, ...]
    model: Model


def fit_model(collections: Sequence[Collection], plan: Plan, notes: Notes) -> FittedModel:
    """Model of the judgments of some collections of one scale, pooled.

    notes  notes to which omissions are added, with reasons
    """
    pools = judged_pools(collections)
    examples = make_examples(pools, sorted(plan.features), plan.own_judgment)
    if plan.own_judgment:
        notes.add(WARNING)
    terms, steps = _choose_terms(examples, plan, notes)
    sample = examples.known(terms)
    _note_rows(examples, sample, notes)
    found = fit_sample(sample, groups=True)
    model = ordinal_model(pools, sample, found, plan)
    if plan.joint:
        model = fit_joint(pools, model if plan.fallback is not None else with_patterns(model, examples))
    return FittedModel(Judged(pools, examples, as_given=plan.own_judgment), sample, found, tuple(steps), model)


def _choose_terms(examples: Examples, plan: Plan, notes: Notes) -> tuple[tuple[str, ...], list[Step]]:
    some = _known_somewhere(examples, plan.terms, notes) if plan.joint else plan.terms
    terms, reasons = identifiable(examples.known(some))
    notes.add(*reasons)
    if not terms:
        raise InputError(f"no feature carries information on the level: {'; '.join(reasons)}")
    if plan.eliminate is None:
        return terms, []
    return eliminate(examples, terms, plan.eliminate, notes.add)


def _known_somewhere(examples: Examples, terms: tuple[str, ...], notes: Notes) -> tuple[str, ...]:
    """The terms known for some pair; a joint model omits the others, unless none would remain."""
    known = tuple(term for term in terms if examples.with_known((term,)).any())
    if known:
        notes.add(*(f"{term} is unknown for every judged pair: left out" for term in terms if term not in known))
    return known or terms


def _note_rows(examples: Examples, sample: Sample, notes: Notes) -> None:
    judged, used = len(examples.level), len(sample.level)
    if used < judged:
        why = ", ".join(f"{name} for {count:,}" for name, count in examples.unknown(sample.terms).items())
        notes.add(f"{judged - used:,} of {judged:,} judged pairs left out, as a feature is unknown: {why}")
    missing = [f"{level:g}" for level in examples.all_levels if level not in sample.levels]
    if missing:
        notes.add(f"no judgment has the level {', '.join(missing)}, so the model lacks it")
    if len(sample.levels) < 2:
        raise InputError(f"all {used:,} judgments have the level {sample.levels[0]:g}: there is nothing to predict")
    if len(np.unique(sample.group)) < 2:
        notes.add("all judgments belong to one query: there are no robust standard errors")


def ordinal_model(judged: Sequence[tuple[Pool, Array]], sample: Sample, found: OrdinalFit, plan: Plan) -> Model:
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
    """The model for pairs with an unknown feature: a published one by name, any other as a value."""
    levels = tuple(sample.levels.tolist())
    if plan.fallback is not None:
        model = model_for_scale(plan.fallback, scale)
        if model.levels != levels:
            raise InputError(f"models {plan.name} and {model.name}, its fallback, differ in their levels")
        return replace(model, covariance=None, report=None) if plan.fallback.endswith(".json") else model.name
    historical = published_historical(scale.name, levels)
    if historical is not None:
        return historical.name
    thresholds = tuple(thresholds_of(sample.shares).tolist())
    source = "the shares of the levels among the judgments of the training"
    return Model(f"{plan.name}-shares", scale.name, levels, (), (), thresholds, None, source)


def published_historical(scale: str, levels: tuple[float, ...]) -> Model | None:
    """The published distribution of past judgments on a scale, if it has these levels."""
    name = f"historical-{scale}"
    model = load_model(name) if name in model_names() else None
    return model if model is not None and model.levels == levels else None
