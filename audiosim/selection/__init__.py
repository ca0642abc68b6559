"""Selection rules, which choose the pair to judge next, and stopping rules, which end the judging."""

from audiosim.selection.confidence_course import confidences
from audiosim.selection.rules import (
    SELECTION_RULES,
    SelectionRule,
    default_selection_rule,
    make_selection_rule,
)
from audiosim.selection.selection import Selection
from audiosim.selection.stopping_definition import StoppingDefinition, StoppingRule
from audiosim.selection.stopping_rules import STOPPING_RULES, parse_stopping_rule

__all__ = [
    "SELECTION_RULES",
    "STOPPING_RULES",
    "Selection",
    "SelectionRule",
    "StoppingDefinition",
    "StoppingRule",
    "confidences",
    "default_selection_rule",
    "make_selection_rule",
    "parse_stopping_rule",
]
