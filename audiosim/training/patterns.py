"""A mean model for each pattern of known features, all fitted to the same judgments: fallbacks of a joint model.

A pair without an artist may still have a genre. If features of genre, of artist, or of both are unknown, the pair is
predicted by a model of the remaining terms, fitted to all rows with these terms.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from audiosim.errors import InputError
from audiosim.features.registry import FEATURES
from audiosim.features.table import factors
from audiosim.relevance.model_files import Model
from audiosim.relevance.pair_evidence import kinds_of
from audiosim.training.examples import Examples
from audiosim.training.likelihood import fit_sample, identifiable


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
