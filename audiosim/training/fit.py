"""Fit of a model to the judgments of some collections: its terms, an ordinal model, and the correlation of grades."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, xlogy

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool
from audiosim.collection.values import Scale
from audiosim.errors import InputError, of_argument
from audiosim.joint.posterior import kinds_of
from audiosim.ordinal.features import FEATURES, factors
from audiosim.ordinal.model import (
    Model,
    Provenance,
    load_model,
    model_for_scale,
    model_names,
    package_versions,
    source_of,
)
from audiosim.stats.arrays import Array
from audiosim.stats.ordinal import OrdinalFit, check_independent, fit_ordinal, standardise, thresholds_of
from audiosim.training.examples import Examples, Judged, Sample, judged_pools, make_examples
from audiosim.training.joint import fit_joint
from audiosim.training.plan import Notes, Plan

# Selection of a model's terms: fits of many models to the same rows, compared by likelihood.


class Effect(NamedTuple):
    """Effect of a term: likelihood-ratio chi-squared on one degree of freedom, with its p.

    drop_one  test with all other terms kept
    type_two  test without the terms that contain this one, in both models: a main effect is tested
              without its interactions
    """

    term: str
    drop_one: float
    drop_one_p: float
    type_two: float
    type_two_p: float


class Step(NamedTuple):
    """A term dropped by elimination: its drop-one contribution to the model before, and the number of rows."""

    term: str
    chi_squared: float
    p: float
    rows: int


def fit_sample(sample: Sample, groups: bool = False) -> OrdinalFit:
    """The fit of maximum likelihood; with `groups`, robust against correlated judgments of one query."""
    levels, level = np.unique(sample.level, return_inverse=True)
    several = groups and len(np.unique(sample.group)) > 1
    return fit_ordinal(
        sample.features, level, groups=sample.group if several else None, names=sample.terms, labels=levels.tolist()
    )


def null_log_likelihood(sample: Sample) -> float:
    """The log-likelihood of the model without terms, which gives each level its share of the rows."""
    return len(sample.level) * float(xlogy(sample.shares, sample.shares).sum())


def nagelkerke(log_likelihood: float, null: float, rows: int) -> float:
    """R^2 of Nagelkerke (1991), doi:10.1093/biomet/78.3.691: 0 for no better than the null model, 1 for certainty.

    (1 - exp(-chi / n)) / (1 - exp(2 null / n)),  chi = 2 (log_likelihood - null)
    """
    return float(np.expm1(-2 * (log_likelihood - null) / rows) / np.expm1(2 * null / rows))


def identifiable(sample: Sample) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms that these rows can distinguish, and one sentence for each of the others.

    Goes through the terms in order, and drops those that are constant or a combination of earlier ones.
    """
    kept: list[str] = []
    reasons = []
    ones = np.ones(len(sample.level))
    for term in sample.terms:
        tried = [*kept, term]
        try:
            standard, _, _ = standardise(sample.having(tried).features, ones, tried)
            check_independent(standard, ones, tried)
        except InputError as error:
            reason = (
                str(error)
                .removesuffix(": leave one of them out")
                .removesuffix(": it carries no information on the level")
            )
            reasons.append(f"{reason}: left out")
        else:
            kept = tried
    return tuple(kept), tuple(reasons)


def likelihoods(sample: Sample) -> Callable[[tuple[str, ...]], float]:
    """The log-likelihood of the model with some of the terms, each fitted once."""

    @cache
    def log_likelihood(terms: tuple[str, ...]) -> float:
        return fit_sample(sample.having(terms)).log_likelihood if terms else null_log_likelihood(sample)

    return log_likelihood


def effects(sample: Sample) -> list[Effect]:
    """Effect of each term of a model."""
    log_likelihood, terms = likelihoods(sample), sample.terms
    found = []
    for term in terms:
        beside = tuple(other for other in terms if not contains(other, term))
        drop_one = _chi_squared(log_likelihood(terms), log_likelihood(_without(terms, term)))
        type_two = _chi_squared(log_likelihood(beside), log_likelihood(_without(beside, term)))
        found.append(Effect(term, drop_one, p_of(drop_one), type_two, p_of(type_two)))
    return found


def contains(term: str, other: str) -> bool:
    """True if a term is an interaction of another term with further ones: a:b contains a."""
    return set(factors(other)) < set(factors(term))


