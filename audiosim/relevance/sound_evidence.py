"""Evidence of sound: closeness of a recording to the query's, and effects shared by recordings that sound alike.

The prior is learned from data with both sound and relevance: the demo (slope .49 +- .08 for documents without
metadata, .24 +- .05 with genre and artist) and 96 clips of eight games (.33 +- .03), see `benchmarks/evidence.py`. Its
spread is the variation between collections, not the error of these estimates.

Several descriptions of sound, Gaussians and vectors, carry much the same information: their standardised sum has the
slope of a single one, and their likenesses together have its size. Judgments decide which of them is right.
"""

import math

import numpy as np

from audiosim.arrays import Array, Booleans
from audiosim.corpus.pool import Pool
from audiosim.features.evidence import SOUND_EVIDENCE, sound_columns
from audiosim.relevance.evidence_kind import Blocks, EvidenceKind, Regressors
from audiosim.relevance.random_effects import sound_kernels, vector_kernels

SLOPE = (0.33, 0.2)  # mean and standard deviation over collections
SIZE = (0.3, 0.3)  # median, and standard deviation of the logarithm


def _regressors(pool: Pool, blocks: Blocks) -> Regressors | None:
    """Nearness of the pairs of a pool with an index, and likeness of their recordings, by each of its descriptions."""
    columns = sound_columns(pool)
    if not columns:
        return None
    names, count = tuple(column.name for column in columns), len(columns)
    kernels = {SOUND_EVIDENCE: sound_kernels(pool, blocks)} if SOUND_EVIDENCE in names else {}
    vectors = (piece for piece in pool.evidence if piece.of_sound and piece.name in names)
    kernels |= {piece.name: vector_kernels(pool, piece, blocks) for piece in vectors}
    known, values = (np.column_stack([getattr(one, part) for one in columns]) for part in ("known", "values"))
    return Regressors(
        names,
        known,
        values,
        np.full(count, SLOPE[0] / _spread_of_sum(values, known)),
        np.diag(np.full(count, SLOPE[1] ** 2)),
        kernels=kernels,
        standard_deviations=dict.fromkeys(kernels, (SIZE[0] / math.sqrt(count), SIZE[1])),
    )


def _spread_of_sum(values: Array, known: Booleans) -> float:
    """Standard deviation of the sum of standardised columns, over rows where all are known."""
    count = values.shape[1]
    together = values[known.all(axis=1)].sum(axis=1)
    return max(1.0, float(together.std())) if count > 1 and len(together) else float(count)


SOUND_KIND = EvidenceKind(
    SOUND_EVIDENCE, "how near the recordings sound to the query's, and to each other", _regressors
)
