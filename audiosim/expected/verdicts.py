"""Statements about all systems at once: which can be told apart, the ranks each may have, and which are best."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.expected.ranking import Ranking
from audiosim.showing import notebook_html

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

DRAWS = 10_000  # the error of a 95 % quantile's level is then .002
SHOWN = 4  # systems that a sentence names one by one


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Statements about all systems of a ranking that hold together with a stated probability.

    ranking  of s systems, with the joint distribution of their scores
    level    probability, in (0, 1), that all statements about pairs of systems hold at once (family-wise)
    seed     of the draws of scores: the same ranking always gets the same verdicts
    """

    ranking: Ranking
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"the family-wise level must be between 0 and 1, got {self.level:g}")

    @cached_property
    def _deviations(self) -> Array:
        """(draws, s) scores less their expectations, drawn jointly: normal, or of Student's t as the ranking has it."""
        rng = np.random.default_rng(self.seed)
        values, vectors = np.linalg.eigh(self.ranking.scores.covariance)
        root = vectors * np.sqrt(np.maximum(0, values))
        drawn: Array = rng.standard_normal((DRAWS, len(values))) @ root.T
        if self.ranking.distribution == "normal":
            return drawn
        freedom = self.ranking.freedom
        return np.asarray(drawn / np.sqrt(rng.chisquare(freedom, (DRAWS, 1)) / freedom))

    @cached_property
    def critical(self) -> float:
        """Quantile of the largest standardised deviation of a difference, over all pairs of systems that are open.

            P(max over pairs (a, b) of |D_ab - E D_ab| / sd D_ab <= critical) = level

        The single-step max-t of Hothorn, Bretz & Westfall (2008), doi:10.1002/bimj.200810425, by simulation.
        """
        better, worse = self.ranking.pairs
        spread = np.sqrt(self.ranking.differences[1])
        largest = np.zeros(len(self._deviations))
        for a, b, sd in zip(better, worse, spread, strict=True):
            if sd > 0:
                np.maximum(largest, np.abs(self._deviations[:, a] - self._deviations[:, b]) / sd, out=largest)
        return float(np.quantile(largest, self.level))

    @cached_property
    def better(self) -> Booleans:
        """(s, s) where the first system is better than the second: all these statements hold together at the level."""
        first, second = self.ranking.pairs
        expectation, variance = self.ranking.differences
        shown = expectation > self.critical * np.sqrt(variance)
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
        """Largest sets of systems no two of which can be told apart, best first; a system may be in several.

        The compact letter display of Piepho (2004), doi:10.1198/1061860043515: begin with all in one set; each pair
        that is told apart splits the sets that hold both; sets within others go.
        """
        place = np.empty(len(self.better), dtype=np.int64)
        place[self.ranking.order] = np.arange(len(place))
        sets = [frozenset(range(len(self.better)))]
        for a, b in np.argwhere(self.better).tolist():
            split = [part for one in sets for part in ((one - {a}, one - {b}) if {a, b} <= one else (one,))]
            sets = _largest(split)
        ordered = [tuple(sorted(one, key=place.__getitem__)) for one in sets]
        return tuple(sorted(ordered, key=lambda one: [int(place[system]) for system in one]))

    @property
    def letters(self) -> tuple[str, ...]:
        """(s) a letter for each group that a system is in: systems that share one cannot be told apart."""
        names = _names(len(self.groups))
        return tuple(
            "".join(name for name, group in zip(names, self.groups, strict=True) if system in group)
            for system in range(len(self.better))
        )

    @cached_property
    def best(self) -> Array:
        """(s,) the probability that each system is the best of all; equals share it."""
        return self.top(1)

    def top(self, k: int) -> Array:
        """(s,) the probability that each system is among the best k, in [0, 1]; those equal at the edge share it.

        k  1 to the number of systems
        """
        systems = len(self.ranking.systems)
        if not 1 <= k <= systems:
            raise InputError(f"the number of best systems must be from 1 to {systems}, got {k}")
        scores = self.ranking.scores.mean + self._deviations
        edge = np.partition(scores, systems - k, axis=1)[:, systems - k, None]
        above, level = scores > edge, scores == edge
        share = (k - above.sum(axis=1, keepdims=True)) / level.sum(axis=1, keepdims=True)
        return np.asarray((above + level * share).mean(axis=0))

    @property
    def sentence(self) -> str:
        """The result in a sentence or two, for people."""
        names, pairs = self.ranking.systems, len(self.ranking.pairs[0])
        if len(names) == 1:
            return f"{names[0]} is the only system."
        separated = int(self.better.sum())
        at = f"at a family-wise {100 * self.level:g} %"
        if not separated:
            return f"No two of the {len(names)} systems can be told apart {at}."
        leaders = [names[system] for system in self.groups[0]]
        if len(leaders) == 1:
            lead = f"{leaders[0]} is the best system"
        else:
            lead = f"{_listed(leaders)} lead and cannot be told apart"
        return f"{lead}; {separated} of {pairs} pairs of systems can be told apart {at}."

    def system_rows(self) -> list[dict[str, Any]]:
        """One row per system, best first: system, group (letters), rank_low, rank_high, best (probability)."""
        low, high = self.ranks
        return [
            {
                "system": self.ranking.systems[i],
                "group": self.letters[i],
                "rank_low": int(low[i]),
                "rank_high": int(high[i]),
                "best": float(self.best[i]),
            }
            for i in self.ranking.order.tolist()
        ]

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain values, ready for JSON, with groups, ranks and what it is about.

        groups   names of the systems that cannot be told apart, a list for each group
        about    panel: the statements are about grades by the same assessors, not by listeners in general
        """
        beside = {row.pop("system"): row for row in self.system_rows()}
        value = self.ranking.to_dict()
        value["systems"] = [row | beside[row["system"]] for row in value["systems"]]
        said = {"groups": self.group_rows(), "family_wise": self.level, "about": "panel", "sentence": self.sentence}
        return value | said

    def group_rows(self) -> list[list[str]]:
        """The names of the systems of each group."""
        return [[self.ranking.systems[system] for system in group] for group in self.groups]


def _largest(sets: list[frozenset[int]]) -> list[frozenset[int]]:
    """The sets that are within no other, each once."""
    several = set(sets)
    return [one for one in several if one and not any(one < other for other in several)]


def _names(number: int) -> list[str]:
    """a, b, ..., z, aa, ab, ...: so many names of groups."""
    made = ("".join(word) for length in count(1) for word in product(ascii_lowercase, repeat=length))
    return [next(made) for _ in range(number)]


def _listed(names: list[str]) -> str:
    """A, B and C; of many the first few and how many more."""
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on two systems, such as "A not worse by 0.02" or "A better".

    size   of the difference: the first must be better by more than this; below 0 it may be worse by as much
    words  as it was written
    """

    size: float
    words: str

    def __str__(self) -> str:
        return self.words

    @classmethod
    def parse(cls, text: str, first: str, second: str) -> "Condition":
        """The condition that is written so: `[A] better [by SIZE]` or `[A] not worse [by SIZE]`.

        first, second  the systems compared; the condition may begin with the name of the first
        """
        words = text.removeprefix(f"{first} ").removesuffix(f" than {second}").strip()
        for start, sign in (("not worse", -1.0), ("better", 1.0)):
            if words == start:
                return cls(0.0, text)
            if words.startswith(f"{start} by "):
                return cls(sign * _size(words.removeprefix(f"{start} by "), text), text)
        expected = f'"{first} not worse by 0.02", "{first} better" or "{first} better by 0.01"'
        raise InputError(f"expected a condition such as {expected}, got {text!r}")


