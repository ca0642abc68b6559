"""Model of comparisons: people compare two documents of a query, and their answers inform the gains.

Comparison j by person a of the pairs i and i' of one query measures the difference

  d_j = g_i - g_i' + sum_k (M_ik - M_i'k) x_ak + s_i w_ai - s_i' w_ai',   x_ak ~ N(0, taste^2), w_ai ~ N(0, opinion^2)

where s is a pair's deviation and M_ik the share of pair i that belongs to what system k retrieved. Noise is c_a, and
ties t, times the deviation of such pairs; see `stats.thurstone`. A person's severity, and their opinion of a query, are
in both terms and cancel. The opinion w of a pair recurs whenever the person compares it: ordering five documents gives
ten answers that never contradict one another, and yet another person may order them differently.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import betainc, ndtr, softmax

from audiosim.collection.pool import Pool
from audiosim.collection.values import PairedComparison
from audiosim.errors import InputError
from audiosim.joint.people import TASTE, TASTES, Listeners, Who
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers, numbered
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.conditioning import ConditionedBlock, SeenValues, by_number, condition_block
from audiosim.stats.normal.multivariate import MultivariateNormal
from audiosim.stats.normal.roots import effects_given, factor_of
from audiosim.stats.threads import one_thread
from audiosim.stats.thurstone import LEAST_PRECISION, SAME, A, Answering, B, Sites, cavity, propagate

# Habits by which people answer comparisons: how careful they are, how wide their ties, how often they guess.
#
# Person a has noise c e^(u_a), ties t e^(v_a) and guesses a share e_a of the answers, each independently:
#
# u_a ~ N(delta, CARE^2)     v_a ~ N(eta, s^2)     e_a ~ Beta(SPAMMERS m, SPAMMERS (1 - m))
#
# The shifts delta and eta of everybody's noise and ties, the spread s of ties between people, and the mean share m of
# guesses are unknown too. The shifts are normal; m has the probabilities that other collections give it, and s may be
# any of three. Whatever the documents, a guess is a tie as often as the person's answers are, and a or b alike: if
# all guesses were alike, rare preferences of somebody who mostly sees no difference would count as well considered.
# All
# of it is summed over grids: the answers of a person inform about that person, those of all people about the shifts,
# the
# spread and the mean share, and a statement about somebody new averages over all of these.
#
# Lapses: Wichmann & Hill (2001), doi:10.3758/BF03194544. People who answer at random among paid ones: Raykar & Yu
# (2012).


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
    (mean, variance), shares = found, GUESSES[:, None]
    theirs = sparse.csr_array((np.ones(len(judge)), (judge, np.arange(len(judge)))), shape=(people, len(judge)))
    for i, care in enumerate(CARES):
        heard = np.sqrt(variance + (noise * np.exp(care)) ** 2 + beside)
        of = _chances(answer, mean, heard, tie * np.exp(WIDTHS)[:, None])
        each = np.log((1 - shares) * of[:, None] + shares * at_random)
        log[:, i] = (theirs @ each.reshape(len(WIDTHS) * len(GUESSES), -1).T).reshape(log[:, i].shape)
    return _habits(log, unsure)


def _chances(answer: Integers | int, mean: Array, heard: Array, width: Array) -> Array:
    """(..., J) probability of answers that are not guessed, by (J,) means and deviations of what is heard."""
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


NOISE, TIE, OPINION = "comparison", "tie", "judge_pair"
CODES = {"a": A, "=": SAME, "b": B}
ROUNDS = 2  # rounds of learning people's habits
AT_ONCE = 2**21  # numbers of a matrix over the effects, times the blocks processed at once; more are not faster


@dataclass(frozen=True, eq=False)
class Compared:
    """Comparisons of a pool's pairs.

    judges  p names, in order of their first comparisons
    first, second  (J,) places of the two pairs
    judge   (J,) index of the person
    answer  (J,) A, SAME or B; see `stats.thurstone`
    """

    judges: tuple[str, ...]
    first: Integers
    second: Integers
    judge: Integers
    answer: Integers

    @classmethod
    def of(cls, pool: Pool, comparisons: Iterable[PairedComparison]) -> "Compared":
        """The last answer of each person about each two pairs of a pool, in either order."""
        last: dict[tuple[str, int, int], int] = {}
        for one in comparisons:
            first, second = (pool.positions.get(pair) for pair in one.pairs)
            if first is not None and second is not None:
                turned = first > second
                key = (one.assessor, min(first, second), max(first, second))
                last[key] = -CODES[one.answer] if turned else CODES[one.answer]
        judges = tuple(dict.fromkeys(name for name, _, _ in last))
        code = {name: number for number, name in enumerate(judges)}
        rows = [(first, second, code[name], answer) for (name, first, second), answer in last.items()]
        return cls(judges, *np.array(rows, dtype=np.int64).reshape(-1, 4).T)

    def __len__(self) -> int:
        return len(self.answer)

    def some(self, chosen: Integers) -> "Compared":
        """A selection of the comparisons, with the same people."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in ("first", "second", "judge", "answer")})


