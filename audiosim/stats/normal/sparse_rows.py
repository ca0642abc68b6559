"""Rows of sparse matrices: some as dense rows, several matrices side by side, all with short indices."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Integers


def written_out(matrix: sparse.csr_array, rows: Integers) -> Array:
    """(m, p) some rows of a matrix, dense; several times as fast for few rows as scipy's own indexing."""
    starts = matrix.indptr[rows]
    counts = matrix.indptr[rows + 1] - starts
    line = np.repeat(np.arange(len(rows)), counts)
    cell = np.arange(len(line)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    found = np.zeros((len(rows), matrix.shape[1]))
    found[line, matrix.indices[cell]] = matrix.data[cell]
    return found


def short(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with four-byte indices if these suffice: a third less memory."""
    if max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    indices, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    found = sparse.csr_array((matrix.data, indices, starts), shape=matrix.shape)
    found.has_sorted_indices = matrix.has_sorted_indices
    return found


def side_by_side(parts: Sequence[tuple[Array | sparse.csr_array, Array | None]], rows: int) -> sparse.csr_array:
    """(rows, p) matrices one beside the other, sparse, with short indices in order.

    parts  matrices (rows, q), dense or sparse, each with factors (rows,) of its rows or None
    """
    # Written into the result part by part: `sparse.hstack` would hold all indices three times, in eight bytes.
    given: list[tuple[sparse.csr_array, Array | None]] = [(sparse.csr_array(part), by) for part, by in parts]
    counts = [np.diff(part.indptr) for part, _ in given]
    starts = np.concatenate([[0], np.cumsum(sum(counts, np.zeros(rows, dtype=np.int64)))])
    columns, width = int(starts[-1]), sum(part.shape[1] for part, _ in given)
    kind = np.dtype(np.int32 if max(columns, width, rows) <= np.iinfo(np.int32).max else np.int64)
    data, indices = np.empty(columns), np.empty(columns, dtype=kind)
    at, first = starts[:-1].copy(), 0
    for (part, factors), count in zip(given, counts, strict=True):
        if not part.has_sorted_indices:
            part = part.sorted_indices()
        cell = np.repeat(at - part.indptr[:-1], count)
        cell += np.arange(part.nnz)
        data[cell] = part.data if factors is None else part.data * np.repeat(factors, count)
        indices[cell] = part.indices.astype(kind) + first
        at += count
        first += part.shape[1]
    found = sparse.csr_array((data, indices, starts.astype(kind)), shape=(rows, width))
    found.has_sorted_indices = True
    return found
