"""Verbs on a ranking: predict, ask for the next pairs, compare two systems; each result has a table and a plot."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.grading import on_scale
from audiosim.collection.kinds import pairs_of
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, after_judgments, make_estimator, taught
from audiosim.joint.posterior import Fallbacks, fallbacks_of, model_notes, what_lacks
from audiosim.joint.predictions import Known, Predictions, portions, prediction_rows
from audiosim.measures.measure import Measure, as_measure
from audiosim.ranking import Selection
from audiosim.ranking.about import OF_THIS_KIND, About, DifferenceDistribution, as_about
from audiosim.ranking.expected import expected_scores, to_rank
from audiosim.ranking.separation import two_systems_of_pool
from audiosim.ranking.two_systems import Condition, TwoSystems, check_level, check_two
from audiosim.results.plots import draw_bars
from audiosim.results.value import Rows
from audiosim.stats.arrays import Integers
from audiosim.text import counted
from audiosim.workers import HERE, Workers

if TYPE_CHECKING:
    from altair import LayerChart

SHOWN = 25  # most pairs in a plot
ModelOrName = NameOrFile | RelevanceEstimator | None


@dataclass(frozen=True, eq=False)
class NextPairs(Rows):
    """Pairs to judge next, the most informative first.

    selection_rule  name of the selection rule
    pairs           pairs of query and document
    weights         weight of each pair by the rule
    """

    _columns: ClassVar = ("query", "document", "weight")

    selection_rule: str
    pairs: tuple[Pair, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, selection: Selection, count: int, by_query: bool) -> "NextPairs":
        """The pairs that a judging loop asks for."""
        asked = selection.ask(count, by_query=by_query)
        return cls(
            selection.selection_rule.name, tuple(asked), tuple(selection.weights[selection.pool.locate(asked)].tolist())
        )

    def __repr__(self) -> str:
        return f"{counted(len(self.pairs), 'pair')} to judge next, by {self.selection_rule}"

    def rows(self) -> list[dict[str, Any]]:
        """One row per pair: query, document, weight."""
        return [pair._asdict() | {"weight": weight} for pair, weight in zip(self.pairs, self.weights, strict=True)]

    def plot(self) -> "LayerChart":
        """The weights of the first pairs."""
        names = [f"{pair.query} {pair.document}" for pair in self.pairs[:SHOWN]]
        return draw_bars(names, self.weights[:SHOWN], f"weight, {self.selection_rule}")


@judgments_second
def predict(
    collection: object,
    model: ModelOrName = None,
    *,
    pairs: object = None,
    cutoff: int | None = None,
    judgments: object = None,
    scale: str | None = None,
    covariance: bool = False,
    scheduler: str | None = None,
) -> Predictions:
    """Predict how relevant unjudged pairs are.

    collection  `Collection` or its folder, or runs in memory; see `Collection.from_frames`
    model       as for `estimate`, or an installed or remote one; an estimator must be for this collection's pool
    pairs       pairs of query and document, retrieved by a system or not, or a frame with these columns; None: the
                unjudged pairs of the pool
    cutoff      depth of the pool; None: the collection's
    judgments   as for `estimate`, as is scale
    covariance  True to add the covariance of the grades, for at most 1,000 pairs: weighted sums of the expectations
                have the variance w' C w, as in the ranking
    scheduler   address of a Dask cluster that does the work instead: one worker predicts the pool, because one model
                has all of its pairs; other pairs are divided into portions
    """
    collection, workers = on_scale(collection, scale, judgments), Workers(1, scheduler)
    if pairs is None:
        ((found, _),) = workers.each(PoolPredictions(collection, cutoff, model, covariance), 1)
        return found
    pool = build_pool(collection, cutoff)
    wanted, known = pairs_of(pairs), Known(collection)
    for pair in wanted:
        known.check(pair)
    return predict_pairs(wanted, collection, pool, model, workers, covariance)


@dataclass(frozen=True, slots=True)
class PoolPredictions:
    """Predictor of the unjudged pairs of a pool, which also reports missing metadata of documents.

    cutoff  depth of the pool; None: the collection's
    """

    collection: Collection
    cutoff: int | None
    model: ModelOrName
    covariance: bool = False

    def __call__(self, _: int = 0) -> tuple[Predictions, list[str]]:
        pool = build_pool(self.collection, self.cutoff)
        estimator = after_judgments(pool, make_estimator(pool, self.model), self.collection.judgments)
        lacks = what_lacks(estimator.predict(pool.spread({})), pool)
        return predict_by(estimator, self.collection, pool, self.covariance), list(lacks)


def predict_by(
    estimator: RelevanceEstimator, collection: Collection, pool: Pool, covariance: bool = False
) -> Predictions:
    """Predictions of a pool's unjudged pairs by an estimator that has learned from the judgments."""
    state = judged_so_far(estimator, collection, pool)
    return _predicted(state, np.flatnonzero(~state.belief.judged), covariance)


