"""Evidence of sound: how near a recording is to the query's, and what recordings that sound alike share.

What holds for sound is learned where both sound and relevance are known: the demo (slope .49 +- .08 where nothing else
is known of a document, .24 +- .05 beside genre and artist) and 96 clips of eight games (.33 +- .03), see
`benchmarks/evidence.py`. The spread is that of collections, not of these estimates.
"""

import numpy as np

from audiosim.corpus.pool import Pool
from audiosim.features.evidence import SOUND_EVIDENCE, sound_columns
from audiosim.relevance.evidence_kind import Blocks, EvidenceKind, Regressors
from audiosim.relevance.random_effects import sound_kernels

SLOPE = (0.33, 0.2)  # mean and standard deviation over collections
SIZE = (0.3, 0.3)  # median, and standard deviation of the logarithm


def _regressors(pool: Pool, blocks: Blocks) -> Regressors | None:
    """Nearness of the pairs of a pool with an index, and likeness of their recordings."""
    for column in sound_columns(pool):
        return Regressors(
            (SOUND_EVIDENCE,),
            column.known[:, None],
            column.values[:, None],
            np.array(SLOPE[:1]),
            np.array([[SLOPE[1] ** 2]]),
            kernels={SOUND_EVIDENCE: sound_kernels(pool, blocks)},
            standard_deviations={SOUND_EVIDENCE: SIZE},
        )
    return None


SOUND_KIND = EvidenceKind(
    SOUND_EVIDENCE, "how near the recordings sound to the query's, and to each other", _regressors
)
