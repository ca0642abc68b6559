"""Synthetic collections and sounds with known answers; replay of a campaign, once or on many parts."""

from audiosim.simulation.calibration import Claims
from audiosim.simulation.collections import Design, Effects, synthetic_collection
from audiosim.simulation.observations import Observation, Truth
from audiosim.simulation.parts import HeldOutKind, Part, draw_parts, part_of
from audiosim.simulation.replay import Replay, ReplayMoment, agreement_with_truth, moment, replay, true_scores
from audiosim.simulation.trials import Followed, Repeats, Trial, TrialCourse, follow, repeat

__all__ = [
    "Claims",
    "Design",
    "Effects",
    "Followed",
    "HeldOutKind",
    "Observation",
    "Part",
    "Repeats",
    "Replay",
    "ReplayMoment",
    "Trial",
    "TrialCourse",
    "Truth",
    "agreement_with_truth",
    "draw_parts",
    "follow",
    "moment",
    "part_of",
    "repeat",
    "replay",
    "synthetic_collection",
    "true_scores",
]