def _predicted(state: Selection, places: Integers, covariance: bool) -> Predictions:
    """Predictions of some pairs (m,) of a pool, as its stated ranking adds them up."""
    belief, factor = state.stated_belief, state.widening
    together = belief.covariance(places) * factor**2 if covariance else None
    rows = prediction_rows(belief, state.pool.pairs, places.tolist(), factor)
    notes = model_notes(belief, state.pool, places)
    return Predictions(state.estimator.name, tuple(belief.levels.tolist()), tuple(rows), together, notes)


def predict_pairs(
    pairs: Iterable[tuple[str, str]],
    collection: Collection,
    pool: Pool,
    model: ModelOrName = None,
    workers: Workers = HERE,
    covariance: bool = False,
) -> Predictions:
    """Predictions of some pairs, in their order; the pool may lack some of them.

    model    as for `predict`
    workers  number of workers that share the pairs, in portions
    """
    wanted = [Pair(*pair) for pair in pairs]
    parts = tuple(portions(pool, wanted))
    if covariance and len(parts) > 1:
        raise InputError("the covariance needs all pairs in one pool: expected fewer pairs that no system retrieved")
    work = _Portions(collection, pool.cutoff, model, frozenset(wanted), parts, covariance)
    rows: dict[Pair, dict[str, Any]] = {}
    name, levels, together, fallen = "", tuple[float, ...](), None, Fallbacks((), ())
    said = dict[str, None]()  # by joint models, which have no fallbacks to count over all portions
    for found, others in workers.each(work, len(parts)):
        said |= {} if others.models else dict.fromkeys(found.notes)
        name, levels, together, fallen = found.model, found.levels, found.covariance, others
        rows = {Pair(row["query"], row["document"]): row for row in found.pairs} | rows
    if together is not None:
        at = list(map({pair: place for place, pair in enumerate(rows)}.__getitem__, wanted))
        together = together[np.ix_(at, at)]
    judged = collection.grades()
    by = [fallen.models.index(rows[pair]["model"]) for pair in rows if pair not in judged and fallen.models]
    notes = *said, *fallen.in_words(np.bincount(np.array(by, dtype=np.int64)))
    return Predictions(name, levels, tuple(rows[pair] for pair in wanted), together, notes)


@dataclass(frozen=True, slots=True)
class _Portions:
    """Predictor of the wanted pairs, in a pool extended by one of several portions."""

    collection: Collection
    cutoff: int
    model: ModelOrName
    wanted: frozenset[Pair]
    parts: tuple[tuple[Pair, ...], ...]
    covariance: bool

    def __call__(self, number: int) -> tuple[Predictions, Fallbacks]:
        wider = build_pool(self.collection, self.cutoff, self.parts[number])
        estimator = after_judgments(wider, make_estimator(wider, self.model), self.collection.judgments)
        asked = [place for place, pair in enumerate(wider.pairs) if pair in self.wanted]
        state = judged_so_far(estimator, self.collection, wider)
        belief = state.stated_belief
        fallen = Fallbacks((), ()) if belief.prior.correlated else fallbacks_of(belief)
        return _predicted(state, np.array(asked, dtype=np.int64), self.covariance), fallen


