"""Replay of a campaign with known judgments: the moment it would have stopped, and its accuracy then."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.errors import InputError, not_judged
from audiosim.evaluation.evaluation import to_score
from audiosim.joint.estimators import estimator_of, make_estimator
from audiosim.measures.measure import Measure
from audiosim.ordinal.model import Model
from audiosim.ranking import SELECTION_RULES, Selection, StoppingRule
from audiosim.ranking.about import THESE, About, DifferenceDistribution, Ideal, as_about
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.ranking import Ranking, spelled_confidence
from audiosim.ranking.stopping import as_stopping_rule, first_of
from audiosim.ranking.verbs import ModelOrName
from audiosim.results.plots import Line, draw_curves
from audiosim.results.progress import progress
from audiosim.results.value import Result, Row, Rows, parts
from audiosim.stats.arrays import Array
from audiosim.stats.inference.ties import equalised
from audiosim.stats.ranks import spearman

if TYPE_CHECKING:
    from altair import LayerChart


@dataclass(frozen=True, slots=True)
class ReplayMoment:
    """One moment of a replay.

    judged      number of pairs judged
    confidence  stated confidence in the ranking; None if there is nothing to order
    accuracy    true accuracy of the ranking
    deviation   stated sqrt of the mean variance of the systems' scores
    error       true mean absolute error of the systems' scores
    rho         Spearman's correlation of the systems' scores with the true ones
    rmse        root mean squared error of the systems' scores
    rmse_differences  the same of the differences between two systems, as in Urbano (2013), Table 8.1
    """

    judged: int
    confidence: float | None
    accuracy: float
    deviation: float
    error: float
    rho: float
    rmse: float
    rmse_differences: float


@dataclass(frozen=True, eq=False)
class Replay(Result):
    """A campaign played to its end.

    start      its start
    selection  its end
    scores     (s,) true scores of the systems
    curve      all moments, the first before any judgment
    asked      the judgments in the order of the requests
    tau        Kendall's correlation (a) of the ranking with the true one
    """

    _index: ClassVar = ("judged",)

    start: Selection
    selection: Selection
    scores: Array
    curve: tuple[ReplayMoment, ...]
    asked: tuple[Judgment, ...]
    tau: float

    @property
    def turns(self) -> int:
        """Number of times that the listener had to change to another query."""
        return sum(a.query != b.query for a, b in pairwise(self.asked))

    def __repr__(self) -> str:
        last = self.curve[-1]
        return (
            f"{self.selection.measure}: stopped after {last.judged} of {len(self.selection.pool.pairs)} judgments, "
            f"{spelled_confidence(last.confidence, self.selection.about)}, accuracy {last.accuracy:.3f}"
        )

    def rows(self) -> list[Row]:
        """Its moments: one row per judgment, the first before any."""
        return [asdict(moment) for moment in self.curve]

    def plot(self) -> "LayerChart":
        """Stated confidence and true accuracy after each judgment."""
        judged, confidences = ([getattr(moment, name) for moment in self.curve] for name in ("judged", "confidence"))
        lines = [
            Line("confidence, stated", judged, [np.nan if of is None else of for of in confidences]),
            Line("accuracy, true", judged, [moment.accuracy for moment in self.curve]),
        ]
        return draw_curves(lines, "judgments", "share of pairs of systems")

    def to_dict(self) -> dict[str, Any]:
        """The replay as plain values, ready for JSON."""
        last = self.curve[-1]
        return {
            "measure": str(self.selection.measure),
            "model": self.selection.estimator.name,
            "judged": last.judged,
            "pool": len(self.selection.pool.pairs),
            "confidence": last.confidence,
            "about": self.selection.about.to_dict(),
            "accuracy": last.accuracy,
            "tau": self.tau,
            **parts(last, "rho", "rmse", "rmse_differences"),
            "rule": self.selection.selection_rule.name,
            "error": last.error,
            "turns": self.turns,
            "curve": self.rows(),
        }


def replay(
    selection: Selection,
    truth: Array,
    stopping_rule: float | StoppingRule,
    progress: Callable[[ReplayMoment], None] = lambda _: None,
    by_query: bool = False,
) -> Replay:
    """Judge with known grades until a goal is met.

    truth          (n,) grade of every pair of the pool
    stopping_rule  stopping rule, or a mean confidence; above 1, everything that affects the ranking is judged
    progress       called with every moment
    by_query       True to take each batch from as few queries as possible
    """
    check_complete(selection, truth)
    start, scores = selection, true_scores(selection, truth)
    curve, asked = [moment(selection, scores)], []
    progress(curve[-1])
    met = selection.reached(stopping_rule)
    while not met:
        for pair in selection.ask(selection.batch, by_query=by_query):
            asked.append(Judgment(*pair, grade=truth[selection.pool.positions[pair]]))
            selection = selection.tell(asked[-1])
            curve.append(moment(selection, scores))
            progress(curve[-1])
            met = selection.reached(stopping_rule)
            if met:
                break
    tau = agreement_with_truth(selection.ranking, scores)[1]
    return Replay(start, selection, scores, tuple(curve), tuple(asked), tau)


def check_complete(selection: Selection, truth: Array) -> None:
    """Raise an error that names the first pair without a grade.

    truth  (n,) NaN where missing
    """
    missing = np.flatnonzero(np.isnan(truth))
    if len(missing):
        first = selection.pool.pairs[int(missing[0])]
        raise not_judged(
            f"{len(missing)} of the pool's {len(truth)} pairs have no judgment, "
            f"such as query {first.query}, document {first.document}; a replay needs all of them"
        )


def true_scores(selection: Selection, truth: Array) -> Array:
    """(s,) scores of the systems by the grade of every pair of the pool (n,)."""
    return equalised(selection.expected.scores(selection.belief.certain(truth)).mean)


def moment(selection: Selection, scores: Array) -> ReplayMoment:
    """Confidence and accuracy of a selection.

    scores  (s,) true scores
    """
    ranking = selection.ranking
    deviation = float(np.sqrt(ranking.scores.variance.mean()))
    off = ranking.scores.mean - scores
    return ReplayMoment(
        judged=selection.judged,
        confidence=ranking.confidence,
        accuracy=agreement_with_truth(ranking, scores)[0],
        deviation=deviation,
        error=float(np.abs(off).mean()),
        rho=spearman(ranking.scores.mean, scores),
        rmse=float(np.sqrt((off**2).mean())),
        rmse_differences=error_of_differences(ranking, scores),
    )


def error_of_differences(ranking: Ranking, scores: Array) -> float:
    """Root mean squared error of the expected differences between two systems; 0 for a single system.

    scores  (s,) true scores

    RMSE of delta lambda in Urbano (2013), Table 8.1.
    """
    better, worse = ranking.scores.pairs
    off = ranking.scores.differences[0] - (scores[better] - scores[worse])
    return float(np.sqrt((off**2).mean())) if len(off) else 0.0


def agreement_with_truth(ranking: Ranking, scores: Array) -> tuple[float, float]:
    """Accuracy of a ranking, and its Kendall correlation tau a with the truth.

        accuracy = mean over pairs of systems of (1 + sign(expected) sign(true)) / 2

    scores  (s,) true scores

    A tie on only one side counts half; a tie on both sides is correct. Pairs known to be equal are left out of the
    accuracy and of the confidence. If there is nothing to order, both are 1.
    """
    better, worse = ranking.scores.pairs
    if len(better) == 0:
        return 1.0, 1.0
    expected, true = np.sign(ranking.scores.differences[0]), np.sign(scores[better] - scores[worse])
    accuracy = ranking.scores.mean_of_open(right(ranking, scores))
    return 1.0 if accuracy is None else accuracy, float((expected * true).mean())


def right(ranking: Ranking, scores: Array) -> Array:
    """(p,) accuracy of the order of each pair of systems: 1, 0, or 1/2 for a tie on one side only.

    scores  (s,) true scores
    """
    better, worse = ranking.scores.pairs
    expected, true = np.sign(ranking.scores.differences[0]), np.sign(scores[better] - scores[worse])
    return np.where((expected == 0) & (true == 0), 1.0, (1 + expected * true) / 2)


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of simulated campaigns, the same in each; see `simulate`."""

    model: ModelOrName
    measure: Measure
    selection_rule: str | None
    batch: int
    ideal: Ideal
    seed: int
    distribution: DifferenceDistribution
    about: About

    def start(self, collection: Collection, learned: Model | None = None) -> Selection:
        """Start of a campaign on a collection, with the model learned for it or that of all."""
        pool = build_pool(collection, self.measure.cutoff)
        estimator = make_estimator(pool, self.model) if learned is None else estimator_of(pool, learned)
        return Selection.start(
            pool, expected_scores(self.measure, pool, self.ideal), estimator, batch=self.batch,
            selection_rule=self.selection_rule, seed=self.seed, distribution=self.distribution, about=self.about,
        )  # fmt: skip

    def play(
        self, collection: Collection, stopping_rule: StoppingRule, by_query: bool, show: Callable[[int, int], None]
    ) -> Replay:
        """A campaign on a collection, played to its end."""
        start = self.start(collection)
        truth = start.pool.spread(collection.grades())
        return replay(start, truth, stopping_rule, lambda moment: show(moment.judged, len(truth)), by_query)


