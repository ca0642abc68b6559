"""Agreement of raters: weighted kappa of two, Krippendorff's alpha of any number, and plain errors."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from audiosim.errors import InputError
from audiosim.stats.arrays import Array


def weighted_kappa(
    first: Array, second: Array, levels: Sequence[float], weights: Literal["linear", "quadratic"] = "quadratic"
) -> float:
    """Cohen's weighted kappa of two raters: 1 for full agreement, 0 for chance agreement.

        1 - sum w_ij o_ij / sum w_ij e_ij,  w_ij = |i - j| or (i - j)^2

    o_ij is the share of things with level i from the first and j from the second rater; e_ij is the same share if the
    two ratings were independent.

    first, second  (n,) ratings of the same n things, values among the levels
    levels         rising; i and j are positions among them

    NaN if nothing is rated, or if both raters give the same single level. Cohen (1968), doi:10.1037/h0026256.
    """
    places = [_places(np.asarray(said, dtype=np.float64), levels) for said in (first, second)]
    if len(np.unique(places)) < 2:
        return math.nan
    count = len(levels)  # the formula, because importing scikit-learn for its own takes a second
    seen = np.bincount(count * places[0] + places[1], minlength=count**2).reshape(count, count)
    expected = np.outer(seen.sum(axis=0), seen.sum(axis=1)) / seen.sum()
    distance = np.abs(np.subtract.outer(range(count), range(count))) ** (1 if weights == "linear" else 2)
    return float(1 - np.sum(distance * seen) / np.sum(distance * expected))


def alpha(ratings: Array, metric: Literal["nominal", "ordinal", "interval"] = "ordinal") -> float:
    """Krippendorff's alpha of any number of raters: 1 for full agreement, 0 for agreement by chance alone.

        1 - (n - 1) sum_ck o_ck d_ck / sum_ck n_c n_k d_ck

    o_ck counts the pairs of values c and k given to one thing, each divided by the thing's number of ratings minus 1;
    n_c = sum_k o_ck; n = sum_c n_c. The distance d_ck of two values, c < k, is

        nominal   1
        ordinal   (n_c / 2 + n_g of all values g between them + n_k / 2)^2
        interval  (c - k)^2

    ratings  (raters, things) NaN where a rater gave no rating; a thing with a single rating does not count

    NaN if nothing is rated twice, or if all ratings have one value. Krippendorff (2011), Computing
    Krippendorff's Alpha-Reliability.
    """
    if metric not in ("nominal", "ordinal", "interval"):
        raise InputError(f"metric must be nominal, ordinal or interval, got {metric!r}")
    ratings = np.asarray(ratings, dtype=np.float64)
    ratings = ratings[:, np.sum(~np.isnan(ratings), axis=0) >= 2]
    values, places = np.unique(ratings[~np.isnan(ratings)], return_inverse=True)
    if len(values) < 2:
        return math.nan
    things = np.broadcast_to(np.arange(ratings.shape[1]), ratings.shape)[~np.isnan(ratings)]
    counts = np.zeros((ratings.shape[1], len(values)))
    np.add.at(counts, (things, places), 1)
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidence = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    total = coincidence.sum(axis=0)
    distance = _distance(values, total, metric)
    return float(1 - (total.sum() - 1) * np.sum(coincidence * distance) / (total @ distance @ total))


def root_mean_square(first: Array, second: Array) -> float:
    """Root mean squared difference of two raters; NaN if nothing is rated."""
    return math.sqrt(np.mean(np.subtract(first, second) ** 2)) if len(first) else math.nan


def mean_absolute(first: Array, second: Array) -> float:
    """Mean absolute difference of two raters; NaN if nothing is rated."""
    return float(np.mean(np.abs(np.subtract(first, second)))) if len(first) else math.nan


def _places(said: Array, levels: Sequence[float]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    known = np.asarray(levels, dtype=np.float64)
    places = np.minimum(np.searchsorted(known, said), len(known) - 1)
    wrong = said[known[places] != said]
    if len(wrong):
        raise InputError(f"rating {wrong[0]:g} is not among the {len(known)} levels")
    return places


def _distance(values: Array, total: Array, metric: str) -> Array:
    """(v, v) distances between values; total: (v,) count of each."""
    if metric == "nominal":
        return 1.0 - np.eye(len(values))
    if metric == "ordinal":
        values = np.cumsum(total) - total / 2  # mid-ranks: half of each end, and all between
    return np.asarray((values[:, None] - values) ** 2)
