import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.optimize import approx_fprime

from audiosim.errors import InputError
from audiosim.stats.distributions import (
    Beta,
    Empirical,
    Normal,
    TruncatedNormal,
    beta_gradient,
    beta_likelihood,
    fit_beta,
    fit_beta_likelihood,
    fit_empirical,
    fit_normal,
    fit_truncated_normal,
    omega_squared,
)

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
TRUNCATED = TruncatedNormal(0.35, 0.3)
X = np.linspace(-0.3, 1.3, 33)
P = np.array([0.001, 0.05, 0.3, 0.5, 0.9, 0.999])
PEERS = [
    (Normal(0.3, 0.2), stats.norm(0.3, 0.2)),
    (TRUNCATED, stats.truncnorm(-0.35 / 0.3, 0.65 / 0.3, 0.35, 0.3)),
    (TruncatedNormal(-0.5, 0.4), stats.truncnorm(0.5 / 0.4, 1.5 / 0.4, -0.5, 0.4)),
    (TruncatedNormal(1.8, 0.3), stats.truncnorm(-1.8 / 0.3, -0.8 / 0.3, 1.8, 0.3)),
    (TruncatedNormal(2.0, 3.0, -1.0, 4.0), stats.truncnorm(-1, 2 / 3, 2, 3)),
    (Beta(0.8, 2.5), stats.beta(0.8, 2.5)),
    (Beta(12.0, 3.0), stats.beta(12, 3)),
]
FITS = [fit_normal, fit_truncated_normal, fit_beta, fit_beta_likelihood, fit_empirical]


@pytest.mark.parametrize(("ours", "theirs"), PEERS)
def test_distributions_are_scipy_s(ours, theirs):
    np.testing.assert_allclose(ours.cdf(X), theirs.cdf(X), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(ours.quantile(P), theirs.ppf(P), rtol=1e-9)
    assert ours.mean == pytest.approx(theirs.mean(), rel=1e-9)
    assert ours.variance == pytest.approx(theirs.var(), rel=1e-7)


@pytest.mark.parametrize(
    ("ours", "name"), [(TRUNCATED.cdf, "truncated_cdf"), (TRUNCATED.quantile, "truncated_quantile")]
)
def test_the_truncated_normal_is_r_s(ours, name):
    for at, value in R[name].items():
        assert ours(float(at)) == pytest.approx(value, rel=1e-9, abs=1e-15)
    assert TRUNCATED.mean == pytest.approx(R["truncated_mean"][""], rel=1e-10)
    assert TRUNCATED.variance == pytest.approx(R["truncated_variance"][""], rel=1e-10)


def test_the_beta_is_r_s():
    for at, value in R["beta_cdf"].items():
        assert Beta(0.8, 2.5).cdf(float(at)) == pytest.approx(value, rel=1e-12)
    for at, value in R["beta_quantile"].items():
        assert Beta(0.8, 2.5).quantile(float(at)) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("fit", FITS[:-1])
def test_moments_are_integrals_over_the_quantiles(fit):
    # E x^k is the integral of Q(p)^k.
    found = fit(SCORES)
    for power, moment in ((1, found.mean), (2, found.variance + found.mean**2)):
        value, _ = integrate.quad(lambda p, k=power: float(found.quantile(p)) ** k, 0, 1, limit=500, epsabs=1e-9)
        assert value == pytest.approx(moment, abs=1e-6)


@pytest.mark.parametrize("fit", FITS)
def test_a_cdf_never_falls_and_quantiles_undo_it(fit):
    found = fit(SCORES)
    assert (np.diff(found.cdf(X)) >= 0).all()
    if fit is not fit_empirical:
        np.testing.assert_allclose(found.cdf(found.quantile(P)), P, atol=1e-12)


def test_the_empirical_distribution_counts():
    found = fit_empirical([0.5, 0.2, 0.5, 0.9])
    np.testing.assert_array_equal(found.cdf([0.1, 0.2, 0.5, 0.89, 0.9]), [0, 0.25, 0.75, 0.75, 1])
    assert (found.mean, found.variance) == pytest.approx((0.525, np.var([0.5, 0.2, 0.5, 0.9])))
    for at, value in R["type_7"].items():
        assert fit_empirical(SCORES).quantile(float(at)) == pytest.approx(value, rel=1e-12)


# Fits.
def test_normal_fits_take_the_mean_and_the_sample_deviation():
    normal, truncated = fit_normal(SCORES), fit_truncated_normal(SCORES)
    assert (normal.mean, normal.deviation) == pytest.approx((np.mean(SCORES), np.std(SCORES, ddof=1)))
    assert (truncated.location, truncated.deviation) == (normal.mean, normal.deviation)
    assert (truncated.lower, truncated.upper) == (0, 1)


def test_a_beta_of_moments_has_the_moments_of_the_scores():
    found = fit_beta(SCORES)
    assert found.mean == pytest.approx(SCORES.mean(), rel=1e-12)
    assert found.variance == pytest.approx(SCORES.var(ddof=1), rel=1e-12)


def test_the_beta_of_greatest_likelihood_is_r_s_and_scipy_s():
    found = fit_beta_likelihood(SCORES)
    assert found.alpha == pytest.approx(R["likelihood"]["alpha"], rel=1e-5)  # R's Nelder-Mead stops there
    assert found.beta == pytest.approx(R["likelihood"]["beta"], rel=1e-5)
    logs = np.array([np.log(SCORES).mean(), np.log1p(-SCORES).mean()])
    likelihood = 40 * beta_likelihood(np.array([found.alpha, found.beta]), logs)
    assert likelihood == pytest.approx(R["log_likelihood"][""], rel=1e-10)
    assert likelihood == pytest.approx(stats.beta.logpdf(SCORES, found.alpha, found.beta).sum(), rel=1e-12)
    alpha, beta, _, _ = stats.beta.fit(SCORES, floc=0, fscale=1)
    assert (found.alpha, found.beta) == pytest.approx((alpha, beta), rel=1e-8)


def test_the_gradient_is_that_of_finite_differences_and_0_at_the_maximum():
    logs = np.array([np.log(SCORES).mean(), np.log1p(-SCORES).mean()])
    for shapes in ([0.5, 3.0], [2.0, 2.0], [20.0, 0.7]):
        expected = approx_fprime(np.array(shapes), lambda at: beta_likelihood(at, logs), 1e-7)
        np.testing.assert_allclose(beta_gradient(np.array(shapes), logs), expected, rtol=1e-4, atol=1e-5)
    found = fit_beta_likelihood(SCORES)
    np.testing.assert_allclose(beta_gradient(np.array([found.alpha, found.beta]), logs), 0, atol=1e-12)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.floats(0.05, 50), st.floats(0.05, 50), st.integers(3, 60), st.integers(0, 10_000))
