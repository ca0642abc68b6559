"""Training examples of a model: the judged pairs of some collections as rows of features and levels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import FINE, Scale
from audiosim.errors import InputError, not_judged
from audiosim.joint.levels import nearest_level
from audiosim.ordinal.feature import Reads
from audiosim.ordinal.features import FEATURES, columns, design, factors
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers, places_within

TENTHS = tuple(float(level) for level in range(5, 100, 10))


@dataclass(frozen=True, eq=False)
class Examples:
    """The n judged pairs of some collections.

    scale        scale of the judgments
    level        (n,) place of each pair's level among `all_levels`
    truth        (n,) grade over the scale's maximum
    group        (n,) code of the pair's query; no two collections share one
    collection   (n,) code of the pair's collection
    collections  identifiers of the collections
    table        features, each (n,), NaN where unknown
    """

    scale: Scale
    level: Integers
    truth: Array
    group: Integers
    collection: Integers
    collections: tuple[str, ...]
    table: Mapping[str, Array]

    @property
    def all_levels(self) -> tuple[float, ...]:
        """All possible levels, rising."""
        return levels_of(self.scale)

    def unknown(self, terms: Sequence[str]) -> dict[str, int]:
        """Number of pairs that lack each feature of some terms, for features that any pair lacks."""
        names = dict.fromkeys(name for term in terms for name in factors(term))
        counts = {name: int(np.isnan(self.table[name]).sum()) for name in names}
        return {name: count for name, count in counts.items() if count}

    def with_known(self, terms: Sequence[str]) -> Booleans:
        """(n,) True where all features of some terms are known."""
        return np.logical_not(np.isnan(self._design(terms)).any(axis=1))

    def having_level(self, levels: Array) -> Booleans:
        """(n,) True where the level is one of these."""
        return np.isin(self.level, np.searchsorted(self.all_levels, levels))

    def known(self, terms: Sequence[str]) -> "Sample":
        """The pairs with all features known."""
        known = self.with_known(terms)
        if not known.any():
            counts = ", ".join(f"{name} for {count:,}" for name, count in self.unknown(terms).items())
            problem = f"every one of the {len(known):,} judged pairs has an unknown feature: {counts}"
            raise InputError(f'{problem}, expected known ones: `features="joint"` alone uses results and teams')
        return self.sample(terms, known, np.array(self.all_levels)[np.unique(self.level[known])])

    def sample(self, terms: Sequence[str], chosen: Booleans, levels: Array) -> "Sample":
        """Some of the pairs with some terms, limited to the given levels.

        chosen  (n,)
        levels  rising, of all levels
        """
        places = np.searchsorted(self.all_levels, levels)
        chosen = chosen & self.having_level(levels)
        return Sample(
            terms=tuple(terms),
            features=self._design(terms)[chosen],
            levels=levels,
            level=np.searchsorted(places, self.level[chosen]),
            truth=self.truth[chosen],
            levels_truth=levels / self.scale.maximum,
            group=self.group[chosen],
            collection=self.collection[chosen],
        )

    def of(self, chosen: Booleans | Integers) -> "Examples":
        """Some of the pairs, chosen by a mask or by places."""
        columns = {name: getattr(self, name)[chosen] for name in ("level", "truth", "group", "collection")}
        return replace(self, **columns, table={name: column[chosen] for name, column in self.table.items()})

    def _design(self, terms: Sequence[str]) -> Array:
        return design(self.table, terms) if terms else np.empty((len(self.level), 0))


@dataclass(frozen=True, eq=False)
class Sample:
    """The n rows of a fit, with all features known.

    terms         (k) terms
    features      (n, k) values of the terms
    levels        (l,) levels of any rows, rising
    level         (n,) place of each row's level among them
    truth         (n,) grade over the scale's maximum
    levels_truth  (l,) levels over the scale's maximum
    group         (n,) code of the row's query
    collection    (n,) code of the row's collection
    """

    terms: tuple[str, ...]
    features: Array
    levels: Array
    level: Integers
    truth: Array
    levels_truth: Array
    group: Integers
    collection: Integers

    @cached_property
    def shares(self) -> Array:
        """(l,) share of the rows with each level."""
        return np.bincount(self.level, minlength=len(self.levels)) / len(self.level)

    @cached_property
    def labels(self) -> list[str]:
        """The levels as text, for messages."""
        return [f"{level:g}" for level in self.levels]

    def having(self, terms: Sequence[str]) -> "Sample":
        """The same rows with some of the terms only."""
        places = [self.terms.index(term) for term in terms]
        return replace(self, terms=tuple(terms), features=self.features[:, places])

    def rows(self, chosen: Booleans) -> "Sample":
        """Some of the rows, with all the levels."""
        columns = {name: getattr(self, name)[chosen] for name in ("features", "level", "truth", "group", "collection")}
        return replace(self, **columns)


def levels_of(scale: Scale) -> tuple[float, ...]:
    """The levels of a model of a scale: the scale's own, or ten for the 101 grades of Fine.

    Fine grades 0 to 9 are level 5, 10 to 19 level 15, ..., 90 to 100 level 95; Urbano (2013), section 7.3.1.
    """
    return TENTHS if scale == FINE else scale.levels


def place_levels(scale: Scale, grades: Array) -> Integers:
    """(n,) place of each grade's level; a mean over assessors gets the nearest level, the upper one when halfway."""
    return nearest_level(np.array(levels_of(scale), dtype=np.float64), grades)


