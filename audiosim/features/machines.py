"""Grades by judging machines, split into parts for queries, for systems, and for documents within both.

A machine's grades, as normal scores in standard deviations over the retrieved pairs, are the sum of

    query      the mean over the retrieved pairs of the query
    system     the least change of single pairs that gives each system its mean grade m, tempered: REACH tanh(m / REACH)
    excess     the remainder of these means, beyond the differences between systems in people's grades
    within     the rest, which adds nothing to the mean grade of any system

If a machine favours a system, the system's mean grade stands out by more than the differences between systems in
people's grades. This is the excess, and models weight it separately.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Booleans
from audiosim.corpus.judge_files import MachineJudge
from audiosim.corpus.pool import Pool
from audiosim.features.evidence import normal_scores, standard_column
from audiosim.features.feature import once_per_pool

LEVELS = ("within", "system", "query", "excess")
REACH = 0.5  # in standard deviations of a grade: people's mean grades of systems differ by .3 to .45 of one
RIDGE = 0.02  # share of the mean square, so that systems with nearly the same results are not separated by rounding


@dataclass(frozen=True, eq=False)
class MachineGrades:
    """Grades of one machine, split into parts.

    name    name of the machine
    known   (n,) True if the machine graded the pair
    parts   (n, 4) part of each of LEVELS; they sum to the grade, 0 where unknown
    scores  (s,) mean grade of each system, from the mean of all
    """

    name: str
    known: Booleans
    parts: Array
    scores: Array


@once_per_pool
def machine_grades(pool: Pool) -> tuple[MachineGrades, ...]:
    """The grades of a pool's machines, without uninformative machines."""
    found = (_decomposed(pool, judge) for judge in pool.judges)
    return tuple(one for one in found if one is not None)


def _decomposed(pool: Pool, judge: MachineJudge) -> MachineGrades | None:
    raw = pool.spread(dict(zip(judge.pairs, judge.grades.tolist(), strict=True)))
    column = standard_column(pool, judge.name, normal_scores(raw, pool.found))
    if column is None:
        return None
    counted = column.known & pool.found
    per_query = np.bincount(pool.query[counted], minlength=len(pool.queries))
    sums = np.bincount(pool.query[counted], column.values[counted], len(pool.queries))
    query = np.where(column.known, (sums / np.maximum(1, per_query))[pool.query], 0.0)
    left = np.where(column.known, column.values - query, 0.0)
    weights = mean_weights(pool, counted)
    scores = weights @ left
    scores = scores - scores.mean()
    tempered = REACH * np.tanh(scores / REACH)
    system, excess = _spread(weights, np.column_stack([tempered, scores - tempered])).T
    return MachineGrades(
        judge.name, column.known, np.column_stack([left - system - excess, system, query, excess]), scores
    )


def mean_weights(pool: Pool, counted: Booleans) -> sparse.csr_array:
    """(s, n) weights that average a value over the counted pairs of each system."""
    there = sparse.csr_array(pool.retrieved @ sparse.diags_array(counted.astype(np.float64)))
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(1, there.sum(axis=1))) @ there)


def _spread(weights: sparse.csr_array, scores: Array) -> Array:
    """(n, k) values of pairs with the smallest sum of squares, given their means over systems (s, k)."""
    gram = (weights @ weights.T).toarray()
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.asarray(weights.T @ np.linalg.solve(gram, scores))