def test_no_other_shapes_are_more_likely_wherever_the_scores_lie(alpha, beta, n, seed):
    rng = np.random.default_rng(seed)
    scores = np.clip(rng.beta(alpha, beta, n), 1e-12, 1 - 1e-12)
    if np.ptp(scores) < 1e-9:
        return
    found = fit_beta_likelihood(scores)
    logs = np.array([np.log(scores).mean(), np.log1p(-scores).mean()])
    best = np.array([found.alpha, found.beta])
    for factor in ([1.01, 1], [0.99, 1], [1, 1.01], [1, 0.99], [1.1, 1.1], [0.5, 2]):
        assert beta_likelihood(best, logs) >= beta_likelihood(best * factor, logs) - 1e-9


def test_where_moments_fail_the_likelihood_is_taken_of_scores_drawn_inwards():
    scores = np.array([0.0, 1, 1, 0, 0, 1, 1, 1, 1, 1])
    mean = scores.mean()
    assert scores.var(ddof=1) > mean * (1 - mean)
    found = fit_beta(scores)
    assert (found.alpha, found.beta) == (fit_beta_likelihood(scores).alpha, fit_beta_likelihood(scores).beta)
    alpha, beta, _, _ = stats.beta.fit((scores * 9 + 0.5) / 10, floc=0, fscale=1)
    assert (found.alpha, found.beta) == pytest.approx((alpha, beta), rel=1e-6)
    assert max(found.alpha, found.beta) < 1  # most values at both ends


def test_a_known_beta_is_recovered():
    scores = np.random.default_rng(0).beta(2, 3, 100_000)
    for fit in (fit_beta, fit_beta_likelihood):
        assert (fit(scores).alpha, fit(scores).beta) == pytest.approx((2, 3), rel=0.03)  # three standard errors


# Goodness of fit.
def test_omega_squared_is_the_sum_of_the_definition():
    # Scores .2, .4, .4, .8 against the uniform: ecdf .25, .75, .75, 1 less .2, .4, .4, .8.
    assert omega_squared(Beta(1.0, 1.0), [0.4, 0.2, 0.8, 0.4]) == pytest.approx(0.05**2 + 2 * 0.35**2 + 0.2**2)
    assert omega_squared(fit_empirical(SCORES), SCORES) == 0


# Error messages.
@pytest.mark.parametrize("fit", FITS)
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


@pytest.mark.parametrize("fit", FITS[:-1])
@pytest.mark.parametrize("score", [0.0, 0.1 + 0.2])
def test_scores_that_are_all_the_same_have_no_spread_to_fit(fit, score):
    message = f"the scores are all {score:g}: a distribution with a spread needs some that differ"
    with pytest.raises(InputError, match=message):
        fit(np.full(10, score))
    assert fit_empirical(np.full(10, score)).variance == pytest.approx(0, abs=1e-30)


@pytest.mark.parametrize("fit", [fit_truncated_normal, fit_beta, fit_beta_likelihood])
@pytest.mark.parametrize("score", [-0.2, 1.2])
def test_scores_beyond_0_and_1_are_refused(fit, score):
    with pytest.raises(InputError, match=f"expected scores from 0 to 1, got {score}"):
        fit([0.5, score])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0.0, 0.0), "deviation must be finite and above 0, got 0"),
        (lambda: TruncatedNormal(0.0, math.nan), "deviation must be finite and above 0, got nan"),
        (lambda: TruncatedNormal(0.0, 1.0, 1.0, 0.0), "lower must be below upper, got 1 and 0"),
        (lambda: TruncatedNormal(-100.0, 1.0), "no probability is left between 0 and 1"),
        (lambda: Beta(0.0, 1.0), "alpha must be finite and above 0, got 0"),
        (lambda: Beta(1.0, math.inf), "beta must be finite and above 0, got inf"),
        (lambda: Empirical(np.array([2.0, 1.0])), "the scores of an empirical distribution must be in rising order"),
        (lambda: Normal(0.0, 1.0).quantile(1.5), "probabilities must be from 0 to 1, got 1.5"),
        (lambda: fit_empirical([1.0]).quantile([np.nan]), "probabilities must be from 0 to 1, got nan"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
