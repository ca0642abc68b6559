"""Stopping rule on success: which systems satisfy most users is known."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.expected.ranking import Ranking
from audiosim.selection.stopping import level_of_shares
from audiosim.selection.stopping_definition import (
    CHECKED,
    LoopState,
    StoppingDefinition,
    check_floor,
    check_share,
    checked,
    floor_in,
    number_of,
    spelled_parameters,
    spelled_target,
    target_above,
)


@dataclass(frozen=True, slots=True)
class Success:
    """The mean over the systems of the confidence in whether they succeed is at its target.

    share   of users that a system must satisfy to succeed, such as .5 for most of them
    target  above 0
    floor   judgments before which it is not met; see `checked`

    A system succeeds where the share of users whom it satisfies, the mean over the queries of P(Sat) of the query's
    score, is above the share; the confidence is max(P, 1 - P) of that. It is not the share of successful queries,
    equation 4.8, of which `users.satisfaction.success` is. Urbano (2013), equation 4.4 and section 8.5: a minimum level
    of effectiveness.
    """

    share: float
    target: float
    floor: int = CHECKED

    def __post_init__(self) -> None:
        check_floor(self.floor)
        check_share(self.share)

    def level(self, state: LoopState) -> float:
        """Mean confidence in whether each system succeeds."""
        return level_of_shares(state, self._settled, self.target)

    def _settled(self, shares: Ranking) -> float:
        chances = success_chances(shares, self.share)
        return float(np.maximum(chances, 1 - chances).mean())

    def reached(self, state: LoopState) -> bool:
        """True if that is at its target."""
        return checked(state, self.floor) and self.level(state) >= self.target

    def __str__(self) -> str:
        return f"success{spelled_parameters(share=self.share, floor=self.floor)}={spelled_target(self.target)}"


SUCCESS = StoppingDefinition(
    "success",
    lambda of, target: Success(
        number_of("share", of.get("share", "0.5")), target_above("success", target), floor_in(of)
    ),
    "success(share=0.5)=0.95",
    ("share", "floor"),
)


def success_chances(shares: Ranking, share: float) -> Array:
    """(s,) the probability that each system satisfies more than a share of the users.

    shares  of users that the systems satisfy, in place of their scores; see `satisfied_users`
    share   in [0, 1]; of a known share of users the probability is 0 or 1
    """
    means, variances = shares.scores.mean.tolist(), shares.scores.variance.tolist()
    return np.array(
        [
            shares.cumulative(mean - share, variance) if variance > 0 else float(mean > share)
            for mean, variance in zip(means, variances, strict=True)
        ]
    )
