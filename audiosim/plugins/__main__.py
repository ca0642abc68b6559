"""`python -m audiosim.plugins [NAME...]`: check what packages have installed; exit code 1 if something is wrong.

NAME  of an estimator, a measure, a rule or a descriptor, NAME:TEXT for an estimator that needs a text; not given,
      all that is installed by other packages than audiosim
"""

import sys
from importlib.metadata import EntryPoint

import numpy as np

from audiosim import shipped
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import AudiosimError, InputError
from audiosim.expected.estimation import expected_scores
from audiosim.measures.measure import MEASURES, parse_measure
from audiosim.plugins.estimator_contract import check_estimator
from audiosim.plugins.frame_descriptors import DESCRIPTORS, OWN_NAMES, check_descriptor, load_descriptor
from audiosim.plugins.installed import (
    ESTIMATORS,
    MEASURE_GROUP,
    OWN,
    choose,
    installed,
    load_definition,
    load_factory,
    package_of,
    published_names,
    told,
)
from audiosim.plugins.measure_contract import check_measure
from audiosim.plugins.rule_contract import SELECTIONS, check_rule, load_rule
from audiosim.selection.rules import RULES

KINDS = {ESTIMATORS: "estimator", MEASURE_GROUP: "measure", SELECTIONS: "rule", DESCRIPTORS: "descriptor"}
SEED = 0


def main() -> None:
    """Say of each plugin whether it keeps its contract."""
    found = wanted(sys.argv[1:])
    if not found:
        sys.stdout.write("no other package has installed an estimator, a measure, a rule or a descriptor\n")
    complaints = [complaint(point, text) for point, text in found]
    for (point, _), wrong in zip(found, complaints, strict=True):
        result = "keeps its contract" if wrong is None else f"does not keep its contract: {wrong}"
        sys.stdout.write(f"{KINDS[point.group]} {point.name} of {package_of(point)} {result}\n")
    sys.exit(any(complaints))


def wanted(names: list[str]) -> list[tuple[EntryPoint, str]]:
    """The plugins that are asked for, all of other packages where none is, with the text for each."""
    points = [point for group in KINDS for point in installed(group)]
    if not names:
        return [(point, "") for point in points if package_of(point) != OWN]
    found = []
    for name, _, text in (name.partition(":") for name in names):
        named = [(point, text) for point in points if point.name == name]
        if not named:
            known = ", ".join(dict.fromkeys(point.name for point in points))
            raise InputError(f"no package has installed {name!r}, expected one of {known}")
        found += named
    return found


def complaint(point: EntryPoint, text: str) -> str | None:
    """What a plugin does wrong, None if nothing."""
    try:
        if is_hidden(point):
            raise InputError(f"{told(point)} is never used, as the name is taken; choose another name")
        check(point, text)
    except AudiosimError as error:
        return str(error)
    return None


def check(point: EntryPoint, text: str) -> None:
    """Check a plugin against its contract, where that needs a pool on that of the demo."""
    rng = np.random.default_rng(SEED)
    if point.group == MEASURE_GROUP:
        check_measure(load_definition(point), rng)
    elif point.group == ESTIMATORS:
        check_estimator(load_factory(point), text, demo_pool(), rng)
    elif point.group == DESCRIPTORS:
        check_descriptor(load_descriptor(point))
    else:
        pool = demo_pool()
        check_rule(load_rule(point), expected_scores(parse_measure(f"CG@{pool.cutoff}"), pool), rng)


def demo_pool() -> Pool:
    """The pool of the collection that comes with audiosim."""
    return build_pool(Collection.load(shipped.folder("fixtures") / "demo"))


def is_hidden(point: EntryPoint) -> bool:
    """Whether something that comes with audiosim has the name."""
    taken = {
        ESTIMATORS: published_names(),
        MEASURE_GROUP: set(MEASURES),
        SELECTIONS: set(RULES),
        DESCRIPTORS: OWN_NAMES,
    }
    return point.name in taken[point.group] or choose(installed(point.group), point.name) != point


if __name__ == "__main__":
    try:
        main()
    except AudiosimError as error:
        sys.stderr.write(f"audiosim: {error}\n")
        sys.exit(1)
