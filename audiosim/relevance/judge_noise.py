"""Noise of each judge relative to the common noise.

    noise_a = noise exp(t_a),   t_a ~ N(0, VARIES^2)

A careless person's judgments count less; nobody's are dropped. With P the inverse of the covariance of the judgments y,
projected off their mean, and v_j the noise variance of judgment j, the logarithm of the likelihood of t_a has

    slope        sum over the judgments j of a  v_j ((P y)_j^2 - P_jj)
    information  2 sum over the judgments j of a  (v_j P_jj)^2

where the information is the expected one, without the information that judgments give about each other's noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array
from audiosim.relevance.judges import Panel
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.normal.restricted_likelihood import RestrictedLikelihood

VARIES = 0.35  # standard deviation of the logarithm of noise over people
ROUNDS = 12  # largest number of steps
NEAR = 0.02  # smallest relevant change of a logarithm; smaller ones change no result
FARTHEST = 1.0  # largest move of a logarithm in one step


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNoise:
    """Noise of p people.

    times   (p,) noise of each, relative to the common noise
    errors  (p,) standard errors of the logarithms of these
    """

    times: Array
    errors: Array


def judge_noise(rows: Layout, deviations: Mapping[str, float], panel: Panel, off: Array) -> JudgeNoise:
    """Noise of each person of a panel: maximum of likelihood times prior, by Fisher scoring.

    rows        layout of the judgments
    deviations  deviations of all components of that layout, by name
    off         (J,) judgments less their expectations
    """
    variances = np.array([deviations[name] ** 2 for name in rows.names])
    logarithms, prior, people = np.zeros(len(panel.judges)), VARIES**-2, len(panel.judges)
    for _ in range(ROUNDS):
        times = np.exp(logarithms)[panel.judge]
        bend = RestrictedLikelihood(replace(rows, times=times), off).at(variances)
        noise = (deviations[REST] * rows.scale * times) ** 2
        slope = np.bincount(panel.judge, noise * (bend.projected**2 - bend.own), people) - prior * logarithms
        information = 2 * np.bincount(panel.judge, (noise * bend.own) ** 2, people) + prior
        step = np.clip(slope / information, -FARTHEST, FARTHEST)
        logarithms = logarithms + step
        if np.abs(step).max(initial=0) < NEAR:
            break
    return JudgeNoise(np.exp(logarithms), 1 / np.sqrt(information))
