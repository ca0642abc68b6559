"""Evidence from judging machines: covariates of people's grades, with a prior of slopes learned from real machines.

    deviations += sum over machines m of  b_m within_m + c_m system_m + d_m query_m + f_m excess_m  +  taste

with the parts of `features.machines`. Taste is an effect of each system, the interaction of machine and system. It is
larger the more the machines set the system apart, so that a machine's favourites are most uncertain.
`models/judges/slopes.json` has the distribution of one machine's slopes. Machines that agree also make the same errors,
so several count for less than their sum. With C the correlation of their grades at one level, D its standard
deviations, mu and sigma the prior of one machine,

    slopes ~ N(D^-1 C^-1 D mu, sigma^2 C^-1)

This is the regression on all machines if each of them alone has the covariance with grades that a single machine has (a
g prior, Zellner 1986). Components of the model lose the variance that the slopes are expected to explain.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.features.machines import LEVELS, MachineGrades, machine_grades
from audiosim.package_files import folder
from audiosim.relevance.evidence_kind import Blocks, EvidenceKind, Regressors
from audiosim.stats.gaussians.proximity import nearest_correlation
from audiosim.stats.normal.layout import REST

MACHINE_SYSTEM = "machine_system"
OWN_ERRORS = 0.1  # smallest share of a machine's grades taken as independent of others
TAKEN_FROM = {
    "within": ("retrievers", REST),
    "system": ("team", "system"),
    "query": ("query",),
}  # components that explain, without a machine, the variation at each level


@dataclass(frozen=True)
class SlopePrior:
    """Normal distribution over machines of the slopes of their grades: mean and standard deviation, by level.

    of       distribution at each of LEVELS, in standard deviations of a grade
    taste    median, and standard deviation of the logarithm, of the deviation of taste per unit by which a system is
             set apart
    sources  training collections
    response mean and standard deviation of the regression of a machine's mean grades of systems on people's
    favour   median, and standard deviation of the logarithm, of its further additions to systems
    """

    of: Mapping[str, tuple[float, float]]
    taste: tuple[float, float]
    sources: tuple[str, ...]
    response: tuple[float, float] = (0.8, 0.3)
    favour: tuple[float, float] = (0.2, 1.0)


@cache
def usual_slopes() -> SlopePrior:
    """The distribution shipped with the package."""
    fields = json.loads((folder("models") / "judges" / "slopes.json").read_text(encoding="utf-8"))
    slopes = {name: (mean, spread) for name, (mean, spread) in fields["slopes"].items()}
    median, spread = fields["taste"]
    response, favour = ((fields[name][0], fields[name][1]) for name in ("response", "favour"))
    return SlopePrior(slopes, (median, spread), tuple(fields["sources"]), response, favour)


def machine_regressors(machines: tuple[MachineGrades, ...], pool: Pool, prior: SlopePrior) -> Regressors:
    """Regressors of a pool's machines, by a prior of their slopes."""
    counted = pool.found
    columns, means, covariances, explained = [], [], [], dict[tuple[str, ...], float]()
    for place, level in enumerate(LEVELS):
        said = np.column_stack([one.parts[:, place] for one in machines])
        mean, spread = prior.of[level]
        weights, inverse = _weights(said[counted])
        columns.append(said)
        means.append(mean * weights)
        covariances.append(spread**2 * inverse)
        if level == "system":
            distinct = np.stack([one.scores for one in machines], axis=1) * weights
        if level in TAKEN_FROM:
            explained[TAKEN_FROM[level]] = mean**2 * float(np.var(said[counted] @ weights))
    return Regressors(
        tuple(one.name for one in machines),
        np.column_stack([one.known for one in machines]),
        np.hstack(columns),
        np.concatenate(means),
        block_diag(*covariances),
        shared={MACHINE_SYSTEM: _tastes(pool, np.sqrt((distinct**2).sum(axis=1)))},
        standard_deviations={MACHINE_SYSTEM: prior.taste},
        explained=explained,
    )


def _tastes(pool: Pool, distinct: Array) -> sparse.csr_array:
    """(n, s) loadings of the pairs on the tastes for systems: equal parts for the systems that retrieved a pair.

    distinct  (s,) distance by which machines set each system apart
    """
    found = sparse.csr_array(pool.retrieved.T)
    parts = sparse.diags_array(1 / np.maximum(1, found.sum(axis=1))) @ found
    return sparse.csr_array(parts @ sparse.diags_array(distinct))


def _weights(said: Array) -> tuple[Array, Array]:
    """(m,) D^-1 C^-1 D of ones, the weight of each of m machines beside the others, and (m, m) C^-1.

    said  (n, m) their grades of pairs
    """
    deviations = np.maximum(said.std(axis=0), 1e-9)
    centred = (said - said.mean(axis=0)) / deviations
    correlation = np.maximum(0.0, centred.T @ centred / max(1, len(said)))  # disagreement adds no credibility
    np.fill_diagonal(correlation, 1)
    shared = (1 - OWN_ERRORS) * nearest_correlation(correlation) + OWN_ERRORS * np.eye(len(correlation))
    inverse = np.linalg.inv(shared)
    return np.asarray(inverse @ deviations / deviations), np.asarray(inverse)


def machine_kind(prior: SlopePrior | None = None) -> EvidenceKind:
    """The kind of evidence for machines, by a prior of their slopes; the shipped one if None."""

    def regressors(pool: Pool, _: Blocks) -> Regressors | None:
        machines = machine_grades(pool)
        return machine_regressors(machines, pool, prior or usual_slopes()) if machines else None

    return EvidenceKind("judges", "grades of machines that judge, in the folder judges", regressors)


MACHINE_KIND = machine_kind()
