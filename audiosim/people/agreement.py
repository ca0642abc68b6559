"""Agreement of the assessors of a campaign."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from audiosim.collection.values import BROAD, FINE, Judgment, Pair, Scale, grades_by_assessor, grouped
from audiosim.results.value import Value, plain
from audiosim.stats.agreement import alpha, mean_absolute, root_mean_square, weighted_kappa
from audiosim.stats.arrays import Array

# Leaning of assessors: the difference of their grades from the others' and from the model's predictions.


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
    found, judgments = {}, tuple(judgments)
    grades = grades_by_assessor(judgments)
    gains = {pair: {name: grade / maximum for name, grade in said.items()} for pair, said in grades.items()}
    for name, pairs in grouped((one.assessor, one.pair) for one in judgments).items():
        beside = [_beside_others(gains[pair], name) for pair in pairs if len(gains[pair]) > 1]
        off = [gains[pair][name] - expectations[pair] / maximum for pair in pairs if pair in expectations]
        found[name] = Leaning(name, len(pairs), len(beside), _mean(beside), len(off), _mean(off))
    return found


def _beside_others(gains: Mapping[str, float], name: str) -> float:
    others = [gain for other, gain in gains.items() if other != name]
    return gains[name] - sum(others) / len(others)


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


Grades = Mapping[Pair, Mapping[str, Mapping[str, float]]]
FIGURES = ("kappa_quadratic", "kappa_linear", "rmse", "mae")


@dataclass(frozen=True, slots=True)
class TwoAssessors:
    """Agreement of two assessors.

    pairs            number of pairs of query and document that both judged
    kappa_quadratic  Cohen's kappa, with disagreements weighted by their squared size
    kappa_linear     the same, with disagreements weighted by their size
    rmse, mae        root mean squared and mean absolute difference of their gains, grade over the scale's maximum;
                     Urbano (2013), section 7.4, compares the first: .3963 on Broad, .3116 on Fine in 2006

    A kappa is NaN if both always give the same single grade.
    """

    first: str
    second: str
    pairs: int
    kappa_quadratic: float
    kappa_linear: float
    rmse: float
    mae: float


@dataclass(frozen=True, slots=True)
class ScaleAgreement:
    """Agreement of all assessors on one scale.

    scale           name of the scale
    pairs           number of pairs judged by two or more assessors
    alpha_ordinal   Krippendorff's alpha over all assessors and these pairs, for ranked grades: the figure to quote,
                    since it allows any number of assessors who judged different pairs
    alpha_interval  the same, with grades as numbers
    assessors       every two assessors with pairs in common

    The other four are means over all pairs of assessors, weighted by their number of common pairs; undefined ones
    do not count. If all assessors judged the same pairs, these are plain means, as in section 7.4 of the thesis.
    """

    scale: str
    pairs: int
    alpha_ordinal: float
    alpha_interval: float
    kappa_quadratic: float
    kappa_linear: float
    rmse: float
    mae: float
    assessors: tuple[TwoAssessors, ...]


@dataclass(frozen=True, slots=True)
class Agreement(Value):
    """Agreement of the assessors on the collection's scale first, then on Fine and Broad if these were given too.

    pairs  number of pairs of query and document that two or more assessors judged
    """

    pairs: int
    scales: tuple[ScaleAgreement, ...]

    def to_dict(self) -> dict[str, Any]:
        """The agreement as plain values, ready for JSON; undefined figures are None."""
        return {"pairs": self.pairs, "scales": {scale.scale: plain(scale) for scale in self.scales}}


def agreement(grades: Grades, scale: Scale) -> Agreement:
    """Agreement of the assessors who gave these grades.

    grades  grades by pair, assessor and scale
    scale   scale of the collection, to which a grade named `grade` belongs
    """
    shared = {pair: by for pair, by in grades.items() if len(by) > 1}
    scales = [scale, *(other for other in (FINE, BROAD) if other.name != scale.name)]
    found = [_on_scale(shared, other, "grade" if other is scale else other.name) for other in scales]
    return Agreement(len(shared), tuple(one for one in found if one.pairs or one.scale == scale.name))


def _on_scale(shared: Grades, scale: Scale, otherwise: str) -> ScaleAgreement:
    names = sorted({name for by in shared.values() for name in by})
    given = [[by.get(name, {}) for name in names] for by in shared.values()]
    ratings = np.array([[of.get(scale.name, of.get(otherwise, math.nan)) for of in row] for row in given])
    ratings = ratings.reshape(len(shared), len(names))
    ratings = ratings[np.sum(~np.isnan(ratings), axis=1) > 1].T
    two = [_two(names[a], names[b], ratings[a], ratings[b], scale) for a, b in combinations(range(len(names)), 2)]
    together = tuple(one for one in two if one.pairs)
    return ScaleAgreement(
        scale=scale.name,
        pairs=ratings.shape[1],
        alpha_ordinal=alpha(ratings, "ordinal"),
        alpha_interval=alpha(ratings, "interval"),
        assessors=together,
        **{figure: _listeners_mean(together, figure) for figure in FIGURES},
    )


def _two(first: str, second: str, own: Array, other: Array, scale: Scale) -> TwoAssessors:
    both = ~np.isnan(own) & ~np.isnan(other)
    own, other = own[both], other[both]
    gains = own / scale.maximum, other / scale.maximum
    return TwoAssessors(
        first=first,
        second=second,
        pairs=len(own),
        kappa_quadratic=weighted_kappa(own, other, scale.levels, "quadratic"),
        kappa_linear=weighted_kappa(own, other, scale.levels, "linear"),
        rmse=root_mean_square(*gains),
        mae=mean_absolute(*gains),
    )


def _listeners_mean(two: tuple[TwoAssessors, ...], figure: str) -> float:
    defined = [(getattr(one, figure), one.pairs) for one in two if not math.isnan(getattr(one, figure))]
    total = sum(pairs for _, pairs in defined)
    return sum(value * pairs for value, pairs in defined) / total if total else math.nan
