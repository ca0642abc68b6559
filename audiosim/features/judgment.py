"""Features of the judgments made so far; a pair's own judgment never enters its own features.

Urbano (2013), section 7.2.3, with its definitions read so that they can be used on unjudged pairs
and mean the same on judged ones. Grades are in units of the scale: 0 to 100 for Fine.
"""

import numpy as np
from numpy.typing import ArrayLike

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool


def mean_grade_of_systems(pool: Pool, grades: Array) -> Array:
    """aSYS: mean grade of the judged documents that the systems which retrieved this one retrieved, over all queries.

        sum over systems s of d, over judged pairs j of s, of grade_j  /  how many (s, j) there are

    grades  (n,) NaN where unjudged

    The pair's own grade is left out of each sum. NaN where its systems have no other judged document.
    """
    judged = ~np.isnan(grades)
    value = np.where(judged, grades, 0.0)
    retrieved = pool.retrieved
    times = np.asarray(retrieved.sum(axis=0))
    total = retrieved.T @ (retrieved @ value) - times * value
    count = retrieved.T @ (retrieved @ judged.astype(np.float64)) - times * judged
    return _ratio(total, count)


def mean_grade_of_artist(pool: Pool, grades: Array) -> Array:
    """aART: mean grade of the other judged documents of this query by this document's artist.

    grades  (n,) NaN where unjudged

    NaN where the artist is unknown or has no other judged document for this query.
    """
    judged = ~np.isnan(grades)
    value = np.where(judged, grades, 0.0)
    group = pool.artists.group
    total = np.bincount(group, value)[group] - value
    count = np.bincount(group, judged)[group] - judged
    return np.where(pool.artists.known, _ratio(total, count), np.nan)


def _ratio(total: ArrayLike, count: ArrayLike) -> Array:
    count = np.asarray(count, dtype=np.float64)
    return np.asarray(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))
