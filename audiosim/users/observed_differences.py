"""Prior probability of a noticeable difference: the share of past differences large enough for users to notice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.collection import Collection
from audiosim.errors import InputError
from audiosim.measures.system_scores import judged_runs
from audiosim.users.preferences import BINS, MIDDLES, Preferences
from audiosim.users.satisfaction import user_form

MAJORITY = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class NoticeableDifferences:
    """Differences between systems that enough users notice.

    share      share of users who must agree
    smallest   smallest difference of scores that they notice; None if they notice none
    observed   number of observed differences
    noticed    share of observed differences of at least `smallest`
    """

    share: float
    smallest: float | None
    observed: int
    noticed: float

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return {
            "agreeing_share": self.share,
            "smallest_difference": self.smallest,
            "observed_differences": self.observed,
            "noticed": self.noticed,
        }


def smallest_noticed(preferences: Preferences, share: float = MAJORITY) -> float | None:
    """The smallest difference of scores at which at least this share of users prefers the better list.

    Interpolated between the middles of the bins; 0 if the first bin already reaches the share, None if no bin does.
    Urbano (2013), section 3.4.
    """
    if not 0 < share <= 1:
        raise InputError(f"a share of users who agree must be above 0 and at most 1, got {share:g}")
    there = preferences.agreeing.counts > 0
    middles, agreeing = MIDDLES[there], preferences.agreeing.shares[there]
    enough = np.flatnonzero(agreeing >= share)
    if not len(enough):
        return None
    first = int(enough[0])
    if first == 0:
        return float(middles[0] - 0.5 / BINS)
    low, high = agreeing[first - 1], agreeing[first]
    step = (share - low) / (high - low)
    return float(middles[first - 1] + step * (middles[first] - middles[first - 1]))


def noticeable_differences(
    preferences: Preferences, collections: Sequence[Collection], share: float = MAJORITY
) -> NoticeableDifferences:
    """Probability that two systems differ enough on a query for most users to agree on the better one.

    preferences  people's answers compared with a measure
    collections  past evaluations, with every retrieved document judged, on a scale with the levels of the answers;
                 every two systems on every query count once
    share        share of users who must agree

    Even a small threshold helps little if differences rarely reach it. Urbano (2013),
    section 3.4, Table 3.5.
    """
    differences = np.concatenate([_differences(one, preferences) for one in collections])
    smallest = smallest_noticed(preferences, share)
    noticed = 0.0 if smallest is None else float((differences >= smallest - 1e-9).mean())
    return NoticeableDifferences(share, smallest, len(differences), noticed)


def _differences(collection: Collection, preferences: Preferences) -> Array:
    """Absolute differences of user-oriented scores, every two systems on every query."""
    if collection.scale.levels != preferences.levels:
        raise InputError(
            f"collection {collection.identifier} is on the {collection.scale.name} scale, the answers on the "
            f"{preferences.scale} scale: expected the same scale, or an artificial one with as many levels"
        )
    measure = user_form(preferences.measure)
    values = judged_runs(collection, measure.cutoff).scores(measure).values
    first, second = np.triu_indices(len(values), 1)
    return np.asarray(np.abs(values[first] - values[second]).ravel())
