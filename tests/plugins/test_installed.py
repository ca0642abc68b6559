"""Extensions installed by other packages, and messages about wrong ones; `install` leaves the same files as pip."""

from pathlib import Path

import numpy as np
import pytest

from audiosim import plugins
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure, score
from audiosim.plugins import check_estimator, check_measure, estimator_factory, find_measure, make_estimator
from audiosim.plugins.__main__ import main

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
TRUTH = DEMO / "truth.qrels"
MEASURES, ESTIMATORS = "audiosim.measures", "audiosim.estimators"
TOP = """
from audiosim.measures.measure import Definition
def top(measure, scale, grades, judged):
    return (grades[..., :1] == scale.maximum).sum(axis=-1) * 1.0
TOP = Definition("TOP", (), top)
"""


def test_the_public_names_are_sorted():
    assert plugins.__all__ == sorted(plugins.__all__)
    assert all(callable(getattr(plugins, name)) for name in plugins.__all__)


@pytest.mark.parametrize("text", ["CG@5", "RBP(p=0.5,ideal=user)@10"])
def test_audiosim_s_own_measures_are_found_by_their_names(text):
    assert find_measure(text) == parse_measure(text)


def test_an_installed_measure_is_found_and_scores_by_its_own_definition(install):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    measure = find_measure("TOP@3")
    assert (str(measure), measure.cutoff) == ("TOP@3", 3)
    grades = np.array([[1.0, 0], [0, 1], [np.nan, np.nan]])
    assert score(measure, BINARY, grades, np.ones((3, 1))).tolist() == [1, 0, 0]


def test_an_unknown_measure_is_refused_with_all_names_there_are(install):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    with pytest.raises(InputError, match="^unknown measure 'PEAK', expected one of P, AP, .*, ADR, TOP$"):
        find_measure("PEAK@5")
    with pytest.raises(InputError, match="^unknown measure 'TOP', expected a name and a cutoff such as CG@5$"):
        find_measure("TOP")


def test_audiosim_s_own_measure_comes_before_an_installed_one_which_is_not_even_loaded(install):
    install("made-up", "raise SystemError", (MEASURES, "CG", "made_up:CG"))
    assert find_measure("CG@5") == parse_measure("CG@5")


@pytest.mark.parametrize("name", ["uniform", "mout"])
def test_audiosim_s_own_estimator_comes_before_an_installed_one(install, tiny, name):
    install("aaa", "raise SystemError", (ESTIMATORS, name, "aaa:made"))
    assert make_estimator(build_pool(tiny), name).name.startswith(name)


def test_a_name_that_two_packages_install_is_refused(install):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"))
    install("also", TOP, (MEASURES, "TOP", "also:TOP"))
    with pytest.raises(InputError, match="^TOP is installed by also and made-up, expected only one package; uninstall"):
        find_measure("TOP@5")


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
    assert find_measure("TOP@5").name == "TOP"


def test_an_installed_estimator_is_found_with_its_text(install, tiny):
    code = "from audiosim.joint.estimators import uniform\ndef made(pool, text):\n    assert text == 'a:b'\n"
    install("made-up", f"{code}    return uniform(pool)", (ESTIMATORS, "mine", "made_up:made"))
    pool = build_pool(tiny)
    assert make_estimator(pool, "mine:a:b").name == "uniform"
    check_estimator(*estimator_factory("mine:a:b"), pool, np.random.default_rng(0))


@pytest.fixture
def check(monkeypatch, capsys):
    """`python -m audiosim.plugins` in this process: exit code and lines."""

    def call(*names):
        monkeypatch.setattr("sys.argv", ["audiosim.plugins", *names])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code), capsys.readouterr().out.splitlines()

    return call


@pytest.mark.slow
def test_where_nothing_is_installed_the_check_says_so(check):
    assert check() == (
        0,
        [
            "no other package has installed anything: "
            "estimator, measure, feature, kind of evidence, decoder, descriptor, embedding, "
            "selection rule, stopping rule"
        ],
    )


@pytest.mark.slow
def test_what_is_named_is_checked(check):
    assert check("uniform") == (0, ["estimator uniform of audiosim keeps its contract"])


@pytest.mark.slow
def test_a_name_that_is_not_installed_cannot_be_checked(check):
    with pytest.raises(
        InputError,
        match="^there is nothing named 'nobody'; other packages have installed nothing$",
    ):
        check("nobody")


@pytest.mark.slow
def test_what_is_wrong_is_said_of_each(install, check):
    install("made-up", TOP, (MEASURES, "TOP", "made_up:TOP"), (MEASURES, "GAP", "made_up:TOP"))
    install("broken", "", (ESTIMATORS, "mine", "broken:made"), (ESTIMATORS, "mjud", "broken:made"))
    code, lines = check()
    assert code == 1
    assert lines == [
        "estimator mine of broken violates its contract: mine (broken:made) of package broken cannot be loaded: "
        "AttributeError: module 'broken' has no attribute 'made'",
        "estimator mjud of broken violates its contract: mjud (broken:made) of package broken is never used "
        "because its name is taken; choose another name",
        "measure GAP of made-up violates its contract: GAP (made_up:TOP) of package made-up is never used "
        "because its name is taken; choose another name",
        "measure TOP of made-up keeps its contract",
    ]


EVEN = """
import numpy as np
class Even:
    name = "even"
    def weights(self, belief, ranking):
        return np.ones(len(belief.grades)) * WEIGHT
def even(expected, seed):
    return Even()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weight", "result"),
    [
        (1, "keeps its contract"),
        (-1, "violates its contract: selection rule even: weights must be finite and 0 or more"),
    ],
)
def test_a_rule_that_chooses_what_to_judge_is_checked_too(install, check, weight, result):
    install("made-up", EVEN.replace("WEIGHT", str(weight)), ("audiosim.selection_rules", "even", "made_up:even"))
    assert check() == (int(weight < 0), [f"selection rule even of made-up {result}"])


@pytest.mark.slow
def test_a_rule_that_is_no_function_is_told(install, check):
    install("made-up", "even = 3", ("audiosim.selection_rules", "even", "made_up:even"))
    wrong = "even (made_up:even) of package made-up must be a function of expected scores and a seed, got int"
    assert check() == (1, [f"selection rule even of made-up violates its contract: {wrong}"])


@pytest.mark.slow
def test_a_definition_of_audiosim_s_own_is_checked_as_that_of_others_is():
    check_measure(parse_measure("CG@5").definition, np.random.default_rng(0))
