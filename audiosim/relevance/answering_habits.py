"""Habits by which people answer comparisons: how careful they are, how wide their ties, how often they guess.

Person a has noise c e^(u_a), ties t e^(v_a) and guesses a share e_a of the answers, each independently:

    u_a ~ N(delta, CARE^2)     v_a ~ N(eta, s^2)     e_a ~ Beta(SPAMMERS m, SPAMMERS (1 - m))

The shifts delta and eta of everybody's noise and ties, the spread s of ties between people, and the mean share m of
guesses are unknown too. The shifts are normal; m has the probabilities that other collections give it, and s may be
any of three. Whatever the documents, a guess is a tie as often as the person's answers are, and a or b alike: if
all guesses were alike, rare preferences of somebody who mostly sees no difference would count as well considered. All
of it is summed over grids: the answers of a person inform about that person, those of all people about the shifts, the
spread and the mean share, and a statement about somebody new averages over all of these.

Lapses: Wichmann & Hill (2001), doi:10.3758/BF03194544. People who answer at random among paid ones: Raykar & Yu (2012).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, ndtr, softmax

from audiosim.arrays import Array, Integers
from audiosim.stats.responses.thurstone import SAME, A, Answering, B

CARE = 0.35  # standard deviation of the logarithm of a person's noise relative to the common one
SPREADS = np.array([0.35, 0.7, 1.4])  # the same of ties
SPAMMERS = 2.0  # the smaller, the more guesses are those of few people
CARES, WIDTHS = np.linspace(-1.6, 1.6, 9), np.linspace(-3, 3, 13)  # of those logarithms
EDGES = np.array([0.0, 0.02, 0.1, 0.25, 0.5, 0.8, 1.0])
GUESSES = (EDGES[1:] + EDGES[:-1]) / 2
SHIFTS = np.linspace(-1.2, 1.2, 7)
MEANS = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5])  # of shares of guesses
NODES, WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6  # Gauss & Hermite
# The mean over four collections whose people graded, each person's grades compared two by two:
# models/make_listeners.py --comparisons prints it.
CHANCES = np.array([0.3, 0.29, 0.2, 0.09, 0.07, 0.05])
# Those grades give .75, .20 and .05: there the steps of a scale are everybody's. Asked which of two is better, people
# see no difference in 2 of 10 answers or in 9 of 10 of the same campaign, so no spread is preferred here.
SPREAD_CHANCES = np.ones(3) / 3


@dataclass(frozen=True, slots=True, eq=False)
class Unsure:
    """Doubt about everybody's habits before anybody answers.

    noise, tie  means and standard deviations of the shifts of the logarithms of common noise and ties
    """

    noise: tuple[float, float]
    tie: tuple[float, float]


FIXED = Unsure((0.0, 0.05), (0.0, 0.05))  # where the common noise and ties are themselves sought


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """Habits of p people who compared, and of anybody else.

    care   (p,) mean of the logarithm of each person's noise relative to the common one
    doubt  (p,) its standard deviation
    tie    (p,) ties of each person relative to the common ones
    guess  (p,) share of the answers that each person guesses
    others (c, w, g) probability of each of CARES, WIDTHS and GUESSES for somebody who has not answered yet
    spreads (3,) probability of each of SPREADS
    means  (6,) probability of each of MEANS
    """

    care: Array
    doubt: Array
    tie: Array
    guess: Array
    others: Array
    spreads: Array
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
        return Answering(answer, every, WEIGHTS, tie * self.tie[judge], self.guess[judge], guessed_by(judge, answer))

    def of_others(self, mean: Array, variance: Array, noise: Array, tie: Array, by_guess: Array) -> Array:
        """(J, 3) probability that somebody new answers a, the same, or b, averaged over their habits.

        mean, variance  (J,) of the difference
        noise, tie      (J,) common noise and ties
        by_guess        (3,) probabilities of b, the same and a if the answer is guessed
        """
        prefer, reject = np.zeros((2, len(mean)))
        for (i, j), chance in np.ndenumerate(self.others @ (1 - GUESSES)):
            heard, width = np.sqrt(variance + (noise * np.exp(CARES[i])) ** 2), tie * np.exp(WIDTHS[j])
            prefer += chance * _chances(A, mean, heard, width)
            reject += chance * _chances(B, mean, heard, width)
        share = float(self.others.sum(axis=(0, 1)) @ GUESSES)
        same = (1 - share) - prefer - reject
        return np.column_stack([prefer, same, reject]) + share * by_guess[::-1]


def guessed(answer: Integers) -> Array:
    """(3,) probabilities of b, the same and a if somebody new guesses: as often as all answers (J,) are ties."""
    ties = (np.sum(answer == SAME) + 1) / (len(answer) + 3)
    return np.array([(1 - ties) / 2, ties, (1 - ties) / 2])


def guessed_by(judge: Integers, answer: Integers) -> Array:
    """(J,) probability of each answer if its person guessed it: as often as that person's answers are ties.

    A person counts with three answers more, which are ties as often as those of all people.
    """
    ties = 3 * guessed(answer)[1] + np.bincount(judge, answer == SAME)
    share = (ties / (3 + np.bincount(judge)))[judge]
    return np.asarray(np.where(answer == SAME, share, (1 - share) / 2))


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
    at_random, log = guessed_by(judge, answer), np.zeros((people, len(CARES), len(WIDTHS), len(GUESSES)))
    mean, variance = found
    for i, care in enumerate(CARES):
        heard = np.sqrt(variance + (noise * np.exp(care)) ** 2 + beside)
        for j, width in enumerate(WIDTHS):
            of = _chances(answer, mean, heard, tie * np.exp(width))
            for k, share in enumerate(GUESSES):
                each = np.log((1 - share) * of + share * at_random)
                log[:, i, j, k] = np.bincount(judge, each, minlength=people)
    return _habits(log, unsure)


def _chances(answer: Integers | int, mean: Array, heard: Array, width: Array) -> Array:
    """(J,) probability of answers that are not guessed, by (J,) means and deviations of what is heard."""
    above, below = (ndtr((sign * mean - width) / heard) for sign in (1, -1))
    return np.asarray(np.where(answer == SAME, np.maximum(0, 1 - above - below), np.where(answer == A, above, below)))


def _normal(nodes: Array, mean: Array | float, deviation: Array | float) -> Array:
    return np.asarray(softmax(-(((nodes - mean) / deviation) ** 2) / 2, axis=-1))


def _habits(log: Array, unsure: Unsure) -> Habits:
    """Habits by the logarithm (p, c, w, g) of how likely each person's answers are by each of the grid's habits."""
    care = _normal(CARES, SHIFTS[:, None], CARE)
    width = _normal(WIDTHS, SHIFTS[:, None, None], SPREADS[:, None])
    ends = betainc(SPAMMERS * MEANS[:, None], SPAMMERS * (1 - MEANS[:, None]), EDGES)
    guess = np.diff(ends, axis=1)
    common = [_normal(SHIFTS, *unsure.noise), _normal(SHIFTS, *unsure.tie), SPREAD_CHANCES, CHANCES]
    prior = np.log(np.einsum("a,b,s,m->absm", *common))
    most = log.max(axis=(1, 2, 3), initial=-np.inf, keepdims=True)
    likely = np.exp(log - most)
    whole = np.einsum("pcwg,ac,bsw,mg->pabsm", likely, care, width, guess, optimize=True)
    shift = softmax(prior + np.log(whole).sum(axis=0))
    others = np.einsum("absm,ac,bsw,mg->cwg", shift, care, width, guess, optimize=True)
    each = likely * np.einsum("pabsm,ac,bsw,mg->pcwg", shift / whole, care, width, guess, optimize=True)
    of_care = each.sum(axis=(2, 3))
    mean = of_care @ CARES
    doubt = np.sqrt(np.maximum(of_care @ CARES**2 - mean**2, 0))
    tie, share = np.exp(each.sum(axis=(1, 3)) @ WIDTHS), each.sum(axis=(1, 2)) @ GUESSES
    return Habits(mean, doubt, tie, share, others, shift.sum(axis=(0, 1, 3)), shift.sum(axis=(0, 1, 2)))
