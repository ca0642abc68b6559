"""Expected scores of `joint` on collections drawn from a known distribution, with a known truth."""

import numpy as np
import pytest
from scipy import sparse, stats

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.ranking.expected import expected_scores

TIMES, JUDGED = 12, 200
MEASURES = ("CG@5", "nDCG@5", "RBP@5", "ERR@5", "AP(min=40)@5")


def drawn_grades(rng, prior):
    """Grades of a normal distribution with the moments of a prior, whole ones of the Fine scale."""
    n = len(prior.mean)
    covariance = prior.project(sparse.csr_array(np.eye(n))).covariance
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    drawn = prior.mean + (vectors * np.sqrt(np.maximum(0, values))) @ rng.standard_normal(n)
    return np.rint(np.clip(100 * drawn, 0, 100))


@pytest.fixture(scope="module")
def played(some_hundreds, joined):
    """Bias of expected scores and coverage of intervals, for each measure and drawn collection."""
    pool = build_pool(some_hundreds)
    estimator = estimator_of(pool, joined())
    nothing = estimator.predict(np.full(len(pool.pairs), np.nan))
    found = {written: [] for written in MEASURES}
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        grades = drawn_grades(rng, nothing.prior)
        seen = np.full(len(grades), np.nan)
        places = rng.permutation(len(grades))[:JUDGED]
        seen[places] = grades[places]
        belief = estimator.relearned(seen).predict(seen)
        for written in MEASURES:
            expected = expected_scores(parse_measure(written), pool, draws=200)
            scores = expected.scores(belief)
            off = scores.mean - expected.scores(belief.certain(grades)).mean
            held = np.abs(off) <= stats.norm.ppf(0.975) * np.sqrt(scores.variance)
            found[written].append((off.mean(), held.mean()))
    return {written: np.array(values) for written, values in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("written", MEASURES)
def test_expected_scores_are_those_of_collections_drawn_from_the_prior(played, written):
    # 12 collections of 282 pairs, 200 of them judged at random. The model ignores that grades are cut at the ends of
    # the scale: .005; plus three standard errors. With 24 collections, .90 to .95 of the intervals held.
    off, held = played[written].T
    assert abs(off.mean()) < 0.005 + 3 * off.std(ddof=1) / np.sqrt(TIMES)
    assert held.mean() > 0.85
