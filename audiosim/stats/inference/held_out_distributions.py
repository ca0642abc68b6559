"""Held-out fit of score distributions: fitted to some queries, tested on the others, over many random splits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from audiosim.arrays import Array
from audiosim.display import frame_of, in_notebook
from audiosim.errors import InputError
from audiosim.stats.inference.distribution_fit import (
    fit_beta,
    fit_empirical,
    fit_normal,
    fit_truncated_normal,
    omega_squared,
)
from audiosim.stats.inference.distributions import Distribution

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FITS: Mapping[str, Callable[[ArrayLike], Distribution]] = {
    "normal": fit_normal,
    "truncated normal": fit_truncated_normal,
    "beta": fit_beta,
    "empirical": fit_empirical,
}


@dataclass(frozen=True, slots=True, eq=False)
class DistributionFits:
    """Distances of fitted distributions from held-out scores.

    size    queries that each distribution is fitted to
    trials  random splits of the queries, for each system
    omega   (s, d) mean over the trials of omega, the root of (4.7), by system and distribution, in the order of FITS;
            NaN if every draw of a system's scores has a single value, so that no spread can be fitted
    """

    size: int
    trials: int
    omega: Array

    def means(self) -> dict[str, float]:
        """Mean omega over the systems, by distribution: as in Urbano (2013), Tables 4.4 and 4.5."""
        return dict(zip(FITS, np.nanmean(self.omega, axis=0).tolist(), strict=True))

    def __repr__(self) -> str:
        return ", ".join(f"{name} {value:.3f}" for name, value in self.means().items())

    _repr_html_ = in_notebook

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Plot the mean distance of each distribution; on new axes if None."""
        from audiosim.plots import draw_bars

        means = self.means()
        return draw_bars(list(means), list(means.values()), f"mean omega, fitted to {self.size} queries", axes)

    def to_frame(self) -> "pd.DataFrame":
        """Mean omega as a pandas table, a row for each system and a column for each distribution."""
        return frame_of(self.omega, list(FITS))


def fit_distributions(
    scores: ArrayLike, seed: int | np.random.Generator = 0, *, size: int | None = None, trials: int = 200
) -> DistributionFits:
    """Fit four distributions to the scores on some queries and compare them with the scores on the others.

        omega = sqrt(sum over the other queries of (share of their scores <= x, less the fit's cdf at x)^2)

    scores  (s, q) scores from 0 to 1
    seed    seed, or generator, that draws the queries to fit to
    size    number of queries to fit to, from 2 to half of all; half if None
    trials  draws for each system

    Urbano (2013), section 4.2, which uses 200 trials and prints the mean of omega, not of omega squared.
    """
    matrix = np.asarray(scores, dtype=float)
    queries = matrix.shape[1]
    size = queries // 2 if size is None else size
    if not 2 <= size <= queries - size:
        raise InputError(f"a fit needs from 2 to {queries // 2} of {queries} queries, got {size}")
    if trials < 1:
        raise InputError(f"trials must be at least 1, got {trials}")
    omega, rng = np.full((len(matrix), trials, len(FITS)), np.nan), np.random.default_rng(seed)
    for row, values in enumerate(matrix):
        for trial in range(trials):
            order = rng.permutation(queries)
            omega[row, trial] = _omegas(values[order[:size]], values[order[size:]])
    counts = np.isfinite(omega).sum(axis=1)
    sums = np.nansum(omega, axis=1)
    return DistributionFits(size, trials, np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _omegas(seen: Array, others: Array) -> Array:
    """(d,) omega of each distribution; all NaN if the scores to fit to have a single value."""
    if np.ptp(seen) <= 1e-12:
        return np.full(len(FITS), np.nan)
    return np.sqrt([omega_squared(fit(seen), others) for fit in FITS.values()])
