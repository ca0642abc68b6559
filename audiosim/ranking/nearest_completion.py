"""The drawn completion of a pool's grades with the scores nearest to those stated."""

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.joint.posterior import Belief
from audiosim.joint.predictions import drawn_completions
from audiosim.measures.measure import parse_measure
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.sampled import SampledScores
from audiosim.stats.arrays import Array

MEASURES = ("CG", "nDCG")  # a sum of gains, and one divided by the ideal ranking
DRAWS = 400
NUMBERS = 10_000_000  # most grades drawn at a time


def nearest_completion(belief: Belief, pool: Pool, rng: np.random.Generator) -> Array:
    """(n,) whole grades of all pairs, for which the systems have about the scores that a belief states.

    Of DRAWS completions the one whose furthest score, of any system by any of MEASURES, is nearest to the stated one,
    in its standard deviations. Expected grades would not do: they vary less than grades, so their ideal ranking is too
    low.
    """
    count = max(2, min(DRAWS, NUMBERS // max(1, len(pool.pairs))))
    grades = np.stack(list(drawn_completions(belief, pool.scale, count, rng)))
    off = np.zeros(count)
    for name in MEASURES:
        measure = parse_measure(f"{name}@{pool.cutoff}")
        stated = expected_scores(measure, pool).scores(belief)
        deviation = np.sqrt(stated.variance)
        scores = SampledScores(measure, pool).of_grades(grades)
        open_ = deviation > 0
        off = np.maximum(off, (np.abs(scores - stated.mean[:, None])[open_] / deviation[open_, None]).max(0, initial=0))
    return np.asarray(grades[np.argmin(off)])