def shared_opinions(compared: Compared, scale: Array) -> Array:
    """(..., J, J) covariance of comparisons through each person's opinion of each pair, for opinions of unit size."""
    ends, judge, variance = (compared.first, compared.second), compared.judge, scale**2
    covariance = np.zeros((*judge.shape, judge.shape[-1]))
    for row, plus in zip(ends, (1, -1), strict=True):
        for column, also in zip(ends, (1, -1), strict=True):
            covariance += plus * also * (row[..., None] == column[..., None, :]) * variance[row][..., None]
    return np.asarray(covariance * (judge[..., None] == judge[..., None, :]))


NOTHING_COMPARED = Compared((), *np.empty((4, 0), dtype=np.int64))


class _Observed(NamedTuple):
    """Answers of people as their sites have them; N is the noise of these, W = N + the covariance by opinions.

    moved     (b, c, k, m + s) N W^-1 A, the change of differences with gains and tastes
    mean      (b, c, k) of the differences less those before any answer, if gains and tastes stay as they were
    variance  (b, c, k) of the differences, if these are known
    solved    (b, c, k, m + s + 1) W^-1 [A, values less means]
    """

    moved: Array
    mean: Array
    variance: Array
    solved: Array


class _People(NamedTuple):
    """Comparisons by at most c people in each of b blocks, at most k by each; filled up to these numbers.

    rows      (b, c, k) indices of the comparisons
    there     (b, c, k) False where there is none
    own       (b, c, k, k) covariance of the differences by opinions
    loadings  (b, c, k, m + s) A, of the differences on the m gains compared in the block and the person's own tastes
    tastes    (b, c, s) indices of these tastes among the effects
    """

    rows: Integers
    there: Booleans
    own: Array
    loadings: Array
    tastes: Integers

    def observed(self, sites: Sites, mean: Array) -> _Observed:
        """Answers by their sites; `mean` (J,) is that of the differences before any answer."""
        noise = np.where(self.there, sites.variance[self.rows], 1)
        off = np.where(self.there, sites.value[self.rows] - mean[self.rows], 0)
        inverse = np.linalg.inv(self.own + noise[..., None] * np.eye(noise.shape[-1]))
        solved = inverse @ np.concatenate([self.loadings, off[..., None]], axis=-1)
        # As products, not differences: a site that tells almost nothing has a noise that hides all else.
        variance = noise * np.vecdot(inverse, self.own)
        moved = noise[..., None] * solved[..., :-1]
        return _Observed(moved, np.vecdot(self.own, solved[..., None, :, -1]), variance, solved)


class _Conditioned(NamedTuple):
    """Gains of some blocks given the answers there.

    observed  of each kind of people
    within    (b, m, m) covariance of the gains, if the effects are known
    mean      (b, m) of the gains less those before any answer, if the effects stay as they were
    moved     (b, m, E + 1) change of the gains with all effects, and a place behind them
    """

    observed: list[_Observed]
    within: Array
    mean: Array
    moved: Array