def stopping_rules_of(target: float, given: object) -> list[StoppingRule]:
    """The stopping rules given by rules, their texts or a mean confidence; a target alone if None."""
    if given is None or isinstance(given, str) or not isinstance(given, Sequence):
        return [as_stopping_rule(target if given is None else given)]
    if not given:
        raise InputError("expected a stopping rule such as 'every=0.95', got none")
    return list(map(as_stopping_rule, given))


@judgments_second
def simulate(
    collection: object,
    model: ModelOrName = None,
    measure: str | Measure = "CG",
    *,
    target: Annotated[float, Ge(0.5), Le(1)] = 0.95,
    stopping_rule: float | str | StoppingRule | Sequence[str] | None = None,
    selection_rule: str | None = None,
    batch: Annotated[int, Ge(1)] = 20,
    by_query: bool = False,
    ideal: Ideal = "ordered",
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    seed: int = 0,
    complete: bool = False,
    judgments: object = None,
    scale: str | None = None,
) -> Replay:
    """Replay a campaign against known judgments: when it would have stopped, and how accurate it would have been.

    `audiosim rules` does it with every selection rule; `audiosim calibration` on many random parts of the collection.

    collection  every pair of its pool must be judged, unless `complete`
    target      mean confidence at which judging stops
    stopping_rule   when to stop, instead: every=0.95, difference(size=0.02)=0.95, users(share=0.05)=0.95,
                    success(share=0.5)=0.95, error=0.05 (the mean absolute error of the scores),
                    error(corrected=no)=0.05 or judgments=200; repeated: the first one met stops
    selection_rule  as for `next_pairs`
    batch       number of judgments between two updates of the predictions
    by_query    fill each batch from as few queries as possible: fewer changes of query, more judgments
    ideal       ideal of nDCG and RBP: see `estimate`
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    about       queries that the confidence is about, such as "queries": of this kind
    seed        seed of all random draws
    complete    leave out systems and queries that are not judged down to the cutoff
    judgments   as for `estimate`, as is scale

    A bar shows the progress, in terminals and notebooks.

    Example: `audiosim simulate demo --judgments demo/truth.qrels --model mjud --target 0.95 --batch 1`
    """
    collection, measure = to_score(collection, measure, scale, judgments, complete)
    setup = Setup(model, measure, selection_rule, batch, ideal, seed, distribution, as_about(about))
    stop = first_of(stopping_rules_of(target, stopping_rule))
    with progress("judging") as show:
        return setup.play(collection, stop, by_query, show)


