"""Standard deviations for comparisons: of gains, taste, opinion, noise and ties, learned from the answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from audiosim.joint.comparisons import (
    FIXED,
    NOISE,
    OPINION,
    TIE,
    Compared,
    Habits,
    learned_habits,
    shared_opinions,
    usual_habits,
)
from audiosim.joint.people import JUDGE_QUERY, PAIR, SEVERITY, TASTE, Panel, PanelModel, judge_noise, with_judges
from audiosim.package_files import folder
from audiosim.stats.arrays import Array
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.normal.variance_components import Components, estimate_components
from audiosim.stats.thurstone import Answering, AnswerLikelihood, Sites, answer_likelihood

# Deviations that people add to a pair's gain: severity, taste, judge x query and noise, and their variation.
#
# Standard deviations as shares of the scale have a log-normal distribution over collections, which
# `models/make_listeners.py` learns and `models/listeners/deviations.json` stores. With two or more judges, restricted
# maximum likelihood with that prior estimates them from the judgments; with one judge only the prior counts.


COVARIATES = "trend"  # effects in a layout with known covariance
HELD = 1e-3  # standard deviation of the logarithm of deviations that are not learned again
SMALL = 0.03  # starting size of a component that was estimated as 0
OF_PAIR = 0.5  # share of one person's variance that belongs to the pair itself, until two people have judged
DOUBTED = (PAIR, SEVERITY, TASTE, JUDGE_QUERY)  # components that no model learns from its own collection
UNSURE = 0.4  # standard deviation of the logarithm of the resulting deviation
MANY, PART = 3_000, 4  # judgments from which the search begins on one query in PART


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
    near: PanelModel | None = None,
) -> PanelModel:
    """Model of a pool's gains and of the people who judge them, by their judgments and the prior.

    with_trend  the layout with the trend as effects of unit size, COVARIATES
    parts  (n, s) share of each pair that belongs to the results of each system
    deviations  prior of people's deviations; None for the usual one
    near   model of a panel of the same people with other judgments, from which the search begins; None: with many
           judgments, that of fewer queries
    """
    centre, spread = prior_deviations(layout, held, usual_deviations() if deviations is None else deviations)
    found, left, noise, learned = centre, spread, None, None
    start = {name: max(size, SMALL) for name, size in centre.items()} | {COVARIATES: 1.0}

    def components(some: Panel, begin: Components | None) -> Components:
        """Deviations by some of the judgments."""
        if begin is None and len(some.place) > MANY:
            # Far from the minimum a step needs no more than a part; the minimum that is found is the same.
            judged = [rows for rows in layout.blocks if np.isin(rows, some.place).any()]
            fewer = some.some(np.flatnonzero(np.isin(some.place, np.concatenate(judged[::PART]))))
            begin = components(fewer, None) if len(judged) > 1 else None
        rows, begin = with_judges(with_trend, parts, some), None if begin is None else begin.raised(SMALL)
        off = some.gain - held.mean[some.place]
        return estimate_components([rows], [off], start, {**spread, COVARIATES: HELD}, begin=begin)

    if len(panel.place):
        learned = components(panel, None if near is None else near.learned)
        found = {name: learned.standard_deviations[name] for name in centre}
        left = {name: min(spread[name], learned.errors[name] / found[name]) for name in centre}
        if panel.several:
            rows, off = with_judges(with_trend, parts, panel), panel.gain - held.mean[panel.place]
            noise = judge_noise(rows, learned.standard_deviations, panel, off).times
    with_doubt = {name: float(size * np.exp(left[name] ** 2)) for name, size in found.items()}
    used = with_doubt if held.away else {**found, **{name: with_doubt[name] for name in DOUBTED}}
    return PanelModel(layout, layout.fixed, held.covariance, parts, held.mean, used, noise, found, left[REST], learned)


MOST = 400  # comparisons to learn from, spread evenly over all
NOISE_UNSURE, TIE_UNSURE = 0.5, 0.7  # standard deviations of the logarithms of opinion and noise, and of ties
STEP = 1e-4  # of a logarithm, for a derivative by differences
FARTHEST = 3.0  # from the prior's median, in standard deviations
ROUNDS = 2  # rounds of learning deviations by people's habits


def usual_comparison_deviations(layout: Layout) -> tuple[dict[str, float], dict[str, float]]:
    """Medians of TASTE, OPINION, NOISE and TIE before anything is compared, and deviations of their logarithms.

    Taste and noise have the values of people who grade. Half the noise variance of a grade is an opinion about the
    pair; the other half, twice in a comparison, is its noise. See `usual_deviations`. Ties are as wide as the noise:
    where grades of four collections are compared, .2 to .6 against .2 to .4 (`models/make_listeners.py --comparisons`).
    """
    of, deviation = usual_deviations().of, float(np.sqrt(np.mean(layout.scale**2)))
    noise = of[REST][0] / deviation
    half = noise / float(np.sqrt(2))
    return (
        {TASTE: of[TASTE][0], OPINION: half, NOISE: noise, TIE: noise},
        {TASTE: of[TASTE][1], OPINION: NOISE_UNSURE, NOISE: NOISE_UNSURE, TIE: TIE_UNSURE},
    )


class LearnedDeviations(NamedTuple):
    """Learned standard deviations by name: the most likely values, and standard deviations of their logarithms."""

    found: dict[str, float]
    spread: dict[str, float]


def learn_comparison_deviations(
    layout: Layout,
    mean: Array,
    parts: Array,
    compared: Compared,
    centre: Mapping[str, float],
    spread: Mapping[str, float],
) -> LearnedDeviations:
    """Deviations of the components of gains, of taste, opinion, noise and ties, by comparisons and a log-normal prior.

    layout  of the pairs; a component without a spread keeps its value in `centre`
    mean    (n,) of the gains
    centre, spread  medians and standard deviations of logarithms, of the components, TASTE, OPINION, NOISE and TIE

    Maximises the approximate likelihood times the prior, with derivatives, and learns people's habits in between.
    """
    few = compared.some(np.unique(np.linspace(0, len(compared) - 1, MOST).round().astype(np.int64)))
    fixed, kernels = _covariances(layout, parts, few, centre, spread)
    off = mean[few.first] - mean[few.second]
    deviation = np.sqrt((layout.scale[few.first] ** 2 + layout.scale[few.second] ** 2) / 2)
    task = _Task(few, fixed, kernels, off, deviation)
    size, habits = {name: centre[name] for name in (*kernels, NOISE, TIE)}, usual_habits(len(few.judges), FIXED)
    for last in range(ROUNDS):
        size = task.likeliest(size, habits, centre, spread)
        if last < ROUNDS - 1:
            habits = task.habits(size, habits)
    return LearnedDeviations(size, task.spreads(size, habits, spread))


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """Comparisons to learn from.

    fixed      (J, J) covariance of the differences by components of known size
    kernels    (J, J) by name, of components of unit size
    off        (J,) mean of the differences
    deviation  (J,) of a pair
    """

    compared: Compared
    fixed: Array
    kernels: Mapping[str, Array]
    off: Array
    deviation: Array

    def likeliest(
        self, start: Mapping[str, float], habits: Habits, centre: Mapping[str, float], spread: Mapping[str, float]
    ) -> dict[str, float]:
        """Most likely sizes, if people have these habits."""
        from scipy.optimize import minimize  # costs start-up time that most uses need not pay

        names = [*self.kernels, NOISE, TIE]
        middle = np.log([centre[name] for name in names])
        width = np.array([spread[name] for name in names])
        sites: Sites | None = None

        def cost(at: Array) -> tuple[float, Array]:
            nonlocal sites
            size = dict(zip(names, np.exp(at), strict=True))
            answers, found = self._found(size, habits, sites)
            sites = found.sites
            slope = [
                size[name] ** 2 * (found.residual @ of @ found.residual - np.sum(found.precision * of))
                for name, of in self.kernels.items()
            ]
            up, down = np.exp(STEP), np.exp(-STEP)
            for more, less in (((up, 1.0), (down, 1.0)), ((1.0, up), (1.0, down))):
                ends = [answers.sized(*by).moments(*found.cavity).log for by in (more, less)]
                slope.append(float((ends[0] - ends[1]).sum()) / (2 * STEP))
            standard = (at - middle) / width
            return float(standard @ standard / 2 - found.log), standard / width - np.array(slope)

        first = np.log([start[name] for name in names])
        # Where no answer contradicts another, a step of the search could end at errors of 0, where no site is finite.
        ends = list(zip(middle - FARTHEST * width, middle + FARTHEST * width, strict=True))
        best = minimize(cost, first, jac=True, bounds=ends, method="L-BFGS-B", options={"maxiter": 40, "ftol": 1e-7})
        return dict(zip(names, np.exp(best.x).tolist(), strict=True))

    def habits(self, size: Mapping[str, float], habits: Habits) -> Habits:
        """Habits of people by their answers, given the sizes; `habits` are those before."""
        _, found = self._found(size, habits)
        few, none = self.compared, np.zeros(len(self.off))
        noise, tie = size[NOISE] * self.deviation, size[TIE] * self.deviation
        return learned_habits(len(few.judges), few.judge, few.answer, found.cavity, noise, tie, none, FIXED)

    def spreads(self, size: Mapping[str, float], habits: Habits, spread: Mapping[str, float]) -> dict[str, float]:
        """Standard deviations of the logarithms of the sizes of kernels, by prior and expected information.

        Entry i, j of the latter is tr(R D_i R D_j) / 2 where D_i = 2 size_i^2 K_i; noise and ties keep their prior
        spread.
        """
        _, found = self._found(size, habits)
        by_size = [2 * size[name] ** 2 * (found.precision @ of) for name, of in self.kernels.items()]
        information = np.array([[np.sum(one * other.T) / 2 for other in by_size] for one in by_size])
        information += np.diag([spread[name] ** -2 for name in self.kernels])
        errors = np.sqrt(np.diagonal(np.linalg.inv(information)))
        return {**spread, **dict(zip(self.kernels, errors.tolist(), strict=True))}

    def _found(
        self, size: Mapping[str, float], habits: Habits, sites: Sites | None = None
    ) -> tuple[Answering, AnswerLikelihood]:
        """The answers as people of these habits come to them, and how likely they are."""
        covariance = self.fixed + sum(size[name] ** 2 * of for name, of in self.kernels.items())
        noise, tie = size[NOISE] * self.deviation, size[TIE] * self.deviation
        few = self.compared
        answers = habits.answering(few.judge, few.answer, noise, tie, np.zeros(len(noise)))
        return answers, answer_likelihood(covariance, self.off, answers, sites)


def _covariances(
    layout: Layout, parts: Array, compared: Compared, centre: Mapping[str, float], spread: Mapping[str, float]
) -> tuple[Array, dict[str, Array]]:
    """(J, J) covariance of differences from components of known size, and (J, J) by name from those to be learned."""
    places, at = np.unique(np.concatenate([compared.first, compared.second]), return_inverse=True)
    first, second = np.split(at, 2)
    some = layout.part(places)
    fixed, kernels = np.zeros((len(compared),) * 2), dict[str, Array]()
    for name in some.names:
        alone = {other: float(other == name) for other in some.names}
        normal = np.zeros((len(places),) * 2)
        for block, rows in enumerate(some.blocks):
            normal[np.ix_(rows, rows)] = some.within(alone, block)
        if name in some.shared:
            columns = some.scale[:, None] * (sparse.csr_array(some.shared[name]).toarray())
            normal += columns @ columns.T
        differences = normal[first] - normal[second]
        covariance = differences[:, first] - differences[:, second]
        if name in spread:
            kernels[name] = covariance
        else:
            fixed += centre[name] ** 2 * covariance
    differ = parts[compared.first] - parts[compared.second]
    kernels[TASTE] = (differ @ differ.T) * (compared.judge[:, None] == compared.judge)
    kernels[OPINION] = shared_opinions(compared, layout.scale)
    return fixed, kernels
