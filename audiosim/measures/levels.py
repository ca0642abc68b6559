"""Measures that compare levels of relevance with each other: GAP and ADR."""

from collections.abc import Hashable, Sequence

import numpy as np

from audiosim.errors import InputError
from audiosim.measures.binary import AP
from audiosim.measures.definition import FORM, IDEAL, THRESHOLDS, Definition
from audiosim.measures.lists import GradedLists, of_lists, share_of
from audiosim.stats.arrays import Array

# Average dynamic recall on partially ordered lists: the ground truth orders groups, but not the items within them.


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


@of_lists
def _gap(of: GradedLists) -> Array:
    """(...,) Graded average precision, 0 to 1; 0 if no relevant document exists.

        1/best  sum over i <= k of  1/i  sum over j <= i of  min(F(r_i), F(r_j))

    The inner part is E[P@i], as min(F(r_i), F(r_j)) is the chance that a user finds both documents relevant; best is
    the sum of F over all judged documents (2.16), over the best k of them (5.9), or k (3.8).

    Robertson et al. (2010), doi:10.1145/1835449.1835550; Urbano (2013).
    """
    shares = of.satisfied(of.grades)
    total = np.zeros(shares.shape[:-1])
    for i in range(shares.shape[-1]):
        total += np.minimum(shares[..., : i + 1], shares[..., i : i + 1]).sum(axis=-1) / (i + 1)
    return share_of(total, of.most_satisfied)


@of_lists
def _adr(of: GradedLists) -> Array:
    """(...,) Average dynamic recall, 0 to 1; 0 without any rank.

        1/n  sum over i <= n of  1/i  number of ranks j <= i with r_j >= ideal_i      (2.17)

    n is the cutoff k for chapter 2; for chapter 5 the smaller of k and the number of judged documents above 0, which is
    the length of the ground truth in Typke et al. (2006), where gain 0 belongs to no group. For chapter 3, see
    `_strict_adr`.

    The document at rank j counts from rank t_j = max(j, 1 + number of ideal_i > r_j) on, so it adds 1/t_j + ... + 1/n.
    Urbano (2013), after Typke, Veltkamp & Wiering (2006).
    """
    if of.user:
        return _strict_adr(of)
    ranks = np.asarray(of.ranks)
    deepest = int(ranks.max(initial=0))
    grades, ideal = of.grades[..., :deepest], of.judged[..., :deepest]
    better = np.zeros(np.broadcast_shapes(grades.shape, (*ideal.shape[:-1], 1)), dtype=np.int64)
    for i in range(ideal.shape[-1]):
        better += ideal[..., i : i + 1] > grades
    harmonic = _harmonic(deepest)
    before = np.maximum(np.arange(grades.shape[-1]), better)
    added = np.maximum(0, harmonic[ranks[..., None]] - harmonic[before])
    return share_of(np.sum(np.where(np.isnan(grades), 0, added), axis=-1), ranks.astype(np.float64))


def _strict_adr(of: GradedLists) -> Array:
    """(...,) Average dynamic recall of documents of the highest grade, 0 to 1.

        1/k  sum over i <= k of  1/i  number of ranks j <= i with r_j = highest      (3.9)

    Urbano (2013), chapter 3: the ideal ranking has the highest grade at every rank.
    """
    harmonic = _harmonic(of.cutoff)
    return np.asarray((of.grades >= of.scale.maximum) @ (harmonic[-1] - harmonic[: of.grades.shape[-1]]) / of.cutoff)


def _harmonic(ranks: int) -> Array:
    """(ranks + 1,) the sums 1 + 1/2 + ... + 1/i, from i = 0."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, ranks + 1))])


GAP = Definition(
    "GAP",
    (THRESHOLDS, IDEAL, FORM),
    _gap,
    two_levels=AP,
    words="precision among the first {cutoff} results, averaged over listeners who draw the line at different grades",
    first_words="precision of the first result, averaged over listeners who draw the line at different grades",
)
ADR = Definition(
    "ADR",
    (IDEAL, FORM),
    _adr,
    compares=True,
    words="share of the best results found so far, averaged over the first {cutoff} ranks",
    first_words="1 if the first result is one of the best, else 0",
)
