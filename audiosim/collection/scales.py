"""Guess of the scale from the grades themselves, for judgments that do not name it."""

import math
from collections.abc import Collection as Grades

from audiosim.collection.values import BINARY, BROAD, FINE, Scale
from audiosim.errors import InputError

HIGHEST_LEVELS = 10  # highest grade that counts as a level: TREC has 0 to 4, questionnaires 1 to 5 or 0 to 10
STEPS = (1, 2, 4, 5, 10)  # levels per whole number: wholes, halves, quarters, fifths, tenths
SHOWN = 8
MANY = 20  # number of grades from a 0-100 scale that would not all stay below 10 by chance
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")


class OffScaleError(InputError):
    """A grade fits no scale that could be guessed."""

    def __init__(self, grade: float) -> None:
        super().__init__(
            f"grade {grade:g} fits no usual scale (binary, broad, levels up to {HIGHEST_LEVELS}, fine), expected a "
            f"scale in collection.toml, or `scale=SCALE`"
        )
        self.grade = grade


def guess_scale(grades: Grades[float], column: str = "grade", count: int = 0) -> tuple[Scale, str]:
    """The scale of some grades, and a sentence on the observed grades and their interpretation.

    grades  the distinct grades, at least one
    column  column of the grades: `fine` and `broad` are scales of their own
    count   number of all grades, repeated ones included

    Whole numbers up to 10 are levels, including missing ones between them: 0 1 3 means 0 to 3. Levels begin at 0, or at
    1 if there are grades of 3 or more and none below 1, as in questionnaires. Halves, quarters, fifths and tenths up to
    10 are levels likewise. Larger whole numbers are grades of 0 to 100. Anything else is an InputError.
    """
    seen = sorted(grades)
    if column == "broad" and all(grade in BROAD for grade in seen):
        return BROAD, _sentence(seen, BROAD)
    tenths = seen[-1] <= HIGHEST_LEVELS and (count >= MANY or any(grade % 1 for grade in seen))
    if column == "fine" and not tenths:
        return FINE, _sentence(seen, FINE)
    scale = FINE if seen[-1] > HIGHEST_LEVELS else _levels(seen, column)
    if scale is None or not all(grade in scale for grade in seen):
        whole = scale or Scale("whole", tuple(map(float, range(HIGHEST_LEVELS + 1))))
        raise OffScaleError(next(grade for grade in seen if grade not in whole))
    return scale, _sentence(seen, scale)


def _levels(seen: list[float], column: str) -> Scale | None:
    """The scale of levels up to 10 that contains all grades; None if there is none."""
    # Rounded, because tenths are not exact in binary: 1.1 * 10 is 11.000000000000002, and 11 / 10 is 1.1.
    step = next((step for step in STEPS if all(round(grade * step) / step == grade for grade in seen)), None)
    if step is None or seen[0] < 0:
        return None
    if column == "fine":
        return Scale("custom", tuple(place / step for place in range(HIGHEST_LEVELS * step + 1)))
    for known in (BINARY, BROAD):
        if all(grade in known for grade in seen):
            return known
    first = step if seen[0] >= 1 and seen[-1] > BROAD.maximum else 0
    return Scale("custom", tuple(place / step for place in range(first, math.ceil(seen[-1]) * step + 1)))


def _sentence(seen: list[float], scale: Scale) -> str:
    """The grades and their interpretation in words: grades 0 1 2 3: taken as four levels, 0 to 3."""
    numbers = " ".join(f"{grade:g}" for grade in seen)
    found = numbers if len(seen) <= SHOWN else f"{seen[0]:g} to {seen[-1]:g}"
    size, ends = len(scale.levels), f"{scale.levels[0]:g} to {scale.maximum:g}"
    if scale in (BINARY, BROAD):
        what = f"{scale.name}, {scale}"
    elif scale == FINE:
        what = f"fine, {ends}"
    else:
        what = f"{NUMBERS[size] if size < len(NUMBERS) else size} levels, {ends}"
    return f"scale not given, grades {found}: taken as {what}"
