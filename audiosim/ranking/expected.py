"""Expectation and uncertainty of a measure while judgments are missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from scipy import sparse

from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Judgment, mean_grades
from audiosim.errors import InputError
from audiosim.evaluation.evaluation import to_score
from audiosim.joint.check import NOT_NEEDED, ModelCheck, Reserved, check_model
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, hearing, make_estimator, taught_by
from audiosim.joint.moments import last_moment
from audiosim.joint.people import Panel
from audiosim.joint.posterior import Belief, model_notes
from audiosim.measures.measure import Measure, beyond_in_words
from audiosim.measures.satisfaction import SatisfactionMapping
from audiosim.ranking.about import THESE, About, DifferenceDistribution, Ideal, as_about, check_named
from audiosim.ranking.linear import LinearScores
from audiosim.ranking.ranking import Ranking, checked, of_these, of_this_kind
from audiosim.ranking.ratio import RatioScores
from audiosim.ranking.reach import mean_reach, reach_by_query
from audiosim.ranking.sampled import DRAWS, SampledScores
from audiosim.ranking.scores import Reach, SystemScores
from audiosim.ranking.verdicts import Verdicts
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import Moments, MultivariateNormal

FEWEST_QUERIES = 2  # fewest queries to estimate the variation between queries


class ExpectedScores(Protocol):
    """Expectation of the systems' mean scores over the queries, for one measure and pool.

    draws  number of draws of the grades; None if computed without drawing
    """

    @property
    def measure(self) -> Measure: ...

    @property
    def pool(self) -> Pool: ...

    @property
    def draws(self) -> int | None: ...

    def scores(self, belief: Belief) -> Moments:
        """(s,) moments of the mean scores, with their full covariance."""
        ...

    def by_query(self, belief: Belief) -> Iterator[tuple[int, Moments]]:
        """Number of each query, and (s,) moments of the scores for it; a query without documents may be left out."""
        ...

    def between_queries(self, belief: Belief, scores: Moments, mapping: SatisfactionMapping | None = None) -> Array:
        """(s, s) expected sample covariance of the systems' scores over the queries, given the judgments.

        scores   moments of the mean scores by the same belief
        mapping  function from scores to shares of users: if given, result and `scores` are about these; see `satisfied`
        """
        ...

    def satisfied(self, belief: Belief, mapping: SatisfactionMapping) -> Moments:
        """(s,) moments of the mean over the queries of the shares of users whom the scores satisfy."""
        ...

    def after(self, scores: Moments, before: Belief, belief: Belief, index: int) -> Moments:
        """Update the moments after a judgment of the single pair at `index`."""
        ...

    def slopes(self, belief: Belief) -> sparse.csc_array:
        """(s, n) derivative of each system's mean score by the gain of each pair."""
        ...

    def gains(self, belief: Belief) -> MultivariateNormal:
        """Posterior of the (n,) gains of the pairs."""
        ...

    def discounted(self, belief: Belief) -> sparse.csc_array:
        """(s, n) the discount at which each system retrieved each pair, divided by the ideal if there is one."""
        ...


def expected_scores(measure: Measure, pool: Pool, ideal: Ideal = "ordered", draws: int = DRAWS) -> ExpectedScores:
    """Expected scores of a measure.

    Exact if the measure is linear in the gains, by the delta method if it is divided by the ideal ranking's sum, by
    simulation otherwise.

    ideal  see `RatioScores`
    draws  see `SampledScores`
    """
    check_named(ideal, "ideal", Ideal)
    if measure.lowest_rel > pool.scale.maximum:
        raise InputError(f"rel of {measure} must be at most {pool.scale.maximum:g}, the highest grade")
    if measure.rank_weights is None:
        return SampledScores(measure, pool, draws)
    return RatioScores(measure, pool, ideal) if measure.relative else LinearScores(measure, pool)


def rank(
    expected: ExpectedScores,
    model: str,
    scores: Moments,
    judged: int,
    distribution: DifferenceDistribution = "t",
    correlated: bool = False,
    reach: Reach | None = None,
) -> Ranking:
    """Ranking from moments of the systems' scores.

    model       name of the estimator
    judged      number of judged pairs
    correlated  True if the gains were modelled as correlated
    reach       as of `SystemScores`
    """
    pool = expected.pool
    measure, pairs = expected.measure, len(pool.pairs)
    shape = len(pool.queries), pairs, measure.bounded, distribution, correlated, expected.draws
    found = SystemScores(scores.mean, scores.covariance, *shape, reach=reach)
    return Ranking(measure, model, pool.systems, found, judged, pairs, _statements=Verdicts)


