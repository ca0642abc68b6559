"""Evidence of the user's own: numbers, and vectors of documents; see `corpus.evidence_files`.

By its prior it may matter as much as sound, in either direction.
"""

import numpy as np

from audiosim.corpus.pool import Pool
from audiosim.features.evidence import user_columns
from audiosim.relevance.evidence_kind import Blocks, EvidenceKind, Regressors
from audiosim.relevance.random_effects import vector_kernels

OWN_SLOPE = (0.0, 0.2)  # mean and standard deviation over collections
OWN_SIZE = (0.15, 0.3)  # median, and standard deviation of the logarithm


def _regressors(pool: Pool, blocks: Blocks) -> Regressors | None:
    """Columns of a pool's informative pieces of evidence, and similarity of documents by those that are vectors."""
    columns = user_columns(pool)
    if not columns:
        return None
    names = tuple(column.name for column in columns)
    vectors = (piece for piece in pool.evidence if piece.is_vector and piece.name in names)
    kernels = {piece.name: vector_kernels(pool, piece, blocks) for piece in vectors}
    return Regressors(
        names,
        np.column_stack([column.known for column in columns]),
        np.column_stack([column.values for column in columns]),
        np.full(len(names), OWN_SLOPE[0]),
        np.diag(np.full(len(names), OWN_SLOPE[1] ** 2)),
        kernels=kernels,
        standard_deviations=dict.fromkeys(kernels, OWN_SIZE),
    )


OWN_KIND = EvidenceKind("own", "numbers and vectors that the user brings in the folder evidence", _regressors)