class _Stack(NamedTuple):
    """Comparisons in b blocks, at most m pairs compared in each; filled up to this number.

    roots     (b, m, m) root of the covariance of the gains, without shared effects
    loadings  (b, m, f) of the gains on the shared effects
    people    those whose tastes are noise, and those whose tastes are effects
    """

    roots: Array
    loadings: Array
    people: tuple[_People, _People]

    def conditioned(self, sites: Sites, mean: Array, precision: Array) -> _Conditioned:
        """Gains given the sites.

        precision  (E + 2, E + 2) of all effects, a place behind them, and last precision times mean: what the sites
                   tell is added; of what is between shared effects and tastes only in the rows of the former
        """
        observed = [some.observed(sites, mean) for some in self.people]
        (blocks, m, f), z = self.loadings.shape, self.loadings
        seen, informed = np.zeros((blocks, m, m)), np.zeros((blocks, m, len(precision)))
        for some, one in zip(self.people, observed, strict=True):
            ends = some.loadings[..., :m].reshape(blocks, -1, m).mT
            seen += ends @ one.solved[..., :m].reshape(blocks, -1, m)
            informed[..., -1:] += ends @ one.solved[..., -1:].reshape(blocks, -1, 1)
            theirs = some.loadings[..., m:].mT @ one.solved
            np.put_along_axis(
                informed, some.tastes.reshape(blocks, 1, -1), theirs[..., :m].reshape(blocks, -1, m).mT, 2
            )
            for tastes, own in zip(some.tastes, theirs, strict=True):  # a person occurs once in a block
                precision[tastes[..., None], tastes[:, None]] += own[..., m:-1]
                precision[tastes, -1] += own[..., -1]
        informed[..., :f] = seen @ z
        # Given the effects the gains are m unknowns that k answers observe: no matrix is as large as all answers.
        inner = np.linalg.cholesky(np.eye(m) + self.roots.mT @ seen @ self.roots)
        half = np.linalg.solve(inner, self.roots.mT)
        known = half @ informed
        flat = known.reshape(-1, len(precision))
        precision[:f] += z.reshape(-1, f).T @ informed.reshape(flat.shape)
        precision -= flat.T @ flat
        gain = half.mT @ known
        moved = -gain[..., :-1]
        moved[..., :f] += z
        return _Conditioned(observed, half.mT @ half, gain[..., -1], moved)

    def given(self, conditioned: _Conditioned, shared: Array, effects: Array, mean: Array, variance: Array) -> None:
        """Move the means and write the variances (J,) of the differences, given these moments of all effects."""
        m, moved = self.loadings.shape[1], conditioned.moved
        across = (moved.reshape(-1, len(shared)) @ shared).reshape(moved.shape)
        within = (conditioned.within + across @ moved.mT)[:, None]
        gains = conditioned.mean + moved @ effects
        for some, observed in zip(self.people, conditioned.observed, strict=True):
            tastes = some.tastes
            own = shared[tastes[..., None], tastes[..., None, :]]
            by = np.take_along_axis(across[:, None], tastes[:, :, None], axis=3)
            on_gains, on_tastes = np.split(observed.moved, [m], axis=-1)
            shift = observed.mean + np.vecdot(on_gains, gains[:, None, None])
            shift += np.vecdot(on_tastes, effects[tastes][..., None, :])
            spread = observed.variance + np.vecdot(on_gains @ within, on_gains)
            spread += np.vecdot(2 * on_gains @ by + on_tastes @ own, on_tastes)
            mean[some.rows[some.there]] += shift[some.there]
            variance[some.rows[some.there]] = spread[some.there]


@dataclass(frozen=True, eq=False)
class ComparedDifferences:
    """The differences that J comparisons measure, by gains and tastes, before any answer.

    stacks   the comparisons, by blocks of the gains
    effects  covariance of shared effects and tastes
    mean     (J,)
    """

    stacks: tuple[_Stack, ...]
    effects: Array
    mean: Array

    def given(self, sites: Sites) -> tuple[Array, Array]:
        """(J,) means and (J,) variances of the differences given all sites."""
        mean, variance, count = self.mean.copy(), np.empty(len(self.mean)), len(self.effects)
        precision, f = np.zeros((count + 2, count + 2)), self.stacks[0].loadings.shape[2]
        conditioned = [one.conditioned(sites, self.mean, precision) for one in self.stacks]
        precision[f:, :f] = precision[:f, f:].T
        shared = np.pad(effects_given(self.effects, precision[:-2, :-2]), (0, 1))
        for stack, one in zip(self.stacks, conditioned, strict=True):
            stack.given(one, shared, shared @ precision[:-1, -1], mean, variance)
        return mean, np.maximum(variance, LEAST_PRECISION)


