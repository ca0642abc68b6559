"""Contract of kinds of evidence, as checks that name violations in words.

A kind always gives the same regressors for a pool, finite and 0 where it has no information. Its columns are in
standard deviations over the retrieved pairs, its prior of slopes has a valid covariance, and its kernels are
correlations. Adding unretrieved pairs to a pool changes nothing for the others.
"""

import numpy as np

from audiosim.collection.evidence import PIECE_NAME, RESERVED
from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.joint.terms import EvidenceKind, Regressors, layout_of
from audiosim.stats.arrays import Array
from audiosim.text import one_line, repeated

LARGEST = 10.0  # largest root mean square of a column, in standard deviations
ROUNDING = 1e-9  # relative tolerance


def check_evidence_kind(kind: EvidenceKind, pool: Pool, larger: Pool) -> None:
    """Check a kind of evidence against its contract; an InputError names the violation.

    pool    pool of retrieved pairs
    larger  the same pool, with further pairs after its own
    """
    first, again, more = (_said(kind, one) for one in (pool, pool, larger))
    if first is None or again is None or more is None:
        if first is not again:
            raise InputError(f"evidence {kind.name}: gives the same pool evidence at one time and none at another")
        return
    _check_said(kind, first, pool)
    _compare(kind, first, again, len(pool.pairs), "the same pool gives different numbers the second time")
    _compare(kind, first, more, len(pool.pairs), "pairs that no system retrieved change its numbers for the others")


def _said(kind: EvidenceKind, pool: Pool) -> Regressors | None:
    try:
        found: object = kind.regressors(pool, layout_of(pool, np.ones(len(pool.pairs))).blocks)
    except Exception as error:  # a plugin's code may raise anything
        raise InputError(f"evidence {kind.name}: raises {one_line(error)}") from error
    if found is not None and not isinstance(found, Regressors):
        raise InputError(f"evidence {kind.name}: must give Regressors or None, got {type(found).__name__}")
    return found


def _check_said(kind: EvidenceKind, said: Regressors, pool: Pool) -> None:
    label = f"evidence {kind.name}"
    wrong = next((name for name in said.names if not PIECE_NAME.fullmatch(name)), None)
    if wrong is not None or repeated(said.names) is not None:
        raise InputError(f"{label}: its pieces must have unique names that begin with a letter, got {said.names}")
    if kind.name not in RESERVED and (taken := set(said.names) & set(RESERVED)):
        raise InputError(f"{label}: the name {min(taken)} is taken")
    if len(said.columns) != len(pool.pairs):
        raise InputError(f"{label}: expected a row for each of {len(pool.pairs)} pairs, got {len(said.columns)}")
    silent = ~said.known.any(axis=1)
    if np.any(said.columns[silent] != 0):
        raise InputError(f"{label}: columns must be 0 where nothing is known")
    if np.any((said.columns[pool.found] ** 2).mean(axis=0) > LARGEST**2):
        raise InputError(f"{label}: columns must be in standard deviations, one has a mean square above {LARGEST**2:g}")
    if not _is_covariance(said.covariance):
        raise InputError(f"{label}: the prior of its slopes must have a covariance")
    for name, blocks in said.kernels.items():
        if not all(_is_covariance(block) and np.allclose(np.diagonal(block), 1) for block in blocks):
            raise InputError(f"{label}: the kernels of {name} must be correlations")


def _is_covariance(matrix: Array) -> bool:
    least = float(np.linalg.eigvalsh(matrix)[0]) if len(matrix) else 0.0
    return bool(np.allclose(matrix, matrix.T)) and least >= -ROUNDING * max(1.0, float(np.abs(matrix).max(initial=0)))


def _compare(kind: EvidenceKind, first: Regressors, other: Regressors, count: int, rule: str) -> None:
    same = first.names == other.names and first.columns.shape[1] == other.columns.shape[1]
    if not same or not np.allclose(first.columns, other.columns[:count], rtol=ROUNDING, atol=ROUNDING):
        raise InputError(f"evidence {kind.name}: {rule}")
