"""Predictions for single pairs, as plain values: rows, columns, and a result with table and plot."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool
from audiosim.collection.values import Judgment, Pair, Scale, grouped
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.results.plots import draw_intervals
from audiosim.results.value import Result, Row, cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.text import counted

if TYPE_CHECKING:
    from altair import LayerChart


# Predictable pairs of any query and document, retrieved or not.


PORTION = 200  # unretrieved pairs per query and portion: a query's covariance is a dense matrix


def portions(pool: Pool, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, ...]]:
    """The unretrieved pairs, each once, in portions that keep the covariance blocks small.

    At least one portion, which may be empty.
    """
    waiting = grouped((pair[0], Pair(*pair)) for pair in dict.fromkeys(pairs) if pair not in pool.positions)
    for start in range(0, max(map(len, waiting.values()), default=1), PORTION):
        yield tuple(pair for own in waiting.values() for pair in own[start : start + PORTION])


class Known:
    """The documents and queries that a collection knows.

    A document is known if a run, the metadata, the index of sounds or other evidence names it; a query if its own
    document is known or a run answers it. Every known query with every known document can be predicted; if no system
    retrieved the document, only the other evidence is used.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @cached_property
    def documents(self) -> frozenset[str]:
        """Identifiers of the documents."""
        collection = self._collection
        retrieved = (document for run in collection.runs for ranking in run.rankings.values() for document in ranking)
        return frozenset([*retrieved, *collection.documents, *self._heard(), *self._with_evidence()])

    @cached_property
    def queries(self) -> frozenset[str]:
        """The queries that a run answers or queries.tsv lists; any other is the document of the same name."""
        return frozenset(
            [*(query for run in self._collection.runs for query in run.rankings), *self._collection.query_documents]
        )

    def __contains__(self, pair: Pair) -> bool:
        query, document = pair
        return document in self.documents and (query in self.queries or query in self.documents)

    def check(self, pair: Pair) -> None:
        """Raise an error unless the collection knows the query and the document of a pair."""
        if pair not in self:
            what = "query" if pair.document in self.documents else "document"
            raise InputError(
                f"nothing is known of {what} {getattr(pair, what)}: no run, metadata, index or evidence names it"
            )

    def among(self, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        """The known ones among some pairs, each once."""
        return tuple(dict.fromkeys(Pair(*pair) for pair in pairs if pair in self))

    def _with_evidence(self) -> Iterator[str]:
        """Documents that the user's own evidence covers."""
        for piece in self._collection.evidence:
            if piece.about == "document":
                yield from (str(key) for key in piece.keys)
            elif piece.about == "pair":
                yield from (key[1] for key in piece.keys)

    def _heard(self) -> Iterable[str]:
        if self._collection.sounds is None:
            return ()
        from audiosim.sound.index import load_all  # imported here: most uses need not pay for its start-up time

        return load_all(self._collection.sounds)[0].ids


# Completion of a pool's grades by drawn ones, for evaluators that read only judgments, such as trec_eval.


def drawn_completions(belief: Belief, scale: Scale, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """(n,) grades of several completed pools: a judged pair keeps its grade, any other gets a whole one drawn.

    Pairs are drawn jointly, so that a result computed from each pool varies by its true uncertainty: Rubin (1987). What
    is drawn, or the mean of several people's grades, may lie between two grades of the scale: it becomes one of them at
    random, so that its mean stays.
    """
    levels, n = np.array(scale.levels), len(belief.grades)
    if np.any(levels != np.round(levels)):
        raise InputError(f"qrels hold whole grades, the scale has {scale}")
    drawn = np.empty((count, n))
    for rows, grades in belief.draw(rng, count):
        drawn[:, rows] = grades
    drawn[:, belief.settled] = belief.grades[belief.settled]
    for grades in drawn:
        upper = np.searchsorted(levels, grades).clip(1, len(levels) - 1)
        low, high = levels[upper - 1], levels[upper]
        yield np.where(rng.random(n) * (high - low) < grades - low, high, low)


def completed_judgments(pairs: Sequence[Pair], grades: Array) -> list[Judgment]:
    """Judgments of all pairs with these grades (n,)."""
    return [Judgment(*pair, grade) for pair, grade in zip(pairs, grades.tolist(), strict=True)]


SHOWN = 25  # most pairs in a plot
COLUMNS = ("query", "document", "expectation", "variance", "gain", "model", "evidence")
WORDS = {"query", "document", "model", "evidence"}


@dataclass(frozen=True, eq=False)
class Predictions(Result):
    """Predicted relevance of pairs.

    model   name of the estimator
    levels  grades that have a probability, rising
    pairs   for each pair query, document, expectation, variance, probabilities, gain, model, evidence; see
            `prediction_rows`
    covariance  (n, n) covariance of the grades, in the order of the rows; None unless asked for
    notes   sentences on pairs that another model predicts
    """

    _index: ClassVar = ("query", "document")
    _shown: ClassVar = ("expectation", "variance", "model")

    model: str
    levels: tuple[float, ...]
    pairs: tuple[dict[str, Any], ...]
    covariance: Array | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{counted(len(self.pairs), 'pair')} predicted by {self.model}"

    def to_dict(self) -> list[dict[str, Any]]:
        """The predictions as plain values, ready for JSON; `levels` are those that the probabilities are of."""
        return [{**row, "levels": list(self.levels)} for row in self.pairs]

    def rows(self) -> list[Row]:
        """The pairs with a column for each level, p0, p50 and so on, instead of the list of probabilities."""
        return [self._flat(row) for row in self.pairs]

    def portions(self, size: int) -> Iterator[dict[str, Array | list[Any]]]:
        """Columns of the rows in portions, see `prediction_columns`; one portion without rows if there is none."""
        for start in range(0, max(1, len(self.pairs)), size):
            rows = [self._flat(row) for row in self.pairs[start : start + size]]
            columns = {name: [row[name] for row in rows] for name in (*COLUMNS, *self._level_names)}
            yield {name: one if name in WORDS else np.array(one, dtype=np.float64) for name, one in columns.items()}

    def _flat(self, row: dict[str, Any]) -> dict[str, Any]:
        single = {key: value for key, value in row.items() if key != "probabilities"}
        return single | dict(zip(self._level_names, row["probabilities"], strict=True))

    @cached_property
    def _level_names(self) -> list[str]:
        return [f"p{level:g}" for level in self.levels]

    def plot(self) -> "LayerChart":
        """The pairs with the highest expectations, with one standard deviation on either side."""
        best = sorted(self.pairs, key=lambda row: -row["expectation"])[:SHOWN]
        middle, reach = (np.array([row[key] for row in best]) for key in ("expectation", "variance"))
        names = [f"{row['query']} {row['document']}" for row in best]
        reach = np.sqrt(reach)
        return draw_intervals(names, middle - reach, middle, middle + reach, "expected grade")


def prediction_rows(
    belief: Belief, pairs: Sequence[Pair], chosen: Iterable[int], factor: float = 1.0
) -> list[dict[str, Any]]:
    """One row per chosen pair: query, document, expectation, variance, probabilities, gain, model, evidence.

    expectation and variance are of the pair's grade, as the ranking adds them up, and gain is the expectation as a
    share of the highest grade; probabilities are those of a single grade, whose mean is the expectation, if each level
    counts as the mean of the grades judged in it.

    belief  behind the ranking
    pairs   (n) pairs of the pool
    chosen  places among them
    factor  widening of the ranking's deviations after a failed check
    """
    keys = ("expectation", "variance", "probabilities", "gain")
    columns = [column.tolist() for column in _columns(belief, factor)]
    return [
        pairs[i]._asdict()
        | {key: column[i] for key, column in zip(keys, columns, strict=True)}
        | {"model": belief.models[belief.model[i]], "evidence": belief.evidence_of(i)}
        for i in chosen
    ]


def prediction_columns(
    belief: Belief, pairs: Sequence[Pair], chosen: Integers, factor: float = 1.0
) -> dict[str, Array | Sequence[str | None]]:
    """Values of `prediction_rows` as columns, with one for each level, p0, p50 and so on, in place of probabilities."""
    some = [pairs[place] for place in chosen.tolist()]
    words = {"query": [pair.query for pair in some], "document": [pair.document for pair in some]}
    return {**words, **columns_of_values(belief, chosen, factor)}


def columns_of_values(belief: Belief, chosen: Integers, factor: float = 1.0) -> dict[str, Array | Sequence[str | None]]:
    """Columns of `prediction_columns` without the names of the pairs."""
    expectation, variance, probabilities, gain = _columns(belief, factor)
    numbers = {"expectation": expectation, "variance": variance, "gain": gain}
    levels = {f"p{level:g}": column for level, column in zip(belief.levels, probabilities.T, strict=True)}
    return {
        **{name: column[chosen] for name, column in numbers.items()},
        "model": [belief.models[number] for number in belief.model[chosen].tolist()],
        "evidence": [belief.evidence_of(place) for place in chosen.tolist()],
        **{name: column[chosen] for name, column in levels.items()},
    }


def _columns(belief: Belief, factor: float) -> tuple[Array, Array, Array, Array]:
    expectation = belief.expectation
    return expectation, belief.variance * factor**2, belief.probabilities, expectation / belief.maximum
