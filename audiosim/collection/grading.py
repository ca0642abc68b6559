"""Grades of one scale as levels of another: the artificial scales of Urbano (2013), section 3.1.2, and any other."""

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import Collection
from audiosim.collection.values import BINARY, FINE, SCALES, Scale, parse_scale
from audiosim.errors import InputError, of_argument
from audiosim.stats.arrays import Array

MADE = "graded-N (N levels)", "binary-M (relevant from M on)"  # scales made from fine grades, in errors


@dataclass(frozen=True, slots=True)
class Grading:
    """Conversion of grades on one scale to levels of another.

    source      scale of the grades
    target      scale of the levels
    thresholds  the lowest grade of each level of the target except its lowest level, rising
    """

    source: Scale
    target: Scale
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in zip(self.thresholds, self.thresholds[1:], strict=False))
        wanted = len(self.target.levels) - 1
        if len(self.thresholds) != wanted or not rising or not all(map(math.isfinite, self.thresholds)):
            raise InputError(f"expected {wanted} rising thresholds for {self.target}, got {list(self.thresholds)}")

    def __call__(self, grades: Array) -> Array:
        """The levels of the grades; NaN stays NaN."""
        levels = np.array(self.target.levels)[np.searchsorted(self.thresholds, np.nan_to_num(grades), side="right")]
        return np.where(np.isnan(grades), np.nan, levels)


def artificial_graded(levels: int, source: Scale = FINE) -> Grading:
    """The scale 0 to n - 1 that splits a scale from 0 to 100 into n intervals of equal length.

        level = number of thresholds up to the grade, thresholds = round(i (maximum + 1) / n) for i = 1 to n - 1

    With 3 levels the thresholds are 34 and 67: Urbano (2013), section 3.1.2, with the same rounding. With 4 levels 50.5
    becomes 51, because only 51 divides whole grades in the same way.
    """
    if not 2 <= levels <= len(source.levels):
        raise InputError(f"a scale needs at least two levels and at most {len(source.levels)} here, got {levels}")
    length = (source.maximum + 1) / levels
    thresholds = tuple(float(math.floor(i * length + 0.5)) for i in range(1, levels))
    target = Scale(f"graded-{levels}", tuple(float(level) for level in range(levels)))
    return Grading(source, target, thresholds)


def artificial_binary(minimum: float, source: Scale = FINE) -> Grading:
    """The scale on which grades from a minimum up are relevant, 1, and others not, 0. Urbano (2013), section 3.1.2."""
    if not 0 < minimum <= source.maximum:
        raise InputError(f"the lowest relevant grade must be above 0 and at most {source.maximum:g}, got {minimum:g}")
    return Grading(source, Scale(f"binary-{minimum:g}", BINARY.levels), (float(minimum),))


@of_argument("scale")
def find_grading(name: str, source: Scale = FINE) -> Grading:
    """The artificial scale with a name: graded-4 has four levels, binary-40 is relevant from grade 40 on.

    source  scale of the grades, usually 0 to 100
    """
    kind, _, number = name.partition("-")
    if kind not in ("graded", "binary") or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", number):
        made = " or ".join(MADE)
        if name in SCALES:
            asked = f"grades on the {source.name} scale are not converted to {name}"
            raise InputError(f"{asked}, expected {made}, or {name} as the scale with which the collection is made")
        raise InputError(f"unknown scale {name!r}, expected {', '.join(SCALES)}, {made}")
    if source.levels != FINE.levels:
        raise InputError(f"{name} is made from fine grades, 0 to 100; these are on the {source.name} scale ({source})")
    if kind == "binary":
        return artificial_binary(float(number), source)
    if not number.isdecimal():
        raise InputError(f"the number of levels in {name} must be whole")
    return artificial_graded(int(number), source)


def read_on(name: str | None) -> Scale | None:
    """The scale to read judgments on if this one is asked for; None: their own, from which graded-4 is made."""
    made = name is None or name.startswith(("graded-", "binary-"))
    return None if made else of_argument("scale")(parse_scale)(str(name), MADE)


def on_scale(collection: object, name: str | None, judgments: object = None) -> Collection:
    """A collection, or that of a folder, with its judgments on the named scale; None is its own.

    name  name of an artificial scale, such as graded-4, to which the judgments are converted; or of another scale, such
          as broad or 0-3, for reading a folder's judgments
    judgments  as for `estimate`
    """
    asked = read_on(name)
    found = as_collection(collection, judgments, scale=asked)
    read = asked and not (isinstance(collection, Collection) and judgments is None)
    return found if read or name in (None, found.scale.name) else regrade(found, find_grading(str(name), found.scale))


def regrade(collection: Collection, grading: Grading) -> Collection:
    """The collection with its judgments converted to another scale."""
    if collection.scale.levels != grading.source.levels:
        raise InputError(f"expected judgments on the {grading.source.name} scale, got {collection.scale.name}")
    grades = grading(np.array([judgment.grade for judgment in collection.judgments], dtype=np.float64)).tolist()
    judgments = [replace(judgment, grade=grade) for judgment, grade in zip(collection.judgments, grades, strict=True)]
    return replace(collection, scale=grading.target, judgments=tuple(judgments), judges=collection.graders)
