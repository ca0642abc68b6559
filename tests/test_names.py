"""Names: they consist of words of the field, and commands and functions call a thing by the same word."""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import click
import numpy as np
import pytest
import typer

import audiosim
from audiosim import cli

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow  # `make check` runs them, and those of layers


@cache
def parsed(path):
    return ast.parse(path.read_text("utf-8"))


@cache
def modules():
    """Dotted name and path of every module."""
    found = (path for package in ("audiosim", "service") for path in (ROOT / package).rglob("*.py"))
    paths = sorted(path for path in found if "migrations" not in path.parts)  # all have the names that Alembic reads
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}


# The project's own words for terms of the field, each with the term to use.
HOME_MADE = {
    "told": "judged, given or observed",
    "standing": "state, or system_agreement",
    "standings": "states",
    "apart": "different, separated, or a divergence",
    "pull": "loadings, or weights",
    "pulls": "loadings, or weights",
    "pulled": "projected",
    "hang": "correlated",
    "hanging": "correlated",
    "know_all": "fully judged",
    "loads": "loadings",
    "goal": "stopping rule",
    "goals": "stopping rules",
}
# Standard deviations describe effects; elsewhere sizes are numbers of things or bytes.
OF_EFFECTS = ("audiosim.joint", "audiosim.stats.normal.variance_components", "audiosim.stats.normal.layout")
WIRE = ("service.types.campaign",)  # their fields are JSON keys: `goal` is public


def names_in(tree):
    """Every identifier created by a module: definitions, arguments and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg | ast.keyword) and node.arg is not None:
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def home_made(name, words):
    return [word for word in words if f"_{word}_" in f"_{name.lower()}_"]


def parsed_with(words):
    """Name and tree of each module whose text has one of the words anywhere: to parse all takes seconds."""
    anywhere = re.compile(rf"(?<![^\W_])({'|'.join(words)})(?![^\W_])", re.IGNORECASE)
    return [(name, parsed(path)) for name, path in modules().items() if anywhere.search(path.read_text("utf-8"))]


def test_names_are_made_of_the_fields_words():
    found = {
        (module, name): HOME_MADE[word]
        for module, tree in parsed_with(HOME_MADE)
        for name in names_in(tree)
        for word in home_made(name, HOME_MADE)
        if not (module in WIRE and name == "goal")
    }
    assert found == {}


def test_effects_have_standard_deviations_and_no_sizes():
    found = {
        (module, name)
        for module, tree in parsed_with(["sizes"])
        if module.startswith(OF_EFFECTS)
        for name in names_in(tree)
        if home_made(name, ("sizes",))
    }
    assert found == set()


def test_modules_are_called_by_the_fields_words():
    assert [name for name in modules() if home_made(name.split(".")[-1], HOME_MADE)] == []


QUESTIONS = {"What", "How", "Whether", "Which", "Who", "Whose", "When", "Where", "Why"}
PEOPLE = re.compile(r"\b(he|him|his|himself|she|her|herself)\b", re.IGNORECASE)
ANYWHERE = ("audiosim", "service", "benchmarks", "fixtures", "tests")


@pytest.mark.parametrize("folder", ANYWHERE)
def test_docstrings_begin_with_a_noun_or_a_verb(folder):
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    begun = re.compile(rf"""["']\s*({"|".join(QUESTIONS)})\b""")  # else there is nothing to parse
    found = {
        (str(path.relative_to(ROOT)), text.split("\n")[0])
        for path in sorted((ROOT / folder).rglob("*.py"))
        if begun.search(path.read_text("utf-8"))
        for node in ast.walk(parsed(path))
        if isinstance(node, documented) and (text := ast.get_docstring(node)) and re.split(r"\W", text)[0] in QUESTIONS
    }
    assert found == set()


