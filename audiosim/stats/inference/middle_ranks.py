"""Ranks of numbers, ties sharing the middle rank."""

import numpy as np

from audiosim.stats.arrays import Array


def middle_ranks(values: Array, axis: int) -> Array:
    """Ranks from 1 along an axis, lowest value first; equal values share the mean of their ranks.

    values  finite numbers of any shape

    The same as `scipy.stats.rankdata`, but without its half second of import time.
    """
    rows = np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)
    order = np.argsort(rows, axis=-1, kind="stable")
    rising = np.diff(np.take_along_axis(rows, order, axis=-1), axis=-1) > 0
    place, edge = np.arange(rows.shape[-1]), np.ones((*rows.shape[:-1], 1), dtype=np.bool_)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, rising], axis=-1), place, 0), axis=-1)
    ends = np.where(np.concatenate([rising, edge], axis=-1), place, len(place))
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return np.asarray(np.moveaxis(ranks, -1, axis))
