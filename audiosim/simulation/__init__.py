"""Synthetic collections and sounds with known answers; replay of a campaign, once or on many parts."""

from audiosim.simulation.calibration import Claims, Observation, Truth
from audiosim.simulation.collections import Design, Effects, synthetic_collection
from audiosim.simulation.replay import Replay, ReplayMoment, agreement_with_truth, moment, replay, true_scores
from audiosim.simulation.trials import (
    Followed,
    HeldOutKind,
    Part,
    Repeats,
    Trial,
    TrialCourse,
    draw_parts,
    follow,
    part_of,
    repeat,
)

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