@dataclass(frozen=True, eq=False)
class ComparisonModel:
    """Comparisons of pairs whose gains have some distribution, with known standard deviations.

    parts   (n, s) share of each pair that belongs to what each system retrieved
    scale   (n,) deviation of each pair
    deviations  TASTE, a share of the scale, and OPINION, NOISE and TIE, in deviations of a pair
    unsure  how little is known of people's habits before they answer
    habits  of the people who compared
    at_random  (3,) probabilities of b, the same and a if an answer is guessed
    """

    compared: Compared
    parts: Array
    scale: Array
    deviations: Mapping[str, float]
    unsure: Unsure
    habits: Habits
    at_random: Array

    @classmethod
    def of(
        cls, compared: Compared, parts: Array, scale: Array, deviations: Mapping[str, float], unsure: Unsure
    ) -> "ComparisonModel":
        """Model before the habits of those who compared are learned."""
        habits = usual_habits(len(compared.judges), unsure)
        return cls(compared, parts, scale, deviations, unsure, habits, guessed(compared.answer))

    @cached_property
    def _deviation(self) -> Array:
        """(J,) root mean square of the deviations of the two pairs."""
        return np.sqrt((self.scale[self.compared.first] ** 2 + self.scale[self.compared.second] ** 2) / 2)

    @cached_property
    def _differ(self) -> Array:
        """(J, s) share of the first pair less that of the second in what each system retrieved."""
        return np.asarray(self.parts[self.compared.first] - self.parts[self.compared.second])

    @cached_property
    def _tasters(self) -> Integers:
        """The people whose tastes are separate effects: those with most comparisons, as many as TASTES allows."""
        counts = np.bincount(self.compared.judge, minlength=len(self.compared.judges))
        most = np.argsort(-counts, kind="stable")[: TASTES // max(1, self.parts.shape[1])]
        return np.sort(most)

    @property
    def noise(self) -> Array:
        """(J,) standard deviation of the error that people have in common."""
        return self.deviations[NOISE] * self._deviation

    @property
    def _beside(self) -> Array:
        """(J,) variance of the error by tastes that are not separate effects."""
        folded = ~np.isin(self.compared.judge, self._tasters)
        return np.asarray(folded * self.deviations[TASTE] ** 2 * (self._differ**2).sum(axis=1))

    @property
    def tie(self) -> Array:
        """(J,) difference below which people prefer neither."""
        return self.deviations[TIE] * self._deviation

    def differences(self, gains: BlockNormal) -> ComparedDifferences:
        """The differences that the comparisons measure, for this distribution of gains without the answers."""
        tastes = self.deviations[TASTE] ** 2 * np.ones(len(self._tasters) * self.parts.shape[1])
        effects = np.asarray(sparse.block_diag([gains.shared, sparse.diags_array(tastes)]).toarray())
        mean = gains.mean[self.compared.first] - gains.mean[self.compared.second]
        return ComparedDifferences(tuple(self._stacks(gains, len(effects))), effects, mean)

    def sites(self, differences: ComparedDifferences, start: Sites | None = None) -> Sites:
        """Gaussian measurements of the differences that stand for the answers."""
        judge, answer = self.compared.judge, self.compared.answer
        answers = self.habits.answering(judge, answer, self.noise, self.tie, self._beside)
        return propagate(differences.given, answers.moments, len(answer), start)

    def posterior(
        self, gains: BlockNormal, differences: ComparedDifferences, sites: Sites, listeners: Listeners
    ) -> BlockNormal:
        """Distribution of some people's mean opinion of each pair, given the answers that the sites stand for.

        gains      of listeners at large, not yet given the answers
        differences  by these gains
        listeners  the people; those who compared are the judges
        """
        tasters = self._tasters
        folded = len(self.compared.judges) - len(tasters)
        beside = np.sqrt(listeners.fresh + listeners.each**2 * folded)
        loadings = np.hstack([np.tile(listeners.each * self.parts, (1, len(tasters))), beside * self.parts])
        certain = gains.variance == 0
        loadings[certain] = 0
        taste = self.deviations[TASTE] ** 2 * np.eye(loadings.shape[1])
        opinion = np.where(certain, 0, (self.deviations[OPINION] * self.scale) ** 2)
        people = listeners.fresh + listeners.each**2 * len(self.compared.judges)
        wider = _with_own(gains, people * opinion).with_effects(loadings, taste)
        off, block = sites.value - differences.mean, gains.block[self.compared.first]
        seen: dict[int, ConditionedBlock] = {}
        for rows in by_number(block):
            code, some = int(block[rows[0]]), self.compared.some(rows)
            here = gains.blocks[code]
            signs = (some.first[:, None] == here).astype(float) - (some.second[:, None] == here)
            across = signs @ gains.within[code]
            own = across @ signs.T + self._opinions(some) + np.diag(sites.variance[rows])
            # Nobody's answers depend on the last, the tastes of those who have none of their own here.
            tastes = np.zeros((len(rows), len(tasters) + 1, self.parts.shape[1]))
            tastes[:, :-1] = (some.judge[:, None] == tasters)[..., None] * self._differ[rows, None]
            among = np.hstack([signs @ gains.loadings[code], tastes.reshape(len(rows), -1)])
            values = SeenValues.of(own, among, off[rows])
            across += listeners.each * signs * opinion[here]
            seen[code] = condition_block(wider.within[code], wider.loadings[code], across, values)
        return wider.given(seen)

    def chances(self, gains: BlockNormal, compared: Compared) -> Array:
        """(J, 3) probability that somebody who has not compared yet answers a, the same, or b.

        gains     of listeners at large, given all answers
        compared  the comparisons put to them
        """
        other, mean, variance = self._heard(gains, compared)
        return self.habits.of_others(mean, variance, other.noise, other.tie, self.at_random)

    def differences_heard(self, gains: BlockNormal, compared: Compared) -> tuple[Array, Array, Array]:
        """(J,) means and variances of the differences that somebody who has not compared yet hears, and their ties.

        gains, compared  as of `chances`
        """
        other, mean, variance = self._heard(gains, compared)
        return mean, variance + other.noise**2, other.tie

    def _heard(self, gains: BlockNormal, compared: Compared) -> tuple["ComparisonModel", Array, Array]:
        """Model of other comparisons by somebody new, and (J,) means and variances of the differences, no noise."""
        other = replace(self, compared=compared)
        variance = 2 * (self.deviations[OPINION] * other._deviation) ** 2
        variance += self.deviations[TASTE] ** 2 * (other._differ**2).sum(axis=1)
        for rows in by_number(gains.block[compared.first]):
            places, at = np.unique([compared.first[rows], compared.second[rows]], return_inverse=True)
            among, (first, second) = gains.among(places), at.reshape(2, -1)
            variance[rows] += among[first, first] + among[second, second] - 2 * among[first, second]
        return other, gains.mean[compared.first] - gains.mean[compared.second], variance

    def with_habits(self, differences: ComparedDifferences, sites: Sites) -> "ComparisonModel":
        """The same model with people's habits by their answers, with those of all others as their sites have them."""
        found = cavity(sites, *differences.given(sites))
        judge, answer = self.compared.judge, self.compared.answer
        habits = learned_habits(
            len(self.compared.judges), judge, answer, found, self.noise, self.tie, self._beside, self.unsure
        )
        return replace(self, habits=habits)

    def _opinions(self, some: Compared) -> Array:
        """(..., J, J) covariance of some comparisons through people's opinions of the pairs."""
        return self.deviations[OPINION] ** 2 * shared_opinions(some, self.scale)

    def _stacks(self, gains: BlockNormal, effects: int) -> Iterator[_Stack]:
        """The comparisons, by blocks of much the same number; so many are processed at once as memory allows."""
        blocks = sorted(by_number(gains.block[self.compared.first]), key=len)
        step, met = max(1, AT_ONCE // effects**2), np.zeros(len(gains.mean), dtype=np.bool_)
        met[self.compared.first] = met[self.compared.second] = True
        at = np.empty(len(met), dtype=np.int64)
        for first in range(0, len(blocks), step):
            some = blocks[first : first + step]
            codes = [int(gains.block[self.compared.first[rows[0]]]) for rows in some]
            pairs = [np.flatnonzero(met[gains.blocks[code]]) for code in codes]
            m = max(map(len, pairs))
            roots, loadings = np.zeros((len(some), m, m)), np.zeros((len(some), m, len(gains.shared)))
            for root, loading, code, here in zip(roots, loadings, codes, pairs, strict=True):
                at[gains.blocks[code][here]] = np.arange(len(here))
                root[: len(here), : len(here)] = factor_of(gains.within[code][np.ix_(here, here)])
                loading[: len(here)] = gains.loadings[code][here]
            people = self._people(some, at, m, effects, False), self._people(some, at, m, effects, True)
            yield _Stack(roots, loadings, people)

    def _people(self, blocks: Sequence[Integers], at: Integers, m: int, effects: int, tasters: bool) -> _People:
        """Comparisons (k,) of each block by those whose tastes are effects, the last of so many, or by the others.

        at  (n,) place of each pair among the m that are compared in its block
        """
        judge, systems = self.compared.judge, self.parts.shape[1]
        column = numbered(self._tasters, len(self.compared.judges))
        each = [
            [rows[some] for some in by_number(judge[rows]) if (column[judge[rows[some[0]]]] >= 0) == tasters]
            for rows in blocks
        ]
        shape = len(blocks), max(map(len, each)), max((len(rows) for of in each for rows in of), default=0)
        rows = np.full(shape, -1)
        for block, of in enumerate(each):
            for person, theirs in enumerate(of):
                rows[block, person, : len(theirs)] = theirs
        there, some = rows >= 0, self.compared.some(rows)
        own = self._opinions(some) * (there[..., None] & there[..., None, :])
        ends = (at[of][..., None] == np.arange(m) for of in (some.first, some.second))
        loadings = np.subtract(*(of.astype(float) for of in ends))
        tastes = np.full((*shape[:2], systems if tasters else 0), effects)
        if tasters:
            loadings = np.concatenate([loadings, self._differ[rows]], axis=-1)
            first = effects - len(self._tasters) * systems + column[judge[rows[..., 0]]] * systems
            tastes = np.where(there[..., :1], first[..., None] + np.arange(systems), effects)
        return _People(rows, there, own, loadings * there[..., None], tastes)


def _with_own(gains: BlockNormal, variance: Array) -> BlockNormal:
    """Gains plus an independent part of each pair, with mean 0 and a variance (n,)."""
    if not variance.any():
        return gains
    within = tuple(of + np.diag(variance[rows]) for rows, of in zip(gains.blocks, gains.within, strict=True))
    return replace(gains, within=within)


@dataclass(frozen=True, eq=False)
class ComparedGains:
    """Comparisons that were made, and their consequences for gains.

    model  of the comparisons, before people's habits are learned
    prior  of the gains before any judgment or comparison
    """

    model: ComparisonModel
    prior: BlockNormal

    @cached_property
    @one_thread()
    def _begun(self) -> tuple[ComparisonModel, ComparedDifferences, Sites]:
        model, differences = self.model, self.model.differences(self.prior)
        sites = model.sites(differences)
        for _ in range(ROUNDS):
            model = model.with_habits(differences, sites)
            sites = model.sites(differences, sites)
        return model, differences, sites

    @property
    def habits(self) -> Habits:
        """Habits of the people who compared, by their answers."""
        return self._begun[0].habits

    def chances(self, gains: MultivariateNormal, compared: Compared) -> Array:
        """(J, 3) probability that somebody else answers a, the same, or b; see `ComparisonModel.chances`.

        gains  by the grades alone
        """
        return self._begun[0].chances(self.posterior(gains, "listeners"), compared)

    @one_thread()
    def posterior(self, gains: MultivariateNormal, whose: Who) -> BlockNormal:
        """Distribution of some people's mean opinion of each pair, given grades and comparisons.

        gains  by the grades alone
        """
        if not isinstance(gains, BlockNormal):
            raise InputError("comparisons need gains that are correlated in blocks, as those of the model joint are")
        model, differences, sites = self._begun
        if gains is not self.prior:
            differences = model.differences(gains)
            sites = model.sites(differences, sites)
        return model.posterior(gains, differences, sites, Listeners.of(whose, len(model.compared.judges)))
