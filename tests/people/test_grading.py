from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.grading import (
    Grading,
    artificial_binary,
    artificial_graded,
    find_grading,
    on_scale,
    regrade,
)
from audiosim.collection.values import BROAD, FINE, Judgment, Scale
from audiosim.errors import InputError

EVERY_GRADE = np.arange(101.0)


def test_three_artificial_levels_split_where_the_thesis_says():
    # Urbano (2013), section 3.1.2: 0 below 34, 1 from 34 on, 2 from 67 on.
    expected = [0] * 34 + [1] * 33 + [2] * 34
    assert artificial_graded(3)(EVERY_GRADE).tolist() == expected


@pytest.mark.parametrize(("levels", "thresholds"), [(4, (25, 51, 76)), (5, (20, 40, 61, 81))])
def test_four_and_five_artificial_levels_are_equal_intervals_to_the_nearest_grade(levels, thresholds):
    # 101 i / 4 = 25.25, 50.5, 75.75; 101 i / 5 = 20.2, 40.4, 60.6, 80.8.
    assert artificial_graded(levels).thresholds == thresholds
    assert np.isnan(artificial_graded(levels)(np.array([np.nan]))[0])
    sizes = np.unique(artificial_graded(levels)(EVERY_GRADE), return_counts=True)[1]
    assert sizes.max() - sizes.min() <= 2
    assert sizes.sum() == 101


@pytest.mark.parametrize("minimum", [20, 40, 60, 80])
def test_artificial_binary_scales_are_relevant_from_their_minimum_on(minimum):
    assert artificial_binary(minimum)(EVERY_GRADE).tolist() == [float(grade >= minimum) for grade in range(101)]


def test_a_collection_is_read_on_another_scale(tiny, tiny_truth):
    judged = replace(tiny, judgments=tuple(tiny_truth))
    read = regrade(judged, artificial_graded(3))
    assert read.scale.levels == (0, 1, 2)
    assert [judgment.grade for judgment in read.judgments] == [2, 1, 0, 0, 0, 2, 0]
    assert read.judgments[0] == Judgment("q1", "a", 2.0)
    assert read.runs == judged.runs


def test_a_scale_that_cannot_be_made_is_refused(tiny):
    with pytest.raises(InputError, match="a scale needs at least two levels and at most 101 here, got 1"):
        artificial_graded(1)
    with pytest.raises(InputError, match="the lowest relevant grade must be above 0 and at most 100, got 101"):
        artificial_binary(101)
    with pytest.raises(InputError, match=r"expected 2 rising thresholds for 0 1 2, got \[50.0\]"):
        Grading(FINE, BROAD, (50.0,))
    with pytest.raises(InputError, match=r"expected 2 rising thresholds for 0 1 2, got \[50.0, 50.0\]"):
        Grading(FINE, BROAD, (50.0, 50.0))
    with pytest.raises(InputError, match="expected judgments on the custom scale, got fine"):
        regrade(tiny, artificial_binary(2, Scale("custom", (0.0, 1.0, 2.0, 3.0))))


def test_artificial_scales_have_the_names_of_their_published_mappings(tiny, tiny_truth):
    for name in ("graded-4", "graded-5", "binary-20", "binary-40"):
        assert find_grading(name).target.name == name
    assert find_grading("graded-3")(EVERY_GRADE).tolist() == artificial_graded(3)(EVERY_GRADE).tolist()
    judged = replace(tiny, judgments=tuple(tiny_truth))
    assert on_scale(judged, None) is on_scale(judged, "fine") is judged
    assert [one.grade for one in on_scale(judged, "binary-40").judgments] == [
        float(one.grade >= 40) for one in judged.judgments
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broad", "^grades on the fine scale are not converted to broad, expected graded-N .*, or broad as the scale"),
        ("rough", "^unknown scale 'rough', expected fine, broad, binary, graded-N .* or binary-M .*$"),
        ("graded-", "^unknown scale 'graded-', expected"),
        ("graded-2.5", "^the number of levels in graded-2.5 must be whole$"),
        ("graded-1", "^a scale needs at least two levels and at most 101 here, got 1$"),
        ("binary-101", "^the lowest relevant grade must be above 0 and at most 100, got 101$"),
    ],
)
def test_the_name_of_no_artificial_scale_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        find_grading(name)
    with pytest.raises(InputError, match=r"^graded-4 is made from fine grades, 0 to 100; these are on the broad scale"):
        find_grading("graded-4", BROAD)
