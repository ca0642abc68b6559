"""Covariates from the numbers of teams and systems that found a document, comparable between collections.

A share of the teams is not comparable: the meaning of a tenth of them depends on their number. Two quantities are
comparable: a system's agreement with others, in standard deviations over the systems, and the logarithm of a number of
teams. Teams are more informative than their systems, which resemble each other. Still, a document found by all systems
of a team is better than a document found by only one of them.
"""

import numpy as np
from scipy import sparse

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool

QUANTILES = (0.5, 0.8, 0.95)  # quantiles of the logarithm of the number of teams; they separate the bands of consensus


def log_teams(pool: Pool) -> Array:
    """(n,) the natural logarithm of the number of teams that retrieved each pair's document; 0 where none did."""
    systems = np.arange(len(pool.systems))
    members = sparse.csr_array((np.ones(len(systems)), (pool.teams, systems)))
    counts = np.asarray((members @ pool.retrieved > 0).sum(axis=0), dtype=np.float64).ravel()
    return np.log(np.maximum(1, counts))


def covariates(pool: Pool) -> tuple[Array, Array, Array]:
    """System agreement, consensus and repetition of each pair, (n,) each.

        u_a  mean over the pairs of system a of ln teams,  l_i = ln teams_i - mean over all pairs
        agreement_i  = mean over the systems a that retrieved i of  (u_a - mean of u) / (standard deviation of u)
        consensus_i  = l_i - mean over the systems a that retrieved i of  u_a
        repetition_i = the same as consensus, for  ln (systems / teams)  that retrieved i

    The first distinguishes systems, the others documents within a system: between and within groups, as Mundlak
    (1978), doi:10.2307/1913646. Agreement is 0 where all systems agree equally or there is only one; repetition is 0
    where each system is its own team.
    """
    teams, repeated = log_teams(pool), log_repetition(pool)
    systems, consensus = _within(pool, teams)
    there = systems[np.diff(pool.retrieved.indptr) > 0]
    spread = float(there.std())
    agreement = (systems - there.mean()) / spread if spread > np.finfo(float).eps * len(teams) else 0 * systems
    by = np.maximum(1, np.asarray(pool.retrieved.sum(axis=0)).ravel())
    return (agreement @ pool.retrieved) / by, consensus, _within(pool, repeated)[1]


def log_repetition(pool: Pool) -> Array:
    """(n,) natural logarithm of the number of systems per team among those that retrieved each pair's document."""
    counts = np.asarray(pool.retrieved.sum(axis=0), dtype=np.float64).ravel()
    return np.log(np.maximum(1, counts)) - log_teams(pool)


def _within(pool: Pool, values: Array) -> tuple[Array, Array]:
    """(s,) mean value of each system's pairs, and (n,) excess of each pair over the mean of its systems.

    values  (n,), centred on the mean over all retrieved pairs
    """
    centred = values - values[pool.found].mean()
    counts = np.diff(pool.retrieved.indptr)
    systems = np.asarray(pool.retrieved @ centred).ravel() / np.maximum(1, counts)
    by = np.maximum(1, np.asarray(pool.retrieved.sum(axis=0)).ravel())
    return systems, centred - (systems @ pool.retrieved) / by


def bands(pool: Pool) -> Array:
    """(n, b) 1 in the band of consensus of each pair, else 0; bands without a pair are left out.

    The QUANTILES of ln teams separate four bands; a value equal to a quantile belongs to the band below it.
    """
    teams = log_teams(pool)
    band = np.searchsorted(np.quantile(teams[pool.found], QUANTILES), teams, side="left")
    return np.asarray(band[:, None] == np.unique(band), dtype=np.float64)
