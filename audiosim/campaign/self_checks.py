"""Noise within a person, by pairs they judged twice; attention, by pairs with a known grade.

For m pairs judged twice by a person, with differences d_i of the two grades, noise is the root of sum d_i^2 / 2 m, with
the interval of a variance with m degrees of freedom. Attention is 1 less the mean distance from the known grades,
divided by its mean if the same grades are assigned to these pairs at random: 1 is perfect, 0 no better than guessing.
The variance of that sum is by Hoeffding (1951), doi:10.1214/aoms/1177729545.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, fdtrc, ndtr

from audiosim.campaign.event import Record
from audiosim.collection.values import Pair, Scale
from audiosim.results.value import Value
from audiosim.stats.arrays import Array

FEWEST_CHECKS = 5  # fewest pairs for a warning
GUESSING = 0.05  # probability of guesses as close to the known grades, above which a warning is given
CARELESS = 0.01  # probability of this much noise if it were as usual, below which a warning is given


@dataclass(frozen=True, slots=True)
class SelfCheck(Value):
    """An assessor's answers compared with each other and with known grades.

    assessor   name
    repeats    pairs that they judged twice
    noise      standard deviation of one answer about the same pair, as a share of the scale; None for fewer than two
    noise_low, noise_high  its 95 % interval
    known      number of judged pairs with a known grade
    attention  1: perfect; 0: no better than guessing; None for fewer than two, or for equal grades
    warnings   sentences giving reasons for doubt; they do not exclude any judgment
    """

    assessor: str
    repeats: int
    noise: float | None
    noise_low: float | None
    noise_high: float | None
    known: int
    attention: float | None
    warnings: tuple[str, ...]


def self_checks(records: Iterable[Record], scale: Scale, known: Mapping[Pair, float]) -> dict[str, SelfCheck]:
    """Checks of each assessor who judged a pair twice, or a pair with a known grade, by name.

    records  lines of a log
    known    grades of pairs, on the scale
    """
    twice, said = _answers(records, scale)
    names = dict.fromkeys([*twice, *(name for name, grades in said.items() if grades.keys() & known.keys())])
    squares = {name: np.array([(b - a) ** 2 / 2 for a, b in twice.get(name, [])]) for name in names}
    return {name: _check(name, squares, said.get(name, {}), known, scale.maximum) for name in names}


def _check(
    name: str, squares: Mapping[str, Array], said: Mapping[Pair, float], known: Mapping[Pair, float], highest: float
) -> SelfCheck:
    own, warnings = squares[name] / highest**2, []
    noise, low, high = within_noise(own)
    others = np.concatenate([np.empty(0), *(of / highest**2 for other, of in squares.items() if other != name)])
    if len(own) >= FEWEST_CHECKS and len(others) >= FEWEST_CHECKS:
        ratio = own.mean() / max(float(others.mean()), np.finfo(float).tiny)
        if fdtrc(len(own), len(others), ratio) < CARELESS:
            usual = float(np.sqrt(others.mean()))
            warnings.append(f"{name} answers the same pair again with a noise of {noise:.2f}, others of {usual:.2f}")
    both = [pair for pair in said if pair in known]
    graded, right = (np.array([of[pair] for pair in both]) / highest for of in (said, known))
    attention, chance = attention_of(graded, right)
    if len(both) >= FEWEST_CHECKS and chance > GUESSING:
        warnings.append(
            f"{name} is hardly nearer to the known grades of {len(both)} pairs than guesses: "
            f"these are as near with probability {chance:.2f}"
        )
    return SelfCheck(name, len(own), noise, low, high, len(both), attention, tuple(warnings))


def within_noise(halves: Array) -> tuple[float | None, float | None, float | None]:
    """Standard deviation of one answer, with its 95 % interval.

    halves  (m,) half the squared difference of two answers about each pair; None for fewer than two
    """
    m = len(halves)
    if m < 2:
        return None, None, None
    total = float(halves.sum())
    return tuple(float(np.sqrt(total / of)) for of in (m, chdtri(m, 0.025), chdtri(m, 0.975)))  # type: ignore[return-value]


def attention_of(graded: Array, known: Array) -> tuple[float | None, float]:
    """Attention, and the chance that the same grades assigned at random come as close to the known grades.

    graded, known  (m,) grades as shares of the scale
    """
    m = len(graded)
    distance = np.abs(graded[:, None] - known)
    usual = float(distance.mean()) if m else 0.0
    if m < 2 or usual == 0:
        return None, 1.0
    own = float(np.trace(distance)) / m
    centred = distance - distance.mean(axis=0) - distance.mean(axis=1)[:, None] + usual
    spread = float(np.sqrt((centred**2).sum() / (m - 1))) / m
    chance = float(ndtr((own - usual) / spread)) if spread > 0 else 1.0
    return 1 - own / usual, chance


def _answers(
    records: Iterable[Record], scale: Scale
) -> tuple[dict[str, list[tuple[float, float]]], dict[str, dict[Pair, float]]]:
    """Both grades of each pair that a person judged twice, and each person's grades of all pairs, by name."""
    events = {record.number: record.event for record in records}
    undone = {event.refers for event in events.values() if event.kind == "undo"}
    twice: dict[str, list[tuple[float, float]]] = {}
    said: dict[str, dict[Pair, float]] = {}
    for number, event in events.items():
        if number in undone or event.kind not in ("judgment", "repeat", "cannot"):
            continue
        own, grade = said.setdefault(event.assessor, {}), event.grade_on(scale)
        if event.kind == "repeat" and grade is not None and event.pair in own:
            twice.setdefault(event.assessor, []).append((own[event.pair], grade))
        elif event.kind == "judgment" and grade is not None and event.counts:
            own[event.pair] = grade
        elif event.kind == "cannot":
            own.pop(event.pair, None)
    return twice, said
