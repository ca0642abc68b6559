"""The quantile of the largest difference equals the one from all pairs in all draws."""

from functools import cache

import numpy as np
import pytest

from audiosim.stats.tests import FEW_NUMBERS, largest_difference_quantile


@cache  # for all levels
def some_draws(count, alike):
    """Draws of numbers, weights of their differences, and the largest difference of each draw by its definition."""
    rng = np.random.default_rng(count)
    drawn = rng.uniform(0.1, 3, (count, 1)) * rng.standard_t(8, (count, 500))
    for number in np.flatnonzero(rng.random(count) < alike):
        drawn[number] = drawn[rng.integers(count)] + rng.normal(scale=1e-3, size=500)
    variance = np.var(drawn[:, None] - drawn, axis=2)
    weights = np.divide(1, np.sqrt(variance), out=np.zeros_like(variance), where=variance > 0)
    weights[0, 1:2] = weights[1:2, 0] = 0  # known to be equal
    return drawn, weights, [np.max(np.abs(np.subtract.outer(one, one)) * weights) for one in drawn.T]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9])  # share of the numbers that nearly equal another one
@pytest.mark.parametrize("count", [1, 2, 30, FEW_NUMBERS + 1, 120])
def test_it_is_the_quantile_over_all_pairs(count, alike, level):
    drawn, weights, largest = some_draws(count, alike)
    assert largest_difference_quantile(drawn, weights, level) == pytest.approx(np.quantile(largest, level))
