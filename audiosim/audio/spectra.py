"""Frames of a signal -> the powers of their Fourier transforms, in float32, a block at a time."""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]

BLOCK = 128  # frames handed out at a time: fewer, and the products with the mel filters are too small to be fast
PIECE = 65_536  # samples transformed at a time: they stay in cache
OVERLAP = 4  # hops in a frame, for machine code


def has_code(frame: int, hop: int) -> bool:
    """True if there is machine code for frames of that length and hop: of 2 x 4^k samples, four times the hop."""
    points = frame // 2
    return frame == OVERLAP * hop and points > 4 and points.bit_count() == 1 and points.bit_length() % 2 == 1


def powers(samples: Floats, taper: Floats, hop: int) -> Iterator[tuple[slice, Floats]]:
    """The powers |X|^2 of the transforms of frames, for some frames at a time.

    samples  (n,) float32; frame t is centred on sample t hop, with zeros beyond the ends
    taper    (frame,) what each frame is multiplied by; frame even
    hop      samples from one frame to the next, at most a frame

    Yields which of the 1 + n // hop frames, and (their number, 1 + frame / 2), good until the next are asked for.
    """
    from scipy.fft import rfft  # takes half as long as numpy's, and 0.2 s to load, which machine code need not pay

    n, frame = 1 + len(samples) // hop, len(taper)
    rows = max(1, PIECE // frame)
    # Made once and small: fresh memory costs as much as the transforms, a padded copy of the samples more.
    stretch, power = np.empty((BLOCK - 1) * hop + frame, np.float32), np.empty((BLOCK, frame // 2 + 1), np.float32)
    windows, tapered = sliding_window_view(stretch, frame)[::hop], np.empty((rows, frame), np.float32)
    tapers = np.tile(taper, (rows, 1))  # a quarter faster than one that is broadcast
    squares = np.empty((rows, frame // 2 + 1), np.float32)
    for start in range(0, n, BLOCK):
        cut(samples, start * hop - frame // 2, stretch)
        block = power[: min(BLOCK, n - start)]
        for row in range(0, len(block), rows):
            piece = block[row : row + rows]
            some = windows[row : row + len(piece)]
            np.multiply(some, tapers[: len(piece)], out=tapered[: len(piece)])
            found = rfft(tapered[: len(piece)])
            np.square(found.real, out=piece)
            np.add(piece, np.square(found.imag, out=squares[: len(piece)]), out=piece)
        yield slice(start, start + len(block)), block


def cut(samples: Floats, start: int, stretch: Floats) -> Floats:
    """A stretch, filled with the samples from `start` on, with zeros where there are none."""
    there = samples[max(0, start) : max(0, start + len(stretch))]
    before = min(len(stretch), max(0, -start))
    stretch[:before] = 0
    stretch[before : before + len(there)] = there
    stretch[before + len(there) :] = 0
    return stretch
