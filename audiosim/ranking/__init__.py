"""Selection rules, which choose the pair to judge next, and stopping rules, which end the judging."""

from audiosim.ranking.expected import confidences
from audiosim.ranking.rules import SELECTION_RULES, SelectionRule, default_selection_rule, make_selection_rule
from audiosim.ranking.selection import Selection
from audiosim.ranking.stopping import STOPPING_RULES, StoppingDefinition, StoppingRule, parse_stopping_rule

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
