"""Correction of stated deviations of scores, which are smaller than the true errors, learned on simulated campaigns."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from audiosim import package_files
from audiosim.measures.measure import Measure


@dataclass(frozen=True, slots=True)
class Correction:
    """Correction for a measure, learned on simulated campaigns.

    errors      rising mean absolute errors of the systems' scores
    deviations  sqrt of the mean stated variance at the moment campaigns reached that error
    """

    errors: tuple[float, ...]
    deviations: tuple[float, ...]


def corrected_deviation(measure: Measure, error: float, known: Mapping[str, Correction] | None = None) -> float:
    """Stated standard deviation of scores at which their mean absolute error is expected to be `error`.

    known  learned corrections by name of the measure; those shipped with the package if None

    Linear between learned errors, proportional below the lowest and above the highest. A measure without a learned
    correction takes the smallest deviation among the others. Urbano (2013), section 8.4. Figure 8.5 gives no numbers,
    so models/make_correction.py learned them again.
    """
    known = corrections() if known is None else known
    return min(_interpolated(known[name], error) for name in ([measure.name] if measure.name in known else known))


def _interpolated(correction: Correction, error: float) -> float:
    errors, deviations = np.array(correction.errors), np.array(correction.deviations)
    inside = float(np.clip(error, errors[0], errors[-1]))
    return float(np.interp(inside, errors, deviations)) * error / inside


@cache
def corrections() -> dict[str, Correction]:
    """Learned corrections, by name of the measure."""
    path = package_files.folder("models") / "stopping" / "correction.json"
    fields = json.loads(path.read_text(encoding="utf-8"))
    return {name: Correction(tuple(of["errors"]), tuple(of["deviations"])) for name, of in fields["measures"].items()}
