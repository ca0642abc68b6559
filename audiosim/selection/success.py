"""Stopping rule on success: satisfaction of most users by each system."""

import numpy as np

from audiosim.arrays import Array
from audiosim.expected.ranking import Ranking
from audiosim.selection.stopping import Claim, assured
from audiosim.stats.inference.ties import nearness


def _successes(satisfied: Ranking, share: float) -> float:
    """Mean confidence in the systems' success or failure; success means satisfying more than a share of the users.

    share  share of the users, such as .5 for most of them

    The share of users whom a system satisfies is the mean over the queries of P(Sat) of the query's score. With P the
    probability that it exceeds `share`, the confidence is max(P, 1 - P). This is not the share of successful queries,
    equation 4.8, for which see `users.satisfaction.success`. Urbano (2013), equation 4.4 and section 8.5: a minimum
    level of effectiveness.
    """
    chances = success_chances(satisfied, share)
    return float(np.maximum(chances, 1 - chances).mean())


SUCCESSES = Claim("success", _successes, "share")
SUCCESS = assured(SUCCESSES, "success(share=0.5)=0.95", usual="0.5")


def success_chances(satisfied: Ranking, share: float) -> Array:
    """(s,) probability that each system satisfies more than a share of the users.

    satisfied  shares of users that the systems satisfy, as a ranking; see `satisfied_users`
    share      share of the users in [0, 1]; a known share of users gives 0 or 1
    """
    means, variances = satisfied.scores.mean.tolist(), satisfied.scores.variance.tolist()
    return np.array(
        [
            satisfied.cumulative(mean - share, variance)
            if variance > 0
            else float(mean - share > nearness(satisfied.scores.mean))
            for mean, variance in zip(means, variances, strict=True)
        ]
    )
