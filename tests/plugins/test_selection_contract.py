"""Rules installed by other packages, and messages about violations of their contract."""

from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.ranking import SELECTION_RULES
from audiosim.ranking.contract import check_selection_rule
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.rules import make_selection_rule

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
GROUP = "audiosim.selection_rules"
MINE = "selection rule mine"
LACKING = "note: genre is unknown for 5 of the 600 pairs, artist for 8, sound for all\n"
LONGEST = """
import numpy as np
class Longest:
    name = "longest"
    def __init__(self, expected, seed):
        self.lengths = np.array([float(len(pair.document)) for pair in expected.pool.pairs]) + seed
    def weights(self, belief, ranking):
        return self.lengths
"""


@pytest.fixture
def expected(tiny):
    return expected_scores(parse_measure("CG@2"), build_pool(tiny))


@pytest.mark.parametrize("measure", ["CG@2", "nDCG@2", "P(min=50)@2"])
@pytest.mark.parametrize("name", list(SELECTION_RULES))
def test_audiosim_s_own_rules_keep_their_contract_and_are_found(tiny, name, measure):
    own = expected_scores(parse_measure(measure), build_pool(tiny), draws=20)
    check_selection_rule(SELECTION_RULES[name], own, np.random.default_rng(0))
    assert make_selection_rule(name, own).name == name


@pytest.mark.slow
def test_an_installed_rule_is_found_and_chooses_what_is_asked(install, expected, run):
    install("made-up", LONGEST, (GROUP, "longest", "made_up:Longest"))
    rule = make_selection_rule("longest", expected, seed=3)
    assert (rule.name, rule.weights(None, None).tolist()) == ("longest", [4.0] * 7)
    check_selection_rule(type(rule), expected, np.random.default_rng(0))
    code, out, err = run("next", DEMO, "--selection-rule", "longest", "-n", "2", "--seed", "1", "--format", "csv")
    assert (code, err) == (0, LACKING)
    # The documents of the demo have names of four letters.
    assert [line.split(",")[-1] for line in out.splitlines()] == ["weight", "5.0", "5.0"]


def test_audiosim_s_own_rule_comes_before_an_installed_one_which_is_not_even_loaded(install, expected):
    install("made-up", "raise SystemError", (GROUP, "random", "made_up:Longest"))
    assert make_selection_rule("random", expected).name == "random"


def test_an_unknown_rule_is_refused_with_all_names_there_are(install, expected):
    install("made-up", LONGEST, (GROUP, "longest", "made_up:Longest"))
    known = "differences, unsettled, scores, doubts, drawn, variances, random, pooled, longest"
    with pytest.raises(InputError, match=f"^unknown selection rule 'luck', expected one of {known}$"):
        make_selection_rule("luck", expected)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('two\\nlines')", "cannot be loaded: ValueError: two lines"),
        ("", "cannot be loaded: AttributeError: module 'broken' has no attribute 'made'"),
        ("made = 3", "must be a function of expected scores and a seed, got int"),
    ],
)
def test_a_broken_rule_is_one_line_that_names_the_package(install, run, code, message):
    install("broken", code, (GROUP, "mine", "broken:made"))
    code, out, err = run("next", DEMO, "--selection-rule", "mine")
    assert (code, out, err) == (1, "", f"{LACKING}audiosim: mine (broken:made) of package broken {message}\n")


def test_a_rule_that_cannot_be_made_is_one_line(install, run):
    install("broken", "def made(expected):\n    return 1", (GROUP, "mine", "broken:made"))
    code, out, err = run("next", DEMO, "--selection-rule", "mine")
    assert (code, out) == (1, "")
    assert err.startswith(
        f"{LACKING}audiosim: a selection rule cannot be made: TypeError: made() takes 1 positional argument but 2 were"
    )
    assert len(err.splitlines()) == 2


def a_rule(weights, name="mine"):
    """A factory of a rule whose weights come from a function of the rule, the belief and the number of pairs."""

    class SelectionRule:
        def __init__(self, expected, seed):
            self.pairs, self.calls = len(expected.pool.pairs), 0

        def weights(self, belief, ranking):
            self.calls += 1
            return weights(self, belief, self.pairs)

    SelectionRule.name = name
    return SelectionRule


def raises(*_):
    raise KeyError("no such thing")


def changes_grades(rule, belief, pairs):
    belief.grades[0] = 1.0
    return np.ones(pairs)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (raises, "a selection rule cannot be made: KeyError: 'no such thing'"),
        (a_rule(raises, name=""), "a selection rule must have a name"),
        (a_rule(raises, name=3), "a selection rule must have a name"),
        (lambda expected, seed: object(), "a selection rule must have a name"),
        (a_rule(raises), f"{MINE}: weights raises KeyError: 'no such thing'"),
        (
            lambda expected, seed: type("Bare", (), {"name": "bare"})(),
            "selection rule bare: weights raises AttributeError: 'Bare' object has no attribute 'weights'",
        ),
        (
            a_rule(lambda rule, known, n: np.ones(n - 1)),
            rf"{MINE}: weights must be an array of 7, got \(6,\)",
        ),
        (
            a_rule(lambda rule, known, n: np.ones((n, 1))),
            rf"{MINE}: weights must be an array of 7, got \(7, 1\)",
        ),
        (a_rule(lambda rule, known, n: [1.0] * n), f"{MINE}: weights must be an array of 7, got list"),
        (
            a_rule(lambda rule, known, n: np.array(["high"] * n)),
            f"{MINE}: weights must be an array of numbers, got <U4",
        ),
        (
            a_rule(lambda rule, known, n: np.full(n, np.nan)),
            f"{MINE}: weights must be finite and 0 or more",
        ),
        (
            a_rule(lambda rule, known, n: np.full(n, np.inf)),
            f"{MINE}: weights must be finite and 0 or more",
        ),
        (
            a_rule(lambda rule, known, n: np.arange(n) - 1.0),
            f"{MINE}: weights must be finite and 0 or more",
        ),
        (a_rule(changes_grades), f"{MINE}: weights raises ValueError: assignment destination is read-only"),
        (
            a_rule(lambda rule, known, n: np.full(n, float(rule.calls))),
            f"{MINE}: the same judgments give different weights after other requests",
        ),
    ],
)
def test_what_a_rule_does_wrong_is_said_in_words(expected, factory, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        check_selection_rule(factory, expected, np.random.default_rng(0))


def test_a_rule_that_writes_into_an_array_of_its_own_is_caught(expected):
    # It returns the same array each time and refills it, so earlier results change.
    class Reused:
        name = "reused"

        def __init__(self, expected, seed):
            self.kept = np.zeros(len(expected.pool.pairs))

        def weights(self, belief, ranking):
            self.kept += belief.judged
            return self.kept

    with pytest.raises(InputError, match="^selection rule reused: the same judgments give different weights after "):
        check_selection_rule(Reused, expected, np.random.default_rng(0))
