"""One name stands for one thing: no name of a module or of anything public in one is taken twice."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("audiosim", "service")
COMMANDS = "audiosim.cli"  # a command may bear the name of the library function that it calls


def modules():
    """Path and dotted name of every module but `__init__` and `__main__`, which are called after their package."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return [(path, ".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in paths]


def defined(path):
    """Public names of functions, classes and constants at the top of a module; what is imported is not its own."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def test_no_module_name_stands_twice():
    places = defaultdict(list)
    for path, module in modules():
        if not path.stem.startswith("__"):
            places[path.stem].append(module)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def places():
    """The modules that define each public function or class; those of commands stand apart."""
    found = defaultdict(list)
    for path, module in modules():
        if not module.startswith(COMMANDS):
            for name in defined(path):
                found[name].append(module)
    return found


PLACES = places()


@pytest.mark.parametrize("kind", ["functions and classes", "constants"])
def test_no_public_name_stands_twice(kind):
    twice = {n: w for n, w in PLACES.items() if len(w) > 1 and n.isupper() == (kind == "constants")}
    assert twice == {}
