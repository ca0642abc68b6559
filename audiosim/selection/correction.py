"""Correction of stated deviations of scores, which are below their true errors; learned on simulated campaigns."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from audiosim import shipped
from audiosim.measures.measure import Measure


@dataclass(frozen=True, slots=True)
class Correction:
    """Correction for a measure, learned on simulated campaigns.

    errors      rising mean absolute errors of the systems' scores
    deviations  sqrt of the mean stated variance at which campaigns had come down to that error
    """

    errors: tuple[float, ...]
    deviations: tuple[float, ...]


def corrected_deviation(measure: Measure, error: float, known: Mapping[str, Correction] | None = None) -> float:
    """The stated standard deviation of scores at which their mean absolute error is expected to be `error`.

    known  what was learned, by the name of the measure; what is shipped where None

    Linear between the errors that were learned, in proportion below the lowest and above the highest. A measure of
    which nothing was learned takes the smallest of the deviations of those of which something was.
    Urbano (2013), section 8.4 and Figure 8.5, which is only drawn; learned anew by models/make_correction.py.
    """
    known = corrections() if known is None else known
    return min(_interpolated(known[name], error) for name in ([measure.name] if measure.name in known else known))


def _interpolated(correction: Correction, error: float) -> float:
    errors, deviations = np.array(correction.errors), np.array(correction.deviations)
    inside = float(np.clip(error, errors[0], errors[-1]))
    return float(np.interp(inside, errors, deviations)) * error / inside


@cache
def corrections() -> dict[str, Correction]:
    """Corrections that were learned, by the name of the measure."""
    path = shipped.folder("models") / "stopping" / "correction.json"
    fields = json.loads(path.read_text(encoding="utf-8"))
    return {name: Correction(tuple(of["errors"]), tuple(of["deviations"])) for name, of in fields["measures"].items()}
