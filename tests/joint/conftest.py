"""Effects shared by pairs, looked up pair by pair in the collection itself, as the reference."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from audiosim.collection.pool import build_pool
from audiosim.joint.posterior import Belief, Marginals
from audiosim.ordinal.model import Model, Trend
from audiosim.stats.normal.block_normal import BlockNormal
from benchmarks.synthetic import Design, synthetic_collection


class InCommon:
    """Share of an effect of each kind that is common to two pairs, see relevance/random_effects.py."""

    def __init__(self, collection, most=256):
        pool = build_pool(collection)
        self.collection, self.pairs, self.systems = collection, pool.pairs, defaultdict(set)
        for run in collection.runs:
            for query, documents in run.rankings.items():
                for document in documents[: collection.cutoff]:
                    self.systems[query, document].add(run.system)
        self.weights = {kind: {pair: self._weights(kind, pair) for pair in self.pairs} for kind in ("team", "system")}
        self.bands = self._bands()
        self.kept = {"genres": self._kept(self.genres, most), "artist": self._kept(self.artist, most)}

    def genres(self, pair):
        own = self.collection.genre(self.collection.query_document(pair.query)), self.collection.genre(pair.document)
        return None if None in own else own

    def artist(self, pair):
        return self.collection.artist(pair.document)

    def _kept(self, key, most):
        """The values shared by pairs of different queries; if there are many, those of the most pairs."""
        pairs = defaultdict(list)
        for pair in self.pairs:
            if key(pair) is not None:
                pairs[key(pair)].append(pair)
        several = [value for value, own in pairs.items() if len({pair.query for pair in own}) > 1]
        several.sort(key=lambda value: -len(pairs[value]))
        return set(several[:most])

    def share(self, kind, one, other):
        """Share of an effect of unit variance that is common to two pairs of query and document."""
        query = one.query == other.query
        if kind in {"query", "rest"}:
            return float(query if kind == "query" else one == other)
        if kind == "retrievers":
            both = len(self.systems[one] & self.systems[other])
            return query * both / (len(self.systems[one]) * len(self.systems[other])) ** 0.5
        if kind == "consensus":
            return float(self.band(one) == self.band(other))
        if kind in {"team", "system"}:
            own, others = self.weights[kind][one], self.weights[kind][other]
            return sum(weight * others.get(name, 0.0) for name, weight in own.items())
        if one == other:
            return 1.0
        if kind == "query_genre":
            genres = [self.collection.genre(pair.document) for pair in (one, other)]
            return float(query and genres[0] is not None and genres[0] == genres[1])
        key = self.genres if kind == "genres" else self.artist
        same = key(one) is not None and key(one) == key(other)
        if kind == "query_artist":
            return float(query and same)
        return float(same and (query or key(one) in self.kept[kind]))

    def _weights(self, kind, pair):
        """Share of a pair that belongs to each team or system that retrieved it."""
        weights = defaultdict(float)
        for system in self.systems[pair]:
            weights[self.collection.team(system) if kind == "team" else system] += 1 / len(self.systems[pair])
        return weights

    def teams(self, pair):
        """ln of the number of teams that retrieved a pair."""
        return np.log(len({self.collection.team(system) for system in self.systems[pair]}))

    def repetition(self, pair):
        """ln of the number of systems that retrieved a pair, for each of their teams."""
        return np.log(len(self.systems[pair])) - self.teams(pair)

    def _bands(self):
        """For each pair, the number of quantiles (.5, .8 and .95) of ln teams over the pairs that lie below its own."""
        every = [self.teams(pair) for pair in self.pairs]
        ends = [np.quantile(every, share) for share in (0.5, 0.8, 0.95)]
        return {pair: sum(own > end for end in ends) for pair, own in zip(self.pairs, every, strict=True)}

    def band(self, pair):
        """The band of consensus of a pair."""
        return self.bands[pair]

    def covariates(self):
        """(n, 3) agreement, consensus and repetition of each pair."""
        middle = np.mean([self.teams(pair) for pair in self.pairs])
        usual = np.mean([self.repetition(pair) for pair in self.pairs])
        own, repeated = defaultdict(list), defaultdict(list)
        for pair in self.pairs:
            for system in self.systems[pair]:
                own[system].append(self.teams(pair) - middle)
                repeated[system].append(self.repetition(pair) - usual)
        repeats = {system: np.mean(values) for system, values in repeated.items()}
        level = {system: np.mean(values) for system, values in own.items()}
        mean, spread = np.mean(list(level.values())), np.std(list(level.values()))
        found = []
        for pair in self.pairs:
            of = np.mean([level[system] for system in self.systems[pair]])
            again = self.repetition(pair) - usual - np.mean([repeats[system] for system in self.systems[pair]])
            found.append([(of - mean) / spread if spread > 1e-12 else 0.0, self.teams(pair) - middle - of, again])
        return np.array(found)

    def covariance(self, standard_deviations, scale, places=slice(None)):
        """Sum over the kinds of size^2 times the share common to two pairs at places, times the scale of both."""
        pairs, scale = [self.pairs[place] for place in np.arange(len(self.pairs))[places]], scale[places]
        covariance = np.zeros((len(pairs),) * 2)
        for i, one in enumerate(pairs):
            for j, other in enumerate(pairs[: i + 1]):
                total = sum(size**2 * self.share(kind, one, other) for kind, size in standard_deviations.items())
                covariance[i, j] = covariance[j, i] = total * scale[i] * scale[j]
        return covariance


@pytest.fixture(scope="session")
def in_common():
    """Effects common to the pairs of a collection."""
    return InCommon


STANDARD_DEVIATIONS = {
    "query": 0.5,
    "retrievers": 0.35,
    "query_genre": 0.45,
    "query_artist": 0.3,
    "genres": 0.4,
    "artist": 0.2,
    "consensus": 0.15,
    "team": 0.3,
    "system": 0.2,
    "rest": 0.65,
}


TREND = Trend(
    {"constant": 0.05, "system_agreement": 0.2, "consensus": 0.3, "repetition": 0.1},
    ((2e-3, -1e-3, 0.0, 0.0), (-1e-3, 0.02, 3e-3, 0.0), (0.0, 3e-3, 0.03, -2e-3), (0.0, 0.0, -2e-3, 0.01)),
)


def joint_model(**changes):
    """A joint model on the Fine scale, with its fallback for pairs of unknown genre."""
    fields = {
        "name": "joined",
        "scale": "fine",
        "levels": tuple(np.arange(5.0, 100, 10)),
        "terms": ("fSYS", "sGEN"),
        "coefficients": (2.0, 1.5),
        "thresholds": tuple(np.linspace(1.5, -5.5, 9)),
        "fallback": Model(
            "plain", "fine", tuple(np.arange(5.0, 100, 10)), (), (), tuple(np.linspace(2, -3, 9)), None, "made up"
        ),
        "source": "made up",
        "components": {name: (size, None) for name, size in STANDARD_DEVIATIONS.items()},
        "trend": TREND,
    }
    return Model(**(fields | changes))


@pytest.fixture(scope="session")
def joined():
    """Makes a joint model of the Fine scale, with changes."""
    return joint_model


@pytest.fixture(scope="session")
def some_hundreds():
    """A collection of some hundreds of pairs, all judged, some of them with unknown genre, artist, or both."""
    collection = synthetic_collection(np.random.default_rng(0), Design(8, 4, 14, 5, 40))
    rng = np.random.default_rng(1)
    documents = {
        name: replace(
            document,
            genre=None if rng.random() < 0.15 else document.genre,
            artist=None if rng.random() < 0.15 else document.artist,
        )
        for name, document in collection.documents.items()
    }
    return replace(collection, documents=documents)


def belief_of(gains, levels, maximum):
    """A belief with an ordinal model that agrees with the gains: a normal distribution, in levels."""
    levels = np.asarray(levels, dtype=float)
    ends = (levels[1:] + levels[:-1]) / 2 / maximum
    reached = norm.cdf(ends, gains.mean[:, None], np.sqrt(gains.variance)[:, None])
    n = len(gains.mean)
    probabilities = np.diff(reached, axis=1, prepend=0, append=1)
    alone = Marginals(levels, probabilities, ("normal",), np.zeros(n, dtype=np.int64), maximum)
    return Belief(alone, gains, np.full(n, np.nan))


@pytest.fixture(scope="session")
def jointly():
    """Makes a belief of correlated gains."""
    return belief_of


def two_blocks(rng, deviation, size=4):
    """Two blocks of equal variances; unknowns are correlated within and between blocks."""
    effects = rng.normal(size=(2 * size, 3)) / 2
    within = [0.5 * np.eye(size) + 0.5 * np.cov(rng.normal(size=(size, 3 * size))) for _ in range(2)]
    scale = deviation / np.sqrt(np.sum(effects**2, axis=1) + np.concatenate([np.diagonal(of) for of in within]))
    blocks = tuple(np.split(rng.permutation(2 * size), 2))
    order = np.concatenate(blocks)
    covariances = tuple(
        of * np.outer(scale[at], scale[at]) for of, at in zip(within, np.split(np.arange(2 * size), 2), strict=True)
    )
    mean = np.empty(2 * size)
    mean[order] = rng.uniform(0.4, 0.6, 2 * size)
    return BlockNormal(mean, blocks, covariances, tuple(np.split(effects * scale[:, None], 2)), np.eye(3))


@pytest.fixture(scope="session")
def correlated():
    """Makes two correlated blocks of four."""
    return two_blocks
