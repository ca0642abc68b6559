"""Contents of each extension point, ours and those of installed packages, by name."""

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TypeVar

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.joint.estimators import EstimatorFactory, NameOrFile, RelevanceEstimator, estimator_of
from audiosim.joint.terms import OWN_KINDS, EvidenceKind, register_evidence_kind
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.features import BUILT_IN, register_feature
from audiosim.ordinal.model import model_names
from audiosim.plugins.points import OWN, ExtensionPoint, an_instance, package_of
from audiosim.ranking import stopping as stopping_definition
from audiosim.ranking.expected import ExpectedScores
from audiosim.ranking.rules import SELECTION_RULES, SelectionRule, SelectionRuleFactory
from audiosim.ranking.stopping import STOPPING_RULES, StoppingDefinition, StoppingRule, parse_stopping_rule
from audiosim.sound.channel import Decoder
from audiosim.text import did_you_mean, one_line

Kind = TypeVar("Kind")
Function = TypeVar("Function", bound=Callable[..., object])


def _estimator_factory(loaded: object, _: str) -> EstimatorFactory:
    if not callable(loaded):
        raise InputError("a function of a pool and a text")
    factory: EstimatorFactory = loaded
    return factory


def _rule_factory(loaded: object, _: str) -> SelectionRuleFactory:
    if not callable(loaded):
        raise InputError("a function of expected scores and a seed")
    factory: SelectionRuleFactory = loaded
    return factory


def _decoders() -> Mapping[str, Decoder]:
    from audiosim.sound.decode import DECODERS  # imported here, as only sound needs its start-up time

    return DECODERS


def _published() -> Mapping[str, EstimatorFactory]:
    """The published models, with and without their scale."""
    names = {name for model in model_names() for name in (model, model.rpartition("-")[0])}
    return {name: partial(_shipped_model, name) for name in sorted(names)}


def _shipped_model(name: str, pool: Pool, _: str) -> RelevanceEstimator:
    return estimator_of(pool, name)


ESTIMATOR_POINT = ExtensionPoint("audiosim.estimators", "estimator", _published, _estimator_factory)
FEATURE_POINT = ExtensionPoint("audiosim.ordinal", "feature", lambda: BUILT_IN, an_instance(Feature, "a Feature"))
EVIDENCE_POINT = ExtensionPoint(
    "audiosim.evidence", "kind of evidence", lambda: OWN_KINDS, an_instance(EvidenceKind, "an EvidenceKind")
)
DECODER_POINT = ExtensionPoint("audiosim.decoders", "decoder", _decoders, an_instance(Decoder, "a Decoder"))
SELECTION_RULE_POINT = ExtensionPoint(
    "audiosim.selection_rules", "selection rule", lambda: SELECTION_RULES, _rule_factory
)
STOPPING_RULE_POINT = ExtensionPoint(
    "audiosim.stopping_rules",
    "stopping rule",
    lambda: STOPPING_RULES,
    an_instance(StoppingDefinition, "a StoppingDefinition"),
)


def estimator_factory(name: str) -> tuple[EstimatorFactory, str]:
    """The factory named by a `--model`, and the text that it takes besides the pool.

    name  a name in models/ with or without its scale, a file that ends in .json, or an installed
          estimator: its name, or NAME:TEXT
    """
    load_evidence_kinds()
    if name.endswith(".json"):
        load_features()
        return estimator_of, name
    own = _published()
    if name in own:
        return own[name], ""
    head, _, text = name.partition(":")
    point = ESTIMATOR_POINT.choose(head)
    if point is None:
        known = {model.rpartition("-")[0] for model in model_names()}
        known |= {installed.name for installed in ESTIMATOR_POINT.installed()}
        expected = f"a .json file or one of {', '.join(sorted(known))}{did_you_mean(name, known)}"
        raise InputError(f"unknown model {name!r}, expected {expected}")
    return ESTIMATOR_POINT.load(point), text


def make_estimator(pool: Pool, name: NameOrFile) -> RelevanceEstimator:
    """The estimator named by a `--model`, for one pool."""
    factory, text = estimator_factory(os.fspath(name))
    return factory(pool, text)


def find_selection_rule(name: str, expected: ExpectedScores, seed: int = 0) -> SelectionRule:
    """The rule named by a `--selection-rule`: one of audiosim's, or an installed one.

    seed  seed of its draws
    """
    return made_rule(SELECTION_RULE_POINT.find(name), expected, seed)


def made_rule(factory: SelectionRuleFactory, expected: ExpectedScores, seed: int) -> SelectionRule:
    """The selection rule from a factory; an error in the factory becomes one line."""
    try:
        rule = factory(expected, seed)
    except Exception as error:  # foreign code may raise anything
        raise InputError(f"a selection rule cannot be made: {one_line(error)}") from error
    if not isinstance(getattr(rule, "name", None), str) or not rule.name:
        raise InputError("a selection rule must have a name")
    return rule


def find_stopping_rule(text: str) -> StoppingRule:
    """The stopping rule named by a `--stopping-rule`: one of audiosim's, or an installed one."""
    parts = stopping_definition.RULE_WRITTEN.fullmatch(text.replace(" ", ""))
    if parts is None or parts["name"] in STOPPING_RULES or STOPPING_RULE_POINT.choose(parts["name"]) is None:
        return parse_stopping_rule(text)
    return parse_stopping_rule(text, {parts["name"]: STOPPING_RULE_POINT.find(parts["name"])})


def load_features() -> None:
    """Register the features of installed packages in this process."""
    for feature in _of_others(FEATURE_POINT):
        register_feature(feature)


@cache  # looked up once per process, as the search is slow
def load_evidence_kinds() -> None:
    """Register the kinds of evidence of installed packages in this process."""
    for kind in _of_others(EVIDENCE_POINT):
        register_evidence_kind(kind)


def other_decoders() -> tuple[Decoder, ...]:
    """The decoders of installed packages, for kinds of file that audiosim does not open itself."""
    return _of_others(DECODER_POINT)


def _of_others(point: ExtensionPoint[Kind]) -> tuple[Kind, ...]:
    entries = [entry for entry in point.installed() if package_of(entry) != OWN and entry.name not in point.own()]
    return tuple(point.find(name) for name in dict.fromkeys(entry.name for entry in entries))