def judged_pools(collections: Sequence[Collection]) -> list[tuple[Pool, Array]]:
    """The pool of each collection down to its own cutoff, with (n,) grades, NaN where unjudged."""
    _check_together(collections)
    pools = [build_pool(collection) for collection in collections]
    grades = [pool.spread(collection.grades()) for pool, collection in zip(pools, collections, strict=True)]
    for pool, given in zip(pools, grades, strict=True):
        if np.isnan(given).all():
            raise not_judged(f"{pool.collection}: no retrieved pair is judged")
    return list(zip(pools, grades, strict=True))


def _check_together(collections: Sequence[Collection]) -> None:
    if not collections:
        raise InputError("there is no collection to train on")
    first, names = collections[0], [collection.identifier for collection in collections]
    for collection in collections:
        if names.count(collection.identifier) > 1:
            raise InputError(f"two collections are called {collection.identifier}: each may be given once")
        if collection.scale != first.scale:
            raise InputError(
                f"collections must share a scale: {first.identifier} has {first.scale.name} ({first.scale}), "
                f"{collection.identifier} {collection.scale.name} ({collection.scale})"
            )


def make_examples(judged: Sequence[tuple[Pool, Array]], names: Sequence[str]) -> Examples:
    """The judged pairs of some pools with the named features.

    Features are computed within each collection; features of judgments use all its other judgments.
    """
    scale = judged[0][0].scale
    stacked = np.concatenate([given[~np.isnan(given)] for _, given in judged])
    query = [(place, code) for place, (pool, given) in enumerate(judged) for code in pool.query[~np.isnan(given)]]
    places, group = np.unique(np.array(query), axis=0, return_inverse=True)
    return Examples(
        scale=scale,
        level=place_levels(scale, stacked),
        truth=stacked / scale.maximum,
        group=group.reshape(-1),
        collection=places[group.reshape(-1), 0],
        collections=tuple(pool.collection for pool, _ in judged),
        table=features_of(judged, names),
    )


def features_of(
    judged: Sequence[tuple[Pool, Array]],
    names: Sequence[str],
    seen: Booleans | None = None,
) -> dict[str, Array]:
    """The named features of all judged pairs of some pools, each (n,), NaN where unknown.

    seen  (n,) True for pairs with judgments that the features use; None for all
    """
    tables = []
    for (pool, given), (_, visible) in zip(judged, judged if seen is None else seen_only(judged, seen), strict=True):
        table = columns(pool, visible, names)
        tables.append({name: column[~np.isnan(given)] for name, column in table.items()})
    return {name: np.concatenate([table[name] for table in tables]) for name in names}


def seen_only(judged: Sequence[tuple[Pool, Array]], seen: Booleans) -> list[tuple[Pool, Array]]:
    """The pools with the grades of some of the judged pairs: (pairs,), NaN elsewhere.

    seen  (n,) True for these pairs
    """
    counts = [np.count_nonzero(~np.isnan(given)) for _, given in judged]
    found = []
    for (pool, given), here in zip(judged, np.split(seen, np.cumsum(counts)[:-1]), strict=True):
        grades = given.copy()
        grades[np.flatnonzero(~np.isnan(given))[~here]] = np.nan
        found.append((pool, grades))
    return found


# Folds: queries held out of a fit, and the judgments that features may use meanwhile.


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
    """

    pools: Sequence[tuple[Pool, Array]]
    examples: Examples

    def seeing(self, seen: Booleans, *reads: Reads) -> dict[str, Array]:
        """The features with given ways of using judgments, recomputed from a part of the judgments.

        seen  (n,) True where a judgment may be used
        """
        again = [name for name in self.examples.table if FEATURES[name].reads in reads]
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


LEFT_OUT = "leaving out a collection"


def ways_to_hold_out(examples: Examples, known: Booleans, folds: int) -> list[Way]:
    """Folds by query, unless no folds are wanted; by collection if several have rows with known features.

    known  (n,)
    """
    if not folds:
        return []
    dealt = deal(examples.group, folds)
    ways = [Way(f"{folds} folds by query", dealt, tuple(f"fold {fold}" for fold in range(1, folds + 1)))]
    if len(np.unique(examples.collection[known])) > 1:
        ways.append(Way(LEFT_OUT, examples.collection, examples.collections))
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
    rank = places_within(sizes)[np.argsort(order)]
    return np.asarray(rank < np.floor(share * sizes + 0.5)[place.reshape(-1)])
