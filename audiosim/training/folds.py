"""Folds: queries held out of a fit, and the judgments that features may use meanwhile."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.feature import Reads
from audiosim.features.registry import FEATURES
from audiosim.training.examples import Examples, features_of

ELSEWHERE: tuple[Reads, ...] = ("other queries", "all queries")
AT_HOME: tuple[Reads, ...] = ("own query", "all queries")


class Way(NamedTuple):
    """A way to hold rows out: its name, the fold of each row, (n,), and the names of the folds."""

    label: str
    fold: Integers
    names: tuple[str, ...]


class Fold(NamedTuple):
    """Rows held out of a fit.

    name     such as "fold 1"
    held     (n,) True where a row is held out
    fitted   features of all rows for the fit, without any judgment of a held-out row
    applied  features of all rows for predicting the held-out ones
    """

    name: str
    held: Booleans
    fitted: Mapping[str, Array]
    applied: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged pairs of some pools as examples, with the pools for recomputing features from fewer judgments.

    pools      pools with their grades: (pairs,), NaN where unjudged
    examples   n rows, with features from all judgments except the pair's own
    as_given   True to leave the features as in the examples, even those from held-out judgments
    """

    pools: Sequence[tuple[Pool, Array]]
    examples: Examples
    as_given: bool = False

    def seeing(self, seen: Booleans, *reads: Reads) -> dict[str, Array]:
        """The features with given ways of using judgments, recomputed from a part of the judgments.

        seen  (n,) True where a judgment may be used
        """
        again = [] if self.as_given else [name for name in self.examples.table if FEATURES[name].reads in reads]
        return features_of(self.pools, again, seen) if again else {}

    def folds(self, way: Way) -> Iterator[Fold]:
        """Folds of one way. For predictions, features of a row's own query use all judgments but the row's.

        For the fit, no feature uses a held-out judgment; for predictions, features from other queries only use none
        either.
        """
        table = self.examples.table
        for code, name in enumerate(way.names):
            held = np.asarray(way.fold == code)
            blind = self.seeing(~held, *ELSEWHERE)
            others = {name: column for name, column in blind.items() if FEATURES[name].reads == "other queries"}
            yield Fold(name, held, {**table, **blind}, {**table, **others})

    def in_part(self, fold: Fold, drawn: Booleans, own: Mapping[str, Array]) -> Fold:
        """The same fold, but predictions use only the drawn judgments of each held-out query.

        drawn  (n,) True for drawn judgments
        own    the features that use only their own query, computed from the drawn judgments of all queries

        The fit uses these too, so that its rows have as few judgments of their own query as the rows to predict. From
        all other queries it uses every judgment, and so do features that use all queries except the row's own.
        """
        applied = self.seeing(~fold.held | drawn, *ELSEWHERE)
        return fold._replace(fitted={**fold.fitted, **own}, applied={**fold.applied, **applied, **own})


def deal(group: Integers, folds: int) -> Integers:
    """(n,) the fold of each row: groups are dealt to the folds in turn, in their order."""
    groups, place = np.unique(group, return_inverse=True)
    if folds < 2:
        raise InputError(f"expected at least 2 folds, or 0 for none, got {folds}")
    if len(groups) < folds:
        raise InputError(f"{len(groups)} queries with judgments are too few for {folds} folds")
    return np.asarray(place.reshape(-1) % folds)


def ways_to_hold_out(examples: Examples, known: Booleans, folds: int) -> list[Way]:
    """Folds by query, unless no folds are wanted; by collection if several have rows with known features.

    known  (n,)
    """
    if not folds:
        return []
    names = tuple(f"fold {fold}" for fold in range(1, folds + 1))
    ways = [Way(f"{folds} folds by query", deal(examples.group, folds), names)]
    if len(np.unique(examples.collection[known])) > 1:
        ways.append(Way("leaving out a collection", examples.collection, examples.collections))
    return ways


def draw(group: Integers, share: float, seed: int) -> Booleans:
    """(n,) True for drawn rows: a random share of every group, rounded to whole rows, with halves rounded up.

    share  share of the rows, in [0, 1)
    seed   rows drawn at one share are also drawn at larger ones

    Groups too small for one row at this share get none.
    """
    lot = np.random.default_rng(seed).random(len(group))
    order = np.lexsort((lot, group))
    _, place, sizes = np.unique(group, return_inverse=True, return_counts=True)
    first = np.cumsum(sizes) - sizes
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, sizes)
    return np.asarray(rank < np.floor(share * sizes + 0.5)[place.reshape(-1)])
