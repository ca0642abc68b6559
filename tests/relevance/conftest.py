"""What pairs have in common, looked up pair by pair in the collection itself: the reference of the joint model."""

from collections import defaultdict

import numpy as np
import pytest

from audiosim.corpus.pool import build_pool


class InCommon:
    """How much of an effect of each kind two pairs share, by the definitions at the head of relevance/layout.py."""

    def __init__(self, collection, most=256):
        pool = build_pool(collection)
        self.collection, self.pairs, self.systems = collection, pool.pairs, defaultdict(set)
        for run in collection.runs:
            for query, documents in run.rankings.items():
                for document in documents[: collection.cutoff]:
                    self.systems[query, document].add(run.system)
        self.kept = {"genres": self._kept(self.genres, most), "artist": self._kept(self.artist, most)}

    def genres(self, pair):
        own = self.collection.genre(self.collection.query_document(pair.query)), self.collection.genre(pair.document)
        return None if None in own else own

    def artist(self, pair):
        return self.collection.artist(pair.document)

    def _kept(self, key, most):
        """The values shared by pairs of different queries: of many those that most pairs have."""
        pairs = defaultdict(list)
        for pair in self.pairs:
            if key(pair) is not None:
                pairs[key(pair)].append(pair)
        several = [value for value, own in pairs.items() if len({pair.query for pair in own}) > 1]
        several.sort(key=lambda value: -len(pairs[value]))
        return set(several[:most])

    def share(self, kind, one, other):
        """What of an effect of unit variance two pairs of query and document have in common."""
        query = one.query == other.query
        if kind in {"query", "rest"}:
            return float(query if kind == "query" else one == other)
        if kind in {"team", "system"}:
            weights = [defaultdict(float), defaultdict(float)]
            for weight, pair in zip(weights, (one, other), strict=True):
                for system in self.systems[pair]:
                    name = self.collection.team(system) if kind == "team" else system
                    weight[name] += 1 / len(self.systems[pair])
            return sum(weights[0][name] * weights[1][name] for name in weights[0])
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

    def covariance(self, sizes, scale):
        """(n, n) the sum over the kinds of size^2 times what two pairs share, times the scale of both."""
        n = len(self.pairs)
        covariance = np.zeros((n, n))
        for i in range(n):
            for j in range(i + 1):
                total = sum(size**2 * self.share(kind, self.pairs[i], self.pairs[j]) for kind, size in sizes.items())
                covariance[i, j] = covariance[j, i] = total * scale[i] * scale[j]
        return covariance


@pytest.fixture(scope="session")
def in_common():
    """What the pairs of a collection have in common."""
    return InCommon
