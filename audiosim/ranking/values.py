"""Values of comparisons and grades by one person in the same unit: their information on the order of systems.

A question about h = g_i, or h = g_i - g_i' for a comparison, reduces the doubt about the ranking by

    w = I / Var[h + noise]  sum over pairs of systems (a, b) of  f(z_ab)^2 / V_ab (Cov[S_a - S_b, h])^2

as in `DoubtAboutDifferences`, where I is the share of a standard normal variable's information that its class retains.
A grade has I = 1. The answer to a comparison is one of three classes, with limits (-t - m) / s and (t - m) / s for the
mean m and deviation s of the perceived difference:

    I = sum over classes of  (phi(lower) - phi(upper))^2 / P(class)
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from audiosim.joint.comparisons import NOISE, NOTHING_COMPARED, OPINION, Compared
from audiosim.joint.estimators import Comparing
from audiosim.joint.people import TASTE, added_variance
from audiosim.ranking.expected import rank
from audiosim.ranking.rules import DoubtAboutDifferences
from audiosim.ranking.selection import Selection
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.block_normal import BlockNormal

MOST_QUERIES, MOST_DOCUMENTS = 60, 8  # numbers of queries, and of documents per query, considered for comparisons
LEAST_CHANCE = 1e-12


@dataclass(frozen=True, eq=False)
class ComparisonValues:
    """Values of one person's answers.

    grades  (n,) values of a grade of each pair
    first, second  (k,) places of the pairs of each comparison considered
    values  (k,) values of these comparisons
    """

    grades: Array
    first: Integers
    second: Integers
    values: Array

    @classmethod
    def of(cls, selection: Selection, allowed: Booleans) -> "ComparisonValues | None":
        """Values for a selection; None if its model does not support comparisons.

        allowed  (n,) True for pairs that may be used
        """
        estimator, belief, expected = selection.estimator, selection.belief, selection.expected
        if not isinstance(estimator, Comparing) or not isinstance(belief.gains, BlockNormal):
            return None
        gains = belief.gains
        model = estimator.comparison_model(NOTHING_COMPARED)
        # NOISE belongs to a comparison of two pairs: a single grade has half of its variance.
        own = model.scale**2 * (model.deviations[OPINION] ** 2 + model.deviations[NOISE] ** 2 / 2)
        heard = gains.variance + own + model.deviations[TASTE] ** 2 * (model.parts**2).sum(axis=1)
        slopes = gains.across(expected.slopes(belief))
        across = slopes if isinstance(slopes, np.ndarray) else slopes.toarray()
        doubt, ranking = DoubtAboutDifferences(expected), selection.believed
        grades = doubt.of(across, heard, ranking)
        first, second = _considered(selection.pool.query, np.where(allowed, grades, 0))
        if not len(first):
            return cls(grades, first, second, np.empty(0))
        asked = Compared(("",), first, second, np.zeros_like(first), np.zeros_like(first))
        mean, variance, tie = model.differences_heard(gains, asked)
        left = information_left((-tie - mean) / np.sqrt(variance), (tie - mean) / np.sqrt(variance))
        values = left * doubt.of(across[:, first] - across[:, second], variance, ranking)
        return cls(grades, first, second, values)


def information_left(lower: Array, upper: Array) -> Array:
    """Share of a standard normal variable's information that its class retains: below, between or above two limits.

    lower, upper  limits between the classes
    """
    heights = [0 * lower, _density(lower), _density(upper), 0 * lower]
    chances = [ndtr(lower), ndtr(upper) - ndtr(lower), ndtr(-upper)]
    shares = (
        (heights[place] - heights[place + 1]) ** 2 / np.maximum(chance, LEAST_CHANCE)
        for place, chance in enumerate(chances)
    )
    return np.asarray(sum(shares))


def _density(at: Array) -> Array:
    return np.asarray(np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi))


def _considered(query: Integers, values: Array) -> tuple[Integers, Integers]:
    """Comparisons of the pairs of greatest value in the queries of greatest value; pairs of value 0 are left out."""
    order = np.lexsort((-values, query))
    order = order[values[order] > 0]
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    # There are millions of comparisons, but two documents of low value do not make a valuable one.
    groups = [group[:MOST_DOCUMENTS] for group in np.split(order, starts[1:])] if len(order) else []
    groups = sorted((one for one in groups if len(one) > 1), key=lambda one: -values[one].sum())[:MOST_QUERIES]
    pairs = [tuple(np.sort(one)[of] for of in np.triu_indices(len(one), 1)) for one in groups]
    first, second = zip(*pairs, strict=True) if pairs else ((), ())
    empty = [np.empty(0, dtype=np.int64)]
    return np.concatenate([*first, *empty]), np.concatenate([*second, *empty])


# Value of one person's judgment of each pair, including second opinions on pairs that others have judged.
#
# w_d = 1 / (Var[g_d] + v_d)  sum over pairs of systems (a, b) of  f(z_ab)^2 / V_ab (C_ad - C_bd)^2
#
# as in `DoubtAboutDifferences`, about listeners at large, with the variance v_d that the person adds to the pair's
# gain g_d; see `added_variance`.


NOISE_KNOWN = 0.25  # relative standard error of the noise below which it needs no further second opinions
TELLS_MORE, OF_NOISE = "tells more", "noise"


@dataclass(frozen=True, eq=False)
class OpinionValues:
    """Values of one person's judgments.

    weights      (n,) values of a judgment of each pair, including pairs that they judged themselves, which callers
                 leave out
    noise_error  relative standard error of the noise of people here
    """

    weights: Array
    noise_error: float

    @classmethod
    def of(cls, selection: Selection, name: str) -> "OpinionValues | None":
        """Values for a selection; None if its model does not distinguish people, or if nobody has judged yet."""
        belief = selection.stated_belief
        if belief.people is None or not len(belief.people.panel.place):
            return None
        panel, model = belief.people.panel, belief.people.model
        belief = belief.about("listeners")
        expected = selection.expected
        ranking = rank(expected, selection.estimator.name, expected.scores(belief), selection.judged)
        gains = expected.gains(belief)
        across = gains.across(expected.slopes(belief))
        added = added_variance(model, panel, name)
        weights = DoubtAboutDifferences(expected).of(across, np.asarray(gains.variance + added), ranking)
        return cls(weights, model.noise_error)

    def second_opinion(self, shared: Booleans, fresh: Booleans) -> tuple[int, str] | None:
        """The pair judged by others that most needs a second opinion, and the reason; None if no pair is worth one.

        shared  (n,) True for pairs judged by others, but not by this person
        fresh   (n,) True for pairs that nobody judged and this person could judge
        """
        places = np.flatnonzero(shared)
        if not len(places):
            return None
        best = int(places[np.argmax(self.weights[places])])
        most = float(self.weights[fresh].max(initial=0.0))
        if self.weights[best] > most:
            return best, TELLS_MORE
        return (best, OF_NOISE) if self.noise_error > NOISE_KNOWN else None
