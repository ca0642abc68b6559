"""Frames of a signal: their places, and the arrays that turn them into spectra."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Octaves = tuple[tuple[slice, int], ...]

OVERLAP = 4  # number of hops per frame that machine code requires


@dataclass(frozen=True, slots=True, eq=False)
class FrameTransform:
    """Steps from samples to the spectra of frames; equal only to itself, so that tables made for it can be cached.

    hop      samples from one frame to the next, at most a frame
    taper    (frame,) factors of the samples of a frame, which is even
    filters  (bands, 1 + frame / 2) weights of the bins in each band
    octaves  the bins of each octave, and the number that form its peak; none if extremes are not needed
    """

    hop: int
    taper: Floats
    filters: Floats
    octaves: Octaves


def has_code(frame: int, hop: int) -> bool:
    """True if there is machine code for frames of this length and hop: 2 x 4^k samples, four times the hop."""
    points = frame // 2
    return frame == OVERLAP * hop and points > 4 and points.bit_count() == 1 and points.bit_length() % 2 == 1


def cut(samples: Floats, start: int, stretch: Floats) -> Floats:
    """Fill a stretch with the samples from `start` on, and with zeros outside the signal."""
    there = samples[max(0, start) : max(0, start + len(stretch))]
    before = min(len(stretch), max(0, -start))
    stretch[:before] = 0
    stretch[before : before + len(there)] = there
    stretch[before + len(there) :] = 0
    return stretch
