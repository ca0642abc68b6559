"""Sequential test of a belief: do sums of judged gains err by as much as their stated uncertainty?"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import log_ndtr, ndtri

from audiosim.collection.pool import UNKNOWN, Pool
from audiosim.joint.estimators import RelevanceEstimator
from audiosim.joint.levels import nearest_level
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.joint.posterior import Belief
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers

# Judgments with their predictions from earlier judgments, and groups that may err together.


ROUNDING = 1e-6  # a spread of predictions below this counts as 0


@dataclass(frozen=True, eq=False)
class Prequential:
    """Judgments with their predictions from earlier judgments.

    mean        (k,) predicted gain
    error       (k,) gain less its prediction
    deviation   (k,) standard deviation of the predicted gain
    """

    mean: Array
    error: Array
    deviation: Array

    @classmethod
    def of(cls, belief: Belief, order: Integers) -> "Prequential":
        """Judgments of a belief, in order of judgment.

        order  (k,) places of the judged pairs
        """
        gains = belief.grades[order] / belief.maximum
        mean, deviation = belief.prior.one_by_one(order, gains)
        return cls(mean, gains - mean, deviation)

    @property
    def standardised(self) -> Array:
        """(k,) errors in predicted deviations; 0 where the gain was certain."""
        return np.divide(self.error, self.deviation, out=np.zeros(len(self.error)), where=self.deviation > 0)

    def chances(self, belief: Belief, order: Integers) -> Array:
        """(k,) place of each judgment in the predictive distribution of the grade, in [0, 1].

        belief, order  those of the judgments

        Uniform and independent if the belief is right. The place within a level is drawn, with seed 0.
        """
        within = np.random.default_rng(0).random(len(order))
        level = nearest_level(belief.levels, belief.grades[order])
        below = belief.reading.below(order, self.mean, self.deviation)
        reached = np.column_stack([np.zeros(len(order)), below, np.ones(len(order))])  # P(grade < level)
        low, high = np.take_along_axis(reached, np.stack([level, level + 1], axis=1), axis=1).T
        return np.asarray(low + within * (high - low))


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of judgments that may err together.

    kind    query, genre or system
    names   g
    member  (k, g) True where a judgment belongs to a group
    """

    kind: str
    names: tuple[str, ...]
    member: Booleans


def groupings(pool: Pool, order: Integers) -> tuple[Grouping, ...]:
    """Groups of judged pairs: by query, by genre if any is known, and by retrieving system.

    order  (k,) places of the pairs; empty groups are left out
    """
    found = []
    for kind, code in (("query", pool.query[order]), ("genre", pool.genre[order])):
        there = np.unique(code[code != UNKNOWN])
        first = order[np.argmax(code[:, None] == there, axis=0)].tolist()
        pairs = [pool.pairs[place] for place in first]
        names = tuple(pair.query if kind == "query" else f"that of {pair.document}" for pair in pairs)
        found.append(Grouping(kind, names, code[:, None] == there))
    of_system = np.asarray(pool.retrieved[:, order].toarray()).T > 0
    there = np.flatnonzero(of_system.any(axis=0))
    found.append(Grouping("system", tuple(pool.systems[i] for i in there.tolist()), of_system[:, there]))
    return tuple(grouping for grouping in found if len(grouping.names) > 1)


def leaning(mean: Array) -> Array:
    """(k,) excess of each prediction over the mean of those before it; 0 for the first two."""
    before = np.arange(len(mean))
    average = np.divide(np.cumsum(mean) - mean, before, out=np.zeros(len(mean)), where=before > 1)
    return np.where(before > 1, mean - average, 0)


# Evidence against a model from sums of judged gains, standardised by the deviations it stated beforehand.
#
# Statements about systems are sums over their results, so the check is on sums. Errors of single grades are not
# normal,
# as grades are few and bounded; those of their sums nearly are. A sum of errors, each of a judgment given those
# before
# it, is a martingale with a variance known from the model. The alternative is a drift of the sum, normal, with DRIFT
# of
# the variance that the sum has by the last judgment:
#
# E = sqrt(r / (V + r)) exp(S^2 / (2 (V + r))),   S = sum of w error,  V = sum of (w deviation)^2,  r = DRIFT V_last
#
# the mixture of Robbins (1970), doi:10.1214/aoms/1177696786; see Howard et al. (2021), doi:10.1214/20-AOS1991. It
# grows
# only where sums err by more than stated: an underconfident model never fails. If a rival model expects a sum to
# rise,
# the drift is half-normal: E is twice as large, times the normal probability of S / sqrt(V + r).


