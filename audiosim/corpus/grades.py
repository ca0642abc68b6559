"""Grades of pairs, from the judgments of one or more assessors."""

import math
from collections.abc import Iterable, Mapping

from audiosim.corpus.model import Judgment, Pair


def grades_by_assessor(judgments: Iterable[Judgment]) -> dict[Pair, dict[str, float]]:
    """The last grade that each assessor gave each pair, in the order in which pairs were first judged."""
    grades: dict[Pair, dict[str, float]] = {}
    for judgment in judgments:
        grades.setdefault(judgment.pair, {})[judgment.assessor] = judgment.grade
    return grades


def mean_grade(said: Mapping[str, float]) -> float:
    """Mean grade of a pair over its assessors; NaN without any."""
    return sum(said.values()) / len(said) if said else math.nan


def mean_grades(judgments: Iterable[Judgment]) -> dict[Pair, float]:
    """Mean grade of each judged pair over its assessors, in the order in which pairs were first judged."""
    return {pair: mean_grade(said) for pair, said in grades_by_assessor(judgments).items()}
