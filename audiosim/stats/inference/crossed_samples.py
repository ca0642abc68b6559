"""Test of differences between systems where queries and listeners are both samples."""

import numpy as np
from scipy.special import stdtr, stdtrit

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.stats.inference.paired_tests import Comparison
from audiosim.stats.inference.score_matrix import paired_differences, ratio_or_infinity

LISTENERS = "listeners"


def crossed_test(scores: Array, confidence: float = 0.95) -> Comparison:
    """Test of all pairs of systems for other queries and other listeners of the same kinds.

        d_qa = mean + query_q + listener_a + rest_qa
        Var[mean of d] = max(MS_q, MS_a, MS_q + MS_a - MS_qa) / (q a)

    with the mean squares of queries, of listeners, and of the residual. Degrees of freedom are those of the larger mean
    square, or Satterthwaite's (1946) for the sum, which is the quasi-F of Clark (1973),
    doi:10.1016/S0022-5371(73)80014-3. The sum alone could fall below the variance due to a single factor; if listeners
    do not differ, this is the paired t-test.

    scores      (s, q, a) score of each system on each query by each listener; at least two queries and two listeners
    confidence  confidence of the intervals
    """
    _, queries, listeners = scores.shape
    if min(queries, listeners) < 2:
        raise InputError(f"the test needs two queries and two listeners, got {queries} and {listeners}")
    found = paired_differences(scores.mean(axis=2))
    spread, freedom = np.array(
        [_of_one(scores[a] - scores[b]) for a, b in zip(found.first, found.second, strict=True)]
    ).T
    difference, error = found.means(), np.sqrt(spread / (queries * listeners))
    ratio = ratio_or_infinity(difference, error)
    half = stdtrit(freedom, (1 + confidence) / 2) * error
    ends = difference - half, difference + half
    p_value = 2 * stdtr(freedom, -np.abs(ratio))
    exact = np.zeros(len(difference), dtype=np.bool_)
    places = found.first, found.second, difference, found.standardised(), difference
    return Comparison(LISTENERS, confidence, queries, *places, *ends, ratio, p_value, exact)


def _of_one(differences: Array) -> tuple[float, float]:
    """Mean square for the test of the mean difference (q, a), and its degrees of freedom."""
    queries, listeners = differences.shape
    by_query, by_listener = differences.mean(axis=1), differences.mean(axis=0)
    rest = differences - by_query[:, None] - by_listener + differences.mean()
    of_query, of_listener = listeners * by_query.var(ddof=1), queries * by_listener.var(ddof=1)
    freedoms = queries - 1, listeners - 1, (queries - 1) * (listeners - 1)
    of_rest = float((rest**2).sum()) / freedoms[2]
    both = of_query + of_listener - of_rest
    if both <= max(of_query, of_listener):
        return max((of_query, freedoms[0]), (of_listener, freedoms[1]))
    squares = zip((of_query, of_listener, of_rest), freedoms, strict=True)
    return both, both**2 / sum(square**2 / freedom for square, freedom in squares)
