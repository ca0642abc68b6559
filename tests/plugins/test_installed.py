"""Extensions installed by other packages, and messages about wrong ones; `install` leaves the same files as pip."""

from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY
from audiosim.errors import InputError
from audiosim.joint.contract import check_estimator
from audiosim.joint.estimators import make_estimator
from audiosim.measures.cumulative import CG
from audiosim.measures.measure import parse_measure, score
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.rules import make_selection_rule

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
TRUTH = DEMO / "truth.qrels"
MEASURES, ESTIMATORS = "audiosim.measures", "audiosim.estimators"
TOP = """
from audiosim.measures.measure import Definition
def top(measure, scale, grades, judged):
    return (grades[..., :1] == scale.maximum).sum(axis=-1) * 1.0
TOP = Definition("TOP", (), top)
"""


def test_an_installed_measure_is_found_and_scores_by_its_own_definition(install):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    measure = parse_measure("TOP@3")
    assert (str(measure), measure.cutoff) == ("TOP@3", 3)
    grades = np.array([[1.0, 0], [0, 1], [np.nan, np.nan]])
    assert score(measure, BINARY, grades, np.ones((3, 1))).tolist() == [1, 0, 0]


def test_an_unknown_measure_is_refused_with_all_names_there_are(install):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    with pytest.raises(InputError, match="^unknown measure 'PEAK', expected one of P, AP, .*, ADR, TOP$"):
        parse_measure("PEAK@5")
    with pytest.raises(InputError, match="^measure 'TOP' has no cutoff, expected one such as TOP@5$"):
        parse_measure("TOP")


def test_audiosim_s_own_measure_comes_before_an_installed_one_which_is_not_even_loaded(install):
    install("made-up", "raise SystemError", (MEASURES, "CG", "made_up:CG"))
    assert parse_measure("CG@5").definition is CG


@pytest.mark.parametrize("name", ["uniform", "mout"])
def test_audiosim_s_own_estimator_comes_before_an_installed_one(install, tiny, name):
    install("aaa", "raise SystemError", (ESTIMATORS, name, "aaa:made"))
    assert make_estimator(build_pool(tiny), name).name.startswith(name)


def test_a_name_that_two_packages_install_is_refused(install):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    install("also", TOP, (MEASURES, "TOP", "also:TOP"))
    with pytest.raises(InputError, match="^TOP is installed by also and made-up, expected only one package; uninstall"):
        parse_measure("TOP@5")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("", "cannot be loaded: AttributeError: module 'broken' has no attribute 'TOP'"),
        ("raise ValueError('two\\nlines')", "cannot be loaded: ValueError: two lines"),
        ("raise ValueError", "cannot be loaded: ValueError"),
        ("TOP = len", "must be a Definition of a measure, got builtin_function_or_method"),
        (TOP.replace('"TOP"', '"FIRST"'), "must be installed under its own name, got FIRST"),
    ],
)
def test_a_broken_measure_is_one_line_that_names_the_package(install, run, code, message):
    install("broken", code, (MEASURES, "TOP", "broken:TOP"))
    arguments = ("reliability", DEMO, "--judgments", TRUTH, "--measure", "TOP@5")
    code, out, err = run(*arguments)
    assert (code, out, err) == (1, "", f"audiosim: TOP (broken:TOP) of package broken {message}\n")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("made = 3", "must be a function of a pool and a text, got int"),
    ],
)
def test_a_broken_estimator_is_one_line_that_names_the_package(install, run, code, message):
    install("broken", code, (ESTIMATORS, "mine", "broken:made"))
    code, out, err = run("estimate", DEMO, "--model", "mine")
    assert (code, out, err) == (1, "", f"audiosim: mine (broken:made) of package broken {message}\n")


def test_a_broken_plugin_does_no_harm_to_the_others(install):
    install("broken", "raise SystemError", (MEASURES, "MISS", "broken:MISS"))
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    assert parse_measure("TOP@5").name == "TOP"


def test_an_installed_estimator_is_found_with_its_text(install, tiny):
    code = "from audiosim.joint.estimators import uniform\ndef made(pool, text):\n    assert text == 'a:b'\n"
    install("made-up", f"{code}    return uniform(pool)", (ESTIMATORS, "mine", "made_up:made"))
    pool = build_pool(tiny)
    assert make_estimator(pool, "mine:a:b").name == "uniform"
    check_estimator(make_estimator, "mine:a:b", pool, np.random.default_rng(0))


def test_a_rule_that_is_no_function_is_told(install, demo_pool):
    install("made-up", "even = 3", ("audiosim.selection_rules", "even", "made_up:even"))
    wrong = r"^even \(made_up:even\) of package made-up must be a function of expected scores and a seed, got int$"
    with pytest.raises(InputError, match=wrong):
        make_selection_rule("even", expected_scores(parse_measure("CG@5"), demo_pool))
