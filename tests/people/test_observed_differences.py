from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.grading import on_scale
from audiosim.collection.values import BROAD, Judgment
from audiosim.errors import InputError
from audiosim.people.answers import Answers, read_answers
from audiosim.people.preferences import noticeable_differences, preferences, smallest_noticed


def answers(agreeing):
    """Ten answers for each tenth of difference in CG@1 on eleven levels; `agreeing` of them prefer the better list."""
    scale = replace(BROAD, name="eleven", levels=tuple(float(i) for i in range(11)))
    choices, grades = [], []
    for tenth, count in enumerate(agreeing, start=1):
        choices += ["a"] * count + ["b"] * (10 - count)
        grades += [[[float(tenth)], [0.0]]] * 10
    return Answers(tuple(choices), np.array(grades), scale)


@pytest.mark.parametrize(
    ("agreeing", "share", "expected"),
    [
        # Bins of differences .1, .2, ...: middles .15, .25, ...; .4 agree in the second, .8 in the third: halfway less
        # three quarters of the step, .25 + .1 (.5 - .4) / (.8 - .4).
        ([1, 4, 8, 9], 0.5, 0.275),
        ([1, 4, 8, 9], 0.85, 0.40),
        ([5, 9], 0.5, 0.10),
        ([1, 2], 0.5, None),
    ],
)
def test_the_smallest_difference_is_interpolated_between_the_middles_of_the_bins(agreeing, share, expected):
    found = smallest_noticed(preferences(answers(agreeing), "CG@1"), share)
    assert found == (None if expected is None else pytest.approx(expected))


def test_the_share_of_observed_differences_that_are_noticed_is_counted(tiny):
    levels = tuple(float(i) for i in range(11))
    scale = replace(BROAD, name="eleven", levels=levels)
    grades = {"a": 10.0, "b": 7.0, "c": 1.0, "d": 0.0, "e": 4.0, "f": 2.0}
    pairs = {(q, d) for run in tiny.runs for q, documents in run.rankings.items() for d in documents}
    judged = replace(tiny, scale=scale, judgments=tuple(Judgment(q, d, grades[d]) for q, d in sorted(pairs)))
    held = preferences(answers([1, 4, 8, 9]), "CG@1")
    found = noticeable_differences(held, [judged, judged])
    # First documents: q1 a, a, d (10, 10, 0); q2 b, e, e (7, 4, 4): differences 0, 1, 1, .3, .3, 0; 4 of 6.
    assert (found.observed, found.noticed) == (12, pytest.approx(4 / 6))
    assert found.to_dict()["smallest_difference"] == pytest.approx(0.275)
    assert noticeable_differences(preferences(answers([1, 2]), "CG@1"), [judged]).noticed == 0
    with pytest.raises(InputError, match="^collection tiny is on the fine scale, the answers on the eleven scale:"):
        noticeable_differences(held, [tiny])
    with pytest.raises(InputError, match="a share of users who agree must be above 0 and at most 1, got 0"):
        smallest_noticed(held, 0)


PEOPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "preferences" / "answers.tsv"
# Urbano (2013), Table 3.5, column Broad: five years of MIREX.
PRINTED = {"DCG@5": 0.1769, "Q@5": 0.2163, "RBP@5": 0.1788, "GAP@5": 0.1878, "EDCG@5": 0.0972}


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_priors_of_2011_come_near_the_printed_ones_of_five_years(mirex2011, name):
    # Broad judgments of 2011 are not public, so its Fine ones are read on three levels: close, not equal.
    if not PEOPLE.is_file():
        pytest.skip("people's answers are not here: shared/data/preferences/answers.tsv beside the checkout")
    held = preferences(read_answers(PEOPLE), name)
    found = noticeable_differences(held, [on_scale(mirex2011, "graded-3")])
    assert found.observed == 18 * 17 // 2 * 100
    assert found.noticed == pytest.approx(PRINTED[name], abs=0.02)
