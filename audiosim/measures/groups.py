"""Average dynamic recall on partially ordered lists: the ground truth orders groups, but not the items within them."""

from collections.abc import Hashable, Sequence

from audiosim.errors import InputError

Item = Hashable


def adr_of_groups(results: Sequence[Item], groups: Sequence[Sequence[Item]], ranks: int | None = None) -> float:
    """Average dynamic recall, 0 to 1.

        1/n  sum over i <= n of  1/i  number of items in the first i results that are in groups 1 to c_i

    where c_i is the group of the i-th item of the ground truth, the last group for i past its end.

    results  retrieved items, best first
    groups   the ground truth, best group first
    ranks    n; None: the number of items in the ground truth

    Typke, Veltkamp & Wiering (2006), section 3. An item retrieved twice counts once.
    """
    group_of, last = _ground_truth(groups)
    total = 0.0
    found: set[Item] = set()
    ranks = len(last) if ranks is None else ranks
    if ranks < 1:
        raise InputError(f"average dynamic recall needs at least 1 rank, got {ranks}")
    for i in range(ranks):
        found |= set(results[i : i + 1]) & group_of.keys()
        counts = last[min(i, len(last) - 1)]
        total += sum(group_of[item] <= counts for item in found) / (i + 1)
    return total / ranks


def adr_tie_break(results: Sequence[Item], groups: Sequence[Sequence[Item]]) -> float:
    """Tie-breaker between results with equal average dynamic recall, 0 to 1; lower is better.

    This is the average dynamic recall of a constructed list, on the ground truth with its groups in reverse. The list
    is the results with each item replaced by one from the best group, except items above or below the ranks of their
    own group, whose exact rank the recall ignores.

    Typke, Veltkamp & Wiering (2006), section 4.
    """
    group_of, last = _ground_truth(groups)
    constructed = [
        item if item in group_of and group_of[item] != last[i] else groups[0][0]
        for i, item in enumerate(results[: len(last)])
    ]
    return adr_of_groups(constructed, groups[::-1])


def _ground_truth(groups: Sequence[Sequence[Item]]) -> tuple[dict[Item, int], list[int]]:
    """The group of each item, and the group at each rank of the ground truth."""
    last = [number for number, group in enumerate(groups) for _ in group]
    items = [item for group in groups for item in group]
    if len(set(last)) < max(1, len(groups)):
        raise InputError("the ground truth needs at least one group, and each group at least one item")
    group_of = dict(zip(items, last, strict=True))
    if len(group_of) < len(items):
        twice = next(item for i, item in enumerate(items) if item in items[:i])
        raise InputError(f"item {twice} is in the ground truth twice, expected it in only one group")
    return group_of, last
