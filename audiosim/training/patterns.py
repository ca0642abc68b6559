"""A mean for each pattern of what is known of a pair, all fitted to the same judgments: the fallbacks of a joint model.

A pair without an artist is not one of which nothing is known. Where features of genre, or of artist, or of both are
unknown, a model of the terms that are left speaks for the pair, fitted to all rows that have these.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from audiosim.errors import InputError
from audiosim.features.registry import FEATURES
from audiosim.features.table import factors
from audiosim.relevance.published import Model
from audiosim.relevance.speaking import kinds_of
from audiosim.training.examples import Examples
from audiosim.training.likelihood import fit_sample, identifiable


def with_patterns(model: Model, examples: Examples) -> Model:
    """The model, followed by one for each pattern of less that may be known, and by its own fallback in the end.

    examples  with the features of the model

    Larger patterns come first, and of those of one size the one that explains more. A pattern whose terms the rows
    cannot tell apart, or that lacks a level, is left out.
    """
    kinds = sorted({kind for term in model.terms for kind in _unsure(term)})
    chain = model.fallback
    for size in range(len(kinds)):
        found = [one for known in combinations(kinds, size) if (one := _fitted(model, examples, known)) is not None]
        for _, pattern in sorted(found, key=lambda one: one[0]):
            chain = replace(pattern, fallback=chain)
    return replace(model, fallback=chain)


def _unsure(term: str) -> set[str]:
    """Kinds of evidence in a term that may be unknown: not who retrieved a document."""
    return {kind for name in factors(term) for kind in kinds_of(FEATURES[name])} - {"output"}


def _fitted(model: Model, examples: Examples, known: Sequence[str]) -> tuple[float, Model] | None:
    """The log-likelihood of a row, and the model of the terms that are made of what is known."""
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
    # A term that is the same of all these rows, as OV is in one collection, counts what it does in the whole model.
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