def _size(word: str, text: str) -> float:
    try:
        size = float(word)
    except ValueError:
        size = math.nan
    if not 0 <= size < math.inf:
        raise InputError(f"the size in {text!r} must be a number, 0 or more, got {word!r}")
    return size


@dataclass(frozen=True, eq=False)
class TwoSystems:
    """A verdict on two systems of a ranking.

    ranking  of several systems
    a, b     names of two of them
    level    of the interval, and the confidence that a verdict needs, in (.5, 1)
    """

    ranking: Ranking
    a: str
    b: str
    level: float = 0.95

    def __post_init__(self) -> None:
        for name in (self.a, self.b):
            if name not in self.ranking.systems:
                known = ", ".join(self.ranking.systems)
                raise InputError(f"unknown system {name!r}, expected one of {known}")
        if self.a == self.b:
            raise InputError(f"expected two systems to compare, got {self.a} twice")
        if not 0.5 < self.level < 1:
            raise InputError(f"the confidence must be between .5 and 1, got {self.level:g}")

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Expectation and variance of the score of `a` less that of `b`."""
        first, second = self.ranking.pairs
        i, j = self.ranking.systems.index(self.a), self.ranking.systems.index(self.b)
        expectation, variance = self.ranking.differences
        place = int(np.flatnonzero(((first == i) & (second == j)) | ((first == j) & (second == i)))[0])
        sign = 1.0 if first[place] == i else -1.0
        return sign * float(expectation[place]), float(variance[place])

    @property
    def expectation(self) -> float:
        """Expected difference of the mean scores, `a` less `b`."""
        return self._moments[0]

    @property
    def interval(self) -> tuple[float, float]:
        """Central interval of the difference, of the level."""
        half = self.ranking.quantile(self.level) * math.sqrt(self._moments[1])
        return self.expectation - half, self.expectation + half

    def above(self, size: float) -> float:
        """P(`a` is better than `b` by more than `size`), in [0, 1]; a known tie with it gives 1/2."""
        return self.ranking.cumulative(self.expectation - size, self._moments[1])

    @property
    def confidence(self) -> float:
        """Probability of the likelier order, in [1/2, 1]."""
        above = self.above(0.0)
        return max(above, 1 - above)

    @property
    def verdict(self) -> str:
        """better, worse, or not told apart, at the level."""
        if self.confidence < self.level:
            return "not told apart"
        return "better" if self.expectation > 0 else "worse"

    def holds(self, condition: Condition) -> bool:
        """True if a condition is shown at the level."""
        return self.above(condition.size) >= self.level

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        low, high = self.interval
        between = f"difference {self.expectation:+.3f}, {100 * self.level:g} % interval {low:+.3f} to {high:+.3f}"
        if self.verdict == "not told apart":
            return f"{self.a} and {self.b} cannot be told apart: {between}, confidence {self.confidence:.3f}."
        return f"{self.a} is {self.verdict} than {self.b}: {between}, confidence {self.confidence:.3f}."

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        """The verdict as notebooks show it."""
        return notebook_html(self.sentence, self.to_frame())

    def to_frame(self) -> "pd.DataFrame":
        """The verdict as a pandas table of one row."""
        import pandas as pd

        return pd.DataFrame([self.to_dict()])

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The expected difference with its interval, and the 0 that it is held against; new axes where None."""
        from audiosim.drawing import draw_intervals

        low, high = self.interval
        across = f"{self.ranking.measure}: {self.a} less {self.b}, {100 * self.level:g} %"
        axes = draw_intervals([self.verdict], [low], [self.expectation], [high], across, axes)
        axes.axvline(0, color="0.4", linestyle="--")
        return axes

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, ready for JSON."""
        low, high = self.interval
        return {
            "a": self.a,
            "b": self.b,
            "measure": str(self.ranking.measure),
            "expectation": self.expectation,
            "low": low,
            "high": high,
            "confidence": self.confidence,
            "verdict": self.verdict,
            "judged": self.ranking.judged,
            "pool": self.ranking.pool,
        }
