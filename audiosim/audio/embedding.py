"""Embeddings: a vector for each recording, by a network or by any function of samples."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from audiosim.arrays import Array
from audiosim.audio.channel import Samples
from audiosim.audio.decode import RATE_HZ
from audiosim.corpus.evidence_files import PIECE_NAME, RESERVED
from audiosim.corpus.sound_vectors import GAUSSIANS, LEVELLED
from audiosim.errors import InputError

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

    Entry-point group `audiosim.embeddings`; contract: `audiosim.plugins.check_embedding`.
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
