"""Standard deviations for comparisons: of gains, taste, opinion, noise and ties, learned from the answers."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse

from audiosim.arrays import Array
from audiosim.relevance.comparison_model import NOISE, OPINION, TIE, Compared, shared_opinions
from audiosim.relevance.judge_deviations import usual_deviations
from audiosim.relevance.judges import TASTE
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.responses.thurstone import Sites, answer_likelihood, answer_moments

MOST = 400  # comparisons to learn from, spread evenly over all
NOISE_UNSURE, TIE_UNSURE = 0.5, 0.7  # standard deviations of the logarithms of opinion and noise, and of ties
STEP = 1e-4  # of a logarithm, for a derivative by differences


def usual_comparison_deviations(layout: Layout) -> tuple[dict[str, float], dict[str, float]]:
    """Medians of TASTE, OPINION, NOISE and TIE before anything is compared, and deviations of their logarithms.

    Taste and noise have the values of people who grade. Half the noise variance of a grade is an opinion about the
    pair; the other half, twice in a comparison, is its noise. See `usual_deviations`.
    """
    of, deviation = usual_deviations().of, float(np.sqrt(np.mean(layout.scale**2)))
    noise = of[REST][0] / deviation
    half = noise / float(np.sqrt(2))
    return (
        {TASTE: of[TASTE][0], OPINION: half, NOISE: noise, TIE: half},
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

    Maximises the approximate likelihood times the prior, with derivatives; see `_spreads`.
    """
    from scipy.optimize import minimize  # costs start-up time that most uses need not pay

    few = compared.some(np.unique(np.linspace(0, len(compared) - 1, MOST).round().astype(np.int64)))
    fixed, kernels = _covariances(layout, parts, few, centre, spread)
    names = [*kernels, NOISE, TIE]
    middle = np.log([centre[name] for name in names])
    width = np.array([spread[name] for name in names])
    off = mean[few.first] - mean[few.second]
    deviation = np.sqrt((layout.scale[few.first] ** 2 + layout.scale[few.second] ** 2) / 2)
    sites: Sites | None = None

    def cost(at: Array) -> tuple[float, Array]:
        nonlocal sites
        size = dict(zip(names, np.exp(at), strict=True))
        covariance = fixed + sum(size[name] ** 2 * of for name, of in kernels.items())
        noise, tie = size[NOISE] * deviation, size[TIE] * deviation
        found = answer_likelihood(covariance, off, few.answer, noise, tie, sites)
        sites = found.sites
        slope = [
            size[name] ** 2 * (found.residual @ of @ found.residual - np.sum(found.precision * of))
            for name, of in kernels.items()
        ]
        for by in ((1.0, 0.0), (0.0, 1.0)):
            ends = [
                answer_moments(few.answer, *found.cavity, noise * np.exp(step * by[0]), tie * np.exp(step * by[1])).log
                for step in (STEP, -STEP)
            ]
            slope.append(float((ends[0] - ends[1]).sum()) / (2 * STEP))
        standard = (at - middle) / width
        return float(standard @ standard / 2 - found.log), standard / width - np.array(slope)

    best = minimize(cost, middle, jac=True, method="L-BFGS-B", options={"maxiter": 40, "ftol": 1e-7})
    size = dict(zip(names, np.exp(best.x).tolist(), strict=True))
    return LearnedDeviations(size, _spreads(size, fixed, kernels, few, off, deviation, spread))


def _spreads(
    size: Mapping[str, float],
    fixed: Array,
    kernels: Mapping[str, Array],
    compared: Compared,
    off: Array,
    deviation: Array,
    spread: Mapping[str, float],
) -> dict[str, float]:
    """Standard deviations of the logarithms of the sizes of kernels, by prior and expected information.

    Entry i, j of the latter is tr(R D_i R D_j) / 2 where D_i = 2 size_i^2 K_i; noise and ties keep their prior spread.
    """
    covariance = fixed + sum(size[name] ** 2 * of for name, of in kernels.items())
    noise, tie = size[NOISE] * deviation, size[TIE] * deviation
    precision = answer_likelihood(covariance, off, compared.answer, noise, tie).precision
    by_size = [2 * size[name] ** 2 * (precision @ of) for name, of in kernels.items()]
    information = np.array([[np.sum(one * other.T) / 2 for other in by_size] for one in by_size])
    information += np.diag([spread[name] ** -2 for name in kernels])
    errors = np.sqrt(np.diagonal(np.linalg.inv(information)))
    return {**spread, **dict(zip(kernels, errors.tolist(), strict=True))}


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
