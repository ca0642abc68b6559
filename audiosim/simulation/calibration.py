"""Calibration of rankings: claims in bins of confidence, compared with their accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from audiosim.arrays import Array, Integers

BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # bins of Urbano (2013), Tables 8.2 and 8.4


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """Claims about pairs of systems in several rankings, with their truth.

    stated  confidence (p,) in the order of each pair, for each ranking
    right   accuracy (p,) of each of these orders, for each ranking: 1, 0, or 1/2 for a tie
    judged  number of judged pairs of documents, for each ranking
    """

    stated: tuple[Array, ...]
    right: tuple[Array, ...]
    judged: tuple[int, ...]

    def bins(self) -> list[dict[str, Any]]:
        """One row per bin of confidence: its ends, the number and share of claims, mean confidence, accuracy.

        As in Urbano (2013), Tables 8.2 and 8.4; mean confidence and accuracy of an empty bin are None.
        """
        stated, right = np.concatenate(self.stated), np.concatenate(self.right)
        place = _bin_of(stated)
        rows = []
        for code, (low, high) in enumerate(pairwise(BINS)):
            inside = place == code
            count = int(inside.sum())
            row: dict[str, Any] = {"low": low, "high": high, "claims": count, "share": count / max(1, len(stated))}
            row["stated"] = float(stated[inside].mean()) if count else None
            row["accuracy"] = float(right[inside].mean()) if count else None
            rows.append(row)
        return rows

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: the mean over the bins, by their share, of |accuracy - mean confidence|.

        Naeini, Cooper & Hauskrecht (2015), AAAI, with the thesis's bins. It is never below 0: for calibrated claims it
        is the chance deviation in each bin.
        """
        return float(sum(row["share"] * abs(row["accuracy"] - row["stated"]) for row in self.bins() if row["claims"]))

    @property
    def calibration_error_error(self) -> float | None:
        """Standard error of the calibration error by the jackknife over rankings.

        None for a single ranking.
        """
        if len(self.stated) < 2:
            return None
        claims = zip(self.stated, self.right, strict=True)
        gaps = np.stack([np.bincount(_bin_of(stated), right - stated, len(BINS) - 1) for stated, right in claims])
        sizes = np.array([len(stated) for stated in self.stated])
        return jackknife_error(np.abs(gaps.sum(axis=0) - gaps).sum(axis=1) / (sizes.sum() - sizes))

    @property
    def brier(self) -> float:
        """Brier score: mean of (confidence - right)^2, with right 1 or 0; 0 is best, a coin has 1/4.

        Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
        """
        return float(((np.concatenate(self.stated) - np.concatenate(self.right)) ** 2).mean())

    def by_ranking(self) -> dict[str, list[float]]:
        """Mean confidence and accuracy of each ranking, and the difference of the two."""
        stated, accuracy = ([float(values.mean()) for values in of] for of in (self.stated, self.right))
        excess = [claim - truth for claim, truth in zip(stated, accuracy, strict=True)]
        return {"stated": stated, "accuracy": accuracy, "excess": excess}

    def means(self) -> dict[str, float | None]:
        """Means over the rankings and their standard errors: judged, stated, accuracy, excess; None where unknown."""
        columns = {"judged": self.judged} | self.by_ranking()
        return {key: value for name, values in columns.items() for key, value in mean_and_error(name, values).items()}

    def to_dict(self) -> dict[str, Any]:
        """The claims as plain values, ready for JSON; errors are standard errors over the rankings."""
        return {
            **self.means(),
            "calibration_error": self.calibration_error,
            "calibration_error_error": self.calibration_error_error,
            "brier": self.brier,
            "bins": self.bins(),
        }


def _bin_of(stated: Array) -> Integers:
    """(p,) bin of each confidence: its low end is included; the last bin includes its high end too."""
    return np.clip(np.searchsorted(BINS, stated, side="right") - 1, 0, len(BINS) - 2)


def mean_and_error(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Mean and its standard error, sd / sqrt(n); the mean is None without values, the error with fewer than two."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {name: float(np.mean(values)) if len(values) else None, f"{name}_error": error}


def jackknife_error(without: Array) -> float:
    """Standard error of a statistic of n independent parts.

        sqrt((n - 1) / n  sum over parts of (theta without the part - mean of these)^2)

    without  (n,) statistic of all parts except each one in turn

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5. For a mean it is sd / sqrt(n).
    """
    return float(np.sqrt((len(without) - 1) * np.var(without)))
