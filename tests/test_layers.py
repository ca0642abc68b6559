"""Imports run downwards: a room imports from the rooms below it, never from one above or beside it."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FLOORS = [
    ["audiosim.cli"],
    ["service"],
    ["audiosim.plugins"],
    ["audiosim.report"],
    ["audiosim.demo"],
    ["audiosim.reproduce"],
    ["audiosim.simulate"],
    ["audiosim.evaluation"],
    ["audiosim.campaign"],
    ["audiosim.selection"],
    ["audiosim.expected"],
    ["audiosim.users"],
    ["audiosim.training"],
    ["audiosim.relevance"],
    ["audiosim.measures"],
    ["audiosim.features"],
    ["audiosim.audio"],
    ["audiosim.corpus"],
    ["audiosim.stats"],
    ["audiosim.arrays", "audiosim.errors", "audiosim.shipped"],
]
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def modules() -> dict[str, Path]:
    """Every module of the packages but the public face, which names things of all rooms."""
    paths = [path for package in ("audiosim", "service") for path in (ROOT / package).rglob("*.py")]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    del names["audiosim"]
    return names


MODULES = modules()


def room(module: str) -> str:
    found = [name for name in ROOMS if module == name or module.startswith(name + ".")]
    assert found, f"{module} is in no room: add it to the floors"
    return found[0]


def imports(path: Path) -> set[str]:
    """The modules of ours that a module imports, wherever in its text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return {name for name in found if name in MODULES}


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_from_rooms_below(module):
    own = room(module)
    for imported in imports(MODULES[module]):
        other = room(imported)
        assert other == own or ROOMS[other] > ROOMS[own], f"{module} imports {imported}"


def test_there_are_no_cycles_within_a_room():
    graph = {name: {other for other in imports(path) if other != name} for name, path in MODULES.items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_stays_under_four_hundred_lines(module):
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) < 400
