"""Comparisons with ties, checked against integrals, draws, and numerical derivatives."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import ndtr

from audiosim.stats.thurstone import SAME, A, Answering, B, answer_likelihood, answer_moments

NOISE, TIE = 0.2, 0.1
PRIOR = np.eye(4) * 0.09 + 0.01
OF = np.array([[1, -1, 0, 0], [1, 0, -1, 0], [0, 1, -1, 0], [0, 0, 1, -1], [1, -1, 0, 0], [0, 1, 0, -1]], dtype=float)
ANSWERS = np.array([A, SAME, A, B, SAME, A])


def density(value, mean, deviation):
    return np.exp(-(((value - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))


def chance(answer, difference, noise=NOISE):
    """P(answer) for a difference, written independently."""
    above = ndtr((difference - TIE) / noise)
    below = ndtr((-TIE - difference) / noise)
    return {A: above, B: below, SAME: 1 - above - below}[answer]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [A, SAME, B])
@pytest.mark.parametrize("mean", [-0.7, 0.0, 0.3])
def test_an_answers_probability_and_what_it_tells_are_integrals(answer, mean):
    deviation = 0.4

    def moment(power):
        def integrand(d):
            return d**power * chance(answer, d) * density(d, mean, deviation)

        return integrate.quad(integrand, -6, 6, epsabs=1e-13, limit=200)[0]

    found = answer_moments(np.array([answer]), np.array([mean]), np.array([deviation**2]), np.array([NOISE]), TIE)
    whole = moment(0)
    assert np.exp(found.log[0]) == pytest.approx(whole, rel=1e-9)
    after = mean + deviation**2 * found.slope[0], deviation**2 + deviation**4 * found.curve[0]
    assert after[0] == pytest.approx(moment(1) / whole, abs=1e-8)
    assert after[1] == pytest.approx(moment(2) / whole - (moment(1) / whole) ** 2, abs=1e-8)


def test_surprises_keep_their_digits():
    """So far out, P(a) is the tail of a normal: log P = -z^2/2 - log(z sqrt(2 pi)) - 1/z^2 + ..."""
    found = answer_moments(np.array([A, B]), np.array([-20.0, 20.0]), np.zeros(2), np.ones(2), TIE)
    z = 20 + TIE
    expected = -(z**2) / 2 - np.log(z * np.sqrt(2 * np.pi)) - 1 / z**2
    assert found.log == pytest.approx([expected, expected], abs=1e-4)
    assert found.slope == pytest.approx([z + 1 / z, -z - 1 / z], rel=1e-4)
    assert np.all(np.isfinite(found.curve))


def plain(answers, noise=NOISE, tie=TIE):
    return Answering.plain(answers, np.full(len(answers), noise), tie)


def guessing(answers, share):
    """Half of the honest answers have the usual noise, half three times as much."""
    noise = np.outer([NOISE, 3 * NOISE], np.ones(len(answers)))
    guess, guessed = np.full(len(answers), share), np.where(answers == SAME, 0.2, 0.4)
    return Answering(answers, noise, np.array([0.5, 0.5]), np.full(len(answers), TIE), guess, guessed)


@pytest.mark.parametrize("answer", [A, SAME, B])
@pytest.mark.parametrize("mean", [-0.7, 0.3])
def test_moments_after_a_guess_or_a_careless_answer_are_integrals(answer, mean):
    deviation, share = 0.4, 0.3

    def moment(power):
        def integrand(d):
            careful, careless = chance(answer, d), chance(answer, d, 3 * NOISE)
            guess = 0.2 if answer == SAME else 0.4
            both = share * guess + (1 - share) * (careful + careless) / 2
            return d**power * both * density(d, mean, deviation)

        return integrate.quad(integrand, -6, 6, epsabs=1e-13, limit=200)[0]

    found = guessing(np.array([answer]), share).moments(np.array([mean]), np.array([deviation**2]))
    whole = moment(0)
    assert np.exp(found.log[0]) == pytest.approx(whole, rel=1e-9)
    after = mean + deviation**2 * found.slope[0], deviation**2 + deviation**4 * found.curve[0]
    assert after[0] == pytest.approx(moment(1) / whole, abs=1e-8)
    assert after[1] == pytest.approx(moment(2) / whole - (moment(1) / whole) ** 2, abs=1e-8)


def test_an_answer_that_is_surely_a_guess_tells_nothing():
    found = guessing(ANSWERS, 1 - 1e-12).moments(np.linspace(-1, 1, 6), np.full(6, 0.1))
    assert np.abs([found.slope, found.curve]).max() < 1e-9


@pytest.fixture(scope="module")
def found():
    return answer_likelihood(OF @ PRIOR @ OF.T, np.zeros(6), plain(ANSWERS))


@pytest.fixture(scope="module")
def drawn():
    """Values drawn from the prior, and the likelihood of the answers for each draw."""
    values = np.random.default_rng(0).multivariate_normal(np.zeros(4), PRIOR, 400_000)
    differences = values @ OF.T
    weights = np.prod([chance(answer, d) for answer, d in zip(ANSWERS, differences.T, strict=True)], axis=0)
    return values, weights


def test_several_answers_leave_what_weighted_draws_leave(found, drawn):
    values, weights = drawn
    gain = PRIOR @ OF.T @ found.precision
    mean, variance = gain @ found.sites.value, np.diagonal(PRIOR - gain @ OF @ PRIOR)
    share = weights / weights.sum()
    expected = share @ values
    assert found.log == pytest.approx(np.log(weights.mean()), abs=0.015)
    assert mean == pytest.approx(expected, abs=2e-3)
    assert variance == pytest.approx(share @ (values - expected) ** 2, rel=0.02)


@pytest.mark.slow
def test_answers_of_which_some_are_guessed_leave_what_weighted_draws_leave(drawn):
    values, _ = drawn
    each = [
        0.3 * (0.2 if answer == SAME else 0.4) + 0.35 * (chance(answer, d) + chance(answer, d, 3 * NOISE))
        for answer, d in zip(ANSWERS, (values @ OF.T).T, strict=True)
    ]
    weights = np.prod(each, axis=0)
    found = answer_likelihood(OF @ PRIOR @ OF.T, np.zeros(6), guessing(ANSWERS, 0.3))
    gain = PRIOR @ OF.T @ found.precision
    mean, variance = gain @ found.sites.value, np.diagonal(PRIOR - gain @ OF @ PRIOR)
    share = weights / weights.sum()
    expected = share @ values
    assert found.log == pytest.approx(np.log(weights.mean()), abs=0.015)
    assert mean == pytest.approx(expected, abs=4e-3)  # the answers are no longer log-concave
    assert variance == pytest.approx(share @ (values - expected) ** 2, rel=0.03)


def test_the_order_of_answers_does_not_matter(found):
    order = np.random.default_rng(1).permutation(6)
    of = OF[order]
    other = answer_likelihood(of @ PRIOR @ of.T, np.zeros(6), plain(ANSWERS[order]))
    assert other.log == pytest.approx(found.log, abs=1e-6)
    assert other.sites.value == pytest.approx(found.sites.value[order], abs=1e-4)


@pytest.mark.parametrize("answers", [plain(ANSWERS), guessing(ANSWERS, 0.1)])
def test_the_derivative_by_the_covariance_is_that_of_small_steps(answers):
    covariance, step = OF @ PRIOR @ OF.T, 1e-4
    found = answer_likelihood(covariance, np.zeros(6), answers)
    sides = [answer_likelihood(covariance * (1 + by), np.zeros(6), answers).log for by in (step, -step)]
    slope = (found.residual @ covariance @ found.residual - np.sum(found.precision * covariance)) / 2
    assert slope == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("answering", [lambda answers: plain(answers, 0.05, 0.02), lambda of: guessing(of, 0.3)])
def test_many_answers_that_contradict_one_another_still_settle(answering):
    count = 200
    answers = np.random.default_rng(2).choice([A, SAME, B], count)
    result = answer_likelihood(np.full((count, count), 4.0), np.zeros(count), answering(answers))
    assert np.all(np.isfinite(result.sites.value))
    assert np.all(result.sites.precision > 0)
