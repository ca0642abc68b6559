"""Rows of predictions for single pairs, as plain values."""

from collections.abc import Iterable, Sequence
from typing import Any

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
