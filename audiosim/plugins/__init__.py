"""The extension points: load what packages install, and check it against its contract.

`python -m audiosim.plugins` checks all that is installed.
"""

from audiosim.plugins.estimator_contract import check_estimator
from audiosim.plugins.frame_descriptors import check_descriptor, find_frames, installed_frames
from audiosim.plugins.installed import estimator_factory, find_measure, make_estimator
from audiosim.plugins.measure_contract import check_measure
from audiosim.plugins.rule_contract import check_rule, find_rule

__all__ = [
    "check_descriptor",
    "check_estimator",
    "check_measure",
    "check_rule",
    "estimator_factory",
    "find_frames",
    "find_measure",
    "find_rule",
    "installed_frames",
    "make_estimator",
]
