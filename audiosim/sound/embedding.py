"""Vectors that describe the recordings of an index beside its Gaussians, one file vectors/NAME.npz per kind.

Each is a piece of evidence about sound, like those in the folder `evidence/` of a collection. If audiosim computed
the vectors with the embedding of that name, the file also lists the source files, to detect changed ones.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from audiosim.collection.evidence import PIECE_NAME, RESERVED, VECTORS, Evidence, packed, read_pieces
from audiosim.errors import InputError
from audiosim.sound.channel import Samples
from audiosim.sound.decode import RATE_HZ
from audiosim.stats.arrays import Array, Integers
from audiosim.tables.arrays import read_npz
from audiosim.tables.text import write_texts

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
    write_texts({vectors_path(index, piece.name): packed(replace(piece, of_sound=True), **{FILES: files})})


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


# Embeddings: a vector for each recording, by a network or by any function of samples.


Embed = Callable[..., Array]  # called with y=samples, sr=rate_hz, gives (d,), or (d, frames)
MOST_NUMBERS = 4096  # largest length of a vector


def _nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A description of recordings by vectors, which are compared by their angle.

    name      letters, digits, - and _, beginning with a letter
    function  y=(n,) float32, sr=rate in Hz -> (d,); or (d, frames), which is averaged over the frames
    rate_hz   rate of the sound that the function gets
    prepare   called once before the first recording; raises a MissingPackageError if a package is missing

    Entry-point group `audiosim.embeddings`; contract: `audiosim.sound.embeddings.check_embedding`.
    """

    name: str
    function: Embed = field(repr=False)
    rate_hz: int = RATE_HZ
    prepare: Callable[[], object] = field(default=_nothing, repr=False)

    def __post_init__(self) -> None:
        if not PIECE_NAME.fullmatch(self.name) or self.name in (*RESERVED, GAUSSIANS, LEVELLED):
            taken = ", ".join((*RESERVED, GAUSSIANS, LEVELLED))
            raise InputError(
                f"an embedding must have a name of letters, digits, - and _ that begins with a letter, none of "
                f"{taken}, got {self.name!r}"
            )
        if type(self.rate_hz) is not int or self.rate_hz < 1:
            raise InputError(f"embedding {self.name} must have a rate of at least 1 Hz, got {self.rate_hz!r}")

    @classmethod
    def of(cls, function: Embed, name: str | None = None) -> Self:
        """A function of sound at 22,050 Hz as an embedding.

        name  None: that of the function
        """
        return cls(name or str(getattr(function, "__name__", "")), function)

    def vector(self, samples: Samples) -> Array:
        """(d,) vector of a sound; an InputError if the function returns none.

        samples  (n,) float32, at the embedding's rate
        """
        found = np.asarray(self.function(y=samples, sr=self.rate_hz), dtype=np.float64)
        if found.ndim == 2:
            found = found.mean(axis=1)
        if found.ndim != 1 or not 1 <= len(found) <= MOST_NUMBERS:
            raise InputError(
                f"embedding {self.name} must give (d,) or (d, frames) numbers, d up to {MOST_NUMBERS:,}, "
                f"got {found.shape}"
            )
        if not np.isfinite(found).all():
            raise InputError(f"embedding {self.name} gives numbers that are not finite")
        return found
