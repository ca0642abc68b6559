"""Violations of the contract of estimators are reported; each is a plausible mistake."""

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.joint.contract import check_estimator
from audiosim.joint.posterior import Belief

LEVELS = np.array([0.0, 50.0, 100.0])


@pytest.fixture
def pool(tiny):
    return build_pool(tiny)


def right(pool):
    """A valid answer: every level is equally likely."""
    n = len(pool.pairs)
    return {
        "levels": LEVELS,
        "probabilities": np.full((n, 3), 1 / 3),
        "maximum": 100.0,
        "models": ("mine",),
        "model": np.zeros(n, dtype=np.int64),
    }


class Simple:
    """Gives the same answer for all judgments, except where a test changes it."""

    name = "mine"

    def __init__(self, pool, **changes):
        self.answer = right(pool) | changes

    def predict(self, grades):
        return Belief.independent(**{"grades": grades} | self.answer)


def check(make, pool):
    check_estimator(lambda pool, text: make(pool), "", pool, np.random.default_rng(4))


def test_an_estimator_that_knows_nothing_keeps_the_contract(pool):
    check(Simple, pool)


def single_precision(pool):
    """Probabilities as from a network in single precision."""
    return Simple(pool, probabilities=np.full((7, 3), np.float32(1 / 3)).astype(np.float64))


def test_rows_may_sum_to_1_in_single_precision(pool):
    check(single_precision, pool)


def row(*values):
    return np.array([[1 / 3] * 3] * 6 + [values])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": [0.0, 50.0, 100.0]}, "levels must be an array of float64, got list"),
        ({"levels": np.array([0, 50, 100])}, "levels must be an array of float64, got array of int64"),
        ({"levels": np.array([[0.0, 50.0, 100.0]])}, r"levels must be one row of grades, got shape \(1, 3\)"),
        ({"levels": np.array([])}, r"levels must be one row of grades, got shape \(0,\)"),
        ({"levels": np.array([0.0, 50.0, 101.0])}, r"levels must rise within the scale, got \[0.0, 50.0, 101.0\]"),
        ({"levels": np.array([-1.0, 50.0, 100.0])}, r"levels must rise within the scale, got \[-1.0, 50.0, 100.0\]"),
        ({"levels": np.array([0.0, 50.0, 50.0])}, r"levels must rise within the scale, got \[0.0, 50.0, 50.0\]"),
        ({"levels": np.array([0.0, np.nan, 100.0])}, r"levels must rise within the scale, got \[0.0, nan, 100.0\]"),
        ({"probabilities": [[1 / 3] * 3] * 7}, "probabilities must be an array of float64, got list"),
        (
            {"probabilities": np.full((7, 3), np.float32(1 / 3))},
            "probabilities must be an array of float64, got array of float32",
        ),
        (
            {"probabilities": np.full((6, 3), 1 / 3), "model": None, "grades": np.full(6, np.nan)},
            r"there must be a row for each of 7 pairs, got \(6, 3\)",
        ),
        (
            {"probabilities": np.full((7, 2), 1 / 2)},
            r"probabilities must be \(n, 3\) to match the levels, got \(7, 2\)",
        ),
        ({"probabilities": np.full(7, 1 / 3)}, r"probabilities must be \(n, 3\) to match the levels, got \(7,\)"),
        (
            {"probabilities": row(0.5, 0.5, 0.5)},
            "each row of probabilities must be 0 or more and sum to 1, row 6 has least 0.5 and sum 1.5",
        ),
        ({"probabilities": row(1.5, -0.5, 0)}, "each row .* row 6 has least -0.5 and sum 1"),
        ({"probabilities": row(0.5, 0.5, np.nan)}, "each row .* row 6 has least nan and sum nan"),
        ({"models": ["mine"]}, r"models must be a tuple of names, got \['mine'\]"),
        ({"models": ()}, r"models must be a tuple of names, got \(\)"),
        ({"models": ("",)}, r"models must be a tuple of names, got \(''\,\)"),
        ({"model": np.zeros(7)}, "model must be an array of int64, got array of float64"),
        ({"model": [0] * 7}, "model must be an array of int64, got list"),
        ({"model": np.zeros(6, dtype=np.int64)}, "each of 7 pairs must name one of the models mine"),
        ({"maximum": 200.0}, "the highest grade must be 100, got 200"),
        ({"grades": np.full(7, 50.0)}, "the grades of a Belief must be those passed to predict"),
        ({"model": np.full(7, -1)}, "each of 7 pairs must name one of the models mine"),
    ],
)
def test_a_prediction_that_is_not_well_formed_is_told(pool, changes, message):
    with pytest.raises(InputError, match=f"^mine: {message}$"):
        check(lambda pool: Simple(pool, **changes), pool)


