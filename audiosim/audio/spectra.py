"""Frames of a signal -> the powers of their Fourier transforms, in float32, a block at a time."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec

import lazy_loader
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

cv2 = lazy_loader.load("cv2")

Floats = NDArray[np.float32]
Complex = NDArray[np.complex64]
Transform = Callable[[Floats, Floats], Complex]

BLOCK = 128  # frames handed out at a time: fewer, and the products with the mel filters are too small to be fast
PIECE = 65_536  # samples transformed at a time: they stay in cache, and of more OpenCV makes pieces for several threads


def powers(
    samples: Floats, taper: Floats, hop: int, transform: Transform | None = None
) -> Iterator[tuple[slice, Floats]]:
    """The powers |X|^2 of the transforms of frames, for some frames at a time.

    samples    (n,) float32; frame t is centred on sample t hop, with zeros beyond the ends
    taper      (frame,) what each frame is multiplied by; frame even
    hop        samples from one frame to the next, at most a frame
    transform  one of those below; None: `fastest`

    Yields which of the 1 + n // hop frames, and (their number, 1 + frame / 2), good until the next are asked for.
    """
    n, frame = 1 + len(samples) // hop, len(taper)
    rows, transform = max(1, PIECE // frame), transform or fastest()
    # Made once and small: fresh memory costs as much as the transforms, a padded copy of the samples more.
    stretch, power = np.empty((BLOCK - 1) * hop + frame, np.float32), np.empty((BLOCK, frame // 2 + 1), np.float32)
    windows, tapered = sliding_window_view(stretch, frame)[::hop], np.empty((rows, frame), np.float32)
    tapers = np.tile(taper, (rows, 1))  # a quarter faster than one that is broadcast
    parts, squares = np.zeros((rows, frame + 2), np.float32), np.empty((rows, frame // 2 + 1), np.float32)
    for start in range(0, n, BLOCK):
        _cut(samples, start * hop - frame // 2, stretch)
        block = power[: min(BLOCK, n - start)]
        for row in range(0, len(block), rows):
            piece = block[row : row + rows]
            some = windows[row : row + len(piece)]
            np.multiply(some, tapers[: len(piece)], out=tapered[: len(piece)])
            found = transform(tapered[: len(piece)], parts[: len(piece)])
            np.square(found.real, out=piece)
            np.add(piece, np.square(found.imag, out=squares[: len(piece)]), out=piece)
        yield slice(start, start + len(block)), block


def _cut(samples: Floats, start: int, stretch: Floats) -> None:
    """Fill a stretch with the samples from `start` on, with zeros where there are none."""
    there = samples[max(0, start) : max(0, start + len(stretch))]
    before = min(len(stretch), max(0, -start))
    stretch[:before] = 0
    stretch[before : before + len(there)] = there
    stretch[before + len(there) :] = 0


@cache
def fastest() -> Transform:
    """OpenCV's transform where it is installed (`audiosim[fast]`): half the time of scipy's on x86; else scipy's."""
    return by_opencv if find_spec("cv2") else by_scipy


def by_scipy(frames: Floats, parts: Floats) -> Complex:
    """The transforms (n, 1 + frame / 2) of frames (n, frame).

    parts  (n, frame + 2) memory that may be used, of zeros or what was left in it
    """
    from scipy.fft import rfft  # its import costs as much as all else that a worker loads

    transforms: Complex = rfft(frames)
    return transforms


def by_opencv(frames: Floats, parts: Floats) -> Complex:
    """The same, but for the phase of bin 0.

    Rows come packed: bin 0, the real and imaginary parts of the others in turn, bin frame / 2; those two have no
    imaginary part. Written between two zeros every number falls in its place, bin 0 in that of an imaginary part.
    """
    cv2.dft(frames, parts[:, 1:-1], cv2.DFT_ROWS)
    return parts.view(np.complex64)
