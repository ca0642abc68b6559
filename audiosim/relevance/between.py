"""Variation between collections of a joint model's parameters: its prior for a collection it has not seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.stats.normal.layout import REST

ALWAYS = ("query", "retrievers", "consensus", "team", "system")  # components available for any pool


METADATA = ("query_genre", "query_artist", "genres", "artist")


SOUND = "sound"


TREND = ("constant", "system_agreement", "consensus", "repetition")
EFFECT_NAMES = (*ALWAYS, REST)


@dataclass(frozen=True)
class Between:
    """A distribution over collections of the components of grades, for documents without metadata.

        grade = scale's usual mean + s (constant + agreement z + consensus x + repetition r + sum of effects)

    trend    mean and standard deviation of a normal distribution for each of TREND
    standard_deviations  log-normal size of each effect: median, and standard deviation of the logarithm
    sources  training collections, each once
    carried  by kinship, "systems" or "edition": correlation of these parameters between kin; empty if unknown

    z, x and r are those of `consensus.covariates`; standard deviations are in units of s, the usual one of a grade.
    """

    trend: Mapping[str, tuple[float, float]]
    standard_deviations: Mapping[str, tuple[float, float]]
    sources: tuple[str, ...]
    carried: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, given, expected in (
            ("trend", self.trend, TREND),
            ("standard deviations", self.standard_deviations, EFFECT_NAMES),
        ):
            if not set(expected) <= set(given):
                raise InputError(
                    f"the {what} between collections must have {', '.join(sorted(expected))}; "
                    f"got {', '.join(sorted(given)) or 'none'}"
                )
            for name, (middle, spread) in given.items():
                if not (np.isfinite(middle) and 0 < spread < np.inf):
                    raise InputError(
                        f"the {what} between collections must be finite with spreads above 0, "
                        f"that of {name} is {middle:g} with {spread:g}"
                    )
        for name, share in self.carried.items():
            if not 0 <= share <= 1:
                raise InputError(f"the share that carries over must be from 0 to 1, {name} has {share:g}")
        for name, (median, _) in self.standard_deviations.items():
            if not median > 0:
                raise InputError(
                    f"standard deviations between collections must have medians above 0, that of {name} is {median:g}"
                )

    @property
    def trend_deviations(self) -> Array:
        """(f, f) diagonal: standard deviations of the trend's coefficients between collections."""
        return np.diag([self.trend[name][1] for name in TREND])

    def spread(self, name: str) -> float:
        """Standard deviation between collections of the logarithm of an effect's size; defaults to the query's."""
        return self.standard_deviations.get(name, self.standard_deviations["query"])[1]
