"""Verdict on two systems: the better one, the difference, and conditions that hold at a stated confidence.

The order on another sample of queries includes the chance variation of that sample. A difference that stands out among
many is partly luck and will be smaller on the next sample: regression to the mean. Differences therefore have a prior,
estimated from all pairs of systems. It is in units of a pair's variation between queries, since systems that retrieve
similar lists have both small differences and small variation (the g-prior of Zellner 1986, with g by its moments). The
confidence about queries of this kind has no such prior: with everything judged it is the paired t-test.
"""

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.errors import ArgumentError, InputError
from audiosim.ranking.ranking import Ranking
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row, cached_property, parts
from audiosim.stats.arrays import Array
from audiosim.text import choices

if TYPE_CHECKING:
    from altair import LayerChart


def on_another_sample(ranking: Ranking) -> Array:
    """(p,) probability that the better of each pair of systems is better on another sample of as many queries.

        k = g / (1 + g),  g = mean of (E^2 + V) / S over the pairs, less 1, at least 0
        F_t(k E / sqrt(k^2 V + k S + S)), with (queries - 1) degrees of freedom

    E and V are the moments of the difference on these queries given the judgments; S is the expected sample variance
    of the queries' differences, divided by their number. The difference on queries of this kind then has expectation
    k E and variance k^2 V + k S; the last S is the variation of the other sample. Systems known to be equal give 1/2.

    ranking  about queries of this kind
    """
    if ranking.scores.sampling is None:
        raise InputError(
            f"another sample is one of queries of this kind, and this ranking is about {ranking.about.words}"
        )
    expectation, known = ranking.scores.of_these.differences
    better, worse = ranking.scores.pairs
    chance = np.diagonal(ranking.scores.sampling)[better] + np.diagonal(ranking.scores.sampling)[worse]
    chance = np.maximum(0, chance - 2 * ranking.scores.sampling[better, worse])
    shrunken = _carried(ranking, expectation, known, chance)
    variance = shrunken**2 * known + shrunken * chance + chance
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    standard = shrunken * expectation / deviation
    return np.where(variance > 0, ranking.scores.cumulated(standard), np.where(expectation == 0, 0.5, expectation > 0))


