"""Sets of systems that cannot be told apart: the groups behind the letters of a ranking."""

from collections.abc import Iterator

import numpy as np

from audiosim.arrays import Booleans

STEPS = 2_000  # steps of the search, after which the number of sets counts as too large


def largest_sets(alike: Booleans, most: int) -> list[tuple[int, ...]] | None:
    """Largest sets of mutually similar systems, in the order of their members; None if there are more than `most`.

    alike  (s, s) symmetric, True on its diagonal

    The maximal cliques of a graph: Bron & Kerbosch (1973), doi:10.1145/362342.362367, with the pivot of Tomita, Tanaka
    & Takahashi (2006), doi:10.1016/j.tcs.2006.06.015. A candidate that is like all others joins at once, so that the
    depth of the search grows with the differences between the sets, not with their size.
    """
    others = alike & ~np.eye(len(alike), dtype=np.bool_)
    near = [int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in others]
    found: list[tuple[int, ...]] = []
    steps = 0
    open_ = [(0, (1 << len(near)) - 1, 0)]  # members, candidates, and earlier candidates, with one bit per system
    while open_:
        members, candidates, before = open_.pop()
        steps += 1
        if len(found) > most or steps > STEPS:
            return None
        joined = [one for one in _members(candidates) if not candidates & ~near[one] & ~(1 << one)]
        for one in joined:
            members, candidates, before = members | 1 << one, candidates & near[one], before & near[one]
        if not candidates:
            found += [] if before else [tuple(_members(members))]
            continue
        pivot = max(_members(candidates | before), key=lambda one: (candidates & near[one]).bit_count())
        for one in list(_members(candidates & ~near[pivot])):
            open_.append((members | 1 << one, candidates & near[one], before & near[one]))
            candidates, before = candidates & ~(1 << one), before | 1 << one
    return None if len(found) > most else sorted(found)


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def stretches(separated: Booleans) -> list[tuple[int, int]]:
    """Longest stretches of an order without two that are separated: start and end of each, first to last.

    separated  (s, s) symmetric, in that order
    """
    ends, end = [], len(separated)
    for start in range(len(separated) - 1, -1, -1):
        after = np.flatnonzero(separated[start, start:end])
        end = start + int(after[0]) if len(after) else end
        ends.append((start, end))
    ends.reverse()
    return [one for place, one in enumerate(ends) if place == 0 or one[1] > ends[place - 1][1]]
