"""Covariates from the numbers of teams and systems that found a document: they mean the same on any collection.

The share of the teams does not: what a tenth of them is worth depends on how many there are. How well
a system agrees with others, in standard deviations over the systems, and the logarithm of a number of teams, do. Teams
tell more than their systems, which are alike; but what all systems of a team found is better than what one of them did.
"""

import numpy as np
from scipy import sparse

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool

QUANTILES = (0.5, 0.8, 0.95)  # of the logarithm of the number of teams, between the bands of consensus


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
        repetition_i = the same as consensus, of  ln (systems / teams)  that retrieved i

    The first tells systems apart, the others the documents of one system: between and within groups, as Mundlak
    (1978), doi:10.2307/1913646. Where all systems agree alike, or there is one, agreement is 0; where each is a team of
    its own, repetition is.
    """
    teams, repeated = log_teams(pool), log_repetition(pool)
    systems, consensus = _within(pool, teams)
    there = systems[np.diff(pool.retrieved.indptr) > 0]
    spread = float(there.std())
    agreement = (systems - there.mean()) / spread if spread > np.finfo(float).eps * len(teams) else 0 * systems
    by = np.maximum(1, np.asarray(pool.retrieved.sum(axis=0)).ravel())
    return (agreement @ pool.retrieved) / by, consensus, _within(pool, repeated)[1]


def log_repetition(pool: Pool) -> Array:
    """(n,) the natural logarithm of the number of systems that retrieved each pair's document, per team of theirs."""
    counts = np.asarray(pool.retrieved.sum(axis=0), dtype=np.float64).ravel()
    return np.log(np.maximum(1, counts)) - log_teams(pool)


def _within(pool: Pool, values: Array) -> tuple[Array, Array]:
    """(s,) mean value of each system's pairs, and (n,) by how much each pair exceeds those of its systems.

    values  (n,), taken from the mean over all pairs that some system retrieved
    """
    centred = values - values[pool.found].mean()
    counts = np.diff(pool.retrieved.indptr)
    systems = np.asarray(pool.retrieved @ centred).ravel() / np.maximum(1, counts)
    by = np.maximum(1, np.asarray(pool.retrieved.sum(axis=0)).ravel())
    return systems, centred - (systems @ pool.retrieved) / by


def bands(pool: Pool) -> Array:
    """(n, b) in which band of consensus each pair is: 1 there, else 0; bands without a pair are left out.

    Four bands lie between the QUANTILES of ln teams, a tie with a quantile below it.
    """
    teams = log_teams(pool)
    band = np.searchsorted(np.quantile(teams[pool.found], QUANTILES), teams, side="left")
    return np.asarray(band[:, None] == np.unique(band), dtype=np.float64)
