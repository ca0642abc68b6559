"""Deviations that people add to a pair's gain: severity, taste, judge x query and noise, and their variation.

Standard deviations as shares of the scale have a log-normal distribution over collections, which
`models/make_listeners.py` learns and `models/listeners/deviations.json` stores. With two or more judges, restricted
maximum likelihood with that prior estimates them from the judgments; with one judge only the prior counts.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from audiosim.arrays import Array
from audiosim.package_files import folder
from audiosim.relevance.judges import JUDGE_QUERY, PAIR, SEVERITY, TASTE, Panel, PanelModel, with_judges
from audiosim.relevance.moments import last_moment
from audiosim.stats.normal.layout import REST, Layout

PANELS_KEPT = 4
COVARIATES = "trend"  # effects in a layout with known covariance
HELD = 1e-3  # standard deviation of the logarithm of deviations that are not learned again
SMALL = 0.03  # starting size of a component that was estimated as 0
OF_PAIR = 0.5  # share of one person's variance that belongs to the pair itself, until two people have judged
DOUBTED = (PAIR, SEVERITY, TASTE, JUDGE_QUERY)  # components that no model learns from its own collection
UNSURE = 0.4  # standard deviation of the logarithm of the resulting deviation


@dataclass(frozen=True)
class JudgeDeviations:
    """Log-normal distribution over collections: median, and standard deviation of the logarithm, by name.

    of       distributions of SEVERITY, TASTE, JUDGE_QUERY and `rest`, the noise, as shares of the scale
    sources  training collections
    """

    of: Mapping[str, tuple[float, float]]
    sources: tuple[str, ...]


class PriorOfGains(Protocol):
    """Prior uncertainty of a pool's gains; see `joint.Uncertainty`."""

    @property
    def mean(self) -> Array: ...

    @property
    def covariance(self) -> Array: ...

    @property
    def centre(self) -> Mapping[str, float]: ...

    @property
    def spread(self) -> Mapping[str, float]: ...

    @property
    def away(self) -> bool: ...

    @property
    def compared(self) -> bool: ...


@cache
def usual_deviations() -> JudgeDeviations:
    """The distribution shipped with the package."""
    fields = json.loads((folder("models") / "listeners" / "deviations.json").read_text(encoding="utf-8"))
    return JudgeDeviations(
        {name: (median, spread) for name, (median, spread) in fields["deviations"].items()}, tuple(fields["sources"])
    )


class PanelModels:
    """Models of panels, each learned up to the last moment of learning, see `relevance.moments`; keeps recent ones."""

    def __init__(self) -> None:
        """An empty store."""
        self._made = dict[tuple[bytes, ...], PanelModel]()

    def knows(self, panel: Panel) -> bool:
        """True if the model of a panel is kept here."""
        return _key(_learned_from(panel)) in self._made

    def of(self, panel: Panel, make: Callable[[Panel], PanelModel]) -> PanelModel:
        """Model learned from the judgments of a panel up to the last moment of learning, by `make` if not kept."""
        first = _learned_from(panel)
        key = _key(first)
        found = self._made.get(key)
        if found is None:
            for made in list(self._made.values()):  # for earlier states, which are seldom requested again
                made.forget()
            if len(self._made) >= PANELS_KEPT:
                self._made.clear()
            found = self._made[key] = make(first)
        return found


def _learned_from(panel: Panel) -> Panel:
    return panel.first(last_moment(len(panel.place)))


def _key(first: Panel) -> tuple[bytes, ...]:
    return tuple(part.tobytes() for part in (first.place, first.judge, first.gain))


def true_of_pairs(held: PriorOfGains) -> tuple[float, float]:
    """Median size of the part of single pairs that holds for every judge, and standard deviation of its logarithm.

    A model's component of single pairs is estimated from one person's judgments: the share OF_PAIR of its variance
    belongs to the pair. Comparisons by several people have already separated this share.
    """
    if held.compared:
        return held.centre[REST], held.spread[REST]
    return float(np.sqrt(OF_PAIR)) * held.centre[REST], max(UNSURE, held.spread[REST])


def prior_deviations(
    layout: Layout, held: PriorOfGains, deviations: JudgeDeviations
) -> tuple[dict[str, float], dict[str, float]]:
    """Medians of all deviations before any judgment, and standard deviations of their logarithms.

    Nothing is subtracted from query and system effects: the part of them that belonged to people is unknown, and no
    interval would compensate for omitted variance. Severity and taste are shares of the scale, all else is in
    deviations of a pair.
    """
    deviation = float(np.sqrt(np.mean(layout.scale**2)))
    units = {SEVERITY: 1.0, TASTE: 1.0, JUDGE_QUERY: deviation, REST: deviation}
    own = {name: (median / units[name], spread) for name, (median, spread) in deviations.of.items()}
    pair, unsure = true_of_pairs(held)
    centre, spread = {**held.centre, PAIR: pair}, {**held.spread, PAIR: unsure}
    return centre | {name: size for name, (size, _) in own.items()}, spread | {
        name: of for name, (_, of) in own.items()
    }


def panel_model(
    layout: Layout,
    with_trend: Layout,
    held: PriorOfGains,
    parts: Array,
    panel: Panel,
    deviations: JudgeDeviations | None = None,
) -> PanelModel:
    """Model of a pool's gains and of the people who judge them, by their judgments and the prior.

    with_trend  the layout with the trend as effects of unit size, COVARIATES
    parts  (n, s) share of each pair that belongs to the results of each system
    deviations  prior of people's deviations; None for the usual one
    """
    from audiosim.relevance.judge_noise import judge_noise
    from audiosim.stats.normal.components import estimate_components  # imported here, as it is slow

    centre, spread = prior_deviations(layout, held, usual_deviations() if deviations is None else deviations)
    found, left, noise = centre, spread, None
    if len(panel.place):
        rows = with_judges(with_trend, parts, panel)
        start = {name: max(centre[name], SMALL) for name in centre} | {COVARIATES: 1.0}
        unsure = {**spread, COVARIATES: HELD}
        off = panel.gain - held.mean[panel.place]
        learned = estimate_components([rows], [off], start, unsure)
        found = {name: learned.standard_deviations[name] for name in centre}
        left = {name: min(spread[name], learned.errors[name] / found[name]) for name in centre}
        if panel.several:
            noise = judge_noise(rows, learned.standard_deviations, panel, off).times
    with_doubt = {name: float(size * np.exp(left[name] ** 2)) for name, size in found.items()}
    used = with_doubt if held.away else {**found, **{name: with_doubt[name] for name in DOUBTED}}
    return PanelModel(layout, layout.fixed, held.covariance, parts, held.mean, used, noise, found, left[REST])
