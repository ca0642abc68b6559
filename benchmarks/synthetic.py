"""Synthetic collections: runs are drawn first, then grades, from effects with known variances."""

from dataclasses import dataclass

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Document, Judgment, Run, Scale
from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers

SAME_GENRE = 1.0  # log odds by which systems prefer a document of the query's genre
POPULARITY = 0.5  # standard deviation, in log odds, of the preferences that all systems share
OF_A_TEAM = 1.0  # standard deviation of the preferences that the systems of one team share, beyond that
OF_A_SYSTEM = 0.7  # standard deviation of a system's own preferences
GENRES, ARTISTS_PER_GENRE = 8, 10


@dataclass(frozen=True, slots=True)
class Effects:
    """Standard deviations of the effects on the relevance of a document to a query, as shares of the scale.

    query         effect shared by all documents retrieved for a query
    query_genre   effect shared by the documents of a genre for a query
    query_artist  effect shared by the documents of an artist for a query
    genres        effect shared by the documents of one genre for the queries of one genre
    team, system  effect of a team or a system: the mean over those that retrieved the document
    rest          effect of a single pair
    mean          mean of all grades
    same_genre    additional relevance of documents of the query's genre

    The default variances are close to those of judgments of music similarity on the Fine scale.
    """

    query: float = 0.11
    query_genre: float = 0.12
    query_artist: float = 0.07
    genres: float = 0.08
    team: float = 0.04
    system: float = 0.02
    rest: float = 0.14
    mean: float = 0.4
    same_genre: float = 0.15

    def __post_init__(self) -> None:
        deviations = (self.query, self.query_genre, self.query_artist, self.genres, self.team, self.system, self.rest)
        if not all(0 <= deviation < np.inf for deviation in deviations):
            raise InputError(f"standard deviations of effects must be finite and 0 or more, got {self}")


@dataclass(frozen=True, slots=True)
class Design:
    """Dimensions of a synthetic collection.

    systems     number of systems, distributed among the teams
    teams       number of teams, at most that of the systems
    queries     number of queries, each its own document
    cutoff      number of documents that each system retrieves for a query
    candidates  number of documents that systems choose from for a query, at least the cutoff
    """

    systems: int = 18
    teams: int = 10
    queries: int = 100
    cutoff: int = 5
    candidates: int = 300

    def __post_init__(self) -> None:
        if not 1 <= self.teams <= self.systems or self.queries < 1 or not 1 <= self.cutoff <= self.candidates:
            raise InputError(
                f"a collection needs teams <= systems and cutoff <= candidates, all at least 1, got {self}"
            )


def synthetic_collection(
    rng: np.random.Generator, design: Design = Design(), effects: Effects = Effects(), scale: Scale = FINE
) -> Collection:
    """Synthetic collection with a grade for every retrieved pair, drawn from a known model.

        grade = level nearest to  maximum x (mean + same_genre 1(genres equal) + sum of effects)

    Each effect is normal with mean 0 and the standard deviation that `effects` gives. Runs do not depend on the
    effects, so that the pool is not a biased selection of pairs. Documents are called d0, d1, ...,
    genres g0, ... and artists a0, ...; the first `queries` documents are the queries.
    """
    genre, artist = _documents(rng, design)
    candidates, lists = _retrieve(rng, design, genre)
    rows = np.repeat(np.arange(design.queries), design.candidates)
    retrieved = np.zeros((len(rows), design.systems), dtype=bool)
    picked = np.arange(design.queries)[None, :, None] * design.candidates + lists
    retrieved[picked, np.arange(design.systems)[:, None, None]] = True
    pooled = np.flatnonzero(retrieved.any(axis=1))
    query, document = rows[pooled], candidates.ravel()[pooled]
    relevance = _relevance(
        rng, effects, design, query, genre[document], genre[query], artist[document], retrieved[pooled]
    )
    levels = np.array(scale.levels)
    grades = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, relevance * scale.maximum)]
    return _collection(
        design, scale, genre, artist, np.take_along_axis(candidates[None], lists, axis=2), query, document, grades
    )


def _documents(rng: np.random.Generator, design: Design) -> tuple[Integers, Integers]:
    """The genre and the artist of each document; each artist has one genre."""
    artist = rng.integers(GENRES * ARTISTS_PER_GENRE, size=design.queries + 10 * design.candidates)
    return artist % GENRES, artist


def _retrieve(rng: np.random.Generator, design: Design, genre: Integers) -> tuple[Integers, Integers]:
    """(q, c) candidate documents of each query, never the query itself, and (s, q, k) places among them, best first."""
    others = np.arange(design.queries, len(genre))
    candidates = np.stack([rng.choice(others, design.candidates, replace=False) for _ in range(design.queries)])
    shared = rng.normal(0, POPULARITY, candidates.shape)
    shared += SAME_GENRE * (genre[candidates] == genre[: design.queries, None])
    team_of = np.arange(design.systems) % design.teams
    taste = rng.normal(0, OF_A_TEAM, (design.teams, *candidates.shape))
    lists = np.empty((design.systems, design.queries, design.cutoff), dtype=np.int64)
    for system, team in enumerate(team_of):
        liking = shared + taste[team] + rng.normal(0, OF_A_SYSTEM, candidates.shape)
        top = np.argpartition(-liking, design.cutoff - 1, axis=1)[:, : design.cutoff]
        order = np.argsort(-np.take_along_axis(liking, top, axis=1), axis=1)
        lists[system] = np.take_along_axis(top, order, axis=1)
    return candidates, lists


def _relevance(
    rng: np.random.Generator,
    effects: Effects,
    design: Design,
    query: Integers,
    genre: Integers,
    query_genre: Integers,
    artist: Integers,
    retrieved: Array,
) -> Array:
    """(n,) relevance of each pair as a share of the scale, before it is rounded to a level."""

    def drawn(deviation: float, *codes: Integers) -> Array:
        _, group = np.unique(np.stack(codes), axis=1, return_inverse=True)
        return rng.normal(0, deviation, int(group.max()) + 1)[group.ravel()]

    of_system = rng.normal(0, effects.team, design.teams)[np.arange(design.systems) % design.teams]
    of_system = of_system + rng.normal(0, effects.system, design.systems)
    return np.asarray(
        effects.mean
        + effects.same_genre * (genre == query_genre)
        + drawn(effects.query, query)
        + drawn(effects.query_genre, query, genre)
        + drawn(effects.query_artist, query, artist)
        + drawn(effects.genres, query_genre, genre)
        + retrieved @ of_system / retrieved.sum(axis=1)
        + rng.normal(0, effects.rest, len(query))
    )


def _collection(
    design: Design,
    scale: Scale,
    genre: Integers,
    artist: Integers,
    lists: Integers,
    query: Integers,
    document: Integers,
    grades: Array,
) -> Collection:
    names = [f"d{code}" for code in range(len(genre))]
    runs = tuple(
        Run(f"s{s}", {names[q]: tuple(names[d] for d in row) for q, row in enumerate(of_system.tolist())})
        for s, of_system in enumerate(lists)
    )
    pairs = zip(query.tolist(), document.tolist(), grades.tolist(), strict=True)
    return Collection(
        identifier="synthetic",
        name="synthetic",
        scale=scale,
        cutoff=design.cutoff,
        runs=runs,
        documents={
            name: Document(name, f"a{a}", f"g{g}")
            for name, a, g in zip(names, artist.tolist(), genre.tolist(), strict=True)
        },
        teams={run.system: f"t{code % design.teams}" for code, run in enumerate(runs)},
        judgments=tuple(Judgment(names[q], names[d], grade) for q, d, grade in pairs),
    )
