import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.stats.distributions import Empirical, fit_beta, fit_normal, fit_truncated_normal, omega_squared

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "distributions.csv"


def reference():
    found = defaultdict(dict)
    with REFERENCE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["quantity"]][row["at"]] = float(row["value"])
    return found


# From R's stats, truncnorm and fitdistrplus; distributions.R in the same folder wrote the file.
R = reference()
SCORES = np.array(list(R["score"].values()))
X = np.linspace(-0.3, 1.3, 33)
FITS = [fit_normal, fit_truncated_normal, fit_beta]


def test_normal_fits_take_the_mean_and_the_sample_deviation():
    mean, deviation = np.mean(SCORES), np.std(SCORES, ddof=1)
    whole = stats.norm(mean, deviation)
    np.testing.assert_allclose(fit_normal(SCORES).cdf(X), whole.cdf(X), rtol=1e-12)
    within = (whole.cdf(np.clip(X, 0, 1)) - whole.cdf(0)) / (whole.cdf(1) - whole.cdf(0))
    np.testing.assert_allclose(fit_truncated_normal(SCORES).cdf(X), within, rtol=1e-10, atol=1e-14)


def test_the_empirical_distribution_counts():
    found = Empirical(np.array([0.5, 0.2, 0.5, 0.9]))
    np.testing.assert_array_equal(found.cdf(np.array([0.1, 0.2, 0.5, 0.89, 0.9])), [0, 0.25, 0.75, 0.75, 1])


def test_a_beta_of_moments_has_the_moments_of_the_scores():
    found = stats.beta(*fit_beta(SCORES).args)
    assert found.mean() == pytest.approx(SCORES.mean(), rel=1e-12)
    assert found.var() == pytest.approx(SCORES.var(ddof=1), rel=1e-12)


@pytest.mark.parametrize("scores", [[0.0, 1, 1, 0, 0, 1, 1, 1, 1, 1], [0.01, 0.99, 0.99]])
def test_where_moments_fail_the_likelihood_is_greatest(scores):
    scores = np.array(scores)
    assert scores.var(ddof=1) > scores.mean() * (1 - scores.mean())
    inwards = (scores * (len(scores) - 1) + 0.5) / len(scores) if scores.max() == 1 else scores
    alpha, beta = fit_beta(scores).args[:2]
    assert max(alpha, beta) < 1  # most values at both ends
    best = stats.beta.logpdf(inwards, alpha, beta).sum()
    for a, b in ([1.01, 1], [0.99, 1], [1, 1.01], [1, 0.99], [1.1, 1.1], [0.5, 2]):
        assert best > stats.beta.logpdf(inwards, a * alpha, b * beta).sum()


# Goodness of fit.
def test_omega_squared_is_the_sum_of_the_definition():
    # Scores .2, .4, .4, .8 against the uniform: ecdf .25, .75, .75, 1 less .2, .4, .4, .8.
    assert omega_squared(stats.uniform(), [0.4, 0.2, 0.8, 0.4]) == pytest.approx(0.05**2 + 2 * 0.35**2 + 0.2**2)
    assert omega_squared(Empirical(SCORES), SCORES) == 0


# Error messages.
@pytest.mark.parametrize("fit", [*FITS, Empirical])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones((2, 2)), r"scores must be \(n,\) with n at least [12], got \(2, 2\)"),
        ([], r"scores must be \(n,\) with n at least [12], got \(0,\)"),
        ([0.1, np.nan], "score 1 is nan, expected finite numbers"),
    ],
)
def test_what_is_no_sample_is_refused(fit, scores, message):
    with pytest.raises(InputError, match=message):
        fit(scores)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("score", [0.0, 0.1 + 0.2])
def test_scores_that_are_all_the_same_have_no_spread_to_fit(fit, score):
    message = f"the scores are all {score:g}: a distribution with a spread needs some that differ"
    with pytest.raises(InputError, match=message):
        fit(np.full(10, score))


@pytest.mark.parametrize("fit", [fit_truncated_normal, fit_beta])
@pytest.mark.parametrize("score", [-0.2, 1.2])
def test_scores_beyond_0_and_1_are_refused(fit, score):
    with pytest.raises(InputError, match=f"expected scores from 0 to 1, got {score}"):
        fit([0.5, score])
