"""Choices of how what is expected of systems is computed, under the names that options have for them."""

from typing import Literal

# Of a difference between systems: t as in the thesis, normal as in the paper of 2013; see `Ranking`.
DifferenceDistribution = Literal["t", "normal"]

# The ideal ranking of a measure that has one, while judgments are missing; see `RatioScores`.
Ideal = Literal["ordered", "correlated", "independent"]
