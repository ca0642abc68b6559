"""Predictions for single pairs, as plain values: rows, columns, and a result with table and plot."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Pair
from audiosim.display import frame_of, notebook_html
from audiosim.relevance.belief import Belief

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


SHOWN = 25  # most pairs in a plot
COLUMNS = ("query", "document", "expectation", "variance", "gain", "model", "evidence")
WORDS = {"query", "document", "model", "evidence"}


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted relevance of pairs.

    model   name of the estimator
    levels  grades that have a probability, rising
    rows    for each pair query, document, expectation, variance, probabilities, gain, model, evidence; see
            `prediction_rows`
    covariance  (n, n) covariance of the grades, in the order of the rows; None unless asked for
    """

    model: str
    levels: tuple[float, ...]
    rows: tuple[dict[str, Any], ...]
    covariance: Array | None = None

    def __repr__(self) -> str:
        return f"{len(self.rows):,} pairs predicted by {self.model}"

    def _repr_html_(self) -> str:
        """The predictions as notebooks show them: one line, and a table."""
        return notebook_html(repr(self), self.to_frame, ["expectation", "variance", "model"])

    def to_dict(self) -> list[dict[str, Any]]:
        """The predictions as plain values, ready for JSON."""
        return list(self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """The predictions as a pandas table indexed by query and document, a column for each level: p0, p50, ..."""
        return frame_of(self.flat_rows(), [*COLUMNS, *self._level_names]).set_index(["query", "document"])

    def flat_rows(self) -> list[dict[str, Any]]:
        """The rows with a column for each level, p0, p50 and so on, instead of the list of probabilities."""
        return [self._flat(row) for row in self.rows]

    def portions(self, size: int) -> Iterator[dict[str, Array | list[Any]]]:
        """Columns of the rows in portions, see `prediction_columns`; one portion without rows if there is none."""
        for start in range(0, max(1, len(self.rows)), size):
            rows = [self._flat(row) for row in self.rows[start : start + size]]
            columns = {name: [row[name] for row in rows] for name in (*COLUMNS, *self._level_names)}
            yield {name: one if name in WORDS else np.array(one, dtype=np.float64) for name, one in columns.items()}

    def _flat(self, row: dict[str, Any]) -> dict[str, Any]:
        single = {key: value for key, value in row.items() if key != "probabilities"}
        return single | dict(zip(self._level_names, row["probabilities"], strict=True))

    @property
    def _level_names(self) -> list[str]:
        return [f"p{level:g}" for level in self.levels]

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The pairs with the highest expectations, with one standard deviation on either side; new axes if None."""
        from audiosim.plots import draw_intervals

        best = sorted(self.rows, key=lambda row: -row["expectation"])[:SHOWN]
        middle, reach = (np.array([row[key] for row in best]) for key in ("expectation", "variance"))
        names = [f"{row['query']} {row['document']}" for row in best]
        reach = np.sqrt(reach)
        return draw_intervals(names, middle - reach, middle, middle + reach, "expected grade", axes)


def prediction_rows(
    belief: Belief, pairs: Sequence[Pair], chosen: Iterable[int], factor: float = 1.0
) -> list[dict[str, Any]]:
    """One row per chosen pair: query, document, expectation, variance, probabilities, gain, model, evidence.

    expectation and variance are of the pair's grade, as the ranking adds them up, and gain is the expectation as a
    share of the highest grade; probabilities are those of a single grade, whose mean is the expectation.

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
) -> dict[str, Array | list[str] | list[str | None]]:
    """Values of `prediction_rows` as columns, with one for each level, p0, p50 and so on, in place of probabilities."""
    expectation, variance, probabilities, gain = _columns(belief, factor)
    numbers = {"expectation": expectation, "variance": variance, "gain": gain}
    levels = {f"p{level:g}": column for level, column in zip(belief.levels, probabilities.T, strict=True)}
    some = chosen.tolist()
    return {
        "query": [pairs[place].query for place in some],
        "document": [pairs[place].document for place in some],
        **{name: column[chosen] for name, column in numbers.items()},
        "model": [belief.models[number] for number in belief.model[chosen].tolist()],
        "evidence": [belief.evidence_of(place) for place in some],
        **{name: column[chosen] for name, column in levels.items()},
    }


def _columns(belief: Belief, factor: float) -> tuple[Array, Array, Array, Array]:
    expectation = belief.expectation
    return expectation, belief.variance * factor**2, belief.probabilities, expectation / belief.maximum
