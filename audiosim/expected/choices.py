"""Choices in the computation of expected scores, named as in the options."""

from typing import Literal, get_args

from audiosim.errors import InputError

# Distribution of a difference between systems: t as in the thesis, normal as in the paper of 2013; see `Ranking`.
DifferenceDistribution = Literal["t", "normal"]

# Form of the ideal ranking, if the measure has one, while judgments are missing; see `RatioScores`.
Ideal = Literal["ordered", "correlated", "independent"]


def check_distribution(given: object) -> None:
    """Raise an error unless this is a known distribution of differences."""
    _check(given, "distribution", get_args(DifferenceDistribution))


def check_ideal(given: object) -> None:
    """Raise an error unless this is a known ideal ranking."""
    _check(given, "ideal", get_args(Ideal))


def _check(given: object, what: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise InputError(f"unknown {what} {given!r}, expected {', '.join(known[:-1])} or {known[-1]}")
