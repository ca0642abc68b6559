"""Synthetic collections and sounds whose true answers are known; replay of a campaign, once or on many parts."""

from audiosim.simulate.calibration import Claims
from audiosim.simulate.collections import Design, Effects, synthetic_collection
from audiosim.simulate.observations import Observation, Truth
from audiosim.simulate.parts import HeldOutKind, Part, draw_parts, part_of
from audiosim.simulate.replay import Replay, ReplayMoment, agreement_with_truth, moment, replay, true_scores
from audiosim.simulate.trials import Followed, Repeats, Trial, TrialCourse, follow, repeat

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
