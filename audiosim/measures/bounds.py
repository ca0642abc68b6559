"""Lower and upper bounds of scores over all possible values of the missing judgments."""

from collections.abc import Set
from dataclasses import replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Judgment, Scale
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.scores import score
from audiosim.measures.system_scores import judged_runs

# Measures without weights of ranks that never fall when a document in the ranking gets a higher grade, and never rise
# when one in the ideal ranking does.
RISING = {"P", "AP", "RR", "Q", "ERR", "GAP"}


def score_bounds(collection: Collection, measure: str | Measure) -> tuple[Array, Array]:
    """Lowest and highest score that each system could have for each query if all documents were judged, (s, q) each.

    The lowest score gives unjudged documents the lowest grade in a ranking and the highest in the ideal; the highest
    score does the opposite. The difference is the residual of Moffat & Zobel (2008), doi:10.1145/1416950.1416952. Exact
    for measures without an ideal. With an ideal, ranking and ideal are bounded separately, so the bounds contain the
    true score but may be too wide. Documents that no system retrieves down to the cutoff keep their grades. NaN for
    measures that may fall when a grade rises: EDCG, ADR, and those of other packages that are not weighted sums over
    ranks.
    """
    measure = as_measure(measure)
    if not has_bounds(measure):
        unknown = np.full(judged_runs(collection, measure.cutoff, "zero").grades.shape[:2], np.nan)
        return unknown, unknown
    least = judged_runs(collection, measure.cutoff, "zero")
    most = judged_runs(_filled(collection, measure.cutoff, set(least.queries)), measure.cutoff, "zero")
    return bounds_of_grades(measure, collection.scale, (least.grades, least.judged), (most.grades, most.judged))


def has_bounds(measure: Measure) -> bool:
    """True if scores never fall when a document in the ranking gets a higher grade: see `score_bounds`."""
    return measure.rank_weights is not None or measure.name in RISING


def bounds_of_grades(
    measure: Measure, scale: Scale, least: tuple[Array, Array], most: tuple[Array, Array]
) -> tuple[Array, Array]:
    """`score_bounds` of grades of results (s, q, n) and of all judged documents (q, m), each at the lowest and highest.

    least  grades of both with the lowest grade where unjudged
    most   the same with the highest
    """
    low, fully = (score(measure, scale, grades, most[1]) for grades in (least[0], most[0]))
    # A score above 0 implies a relevant document; each measure decides the grade that counts as relevant.
    some = (scale.levels[1], scale.maximum)
    high = [score(measure, scale, most[0], _at_least(least[1], level)) for level in some]
    return low, np.minimum(np.maximum.reduce([fully, *high]), np.maximum(fully, 1.0))


def _filled(collection: Collection, cutoff: int, queries: Set[str]) -> Collection:
    """The collection with the highest grade for every unjudged document of these queries down to the cutoff."""
    judged = {judgment.pair for judgment in collection.judgments}
    missing = dict.fromkeys(
        (query, document)
        for run in collection.runs
        for query, documents in run.rankings.items()
        for document in documents[:cutoff]
        if query in queries and (query, document) not in judged
    )
    more = tuple(Judgment(*pair, collection.scale.maximum) for pair in missing)
    return replace(collection, judgments=collection.judgments + more)


def _at_least(judged: Array, level: float) -> Array:
    """(q, m) grades, best first, with the best raised to at least a level."""
    first = np.maximum(judged[:, :1], level) if judged.shape[1] else np.full((len(judged), 1), level)
    return np.concatenate([first, judged[:, 1:]], axis=1)
