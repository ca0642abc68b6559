"""Leaning of assessors: the difference of their grades from the others' and from the model's predictions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment, Pair


@dataclass(frozen=True, slots=True)
class Leaning:
    """Difference of one assessor's grades from others', in gain: grade over the scale's maximum; + is more generous.

    assessor   their name
    judgments  number of their valid judgments
    shared     number of these on pairs that others judged too
    to_others  mean of their gain minus the others' mean gain, on shared pairs
    expected   number of these on pairs that the model predicts
    to_model   mean of their gain minus the model's expectation for the pair

    Values that need more judgments are None. A difference to the model is not an error: all assessors may be on one
    side of it. For an assessor's drift see `judge_reports`.
    """

    assessor: str
    judgments: int
    shared: int
    to_others: float | None
    expected: int
    to_model: float | None


def leanings(judgments: Iterable[Judgment], maximum: float, expectations: Mapping[Pair, float]) -> dict[str, Leaning]:
    """Leaning of each assessor, by name, in the order of their first judgments.

    judgments     valid judgments, in the order in which they were made
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
    return Leaning(
        assessor=name,
        judgments=len(pairs),
        shared=len(beside),
        to_others=_mean(np.array(beside)),
        expected=len(off),
        to_model=_mean(off),
    )


def _beside_others(gains: Mapping[str, float], name: str) -> float:
    others = [gain for other, gain in gains.items() if other != name]
    return gains[name] - sum(others) / len(others)


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None
