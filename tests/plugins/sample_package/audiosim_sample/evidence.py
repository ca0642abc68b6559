"""A kind of evidence: documents on the same shelf, given by the last digit of their number, are alike."""

import numpy as np

from audiosim.joint.terms import EvidenceKind, Regressors


def _shelf(document):
    digits = [one for one in document if one.isdigit()]
    return int(digits[-1]) if digits else -1


def _regressors(pool, blocks):
    shelf = np.array([_shelf(pair.document) for pair in pool.pairs])
    spread = shelf[pool.found].std()
    if not spread > 0:
        return None
    values = (shelf - shelf[pool.found].mean()) / spread
    kernels = tuple((shelf[rows][:, None] == shelf[rows]).astype(np.float64) for rows in blocks)
    return Regressors(
        ("shelf",),
        np.ones((len(shelf), 1), dtype=np.bool_),
        values[:, None],
        np.array([0.0]),
        np.array([[0.04]]),
        kernels={"shelf": kernels},
        standard_deviations={"shelf": (0.1, 0.3)},
    )


SHELF = EvidenceKind("shelf", "which shelf a recording stands on", _regressors)
