"""Statements about all systems at once: separated pairs, possible ranks, and probabilities of being the best."""

from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, ClassVar

import numpy as np

from audiosim.errors import InputError, check_between, check_count
from audiosim.ranking.ranking import Ranking, score_rows
from audiosim.ranking.two_systems import more_judgments
from audiosim.results.value import Result, Row, Value, cached_property, listed, rows_of
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.roots import symmetric_root
from audiosim.stats.tests import FEW_NUMBERS, largest_difference_quantile

# Sets of systems that cannot be told apart: the groups behind the letters of a ranking.


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


DRAWS = 10_000  # standard error of a 95 % quantile's level: .002
TOP = 3  # default number of systems at the top


@dataclass(frozen=True, slots=True)
class Separation(Value):
    """Two systems that cannot be told apart, with the number of judgments that would probably separate them.

    a          the better system by expected score
    b          the other
    judgments  number of judgments, at least 1, of the most informative pairs; see `judgments_to_separate`
    """

    a: str
    b: str
    judgments: int

    def __str__(self) -> str:
        return f"To separate {self.a} and {self.b} alone would probably take {more_judgments(self.judgments)}."


@dataclass(frozen=True, eq=False)
class Verdicts(Result):
    """Statements about all systems of a ranking that hold together with a stated probability.

    ranking  ranking of s systems, with the joint distribution of their scores
    level    probability, in (0, 1), that all statements about pairs of systems hold at once (family-wise)
    seed     seed of the draws of scores: the same ranking always gets the same verdicts
    k        number of best systems for `top`, at least 1; cut to the number of systems
    nearest  the two systems that need the fewest judgments to separate; None if unknown, see `next_separation`
    """

    _index: ClassVar = ("system",)
    _shown: ClassVar = ("expectation", "low", "high", "group", "rank_low", "rank_high", "best")

    ranking: Ranking
    level: float = 0.95
    seed: int = 0
    k: int = TOP
    nearest: Separation | None = None

    def __repr__(self) -> str:
        return self.sentence

    def __post_init__(self) -> None:
        check_between("the level for all pairs together", self.level)
        check_count("the number of systems at the top", self.k)

    @cached_property
    def _deviations(self) -> Array:
        """(s, draws) scores less their expectations, drawn jointly from the ranking's normal or t distribution.

        Many systems are drawn in single precision, whose rounding is far below the simulation error.
        """
        rng, root = np.random.default_rng(self.seed), symmetric_root(self.ranking.scores.covariance)
        kind: type[np.float64 | np.float32] = np.float64 if len(root) <= FEW_NUMBERS else np.float32
        drawn: Array = np.matmul(root.astype(kind), rng.standard_normal((DRAWS, len(root)), kind).T)
        if self.ranking.scores.distribution == "t":
            freedom = self.ranking.scores.freedom
            drawn /= np.sqrt(rng.chisquare(freedom, DRAWS) / freedom).astype(kind)
        # Systems known to be equal have equal scores in every draw.
        return drawn[self.ranking.scores.firsts] if self.ranking.scores.tied.any() else drawn

    @cached_property
    def critical(self) -> float:
        """Quantile of the largest standardised deviation of a difference, over all pairs of systems not known equal.

            P(max over pairs (a, b) of |D_ab - E D_ab| / sd D_ab <= critical) = level

        The single-step max-t of Hothorn, Bretz & Westfall (2008), doi:10.1002/bimj.200810425, by simulation.
        """
        spread = np.sqrt(self.ranking.scores.differences[1])
        inverse = self.ranking.scores.square(np.divide(1, spread, out=np.zeros(len(spread)), where=spread > 0))
        return largest_difference_quantile(self._deviations, inverse.astype(self._deviations.dtype), self.level)

    @cached_property
    def better(self) -> Booleans:
        """(s, s) True if the first system is shown to be better than the second; jointly valid at the level."""
        first, second = self.ranking.scores.pairs
        expectation, variance = self.ranking.scores.differences
        shown = (expectation > self.critical * np.sqrt(variance)) & ~self.ranking.scores.tied
        found = np.zeros((len(self.ranking.systems),) * 2, dtype=np.bool_)
        found[first[shown], second[shown]] = True
        return found

    @property
    def ranks(self) -> tuple[Integers, Integers]:
        """(s,) the best and (s,) the worst rank that each system may have, 1 for the best of all.

        1 + systems shown to be better, s - systems shown to be worse: a simultaneous interval, as all pairs are judged
        together. Klein, Wright & Wieczorek (2020), doi:10.1111/rssa.12546; Mogstad et al. (2024),
        doi:10.1093/restud/rdad006.
        """
        return 1 + self.better.sum(axis=0), len(self.better) - self.better.sum(axis=1)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Largest sets of systems that cannot be told apart, best first; a system may be in several.

        A compact letter display, Piepho (2004), doi:10.1198/1061860043515. Empty if there would be more groups than
        letters: such a display is unreadable, and the ranks carry the same information.
        """
        order = self.ranking.scores.order
        alike = ~(self.better | self.better.T)[np.ix_(order, order)]
        found = largest_sets(alike, len(ascii_lowercase))
        return () if found is None else tuple(tuple(order[list(one)].tolist()) for one in found)

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """(s) a letter for each group of a system: systems with a common letter cannot be told apart, others can.

        Empty for all systems if there are no groups.
        """
        found = [""] * len(self.better)
        for letter, group in zip(ascii_lowercase, self.groups, strict=False):
            for system in group:
                found[system] += letter
        return tuple(found)

    @cached_property
    def _tied(self) -> tuple[tuple[int, ...], ...]:
        """Groups; without any, the longest stretches of the order in which no two systems can be told apart."""
        order = self.ranking.scores.order
        separated = (self.better | self.better.T)[np.ix_(order, order)]
        return self.groups or tuple(tuple(order[start:stop].tolist()) for start, stop in stretches(separated))

    @cached_property
    def best(self) -> Array:
        """(s,) the probability that each system is the best of all; equal systems share it."""
        return self.top(1)

    def top(self, k: int) -> Array:
        """(s,) the probability that each system is among the best k, in [0, 1]; equal systems at the edge share it.

        k  1 to the number of systems
        """
        systems = len(self.ranking.systems)
        if not 1 <= k <= systems:
            raise InputError(f"the number of best systems must be from 1 to {systems}, got {k}")
        scores = self.ranking.scores.mean[:, None] + self._deviations
        edge = scores.max(axis=0) if k == 1 else np.partition(scores.T, systems - k, axis=1)[:, systems - k]
        above, level = scores > edge, scores == edge
        share = (k - above.sum(axis=0)) / level.sum(axis=0)
        # A product sums the rows of equal systems in different ways: these have the number of the first.
        return np.asarray(above.mean(axis=1) + (level @ share) / len(share))[self.ranking.scores.firsts]

    @property
    def sentence(self) -> str:
        """The result in a sentence or two, for people."""
        names = self.ranking.systems
        if len(names) == 1:
            return f"{names[0]} is the only system."
        if self.ranking.scores.tied.all():
            return f"{listed(names)} are equal on {self.ranking.about.words}."
        at = f"on {self.ranking.about.words}, at {100 * self.level:g} % for all pairs together"
        pairs, separated = len(self.ranking.scores.pairs[0]), self.better.sum()
        end = f"{self._equals}." if self.nearest is None else f"{self._equals}. {self.nearest}"
        if not separated:
            none = f"No two of the {len(names)} systems can" if len(names) > 2 else f"{listed(names)} cannot"
            return f"{none} be told apart {at}{end}"
        leaders = self._tied[0]
        others = (group for group in self._tied if not set(group) & set(leaders) and not self._known_equal(group))
        first, equal = listed([names[system] for system in leaders]), self._known_equal(leaders)
        lead = f"{first} lead" if equal else f"{first} lead and cannot be told apart"
        said = f"{first} is the best system" if len(leaders) == 1 else lead
        if tied := max(others, key=len, default=()):
            said += f"; {listed([names[system] for system in tied])} cannot be told apart"
        return f"{said}; {separated} of {pairs} pairs of systems can be told apart {at}{end}"

    @property
    def _equals(self) -> str:
        """Systems known to be equal, in words; empty without any."""
        tied, names = np.flatnonzero(self.ranking.scores.tied), self.ranking.systems
        if not len(tied):
            return ""
        first, second = (names[int(of[tied[0]])] for of in self.ranking.scores.pairs)
        more = f", as are {len(tied) - 1} more pairs" if len(tied) > 1 else ""
        return f"; {first} and {second} are equal{more}"

    def _known_equal(self, group: tuple[int, ...]) -> bool:
        """True for a single system, or for systems known to be equal, which are called so."""
        return len(set(self.ranking.scores.firsts[list(group)].tolist())) == 1

    def rows(self) -> list[Row]:
        """One row per system, best first: that of the ranking, with group (letters), rank_low, rank_high, and the
        probabilities of being the best, `best`, and among the best k, `top`.
        """
        (low, high), order = self.ranks, self.ranking.scores.order
        top = self.top(min(self.k, len(self.ranking.systems)))
        columns = {"group": np.array(self.letters), "rank_low": low, "rank_high": high, "best": self.best, "top": top}
        beside = rows_of({name: column[order] for name, column in columns.items()})
        return [row | more for row, more in zip(score_rows(self.ranking), beside, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain values, ready for JSON, with groups and ranks.

        groups   names of the systems that cannot be told apart, a list for each group; none if there are too many
        top_k    number of best systems that `top` refers to
        nearest  a, b and judgments; null if unknown
        """
        value = self.ranking.to_dict() | {"systems": self.rows()}
        said = {"groups": self.group_rows(), "family_wise": self.level, "top_k": self.k}
        nearest = None if self.nearest is None else self.nearest.to_dict()
        return value | said | {"sentence": self.sentence, "nearest": nearest}

    def group_rows(self) -> list[list[str]]:
        """The names of the systems of each group."""
        return [[self.ranking.systems[system] for system in group] for group in self.groups]
