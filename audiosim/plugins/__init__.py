"""The extension points: load what packages install, and check it against its contract.

`python -m audiosim.plugins` checks all that is installed.
"""

from typing import TYPE_CHECKING

from audiosim.deprecation import old_names
from audiosim.plugins.decoder_contract import check_decoder
from audiosim.plugins.estimator_contract import check_estimator
from audiosim.plugins.feature_contract import check_feature
from audiosim.plugins.frame_descriptors import check_descriptor, find_frames, installed_frames
from audiosim.plugins.installed import (
    estimator_factory,
    find_measure,
    find_selection_rule,
    find_stopping_rule,
    load_features,
    make_estimator,
    other_decoders,
)
from audiosim.plugins.measure_contract import check_measure
from audiosim.plugins.selection_contract import check_selection_rule
from audiosim.plugins.stopping_contract import check_stopping_rule

__all__ = [
    "check_decoder",
    "check_descriptor",
    "check_estimator",
    "check_feature",
    "check_measure",
    "check_selection_rule",
    "check_stopping_rule",
    "estimator_factory",
    "find_frames",
    "find_measure",
    "find_selection_rule",
    "find_stopping_rule",
    "installed_frames",
    "load_features",
    "make_estimator",
    "other_decoders",
]

if not TYPE_CHECKING:
    __getattr__ = old_names(__name__, check_rule="check_selection_rule", find_rule="find_selection_rule")