@judgments_second
def estimate(
    collection: object,
    model: NameOrFile | RelevanceEstimator | None = None,
    measure: str | Measure = "CG",
    *,
    ideal: Ideal = "ordered",
    draws: int = DRAWS,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    judgments: object = None,
    scale: str | None = None,
) -> Ranking:
    """Rank the systems of a collection from the judgments made so far, even few or none.

    collection    `Collection` or its folder, or runs in memory; see `Collection.from_frames`
    model         name in models/ such as "mout", a model file, "uniform", an estimator for this collection's pool
                  down to the measure's cutoff, or None for "joint"
    measure       any measure, such as "nDCG@10"; "CG", without a cutoff, takes the collection's
    ideal         ideal ranking of nDCG and RBP: `ordered`, or `independent` as in the thesis; see `RatioScores`
    draws         number of draws of grades, for simulated measures; see `SampledScores`
    distribution  distribution of scores and differences: "t", or "normal" as in the paper of 2013
    about         "these" queries, or "queries" of this kind; and the "panel" of assessors, "listeners" at large, or a
                  number of people such as "6"
    judgments     judgments in memory, or a file, instead of the collection's; `estimate(runs, qrels)` also works
    scale         scale of the judgments, such as "broad" or "0-3", or an artificial one, as for `evaluate`; None: the
                  collection's, or guessed
    """
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    expected = expected_scores(measure, pool, ideal, draws)
    return estimate_after(expected, make_estimator(pool, model), collection.judgments, distribution, as_about(about))


def to_rank(
    collection: object, measure: str | Measure, scale: str | None, judgments: object = None
) -> tuple[Collection, Measure, Pool]:
    """The collection on a scale, the measure with a cutoff, and the pool down to it; see `estimate`."""
    collection, measure = to_score(collection, measure, scale, judgments)
    return collection, measure, build_pool(collection, measure.cutoff)


def estimate_after(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
    learned: bool = False,
) -> Ranking:
    """Rank the systems of a pool by an estimator once it has learned from some judgments, in their order.

    learned  True if the estimator has learned from them already
    """
    pool, grades = expected.pool, mean_grades(judgments)
    taught = estimator if learned else taught_by(pool, estimator, judgments)
    heard = hearing(taught, Panel.of(pool, judgments))
    belief = heard.predict(pool.spread(grades))
    return rank_belief(expected, heard, belief, distribution, pool.locate_judged(grades), about)


def confidences(
    pool: Pool,
    measure: Measure,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    moments: int = 60,
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
) -> list[tuple[int, float | None]]:
    """Confidence in the ranking over the course of judging: (number of judgments, confidence) at some moments.

    judgments  judgments in the order of judging
    moments    number of evenly spaced moments, including those before the first and after the last judgment
    """
    expected, taught = expected_scores(measure, pool), dict[int, RelevanceEstimator]()
    found = []
    for place in sorted({round(step * len(judgments) / (moments - 1)) for step in range(moments)}):
        known = judgments[:place]
        moment = last_moment(len({judgment.pair for judgment in known if judgment.pair in pool.positions}))
        if moment not in taught:
            taught[moment] = taught_by(pool, estimator, known)
        ranking = estimate_after(expected, taught[moment], known, distribution, about, learned=True)
        found.append((place, ranking.confidence))
    return found


def rank_belief(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    belief: Belief,
    distribution: DifferenceDistribution = "t",
    order: Integers | None = None,
    about: About = THESE,
) -> Ranking:
    """Rank the systems of a pool by its estimator's belief given the judgments, and check the model against them.

    order  (k,) places of the judged pairs, in the order of judging; the pool's order if None
    about  subject of the ranking
    """
    return grounds_of(expected, estimator, belief, distribution, order).about(about, expected)


def grounds_of(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    belief: Belief,
    distribution: DifferenceDistribution = "t",
    order: Integers | None = None,
) -> "Grounds":
    """Ranking by a belief with its basis; see `rank_belief`."""
    ranking = unchecked_ranking(expected, estimator.name, belief, expected.scores(belief), distribution)
    order = np.flatnonzero(belief.judged) if order is None else order
    return check_ranking(expected, estimator, belief, ranking, order)


def unchecked_ranking(
    expected: ExpectedScores, model: str, belief: Belief, scores: Moments, distribution: DifferenceDistribution
) -> Ranking:
    """Ranking by a belief about these queries, without any check against the judgments.

    scores  scores expected by the belief
    """
    what, judged = (expected.measure, expected.pool, belief), int(belief.judged.sum())
    reach = partial(mean_reach, *what)
    found = rank(expected, model, scores, judged, distribution, belief.prior.correlated, reach)
    fallen = 0 if belief.prior.correlated else np.count_nonzero(belief.model[~belief.judged])
    found = replace(found, notes=notes_of(*what), fallen=int(fallen))
    return found if belief.answers is None else replace(found, comparisons=len(belief.answers.model.compared))