DRIFT = 0.1  # variance of the drift as a share of the sum's by the last judgment: .03 and .3 have nearly the same power
LARGEST = 700.0  # logarithm of the largest evidence represented; exp of more overflows
MOST_PAIRS = 2000  # most pairs of systems used
FURTHER = 3.0  # alternative variance of the first judgments, in stated variances
FARTHEST = 4.0  # deviations at which a single error is capped


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """Evidence of one kind against a model.

    said        its meaning, in words
    weight      share of all the evidence
    logarithms  (k,) logarithm of its e-value after each judgment; the e-value of a right model has mean 1
    """

    said: str
    weight: float
    logarithms: Array

    @property
    def values(self) -> Array:
        """(k,) weighted e-values."""
        return self.weight * np.exp(np.minimum(self.logarithms, LARGEST))


def of_sums(weights: Array, error: Array, deviation: Array, rising: bool = False) -> Array:
    """(k,) logarithm of the mean of the e-values of several sums; 0 without any.

    weights    (d, k) weights of each judgment in each sum, known before it is made
    error      (k,) gain less its prediction from the judgments before
    deviation  (k,) deviation of that prediction
    rising     True if only rising sums are evidence
    """
    sums, variances = np.cumsum(weights * error, axis=1), np.cumsum((weights * deviation) ** 2, axis=1)
    there = variances[:, -1] > 0
    if not there.any():
        return np.zeros(len(error))
    sums, variances = sums[there], variances[there]
    drift = DRIFT * variances[:, -1:]
    both = variances + drift
    logarithms = np.log(drift / both) / 2 + sums**2 / (2 * both)
    if rising:
        logarithms += np.log(2) + log_ndtr(sums / np.sqrt(both))
    return np.asarray(np.logaddexp.reduce(logarithms, axis=0) - np.log(len(logarithms)))


def of_spread(standardised: Array, count: int) -> Array:
    """(count,) logarithm of the likelihood ratio that deviations are sqrt(FURTHER) times as large as stated.

        sum of  -ln(FURTHER) / 2 + z^2 (1 - 1 / FURTHER) / 2

    standardised  errors z of the first judgments, in stated deviations; later ones add nothing
    """
    z = np.minimum(np.abs(standardised[:count]), FARTHEST)
    ratios = np.cumsum(-np.log(FURTHER) / 2 + z**2 * (1 - 1 / FURTHER) / 2)
    return np.pad(ratios, (0, count - len(ratios)), "edge") if len(ratios) else np.zeros(count)


def of_systems(pool: Pool, order: Integers) -> Array:
    """(s, k) 1 where a system retrieved a judged pair: the weights of sums over systems."""
    return np.asarray(pool.retrieved[:, order].toarray(), dtype=np.float64)


