"""Habits by which people answer comparisons: how careful they are, how wide their ties, how often they guess.

Person a has noise c e^(u_a), ties t e^(v_a) and guesses a share e_a of the answers, each independently:

    u_a ~ N(delta, CARE^2)     v_a ~ N(eta, TIES^2)     e_a ~ Beta(SPAMMERS m, SPAMMERS (1 - m))

The shifts delta and eta of everybody's noise and ties, and the mean share m of guesses, are unknown too. The shifts are
normal; the probabilities of m come from other collections. Whatever the documents, a guess is a tie as often as answers
of this collection are, and a or b alike. All of it is summed over grids: the answers of a person inform about that
person, those of all people about the shifts and the mean share, and a statement about somebody new averages over both.

Lapses: Wichmann & Hill (2001), doi:10.3758/BF03194544. People who answer at random among paid ones: Raykar & Yu (2012).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, ndtr, softmax

from audiosim.arrays import Array, Integers
from audiosim.stats.responses.thurstone import SAME, Answering, answer_moments

CARE, TIES = 0.35, 0.5  # standard deviations of the logarithms of a person's noise and ties relative to the common ones
SPAMMERS = 2.0  # the smaller, the more guesses are those of few people
CARES, WIDTHS = np.linspace(-1.6, 1.6, 9), np.linspace(-1.5, 1.5, 7)  # of those logarithms
EDGES = np.array([0.0, 0.02, 0.1, 0.25, 0.5, 0.8, 1.0])
GUESSES = (EDGES[1:] + EDGES[:-1]) / 2
SHIFTS = np.linspace(-1.2, 1.2, 7)
MEANS = np.array([0.02, 0.05, 0.1, 0.2, 0.35])  # of shares of guesses
NODES, WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6  # Gauss & Hermite


@dataclass(frozen=True, slots=True, eq=False)
class Unsure:
    """Doubt about everybody's habits before anybody answers.

    noise, tie  means and standard deviations of the shifts of the logarithms of common noise and ties
    guesses     (5,) probabilities of MEANS
    """

    noise: tuple[float, float]
    tie: tuple[float, float]
    guesses: Array


# Of MEANS for one more collection: the mean of what four say whose people graded, each person's grades compared two by
# two. They are of one draw of people; that of `models/make_listeners.py --comparisons` has .35, .31, .19, .09 and .06.
CHANCES = np.array([0.27, 0.32, 0.25, 0.12, 0.04])
FIXED = Unsure((0.0, 0.05), (0.0, 0.05), CHANCES)  # where the common noise and ties are themselves sought


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """Habits of p people who compared, and of anybody else.

    care   (p,) mean of the logarithm of each person's noise relative to the common one
    doubt  (p,) its standard deviation
    tie    (p,) ties of each person relative to the common ones
    guess  (p,) share of the answers that each person guesses
    others (c, w, g) probability of each of CARES, WIDTHS and GUESSES for somebody who has not answered yet
    means  (5,) probability of each of MEANS
    """

    care: Array
    doubt: Array
    tie: Array
    guess: Array
    others: Array
    means: Array

    def answering(self, judge: Integers, answer: Integers, noise: Array, tie: Array, beside: Array) -> Answering:
        """Answers of these people, averaged over their care.

        judge   (J,) index of the person
        noise   (J,) common noise
        tie     (J,) common ties
        beside  (J,) variance of the error that no care reduces
        """
        times = np.exp(self.care[judge] + NODES[:, None] * self.doubt[judge])
        every = np.sqrt((noise * times) ** 2 + beside)
        return Answering(answer, every, WEIGHTS, tie * self.tie[judge], self.guess[judge], guessed(answer)[answer + 1])

    def of_others(self, mean: Array, variance: Array, noise: Array, tie: Array, by_guess: Array) -> Array:
        """(J, 3) probability that somebody new answers a, the same, or b, averaged over their habits.

        mean, variance  (J,) of the difference
        noise, tie      (J,) common noise and ties
        by_guess        (3,) probabilities of b, the same and a if the answer is guessed
        """
        prefer, reject = np.zeros((2, len(mean)))
        for (i, j), chance in np.ndenumerate(self.others @ (1 - GUESSES)):
            heard, width = np.sqrt(variance + (noise * np.exp(CARES[i])) ** 2), tie * np.exp(WIDTHS[j])
            prefer += chance * ndtr((mean - width) / heard)
            reject += chance * ndtr((-mean - width) / heard)
        share = float(self.others.sum(axis=(0, 1)) @ GUESSES)
        same = (1 - share) - prefer - reject
        return np.column_stack([prefer, same, reject]) + share * by_guess[::-1]


def guessed(answer: Integers) -> Array:
    """(3,) probabilities of b, the same and a if an answer is guessed: as often as all answers (J,) are ties."""
    ties = (np.sum(answer == SAME) + 1) / (len(answer) + 3)
    return np.array([(1 - ties) / 2, ties, (1 - ties) / 2])


def usual_habits(people: int, unsure: Unsure) -> Habits:
    """Habits of people before they answer."""
    return _habits(np.zeros((people, len(CARES), len(WIDTHS), len(GUESSES))), unsure)


def learned_habits(
    people: int,
    judge: Integers,
    answer: Integers,
    found: tuple[Array, Array],
    noise: Array,
    tie: Array,
    beside: Array,
    unsure: Unsure,
) -> Habits:
    """Habits by the answers of so many people.

    found  (J,) means and variances of the differences without the answer itself
    Others as of `Habits.answering`.
    """
    at_random = guessed(answer)[answer + 1]
    log = np.zeros((people, len(CARES), len(WIDTHS), len(GUESSES)))
    for i, care in enumerate(CARES):
        error = np.sqrt((noise * np.exp(care)) ** 2 + beside)
        for j, width in enumerate(WIDTHS):
            of = np.exp(answer_moments(answer, *found, error, tie * np.exp(width)).log)
            for k, share in enumerate(GUESSES):
                each = np.log((1 - share) * of + share * at_random)
                log[:, i, j, k] = np.bincount(judge, each, minlength=people)
    return _habits(log, unsure)


def _normal(nodes: Array, mean: Array | float, deviation: float) -> Array:
    return np.asarray(softmax(-(((nodes - mean) / deviation) ** 2) / 2, axis=-1))


def _habits(log: Array, unsure: Unsure) -> Habits:
    """Habits by the logarithm (p, c, w, g) of how likely each person's answers are by each of the grid's habits."""
    care = _normal(CARES, SHIFTS[:, None], CARE)
    width = _normal(WIDTHS, SHIFTS[:, None], TIES)
    ends = betainc(SPAMMERS * MEANS[:, None], SPAMMERS * (1 - MEANS[:, None]), EDGES)
    guess = np.diff(ends, axis=1)
    common = [_normal(SHIFTS, *unsure.noise), _normal(SHIFTS, *unsure.tie), unsure.guesses]
    prior = np.log(np.einsum("a,b,m->abm", *common))
    most = log.max(axis=(1, 2, 3), initial=-np.inf, keepdims=True)
    likely = np.exp(log - most)
    whole = np.einsum("pcwg,ac,bw,mg->pabm", likely, care, width, guess, optimize=True)
    shift = softmax(prior + np.log(whole).sum(axis=0))
    others = np.einsum("abm,ac,bw,mg->cwg", shift, care, width, guess, optimize=True)
    each = likely * np.einsum("pabm,ac,bw,mg->pcwg", shift / whole, care, width, guess, optimize=True)
    of_care = each.sum(axis=(2, 3))
    mean = of_care @ CARES
    doubt = np.sqrt(np.maximum(of_care @ CARES**2 - mean**2, 0))
    tie = np.exp(each.sum(axis=(1, 3)) @ WIDTHS)
    return Habits(mean, doubt, tie, each.sum(axis=(1, 2)) @ GUESSES, others, shift.sum(axis=(0, 1)))
