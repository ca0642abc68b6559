"""Rows of predictions for single pairs, as plain values."""

from collections.abc import Iterable, Sequence
from typing import Any

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Pair
from audiosim.relevance.belief import Belief


def prediction_rows(
    belief: Belief, pairs: Sequence[Pair], chosen: Iterable[int], by: Belief | None = None
) -> list[dict[str, Any]]:
    """One row per chosen pair: query, document, expectation, variance, probabilities, gain, model, evidence.

    expectation, variance and probabilities are of a single grade, given the judgments of all other pairs; gain is the
    pair's value in the ranking, as a share of the highest grade: see `Belief.gains`.

    pairs   n, those of the pool
    chosen  places among them
    by      the belief that gains are stated by, if it is another one
    """
    keys = ("expectation", "variance", "probabilities", "gain")
    found = (belief.expectation, belief.variance, belief.probabilities, (by or belief).gains.mean)
    columns = [column.tolist() for column in found]
    return [
        pairs[i]._asdict()
        | {key: column[i] for key, column in zip(keys, columns, strict=True)}
        | {"model": belief.models[belief.model[i]], "evidence": belief.evidence_of(i)}
        for i in chosen
    ]


def prediction_columns(
    belief: Belief, pairs: Sequence[Pair], chosen: Integers, by: Belief | None = None
) -> dict[str, Array | list[str] | list[str | None]]:
    """Values of `prediction_rows` as columns, with one for each level, p0, p50 and so on, in place of probabilities."""
    numbers = {"expectation": belief.expectation, "variance": belief.variance, "gain": (by or belief).gains.mean}
    levels = {f"p{level:g}": column for level, column in zip(belief.levels, belief.probabilities.T, strict=True)}
    some = chosen.tolist()
    return {
        "query": [pairs[place].query for place in some],
        "document": [pairs[place].document for place in some],
        **{name: column[chosen] for name, column in numbers.items()},
        "model": [belief.models[number] for number in belief.model[chosen].tolist()],
        "evidence": [belief.evidence_of(place) for place in some],
        **{name: column[chosen] for name, column in levels.items()},
    }
