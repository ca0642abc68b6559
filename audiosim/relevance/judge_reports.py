"""Reports on judges: each one's severity, favourites and noise, from everybody's judgments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from audiosim.arrays import Array
from audiosim.relevance.judged_rows import JudgedRows
from audiosim.relevance.judges import SEVERITY, TASTE
from audiosim.stats.normal.block_covariances import BlockInverse
from audiosim.stats.normal.layout import REST

MOST = 3000  # most judgments used, the first ones
REACH = 1.959964  # standard errors of a 95 % interval
FEWEST_FOR_DRIFT = 10


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """Severity, noise, taste and worth of one person, from everybody's judgments.

    judge      name
    judgments  number of their judgments
    severity   excess of their grades over those of listeners at large, as a share of the scale, with an interval
    noise      standard deviation of the same judgment made again, as a share of the scale, with an interval
    favours    system that they most surely grade differently, beyond their severity; None with a single system
    taste      excess of its grades by them over those by listeners at large, as a share of the scale, with an interval
    drift      excess of their last judgment over their first one of the same pair, as a share of the scale, with an
               interval; None with fewer than FEWEST_FOR_DRIFT judgments
    worth      equivalent number of judgments with the common noise
    """

    judge: str
    judgments: int
    severity: tuple[float, float, float]
    noise: tuple[float, float, float]
    favours: str | None
    taste: tuple[float, float, float]
    drift: tuple[float, float, float] | None
    worth: float

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON; intervals end where differences of grades do, at -1 and 1."""
        found: dict[str, Any] = {"judge": self.judge, "kind": "person", "judgments": self.judgments}
        for name in ("severity", "noise", "taste", "drift"):
            value, low, high = within_scale(*values) if (values := getattr(self, name)) else (None, None, None)
            found |= {name: value, f"{name}_low": low, f"{name}_high": high}
            if name == "noise":
                found["favours"] = self.favours
        return found | {"worth": self.worth}


def judge_reports(judged: JudgedRows, systems: Sequence[str]) -> list[JudgeReport]:
    """Reports on the people of a panel, in the order of their first judgments.

    Severity and taste are the conditional means of their effects, noise is that of `judge_noise`, with 95 % intervals.
    Drift d is the coefficient in grades y + t d, where t is the progress of a person's judgments, by generalised least
    squares:

        d = t' C^-1 y / t' C^-1 t,   variance 1 / t' C^-1 t
    """
    panel, parts, deviations = judged.panel, judged.parts, judged.deviations
    inverse, solved, noise, person = judged.inverse, judged.solved, judged.noise, judged.person
    severity, unsure = _effects(inverse, solved, person, deviations[SEVERITY])
    progress = judged.progress
    information = np.einsum("jq,jq->q", progress, inverse.solve(progress))
    found = []
    for code, name in enumerate(panel.judges):
        theirs = parts[panel.place] * person[:, [code]]
        taste, doubt = _effects(inverse, solved, theirs, deviations[TASTE])
        most = int(np.argmax(np.abs(taste) / doubt)) if len(systems) > 1 else 0
        common, times = deviations[REST] * judged.unit, float(noise.times[code])
        off_by = float(np.exp(REACH * noise.errors[code]))
        count = int(panel.counts[code])
        drift = None
        if count >= FEWEST_FOR_DRIFT:
            drift = _interval(
                float(progress[:, code] @ solved) / information[code], 1 / float(np.sqrt(information[code]))
            )
        found.append(
            JudgeReport(
                name,
                count,
                _interval(severity[code], unsure[code]),
                (common * times, common * times / off_by, common * times * off_by),
                systems[most] if len(systems) > 1 else None,
                _interval(taste[most], doubt[most]),
                drift,
                count / times**2,
            )
        )
    return found


def _effects(inverse: BlockInverse, solved: Array, loadings: Array, deviation: float) -> tuple[Array, Array]:
    """(q,) conditional mean and (q,) standard deviation of effects of one deviation with these loadings (J, q).

    d^2 Z' C^-1 y,   d^2 - d^4 diag(Z' C^-1 Z)
    """
    explained = np.einsum("jq,jq->q", loadings, inverse.solve(loadings))
    return deviation**2 * (loadings.T @ solved), np.sqrt(np.maximum(0, deviation**2 - deviation**4 * explained))


def within_scale(value: float, low: float, high: float) -> tuple[float, float, float]:
    """A value and its interval, as shares of the scale, with the ends cut to [-1, 1]; the value stays inside."""
    return value, min(value, max(-1.0, low)), max(value, min(1.0, high))


def _interval(middle: float, deviation: float) -> tuple[float, float, float]:
    """A value with its 95 % interval."""
    reach = REACH * float(deviation)
    return float(middle), float(middle) - reach, float(middle) + reach
