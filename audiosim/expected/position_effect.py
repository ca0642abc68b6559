"""Effect of a candidate's place on a page of several: the rise of grades from the first place to the last."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.expected.order_effects import FEWEST_PEOPLE, OrderEffect, mean_of_people

FEWEST_FREE = 10  # fewest degrees of freedom of the residual


class PlacedGrade(NamedTuple):
    """Grade of one of several candidates on a page.

    person  person who graded it
    page    number of the page, different for each page of each person
    place   place on the page, from 0, the first, to 1, the last
    grade   grade as a share of the scale
    """

    person: str
    page: int
    place: float
    grade: float


def position_effect(placed: Sequence[PlacedGrade]) -> OrderEffect | None:
    """Mean rise of people's grades from the first place of a page to the last; None if there are too few grades.

    The grades of a person rise by b with the place x on a page with a fixed level:

        y = level of the page + b x + residual

    by least squares, with one variance of the residual for all. The order on a page is random, so differences between
    the candidates are part of the residual. The mean over people, who may differ, is that of `mean_of_people`.
    """
    if not placed:
        return None
    _, page = np.unique([one.page for one in placed], return_inverse=True)
    names, person = np.unique([one.person for one in placed], return_inverse=True)
    place = _within(np.array([one.place for one in placed]), page)
    grade = _within(np.array([one.grade for one in placed]), page)
    squares = np.bincount(person, place**2, len(names))
    several = squares > 0  # people with a page of several grades; the others carry no information
    free = len(placed) - page.max() - 1 - int(several.sum())
    if several.sum() < FEWEST_PEOPLE or free < FEWEST_FREE:
        return None
    slopes = np.bincount(person, place * grade, len(names))[several] / squares[several]
    by_person = np.zeros(len(names))
    by_person[several] = slopes
    residual = grade - by_person[person] * place
    variance = float(residual @ residual) / free
    if variance <= np.finfo(float).eps:  # everybody gave all candidates of a page the same grade
        return None
    return mean_of_people("position", slopes, np.sqrt(variance / squares[several]))


def _within(values: Array, group: Integers) -> Array:
    """Values less the mean of their group."""
    means: Array = np.bincount(group, values) / np.bincount(group)
    return values - means[group]
