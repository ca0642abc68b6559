"""Methods with a model, compared with scikit-learn, scipy, closed forms and the paper of 2013."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import approx_fprime

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.joint.terms import log_teams
from audiosim.measures.measure import parse_measure
from peers.model_peers import (
    JITTER,
    among,
    components,
    fitted_variances,
    gaussian_process,
    likelihood_of_variances,
    mtc,
    posterior_of_scores,
    teams,
)
from peers.statement import pairs_of
from peers.task import Grader, Task

MIREX = Path(__file__).resolve().parents[3] / "shared" / "data" / "mirex2011"
K = 40


def matrices(task):
    """The components described in `gaussian_process`, one by one."""
    logs, query, retrieved = log_teams(task.pool), task.pool.query, task.pool.retrieved.toarray()
    logs = (logs - logs.mean()) / logs.std()
    same = (query[:, None] == query).astype(float)
    lengths = np.linalg.norm(retrieved, axis=0)
    cosine = retrieved.T @ retrieved / np.outer(lengths, lengths)
    return [np.outer(logs, logs), same, cosine, same * cosine, np.eye(len(logs))]


def test_the_components_are_those_in_words(task):
    for part, expected in zip(components(task), matrices(task), strict=True):
        assert among(part, part) == pytest.approx(expected, abs=1e-12)


@pytest.fixture(scope="module")
def judged(task, gains):
    """Components among the first K pairs, and their standardised gains."""
    places = np.array(task.order[:K])
    values = gains[places]
    return [row[np.ix_(places, places)] for row in matrices(task)], (values - values.mean()) / values.std()


def test_the_likelihood_is_that_of_scipy_and_its_slope_that_of_differences(judged):
    rows, values = judged
    variances = np.array([0.3, 0.2, 0.15, 0.1, 0.4])
    covariance = sum(v * row for v, row in zip(variances, rows, strict=True)) + JITTER * np.eye(K)
    found, slope = likelihood_of_variances(variances, rows, values)
    assert found == pytest.approx(stats.multivariate_normal(np.zeros(K), covariance).logpdf(values))
    by_differences = approx_fprime(
        np.log(variances), lambda logs: likelihood_of_variances(np.exp(logs), rows, values)[0], 1e-7
    )
    assert slope == pytest.approx(by_differences, rel=1e-4, abs=1e-5)


@pytest.fixture(scope="module")
def process(task, gains):
    """scikit-learn's regressor with the same components, fitted separately to the same pairs."""
    process = pytest.importorskip("sklearn.gaussian_process")
    kernels_ = process.kernels

    class Given(kernels_.StationaryKernelMixin, kernels_.Kernel):
        """A given matrix, indexed by row numbers."""

        def __init__(self, matrix):
            self.matrix = matrix

        def __call__(self, X, Y=None, eval_gradient=False):  # noqa: N803
            columns = X if Y is None else Y
            found = self.matrix[np.ix_(X[:, 0].astype(int), columns[:, 0].astype(int))]
            return (found, np.empty((*found.shape, 0))) if eval_gradient else found

        def diag(self, X):  # noqa: N803
            return np.diagonal(self.matrix)[X[:, 0].astype(int)]

    whole = None
    for row in matrices(task):
        one = kernels_.ConstantKernel(0.2, (1e-5, 1e3)) * Given(row)
        whole = one if whole is None else whole + one
    places = np.array(task.order[:K])
    return process.GaussianProcessRegressor(whole, alpha=JITTER, normalize_y=True).fit(places[:, None], gains[places])


@pytest.mark.filterwarnings("ignore:The optimal value")  # a variance of zero is at its bound, as expected
def test_the_process_says_what_scikit_learn_s_says(task, gains, judged, process):
    assert likelihood_of_variances(fitted_variances(*judged), *judged)[0] == pytest.approx(
        process.log_marginal_likelihood_value_, abs=1e-3
    )
    mean, covariance = process.predict(np.arange(len(gains))[:, None], return_cov=True)
    said = gaussian_process(task, Grader(gains, K), np.random.default_rng(0))
    assert said.scores == pytest.approx(task.weights @ mean, abs=2e-3)
    expected = np.sqrt(np.diagonal(task.weights @ (task.weights @ covariance).T))
    assert said.half == pytest.approx(1.96 * expected, rel=0.02)
    first, second = pairs_of(len(said.scores))
    assert said.differences == pytest.approx(said.scores[first] - said.scores[second])


def test_conditioning_is_that_of_the_textbook():
    # Two quantities with variance 1 and correlation .6, one known: E = .6 y, Var = 1 - .6^2; and their sum.
    features = sparse.csr_array(np.array([[1, 0], [0.6, 0.8]]))
    weights = sparse.csr_array(np.array([[0.0, 1], [1, 1]]))
    mean, covariance = posterior_of_scores(np.ones(1), [features], weights, np.array([0]), np.array([2.0]))
    assert mean == pytest.approx([1.2, 3.2], abs=1e-6)
    assert covariance == pytest.approx(np.full((2, 2), 0.64), abs=1e-6)


def test_a_process_speaks_of_the_pairs_that_audiosim_judged(task, gains):
    grader = Grader(gains, 30)
    gaussian_process(task, grader, np.random.default_rng(0))
    assert set(np.flatnonzero(grader.seen)) == set(task.order[:30])


def test_with_nothing_judged_mtc_knows_the_scale_alone(task, gains):
    said = mtc(task, Grader(gains, 0), np.random.default_rng(0))
    # A grade that may be any of 0, 1, ..., 100 has variance (101^2 - 1) / 12 = 850: Urbano (2013), section 7.1.
    variance = np.asarray(task.weights.power(2).sum(axis=1)).ravel() * 850 / 100**2
    assert said.scores == pytest.approx(0.5)
    assert said.half == pytest.approx(1.959964 * np.sqrt(variance))


def test_mtc_judges_what_bears_on_most_pairs_of_systems(task, gains):
    grader = Grader(gains, 25)
    mtc(task, grader, np.random.default_rng(0))
    retrieved = task.pool.retrieved.toarray()
    found = retrieved.sum(axis=0)
    worth = found * (len(retrieved) - found)  # pairs of systems in which only one retrieved the document
    assert worth[grader.seen].min() >= worth[~grader.seen].max()


# Urbano & Schedl (2013), section 5: "MTC with the estimates based on the uniform distribution need about 60% of the
# judgments to reach 95% confidence in the ranking"; Figure 2 has no number for 2011 alone.
@pytest.mark.slow
@pytest.mark.skipif(not MIREX.is_dir(), reason="the public MIREX 2011 files are not there")
def test_mtc_needs_about_as_many_judgments_as_the_paper_says():
    collection = Collection.load(MIREX)
    pool = build_pool(collection)
    gains = pool.spread(collection.grades()) / pool.scale.maximum
    task = Task(parse_measure("CG@5"), pool)
    stated = [
        mtc(task, Grader(gains, round(share * len(gains))), np.random.default_rng(0)).confidence.mean()
        for share in (0.5, 0.6)
    ]
    assert stated[0] < 0.95 < stated[1]


def test_teams_judge_nothing_and_order_by_how_many_agree(task, gains):
    grader = Grader(gains, 50)
    said = teams(task, grader, np.random.default_rng(0))
    assert not grader.seen.any()
    retrieved, team = task.pool.retrieved.toarray() > 0, task.pool.teams
    counts = [len({team[a] for a in np.flatnonzero(column)}) for column in retrieved.T]
    assert said.scores == pytest.approx([np.log(counts)[row].mean() for row in retrieved])