def _carried(ranking: Ranking, expectation: Array, known: Array, chance: Array) -> float:
    """Share k of a difference that is expected to remain on other queries."""
    open_ = chance > 0
    if not open_.any():
        return 1.0
    ratios = (expectation[open_] ** 2 + known[open_]) / chance[open_]
    # The sample variance is in the denominator, and the mean of an inverse chi-square is too large by this factor.
    bias = (ranking.scores.freedom - 2) / ranking.scores.freedom if ranking.scores.freedom > 2 else 1.0
    g = max(0.0, float(ratios.mean()) * bias - 1)
    return g / (1 + g)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on two systems, such as "A not worse by 0.02" or "A better".

    size    difference by which its subject must be better; below 0, the amount by which it may be worse
    words   the condition as written
    second  True if its subject is the second of the two
    """

    size: float
    words: str
    second: bool = False

    def __str__(self) -> str:
        return self.words

    @classmethod
    def parse(cls, text: str, first: str, second: str) -> "Condition":
        """Condition from text: `[A] better [than B] [by SIZE]` or `[A] not worse [than B] [by SIZE]`.

        first, second  the compared systems; a condition without a name is about the first
        """
        one = f"(?P<one>{re.escape(first)}|{re.escape(second)})"
        than = f"(?: than (?P<{{}}>{re.escape(first)}|{re.escape(second)}))?"
        form = f"(?:{one} )?(?P<what>better|not worse){than.format('early')}(?: by (?P<size>.+?))?{than.format('late')}"
        found = re.fullmatch(form, text.strip())
        about = first if found is None else found["one"] or first
        others = {} if found is None else {found["early"], found["late"]} - {None}
        if found is None or about in others or len(others) > 1:
            expected = f'"{first} not worse by 0.02", "{first} better" or "{first} better by 0.01"'
            raise ArgumentError("fail_unless", f"expected a condition such as {expected}, got {text!r}")
        size = 0.0 if found["size"] is None else _size(found["size"], text)
        return cls(size if found["what"] == "better" else -size, text, about == second)


def _size(word: str, text: str) -> float:
    try:
        size = float(word)
    except ValueError:
        size = math.nan
    if not 0 <= size < math.inf:
        raise ArgumentError("fail_unless", f"the size in {text!r} must be a number, 0 or more, got {word!r}")
    return size


def more_judgments(count: int) -> str:
    """A number of further judgments in words."""
    return "one more judgment" if count == 1 else f"{count:,} more judgments"


def check_two(systems: tuple[str, ...], a: str, b: str) -> None:
    """Refuse names that are not two different systems of the ranking."""
    for argument, name in (("a", a), ("b", b)):
        if name not in systems:
            raise ArgumentError(argument, f"unknown system {name!r}, expected one of {choices(name, systems)}")
    if a == b:
        raise ArgumentError("b", f"expected two systems to compare, got {a} twice")


def check_level(level: float) -> None:
    """Refuse a confidence outside the range that a verdict can have."""
    if not 0.5 < level < 1:
        raise ArgumentError("confidence", f"the confidence must be between .5 and 1, got {level:g}")


@dataclass(frozen=True, eq=False)
class TwoSystems(Result):
    """A verdict on two systems of a ranking.

    ranking  ranking of several systems
    a, b     names of two of them
    level    confidence of the interval, and required for a verdict, in (.5, 1)
    more     further judgments that would probably separate them; None if they are separated, or if it is unknown
    beside   verdict about the other kind of queries; None if unknown
    condition  condition to be shown; None for none
    """

    ranking: Ranking
    a: str
    b: str
    level: float = 0.95
    more: int | None = None
    beside: "TwoSystems | None" = None
    condition: Condition | None = None

    def __post_init__(self) -> None:
        check_two(self.ranking.systems, self.a, self.b)
        check_level(self.level)

    @cached_property
    def _place(self) -> int:
        """Place of the two among the pairs of the ranking."""
        return self.ranking.scores.place_of(*map(self.ranking.systems.index, (self.a, self.b)))

    @property
    def _sign(self) -> float:
        """1 if `a` is the better of the two by its place, else -1."""
        return 1.0 if self.ranking.systems[self.ranking.scores.pairs[0][self._place]] == self.a else -1.0

    @property
    def expectation(self) -> float:
        """Expected difference of the mean scores, `a` less `b`."""
        return self._sign * float(self.ranking.scores.differences[0][self._place])

    @property
    def _variance(self) -> float:
        return float(self.ranking.scores.differences[1][self._place])

    @property
    def interval(self) -> tuple[float, float]:
        """Central interval of the difference at the level, cut to the differences that the systems can have."""
        low, high = sorted(self._sign * end[self._place] for end in self.ranking.scores.difference_interval(self.level))
        return float(low), float(high)

    def above(self, size: float) -> float:
        """P(`a` is better than `b` by more than `size`), in [0, 1]; 1/2 if the difference is known to equal it."""
        return self.ranking.scores.cumulative(self.expectation - size, self._variance)

    @property
    def _equal(self) -> bool:
        """True if the two are known to be equal."""
        return bool(self.ranking.scores.tied[self._place])

    @property
    def confidence(self) -> float:
        """Probability of the likelier order, in [1/2, 1]; 1 if they are known to be equal."""
        if self._equal:
            return 1.0
        above = self.above(0.0)
        return max(above, 1 - above)

    @property
    def again(self) -> float | None:
        """Probability of the likelier order on another sample of as many queries, see `on_another_sample`.

        None for a verdict about these queries, and for systems known to be equal.
        """
        if self.ranking.scores.sampling is None or self._equal:
            return None
        return float(on_another_sample(self.ranking)[self._place])

    @property
    def verdict(self) -> str:
        """better, worse, equal, or not told apart, at the level."""
        if self._equal:
            return "equal"
        if self.confidence < self.level:
            return "not told apart"
        return "better" if self.expectation > 0 else "worse"

    def probability(self, condition: Condition) -> float:
        """Probability that a condition holds, in [0, 1]."""
        sign = -1.0 if condition.second else 1.0
        return self.ranking.scores.cumulative(sign * self.expectation - condition.size, self._variance)

    @property
    def unmet(self) -> str:
        """Words on the condition if it is not shown at the level; else empty."""
        if self.condition is None or self.probability(self.condition) >= self.level:
            return ""
        return f"not shown at {100 * self.level:g} %: {self.condition}"

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        low, high = self.interval
        if self._equal:
            return f"{self.a} and {self.b} are equal on {self.ranking.about.words}."
        between = (
            f"difference {self.expectation:+.3f}, confidence {self.confidence:.3f} in their order (one-sided), "
            f"{100 * self.level:g} % interval {low:+.3f} to {high:+.3f} (two-sided)"
        )
        if self.verdict == "not told apart":
            more = "" if self.more is None else f" To tell would probably take {more_judgments(self.more)}."
            return f"{self.a} and {self.b} cannot be told apart on {self.ranking.about.words}: {between}.{more}"
        return f"{self.a} is {self.verdict} than {self.b} on {self.ranking.about.words}: {between}."

    def __repr__(self) -> str:
        return self.sentence

    def plot(self) -> "LayerChart":
        """Plot the expected difference with its interval, beside 0."""
        low, high = self.interval
        across = f"{self.ranking.measure} of {self.a} minus that of {self.b}, {100 * self.level:g} % interval"
        return draw_intervals([self.verdict], [low], [self.expectation], [high], across, beside=0.0)

    def rows(self) -> list[Row]:
        """The verdict as one row: a column for each part of its subject, without `beside`."""
        value = self.to_dict()
        del value["beside"]
        about = {f"about_{axis}": word for axis, word in value.pop("about").items()}
        return [value | about]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, ready for JSON."""
        low, high = self.interval
        return {
            **parts(self, "a", "b"),
            **parts(self.ranking, "measure"),
            **parts(self, "expectation"),
            "low": low,
            "high": high,
            **parts(self, "confidence", "again", "verdict", "more"),
            **parts(self.ranking, "model", "judged", "pool", "basis", "about"),
            "beside": None if self.beside is None else self.beside._short(),
            **self.ranking.check.to_dict(),
            **self._conditional(),
        }

    def _conditional(self) -> dict[str, Any]:
        if self.condition is None:
            return {}
        probability = self.probability(self.condition)
        return {"condition": self.condition.words, "probability": probability, "holds": probability >= self.level}

    def _short(self) -> dict[str, Any]:
        low, high = self.interval
        return parts(self.ranking, "about") | {"low": low, "high": high} | parts(self, "confidence", "verdict")


def sentence_again(found: TwoSystems) -> str:
    """Sentence on the order on another sample of as many queries; empty if there is no such statement."""
    if found.again is None:
        return ""
    ahead, queries = found.a if found.expectation > 0 else found.b, found.ranking.scores.queries
    return f"On another {queries:,} queries, {ahead} is ahead with probability {found.again:.3f}."