@dataclass(frozen=True, eq=False)
class RuleCosts(Rows):
    """Campaigns on one collection by each selection rule, and by one also with batches from few queries.

    stopping_rule  rule at which each stopped
    replays        campaigns by name of the selection rule, and whether its batches are by query
    """

    _index: ClassVar = ("rule", "by_query")

    stopping_rule: StoppingRule
    replays: dict[tuple[str, bool], Replay]

    def __repr__(self) -> str:
        least = min(self.replays, key=lambda rule: self.replays[rule].curve[-1].judged)
        return f"{least[0]} needs the fewest judgments to {self.stopping_rule}: {self.replays[least].curve[-1].judged}"

    def rows(self) -> list[Row]:
        """One row per selection rule: the judgments it needs, and how accurate it then is."""
        keys = ("judged", "pool", "confidence", "accuracy", "tau", "rho", "rmse_differences", "error", "turns")
        found = {rule: played.to_dict() for rule, played in self.replays.items()}
        return [
            {"rule": rule, "by_query": by_query} | {key: of[key] for key in keys}
            for (rule, by_query), of in found.items()
        ]


@judgments_second
def rules(
    collection: object,
    model: ModelOrName = None,
    measure: str | Measure = "CG",
    *,
    target: Annotated[float, Ge(0.5), Le(1)] = 0.95,
    stopping_rule: float | str | StoppingRule | Sequence[str] | None = None,
    selection_rule: str | None = None,
    batch: Annotated[int, Ge(1)] = 20,
    ideal: Ideal = "ordered",
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    seed: int = 0,
    complete: bool = False,
    judgments: object = None,
    scale: str | None = None,
) -> RuleCosts:
    """Compare the selection rules: replay a campaign with each, and count the judgments that it needs.

    target      mean confidence at which judging stops
    stopping_rule   as for `simulate`
    selection_rule  rule that is also replayed with batches from few queries, and may be an installed one
    batch       number of judgments between two updates of the predictions
    ideal       ideal of nDCG and RBP: see `estimate`
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    about       queries that the confidence is about, such as "queries": of this kind
    seed        seed of all random draws
    complete    leave out systems and queries that are not judged down to the cutoff
    judgments   as for `estimate`, as is scale

    Example: `audiosim rules demo --judgments demo/truth.qrels --stopping-rule judgments=100`
    """
    collection, measure = to_score(collection, measure, scale, judgments, complete)
    stop = first_of(stopping_rules_of(target, stopping_rule))
    setup = Setup(model, measure, selection_rule, batch, ideal, seed, distribution, as_about(about))
    begun = setup.start(collection)  # before the work, for a name may be unknown
    chosen = selection_rule or begun.selection_rule.name
    every = [*((name, False) for name in dict.fromkeys([*SELECTION_RULES, chosen])), (chosen, True)]
    with progress("judging") as show:
        return RuleCosts(
            stop,
            {(name, by): replace(setup, selection_rule=name).play(collection, stop, by, show) for name, by in every},
        )
