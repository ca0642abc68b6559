"""Quality of a joint model on held-out queries: of single grades, and of the means of many."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.joint.model import JointEstimator
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.joint.posterior import Belief
from audiosim.ordinal.model import Model, fallbacks
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.multivariate import variance_of_differences
from audiosim.training.cross_validate import View
from audiosim.training.examples import Examples, Judged, Way, deal, draw, seen_only
from audiosim.training.scores import Forecast, PredictionScore, score_predictions
from audiosim.workers import HERE, Workers

JUDGED = 0.1  # default share of each held-out query that is judged, also used for the second half of the intervals
HALVINGS = 3
NOMINAL = 0.95
KNOWN = 1e-7  # a fully judged sum has at most this standard deviation, from rounding
PRIOR = "its ordinal part alone"

Learn = Callable[[Booleans], Model]


class IntervalCoverage(NamedTuple):
    """Number of intervals of one kind of mean that contain the true value.

    what     query means, system means, or differences of systems
    judged   judged share of each query's pairs
    nominal  probability of the intervals
    actual   share of them that contain the true value
    number   number of intervals over all halves; those of one half are not independent
    """

    what: str
    judged: float
    nominal: float
    actual: float
    number: int


def joint_scores(
    judged: Judged,
    way: Way,
    views: Sequence[View],
    learn: Learn,
    levels: Array,
    advance: Callable[[], None],
    workers: Workers = HERE,
) -> list[PredictionScore]:
    """The scores of a joint model on held-out rows, if only the rows drawn by a view are judged.

    views   rows to score; drawn rows belong to held-out queries; None: nothing is judged
    learn   function of a mask (n,) that returns a model trained on these rows
    levels  (l,) levels of the model, rising; rows with other levels are left out
    advance  called after each fold
    workers  processes that learn and predict, one fold each

    One score for each view; if a view has drawn rows, a second one for the model's ordinal part alone.
    """
    said: list[list[_Said]] = [[] for _ in views]
    folds = _FoldPredictions(judged, way, tuple(views), learn, judged.examples.having_level(levels))
    for found in workers.each(folds, len(way.names)):
        for parts, more in zip(said, found, strict=True):
            parts += more
        advance()
    return [
        one for view, parts in zip(views, said, strict=True) for one in _scores(judged.examples, levels, view, parts)
    ]


def joint_intervals(
    judged: Judged, learn: Learn, seed: int, advance: Callable[[], None], workers: Workers = HERE
) -> tuple[IntervalCoverage, ...]:
    """Number of 95 % intervals that contain the true mean, learned on half of the queries and checked on the others.

    learn  learning function as in `joint_scores`
    seed   seed of the halvings and of the judged pairs; see `halves`
    advance  called after each half
    workers  processes that learn and predict, one half each

    Means are over judged pairs, with known grades: those of a query, and those retrieved by a system.
    Intervals are  E +- z sqrt(Var).  Sums with every pair judged do not count.
    """
    inside: dict[tuple[float, str], list[Booleans]] = {}
    for found in workers.each(_HalfIntervals(judged, learn, seed), 2 * HALVINGS):
        for key, hold in found:
            inside.setdefault(key, []).append(hold)
        advance()
    held_by = {key: np.concatenate(hold) for key, hold in inside.items()}
    return tuple(
        IntervalCoverage(what, share, NOMINAL, float(hold.mean()), len(hold))
        for (share, what), hold in held_by.items()
        if len(hold)
    )


def halves(group: Integers, seed: int) -> Iterator[Booleans]:
    """HALVINGS masks (n,), each of the rows in a random half of the groups."""
    rng = np.random.default_rng(seed)
    groups, place = np.unique(group, return_inverse=True)
    for _ in range(HALVINGS):
        yield np.asarray(deal(rng.permutation(len(groups))[place.reshape(-1)], 2) == 0)


class _Said(NamedTuple):
    """Predictions for some rows of the examples, (m,), by a joint model and by its ordinal part, (m, l)."""

    rows: Integers
    model: Array
    prior: Array


@dataclass(frozen=True, slots=True)
class _FoldPredictions:
    """Learns from all folds but one, and predicts the rows of that one in each view.

    within  (n,) True for rows with a level of the model
    """

    judged: Judged
    way: Way
    views: tuple[View, ...]
    learn: Learn
    within: Booleans

    def __call__(self, number: int) -> list[list[_Said]]:
        held = np.asarray(self.way.fold == number)
        estimators, found = _estimators(self.judged, self.learn(~held)), []
        for view in self.views:
            seen = np.zeros(len(held), dtype=np.bool_) if view.drawn is None else held & view.drawn
            predicted = _predictions(self.judged, estimators, seen, held & view.rows & self.within)
            found.append(
                [
                    _Said(rows.examples, one.probabilities[rows.pairs], one.marginals[rows.pairs])
                    for rows, one in predicted
                ]
            )
        return found


@dataclass(frozen=True, slots=True)
class _HalfIntervals:
    """Learns from one half of the queries of a halving, and checks intervals on the other half."""

    judged: Judged
    learn: Learn
    seed: int

    def __call__(self, number: int) -> list[tuple[tuple[float, str], Booleans]]:
        judged, (halving, second) = self.judged, divmod(number, 2)
        half = list(halves(judged.examples.group, self.seed))[halving]
        held = ~half if second else half
        estimators, found = _estimators(judged, self.learn(~held)), []
        for share in (0.0, JUDGED):
            lot = held & draw(judged.examples.group, share, self.seed + halving)
            for rows, prediction in _predictions(judged, estimators, lot, held):
                found += [((share, what), hold) for what, hold in _held_by(judged, rows, prediction)]
        return found


def _scores(examples: Examples, levels: Array, view: View, said: Sequence[_Said]) -> Iterator[PredictionScore]:
    if not said:
        raise InputError(f"{view.label}: no judgment is left to predict")
    rows, *predicted = (np.concatenate(parts) for parts in zip(*said, strict=True))
    sample = examples.of(rows).sample((), np.ones(len(rows), dtype=np.bool_), levels)
    names = ("model",) if view.drawn is None else ("model", PRIOR)
    for name, probabilities in zip(names, predicted, strict=False):
        yield score_predictions(name, view.label, Forecast(probabilities, None), sample)


class _Rows(NamedTuple):
    """Some judged pairs of one pool.

    place     place of the pool
    examples  (m,) their rows among the examples
    pairs     (m,) their places in the pool
    """

    place: int
    examples: Integers
    pairs: Integers


def _rows(judged: Judged) -> Iterator[_Rows]:
    """All judged pairs of each pool."""
    start = 0
    for place, (_, given) in enumerate(judged.pools):
        pairs = np.flatnonzero(~np.isnan(given))
        yield _Rows(place, np.arange(start, start + len(pairs)), pairs)
        start += len(pairs)


def _estimators(judged: Judged, model: Model) -> list[JointEstimator]:
    return [JointEstimator(pool, (model, *fallbacks(model))) for pool, _ in judged.pools]


def _predictions(
    judged: Judged, estimators: Sequence[JointEstimator], seen: Booleans, wanted: Booleans
) -> Iterator[tuple[_Rows, Belief]]:
    """Predictions for the wanted rows, pool by pool, if only the seen rows are judged.

    The variances are learned if there are as many judgments as in a campaign that learns.
    """
    for place, (rows, (_, grades), estimator) in enumerate(
        zip(_rows(judged), seen_only(judged.pools, seen), estimators, strict=True)
    ):
        chosen = wanted[rows.examples]
        if chosen.any():
            learned = estimator.relearned(grades) if np.sum(~np.isnan(grades)) >= FIRST_LEARNING else estimator
            yield _Rows(place, rows.examples[chosen], rows.pairs[chosen]), learned.predict(grades)


def _held_by(judged: Judged, rows: _Rows, prediction: Belief) -> Iterator[tuple[str, Booleans]]:
    """For each kind of mean over the rows, a mask of the intervals that contain the true value."""
    pool, given = judged.pools[rows.place]
    reach, truth = float(ndtri((1 + NOMINAL) / 2)), np.nan_to_num(given) / pool.scale.maximum
    weights = means(pool, rows.pairs)
    for what, variance in _variances(prediction, weights):
        deviation = np.sqrt(variance)
        hold = np.abs(weights[what] @ (truth - prediction.gains.mean)) <= reach * deviation
        yield what, hold[deviation > KNOWN]


def _variances(prediction: Belief, weights: Mapping[str, sparse.csr_array]) -> Iterator[tuple[str, Array]]:
    """The variance of each mean of each kind."""
    queries, systems = "query means", "system means"
    yield queries, prediction.gains.project(weights[queries]).variance
    covariance = prediction.gains.project(weights[systems]).covariance
    own = np.diagonal(covariance)
    yield systems, own
    # There are s (s - 1) / 2 differences: for 50 systems, projecting them takes 25 times as long as projecting the
    # systems.
    first, second = np.triu_indices(len(own), 1)
    yield "differences of systems", np.maximum(0, variance_of_differences(covariance, first, second))


def means(pool: Pool, pairs: Integers) -> dict[str, sparse.csr_array]:
    """Weights (sums, n) that turn grades into means over some pairs: of each query, of each system, and the
    differences of systems.

    pairs  places in the pool

    Queries and systems without such pairs are left out.
    """
    n, chosen = len(pool.pairs), np.zeros(len(pool.pairs))
    chosen[pairs] = 1
    queries = sparse.csr_array((chosen, (pool.query, np.arange(n))), shape=(len(pool.queries), n))
    systems = _normalised(sparse.csr_array(pool.retrieved.multiply(chosen)))
    both = np.array(list(combinations(range(systems.shape[0]), 2)), dtype=np.int64).reshape(-1, 2)
    return {
        "query means": _normalised(queries),
        "system means": systems,
        "differences of systems": sparse.csr_array(systems[both[:, 0]] - systems[both[:, 1]]),
    }


def _normalised(weights: sparse.csr_array) -> sparse.csr_array:
    """The rows that have any weight, scaled to a sum of 1."""
    sums = np.asarray(weights.sum(axis=1)).ravel()
    some = np.flatnonzero(sums)
    return sparse.csr_array(sparse.diags_array(1 / sums[some]) @ weights[some])
