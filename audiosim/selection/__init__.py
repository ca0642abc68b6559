"""Which pair is worth judging next, and when enough is judged."""

from audiosim.selection.rules import RULES, Rule, default_rule, make_rule
from audiosim.selection.selection import Selection, confidences
from audiosim.selection.stopping import Stop, parse_stop

__all__ = ["RULES", "Rule", "Selection", "Stop", "confidences", "default_rule", "make_rule", "parse_stop"]
