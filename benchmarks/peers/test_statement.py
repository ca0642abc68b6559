import re

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from peers.statement import Outcome, StatedRanking, by_deviations, nothing_known, order_alone, pairs_of

SCORES = np.array([0.3, 0.5, 0.45])
DIFFERENCES = np.array([-0.2, -0.15, 0.05])  # between 0 and 1, 0 and 2, 1 and 2


def test_pairs_stand_row_by_row():
    assert list(zip(*map(np.ndarray.tolist, pairs_of(4)), strict=True)) == [
        (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
    ]  # fmt: skip


@pytest.mark.parametrize("degrees", [4.0, np.inf])
def test_intervals_and_confidences_are_those_of_scipy(degrees):
    law = stats.norm if np.isinf(degrees) else stats.t(degrees)
    said = by_deviations(SCORES, np.full(3, 0.1), DIFFERENCES, np.array([0.1, 0.2, np.nan]), degrees, degrees)
    low, high = law.interval(0.95)
    assert said.half == pytest.approx([0.1 * high] * 3)
    assert said.half_differences[:2] == pytest.approx([-0.1 * low, 0.2 * high])
    assert np.isnan(said.half_differences[2])
    assert said.confidence == pytest.approx([law.cdf(2), law.cdf(0.75), 0.5])


def test_what_is_known_is_sure_and_a_known_tie_is_a_coin():
    said = by_deviations(SCORES, np.zeros(3), np.array([0.1, 0.0, -0.1]), np.zeros(3))
    assert said.confidence.tolist() == [1, 0.5, 1]


def test_an_outcome_counts_what_it_says():
    # Truth 0.4, 0.5, 0.5: the last two are equal, and their pair has no order.
    truth = np.array([0.4, 0.5, 0.5])
    said = StatedRanking(
        SCORES, np.array([0.05, 0.01, np.nan]), DIFFERENCES, np.array([0.2, 0.04, 9]), np.array([0.9, 0.7, 0.6])
    )
    found = Outcome.of(said, truth, 17)
    # Errors of scores: .1, 0; of differences: .1 and .05.
    assert found == Outcome(17, 1.0, pytest.approx(0.8), (1, 2), (1, 2), pytest.approx(0.12))
    assert Outcome.from_dict(found.to_dict()) == found
    turned = Outcome.of(said, -truth, 17)
    assert turned.right == 0


def test_a_tie_is_half_right_and_one_who_states_nothing_has_no_interval():
    found = Outcome.of(nothing_known(3), SCORES, 0)
    assert (found.right, found.stated, found.systems, found.differences, found.half) == (0.5, 0.5, (0, 0), (0, 0), None)
    alone = Outcome.of(order_alone(SCORES), SCORES, 0)
    assert (alone.right, alone.stated) == (1, None)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"half": np.zeros(2)}, "half must be (3,) for 3 systems, got (2,)"),
        ({"differences": np.zeros(4)}, "differences must be (3,) for 3 systems, got (4,)"),
        ({"scores": np.array([1, np.nan, 0])}, "scores and differences must be finite"),
        ({"half_differences": np.array([1.0, -1, 0])}, "half widths of intervals must be 0 or more"),
        ({"confidence": np.array([0.9, 0.4, 1])}, "a confidence must be from 0.5 to 1"),
    ],
)
def test_a_statement_that_is_none_is_refused(change, told):
    whole = {
        "scores": SCORES,
        "half": np.zeros(3),
        "differences": DIFFERENCES,
        "half_differences": np.zeros(3),
        "confidence": np.ones(3),
    }
    with pytest.raises(InputError, match=re.escape(told)):
        StatedRanking(**(whole | change))
