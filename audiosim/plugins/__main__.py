"""`python -m audiosim.plugins [NAME...]`: check installed plugins against their contracts; exit code 1 if one fails.

NAME  any name at an extension point, such as CG or fSYS; NAME:TEXT for an estimator that needs a text; NAME:FILE for a
      decoder with a sound file; by default all plugins of packages other than audiosim
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Pair
from audiosim.errors import AudiosimError, InputError
from audiosim.measures.measure import parse_measure
from audiosim.plugins.contents import (
    DECODER_POINT,
    ESTIMATOR_POINT,
    EVIDENCE_POINT,
    FEATURE_POINT,
    SELECTION_RULE_POINT,
    STOPPING_RULE_POINT,
)
from audiosim.plugins.decoder_contract import check_decoder
from audiosim.plugins.embedding_contract import EMBEDDING_POINT, check_embedding
from audiosim.plugins.estimator_contract import check_estimator
from audiosim.plugins.evidence_contract import check_evidence_kind
from audiosim.plugins.feature_contract import check_feature
from audiosim.plugins.frame_descriptors import DESCRIPTOR_POINT, check_descriptor
from audiosim.plugins.measure_contents import MEASURE_POINT
from audiosim.plugins.measure_contract import check_measure
from audiosim.plugins.points import OWN, ExtensionPoint, described_point, package_of
from audiosim.plugins.selection_contract import check_selection_rule
from audiosim.plugins.stopping_contract import check_stopping_rule
from audiosim.ranking.expected import ExpectedScores, expected_scores

Check = Callable[[Any, str, np.random.Generator], None]
SEED = 0


@cache
def demo_pool() -> Pool:
    """The pool of the demo collection."""
    return build_pool(Collection.load(package_files.folder("fixtures") / "demo"))


@cache
def larger_pool() -> Pool:
    """The same pool, with pairs that no system retrieved."""
    pool = demo_pool()
    documents = sorted({pair.document for pair in pool.pairs})
    also = (Pair(query, document) for query in pool.queries for document in documents)
    return build_pool(
        Collection.load(package_files.folder("fixtures") / "demo"),
        also=[pair for pair in also if pair not in pool.positions],
    )


def demo_scores() -> ExpectedScores:
    """Expected CG in that pool."""
    return expected_scores(parse_measure(f"CG@{demo_pool().cutoff}"), demo_pool())


CHECKS: tuple[tuple[ExtensionPoint[Any], Check], ...] = (
    (ESTIMATOR_POINT, lambda factory, text, rng: check_estimator(factory, text, demo_pool(), rng)),
    (MEASURE_POINT, lambda definition, _, rng: check_measure(definition, rng)),
    (FEATURE_POINT, lambda feature, _, rng: check_feature(feature, demo_pool(), rng)),
    (EVIDENCE_POINT, lambda kind, _, rng: check_evidence_kind(kind, demo_pool(), larger_pool())),
    (DECODER_POINT, lambda decoder, text, rng: check_decoder(decoder, Path(text) if text else None, rng)),
    (DESCRIPTOR_POINT, lambda descriptor, _, rng: check_descriptor(descriptor)),
    (EMBEDDING_POINT, lambda embedding, _, rng: check_embedding(embedding, rng)),
    (SELECTION_RULE_POINT, lambda factory, _, rng: check_selection_rule(factory, demo_scores(), rng)),
    (
        STOPPING_RULE_POINT,
        lambda definition, _, rng: check_stopping_rule(definition, demo_scores(), rng),
    ),
)


@dataclass(frozen=True)
class Asked:
    """Item to check: extension point, name, text, and its entry point, if any."""

    point: ExtensionPoint[Any]
    check: Check
    name: str
    text: str
    entry: EntryPoint | None

    def __str__(self) -> str:
        return f"{self.point.kind} {self.name} of {OWN if self.entry is None else package_of(self.entry)}"

    def complaint(self) -> str | None:
        """Message about a violation; None if there is none."""
        try:
            if self.entry is not None and self.point.hidden(self.entry):
                raise InputError(
                    f"{described_point(self.entry)} is never used because its name is taken; choose another name"
                )
            thing = self.point.find(self.name) if self.entry is None else self.point.load(self.entry)
            self.check(thing, self.text, np.random.default_rng(SEED))
        except AudiosimError as error:
            return str(error)
        return None


def main() -> None:
    """Report the result of the check for each plugin."""
    asked = wanted(sys.argv[1:])
    if not asked:
        kinds = ", ".join(point.kind for point, _ in CHECKS)
        sys.stdout.write(f"no other package has installed anything: {kinds}\n")
    complaints = [one.complaint() for one in asked]
    for one, wrong in zip(asked, complaints, strict=True):
        result = "keeps its contract" if wrong is None else f"violates its contract: {wrong}"
        sys.stdout.write(f"{one} {result}\n")
    sys.exit(any(complaints))


def wanted(names: list[str]) -> list[Asked]:
    """Items to check; all those of other packages if no name is given."""
    if not names:
        return [one for point, check in CHECKS for one in _installed(point, check, "") if _is_of_others(one)]
    return [one for name, _, text in (name.partition(":") for name in names) for one in _named(name, text)]


def _is_of_others(one: Asked) -> bool:
    """True if the item comes from a package other than audiosim."""
    return one.entry is not None and package_of(one.entry) != OWN


def _installed(point: ExtensionPoint[Any], check: Check, text: str) -> list[Asked]:
    return [Asked(point, check, entry.name, text, entry) for entry in point.installed()]


def _named(name: str, text: str) -> list[Asked]:
    found = [Asked(point, check, name, text, None) for point, check in CHECKS if name in point.own()]
    taken = {one.point.group for one in found}
    entries = [one for point, check in CHECKS for one in _installed(point, check, text) if one.name == name]
    found += [one for one in entries if _is_of_others(one) or one.point.group not in taken]
    if not found:
        others = ", ".join(one.name for one in wanted([])) or "nothing"
        raise InputError(f"there is nothing named {name!r}; other packages have installed {others}")
    return found


if __name__ == "__main__":
    try:
        main()
    except AudiosimError as error:
        sys.stderr.write(f"audiosim: {error}\n")
        sys.exit(1)
