"""Reports on people who judge: how severe each of them is, and how noisy, by what all of them said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from audiosim.arrays import Array
from audiosim.relevance.judges import SEVERITY, Panel
from audiosim.stats.layout import REST, Layout

HELD = 20.0  # judgments' worth of the common noise that is held of each person before
MOST = 3000  # judgments that are looked at, the first ones: their covariance is written out
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """Severity, noise and worth of one person, by the judgments of all.

    judge      name
    judgments  how many they made
    severity   by how much their grades are above those of listeners at large, as a share of the scale, with an interval
    noise      standard deviation of the same judgment made again, as a share of the scale, with an interval
    worth      judgments of somebody of the common noise that theirs are worth
    """

    judge: str
    judgments: int
    severity: tuple[float, float, float]
    noise: tuple[float, float, float]
    worth: float

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        severity, noise = self.severity, self.noise
        return {
            "judge": self.judge,
            "kind": "person",
            "judgments": self.judgments,
            "severity": severity[0],
            "severity_low": severity[1],
            "severity_high": severity[2],
            "noise": noise[0],
            "noise_low": noise[1],
            "noise_high": noise[2],
            "worth": self.worth,
        }


def judge_reports(
    rows: Layout, deviations: Mapping[str, float], panel: Panel, expected: Array, unit: float
) -> list[JudgeReport]:
    """Reports on the people of a panel, in the order of their first judgments.

    rows        layout of their judgments, the trend among its effects
    deviations  by name, of all components of that
    expected    (J,) mean of each judgment before any was made
    unit        deviation of a pair, as a share of the scale: that of which noise is a multiple

    Severity is the conditional mean of its effect. Noise is told from how far each judgment is from what all others
    predict of it, less the variance of that prediction: a mean with HELD judgments of the common noise beside.
    """
    covariance = _written_out(rows, deviations)
    inverse = np.linalg.inv(covariance)
    solved, own = inverse @ (panel.gain - expected), np.diagonal(inverse)
    person = np.eye(len(panel.judges))[panel.judge]
    size = deviations[SEVERITY] ** 2
    severity = size * person.T @ solved
    left = np.sqrt(np.maximum(0, size - size**2 * np.vecdot(person.T @ inverse, person.T)))
    common = deviations[REST] ** 2
    # The held-out residual has the variance 1 / own, of which the noise is a part: what is beyond it is more noise.
    more = ((solved / own) ** 2 - 1 / own) / rows.scale**2
    counts = panel.counts
    noise = np.maximum(common / 16, common + person.T @ more / (HELD + counts))
    found = []
    for code, name in enumerate(panel.judges):
        middle, freedom = float(np.sqrt(noise[code])) * unit, HELD + counts[code]
        low, high = (
            middle * float(np.sqrt(freedom / chi2.ppf(q, freedom))) for q in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)
        )
        reach = 1.96 * float(left[code])
        bounds = float(severity[code]), float(severity[code]) - reach, float(severity[code]) + reach
        worth = int(counts[code]) * common / float(noise[code])
        found.append(JudgeReport(name, int(counts[code]), bounds, (middle, low, high), worth))
    return found


def _written_out(rows: Layout, deviations: Mapping[str, float]) -> Array:
    """(J, J) covariance of all judgments."""
    loadings = rows.loadings.toarray()
    covariance = (loadings * rows.effects(deviations)) @ loadings.T
    for block, places in enumerate(rows.blocks):
        covariance[np.ix_(places, places)] += rows.within(deviations, block)
    return np.asarray(covariance)