def judged_so_far(estimator: RelevanceEstimator, collection: Collection, pool: Pool) -> Selection:
    """The judging loop after a collection's judgments: beliefs about pairs, and about gains for statements.

    estimator  estimator that has learned from them
    """
    measure = as_measure(f"CG@{pool.cutoff}")  # any rule will do: the belief is the same
    return Selection.start(pool, measure, estimator, collection.judgments, learned=True)


@judgments_second
def next_pairs(
    collection: object,
    model: ModelOrName = None,
    measure: str | Measure = "CG",
    *,
    count: Annotated[int, Ge(1)] = 20,
    selection_rule: str | None = None,
    by_query: bool = False,
    distribution: DifferenceDistribution = "t",
    seed: int = 0,
    judgments: object = None,
    scale: str | None = None,
) -> NextPairs:
    """List the pairs to judge next, most informative first.

    The weight is the value that the selection rule gives to a pair. With the rule "differences" on CG it is the number
    of pairs of systems whose difference depends on the judgment. The default draws pairs at random, so the best grade
    of `audiosim questions`, which is that of the rule `doubts`, may be another pair.

    count           number of pairs; fewer if fewer are left
    selection_rule  such as "doubts", or an installed one; None: the usual one of the model
    by_query        fill each batch from as few queries as possible: fewer changes of query, more judgments
    distribution    distribution of a difference between systems: t, or normal as in the paper of 2013
    seed            seed of all random draws
    judgments       as for `estimate`, as is scale

    Example: `audiosim next demo -n 20 --by-query`
    """
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    selection = Selection.start(
        pool, measure, taught(pool, model, collection.judgments), collection.judgments, selection_rule=selection_rule,
        seed=seed, distribution=distribution,
    )  # fmt: skip
    return NextPairs.of(selection, count, by_query)


@partial(judgments_second, place=3)
def compare(
    collection: object,
    a: str,
    b: str,
    model: ModelOrName = None,
    measure: str | Measure = "CG",
    *,
    confidence: float = 0.95,
    fail_unless: str | None = None,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] | None = None,
    judgments: object = None,
    scale: str | None = None,
) -> TwoSystems:
    """Compare two systems: the difference A less B of their scores, its interval, and whether they differ.

    The verdict is about queries of this kind: the collection's count as a sample of them. The verdict on these queries
    alone is shown beside it. With everything judged, it is the paired t-test. About "these", the two are swapped.

    a            one system
    b            the system to compare it with
    confidence   confidence required for a verdict, and level of the interval
    fail_unless  condition such as "A not worse by 0.02" or "A better"; the command ends with exit code 1 unless it is
                 shown
    distribution  distribution of the difference
    about        queries that the verdict is about, such as "these"; None: queries of this kind, if there are two
    judgments    as for `estimate`, as is scale

    Examples: `audiosim compare demo timbre-full fusion`

    In a release script: `audiosim compare demo timbre-full rhythm --fail-unless "timbre-full not worse by 0.02"`

    To compare a new system, add its run to the folder: judgments belong to documents, so earlier ones count for it too.
    The command's exit code is 0 if the condition is shown, 1 if it is not or the data are wrong, 2 for wrong names or
    options.
    """
    check_level(confidence)
    condition = None if fail_unless is None else Condition.parse(fail_unless, a, b)
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    check_two(pool.systems, a, b)
    grades, expected = collection.grades(), expected_scores(measure, pool)
    estimator = taught(pool, model, collection.judgments)
    order, subject = pool.locate_judged(grades), None if about is None else as_about(about, OF_THIS_KIND)
    found = two_systems_of_pool(
        expected, estimator, pool.spread(grades), (a, b), confidence, distribution, order, subject
    )
    return replace(found, condition=condition)
