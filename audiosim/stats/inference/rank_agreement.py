"""Agreement of two scorings of the same systems: of their order, ranks and differences."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.stats.inference.middle_ranks import middle_ranks
from audiosim.stats.inference.ties import equalised


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Agreement of two scorings of the same systems.

    accuracy          share of pairs of systems in the same order; a tie in only one scoring counts half
    tau               Kendall's correlation a: pairs in the same order less pairs in opposite order, over all pairs
    rho               Spearman's correlation; see `spearman`
    rmse_differences  root mean squared difference of the differences between systems

    Urbano (2013), Table 8.1. For a single system: 1, 1, 1 and 0.
    """

    accuracy: float
    tau: float
    rho: float
    rmse_differences: float


def rank_agreement(one: Array, other: Array) -> RankAgreement:
    """Agreement of the scores (s,) of systems by one and by another measure, or expected and true."""
    a, b = np.triu_indices(len(one), 1)
    if len(a) == 0:
        return RankAgreement(1.0, 1.0, 1.0, 0.0)
    one, other = equalised(one), equalised(other)
    first, second = one[a] - one[b], other[a] - other[b]
    signs = np.sign(first) * np.sign(second)
    tied = (first == 0) & (second == 0)
    return RankAgreement(
        accuracy=float(np.where(tied, 1.0, (1 + signs) / 2).mean()),
        tau=float(signs.mean()),
        rho=spearman(one, other),
        rmse_differences=float(np.sqrt(((first - second) ** 2).mean())),
    )


def spearman(expected: Array, true: Array) -> float:
    """Spearman's correlation of two rankings of the systems, ties sharing the middle rank.

    expected, true  (s,) scores

    1 for a single system; 0 if either ranking has all systems tied.
    """
    if len(true) < 2:
        return 1.0
    ranks = middle_ranks(np.stack([equalised(expected), equalised(true)]), axis=1) - (len(true) + 1) / 2
    spread = float(np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    return float(ranks[0] @ ranks[1]) / spread if spread > 0 else 0.0
