"""The table of places for additions, and the journeys: docs/architecture.md agrees with the code."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ADDED = dict(re.findall(r"^\| (?:a|to) ([^|]+?) \| (`[^|]+?) \|", PAGE, re.MULTILINE))


KINDS = ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache  # not when tests are only collected
def everywhere():
    """Imports, functions and classes of the code, each with the path of its file."""
    return [
        (path.relative_to(ROOT).as_posix(), node)
        for package in ("audiosim", "service")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, KINDS)
    ]


def test_every_file_of_the_table_is_there():
    assert len(ADDED) == 8
    for files in ADDED.values():
        named = re.findall(r"`([^`]+)`", files)
        assert 1 <= len(named) <= 3
        assert all((ROOT / name).is_file() for name in named)


# Names requested elsewhere in the code have their own reason there; the last one added of each kind has none.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "module", "value"),
    [
        ("measure", "audiosim.measures.levels", "ADR"),
        ("feature", "audiosim.ordinal.output", "cART"),
        ("kind of evidence", "audiosim.joint.terms", "SOUND_KIND"),
        ("description of sound", "audiosim.sound.embeddings", "TONAL"),
        ("selection rule", "audiosim.ranking.rules", "PoolOrder"),
        ("stopping rule", "audiosim.ranking.stopping", "SUCCESS"),
    ],
)
def test_what_was_added_stands_in_its_own_file_alone(kind, module, value):
    assert hasattr(importlib.import_module(module), value)
    own = f"{module.replace('.', '/')}.py"
    assert Path(own).parent == Path(re.findall(r"`([^`]+)`", ADDED[kind])[0]).parent
    used = {
        path
        for path, node in everywhere()
        if isinstance(node, ast.ImportFrom) and node.module == module and value in {one.name for one in node.names}
    }
    assert used - {own} == set()


@pytest.mark.slow
def test_confidence_is_computed_in_one_file():
    defined = {
        path
        for path, node in everywhere()
        if isinstance(node, ast.FunctionDef) and node.name == "confidences" and node.args.args[0].arg == "self"
    }
    assert defined == set(re.findall(r"`([^`]+)`", ADDED["see where confidence is computed"]))


@pytest.mark.slow
def test_a_judgment_takes_at_most_six_forms_and_each_of_them_is_there():
    journey = PAGE.partition("- *A judgment*, in six forms:")[2].partition("On the way:")[0]
    forms = re.findall(r"`([A-Z]\w+)`", journey)
    classes = {node.name for _, node in everywhere() if isinstance(node, ast.ClassDef)}
    assert len(forms) == 6
    assert set(forms) <= classes


@pytest.mark.slow
def test_the_way_of_a_judgment_is_of_functions_that_are_there():
    way = re.findall(r"`(\w+(?:\.\w+)?)`", PAGE.partition("On the way:")[2].partition(";")[0])
    assert len(way) == 6
    assert [step for step in way if not any(functions((node for _, node in everywhere()), step))] == []


def functions(nodes, name):
    *owner, name = name.split(".")
    for node in nodes:
        if owner and isinstance(node, ast.ClassDef) and node.name == owner[0]:
            yield from (one for one in node.body if getattr(one, "name", None) == name)
        elif not owner and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            yield node


def test_training_fits_validates_and_describes_a_model():
    steps = re.findall(r"`(\w+_model)`", PAGE.partition("- *A model*:")[2].partition("- *A")[0])
    assert steps == ["fit_model", "validate_model", "describe_model"]
    code = (ROOT / "audiosim" / "training" / "train.py").read_text(encoding="utf-8")
    (train,) = functions(ast.walk(ast.parse(code)), "train")
    calls = sorted((node for node in ast.walk(train) if isinstance(node, ast.Call)), key=lambda node: node.lineno)
    assert [node.func.id for node in calls if getattr(node.func, "id", None) in steps] == steps
    assert all(hasattr(importlib.import_module("audiosim.training.train"), step) for step in steps)


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", re.findall(r"`((?:audiosim|service)\.[\w.]+)`", GLOSSARY))
def test_a_module_that_the_glossary_names_is_there(name):
    assert importlib.import_module(name)


PRINTED = (
    "Brier score", "E rho²", "Phi", "P(Sat)", "P(Succ)", "P(best)", "tau", "rho", "residual", "robust z",
    "severity", "noise", "taste", "drift", "worth", "family-wise", "at large", "panel", "evidence", "fold", "look",
    "lease", "widened", "turned", "bin", "historical", "uniform", "custom", "comparison", "feature", "belief",
    "cutoff", "goal", "pool", "run", "drawn grades", "general model", "their interval", "favours",
    "these queries", "queries of this kind",
)  # fmt: skip


def test_the_glossary_is_in_order_and_has_the_words_that_audiosim_prints():
    entries = re.findall(r"^\*\*([^*]+)\*\*$", GLOSSARY, re.MULTILINE)
    assert entries == sorted(entries, key=str.casefold)
    words = {word for entry in entries for word in re.split(r", | of a person$", entry)}
    assert not set(PRINTED) - words
