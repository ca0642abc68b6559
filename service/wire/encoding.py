"""Encoding of predictions as JSON directly from arrays, several times faster than from Python numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson

from audiosim.arrays import Array
from audiosim.relevance.pair_evidence import in_words
from audiosim.service.shelf.prediction import STATUSES, Predicted

BLOCK = 5_000  # rows encoded at a time; other threads run between blocks
NUMPY = orjson.OPT_SERIALIZE_NUMPY


def encode(predicted: Predicted, include: Iterable[str] = ()) -> bytes:
    """The JSON of a `wire.PredictionsOut`; a NaN is null."""
    names, spoken = (
        [*predicted.models, None],
        [*map(in_words, predicted.evidence), None],
    )  # ABSENT is -1, so these take the last of each
    fields: dict[str, Any] = {
        "model": {"name": predicted.name, "version": predicted.version},
        "judgments": predicted.judgments,
        "state": predicted.state,
        "expectation": predicted.expectation,
        "variance": predicted.variance,
        **({} if predicted.gain is None else {"gain": predicted.gain}),
        "status": list(map(STATUSES.__getitem__, predicted.status.tolist())),
        "models": list(map(names.__getitem__, predicted.model.tolist())),
        "evidence": list(map(spoken.__getitem__, predicted.spoke.tolist())),
    }
    if "probabilities" in include:
        fields |= {"levels": predicted.levels, "probabilities": _rows(predicted.probabilities)}
    if predicted.covariance is not None:
        fields["covariance"] = predicted.covariance
    return orjson.dumps(fields, option=NUMPY)


def _rows(rows: Array) -> orjson.Fragment:
    """(n, k) rows as JSON; null for a row that starts with NaN."""
    blocks = (orjson.dumps(_block(rows[start : start + BLOCK]), option=NUMPY) for start in range(0, len(rows), BLOCK))
    return orjson.Fragment(b"[" + b",".join(block[1:-1] for block in blocks) + b"]")


def _block(rows: Array) -> Any:
    unknown = np.isnan(rows[:, 0])
    if not unknown.any():
        return rows
    return [None if missing else row for missing, row in zip(unknown.tolist(), rows.tolist(), strict=True)]
