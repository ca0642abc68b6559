"""Synthetic collections and sounds whose true answers are known; replay of a campaign."""

from audiosim.simulate.calibration import Claims, Repeats, part_of, repeat
from audiosim.simulate.collections import Design, Effects, synthetic_collection
from audiosim.simulate.replay import Moment, Replay, agreement, moment, replay, true_scores

__all__ = [
    "Claims",
    "Design",
    "Effects",
    "Moment",
    "Repeats",
    "Replay",
    "agreement",
    "moment",
    "part_of",
    "repeat",
    "replay",
    "synthetic_collection",
    "true_scores",
]
