"""Mutual proximity is compared with counts by hand and a double loop."""

import numpy as np

from audiosim.sound.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds


def test_it_is_the_share_of_references_farther_from_both():
    # x at 0, y at 2 and 5, references at 1, 3, -4 and 9.
    x, y, references = 0, np.array([2, 5]), np.array([1, 3, -4, 9])
    from_other = np.abs(y[:, None] - references)
    found = mutual_proximity(np.abs(y - x), np.abs(references - x), from_other, np.ones((2, 4), dtype=bool))
    assert found.tolist() == [2 / 4, 0 / 4]  # -4 and 9; for 5 none: 9 is at a distance of 4


def test_it_is_what_a_double_loop_counts():
    rng = np.random.default_rng(1)
    distances, one, other = rng.random(30), rng.random(50), rng.random((30, 50))
    counted = rng.random((30, 50)) < 0.7
    expected = [
        np.mean([one[r] > distances[y] and other[y, r] > distances[y] for r in range(50) if counted[y, r]])
        for y in range(30)
    ]
    np.testing.assert_allclose(mutual_proximity(distances, one, other, counted), expected)


def test_it_is_unknown_without_a_reference():
    assert np.isnan(mutual_proximity(np.ones(1), np.ones(3), np.ones((1, 3)), np.zeros((1, 3), dtype=bool))).all()


def test_of_two_kinds_it_is_what_a_double_loop_counts_within_them():
    rng = np.random.default_rng(2)
    distances, one, other = rng.random(30), rng.random(50), rng.random((30, 50))
    counted, others, kinds = rng.random((30, 50)) < 0.7, rng.random(30) < 0.5, rng.random(50) < 0.4
    found = proximity_of_kinds(distances, one, other, counted, True, others, kinds)
    for y in range(30):
        of_x, of_y = ([r for r in range(50) if counted[y, r] and kinds[r] == kind] for kind in (True, others[y]))
        if others[y]:
            expected = np.mean([one[r] > distances[y] and other[y, r] > distances[y] for r in of_x])
        else:
            expected = np.mean(one[of_y] > distances[y]) * np.mean(other[y, of_x] > distances[y])
        np.testing.assert_allclose(found[y], expected)


def test_a_kind_of_few_is_none_of_its_own():
    assert [has_two_kinds(np.arange(60) < few) for few in (0, 19, 20, 40, 41)] == [False, False, True, True, False]
