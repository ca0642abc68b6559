"""Frames of a signal -> the squares of their Fourier transforms, in float32, a block at a time."""

from collections.abc import Iterator

import lazy_loader
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

cv2 = lazy_loader.load("cv2")

Floats = NDArray[np.float32]

BLOCK = 128  # frames handed out at a time: fewer, and the products with the mel filters are too small to be fast
PIECE = 65_536  # samples transformed at a time: they stay in cache, and of more OpenCV makes pieces for several threads


def power_parts(samples: Floats, taper: Floats, hop: int) -> Iterator[tuple[slice, Floats]]:
    """The squares of the real and imaginary parts of the transforms of frames, for some frames at a time.

    samples  (n,) float32; frame t is centred on sample t hop, with zeros beyond the ends
    taper    (frame,) what each frame is multiplied by; frame even
    hop      samples from one frame to the next, at most a frame

    Yields which of the 1 + n // hop frames, and (their number, frame + 2), good until the next are asked for.
    The sum of columns 2 k and 2 k + 1 is the power of bin k, but those of the bins 0 and frame / 2 are not
    to be used: they are packed otherwise, and no mel filter looks at them.
    """
    n, frame = 1 + len(samples) // hop, len(taper)
    rows = max(1, PIECE // frame)
    # Made once and small: fresh memory costs as much as the transforms, a padded copy of the samples more.
    stretch, parts = np.empty((BLOCK - 1) * hop + frame, np.float32), np.zeros((BLOCK, frame + 2), np.float32)
    windows, tapered = sliding_window_view(stretch, frame)[::hop], np.empty((rows, frame), np.float32)
    for start in range(0, n, BLOCK):
        _cut(samples, start * hop - frame // 2, stretch)
        block = parts[: min(BLOCK, n - start)]
        for row in range(0, len(block), rows):
            piece = block[row : row + rows]
            some = windows[row : row + len(piece)]
            _transform(np.multiply(some, taper, out=tapered[: len(piece)]), piece)
        yield slice(start, start + len(block)), block


def _cut(samples: Floats, start: int, stretch: Floats) -> None:
    """Fill a stretch with the samples from `start` on, with zeros where there are none."""
    there = samples[max(0, start) : max(0, start + len(stretch))]
    before = min(len(stretch), max(0, -start))
    stretch[:before] = 0
    stretch[before : before + len(there)] = there
    stretch[before + len(there) :] = 0


def _transform(frames: Floats, squares: Floats) -> None:
    """The squares of real and imaginary parts, bin by bin.

    OpenCV takes two fifths of the time of scipy.fft for single precision: on x86 it brings Intel's own transforms.
    Its rows are packed: bin 0, then the real and imaginary parts of the others, then bin frame / 2, which is real.
    """
    cv2.dft(frames, squares[:, 1:-1], cv2.DFT_ROWS)
    np.multiply(squares, squares, out=squares)
