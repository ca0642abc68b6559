"""Worth of each piece of evidence in a collection: the loss of accuracy without it.

Held-out pairs are judged but not shown to the model; they give the error and log score of single grades, with intervals
by bootstrap over queries. Replays give the number of judgments that a piece saves until the ranking reaches a
confidence.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.errors import InputError, not_judged
from audiosim.evaluation.evaluation import to_score
from audiosim.joint.estimators import JOINT, RelevanceEstimator, estimator_of, relearned
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.joint.prior import kinship_to
from audiosim.measures.measure import Measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row
from audiosim.simulation.replay import replay
from audiosim.simulation.trials import draw_parts
from audiosim.stats.arrays import Array, Integers
from audiosim.text import counted
from audiosim.training.examples import draw
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.scores import LEAST
from audiosim.training.train import train
from audiosim.workers import each_in_turn

if TYPE_CHECKING:
    from altair import LayerChart

BOOTSTRAPS = 2000
BATCH = 20
ALWAYS = ("output", "judgments")  # evidence available in every collection


@dataclass(frozen=True, slots=True)
class PieceWorth:
    """Worth of one piece of evidence.

    evidence   its name
    known      share of the pairs that it covers
    judged     share of the pairs shown to the model
    rmse       root mean square error of single grades without it less that with it, divided by the highest grade
    rmse_low, rmse_high            95 % interval over queries
    log_score  mean log probability of the held-out grades with it less that without it, in nats
    log_score_low, log_score_high  95 % interval over queries
    saved      how many fewer judgments a replay needs with it until the target confidence; None without replays
    """

    evidence: str
    known: float
    judged: float
    rmse: float
    rmse_low: float
    rmse_high: float
    log_score: float
    log_score_low: float
    log_score_high: float
    saved: float | None

    def __str__(self) -> str:
        count = None if self.saved is None else round(self.saved)
        if count is None or count == 0:
            return self._of_predictions
        saves = f"{'saves' if count > 0 else 'costs'} about {counted(abs(count), 'judgment')}"
        if self.log_score_low > 0 and count > 0:
            return f"{self.evidence} {saves}"
        joined = "and" if self.log_score_low <= 0 and count < 0 else "but"
        return f"{self._of_predictions} {joined} {saves}"

    @property
    def _of_predictions(self) -> str:
        if self.log_score_high < 0:
            return f"{self.evidence} makes the predicted probabilities worse (log score)"
        if self.log_score_low <= 0:
            return f"{self.evidence} has no measurable worth for predictions"
        if self.rmse_low > 0:
            return f"{self.evidence} lowers the error of a grade by {self.rmse:.3f} of the scale"
        return f"{self.evidence} makes the predicted probabilities better, but not measurably the expected grades"


@dataclass(frozen=True, slots=True)
class EvidenceWorth(Result):
    """Worth of every piece of evidence.

    pieces   pieces by name, then by the share judged
    rmse     error with all evidence, for each share judged
    learned  True if models were learned on other queries, because the shipped one had learned from this collection
    target   confidence at which replays stopped; None without replays
    """

    pieces: tuple[PieceWorth, ...]
    rmse: dict[float, float]
    learned: bool
    target: float | None

    def __repr__(self) -> str:
        first = [str(one) for one in self.pieces if one.judged == self.pieces[0].judged]
        return f"With {100 * self.pieces[0].judged:.0f} % judged, {'; '.join(first)}."

    def rows(self) -> list[Row]:
        """One row per piece of evidence and share judged."""
        return [asdict(piece) for piece in self.pieces]

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {
            "learned": self.learned,
            "target": self.target,
            "rmse": [{"judged": share, "rmse": error} for share, error in self.rmse.items()],
            "evidence": self.rows(),
        }

    def plot(self) -> "LayerChart":
        """Increase of the error without each piece, with 95 % intervals."""
        names = [f"{one.evidence}, {one.judged:.0%} judged" for one in self.pieces]
        low, middle, high = np.transpose([(one.rmse_low, one.rmse, one.rmse_high) for one in self.pieces])
        return draw_intervals(names, low, middle, high, "increase of the error of grades without it")


class _Case(NamedTuple):
    """A collection to predict, and a model that has not seen it."""

    collection: Collection
    model: str | Model


class _Scores(NamedTuple):
    """Squared errors and log scores of the held-out pairs, and the query of each."""

    square: Array
    log: Array
    query: Integers


class _Left(NamedTuple):
    """Results without a piece: scores for each share judged, and the judgments that replays needed."""

    scores: tuple[_Scores, ...]
    reached: float | None


def _left(
    cases: Sequence[_Case],
    names: Sequence[str | None],
    shares: Sequence[float],
    seeds: Sequence[int],
    measure: Measure,
    target: float | None,
    number: int,
) -> _Left:
    """Results without the piece with a number; with all pieces if its name is None."""
    name = names[number]
    scores = tuple(_scores(cases, name, share, seeds) for share in shares)
    return _Left(scores, None if target is None else _reached(cases, name, measure, target))


def worth(
    collection: object,
    *,
    measure: str | Measure = "CG",
    judgments: object = None,
    scale: str | None = None,
    judged: Sequence[float] = (0.0, 0.1),
    splits: Annotated[int, Ge(1)] = 2,
    target: Annotated[float, Ge(0.5), Le(1)] = 0.95,
    replays: bool = True,
    seed: int | np.random.Generator = 0,
    progress: Callable[[int, int], None] = lambda done, of: None,
    jobs: int = 1,
    scheduler: str | None = None,
) -> EvidenceWorth:
    """Measure what each piece of evidence is worth: genre, artist, sound, and the files in `evidence/`.

    Its worth is the increase in error of held-out grades, and the drop in their log score, when it is withheld, with
    95 % intervals over queries. If the whole pool is judged, a replay also shows how many judgments it saves. Evidence
    whose interval contains 0 may be worth nothing. On a collection that the model knows, models are learned on other
    queries.

    measure  measure that ranks the systems in replays
    judgments  as for `estimate`, as is scale
    judged   shares of the pairs that count as judged, such as 0,0.1,0.2
    splits   number of random draws of pairs, or of halves of the queries
    target   confidence at which replays stop
    replays  also replay campaigns, which takes minutes
    seed     seed of all draws, or a generator
    progress   called with the number of finished pieces and of all; all evidence together counts as one piece
    jobs       number of processes, each leaving out one piece
    scheduler  address of a Dask cluster that does the work instead; see `each_in_turn`

    Example: `audiosim worth demo --judgments demo/truth.qrels --judged 0,0.1 --no-replays`
    """
    collection, measure = to_score(collection, measure, scale, judgments)
    rng = np.random.default_rng(seed)
    for share in judged:
        if not 0 <= share < 1:
            raise InputError(f"a share of the pairs must be at least 0 and below 1, got {share:g}")
    home = kinship_to(build_pool(collection), load_model(JOINT)) == "home"
    cases = list(_cases(collection, home, splits, rng))
    names = _pieces(cases[0].collection)
    seeds = [int(seed) for seed in rng.integers(2**32, size=splits)]
    played = replays and all(_complete(case.collection, measure) for case in cases)
    replayed_to = target if played else None
    left_out = (None, *names)
    without = partial(_left, cases, left_out, judged, seeds, measure, replayed_to)
    whole, *less = each_in_turn(without, len(left_out), jobs, progress, scheduler)
    found = []
    for name, left in zip(names, less, strict=True):
        known = float(np.mean([_known(case.collection, name) for case in cases]))
        saved = None if left.reached is None or whole.reached is None else left.reached - whole.reached
        for share, all_of, some in zip(judged, whole.scores, left.scores, strict=True):
            found.append(PieceWorth(name, known, share, *_differences(all_of, some), saved))
    errors = {share: float(np.sqrt(scores.square.mean())) for share, scores in zip(judged, whole.scores, strict=True)}
    return EvidenceWorth(tuple(found), errors, home, target if played else None)


def _cases(collection: Collection, home: bool, splits: int, rng: np.random.Generator) -> Iterator[_Case]:
    if not collection.judgments:
        raise not_judged(f"{collection.identifier}: nothing is judged")
    if not home:
        yield _Case(collection, JOINT)
        return
    plan = Plan(parse_terms(JOINT), folds=0, joint=True)
    for part in draw_parts(collection, splits, rng, held_out="queries"):
        yield _Case(part.of(collection), train([part.rest(collection)], plan).model)


def _pieces(collection: Collection) -> list[str]:
    """The pieces that cover any pair."""
    pool = build_pool(collection)
    spoke = estimator_of(pool, JOINT).predict(np.full(len(pool.pairs), np.nan)).evidence
    found = dict.fromkeys(name for kinds in spoke for name in kinds if name not in ALWAYS)
    if not found:
        raise InputError(
            f"collection {collection.identifier} has no evidence that {JOINT} uses on the {collection.scale.name} "
            "scale, besides the systems' results; expected artist or genre in documents.tsv, or a sound index "
            "(audiosim extract)"
        )
    return sorted(found)


def _without(collection: Collection, name: str | None) -> Collection:
    """The collection without a piece of evidence; unchanged if None."""
    if name is None:
        return collection
    if name == "sound":
        return replace(collection, sounds=None)
    if name in {"genre", "artist"}:
        blank: dict[str, Any] = {name: None}
        documents = {key: replace(document, **blank) for key, document in collection.documents.items()}
        return replace(collection, documents=documents)
    evidence = tuple(piece for piece in collection.evidence if piece.name != name)
    judges = tuple(one for one in collection.graders if one.name != name)
    return replace(collection, evidence=evidence, judgments=tuple(collection.judgments), judges=judges)


def _known(collection: Collection, name: str) -> float:
    pool = build_pool(collection)
    belief = estimator_of(pool, JOINT).predict(np.full(len(pool.pairs), np.nan))
    says = np.array([name in kinds for kinds in belief.evidence])
    return float(says[belief.spoke].mean()) if belief.spoke is not None else 1.0


def _scores(cases: Sequence[_Case], name: str | None, share: float, seeds: Sequence[int]) -> _Scores:
    """Scores of all cases and draws, pairs one after the other."""
    parts, before = [], 0
    for case in cases:
        pool = build_pool(_without(case.collection, name))
        truth = pool.spread(case.collection.grades())
        for seed in seeds if share else seeds[:1]:
            shown = draw(pool.query, share, seed) if share else np.zeros(len(truth), dtype=np.bool_)
            one = _held_out(pool, estimator_of(pool, case.model), truth, np.where(shown, truth, np.nan))
            parts.append(one._replace(query=one.query + before))
        before += len(pool.queries)
    return _Scores(*(np.concatenate(of) for of in zip(*parts, strict=True)))


def _held_out(pool: Pool, estimator: RelevanceEstimator, truth: Array, seen: Array) -> _Scores:
    """Scores of the judged pairs held out from the estimator."""
    if np.sum(~np.isnan(seen)) >= FIRST_LEARNING:
        estimator = relearned(estimator, seen)
    belief = estimator.predict(seen)
    held = np.flatnonzero(~np.isnan(truth) & np.isnan(seen))
    level = np.argmin(np.abs(belief.levels - truth[held, None]), axis=1)
    probability = np.maximum(LEAST, belief.probabilities[held, level])
    off = (belief.expectation[held] - truth[held]) / pool.scale.maximum
    return _Scores(off**2, np.log(probability), pool.query[held])


def _differences(whole: _Scores, less: _Scores) -> tuple[float, float, float, float, float, float]:
    """Increase of the error, and loss of the log score, each with its interval over draws of queries."""
    queries = int(whole.query.max()) + 1
    count, *sums = (
        np.bincount(whole.query, of, queries)
        for of in (np.ones(len(whole.query)), whole.square, less.square, whole.log - less.log)
    )
    asked = np.flatnonzero(count)
    lots = np.random.default_rng(0).multinomial(len(asked), np.full(len(asked), 1 / len(asked)), BOOTSTRAPS)
    drawn = np.vstack([np.ones(len(asked)), lots])
    total = drawn @ count[asked]
    first, second, log = (drawn @ of[asked] / total for of in sums)
    error = np.sqrt(second) - np.sqrt(first)
    (low, high), (log_low, log_high) = (np.percentile(of[1:], [2.5, 97.5]) for of in (error, log))
    return float(error[0]), float(low), float(high), float(log[0]), float(log_low), float(log_high)


def _complete(collection: Collection, measure: Measure) -> bool:
    pool = build_pool(collection, measure.cutoff)
    return not np.isnan(pool.spread(collection.grades())).any()


def _reached(cases: Sequence[_Case], name: str | None, measure: Measure, target: float) -> float:
    """Mean number of judgments until the confidence in the ranking reaches the target."""
    judged = []
    for case in cases:
        pool = build_pool(_without(case.collection, name), measure.cutoff)
        start = Selection.start(pool, measure, estimator_of(pool, case.model), batch=BATCH)
        played = replay(start, pool.spread(case.collection.grades()), target)
        judged.append(played.selection.judged)
    return float(np.mean(judged))
