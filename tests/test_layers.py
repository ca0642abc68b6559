"""Imports point downwards: a room imports from the rooms below it, never from one above or beside it."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^( *)(\S+)/?  +\S", PAGE.split("```")[1], re.MULTILINE)


def named(path: Path) -> str:
    """The import name of a module or a room's folder."""
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    return f"audiosim.{name}" if path.parts[0] == "service" else name


def floors() -> list[str]:
    """The rooms in the list of docs/architecture.md, top first."""
    return [named(Path(path)) for indent, path in LISTED if not indent]


FLOORS = {room: floor for floor, room in enumerate(floors())}


def modules() -> dict[str, Path]:
    """Every module of the packages except the public ones, which name things of all rooms."""
    paths = [path for package in ("audiosim", "service") for path in (ROOT / package).rglob("*.py")]
    names = {named(path.relative_to(ROOT)): path for path in paths}
    del names["audiosim"]
    return names


MODULES = modules()


def room(module: str) -> str:
    found = [name for name in FLOORS if module == name or module.startswith(name + ".")]
    assert found, f"{module} is in no room: add it to the list in docs/architecture.md"
    return max(found, key=len)


@cache
def statements(path: Path) -> list[ast.stmt]:
    """Every statement of a module, nested ones too; expressions hold none, and are most of the nodes."""
    found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in found:
        for inside in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, inside, [])
    return [node for node in found if isinstance(node, ast.stmt)]


@cache
def imports(path: Path) -> set[str]:
    """The project's modules imported anywhere in a module's text."""
    found = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    other = {name for name in found if name.split(".")[0] == "service"}
    assert not other, f"{path.name} imports {', '.join(sorted(other))}: the service is imported as audiosim.service"
    return {name for name in found if name in MODULES}


def test_the_page_lists_what_is_there():
    inside = ""
    for indent, path in LISTED:
        inside = inside if indent else path
        whole = ROOT / inside / path if indent else ROOT / path
        assert whole.exists(), f"docs/architecture.md lists {whole.relative_to(ROOT)}"


@pytest.mark.slow
def test_a_room_imports_only_from_rooms_below():
    upwards = [
        f"{module} imports {imported}"
        for module, path in MODULES.items()
        for imported in sorted(imports(path))
        if room(imported) != room(module) and FLOORS[room(imported)] <= FLOORS[room(module)]
    ]
    assert upwards == []


@pytest.mark.slow
def test_there_are_no_cycles_within_a_room():
    graph = {name: {other for other in imports(path) if other != name} for name, path in MODULES.items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"cycle: {' -> '.join(error.args[1])}")


@pytest.mark.slow
def test_no_function_does_more_than_sixty_lines():
    # Not counting docstring and parameters, because the options of a command are declarations.
    long = {
        f"{module}.{node.name}": lines
        for module, path in MODULES.items()
        for node in statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for body in [node.body[1:] if ast.get_docstring(node) else node.body]
        if body and (lines := node.end_lineno - body[0].lineno + 1) > 60
    }
    assert long == {}
