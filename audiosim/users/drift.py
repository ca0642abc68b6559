"""Drift of assessors: differences from the others, and from their own earlier grades."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment, Pair

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Leaning:
    """Difference of one assessor's grades from others', in gain: grade over the scale's maximum; + is more generous.

    assessor   their name
    judgments  number of their valid judgments
    shared     of those, on pairs that others judged too
    to_others  mean of their gain minus the others' mean gain, on shared pairs
    expected   judgments on pairs that the model predicts
    to_model   mean of their gain minus the model's expectation for the pair
    first      to_model of the first half of these judgments, in the order of judging
    second     to_model of the second half
    drift      second minus first
    low, high  its 95 % interval, by Welch's t

    Values that need more judgments are None. A difference to the model is no error: all assessors may be on one side of
    it. The two halves show whether an assessor drifted, given that the same model chose the pairs of both.
    """

    assessor: str
    judgments: int
    shared: int
    to_others: float | None
    expected: int
    to_model: float | None
    first: float | None
    second: float | None
    drift: float | None
    low: float | None
    high: float | None


def leanings(judgments: Iterable[Judgment], maximum: float, expectations: Mapping[Pair, float]) -> dict[str, Leaning]:
    """Leaning of each assessor, by name, in the order of their first judgments.

    judgments     those that hold, in the order in which they were made
    maximum       highest grade of the scale
    expectations  the model's expected grade of each pair, without the pair's own judgments
    """
    gains: dict[Pair, dict[str, float]] = {}
    own: dict[str, list[Pair]] = {}
    for judgment in judgments:
        gains.setdefault(judgment.pair, {})[judgment.assessor] = judgment.grade / maximum
        own.setdefault(judgment.assessor, []).append(judgment.pair)
    return {name: _leaning(name, pairs, gains, maximum, expectations) for name, pairs in own.items()}


def _leaning(
    name: str,
    pairs: list[Pair],
    gains: Mapping[Pair, Mapping[str, float]],
    maximum: float,
    expectations: Mapping[Pair, float],
) -> Leaning:
    beside = [_beside_others(gains[pair], name) for pair in pairs if len(gains[pair]) > 1]
    off = np.array([gains[pair][name] - expectations[pair] / maximum for pair in pairs if pair in expectations])
    first, second = off[: (len(off) + 1) // 2], off[(len(off) + 1) // 2 :]
    low, high = welch_interval(second, first)
    return Leaning(
        assessor=name,
        judgments=len(pairs),
        shared=len(beside),
        to_others=_mean(np.array(beside)),
        expected=len(off),
        to_model=_mean(off),
        first=_mean(first),
        second=_mean(second),
        drift=float(second.mean() - first.mean()) if len(second) else None,
        low=low,
        high=high,
    )


def _beside_others(gains: Mapping[str, float], name: str) -> float:
    others = [gain for other, gain in gains.items() if other != name]
    return gains[name] - sum(others) / len(others)


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None


def welch_interval(one: Array, other: Array, level: float = LEVEL) -> tuple[float, float] | tuple[None, None]:
    """Interval of the difference of two means, one minus the other; None where either has fewer than two values.

        E +- t sqrt(V),  V = v_1 / n_1 + v_2 / n_2,  V^2 / (sum of (v_i / n_i)^2 / (n_i - 1)) degrees of freedom

    Welch (1947), doi:10.1093/biomet/34.1-2.28.
    """
    if min(len(one), len(other)) < 2:
        return None, None
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    total, difference = sum(parts), float(one.mean() - other.mean())
    if total == 0:
        return difference, difference
    freedom = total**2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (one, other), strict=True))
    half = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)
    return difference - half, difference + half
