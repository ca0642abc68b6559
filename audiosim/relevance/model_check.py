"""Sequential test of a belief: do judgments come out as it predicted them, each given those before it?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtri

from audiosim.arrays import Array, Integers
from audiosim.corpus.pool import Pool
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.prequential import Grouping, Prequential, groupings

LEAST = 50  # judgments that a verdict needs
ALARM = 20.0  # an e-value that a true model reaches once in so many campaigns at most
MOST = 250  # judgments that are looked at, the first ones: enough of them speak against any model of real grades
EARLY = 200  # judgments that are held against what was predicted before the scale's use was learned
NOTABLE = 1.005  # times as wide, from which it is said
IMPOSSIBLE = 1e-6  # a chance counts as no less: a single grade that was held impossible decides nothing
SHIFTS = (-0.9, -0.6, -0.3, 0.3, 0.6, 0.9)
SPREADS = (-0.8, -0.4, 0.4, 0.8, 1.6)
LEANS = (-0.9, -0.5, 0.5)
TAIL, OUTLYING = (
    0.05,
    0.1,
)  # share of the chances at both ends together, and of the judgments that are far off beyond it
OF_EACH = (-0.6, -0.3, 0.3, 0.6)  # shifts of each group by itself
OF_ONE = ((-0.6, 0.0), (0.6, 0.0), (0.0, -0.4), (0.0, 0.8))  # shift and spread of a group among others
LARGEST = 700.0  # logarithm of the largest evidence that is told from others


@runtime_checkable
class Reserved(Protocol):
    """An estimator that has another in reserve for where it does not fit, such as a joint model away from home."""

    def in_reserve(self) -> RelevanceEstimator | None:
        """The estimator in reserve, which has learned from the same judgments; None where there is none."""
        ...


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """Verdict on a model from the judgments of a campaign, valid at any moment at which one looks.

    chances  (k,) where each judgment fell in its predictive distribution given those before it, in [0, 1], in the
             order in which they were made; uniform and independent if the model is right. Empty where a model cannot
             be checked so.
    groups   of the judgments, in which they may be off together
    before   (k,) chances before the model learned how the scale is used; None where that is not looked at
    lean     (k,) how high each prediction was beside earlier ones, in [-1, 1]; None where that is not looked at
    instead  check of what is stated instead, where that is of another belief; None where it is of the same one

    The probability integral transform of Dawid (1984), doi:10.2307/2981683, randomised within a level. Against it stand
    densities 1 + a (2 u - 1), off to one side, 1 + b (6 u^2 - 6 u + 1), too sure or too unsure, 1 + c lean (2 u - 1),
    where high and low are mistaken, and one with more in the tails. A quarter of the weight is on all judgments, one on
    their groups: each query or genre shifted by itself, or one query, genre or system off; and half on the first EARLY
    judgments before the scale's use was learned, which is where a collection unlike others shows. The weighted mean of
    the likelihood ratios is a test martingale: a right model ever exceeds ALARM with a probability of at most 1 / ALARM
    (Ville 1939; Vovk & Wang 2021, doi:10.1214/20-AOS2020).
    """

    chances: Array
    groups: tuple[Grouping, ...] = ()
    before: Array | None = None
    lean: Array | None = None
    instead: "ModelCheck | None" = None

    @cached_property
    def evidence(self) -> dict[str, tuple[float, Array]]:
        """Test martingales by kind of evidence: its weight, and the (k,) likelihood ratios after each judgment."""
        kinds = [_of_all(self.chances, self.lean)]
        if self.groups:
            kinds.append({said: one for grouping in self.groups for said, one in _of_groups(self.chances, grouping)})
        share = 1.0
        found = {}
        if self.before is not None:
            share = 0.5
            early = _of_all(self.before[:EARLY], None if self.lean is None else self.lean[:EARLY])
            rest = max(0, len(self.before) - EARLY)
            found = {
                f"early on, {said}": (0.5 / len(early), _exp(np.pad(one, (0, rest), "edge")))
                for said, one in early.items()
            }
        for kind in kinds:
            found |= {said: (share / len(kinds) / len(kind), _exp(one)) for said, one in kind.items()}
        return found

    @cached_property
    def e_values(self) -> Array:
        """(k,) evidence against the model after each judgment: 1 is none."""
        if not len(self.chances):
            return np.empty(0)
        return np.asarray(sum(weight * ratios for weight, ratios in self.evidence.values()))

    @property
    def verdict(self) -> str:
        """FAIL once the evidence has ever reached ALARM, PASS otherwise from LEAST judgments on, or NOT CHECKED."""
        if self.e_values.max(initial=0) >= ALARM:
            return "FAIL"
        return "PASS" if len(self.chances) >= LEAST else "NOT CHECKED"

    @cached_property
    def factor(self) -> float:
        """Widening of intervals, at least 1: how much further off judgments were than what is stated instead has them.

            sqrt(mean z^2),  z the normal quantiles of the chances

        1 unless the verdict is FAIL.
        """
        if self.verdict != "FAIL":
            return 1.0
        stated = self if self.instead is None else self.instead
        return max(1.0, math.sqrt(float(np.mean(stated._quantiles**2))))

    @property
    def _quantiles(self) -> Array:
        return np.asarray(ndtri(np.clip(self.chances, IMPOSSIBLE, 1 - IMPOSSIBLE)))

    @property
    def against(self) -> str:
        """The strongest of what speaks against the model when it failed, in words; empty unless it did."""
        if self.verdict != "FAIL":
            return ""
        at, found = int(np.argmax(self.e_values >= ALARM)), self.evidence
        return max(found, key=lambda said: found[said][0] * float(found[said][1][at]))

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        count = len(self.chances)
        if self.verdict == "NOT CHECKED":
            return f"Model check: {count} of the {LEAST} judgments it needs."
        if self.verdict == "PASS":
            return f"Model check passed: {count} judgments came out as predicted."
        at = 1 + int(np.argmax(self.e_values >= ALARM))
        changes = [] if self.instead is None else ["Metadata are now ignored."]
        if self.factor >= NOTABLE or not changes:
            changes.append(f"Intervals are now {self.factor:.2f} times as wide.")
        return f"Model check failed after {at} judgments: {self.against}. {' '.join(changes)}"

    def group_rows(self) -> list[dict[str, Any]]:
        """One row for all judgments and one for each group: kind, group, judged, bias, spread and tails.

        bias    mean of the normal quantiles of the chances: 0 if the model is right, above where grades were higher
        spread  their root mean square: 1 if it is right
        tails   share of the chances in the outer TAIL
        """
        z, outside = self._quantiles, np.abs(self.chances - 0.5) > (1 - TAIL) / 2
        every = [("all", "", np.ones(len(z), dtype=np.bool_))]
        every += [(of.kind, name, of.member[:, column]) for of in self.groups for column, name in enumerate(of.names)]
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


NOT_CHECKED = ModelCheck(np.empty(0))


def _exp(logarithms: Array) -> Array:
    return np.asarray(np.exp(np.minimum(logarithms, LARGEST)))


def _mixed(values: Array, shares: tuple[float, ...]) -> Array:
    """(k,) logarithm of the mean of the products of 1 + share x value so far, over the shares."""
    products = np.cumsum(np.log1p(np.outer(values, shares)), axis=0)
    return np.asarray(np.logaddexp.reduce(products, axis=1) - math.log(len(shares)))


def _of_all(chances: Array, lean: Array | None) -> dict[str, Array]:
    """(k,) logarithms of the likelihood ratios of all judgments together, by what they speak for."""
    shifted, curved = 2 * chances - 1, 6 * chances**2 - 6 * chances + 1
    outside = np.abs(chances - 0.5) > (1 - TAIL) / 2
    found = {
        "grades are lower than predicted": _mixed(shifted, SHIFTS[:3]),
        "grades are higher than predicted": _mixed(shifted, SHIFTS[3:]),
        "grades are closer to the predictions than it claimed": _mixed(curved, SPREADS[:2]),
        "grades are further from the predictions than it claimed": _mixed(curved, SPREADS[2:]),
        "too many grades are far from the predictions": np.cumsum(np.log(1 - OUTLYING + OUTLYING / TAIL * outside)),
    }
    if lean is not None:
        found["grades vary differently from the predictions"] = _mixed(lean * shifted, LEANS)
    return found


def _of_groups(chances: Array, grouping: Grouping) -> Iterator[tuple[str, Array]]:
    """(k,) logarithms of the likelihood ratios of groups that are off, by what they speak for."""
    shifted, curved = 2 * chances - 1, 6 * chances**2 - 6 * chances + 1
    member = grouping.member
    if grouping.disjoint:
        each = [np.cumsum(np.log1p(a * shifted)[:, None] * member, axis=0) for a in OF_EACH]
        together = np.logaddexp.reduce(each, axis=0) - math.log(len(OF_EACH))
        yield f"grades are off, {grouping.kind} by {grouping.kind}", together.sum(axis=1)
    one = [np.cumsum(np.log1p(a * shifted + b * curved)[:, None] * member, axis=0) for a, b in OF_ONE]
    any_of = np.logaddexp.reduce(np.logaddexp.reduce(one, axis=0), axis=1)
    yield f"grades of one {grouping.kind} are off", any_of - math.log(len(OF_ONE) * len(grouping.names))


def check_model(
    estimator: RelevanceEstimator,
    belief: Belief,
    order: Integers,
    pool: Pool | None = None,
    rng: np.random.Generator | None = None,
) -> ModelCheck:
    """Check of an estimator by the judgments made so far.

    belief  of the estimator, given the judgments
    order   (k,) places of the judged pairs, in the order in which they were judged
    pool    of which the groups are: queries, genres where they are known, and systems; None for no groups
    rng     of the places within a level; seeded with 0 where None

    An estimator whose marginals read the judgments cannot be checked so: they would have read later ones. Those of
    correlated gains do not, by contract; any other is asked once what it predicts with nothing judged. What the
    estimator has learned from these judgments, such as variance components, it knows throughout.
    """
    if not len(order):
        return NOT_CHECKED
    if not belief.prior.correlated:
        before = estimator.predict(np.full(len(belief.grades), np.nan))
        if not np.array_equal(before.marginals, belief.marginals):
            return NOT_CHECKED
    order = order[:MOST]
    seen = Prequential.of(belief, order, np.random.default_rng(0) if rng is None else rng)
    groups = () if pool is None else groupings(pool, order)
    return ModelCheck(seen.chances, groups, seen.before, seen.lean)
