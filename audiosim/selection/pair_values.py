"""Values of judgments of the pairs of a pool, exact or noisy."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Booleans


@dataclass(frozen=True, eq=False)
class PairValues:
    """Values of exact judgments of n pairs, from which those of noisy judgments follow.

        value of a judgment with noise variance v_d = value of an exact one Var[G_d] / (Var[G_d] + v_d)

    by_noise  (n,) values of exact judgments, each with its share of the draws; the first shows whether any gain is left
    variance  (n,) variance of the gains
    even      share of the draws with equal chances for all pairs, whatever their noise
    open      (n,) pairs that are not judged
    drawn     (n,) numbers that divide the weights; None: the weights are the first values
    """

    by_noise: tuple[tuple[float, Array], ...]
    variance: Array
    open: Booleans
    even: float = 0.0
    drawn: Array | None = None

    def weights(self, noise: Array | None = None) -> Array:
        """(n,) values of judgments.

        noise  (n,) variance that the judging person adds to each gain; None: judgments are exact
        """
        values = [value if noise is None else self._with(noise, value) for _, value in self.by_noise]
        if self.drawn is None or not values[0][self.open].any():
            return values[0]
        shares = [share for share, _ in self.by_noise]
        parts = zip((*shares, self.even), (*values, np.ones(len(self.open))), strict=True)
        return np.asarray(sum(share * self._shared(value) for share, value in parts) / self.drawn)

    def _with(self, noise: Array, value: Array) -> Array:
        both = self.variance + noise
        return value * np.divide(self.variance, both, out=np.zeros(len(both)), where=both > 0)

    def _shared(self, values: Array) -> Array:
        """(n,) values, 0 or more, as shares of their sum over the open pairs; 0 for other pairs."""
        kept = np.where(self.open, values, 0)
        return np.asarray(kept / max(kept.sum(), np.finfo(float).tiny))
