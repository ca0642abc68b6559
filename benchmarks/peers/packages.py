"""Methods of other packages, each called as its documentation recommends."""

import importlib
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from audiosim.joint.terms import log_teams
from audiosim.stats.arrays import Array, Booleans
from peers.sampling import FEWEST, draw_evenly, means_by_t
from peers.statement import LEVEL, StatedRanking, by_deviations, nothing_known, pairs_of
from peers.task import Grader, Task

QUANTILE = 1.959963984540054  # 97.5 % quantile of the normal distribution, to convert an interval to a deviation
LEAST_CHANCE = 0.05  # uncertainty of a document without effect on differences, as a share of the largest
DUELS = 1000  # most comparisons of two systems on a query
BELOW = 1 - 1e-9  # keeps rounding from putting a probability above 1
PRECISION = 1.0  # precision of choix's prior of a system's strength


def ppi(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Prediction-powered inference of each score and difference from a random sample: `ppi_py.ppi_mean_ci`.

    The predictor is linear in the logarithm of the number of teams, fitted to the judged pairs; the package tunes its
    weight. A system or a pair with fewer than FEWEST judged or unjudged documents gets a t-interval.
    Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453.
    """
    package = importlib.import_module("ppi_py")
    plain = means_by_t(task, grader, rng)
    seen, gains = grader.seen, np.zeros(len(task.pool.pairs))
    places = np.flatnonzero(seen)
    gains[places] = grader(places)
    guess = _line(log_teams(task.pool), gains, seen)

    def one(row: Array) -> tuple[float, float]:
        inside = row != 0
        own, others = inside & seen, inside & ~seen
        if own.sum() < FEWEST or others.sum() < FEWEST:
            return np.nan, np.nan
        size = inside.sum() * row
        known, judged, rest = size[own] * gains[own], size[own] * guess[own], size[others] * guess[others]
        if not np.ptp(known):
            return np.nan, np.nan
        return _ends(package.ppi_mean_ci(known, judged, rest, alpha=1 - LEVEL))

    return _each(task, one, plain)


def _line(covariate: Array, gains: Array, seen: Booleans) -> Array:
    """(n,) predicted gains: the least-squares line in a covariate, or their mean if it is uninformative."""
    if seen.sum() < 2 or not np.ptp(covariate[seen]):
        return np.full(len(gains), gains[seen].mean() if seen.any() else 0.5)
    return np.asarray(np.polyval(np.polyfit(covariate[seen], gains[seen], 1), covariate), dtype=np.float64)


def _ends(ends: tuple[Any, Any]) -> tuple[float, float]:
    """Middle and standard error of a normal interval."""
    low, high = (float(np.ravel(end)[0]) for end in ends)
    return (low + high) / 2, (high - low) / 2 / QUANTILE


def _each(task: Task, one: Callable[[Array], tuple[float, float]], plain: StatedRanking) -> StatedRanking:
    """StatedRanking by an estimate and a standard error of every score and every difference.

    one    function of the weights (n,) of a score or difference; returns NaN if it has no estimate
    plain  statement to use in that case
    """
    rows = task.weights.toarray()
    first, second = pairs_of(len(rows))
    score, error = np.array([one(row) for row in rows]).T
    between = [one(rows[a] - rows[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    difference, spread = np.array(between).reshape(-1, 2).T
    said = by_deviations(
        np.where(np.isnan(score), plain.scores, score),
        error,
        np.where(np.isnan(difference), plain.differences, difference),
        spread,
    )
    lacking, without = np.isnan(score), np.isnan(difference)
    return StatedRanking(
        said.scores,
        np.where(lacking, plain.half, said.half),
        said.differences,
        np.where(without, plain.half_differences, said.half_differences),
        np.where(without, plain.confidence, said.confidence),
    )


def glide(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Active statistical inference by GLIDE: `ActiveSampler`, then `ASIMeanEstimator` of each score and difference.

    A document's uncertainty is its effect on differences of systems, its proxy the logarithm of the number of teams as
    a share of the largest; the package tunes the weight of the proxy. Zrnic & Candès (2024), ICML.
    """
    sampler = importlib.import_module("glide.samplers").ActiveSampler()
    estimator = importlib.import_module("glide.estimators").ASIMeanEstimator()
    found = np.flatnonzero(task.pool.found)
    budget = min(grader.budget, len(found))
    if budget < FEWEST:
        return nothing_known(len(task.pool.systems))
    doubt = np.maximum(task.bearing[found], LEAST_CHANCE * (task.bearing.max() or 1.0))
    chance, drawn = sampler.sample(capped(doubt, budget), budget, random_seed=int(rng.integers(2**32)))
    taken = drawn == 1
    gains = np.full(len(found), np.nan)
    gains[taken] = grader(found[taken])
    logs = log_teams(task.pool)[found]
    proxy = logs / (logs.max() or 1.0)

    def one(row: Array) -> tuple[float, float]:
        size = len(found) * row[found]
        if (taken & (size != 0)).sum() < FEWEST:
            return np.nan, np.nan
        try:
            said = estimator.estimate(size * gains, size * proxy, np.minimum(chance, 1.0), confidence_level=LEVEL)
        except ValueError:  # raised for an uninformative proxy
            return np.nan, np.nan
        interval = said.confidence_interval
        return float(interval.mean), float(interval.std)

    return _each(task, one, nothing_known(len(task.pool.systems)))


def capped(doubt: Array, budget: int) -> Array:
    """Uncertainties capped so that no probability exceeds 1: these are min(1, c doubt), and sum to the budget.

    This is the optimum that `ActiveSampler` searches for, which takes minutes with thousands of pairs.
    """
    order = np.sort(doubt)
    # With the k largest capped at c: budget c = sum of the others + k c.
    sums, cut = np.cumsum(order), np.arange(len(order) - 1, -1, -1)
    open_ = budget > cut
    levels = np.where(open_, sums / np.maximum(budget - cut, 1), np.inf)
    fits = np.flatnonzero(open_ & (levels >= order * (1 - 1e-12)))
    return np.minimum(doubt, levels[fits[-1]] * BELOW) if len(fits) else doubt


def cje(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Causal Judge Evaluation of a random sample: each system a policy, each query a prompt, each document a draw.

    The judge scores the logarithm of the number of teams. `cje.analyze_dataset`, and its `compare_policies` for pairs.
    It estimates the mean over retrieved documents, which is the score where every list is full.
    """
    package = importlib.import_module("cje")
    plain = means_by_t(task, grader, rng)
    seen, gains = grader.seen, np.zeros(len(task.pool.pairs))
    places = np.flatnonzero(seen)
    gains[places] = grader(places)
    if seen.sum() < FEWEST:  # the judge would be trusted blindly
        return plain
    with _quiet():
        try:
            found = package.analyze_dataset(fresh_draws_data=_policies(task, gains, seen), strict=False)
        except (ValueError, RuntimeError):  # too few labels for its calibration
            return plain
        place = {int(name[1:]): code for code, name in enumerate(found.metadata["target_policies"])}
        return _of_policies(found, place, task, plain)


def _policies(task: Task, gains: Array, seen: Booleans) -> dict[str, list[dict[str, Any]]]:
    judge, query, ranks = log_teams(task.pool), task.pool.query, task.pool.ranks
    rows: dict[str, list[dict[str, Any]]] = {}
    for system in range(len(task.pool.systems)):
        span = slice(ranks.indptr[system], ranks.indptr[system + 1])
        rows[f"s{system}"] = [
            {
                "prompt_id": f"q{query[pair]}",
                "judge_score": float(judge[pair]),
                "oracle_label": float(gains[pair]) if seen[pair] else None,
                "draw_idx": int(rank) - 1,
            }
            for pair, rank in zip(ranks.indices[span].tolist(), ranks.data[span].tolist(), strict=True)
        ]
    return rows


def _of_policies(found: Any, place: dict[int, int], task: Task, plain: StatedRanking) -> StatedRanking:
    """StatedRanking from the results for policies; `plain` for systems that are not among them."""
    full = np.asarray(task.weights.sum(axis=1)).ravel()
    ends = found.ci(1 - LEVEL)
    first, second = pairs_of(len(full))
    scores, half = plain.scores.copy(), plain.half.copy()
    for system, code in place.items():
        scores[system] = full[system] * found.estimates[code]
        half[system] = full[system] * (ends[code][1] - ends[code][0]) / 2
    differences, reach = scores[first] - scores[second], np.full(len(first), np.nan)
    confidence = np.full(len(first), 0.5)
    for number, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        if a in place and b in place:
            try:
                said = found.compare_policies(place[a], place[b], alpha=1 - LEVEL)
            except RuntimeError:  # raised for a system with a single judged query
                continue
            wide = said.get("ci_upper", np.nan) - said.get("ci_lower", np.nan)
            reach[number] = wide / 2 if np.isfinite(wide) else QUANTILE * said["se_difference"]
            # Its p-value is two-sided; half of it is the probability of the opposite sign.
            confidence[number] = 1 - said["p_value"] / 2 if np.isfinite(said["p_value"]) else 0.5
    return StatedRanking(scores, half, differences, np.where(reach >= 0, reach, np.nan), np.clip(confidence, 0.5, 1))


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence a package's log messages and warnings for each pair of systems, as they would fill the screen."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def choix(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Bradley-Terry model of a random sample, by expectation propagation: `choix.ep_pairwise`.

    On each query a system beats another if the mean of its judged documents is higher; ties are ignored. If there are
    more than DUELS, a random subset is used, because the package iterates over them one by one. Strengths are not
    scores, so there is an order with its confidence, but no interval.
    """
    package = importlib.import_module("choix")
    seen, gains = draw_evenly(task, grader, rng)
    s = len(task.pool.systems)
    wins = duels(task, seen, gains)
    if not wins:
        return nothing_known(s)
    if len(wins) > DUELS:
        wins = [wins[place] for place in rng.choice(len(wins), DUELS, replace=False)]
    with _drawn(rng):
        strength, covariance = package.ep_pairwise(s, wins, PRECISION)
    first, second = pairs_of(s)
    variance = np.diagonal(covariance)
    between = np.sqrt(np.maximum(variance[first] + variance[second] - 2 * covariance[first, second], 0))
    said = by_deviations(strength, np.full(s, np.nan), strength[first] - strength[second], between)
    return StatedRanking(strength, said.half, said.differences, np.full(len(first), np.nan), said.confidence)


@contextmanager
def _drawn(rng: np.random.Generator) -> Iterator[None]:
    """Seed NumPy's global generator from `rng`, for a package that uses no other, and restore it afterwards."""
    before = np.random.get_state()  # noqa: NPY002  see above
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def duels(task: Task, seen: Booleans, gains: Array) -> list[tuple[int, int]]:
    """Winner and loser of each comparison on a query of two systems that both have judged documents there."""
    pool, found = task.pool, []
    for code in range(len(pool.queries)):
        inside = np.flatnonzero((pool.query == code) & seen)
        retrieved = np.asarray(pool.retrieved[:, inside].todense())
        counts = retrieved.sum(axis=1)
        there = np.flatnonzero(counts)
        mean = (retrieved @ gains[inside])[there] / counts[there]
        better, worse = np.nonzero(mean[:, None] > mean + 1e-12)
        found += list(zip(there[better].tolist(), there[worse].tolist(), strict=True))
    return found
