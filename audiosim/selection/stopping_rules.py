"""Stopping rules by name; their definitions are in `stopping` and `success`, beside the rules."""

from collections.abc import Mapping, Sequence
from numbers import Real

from audiosim.errors import InputError
from audiosim.selection import stopping, success
from audiosim.selection.stopping_definition import (
    RULE_WRITTEN,
    StoppingDefinition,
    StoppingRule,
    number_of,
    share_to_reach,
)

STOPPING_RULES: Mapping[str, StoppingDefinition] = {
    one.name: one
    for module in (stopping, success)
    for one in vars(module).values()
    if isinstance(one, StoppingDefinition)
}


def parse_stopping_rule(text: str, known: Mapping[str, StoppingDefinition] = STOPPING_RULES) -> StoppingRule:
    """Stopping rule from text, such as confidence=0.95 or difference(size=0.02)=0.95.

    known  definitions by name; `audiosim.plugins.find_stopping_rule` also has those of installed packages
    """
    parts = RULE_WRITTEN.fullmatch(text.replace(" ", ""))
    if parts is None or parts["name"] not in known:
        examples = ", ".join(definition.example for definition in known.values())
        raise InputError(f"unknown stopping rule {text!r}, expected {examples}")
    definition = known[parts["name"]]
    return definition.make(definition.parse(text, parts["parameters"]), number_of("target", parts["target"]))


def first_of(rules: Sequence[StoppingRule]) -> StoppingRule:
    """Rule that is met as soon as one of several is."""
    return stopping.AnyOf(tuple(rules)) if len(rules) > 1 else rules[0]


def as_stopping_rule(given: object) -> StoppingRule:
    """The stopping rule given by a rule, its text or a mean confidence."""
    if isinstance(given, StoppingRule):
        return given
    if isinstance(given, str):
        return parse_stopping_rule(given)
    if isinstance(given, Real):
        return stopping.Assurance(stopping.ORDER, share_to_reach("confidence", float(given)))
    raise InputError(f"expected a confidence such as 0.95, or a stopping rule such as 'every=0.95', got {given!r}")
