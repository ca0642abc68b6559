"""Vectors that describe the recordings of an index beside its Gaussians: in its folder, vectors/NAME.npz for each kind.

Each is a piece of evidence, as in the folder `evidence/` of a collection, and says that it is of sound.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from audiosim.corpus.evidence_files import VECTORS, Evidence, packed, read_pieces
from audiosim.corpus.lines import write_texts
from audiosim.errors import InputError

GAUSSIANS = "gaussians"  # name of the description that every recording of an index has
LEVELLED = "levelled"  # of the same without how loud recordings are


def keep_vectors(index: Path, paths: Iterable[Path], recordings: Collection[str]) -> tuple[Evidence, ...]:
    """Keep the vectors of some files beside an index, in place of those of the same names; all of them or none.

    paths       files of evidence: NAME.npy with NAME.ids, one identifier per line, or npz, CSV, Parquet
    recordings  of the index
    """
    pieces = tuple(replace(_vectors(piece), of_sound=True) for path in paths for piece in read_pieces(path))
    known = set(recordings)
    for piece in pieces:
        if piece.name in (GAUSSIANS, LEVELLED):
            raise InputError(f"{piece.source}: {piece.name} is the name of what is there already, expected another")
        if known.isdisjoint(piece.keys):
            raise InputError(
                f"{piece.source}: the index knows none of its {len(piece.keys)} recordings, such as {piece.keys[0]}"
            )
    (index / VECTORS).mkdir(exist_ok=True)
    write_texts({index / VECTORS / f"{piece.name}.npz": packed(piece) for piece in pieces})
    return pieces


def _vectors(piece: Evidence) -> Evidence:
    if not piece.is_vector:
        raise InputError(f"{piece.source}: {piece.name} has a number for each {piece.about}, expected a vector")
    return piece