def notes_of(measure: Measure, pool: Pool, belief: Belief) -> tuple[str, ...]:
    """Sentences on judged pairs that no system retrieved, on unused metadata and on fallbacks of the model."""
    fallen, beyond = model_notes(belief, pool), len(pool.beyond)
    if not beyond:
        return fallen
    judged = beyond + int(belief.judged.sum())
    return beyond_in_words(measure, pool.scale, beyond, judged, "judged pairs"), *fallen


@dataclass(frozen=True, eq=False)
class Grounds:
    """Basis of a ranking, from which statements about other queries or other people are derived.

    ranking   ranking about these queries
    belief    belief from which its scores were computed
    believed  scores by that belief, before widening by a failed check
    """

    ranking: Ranking
    belief: Belief
    believed: Moments

    def about(self, about: About, expected: ExpectedScores) -> Ranking:
        """The ranking about some queries.

        expected  expectation of the measure
        """
        if about.listeners != self.ranking.about.listeners:
            return self._of_people(about, expected).about(about, expected)
        found = self._of_queries(about, expected)
        if not self.belief.judges:
            return found
        beside = about.listeners == "panel" and self.belief.judges > 1
        others = partial(self.about, replace(about, listeners="listeners"), expected) if beside else None
        return replace(found, judges=self.belief.judges, _others=others)

    def _of_queries(self, about: About, expected: ExpectedScores) -> Ranking:
        if about.queries == "these":
            return self.ranking
        if self.ranking.scores.queries < FEWEST_QUERIES:
            raise InputError(
                "a single query does not show how queries of this kind vary: expected a statement about these"
            )
        return of_this_kind(self.ranking, expected.between_queries(self.belief, self.believed))

    def _of_people(self, about: About, expected: ExpectedScores) -> "Grounds":
        """Basis of the ranking by the opinion of other people; a failed check widens it in the same way."""
        belief = self.belief.about(about.whose)
        scores = expected.scores(belief)
        subject = replace(self.ranking.about, listeners=about.listeners)
        reach = partial(mean_reach, expected.measure, expected.pool, belief)
        theirs = replace(self.ranking.scores.moved(scores), reach=reach).wider(self.ranking.check.factor)
        return Grounds(replace(self.ranking, scores=theirs, about=subject), belief, scores)


def check_ranking(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    belief: Belief,
    ranking: Ranking,
    order: Integers,
    kept: ModelCheck | None = None,
) -> Grounds:
    """Ranking with a check of its model; if the check fails, the more cautious replacement.

    belief   belief of the estimator, given the judgments
    ranking  ranking by that belief, about these queries
    order    (k,) places of the judged pairs, in the order of judging
    kept     earlier check, by fewer judgments, that remains in force; None to check the model now

    If a model with a replacement (see `Reserved`) fails the check, the scores come from the replacement: the model
    has then learned something that is not true here. All deviations are multiplied by the `factor` of the check.
    If every pair is judged, nothing depends on the model, and it is not checked.
    """
    if ranking.judged == ranking.pool:
        return Grounds(checked(ranking, NOT_NEEDED), belief, ranking.scores)
    check = kept or check_model(estimator, belief, order, expected.pool)
    if check.verdict == "FAIL" and isinstance(estimator, Reserved) and (reserve := estimator.in_reserve()) is not None:
        belief = reserve.predict(belief.grades)
        ranking = replace(ranking, scores=ranking.scores.moved(expected.scores(belief)))
        if kept is None:
            check = replace(check, instead=check_model(reserve, belief, order, expected.pool))
    return Grounds(checked(ranking, check), belief, ranking.scores)


# Scores of systems query by query, whose means are the scores of a ranking.


def rankings_by_query(
    expected: ExpectedScores, belief: Belief, ranking: Ranking, systems: Sequence[str]
) -> Iterator[tuple[str, Ranking]]:
    """Each query, and the ranking of some systems on it alone.

    belief   belief behind the ranking, unwidened
    ranking  ranking of all systems; its distribution and its failed check apply to each query too

    The mean of the scores over the queries is that of the ranking. A query without any retrieved document has no
    ranking. An interval is about a single query, so it does not include the variation between queries.
    """
    whole, pool = of_these(ranking), expected.pool
    own = [pool.systems.index(system) for system in systems]
    low, high = reach_by_query(expected.measure, pool, belief)
    for code, moments in expected.by_query(belief):
        scores = whole.scores.moved(Moments(moments.mean[own], moments.covariance[np.ix_(own, own)]))
        scores = replace(scores, reach=partial(known_ends, low[own, code], high[own, code])).wider(ranking.check.factor)
        yield pool.queries[code], replace(whole, systems=tuple(systems), scores=scores, _others=None)


def known_ends(low: Array, high: Array) -> tuple[Array, Array]:
    """(s,) the lowest and (s,) the highest scores, if both are known: to be bound as the `reach` of scores."""
    return low, high