def eliminate(
    examples: Examples, terms: Sequence[str], level: float, say: Callable[[str], None]
) -> tuple[tuple[str, ...], list[Step]]:
    """Drop the least explanatory term, repeatedly, until all remaining ones are significant.

    level  level of significance, such as .05, for the drop-one likelihood ratio
    say    called with each step

    A term is kept as long as an interaction that contains it is kept. Each step uses all rows for which the features of
    the remaining terms are known.
    """
    left = tuple(terms)
    steps: list[Step] = []
    while True:
        sample = examples.known(left)
        log_likelihood = likelihoods(sample)
        candidates = [term for term in left if not any(contains(other, term) for other in left)]
        explained = {
            term: _chi_squared(log_likelihood(left), log_likelihood(_without(left, term))) for term in candidates
        }
        least = min(candidates, key=explained.__getitem__)
        step = Step(least, explained[least], p_of(explained[least]), len(sample.level))
        if step.p <= level:
            return left, steps
        say(f"dropped {least}: chi-squared {step.chi_squared:.3g}, p {step.p:.3g}, above {level:g}")
        steps.append(step)
        left = _without(left, least)
        if not left:
            raise InputError(f"no term is significant at {level:g}: nothing is left to train")


def p_of(chi_squared: float) -> float:
    """P(a chi-squared variable of one degree of freedom is larger)."""
    return float(chdtrc(1, chi_squared))


def _chi_squared(larger: float, smaller: float) -> float:
    return max(0.0, 2 * (larger - smaller))


def _without(terms: tuple[str, ...], term: str) -> tuple[str, ...]:
    return tuple(other for other in terms if other != term)


# A mean model for each pattern of known features, all fitted to the same judgments: fallbacks of a joint model.
#
# A pair without an artist may still have a genre. If features of genre, of artist, or of both are unknown, the pair is
# predicted by a model of the remaining terms, fitted to all rows with these terms.


def with_patterns(model: Model, examples: Examples) -> Model:
    """The model, followed by one for each pattern of fewer known features, and finally its own fallback.

    examples  examples with the features of the model

    Larger patterns come first; among patterns of the same size, the more explanatory one. A pattern is left out if the
    rows cannot distinguish its terms, or lack a level.
    """
    kinds = sorted({kind for term in model.terms for kind in _unsure(term)})
    chain = model.fallback
    for size in range(len(kinds)):
        found = [one for known in combinations(kinds, size) if (one := _fitted(model, examples, known)) is not None]
        for _, pattern in sorted(found, key=lambda one: one[0]):
            chain = replace(pattern, fallback=chain)
    return replace(model, fallback=chain)


def _unsure(term: str) -> set[str]:
    """Kinds of evidence in a term that may be unknown; the systems that retrieved a document are always known."""
    return {kind for name in factors(term) for kind in kinds_of(FEATURES[name])} - {"output"}


def _fitted(model: Model, examples: Examples, known: Sequence[str]) -> tuple[float, Model] | None:
    """The log-likelihood per row, and the model of the terms that use only known features."""
    terms = [term for term in model.terms if _unsure(term) <= set(known)]
    levels = np.array(model.levels)
    if not terms or len(terms) == len(model.terms):
        return None
    sample = examples.sample(terms, examples.with_known(terms), levels)
    kept = identifiable(sample)[0] if len(sample.level) else ()
    if not kept or not np.all(sample.shares):
        return None
    try:
        fit = fit_sample(sample.having(kept))
    except InputError:
        return None
    # A term with one value in all these rows, as OV has in one collection, keeps its coefficient from the whole model.
    own = dict(zip(kept, fit.coefficients.tolist(), strict=True))
    whole = dict(zip(model.terms, model.coefficients, strict=True))
    same = [term for term in terms if term not in own and np.ptp(sample.features[:, terms.index(term)]) == 0]
    shift = sum(whole[term] * float(sample.features[0, terms.index(term)]) for term in same)
    coefficients = {term: own.get(term, whole[term]) for term in terms if term in own or term in same}
    pattern = replace(
        model,
        name="-".join([model.name, "of", "output", *known]),
        terms=tuple(coefficients),
        coefficients=tuple(coefficients.values()),
        thresholds=tuple((fit.thresholds - shift).tolist()),
        source=f"fitted to {len(sample.level):,} judgments of {', '.join(examples.collections)}",
        definitions=None,
        covariance=None,
        training=None,
    )
    return fit.log_likelihood / len(sample.level), pattern


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
    examples = make_examples(pools, sorted(plan.features))
    terms, steps = _choose_terms(examples, plan, notes)
    sample = examples.known(terms)
    _note_rows(examples, sample, notes)
    found = fit_sample(sample, groups=True)
    model = ordinal_model(pools, sample, found, plan)
    if plan.joint:
        model = fit_joint(pools, model if plan.fallback is not None else with_patterns(model, examples))
    return FittedModel(Judged(pools, examples), sample, found, tuple(steps), model)


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
        source=source,
        covariance=tuple(map(tuple, covariance.tolist())),
        training=Provenance(sources, len(sample.level), False, plan.date, packages),
    )


def _fallback(plan: Plan, scale: Scale, sample: Sample) -> "str | Model":
    """The model for pairs with an unknown feature: a published one by name, any other as a value."""
    levels = tuple(sample.levels.tolist())
    if plan.fallback is not None:
        with of_argument("fallback"):
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
