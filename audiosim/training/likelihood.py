"""Selection of a model's terms: fits of many models to the same rows, compared by likelihood."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, xlogy

from audiosim.errors import InputError
from audiosim.features.table import factors
from audiosim.stats.responses.ordinal_fit import OrdinalFit, fit_ordinal
from audiosim.stats.responses.standardisation import check_independent, standardise
from audiosim.training.examples import Examples, Sample


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
