import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.errors import InputError
from audiosim.measures.levels import adr_of_groups, adr_tie_break

GROUND_TRUTH = [(1, 2), (3, 4, 5)]
INVERTED = [(4,), (3,), (2,), (1,)]


# Typke, Veltkamp & Wiering (2006), section 3: printed to two and four decimals.
@pytest.mark.parametrize(
    ("results", "printed", "tolerance"),
    [([2, 3, 1, 5, 7, 8, 9, 4], 0.86, 1e-15), ([2, 10, 3, 1, 5, 7, 8, 9, 4], 0.7433, 5e-5)],
)
def test_the_worked_examples_of_the_paper_come_out(results, printed, tolerance):
    assert adr_of_groups(results, GROUND_TRUTH) == pytest.approx(printed, abs=tolerance)


# The same, section 4: the two lists have equal recall; the constructed ones are (4, 3, 1, 1) and (3, 4, 1, 1).
def test_the_tie_of_the_paper_is_broken_on_the_lists_that_it_constructs():
    truth = [(1,), (2,), (3,), (4,)]
    worse, better = [4, 3, 5, 6], [3, 4, 5, 6]
    assert adr_of_groups(worse, truth) == adr_of_groups(better, truth)
    assert adr_tie_break(worse, truth) == adr_of_groups([4, 3, 1, 1], INVERTED)
    assert adr_tie_break(better, truth) == adr_of_groups([3, 4, 1, 1], INVERTED)
    # By hand: the inverted truth has 4 and 3 at the first two ranks; 1 is found once.
    assert adr_tie_break(worse, truth) == pytest.approx((1 + 1 + 2 / 3 + 3 / 4) / 4)
    assert adr_tie_break(better, truth) == pytest.approx((0 + 1 + 2 / 3 + 3 / 4) / 4)
    assert adr_tie_break(better, truth) < adr_tie_break(worse, truth)


def test_items_below_the_end_of_their_group_break_ties_too():
    # 1 and 2 come after the ranks of their groups: both count when they appear, in any order.
    truth = [(1,), (2,), (3,), (4,)]
    better, worse = [3, 4, 1, 2], [3, 4, 2, 1]
    assert adr_of_groups(better, truth) == adr_of_groups(worse, truth)
    assert adr_tie_break(better, truth) == adr_of_groups([3, 4, 1, 2], INVERTED)
    assert adr_tie_break(better, truth) < adr_tie_break(worse, truth)


items = st.lists(st.integers(0, 12), unique=True, max_size=12)
truths = st.lists(st.lists(st.integers(0, 12), min_size=1), min_size=1, max_size=5).map(
    lambda lists: [
        group
        for i, some in enumerate(lists)
        if (group := [x for x in dict.fromkeys(some) if not any(x in earlier for earlier in lists[:i])])
    ]
)


@pytest.mark.slow
@given(items, truths, st.integers(1, 15))
def test_the_recall_is_its_definition(results, groups, n):
    flat = [(item, number) for number, group in enumerate(groups) for item in group]
    total = 0.0
    for i in range(1, n + 1):
        counting = flat[min(i, len(flat)) - 1][1]
        counted = {item for item, number in flat if number <= counting}
        total += len(counted & set(results[:i])) / i
    assert adr_of_groups(results, groups, n) == pytest.approx(total / n, rel=1e-12)


@pytest.mark.slow
@given(truths, st.randoms())
def test_the_order_within_a_group_means_nothing_and_that_of_the_truth_scores_1(groups, random):
    for group in groups:
        random.shuffle(group)
    in_order = [item for group in groups for item in group]
    for group in groups:
        random.shuffle(group)
    assert adr_of_groups(in_order, groups) == pytest.approx(1)


@pytest.mark.slow
@given(items, truths, st.integers(0, 12))
def test_a_false_positive_never_helps(results, groups, place):
    assert (
        adr_of_groups([*results[:place], "false", *results[place:]], groups) <= adr_of_groups(results, groups) + 1e-12
    )


def test_a_ground_truth_that_is_none_is_refused():
    for groups in ([], [()], [(1,), ()]):
        with pytest.raises(InputError, match="needs at least one group, and each group at least one item"):
            adr_of_groups([1], groups)
    with pytest.raises(InputError, match="item 1 is in the ground truth twice, expected it in only one group"):
        adr_of_groups([1], [(1, 2), (1,)])
    with pytest.raises(InputError, match="average dynamic recall needs at least 1 rank, got 0"):
        adr_of_groups([1], [(1,)], 0)
