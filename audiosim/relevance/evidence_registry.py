"""Kinds of evidence by name: the built-in ones, and those registered by a program."""

from collections.abc import Mapping
from types import MappingProxyType

from audiosim.errors import InputError
from audiosim.relevance import machine_evidence, own_evidence, sound_evidence
from audiosim.relevance.evidence_kind import EvidenceKind

_KINDS = {
    one.name: one
    for module in (sound_evidence, own_evidence, machine_evidence)
    for one in vars(module).values()
    if isinstance(one, EvidenceKind)
}
OWN_KINDS: Mapping[str, EvidenceKind] = dict(_KINDS)
EVIDENCE_KINDS: Mapping[str, EvidenceKind] = MappingProxyType(_KINDS)


def register_evidence_kind(kind: EvidenceKind) -> None:
    """Register a kind of evidence in this process: joint models then use it.

    Raises an error if the name is taken; registering the same kind again changes nothing.
    """
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise InputError(f"evidence {kind.name} is known already, expected another name for a kind of your own")
