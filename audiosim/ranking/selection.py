"""State of a judging loop: the next pairs to judge, and the state after a judgment."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.collection.values import Judgment, Pair, PairedComparison, check_judgment, mean_grades
from audiosim.errors import InputError, check_count
from audiosim.joint.check import ModelCheck
from audiosim.joint.estimators import (
    Hearing,
    RelevanceEstimator,
    comparing,
    hearing,
    learned_from,
    relearned,
    taught_by,
)
from audiosim.joint.moments import is_moment
from audiosim.joint.people import NO_JUDGES, Panel, People, added_variance
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure
from audiosim.ranking.about import THESE, About, DifferenceDistribution
from audiosim.ranking.expected import ExpectedScores, Grounds, check_ranking, expected_scores, unchecked_ranking
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.rules import NoisyRule, PairValues, SelectionRule, default_selection_rule, make_selection_rule
from audiosim.ranking.stopping import StoppingRule, as_stopping_rule
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.batched import EvenBlocks
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.multivariate import Moments


@dataclass(frozen=True, eq=False)
class Selection:
    """State of a judging loop; immutable: `tell` returns the next state.

    expected   expected scores of the ranking's measure in the pool to judge
    untaught   estimator of this pool before it learns from any judgment
    estimator  the same now
    selection_rule  rule that weighs the pairs
    batch      number of judgments between updates of the estimator and the rule
    ties       (n,) drawn once: among pairs of equal weight the one with the larger value comes first
    belief     belief about the n pairs; the grade of a judged pair is the mean over its assessors
    scores     moments of the systems' mean scores
    order      (k,) places of the judged pairs, in the order of their first judgments
    log        judgments as received, the last per assessor and pair counts; None if the caller keeps it, see `judge`
    asked      state at the last update of estimator and rule; None if that is this state
    changes    number of changes of grades since the start
    learns     True if the estimator relearns by itself, at the moments of `relearning`; otherwise through `anew`
    distribution  distribution of a difference between systems: see `Ranking`
    checks     True if the model is checked against the judgments
    kept_check  earlier check that remains in force; None to check by the judgments so far
    comparisons  comparisons in force, in the order in which they were made
    panel      assessors and their judgments, for statements; `belief` uses the mean grade of each pair
    about      subject of the ranking, and of stopping rules without a subject
    """

    expected: ExpectedScores
    untaught: RelevanceEstimator
    estimator: RelevanceEstimator
    selection_rule: SelectionRule
    batch: int
    ties: Array
    belief: Belief
    scores: Moments
    order: tuple[int, ...]
    log: tuple[Judgment, ...] | None
    asked: "Selection | None" = None
    changes: int = 0
    learns: bool = True
    distribution: DifferenceDistribution = "t"
    checks: bool = True
    about: About = THESE
    panel: Panel = NO_JUDGES
    kept_check: ModelCheck | None = None
    comparisons: tuple[PairedComparison, ...] = ()

    @classmethod
    def start(
        cls,
        pool: Pool,
        measure: Measure | ExpectedScores,
        estimator: RelevanceEstimator,
        judgments: Iterable[Judgment] = (),
        batch: int = 1,
        selection_rule: str | SelectionRule | None = None,
        seed: int = 0,
        learned: bool = False,
        learns: bool = True,
        distribution: DifferenceDistribution = "t",
        about: About = THESE,
        checks: bool = True,
    ) -> "Selection":
        """The selection after these judgments, without those of pairs outside the pool.

        measure  measure, or its expected scores, if they differ from those of `expected_scores`
        selection_rule  its name, or a rule for these expected scores; None: see `default_selection_rule`
        seed     seed of the draws that break ties and of the rule's own draws
        learned  True if the estimator has learned from them already
        learns   True if the estimator relearns by itself in the course of judging
        distribution  distribution of a difference between systems: "t", or "normal" as in the paper of 2013
        about    subject of the ranking
        checks   True to check the model against the judgments; the published method has no such check
        """
        check_count("batch", batch)
        expected = expected_scores(measure, pool) if isinstance(measure, Measure) else measure
        if isinstance(selection_rule, str):  # before the work, for a name may be unknown
            selection_rule = make_selection_rule(selection_rule, expected, seed)
        log = tuple(judgment for judgment in judgments if judgment.pair in pool.positions)
        grades = mean_grades(log)
        untaught, estimator = estimator, estimator if learned else taught_by(pool, estimator, log)
        panel = Panel.of(pool, log)
        belief = estimator.predict(pool.spread(grades))
        if selection_rule is None:
            selection_rule = make_selection_rule(default_selection_rule(belief), expected, seed)
        ties = np.random.default_rng(seed).random(len(pool.pairs))
        scores, order = expected.scores(belief), tuple(map(pool.positions.__getitem__, grades))
        return cls(
            expected, untaught, estimator, selection_rule, batch, ties, belief, scores, order, log, learns=learns,
            distribution=distribution, about=about, checks=checks, panel=panel, comparisons=pool.comparisons,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Judging loop by {self.selection_rule.name} for {self.ranking!r}"

    @property
    def pool(self) -> Pool:
        """The pairs to judge."""
        return self.expected.pool

    @property
    def measure(self) -> Measure:
        """Measure for the ranking of the systems."""
        return self.expected.measure

    @property
    def grades(self) -> Array:
        """(n,) grade of each pair, the mean over its assessors; NaN where unjudged."""
        return self.belief.grades

    @property
    def judged(self) -> int:
        """Number of pairs of the pool that are judged."""
        return len(self.order)

    @property
    def graded(self) -> dict[Pair, float]:
        """Grade of each judged pair, in the order in which they were first judged."""
        return {self.pool.pairs[place]: float(self.grades[place]) for place in self.order}

    @cached_property
    def believed(self) -> Ranking:
        """Ranking by the unchecked model, about these queries; pairs are chosen by it."""
        return unchecked_ranking(self.expected, self.estimator.name, self.belief, self.scores, self.distribution)

    @cached_property
    def grounds(self) -> Grounds:
        """Ranking about these queries with its basis, after the check of the model."""
        if not self.checks:
            return Grounds(self.believed, self.belief, self.scores)
        order, estimator = np.array(self.order, dtype=np.int64), hearing(self.estimator, self.panel)
        belief, believed, people = self.belief, self.believed, self._people
        if people is not None:
            # The choice of pairs treats mean grades as exact, which is fast; only statements distinguish the assessors.
            belief = belief.heard(people)
            scores = self.expected.scores(belief) if people.panel.several else believed.scores
            believed = unchecked_ranking(self.expected, self.estimator.name, belief, scores, self.distribution)
        return check_ranking(self.expected, estimator, belief, believed, order, self.kept_check)

    @cached_property
    def _people(self) -> People | None:
        estimator = hearing(self.estimator, self.panel)
        return estimator.predict(self.grades).people if isinstance(estimator, Hearing) else None

    @cached_property
    def _stated(self) -> dict[About, Ranking]:
        return {}

    @property
    def stated_belief(self) -> Belief:
        """Belief behind the stated ranking: the estimator's, or its replacement's if it failed the check."""
        return self.grounds.belief

    @property
    def widening(self) -> float:
        """Factor on the deviations of the stated ranking, from the check of its model."""
        return self.grounds.ranking.check.factor

    def stated(self, about: About) -> Ranking:
        """Ranking about a subject, with a check of the model by the judgments so far; all reports use it."""
        if about not in self._stated:
            self._stated[about] = self.grounds.about(about, self.expected)
        return self._stated[about]

    @cached_property
    def ranking(self) -> Ranking:
        """Ranking of the systems now, with a check of the model by the judgments so far; see `ModelCheck`."""
        return self.stated(self.about)

    @property
    def confidence(self) -> float | None:
        """The mean confidence in the order of two systems now; None if there is nothing to order."""
        return self.ranking.confidence

    @cached_property
    def weights(self) -> Array:
        """(n,) value of an exact judgment of each pair at the last update of the rule."""
        if self.asked is None and self._values is not None:
            return self._values.weights()
        return self.selection_rule.weights(self.belief, self.believed) if self.asked is None else self.asked.weights

    @cached_property
    def _values(self) -> PairValues | None:
        rule = self.selection_rule
        return rule.values(self.belief, self.believed) if isinstance(rule, NoisyRule) else None

    def weights_by(self, assessor: str | None) -> Array:
        """(n,) value of a judgment of each pair by this person, given their noise in the judgments so far.

        assessor  None, or the only person who judged so far: their judgments count as exact
        """
        # Within a batch all weights are those of its start, so its pairs do not depend on the order of answers.
        if self.asked is not None:
            return self.asked.weights_by(assessor)
        if assessor is None or {*self.panel.judges} <= {assessor} or self._values is None or self._people is None:
            return self.weights
        return self._values.weights(added_variance(self._people.model, self._people.panel, assessor))

    @property
    def knows_people(self) -> bool:
        """True if judgments have values without first learning a model of people, which may take seconds."""
        if self.asked is not None:
            return self.asked.knows_people
        return not self.panel.several or self._values is None or self._people is None or self._people.known

    def reached(self, stopping_rule: float | str | StoppingRule) -> bool:
        """True if judging may stop: the stopping rule is met, or no further judgment has any value.

        stopping_rule  rule, its text such as "every=0.95", or a mean confidence
        """
        return as_stopping_rule(stopping_rule).reached(self) or not self.weights[~self.belief.judged].any()

    def ask(
        self, count: int = 1, allowed: Booleans | None = None, by_query: bool = False, assessor: str | None = None
    ) -> list[Pair]:
        """The most informative unjudged pairs, best first; fewer if fewer are left.

        allowed   (n,) mask of the pairs that may be returned; None for all
        by_query  take pairs from as few queries as possible, so that assessors stay with one query: first the query
                  with the best `count` pairs by value, then the next
        assessor  person who will judge them; see `weights_by`

        Ties between pairs are broken by `ties`, those between queries by the first of their pairs.
        """
        chosen = self.places_to_judge(count, allowed, by_query, assessor)
        return [self.pool.pairs[place] for place in chosen]

    def places_to_judge(
        self, count: int, allowed: Booleans | None = None, by_query: bool = False, assessor: str | None = None
    ) -> Integers:
        """Places of the pairs that `ask` returns."""
        if not isinstance(count, Integral) or count < 1:
            raise InputError(f"the number of pairs to ask for must be a whole number of at least 1, got {count!r}")
        unjudged = np.flatnonzero(~self.belief.judged & (True if allowed is None else allowed))
        return (self._best_queries if by_query else self._best)(self.weights_by(assessor), unjudged, count)

    def _best(self, weights: Array, places: Integers, count: int) -> Integers:
        weights = weights[places]
        if count < len(places):
            # A partial sort: a request needs only a few of possibly a million pairs.
            least = weights.max() if count == 1 else np.partition(weights, len(weights) - count)[len(weights) - count]
            places, weights = places[weights >= least], weights[weights >= least]
        return places[np.lexsort((-self.ties[places], -weights))[:count]]

    def _best_queries(self, weights: Array, places: Integers, count: int) -> Integers:
        query = self.pool.query[places]
        order = np.lexsort((-self.ties[places], -weights[places], query))
        places, query = places[order], query[order]
        starts = np.searchsorted(query, np.arange(len(self.pool.queries)))
        rank = np.arange(len(places)) - starts[query]
        top, first = rank < count, rank == 0
        worth, drawn = np.bincount(query[top], weights[places[top]], len(starts)), np.zeros(len(starts))
        drawn[query[first]] = self.ties[places[first]]
        return places[np.lexsort((-drawn[query], -worth[query]))[:count]]

    def tell(self, judgment: Judgment) -> "Selection":
        """The selection after one more judgment; a second one by the same assessor replaces the first."""
        self.pool.scale.check(check_judgment(judgment).grade)
        return self._logged((*self._own_log, judgment), judgment.pair, judgment.assessor)

    def withdraw(self, pair: Pair, assessor: str) -> "Selection":
        """The selection as if this assessor had not judged this pair."""
        rest = tuple(one for one in self._own_log if (one.pair, one.assessor) != (pair, assessor))
        if len(rest) == len(self._own_log):
            raise InputError(f"{assessor or 'nobody'} has not judged document {pair.document} for query {pair.query}")
        return self._logged(rest, pair, assessor)

    @property
    def _own_log(self) -> tuple[Judgment, ...]:
        if self.log is None:
            raise InputError("this selection belongs to a campaign with a log of its own: use the campaign's tell")
        return self.log

    def _logged(self, log: tuple[Judgment, ...], pair: Pair, assessor: str) -> "Selection":
        """The selection after a change in the log: an assessor's new or withdrawn judgment of a pair."""
        place, before = int(self.pool.locate([pair])[0]), self._own_log
        said = [one for one in log if one.pair == pair] if self.belief.judged[place] else log[-1:]
        if len(log) > len(before) and sum(one.assessor == assessor for one in said) == 1:
            return replace(self.judge(place, mean_grades(said)[pair], (assessor, log[-1].grade)), log=log)
        # A revised or withdrawn judgment: as if all others had been made without it.
        estimator, learned = self.estimator, learned_from(self.pool, log)
        if self.learns and learned != learned_from(self.pool, before):
            estimator = relearned(self.untaught, self.pool.spread(learned)) if learned else self.untaught
        after = self.anew(estimator, mean_grades(log), Panel.of(self.pool, log), self.comparisons)
        return replace(after, changes=self.changes + 1, log=log)

    def anew(
        self,
        estimator: RelevanceEstimator,
        grades: Mapping[Pair, float],
        panel: Panel,
        comparisons: tuple[PairedComparison, ...] = (),
    ) -> "Selection":
        """The same loop started again from these grades and comparisons, by these people.

        estimator  already trained
        grades     grades of the judged pairs, in the order of their first judgments
        """
        order = tuple(map(self.pool.positions.__getitem__, grades))
        begun, known = replace(self, panel=panel, comparisons=comparisons), comparing(estimator, comparisons)
        return replace(begun._asked_now(known, self.pool.spread(grades), order), changes=0, log=None)

    def _asked_now(self, estimator: RelevanceEstimator, grades: Array, order: tuple[int, ...]) -> "Selection":
        belief = estimator.predict(grades)
        scores = self.expected.scores(belief)
        return replace(self, estimator=estimator, belief=belief, scores=scores, order=order, asked=None)

    def judge(self, place: int, grade: float, said: tuple[str, float] | None = None) -> "Selection":
        """The selection after one more judgment of a pair.

        grade  mean over its assessors from now on
        said   the assessor, who has not judged it before, and their own grade; None if all assessors agree

        For callers that keep their own log, such as a campaign; use `tell` for single judgments.
        """
        panel = self.panel
        for name, own in [said] if said else [(name, grade) for name in panel.judges or ("",)]:
            panel = panel.after(place, name, own / self.pool.scale.maximum)
        new, grades = not self.belief.judged[place], self.grades.copy()
        grades[place] = grade
        order = (*self.order, place) if new else self.order
        estimator, changes = self.estimator, self.changes + 1
        if self.learns and len(order) > len(self.order) and is_moment(len(order)):
            estimator = relearned(estimator, grades)
        # A mean that changes cannot be undone by a rank-one step, so the belief is computed from the prior.
        again = not new or estimator is not self.estimator or changes % self.batch == 0
        step = self.belief.answers is None  # what comparisons say is approximated anew with every grade
        belief = (
            estimator.predict(grades).resumed(self.belief) if again or not step else self.belief.condition(place, grade)
        )
        # The scores' update subtracts covariances of the old belief; with another prior these would be wrong.
        if new and step and belief.prior is self.belief.prior:
            scores = self.expected.after(self.scores, self.belief, belief, place)
        else:
            scores = self.expected.scores(belief)
        asked = None if again else self.asked or self
        after = replace(self, estimator=estimator, belief=belief, scores=scores, order=order, log=None)
        return replace(after, asked=asked, changes=changes, panel=panel)

    def judge_all(self, places: Integers, grades: Array) -> "Selection":
        """The selection after judgments of several pairs, at little more than the cost of one; the rule is updated.

        places  (k,) places of unjudged pairs
        grades  (k,)

        The estimator does not relearn: this is for simulated continuations of a campaign.
        """
        known, order = self.grades.copy(), (*self.order, *places.tolist())
        known[places] = grades
        belief = self.estimator.predict(known)
        if belief.prior is self.belief.prior:
            belief = self.belief.condition_all(places, grades)
        after = replace(self, belief=belief, scores=self.expected.scores(belief), order=order, log=None)
        return replace(after, asked=None, changes=self.changes + len(places))

    def in_batches(self, batch: int) -> "Selection":
        """The same loop with another number of judgments between updates; nothing that was computed is lost."""
        other = copy(self)
        vars(other).pop("for_many", None)  # it has the other batch
        object.__setattr__(other, "batch", batch)
        return other

    @cached_property
    def for_many(self) -> "Selection":
        """The same loop, prepared for repeated `judge_all` of many pairs."""
        gains = self.belief.gains
        even = EvenBlocks.of(gains) if isinstance(gains, BlockNormal | EvenBlocks) else None
        return self if even is None or even is gains else replace(self, belief=replace(self.belief, posterior=even))

    @property
    def bare(self) -> "Selection":
        """The same loop, as after an update, without its results, which may take hundreds of megabytes."""
        return replace(self, belief=self.belief.revise(self.grades), asked=None)

    @property
    def in_thought(self) -> "Selection":
        """The same loop for a simulated continuation with grades drawn from its model: no relearning, no check.

        If the model already failed its check, the replacement stays in use: simulated grades are no evidence.
        """
        check = self.grounds.ranking.check
        return replace(self, learns=False, checks=check.verdict == "FAIL", kept_check=check)
