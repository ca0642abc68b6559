"""The values of an evaluation and their rules."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.values import BROAD, FINE, Judgment, Run, Scale, parse_scale
from audiosim.errors import InputError


def test_a_scale_has_its_levels_and_no_other_grade():
    assert [grade for grade in (-1, 0, 0.5, 1, 2, 3, float("nan")) if grade in BROAD] == [0, 1, 2]
    assert BROAD.check(2) == 2.0
    with pytest.raises(InputError, match=r"^grade 3 is not on the broad scale \(0 1 2\)$"):
        BROAD.check(3)
    with pytest.raises(InputError, match=r"^grade nan is not on the fine scale \(101 levels from 0 to 100\)$"):
        FINE.check(float("nan"))


def test_a_copied_scale_is_equal_and_still_knows_its_grades():
    for scale in (copy.deepcopy(BROAD), pickle.loads(pickle.dumps(BROAD)), parse_scale("broad")):
        assert scale == BROAD
        assert hash(scale) == hash(BROAD)
        assert scale.check(1) == 1.0
    assert repr(BROAD) == "Scale(name='broad', levels=(0.0, 1.0, 2.0))"


@pytest.mark.parametrize("levels", [(), (1.0,), (0.0, float("inf")), (0.0, float("nan"))])
def test_a_scale_needs_two_finite_levels(levels):
    with pytest.raises(InputError, match=r"^a scale needs at least two levels, all finite, got \["):
        Scale("own", levels)


def test_the_levels_of_a_scale_have_powers_that_are_numbers():
    with pytest.raises(InputError, match=r"^the levels of a scale may go up to 1e\+09, got 1e\+300$"):
        Scale("own", (0.0, 1e300))


@pytest.mark.parametrize("levels", [(1.0, 0.0), (1.0, 1.0), (-1.0, 1.0)])
def test_the_levels_of_a_scale_rise_from_zero_or_more(levels):
    with pytest.raises(InputError, match=r"^the levels of a scale must rise from 0 or more, got \["):
        Scale("own", levels)


def test_a_scale_has_a_known_name_or_a_list_of_levels():
    assert parse_scale("fine") is FINE
    assert parse_scale([0, 1, 2]).levels == BROAD.levels
    with pytest.raises(InputError, match=r"^unknown scale 'good', expected fine, broad, binary or a list of levels$"):
        parse_scale("good")


def test_a_run_retrieves_no_document_twice():
    with pytest.raises(InputError, match=r"^system S retrieves a document twice for query q, expected it once$"):
        Run("S", {"q": ("a", "b", "a")})


def test_a_collection_has_runs_of_different_systems_a_cutoff_and_grades_on_its_scale():
    run = Run("S", {"q": ("a",)})
    with pytest.raises(InputError, match=r"^collection x has no runs$"):
        Collection("x", "x", FINE, 5, ())
    with pytest.raises(InputError, match=r"^collection x has two runs of system S$"):
        Collection("x", "x", FINE, 5, (run, run))
    with pytest.raises(InputError, match=r"^cutoff must be at least 1, got 0$"):
        Collection("x", "x", FINE, 0, (run,))
    with pytest.raises(InputError, match=r"^grade 3 is not on the broad scale \(0 1 2\)$"):
        Collection("x", "x", BROAD, 5, (run,), judgments=(Judgment("q", "a", 3),))


def test_the_grade_of_a_pair_is_the_mean_of_the_last_that_each_assessor_gave():
    said = [("ann", 0), ("bob", 2), ("ann", 1)]
    judgments = tuple(Judgment("q", "a", grade, assessor) for assessor, grade in said)
    collection = Collection("x", "x", BROAD, 5, (Run("S", {"q": ("a",)}),), judgments=judgments)
    assert collection.grades() == {("q", "a"): 1.5}


@pytest.mark.parametrize("grade", [np.int64(30), np.float32(30), np.uint8(30), Fraction(30)])
def test_a_grade_of_another_kind_of_number_is_python_s(grade):
    assert Judgment("q", "a", grade).grade == 30
    assert type(Judgment("q", "a", grade).grade) is float


@pytest.mark.parametrize(
    ("grade", "message"),
    [
        ("70", r"^expected a number as grade of document a, got '70'$"),
        (np.array(3), r"^expected a number as grade of document a, got array\(3\)$"),
        (True, r"^expected a number as grade of document a, got True$"),
        (np.float64("nan"), r"^expected a finite number as grade of document a, got nan$"),
    ],
)
def test_a_grade_is_a_finite_number(grade, message):
    with pytest.raises(InputError, match=message):
        Judgment("q", "a", grade)
