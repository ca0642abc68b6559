"""Vectors that describe the recordings of an index beside its Gaussians, one file vectors/NAME.npz per kind.

Each is a piece of evidence about sound, like those in the folder `evidence/` of a collection. If audiosim computed
the vectors with the embedding of that name, the file also lists the source files, to detect changed ones.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np

from audiosim.arrays import Integers
from audiosim.corpus.array_files import read_npz
from audiosim.corpus.evidence_files import VECTORS, Evidence, packed, read_pieces
from audiosim.corpus.lines import write_texts
from audiosim.errors import InputError

GAUSSIANS = "gaussians"  # name of the description of all recordings in an index
LEVELLED = "levelled"  # the same description without loudness
FILES = "files"  # array in a file of vectors: size in bytes and time of change of each recording's file


def vectors_path(index: Path, name: str) -> Path:
    """File of the vectors with a name, beside an index."""
    return index / VECTORS / f"{name}.npz"


def keep_vectors(index: Path, paths: Iterable[Path], recordings: Collection[str]) -> tuple[Evidence, ...]:
    """Store the vectors of some files beside an index, replacing those of the same names; all of them or none.

    paths       files of evidence: NAME.npy with NAME.ids, one identifier per line, or npz, CSV, Parquet
    recordings  recordings of the index
    """
    pieces = tuple(replace(_vectors(piece), of_sound=True) for path in paths for piece in read_pieces(path))
    known = set(recordings)
    for piece in pieces:
        if piece.name in (GAUSSIANS, LEVELLED):
            raise InputError(f"{piece.source}: the name {piece.name} is taken, expected another")
        if known.isdisjoint(piece.keys):
            raise InputError(
                f"{piece.source}: none of its {len(piece.keys)} recordings is in the index, such as {piece.keys[0]}"
            )
    (index / VECTORS).mkdir(exist_ok=True)
    write_texts({vectors_path(index, piece.name): packed(piece) for piece in pieces})
    return pieces


def keep_embedded(index: Path, piece: Evidence, files: Integers) -> None:
    """Store vectors computed by the embedding of their name, replacing earlier ones.

    files  (k, 2) size in bytes and time of change of the file of each recording
    """
    (index / VECTORS).mkdir(exist_ok=True)
    packed_files = BytesIO(packed(replace(piece, of_sound=True)))
    with np.load(packed_files) as arrays:
        every = {**arrays, FILES: files}
    file = BytesIO()
    np.savez(file, allow_pickle=False, **every)
    write_texts({vectors_path(index, piece.name): file.getvalue()})


def embedded_files(index: Path, name: str) -> Integers | None:
    """(k, 2) sizes and times of change of the source files of vectors; None if audiosim did not compute them."""
    path = vectors_path(index, name)
    if not path.exists():
        return None
    arrays, _ = read_npz(path, {FILES})
    return arrays[FILES].astype(np.int64).reshape(-1, 2) if FILES in arrays else None


def _vectors(piece: Evidence) -> Evidence:
    if not piece.is_vector:
        raise InputError(f"{piece.source}: {piece.name} has a number for each {piece.about}, expected a vector")
    return piece
