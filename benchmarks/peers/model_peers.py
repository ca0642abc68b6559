"""Methods with a model of the unjudged documents."""

import numpy as np
from scipy import linalg, sparse

from audiosim.joint.estimators import uniform
from audiosim.joint.terms import log_teams
from audiosim.ranking import Selection
from audiosim.stats.arrays import Array, Integers
from peers.statement import StatedRanking, by_deviations, nothing_known, order_alone, pairs_of
from peers.task import Grader, Task

JITTER = 1e-8  # share of the variance of the judged gains, which makes their covariance invertible
BOUNDS = (1e-5, 1e3)  # bounds of a component's variance, in variances of the judged gains


def mtc(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Minimal test collections: judges the pairs that affect most differences; all others are uniform on the scale.

    Every grade of the scale is equally likely, documents are independent, and a difference is normal. Carterette, Allan
    & Sitaraman (2006), doi:10.1145/1148170.1148219, with the weights and the variances of Urbano & Schedl (2013),
    Algorithm 1.
    """
    start = Selection.start(
        task.pool,
        task.expected,
        uniform(task.pool),
        selection_rule="differences",
        seed=int(rng.integers(2**32)),
        distribution="normal",
        checks=False,
    )
    if grader.budget:
        # Judging does not change the weights of a weighted sum, so the whole batch is known at once.
        places = task.pool.locate(start.ask(grader.budget))
        start = start.judge_all(places, grader(places) * task.pool.scale.maximum)
    return of_moments(start.scores.mean, start.scores.covariance)


def of_moments(mean: Array, covariance: Array) -> StatedRanking:
    """StatedRanking of scores that are normal with these moments."""
    first, second = pairs_of(len(mean))
    variance = np.diagonal(covariance)
    between = variance[first] + variance[second] - 2 * covariance[first, second]
    rounding = (variance[first] + variance[second]) * 1e-12
    between = np.where(between > rounding, between, 0)
    return by_deviations(mean, np.sqrt(np.maximum(variance, 0)), mean[first] - mean[second], np.sqrt(between))


def teams(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Mean logarithm of the number of teams that found a system's documents; without judgments or confidence."""
    return order_alone(np.asarray(task.weights @ log_teams(task.pool)))


def gaussian_process(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Gaussian process by maximum likelihood, on the pairs that audiosim judged, fitted as in scikit-learn.

        k(d, e) = v_1 l_d l_e + v_2 [one query] + v_3 s_de + v_4 [one query] s_de + v_5 [d = e]

    with l the standardised logarithm of the number of teams and s the cosine of the sets of systems that retrieved two
    documents; the judged gains are standardised, and the likelihood is maximised as in `GaussianProcessRegressor`.
    Without judgments no statement is made. Rasmussen & Williams (2006), section 5.4.1.
    """
    judged = np.array(task.order[: grader.budget], dtype=np.int64)
    if len(judged) < 2:
        return nothing_known(len(task.pool.systems))
    gains, parts = grader(judged), components(task)
    scale = gains.std() or 1.0
    values = (gains - gains.mean()) / scale
    variances = fitted_variances([among(part[judged], part[judged]) for part in parts], values)
    mean, covariance = posterior_of_scores(variances, parts, task.weights, judged, values)
    centre = np.asarray(task.weights.sum(axis=1)).ravel() * gains.mean()
    return of_moments(mean * scale + centre, covariance * scale**2)


def components(task: Task) -> list[sparse.csr_array]:
    """Sparse F (n, f) of each component of the covariance, which is F F'; see `gaussian_process`."""
    pool, n = task.pool, len(task.pool.pairs)
    logs = log_teams(pool)
    logs = (logs - logs.mean()) / (logs.std() or 1.0)
    same = sparse.csr_array((np.ones(n), (np.arange(n), pool.query)), (n, len(pool.queries)))
    lengths = np.sqrt(np.maximum(np.asarray(pool.retrieved.sum(axis=0)).ravel(), 1))
    found = sparse.csr_array(pool.retrieved.T.multiply(1 / lengths[:, None])).tocoo()
    systems = len(pool.systems)
    by_query = pool.query[found.row] * systems + found.col
    by_both = sparse.csr_array((found.data, (found.row, by_query)), (n, systems * len(pool.queries)))
    return [sparse.csr_array(logs[:, None]), same, found.tocsr(), by_both, sparse.eye_array(n, format="csr")]


def among(rows: sparse.csr_array, columns: sparse.csr_array) -> Array:
    """Covariances of some unknowns with others, by the features of each."""
    return np.asarray((rows @ columns.T).todense())


def posterior_of_scores(
    variances: Array, parts: list[sparse.csr_array], weights: sparse.csr_array, judged: Integers, values: Array
) -> tuple[Array, Array]:
    """Mean (s,) and covariance (s, s) of weighted sums of normal variables of mean 0, given some of them.

        E = W K_J K_JJ^-1 y,   Var = W K W' - W K_J K_JJ^-1 K_J' W'

    Rasmussen & Williams (2006), equations 2.23 and 2.24. Never forms the covariance of all pairs, which may be large.
    """
    sums = [sparse.csr_array(weights @ part) for part in parts]
    known = _whole(variances, [among(part[judged], part[judged]) for part in parts]) + JITTER * np.eye(len(judged))
    across = _whole(variances, [among(sum_, part[judged]) for sum_, part in zip(sums, parts, strict=True)])
    gain = linalg.solve(known, across.T, assume_a="pos").T
    return gain @ values, _whole(variances, [among(sum_, sum_) for sum_ in sums]) - gain @ across.T


def fitted_variances(rows: list[Array], values: Array) -> Array:
    """Variances of the components with maximum likelihood for standardised values, as in `GaussianProcessRegressor`.

    rows    (k, k) each component among the judged pairs
    values  (k,) values with mean 0 and variance 1
    """
    from scipy.optimize import minimize  # imported here, as most uses need not pay for its start-up time

    def loss(logs: Array) -> tuple[float, Array]:
        found, slope = likelihood_of_variances(np.exp(logs), rows, values)
        return -found, -slope

    start, bounds = np.full(len(rows), np.log(1 / len(rows))), [tuple(np.log(BOUNDS))] * len(rows)
    return np.exp(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def likelihood_of_variances(variances: Array, rows: list[Array], values: Array) -> tuple[float, Array]:
    """Logarithm of the normal density of values of mean 0, and its slope in the logarithms of the variances.

        -1/2 y' K^-1 y - 1/2 log |K| - k/2 log 2 pi,   slope_j = v_j / 2 tr((K^-1 y y' K^-1 - K^-1) K_j)

    Rasmussen & Williams (2006), equations 5.8 and 5.9.
    """
    whole = _whole(variances, rows) + JITTER * np.eye(len(values))
    factor = linalg.cho_factor(whole, lower=True)
    solved = linalg.cho_solve(factor, values)
    inner = np.outer(solved, solved) - linalg.cho_solve(factor, np.eye(len(values)))
    density = values @ solved / 2 + np.log(np.diagonal(factor[0])).sum() + len(values) / 2 * np.log(2 * np.pi)
    slope = [variance / 2 * np.vdot(inner, row) for variance, row in zip(variances, rows, strict=True)]
    return -float(density), np.array(slope)


def _whole(variances: Array, rows: list[Array]) -> Array:
    return np.asarray(sum(variance * row for variance, row in zip(variances, rows, strict=True)))
