"""A kind of evidence: its columns for the pairs of a pool, and the prior of their slopes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.evidence_files import PIECE_NAME
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError

Blocks = tuple[Integers, ...]  # the places of each query's pairs, as `Layout` has them


@dataclass(frozen=True, eq=False)
class Regressors:
    """Covariates of a pool's n pairs from evidence, with the prior of their slopes, and its likenesses.

        deviations += columns slopes + likeness + effects,   slopes ~ N(slopes, covariance)

    names       names of its m pieces, as shown with predictions
    known       (n, m) True where each piece covers each pair
    columns     (n, k) covariates in standard deviations over the retrieved pairs; 0 where not covered
    slopes      (k,) prior means, in standard deviations of a grade
    covariance  (k, k) covariance of that prior
    kernels     similarity of the documents of each block, a correlation, by name
    shared      (n, p) loading of each pair on each of p effects of one kind, by name
    standard_deviations  median, and standard deviation of the logarithm, by name of a kernel or of effects
    explained   by names of components, together: the part of their variance, in deviations, that the columns are
                expected to explain
    """

    names: tuple[str, ...]
    known: Booleans
    columns: Array
    slopes: Array
    covariance: Array
    kernels: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    shared: Mapping[str, sparse.csr_array] = field(default_factory=dict)
    standard_deviations: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    explained: Mapping[tuple[str, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, k = self.columns.shape
        if self.known.shape != (n, len(self.names)):
            raise InputError(f"known must be ({n}, {len(self.names)}) to match columns and names")
        if self.slopes.shape != (k,) or self.covariance.shape != (k, k):
            raise InputError(f"{k} columns need ({k},) slopes and their ({k}, {k}) covariance")
        if self.kernels.keys() | self.shared.keys() != self.standard_deviations.keys():
            raise InputError("kernels and shared effects must have standard deviations, and nothing else")
        if not all(np.all(np.isfinite(part)) for part in (self.columns, self.slopes, self.covariance)):
            raise InputError("columns, slopes and their covariance must be finite")


@dataclass(frozen=True, slots=True)
class EvidenceKind:
    """One kind of evidence.

    Entry-point group `audiosim.evidence`; contract: `audiosim.plugins.check_evidence_kind`.

    name        letters, digits, - and _, beginning with a letter
    meaning     one line
    regressors  function of a pool and its blocks; returns None if this kind does not cover it
    """

    name: str
    meaning: str
    regressors: Callable[[Pool, Blocks], Regressors | None]

    def __post_init__(self) -> None:
        if not PIECE_NAME.fullmatch(self.name):
            raise InputError(f"the name of a kind of evidence must begin with a letter, got {self.name!r:.80}")


def beside(first: Regressors, second: Regressors) -> Regressors:
    """Regressors of two kinds together; their slopes are independent."""
    from scipy.linalg import block_diag

    if (shared := set(first.names) & set(second.names)) != set():
        raise InputError(f"two kinds of evidence have the same name {min(shared)}")
    explained = dict(first.explained)
    for names, variance in second.explained.items():
        explained[names] = explained.get(names, 0.0) + variance
    return Regressors(
        (*first.names, *second.names),
        np.hstack([first.known, second.known]),
        np.hstack([first.columns, second.columns]),
        np.concatenate([first.slopes, second.slopes]),
        block_diag(first.covariance, second.covariance),
        {**first.kernels, **second.kernels},
        {**first.shared, **second.shared},
        {**first.standard_deviations, **second.standard_deviations},
        explained,
    )


def no_regressors(count: int) -> Regressors:
    """Regressors of `count` pairs without any evidence."""
    return Regressors((), np.empty((count, 0), dtype=np.bool_), np.empty((count, 0)), np.empty(0), np.empty((0, 0)))