def of_pairs(systems: Array) -> Array:
    """(p, k) weights of the differences between pairs of systems: all pairs, or MOST_PAIRS of many.

    systems  (s, k)
    """
    count = len(systems)
    lags = range(1, min(count // 2, max(1, MOST_PAIRS // count)) + 1)
    return np.concatenate([systems[:0], *(systems - np.roll(systems, lag, axis=0) for lag in lags)])


def further_off(weights: Iterable[Array], error: Array, deviation: Array) -> float:
    """Root mean square of sums of errors, in their stated deviations; 1 if these are right.

    weights  (d, k) weights of several kinds of sums
    """
    squares = []
    for some in weights:
        variance = (some * deviation) ** 2 @ np.ones(len(deviation))
        there = variance > 0
        squares.append((some @ error)[there] ** 2 / variance[there])
    every = np.concatenate([np.empty(0), *squares])
    return float(np.sqrt(every.mean())) if len(every) else 1.0


LEAST = 50  # judgments needed for a verdict
ALARM = 20.0  # e-value that a true model reaches in at most one of this many campaigns
MOST = 250  # most judgments used, the first ones: with enough of them any model of real grades fails
NOTABLE = 1.005  # widening that is worth reporting
IMPOSSIBLE = 1e-6  # lower bound of chances
TAIL = 0.05  # share of the chances in both tails together
NO_CHANCES = partial(np.empty, 0)


@runtime_checkable
class Reserved(Protocol):
    """An estimator with a replacement, used if it fails its check, such as a joint model away from home."""

    def in_reserve(self) -> RelevanceEstimator | None:
        """The replacement, which has learned from the same judgments; None if there is none."""
        ...


@runtime_checkable
class Unlearned(Protocol):
    """An estimator that can return its state before it learned from a campaign, such as a joint model."""

    def unlearned(self) -> RelevanceEstimator:
        """The estimator before any judgment."""
        ...


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """Verdict on a model from the judgments of a campaign, valid at whatever time it is read.

    judged    number of judgments used; 0 where a model cannot be checked
    chances   (k,) place of each judgment in its predictive distribution given those before it, in [0, 1], in order of
              judgment: Dawid (1984), doi:10.2307/2981683, randomised within a level. For display; empty where a
              model cannot be checked
    groups    groups of judgments that may err together: for display
    evidence  against the model, by kind; none where a model cannot be checked
    off       error of sums and single judgments relative to their stated deviations, at least 1
    instead   check of the replacement belief, if results are based on one, or None
    absent    reason for which there is no check, in words; empty if there may be one
    compared  True if comparisons, which are not checked, count in the results

    The weighted mean of the e-values is a test martingale: a true model ever exceeds ALARM with a probability of at
    most 1 / ALARM (Ville 1939; Vovk & Wang 2021, doi:10.1214/20-AOS2020), as far as sums of its errors are normal. See
    `sums_check`. Only overconfidence makes a model fail.

    `chances` and `groups` are functions, because most checks are of a state whose chances nobody looks at.
    """

    judged: int = 0
    chances: Callable[[], Array] = NO_CHANCES
    groups: Callable[[], tuple[Grouping, ...]] = tuple
    evidence: tuple[Misfit, ...] = ()
    off: float = 1.0
    instead: "ModelCheck | None" = None
    absent: str = ""
    compared: bool = False

    @cached_property
    def e_values(self) -> Array:
        """(k,) evidence against the model after each judgment: 1 is none."""
        if not self.evidence:
            return np.empty(0)
        return np.asarray(sum(one.values for one in self.evidence))

    def __repr__(self) -> str:
        return self.sentence or self.verdict

    @property
    def verdict(self) -> str:
        """FAIL once the evidence has ever reached ALARM, PASS otherwise from LEAST judgments on, or NOT CHECKED."""
        if self.e_values.max(initial=0) >= ALARM:
            return "FAIL"
        return "PASS" if self.judged >= LEAST else "NOT CHECKED"

    @property
    def factor(self) -> float:
        """Widening of intervals, at least 1: ratio of errors to deviations under the belief that results are based on.

        1 unless the verdict is FAIL.
        """
        if self.verdict != "FAIL":
            return 1.0
        return self.off if self.instead is None else self.instead.off

    @property
    def failed_after(self) -> int:
        """Number of judgments after which the model failed; 0 if it did not."""
        return 1 + int(np.argmax(self.e_values >= ALARM)) if self.verdict == "FAIL" else 0

    @property
    def against(self) -> str:
        """The strongest evidence against the model when it failed, in words; empty if it did not."""
        if self.verdict != "FAIL":
            return ""
        return max(self.evidence, key=lambda one: float(one.values[self.failed_after - 1])).said

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        if self.absent:
            return f"Model check: {self.absent}."
        if self.verdict == "NOT CHECKED":
            beside = "; comparisons count in the scores, but are not checked" if self.compared else ""
            return f"Model check: {self.judged} of the {LEAST} judgments it needs to pass{beside}."
        if self.verdict == "PASS":
            return f"Model check passed: {self.judged} judgments came out as predicted."
        changes = [] if self.instead is None else ["Metadata are now ignored."]
        if self.factor >= NOTABLE or not changes:
            changes.append(f"Intervals are now {self.factor:.2f} times as wide.")
        return f"Model check failed after {self.failed_after} judgments: {self.against}. {' '.join(changes)}"

    def group_rows(self) -> list[dict[str, Any]]:
        """One row for all judgments and one for each group: kind, group, judged, bias, spread and tails.

        bias    mean of the normal quantiles of the chances: 0 if the model is right, positive if grades were higher
        spread  their root mean square: 1 if it is right
        tails   share of the chances in the outer TAIL
        """
        chances = self.chances()
        z, outside = ndtri(np.clip(chances, IMPOSSIBLE, 1 - IMPOSSIBLE)), np.abs(chances - 0.5) > (1 - TAIL) / 2
        every = [("all", "", np.ones(len(z), dtype=np.bool_))]
        every += [(of.kind, name, of.member[:, column]) for of in self.groups() for column, name in enumerate(of.names)]
        return [
            {
                "kind": kind,
                "group": name,
                "judged": int(chosen.sum()),
                "bias": float(z[chosen].mean()),
                "spread": float(np.sqrt(np.mean(z[chosen] ** 2))),
                "tails": float(outside[chosen].mean()),
            }
            for kind, name, chosen in every
            if chosen.any()
        ]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, ready for JSON."""
        return {
            "fit": self.verdict,
            "fit_sentence": self.sentence,
            "fit_evidence": float(self.e_values.max(initial=1.0)),
            "fit_against": self.against,
            "fit_instead": "" if self.verdict != "FAIL" else "wider" if self.instead is None else "general",
            "widened": self.factor,
        }


NOT_CHECKED = ModelCheck()
NOT_NEEDED = ModelCheck(absent="none is needed, as everything is judged")
NOT_CHECKABLE = ModelCheck(absent="none is possible, as the model predicts from the judgments themselves")


def check_model(estimator: RelevanceEstimator, belief: Belief, order: Integers, pool: Pool | None = None) -> ModelCheck:
    """Check of an estimator by the judgments made so far.

    belief  belief by the estimator, given the judgments
    order   (k,) places of the judged pairs, in order of judgment
    pool    defines the systems' sums and the groups for display; None for neither

    Estimators whose marginals use the judgments would have seen later judgments; they are therefore checked by their
    predictions without judgments. Quantities that the estimator learned from these judgments, such as variance
    components, are known to it throughout. The first judgments, made before it learned, are therefore also compared
    with its earlier state, if available: see `Unlearned`. An estimator is also compared with its replacement, if it has
    one: see `_of_rival`.
    """
    compared = belief.answers is not None
    if not len(order):
        return replace(NOT_CHECKED, compared=compared)
    before = estimator.predict(np.full(len(belief.grades), np.nan))
    if before.alone is not belief.alone and not np.array_equal(before.marginals, belief.marginals):
        return NOT_CHECKABLE
    order = order[:MOST]
    seen = Prequential.of(belief, order)
    start = estimator.unlearned() if isinstance(estimator, Unlearned) else None
    first = belief if start is None else start.predict(belief.grades)
    early = seen if first.prior is belief.prior else Prequential.of(first, order)
    systems = None if pool is None else of_systems(pool, order)
    sums = () if systems is None else (systems, of_pairs(systems))
    singles = math.sqrt(float(np.mean(seen.standardised**2)))
    off = max(1.0, singles, further_off(sums, seen.error, seen.deviation))
    groups = tuple if pool is None else partial(groupings, pool, order)
    kinds = {**_kinds(seen, early.standardised[:FIRST_LEARNING], sums), **_of_rival(start, early, belief, order)}
    evidence = tuple(Misfit(said, 1 / len(kinds), found) for said, found in kinds.items())
    return ModelCheck(len(order), partial(seen.chances, belief, order), groups, evidence, off, compared=compared)


def _of_rival(
    start: RelevanceEstimator | None, before: Prequential, belief: Belief, order: Integers
) -> dict[str, Array]:
    """Evidence that an estimator's replacement predicts better; empty if it has none.

        S = sum of (m' - m) error,  m and m' the predictions of both

    start   the estimator before any judgment
    before  the judgments with its predictions

    A right model's errors are uncorrelated with all that was known before, including a rival's predictions; if the
    rival is right they correlate with its difference: the test of encompassing, Mizon & Richard (1986),
    doi:10.2307/1911313. Neither has learned sizes from these judgments: a model that adapted to its misfit hardly
    differs from its rival.
    """
    rival = start.in_reserve() if isinstance(start, Reserved) else None
    if rival is None:
        return {}
    other = Prequential.of(rival.predict(belief.grades), order)
    found = of_sums((other.mean - before.mean)[None], before.error, before.deviation, rising=True)
    return {"the general model predicts grades better": found}


def _kinds(seen: Prequential, first: Array, sums: tuple[Array, ...]) -> dict[str, Array]:
    """Evidence of each kind by its meaning; without known systems, their sums are replaced by that over all judgments.

    first  standardised errors of the judgments before the estimator first learned, by its state at that time
    """
    count = len(seen.error)
    every, leans = np.ones((1, count)), leaning(seen.mean)[None]
    side = "higher" if seen.error.sum() > 0 else "lower"
    of_all = of_sums(every, seen.error, seen.deviation)
    of_each = [of_sums(weights, seen.error, seen.deviation) for weights in sums] or [of_all, of_all]
    return {
        f"grades are {side} than predicted": of_all,
        "grades do not differ as predicted": of_sums(leans, seen.error, seen.deviation),
        "early grades were further off than predicted": of_spread(first, count),
        "scores of systems are further off than predicted": of_each[0],
        "differences of systems are further off than predicted": of_each[1],
    }