def test_comments_above_what_pages_define_begin_with_a_noun_or_a_verb():
    begun = re.compile(rf"^(?:\s*/\*\*\s+(?:\*\s)?|// )({'|'.join(QUESTIONS)})\b.*", re.MULTILINE)
    scripts = (path for path in (ROOT / "service" / "pages").rglob("*.js") if "vendor" not in path.parts)
    assert [(path.name, one[0]) for path in scripts for one in begun.finditer(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("folder", [*ANYWHERE, "docs", "gallery", "notebooks"])
def test_people_are_they(folder):
    pages = [path for kind in ("py", "md", "html", "js") for path in (ROOT / folder).rglob(f"*.{kind}")]
    own = [path for path in pages if not {"vendor", "generated", "_build", ".ipynb_checkpoints"} & set(path.parts)]
    lines = [(path.name, line) for path in own for line in path.read_text("utf-8").splitlines()]
    assert [(name, line) for name, line in lines if PEOPLE.search(line) and "PEOPLE" not in line] == []


# Words of options for which Python code tends to use another word.
WORDS = {"rule": "selection_rule", "stop": "stopping_rule", "show": "progress", "n_jobs": "jobs", "shares": "judged"}
PUBLIC = re.findall(r"^\| `([a-z_.]+)` \|", (ROOT / "docs" / "public.md").read_text("utf-8"), re.MULTILINE)


def public_functions(module):
    """Functions of a public module, and the constructors and methods of its classes, by name."""
    found = importlib.import_module(module)
    for name in getattr(found, "__all__", vars(found)):
        value = getattr(found, name)
        if not hasattr(found, "__all__") and getattr(value, "__module__", "") != module:
            continue  # imported for internal use
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and value.__module__.startswith("audiosim"):
            own = {key: one for key, one in vars(value).items() if not key.startswith("_") or key == "__init__"}
            methods = ((key, getattr(one, "__func__", one)) for key, one in own.items())
            yield from ((f"{name}.{key}", one) for key, one in methods if inspect.isfunction(one))


@pytest.mark.parametrize("module", PUBLIC)
def test_public_functions_call_what_commands_have_by_the_commands_words(module):
    found = {
        (name, parameter): WORDS[parameter]
        for name, function in public_functions(module)
        for parameter in inspect.signature(function).parameters
        if parameter in WORDS
    }
    kept = {("extract", "n_jobs"): "jobs"} if module == "audiosim" else {}  # the name in joblib and scikit-learn
    assert found == kept


def test_functions_for_scripts_are_given_seeds_and_generators_go_to_functions_that_draw_on():
    functions = [one for module in PUBLIC for _, one in public_functions(module) if takes_rng(one)]
    hints = {inspect.signature(one).parameters["rng"].annotation for one in functions}
    assert hints == {np.random.Generator}
    assert [name for name, one in public_functions("audiosim") if takes_rng(one)] == []


def takes_rng(function):
    return "rng" in inspect.signature(function).parameters


CALLED = {
    "next": "next_pairs", "report": "write_report", "study sample": "sample_study", "study answers": "study_answers",
    "map": "sound_map",
}  # fmt: skip
# Arguments of Python callers, besides the collection, that no option can express.
IN_PYTHON = {
    "evaluate": {"success"},
    "extract": {"n_jobs", "into", "parameters", "read", "progress"},
    "train": {"plan", "say", "progress"},  # the plan holds the options of the fit
    "predict": {"covariance"},  # a matrix has no place in rows
    "worth": {"progress"},
    "plan": {"batch", "distribution"},
    "neighbours": {"judged"},
    "calibration": {"near", "ideal", "distribution", "by_query"},
    "judges": {"log", "progress"},  # the log is that of --judgments
    "judge_effect": {"log", "own", "files"},
    "order_effects": {"log"},
    "check": {"folder"},  # that of the collection
    "join": {"path"},  # the argument RUN
    "write_report": {"log", "own", "folder"},  # the folder is that of the collection
}


def commands(group=None, before=()):
    """Every command, by its words."""
    group = group or typer.main.get_command(cli.app)
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*before, word))
        else:
            yield " ".join((*before, word)), command


def test_a_function_of_a_command_takes_what_the_command_takes_by_the_same_words():
    found = {}
    for words, command in commands():
        name = CALLED.get(words, words.replace("-", "_"))
        if name not in audiosim.__all__:
            continue
        options = {word.lstrip("-").replace("-", "_") for one in command.params for word in (one.name, *one.opts)}
        _, *others = inspect.signature(getattr(audiosim, name)).parameters  # the first is the collection or a file
        found[name] = set(others) - options
    assert len(found) > 15
    assert {name: alone for name, alone in found.items() if alone} == IN_PYTHON