class NoPrediction(Simple):
    def predict(self, grades):
        return self.answer


class Raising(Simple):
    def predict(self, grades):
        if not np.isnan(grades).any():
            raise ZeroDivisionError("nothing is left to predict")
        return super().predict(grades)


class Filling(Simple):
    """Fills in unknown grades in the caller's own array."""

    def predict(self, grades):
        grades[np.isnan(grades)] = 50
        return super().predict(grades)


class Drawing(Simple):
    """Draws again at each call."""

    def __init__(self, pool):
        super().__init__(pool)
        self.rng = np.random.default_rng(0)

    def predict(self, grades):
        drawn = self.rng.dirichlet([1, 1, 1], len(grades))
        return Belief.independent(**self.answer | {"grades": grades} | {"probabilities": drawn})


class Remembering(Simple):
    """Shifts a little towards the top level whenever the judgments change."""

    def __init__(self, pool):
        super().__init__(pool)
        self.seen, self.share = None, 0.2

    def predict(self, grades):
        if self.seen != grades.tobytes():
            self.seen, self.share = grades.tobytes(), self.share * 1.1
        probabilities = np.tile([(1 - self.share) / 2, (1 - self.share) / 2, self.share], (len(grades), 1))
        return Belief.independent(**self.answer | {"grades": grades} | {"probabilities": probabilities})


class Reusing(Simple):
    """Writes every answer into the same array: the top level gets the share of judged pairs."""

    def predict(self, grades):
        share = np.mean(~np.isnan(grades))
        self.answer["probabilities"][:] = [(1 - share) / 2, (1 - share) / 2, share]
        return super().predict(grades)


class Believing(Simple):
    """Gives judged pairs their grades, or, if `missing`, knows only that they were judged."""

    def __init__(self, pool, missing):
        super().__init__(pool)
        self.missing = missing

    def predict(self, grades):
        probabilities, judged = self.answer["probabilities"].copy(), ~np.isnan(grades)
        level = np.zeros(judged.sum(), dtype=int) if self.missing else (grades[judged] > 50) * 2
        probabilities[judged] = np.eye(3)[level]
        return Belief.independent(**self.answer | {"grades": grades} | {"probabilities": probabilities})


MADE = []


class Made(Simple):
    """Depends on the number of estimators made before."""

    def __init__(self, pool):
        super().__init__(pool, probabilities=np.tile(np.eye(3)[len(MADE) % 3], (7, 1)))
        MADE.append(self)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (NoPrediction, "mine: predict must return a Belief, got dict"),
        (Raising, "mine: predict raises ZeroDivisionError: nothing is left to predict, with every pair judged"),
        (Filling, "mine: predict changes the grades passed to it"),
        (Drawing, "mine: two predictions from the same judgments differ"),
        (Remembering, "mine: an earlier prediction changes the prediction with nothing judged"),
        (Reusing, "mine: a later prediction changes an earlier one"),
        (lambda pool: Believing(pool, missing=False), "mine: a pair's own judgment changes its own prediction"),
        (lambda pool: Believing(pool, missing=True), "mine: a pair's own judgment changes its own prediction"),
        (Made, "mine: an earlier prediction changes the prediction with half of the pairs judged"),
    ],
)
def test_an_estimator_that_does_not_behave_is_told(pool, make, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        check(make, pool)


class Nameless(Simple):
    name = ""


class Numbered(Simple):
    name = 7


def fails(pool):
    raise LookupError("no such\nfile")


def refuses(pool):
    raise InputError("mine wants an address")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda pool: None, ".* must return an object with a name and a predict, got NoneType with name None"),
        (lambda pool: right(pool), ".* a name and a predict, got dict with name None"),
        (Nameless, ".* must return an object with a name and a predict, got Nameless with name ''"),
        (Numbered, ".* must return an object with a name and a predict, got Numbered with name 7"),
        (fails, "the factory of an estimator raises LookupError: no such file"),
        (refuses, "mine wants an address"),
    ],
)
def test_a_factory_that_makes_no_estimator_is_told(pool, make, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        check(make, pool)
