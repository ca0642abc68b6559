"""Stopping rules: audiosim's own keep the contract; violations are reported."""

from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.ranking import STOPPING_RULES, StoppingDefinition, parse_stopping_rule
from audiosim.ranking.contract import check_stopping_rule
from audiosim.ranking.expected import expected_scores

CALLS = count()


def rng():
    return np.random.default_rng(2)


@pytest.fixture
def expected(demo_pool):
    return expected_scores(parse_measure(f"CG@{demo_pool.cutoff}"), demo_pool)


@pytest.fixture
def small(tiny):
    return expected_scores(parse_measure("CG@2"), build_pool(tiny))


@pytest.mark.parametrize("name", list(STOPPING_RULES))
def test_audiosim_s_own_stopping_rules_keep_the_contract(expected, name):
    check_stopping_rule(STOPPING_RULES[name], expected, rng())
    assert parse_stopping_rule(STOPPING_RULES[name].example) == parse_stopping_rule(STOPPING_RULES[name].example)


@dataclass(frozen=True)
class Share:
    """A share of the pool is judged: valid, but not part of audiosim."""

    target: float

    def level(self, selection):
        return selection.ranking.judged / len(selection.pool.pairs)

    def reached(self, selection):
        return self.level(selection) >= self.target

    def __str__(self):
        return f"share={self.target!r}"


class Endless(Share):
    def level(self, selection):
        return np.inf


class Vague(Share):
    def reached(self, selection):
        return "nearly"


class Moody(Share):
    def level(self, selection):
        return float(next(CALLS))


class Raising(Share):
    def level(self, selection):
        raise KeyError("no such level")


class Rounded(Share):
    def __str__(self):
        return f"share={round(self.target)}"


def definition(make):
    return StoppingDefinition("share", lambda _, target: make(target), "share=0.5")


def test_a_stopping_rule_of_one_s_own_keeps_the_contract(small):
    check_stopping_rule(definition(Share), small, rng())


def raising(target):
    raise KeyError("no such target")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda target: target, "stopping rule share must have level and reached, got float"),
        (raising, "stopping rule share: share=0.5 raises KeyError: 'no such target'"),
        (Endless, "stopping rule share: level must be a finite number, got inf"),
        (Vague, "stopping rule share: reached must be True or False, got 'nearly'"),
        (Moody, "stopping rule share: the same judgments give a different answer the second time"),
        (Raising, "stopping rule share: raises KeyError: 'no such level'"),
        (Rounded, "stopping rule share: share=0 must be parsed as an equal rule"),
    ],
)
def test_a_stopping_rule_that_breaks_the_contract_is_told_how(small, make, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        check_stopping_rule(definition(make), small, rng())


@pytest.mark.parametrize("example", ["other=0.5", "share", "share()=0.5"])
def test_an_example_must_be_of_the_rule(example):
    with pytest.raises(InputError, match="^the example of stopping rule share must be NAME=TARGET, got "):
        StoppingDefinition("share", lambda _, target: Share(target), example)


def test_an_installed_stopping_rule_is_found_by_its_name(install, small):
    code = (
        "from audiosim.ranking.stopping import Judgments\n"
        "from audiosim.ranking.stopping import StoppingDefinition\n"
        "TWICE = StoppingDefinition('twice', lambda _, target: Judgments(int(2 * target)), 'twice=3')\n"
    )
    install("made-up", code, ("audiosim.stopping_rules", "twice", "made_up:TWICE"))
    assert str(parse_stopping_rule("twice=4")) == "judgments=8"
    with pytest.raises(InputError, match="^unknown stopping rule 'thrice=4', expected confidence=0.95, "):
        parse_stopping_rule("thrice=4")
