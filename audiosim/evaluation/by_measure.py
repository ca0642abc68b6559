"""Results of one verb by several measures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from audiosim.collection.check import complete_part
from audiosim.evaluation.evaluation import Evaluation, agreement_rows
from audiosim.measures.measure import as_measure, with_cutoff
from audiosim.results.value import Result, Row
from audiosim.workers import HERE, Workers

One = TypeVar("One", bound=Result)


@dataclass(frozen=True, eq=False)
class ByMeasure(Result, Generic[One]):
    """Results by measure.

    found  result by measure, in the order asked for
    """

    found: Mapping[str, One]

    def rows(self) -> list[Row]:
        """The rows of each result, with a column measure; columns of lists are left out."""
        return [
            {"measure": measure} | {name: value for name, value in row.items() if not isinstance(value, list)}
            for measure, one in self.found.items()
            for row in one.rows()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Each result by its measure, ready for JSON; evaluations also tell how far the measures agree."""
        value = {measure: one.to_dict() for measure, one in self.found.items()}
        for row in agreement_rows({name: one for name, one in self.found.items() if isinstance(one, Evaluation)}):
            a, b = row.pop("a"), row.pop("b")
            for measure, other in ((a, b), (b, a)):
                value[measure].setdefault("agreement", []).append({"with": other} | row)
        return value

    def __repr__(self) -> str:
        return "; ".join(map(repr, self.found.values()))


def by_measure(
    function: Callable[..., One], *, measure: Sequence[str], workers: Workers = HERE, **given: Any
) -> ByMeasure[One]:
    """The results of a function with a parameter `measure`, by several measures.

    measure  measures; without a cutoff, that of the collection
    workers  processes that share the measures
    given    other arguments of the function; with `complete` all measures see the part of the `collection` that is
             judged down to the deepest cutoff, so that they score the same systems
    """
    collection = given.get("collection")
    texts = list(measure) if collection is None else [with_cutoff(text, collection.cutoff) for text in measure]
    if collection is not None and given.get("complete"):
        deepest = max(as_measure(text).cutoff for text in texts)
        given |= {"collection": complete_part(collection, deepest), "complete": False}
    results = workers.map(partial(_called, function, given), texts)
    return ByMeasure(dict(zip(texts, results, strict=True)))


def _called(function: Callable[..., One], given: Mapping[str, Any], measure: str) -> One:
    return function(measure=measure, **given)
