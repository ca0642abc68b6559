"""Features: audiosim's own keep the contract; violations are reported."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.features import BUILT_IN, FEATURES, register_feature
from audiosim.plugins import check_feature, load_features

COUNTED = """
import numpy as np
from audiosim.ordinal.feature import Feature
def counted(pool):
    return np.arange(float(len(pool.pairs)))
COUNTED = Feature("COUNTED", "output", "nothing", 1, "place in the pool", counted)
"""


def rng():
    return np.random.default_rng(2)


@pytest.fixture
def pool(tiny):
    return build_pool(tiny)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_audiosim_s_own_features_keep_the_contract(demo_pool, name):
    check_feature(BUILT_IN[name], demo_pool, rng())


class Elsewhere:
    """Mean grade of the pool's other pairs: valid, but not part of audiosim."""

    def compute(self, pool, grades, rows):
        judged = ~np.isnan(grades)
        total, count = np.nansum(grades), judged.sum()
        own, there = np.nan_to_num(grades[rows]), judged[rows]
        return np.divide(total - own, count - there, out=np.full(len(rows), np.nan), where=count > there)

    def touched(self, pool, index):
        return np.setdiff1d(np.arange(len(pool.pairs)), [index])


class OwnGrade(Elsewhere):
    def compute(self, pool, grades, rows):
        return grades[rows].copy()


class Forgetful(Elsewhere):
    def touched(self, pool, index):
        return np.arange(0)


class Falling(Elsewhere):
    def touched(self, pool, index):
        return super().touched(pool, index)[::-1]


class Itself(Elsewhere):
    def touched(self, pool, index):
        return np.arange(len(pool.pairs))


class OfTheRows(Elsewhere):
    def compute(self, pool, grades, rows):
        return np.full(len(rows), float(len(rows)))


class Writing(Elsewhere):
    def compute(self, pool, grades, rows):
        grades[:] = 0
        return np.zeros(len(rows))


class Raising(Elsewhere):
    def compute(self, pool, grades, rows):
        raise KeyError("no such pair")


class Random(Elsewhere):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def compute(self, pool, grades, rows):
        return self.rng.random(len(rows))


def learned(values, reads="all queries"):
    return Feature("mine", "judgment", reads, 1, "of a test", values)


def fixed(values):
    return Feature("mine", "output", "nothing", 1, "of a test", values)


def test_a_feature_of_one_s_own_keeps_the_contract(pool):
    check_feature(learned(Elsewhere()), pool, rng())
    check_feature(fixed(lambda pool: np.full(len(pool.pairs), np.nan)), pool, rng())


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (fixed(lambda pool: [0.0] * 7), "values must be an array of 7 float64, got list"),
        (fixed(lambda pool: np.zeros(6)), r"values must be an array of 7 float64, got \(6,\) of float64"),
        (fixed(lambda pool: np.zeros(7, dtype=int)), r"values must be an array of 7 float64, got \(7,\) of int64"),
        (fixed(lambda pool: np.full(7, np.inf)), "values must be finite, or NaN where unknown"),
        (learned(Raising()), "raises KeyError: 'no such pair'"),
        (learned(Writing()), "the grades passed to it are changed"),
        (learned(Random()), "the same judgments give different values the second time"),
        (learned(OfTheRows()), "values for some pairs must equal those for all pairs"),
        (learned(OwnGrade()), "a pair's own judgment must not enter its own value"),
        (learned(Itself()), "a pair's own judgment must not enter its own value"),
        (learned(Forgetful()), "a judgment changes 6 values that are not in touched"),
        (learned(Falling()), "touched must be a rising array of places of pairs"),
        (learned(Elsewhere(), "own query"), "reads its own query, but a judgment of another one changes it"),
        (learned(Elsewhere(), "other queries"), "reads other queries, but a judgment of its own query changes it"),
    ],
)
def test_a_feature_that_breaks_the_contract_is_told_how(pool, feature, message):
    with pytest.raises(InputError, match=f"^feature mine: {message}"):
        check_feature(feature, pool, rng())


@pytest.fixture
def forgotten(monkeypatch):
    """Forget the features registered by a test before the next one."""
    monkeypatch.setattr("audiosim.ordinal.features._FEATURES", dict(FEATURES))


def test_a_registered_feature_must_have_a_name_of_its_own(forgotten):
    register_feature(BUILT_IN["fSYS"])
    with pytest.raises(InputError, match="^feature fSYS is known already, expected another name for a feature of your"):
        register_feature(replace(BUILT_IN["fSYS"], version=2))


def test_a_broken_feature_is_one_line_that_names_the_package(install, run, tmp_path):
    install("broken", "COUNTED = 3", ("audiosim.ordinal", "COUNTED", "broken:COUNTED"))
    with pytest.raises(InputError, match=r"^COUNTED \(broken:COUNTED\) of package broken must be a Feature, got int$"):
        load_features()


def test_audiosim_s_own_feature_comes_before_an_installed_one_which_is_not_even_loaded(install):
    install("made-up", "raise SystemError", ("audiosim.ordinal", "fSYS", "made_up:fSYS"))
    load_features()
    assert FEATURES["fSYS"] is BUILT_IN["fSYS"]
