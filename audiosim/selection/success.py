"""Stopping rule on success: which systems satisfy most users is known."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.expected.ranking import Ranking
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
from audiosim.users.satisfaction import SatisfactionMapping, published_mapping, success_stretches


@dataclass(frozen=True, slots=True)
class Success:
    """The mean over the systems of the confidence in whether they succeed is at its target.

    share   of users that a system must satisfy to succeed, such as .5 for most of them
    target  above 0
    floor   judgments before which it is not met; see `checked`

    A system succeeds where P(Sat) of its mean score is above the share, by the published mapping of the measure; the
    confidence is max(P, 1 - P) of that. Urbano (2013), sections 4.3 and 8.5: a minimum level of effectiveness.
    """

    share: float
    target: float
    floor: int = CHECKED

    def __post_init__(self) -> None:
        check_floor(self.floor)
        check_share(self.share)

    def level(self, state: LoopState) -> float:
        """Mean confidence in whether each system succeeds."""
        chances = success_chances(state.ranking, state.pool.scale.name, self.share)
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


def success_chances(ranking: Ranking, scale: str, share: float) -> Array:
    """(s,) the probability that each system's mean score satisfies more than a share of the users.

    scale  of the judgments, such as fine
    share  in [0, 1]; of a known score the probability is 0 or 1
    """
    mapping = published_mapping(ranking.measure, scale)
    stretches = success_stretches(mapping, share)
    return np.array([_chance(ranking, place, mapping, share, stretches) for place in range(len(ranking.systems))])


def _chance(
    ranking: Ranking, place: int, mapping: SatisfactionMapping, share: float, stretches: list[tuple[float, float]]
) -> float:
    mean, variance = float(ranking.scores.mean[place]), float(ranking.scores.variance[place])
    if variance <= 0:
        return float(mapping.probability(np.clip(np.array(mean), 0, 1)) > share)
    ends = [((low - mean) / variance**0.5, (high - mean) / variance**0.5) for low, high in stretches]
    return sum(ranking.cumulated(high) - ranking.cumulated(low) for low, high in ends)
