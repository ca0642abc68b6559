"""Rankings with their basis, down to queries and clips, for organisers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import Struct

from audiosim.collection.pool import Pool
from audiosim.collection.values import Judgment, mean_grades
from audiosim.errors import InputError
from audiosim.joint.estimators import RelevanceEstimator
from audiosim.joint.posterior import Belief
from audiosim.ranking import Selection
from audiosim.ranking.about import THESE, About, DifferenceDistribution
from audiosim.ranking.expected import FEWEST_QUERIES, ExpectedScores, Grounds, grounds_of, rankings_by_query
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.separation import looks_ahead, telling_pairs, two_systems_ranked, with_next
from audiosim.ranking.two_systems import TwoSystems, check_two
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.process.loops import kept_beside
from audiosim.stats.arrays import Array, Integers
from audiosim.text import did_you_mean

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2
ROUNDING = 1e-9  # of a sum of probabilities


@dataclass(frozen=True, slots=True)
class QueryScore:
    """A system's expected score for one query, with its 95 % interval.

    judged  number of its judged results
    pairs   number of its results down to the cutoff
    """

    query: str
    expectation: float
    variance: float
    low: float
    high: float
    judged: int
    pairs: int


@dataclass(frozen=True, slots=True)
class QueryDifference:
    """The difference of two systems' scores for one query, the first less the second, with its 95 % interval.

    above  probability that the first is better there; a known tie gives 1/2
    equal  true if they are known to be equal there
    """

    query: str
    expectation: float
    variance: float
    low: float
    high: float
    above: float
    equal: bool


class Clip(Struct, frozen=True):
    """A result of a system: its grade, or its expected grade with a central 95 % interval for a single grade."""

    rank: int
    document: str
    judged: bool
    expectation: float
    low: float
    high: float
    gain: float


class TellingPair(Struct, frozen=True):
    """A pair whose judgment gives information about the difference of two systems.

    `rank_a` or `rank_b` is None if that system did not retrieve it. `share` is the share of the difference's variance
    that a judgment removes; None if unknown.
    """

    query: str
    document: str
    rank_a: int | None
    rank_b: int | None
    expectation: float
    low: float
    high: float
    share: float | None


@dataclass(frozen=True, eq=False)
class GroundedRanking:
    """A ranking and its basis in one state of the judgments.

    expected   expected scores by the measure
    belief     belief of the estimator, which predicts the effect of further judgments
    grounds    ranking about these queries with its basis, after the check of the model
    stated     ranking about a subject
    """

    expected: ExpectedScores
    belief: Belief
    grounds: Grounds
    stated: Callable[[About], Ranking]
    # A cache of functions would keep the pools of past states.
    _verdicts: dict[About, Verdicts] = field(default_factory=dict, repr=False)

    @classmethod
    def of_selection(cls, selection: Selection) -> "GroundedRanking":
        """Ranking of a campaign by the campaign's own measure; made anew for each request, its verdicts once."""
        return cls(selection.expected, selection.belief, selection.grounds, selection.stated, _verdicts_of(selection))

    @classmethod
    def of_pool(
        cls,
        expected: ExpectedScores,
        estimator: RelevanceEstimator,
        judgments: Sequence[Judgment],
        distribution: DifferenceDistribution,
    ) -> "GroundedRanking":
        """Ranking by an estimator after learning from some judgments; see `rank_belief`."""
        pool, grades = expected.pool, mean_grades(judgments)
        belief = estimator.predict(pool.spread(grades))
        grounds = grounds_of(expected, estimator, belief, distribution, pool.locate_judged(grades))
        return cls(expected, belief, grounds, lambda about: grounds.about(about, expected))

    def believed(self, about: About) -> Belief:
        """Belief behind the ranking about a subject; the replacement's if the model failed its check."""
        return self.grounds.belief.about(about.whose)

    @property
    def pool(self) -> Pool:
        """The pairs of the pool."""
        return self.expected.pool

    def verdicts(self, about: About) -> Verdicts:
        """Results of `audiosim estimate` about a subject."""
        if about not in self._verdicts:
            self._verdicts[about] = with_next(Verdicts(self.stated(about)), self.expected, self.belief)
        return self._verdicts[about]

    def of_queries(self, system: str, about: About) -> list[QueryScore]:
        """The scores of a system query by query, in the order of the queries; their mean is its score."""
        self._check(self.pool.systems, "system", system)
        retrieved = self.pool.retrieved[[self.pool.systems.index(system)]].indices
        codes, count = self.pool.query[retrieved], len(self.pool.queries)
        pairs = np.bincount(codes, minlength=count).tolist()
        judged = np.bincount(codes[self.belief.judged[retrieved]], minlength=count).tolist()
        known = {query: (pairs[code], judged[code]) for code, query in enumerate(self.pool.queries)}
        found = []
        for query, ranking in self._by_query((system,), about):
            (low,), (high,) = ranking.scores.interval(LEVEL)
            mean, variance = float(ranking.scores.mean[0]), float(ranking.scores.variance[0])
            found.append(QueryScore(query, mean, variance, float(low), float(high), known[query][1], known[query][0]))
        return found

    def of_two(self, a: str, b: str, about: About) -> TwoSystems:
        """The verdict of `audiosim compare` about a subject."""
        check_two(self.pool.systems, a, b)
        several = len(self.pool.queries) >= FEWEST_QUERIES
        ranking = self.stated(replace(about, queries="queries" if several else "these"))
        return two_systems_ranked(self.expected, self.belief, ranking, (a, b), LEVEL, about)

    def differences(self, a: str, b: str, about: About) -> list[QueryDifference]:
        """The differences of two systems query by query; their mean is the difference of the scores."""
        check_two(self.pool.systems, a, b)
        found = []
        for query, ranking in self._by_query((a, b), about):
            two = TwoSystems(ranking, a, b, LEVEL)
            (low, high), variance = two.interval, float(ranking.scores.differences[1][0])
            found.append(
                QueryDifference(query, two.expectation, variance, low, high, two.above(0.0), two.verdict == "equal")
            )
        return found

    def telling(self, a: str, b: str, count: int) -> list[TellingPair]:
        """The unjudged pairs whose judgment would give most information about the difference of two systems."""
        check_two(self.pool.systems, a, b)
        first, second = map(self.pool.systems.index, (a, b))
        found = telling_pairs(self.expected, self.belief, first, second)
        known = looks_ahead(self.expected, self.belief) and found.whole > 0
        places = found.order[:count]
        (low, high), expected = self._ends(places), self.believed(THESE).expectation
        ranks = self.pool.ranks[[first, second]].toarray()[:, places]
        return [
            TellingPair(
                self.pool.pairs[place].query,
                self.pool.pairs[place].document,
                int(ranks[0, i]) or None,
                int(ranks[1, i]) or None,
                float(expected[place]),
                float(low[i]),
                float(high[i]),
                float(found.reduction[place] / found.whole) if known else None,
            )
            for i, place in enumerate(places.tolist())
        ]

    def clips(self, system: str, query: str, about: About) -> list[Clip]:
        """The results of a system for a query down to the cutoff, in the order of their ranks."""
        self._check(self.pool.systems, "system", system)
        self._check(self.pool.queries, "query", query)
        row = self.pool.ranks[[self.pool.systems.index(system)]]
        own = self.pool.query[row.indices] == self.pool.queries.index(query)
        places, ranks = row.indices[own], row.data[own]
        places = places[np.argsort(ranks, kind="stable")]
        low, high = self._ends(places)
        belief, gains = self.believed(about), self.believed(about).on_scale.mean
        grade = np.where(belief.judged, belief.grades, belief.expectation)[places]
        judged = belief.judged[places]
        low, high = np.where(judged, grade, low), np.where(judged, grade, high)
        columns = (np.sort(ranks), judged, grade, low, high, gains[places])
        rows = zip(places.tolist(), *(column.tolist() for column in columns), strict=True)
        return [Clip(rank, self.pool.pairs[place].document, *more) for place, rank, *more in rows]

    def _by_query(self, systems: Sequence[str], about: About) -> Iterator[tuple[str, Ranking]]:
        about = replace(about, queries=THESE.queries)
        return rankings_by_query(self.expected, self.believed(about), self.stated(about), systems)

    def _ends(self, places: Integers) -> tuple[Array, Array]:
        """Ends of the central 95 % interval of a single grade of some pairs, from the level probabilities."""
        belief = self.believed(THESE)
        below = np.cumsum(belief.probabilities[places], axis=1)
        low, high = ((below < edge - ROUNDING).sum(axis=1) for edge in (TAIL, 1 - TAIL))
        last = len(belief.levels) - 1
        return belief.levels[np.minimum(low, last)], belief.levels[np.minimum(high, last)]

    @staticmethod
    def _check(known: Sequence[str], what: str, name: str) -> None:
        if name not in known:
            raise InputError(f"unknown {what} {name!r:.200}, expected one that is ranked{did_you_mean(name, known)}")


@kept_beside
def _verdicts_of(_: Selection) -> dict[About, Verdicts]:
    """Verdicts in a state of a campaign, by subject; they go with the state."""
    return {}
