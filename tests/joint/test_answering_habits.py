"""Habits of people who compare, checked with draws from the continuous distributions that the grids approximate."""

import numpy as np
import pytest
from scipy import stats

from audiosim.joint.comparisons import (
    CARE,
    CHANCES,
    MEANS,
    SPAMMERS,
    SPREAD_CHANCES,
    SPREADS,
    Unsure,
    guessed,
    guessed_by,
    learned_habits,
    usual_habits,
)
from audiosim.stats.thurstone import SAME, A, B

PEOPLE, EACH, DRAWS = 3, 12, 400_000
UNSURE = Unsure((0.1, 0.3), (-0.1, 0.4))
NOISE, TIE, SPREAD = 0.3, 0.2, 0.25  # common noise and ties, and standard deviation of a difference


def drawn_collections(rng):
    """Shifts of noise and ties, spreads of ties and mean shares of guesses, of DRAWS collections."""
    shifts = [of + spread * rng.standard_normal(DRAWS) for of, spread in (UNSURE.noise, UNSURE.tie)]
    return shifts, rng.choice(SPREADS, DRAWS, p=SPREAD_CHANCES), rng.choice(MEANS, DRAWS, p=CHANCES)


def drawn_habits(rng, shifts, spreads, means):
    """Noise, ties and guesses of one person for each draw."""
    noise = NOISE * np.exp(shifts[0] + CARE * rng.standard_normal(len(means)))
    tie = TIE * np.exp(shifts[1] + spreads * rng.standard_normal(len(means)))
    return noise, tie, rng.beta(SPAMMERS * means, SPAMMERS * (1 - means))


def chances(mean, noise, tie, guess, at_random):
    """P(a), P(same), P(b) for people with these habits; the difference is N(mean, SPREAD^2)."""
    whole = np.hypot(SPREAD, noise)
    above, below = stats.norm.sf((tie - mean) / whole), stats.norm.cdf((-tie - mean) / whole)
    plain = {A: above, SAME: 1 - above - below, B: below}
    return {answer: (1 - guess) * plain[answer] + guess * at_random[answer + 1] for answer in plain}


@pytest.fixture(scope="module")
def drawn():
    """Answers of two attentive people and of one who guesses; draws of habits, and the answers' likelihood for each."""
    rng = np.random.default_rng(4)
    means = rng.normal(0, 0.4, (PEOPLE, EACH))
    said = np.where(means > 0.15, A, np.where(means < -0.15, B, SAME))
    said[2] = rng.choice([A, SAME, B], EACH)
    at_random = guessed(said.ravel())
    own_ties = (3 * at_random[1] + (said == SAME).sum(axis=1)) / (3 + EACH)
    of_collections = drawn_collections(rng)
    people, weights = [], np.ones(DRAWS)
    for person in range(PEOPLE):
        habits = drawn_habits(rng, *of_collections)
        ties = own_ties[person]
        for mean, answer in zip(means[person], said[person], strict=True):
            weights *= chances(mean, *habits, ((1 - ties) / 2, ties, (1 - ties) / 2))[answer]
        people.append(habits)
    return means, said, people, of_collections[1], weights / weights.sum(), drawn_habits(rng, *of_collections)


@pytest.mark.slow
def test_what_answers_tell_of_people_is_what_weighted_draws_have(drawn):
    means, said, people, spreads, weights, somebody = drawn
    judge = np.repeat(np.arange(PEOPLE), EACH)
    both, none = (np.full(PEOPLE * EACH, size) for size in (NOISE, TIE)), np.zeros(PEOPLE * EACH)
    found = learned_habits(
        PEOPLE, judge, said.ravel(), (means.ravel(), np.full(PEOPLE * EACH, SPREAD**2)), *both, none, UNSURE
    )
    expected = np.array([[weights @ np.log(noise / NOISE), weights @ guess] for noise, _, guess in people])
    # The grid of guesses has six cells, whose middles have an error of up to .02 in the mean; draws have one of .01.
    assert found.guess == pytest.approx(expected[:, 1], abs=0.04)
    assert found.care == pytest.approx(expected[:, 0], abs=0.05)
    assert np.log(found.tie) == pytest.approx([weights @ np.log(tie / TIE) for _, tie, _ in people], abs=0.06)
    assert found.spreads == pytest.approx([weights[spreads == one].sum() for one in SPREADS], abs=0.02)
    at_random, mean = guessed(said.ravel()), np.array([-0.3, 0.0, 0.6])
    ahead = found.of_others(mean, np.full(3, SPREAD**2), np.full(3, NOISE), np.full(3, TIE), at_random)
    by_draws = [
        [weights @ of[answer] for answer in (A, SAME, B)] for of in (chances(one, *somebody, at_random) for one in mean)
    ]
    assert ahead == pytest.approx(np.array(by_draws), abs=0.015)


@pytest.mark.slow
def test_whoever_has_not_answered_is_averaged_over_all_habits():
    rng = np.random.default_rng(1)
    somebody = drawn_habits(rng, *drawn_collections(rng))
    at_random, mean = np.array([0.3, 0.4, 0.3]), np.array([-0.4, 0.1, 1.0])
    found = usual_habits(2, UNSURE).of_others(
        mean, np.full(3, SPREAD**2), np.full(3, NOISE), np.full(3, TIE), at_random
    )
    expected = [chances(one, *somebody, at_random) for one in mean]
    assert found == pytest.approx(
        np.array([[of[answer].mean() for answer in (A, SAME, B)] for of in expected]), abs=0.01
    )
    assert found.sum(axis=1) == pytest.approx(1)


def test_guesses_are_ties_as_often_as_the_persons_answers_are():
    judge, answer = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([A, SAME, B, SAME, A, A, B])
    # (2 + 1) of 7 + 3 answers are ties; the first has 2 of 4 and .9 of 3 more, the second none of 3 and .9 of 3 more.
    assert guessed_by(judge, answer) == pytest.approx(
        [*np.array([2.05, 2.9, 2.05, 2.9]) / 7, *np.array([2.55, 2.55, 2.55]) / 6]
    )


def test_guesses_of_somebody_new_are_ties_as_often_as_answers_are():
    assert guessed(np.array([A, SAME, B, A, SAME, SAME, A])) == pytest.approx([0.3, 0.4, 0.3])  # (3 + 1) of 7 + 3
    assert guessed(np.array([], dtype=int)) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(("ties", "likeliest"), [([5, 5, 5, 5, 5, 5], 0), ([0, 10, 0, 10, 1, 9], 2)])
def test_the_spread_of_ties_is_wide_where_people_differ(ties, likeliest):
    means = np.where(np.arange(10) % 2, 0.25, -0.25)
    said = np.array([[SAME] * count + np.sign(means[count:]).astype(int).tolist() for count in ties])
    judge, size = np.repeat(np.arange(6), 10), said.size
    same = [np.full(size, one) for one in (SPREAD**2, NOISE, TIE)]
    found = learned_habits(
        6, judge, said.ravel(), (np.tile(means, 6), same[0]), same[1], same[2], np.zeros(size), UNSURE
    )
    assert found.spreads.argmax() == likeliest
    assert found.spreads.sum() == pytest.approx(1)
