"""Habits of people who compare: against draws from the continuous distributions that the grids stand for."""

import numpy as np
import pytest
from scipy import stats

from audiosim.relevance.answering_habits import (
    CARE,
    CHANCES,
    MEANS,
    SPAMMERS,
    TIES,
    Unsure,
    guessed,
    learned_habits,
    usual_habits,
)
from audiosim.stats.responses.thurstone import SAME, A, B

PEOPLE, EACH, DRAWS = 3, 12, 400_000
UNSURE = Unsure((0.1, 0.3), (-0.1, 0.4), CHANCES)
NOISE, TIE, SPREAD = 0.3, 0.2, 0.25  # common noise and ties, and standard deviation of a difference


def drawn_habits(rng, shifts, means):
    """Noise, ties and guesses of one person for each draw."""
    noise = NOISE * np.exp(shifts[0] + CARE * rng.standard_normal(len(means)))
    tie = TIE * np.exp(shifts[1] + TIES * rng.standard_normal(len(means)))
    return noise, tie, rng.beta(SPAMMERS * means, SPAMMERS * (1 - means))


def chances(mean, noise, tie, guess, at_random):
    """P(a), P(same), P(b) for people of these habits; the difference is N(mean, SPREAD^2)."""
    whole = np.hypot(SPREAD, noise)
    above, below = stats.norm.sf((tie - mean) / whole), stats.norm.cdf((-tie - mean) / whole)
    plain = {A: above, SAME: 1 - above - below, B: below}
    return {answer: (1 - guess) * plain[answer] + guess * at_random[answer + 1] for answer in plain}


@pytest.fixture(scope="module")
def drawn():
    """Answers of two attentive people and of one who guesses; draws of habits, and how likely each makes these."""
    rng = np.random.default_rng(4)
    means = rng.normal(0, 0.4, (PEOPLE, EACH))
    said = np.where(means > 0.15, A, np.where(means < -0.15, B, SAME))
    said[2] = rng.choice([A, SAME, B], EACH)
    at_random = guessed(said.ravel())
    shifts = [of + spread * rng.standard_normal(DRAWS) for of, spread in (UNSURE.noise, UNSURE.tie)]
    shares = rng.choice(MEANS, DRAWS, p=CHANCES)
    people, weights = [], np.ones(DRAWS)
    for person in range(PEOPLE):
        habits = drawn_habits(rng, shifts, shares)
        for mean, answer in zip(means[person], said[person], strict=True):
            weights *= chances(mean, *habits, at_random)[answer]
        people.append(habits)
    return means, said, people, weights / weights.sum(), drawn_habits(rng, shifts, shares)


@pytest.mark.slow
def test_what_answers_tell_of_people_is_what_weighted_draws_have(drawn):
    means, said, people, weights, somebody = drawn
    judge = np.repeat(np.arange(PEOPLE), EACH)
    both, none = (np.full(PEOPLE * EACH, size) for size in (NOISE, TIE)), np.zeros(PEOPLE * EACH)
    found = learned_habits(
        PEOPLE, judge, said.ravel(), (means.ravel(), np.full(PEOPLE * EACH, SPREAD**2)), *both, none, UNSURE
    )
    expected = np.array([[weights @ np.log(noise / NOISE), weights @ guess] for noise, _, guess in people])
    # The grid of guesses has six cells, whose middles are off by up to .02 in the mean; draws are off by .01.
    assert found.guess == pytest.approx(expected[:, 1], abs=0.04)
    assert found.care == pytest.approx(expected[:, 0], abs=0.05)
    assert np.log(found.tie) == pytest.approx([weights @ np.log(tie / TIE) for _, tie, _ in people], abs=0.06)
    at_random, mean = guessed(said.ravel()), np.array([-0.3, 0.0, 0.6])
    ahead = found.of_others(mean, np.full(3, SPREAD**2), np.full(3, NOISE), np.full(3, TIE), at_random)
    by_draws = [
        [weights @ of[answer] for answer in (A, SAME, B)] for of in (chances(one, *somebody, at_random) for one in mean)
    ]
    assert ahead == pytest.approx(np.array(by_draws), abs=0.015)


@pytest.mark.slow
def test_whoever_has_not_answered_is_averaged_over_all_habits():
    rng = np.random.default_rng(1)
    shifts = [of + spread * rng.standard_normal(DRAWS) for of, spread in (UNSURE.noise, UNSURE.tie)]
    somebody = drawn_habits(rng, shifts, rng.choice(MEANS, DRAWS, p=CHANCES))
    at_random, mean = np.array([0.3, 0.4, 0.3]), np.array([-0.4, 0.1, 1.0])
    found = usual_habits(2, UNSURE).of_others(
        mean, np.full(3, SPREAD**2), np.full(3, NOISE), np.full(3, TIE), at_random
    )
    expected = [chances(one, *somebody, at_random) for one in mean]
    assert found == pytest.approx(
        np.array([[of[answer].mean() for answer in (A, SAME, B)] for of in expected]), abs=0.01
    )
    assert found.sum(axis=1) == pytest.approx(1)


def test_guesses_are_ties_as_often_as_answers_are():
    assert guessed(np.array([A, SAME, B, A, SAME, SAME, A])) == pytest.approx([0.3, 0.4, 0.3])  # (3 + 1) of 7 + 3
    assert guessed(np.array([], dtype=int)) == pytest.approx([1 / 3] * 3)
