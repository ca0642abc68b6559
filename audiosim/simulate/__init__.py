"""Synthetic collections and sounds whose true answers are known; replay of a campaign, once or on many parts."""

from audiosim.simulate.calibration import Claims
from audiosim.simulate.collections import Design, Effects, synthetic_collection
from audiosim.simulate.observations import Observation, Truth
from audiosim.simulate.parts import HeldOut, Part, draw_parts, part_of
from audiosim.simulate.replay import Moment, Replay, agreement, moment, replay, true_scores
from audiosim.simulate.trials import Course, Followed, Repeats, Trial, follow, repeat

__all__ = [
    "Claims",
    "Course",
    "Design",
    "Effects",
    "Followed",
    "HeldOut",
    "Moment",
    "Observation",
    "Part",
    "Repeats",
    "Replay",
    "Trial",
    "Truth",
    "agreement",
    "draw_parts",
    "follow",
    "moment",
    "part_of",
    "repeat",
    "replay",
    "synthetic_collection",
    "true_scores",
]
