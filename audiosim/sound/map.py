"""A map of recordings: two coordinates for each, so that recordings that sound alike lie together."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from audiosim.errors import InputError
from audiosim.results.plots import draw_map
from audiosim.results.value import Rows, need
from audiosim.sound.descriptions import Description, Searched, descriptions_of
from audiosim.sound.proximity import references_among
from audiosim.sound.search import SAMPLE
from audiosim.stats.arrays import Array, Integers

if TYPE_CHECKING:
    from altair import LayerChart

MapBy = Literal["pca", "umap"]
FEWEST = 3  # fewest recordings of a map
LANDMARKS = 250  # landmarks: a recording is placed by its divergences from these
NEIGHBOURS = 15  # UMAP's default number of neighbours
MOST = 20_000  # most recordings of a map: more could neither be drawn nor distinguished
TOGETHER = 1024
SEED = 2012
OTHERS = "other"


@dataclass(frozen=True, eq=False)
class SoundMap(Rows):
    """Recordings on a map.

    names        (n,) identifiers of the audible recordings
    coordinates  (n, 2) coordinates with standard deviation 1
    by           method that found the coordinates
    groups       (n,) group of each, such as its genre; None where unknown
    queries      recording of each query
    page         file of its page; None if none was written
    """

    _index: ClassVar = ("document",)

    names: tuple[str, ...]
    coordinates: Array
    by: MapBy
    groups: tuple[str | None, ...]
    queries: Mapping[str, str]
    page: Path | None = None

    def __repr__(self) -> str:
        return f"a map of {len(self.names):,} recordings by {self.by}"

    def rows(self) -> list[dict[str, Any]]:
        """One row per recording: document, x, y, group and whether it is a query."""
        asked = set(self.queries.values())
        return [
            {"document": name, "x": float(x), "y": float(y), "group": group, "query": name in asked}
            for name, (x, y), group in zip(self.names, self.coordinates, self.groups, strict=True)
        ]

    def plot(self) -> "LayerChart":
        """The map: a colour for each of the largest groups, rings around queries."""
        asked = set(self.queries.values())
        return draw_map(self.coordinates, self.names, self.shown_groups, [name in asked for name in self.names])

    @property
    def shown_groups(self) -> list[str]:
        """(n,) groups with a colour of their own: the seven largest; the rest form one."""
        sizes = Counter(group for group in self.groups if group is not None)
        largest = sorted(sizes, key=lambda group: (-sizes[group], group))[:7]
        return [group if group in largest else OTHERS for group in self.groups]


def map_of(
    searched: Searched,
    groups: Mapping[str, str | None],
    queries: Mapping[str, str],
    by: MapBy = "pca",
    names: Sequence[str] | None = None,
    kept: Collection[str] = (),
) -> SoundMap:
    """A map of the recordings of indexes; beyond 20,000, of the queries' recordings and others drawn once.

    groups   recording -> its group
    queries  query -> its recording
    by       method; see `map_coordinates`
    names    names of descriptions; None: all
    kept     recordings to show in any case, beside the queries'
    """
    first = {*queries.values(), *kept}
    heard, coordinates = map_coordinates(searched, descriptions_of(searched, names, "descriptions"), by, first)
    identifiers = tuple(searched.ids[place] for place in heard)
    inside = set(identifiers)
    asked = {query: name for query, name in queries.items() if name in inside}
    return SoundMap(identifiers, coordinates, by, tuple(groups.get(name) for name in identifiers), asked)


def map_coordinates(
    searched: Searched, descriptions: Sequence[Description], by: MapBy = "pca", kept: Collection[str] = ()
) -> tuple[Integers, Array]:
    """Places of the audible recordings, and their (n, 2) coordinates, each of standard deviation 1.

    kept  recordings to include if there are more than 20,000
    by  "pca", principal components: always the same for an index, and distances are meaningful; or "umap", which needs
        umap-learn: it shows groups better, but distances between them mean little. McInnes et al. (2018),
        arXiv:1802.03426

    A recording is placed by its divergences from landmarks drawn once. For each description, a divergence becomes the
    share of recordings that are nearer to the landmark, so that all descriptions have the same weight; .5 if the
    recording lacks the description. The map shows these shares.
    """
    if by not in get_args(MapBy):
        raise InputError(f"a map is made by {' or '.join(get_args(MapBy))}, got {by!r}")
    heard = np.flatnonzero(~searched.silent[: len(searched)])
    if len(heard) < FEWEST:
        raise InputError(f"a map needs at least {FEWEST} recordings that are not silent, found {len(heard)}")
    if len(heard) > MOST:
        heard = _drawn(searched, heard, kept)
    shares = np.column_stack([_shares(description, heard) for description in descriptions])
    found = _components(shares) if by == "pca" else _neighbourhoods(shares)
    spread = found.std(axis=0)
    return heard, (found - found.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _drawn(searched: Searched, heard: Integers, kept: Collection[str]) -> Integers:
    """At most MOST of the recordings, or more if more must be kept."""
    wanted = np.isin(np.array(searched.ids, dtype=object)[heard], list(kept))
    rest = heard[~wanted]
    count = min(len(rest), max(0, MOST - int(wanted.sum())))
    chosen = np.random.default_rng(SEED).choice(rest, count, replace=False)
    return np.sort(np.concatenate([heard[wanted], chosen]))


def _shares(description: Description, heard: Integers) -> Array:
    """(n, r) share of the known recordings that are nearer to each landmark than each recording is."""
    known = heard[description.known[heard]]
    drawn = known[references_among(len(known), SAMPLE)]
    landmarks = drawn[:: max(1, -(-len(drawn) // LANDMARKS))]
    found = np.full((len(heard), len(landmarks)), 0.5)
    if len(known):
        parts = [known[start : start + TOGETHER] for start in range(0, len(known), TOGETHER)]
        divergences = np.concatenate([description.divergence(part, landmarks) for part in parts])
        ranks = np.argsort(np.argsort(divergences, axis=0, kind="stable"), axis=0, kind="stable")
        found[np.searchsorted(heard, known)] = ranks / max(1, len(known) - 1)
    return found


def _components(shares: Array) -> Array:
    """(n, 2) first two principal components; the largest weight of each is positive, so that no map is mirrored."""
    from sklearn.decomposition import PCA

    return np.asarray(PCA(2, svd_solver="full").fit_transform(shares))


def _neighbourhoods(shares: Array) -> Array:
    need("maps", "a map by UMAP")
    from umap import UMAP

    near = min(NEIGHBOURS, len(shares) - 1)
    made = UMAP(n_components=2, n_neighbors=near, random_state=SEED, n_jobs=1)
    return np.asarray(made.fit_transform(shares), np.float64)
