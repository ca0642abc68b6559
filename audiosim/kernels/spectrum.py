"""Mel powers and extremes of octaves of a recording's frames: by arrays, which define them, or by machine code."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from audiosim.kernels.door import by_code
from audiosim.kernels.framing import Floats, FrameTransform, cut, has_code
from audiosim.stats.arrays import Integers

BLOCK = 128  # frames returned at a time: with fewer, the products with the mel filters are too small to be fast
PIECE = 65_536  # samples transformed at a time: they stay in cache
SPAN = 96  # bins of bands filtered together: more would add products with 0, fewer too many small products


def spectrum(samples: Floats, transform: FrameTransform, source: Integers | None = None) -> tuple[Floats, Floats]:
    """Spectrum of frames, by machine code if available for them; see `spectrum_by_arrays`."""

    def code() -> tuple[Floats, Floats]:
        from audiosim.kernels.spectrum_code import spectrum_by_code  # imported here, as it loads LLVM

        return spectrum_by_code(samples, transform, source)

    def arrays() -> tuple[Floats, Floats]:
        return spectrum_by_arrays(samples, transform, source)

    return by_code(code, arrays) if has_code(len(transform.taper), transform.hop) else arrays()


def spectrum_by_arrays(
    samples: Floats, transform: FrameTransform, source: Integers | None = None
) -> tuple[Floats, Floats]:
    """Power of bands (n, bands); mean magnitude of the loudest bins of each octave, then the softest (n, 2 octaves).

    samples  (m,); frame t is centred on sample t hop, with zeros beyond the ends; n = 1 + m // hop
    source   (bins,) bin from which each bin takes its power; None: its own
    """
    n, bands, octaves = 1 + len(samples) // transform.hop, len(transform.filters), len(transform.octaves)
    mel, extremes = np.empty((n, bands), np.float32), np.empty((n, 2 * octaves), np.float32)
    for some, power in powers(samples, transform.taper, transform.hop):
        block = power if source is None else power[:, source]
        for columns, bins, weights in _band_groups(transform):
            np.matmul(block[:, bins], weights, out=mel[some, columns])
        if octaves:
            _write_extremes(block, transform, extremes[some])
    return mel, extremes


def powers(samples: Floats, taper: Floats, hop: int) -> Iterator[tuple[slice, Floats]]:
    """The powers |X|^2 of the transforms of frames, for some frames at a time.

    samples  (n,) float32; frame t is centred on sample t hop, with zeros beyond the ends
    taper    (frame,) factor of each sample of a frame; frame is even
    hop      samples from one frame to the next, at most a frame

    Yields a slice of the 1 + n // hop frames, and their powers (frames in the slice, 1 + frame / 2), valid until the
    next request.
    """
    from scipy.fft import rfft  # takes half as long as numpy's; loading it takes 0.2 s

    n, frame = 1 + len(samples) // hop, len(taper)
    rows = max(1, PIECE // frame)
    # Allocated once and small: new memory costs as much as the transforms, and a padded copy of the samples costs more.
    stretch, power = np.empty((BLOCK - 1) * hop + frame, np.float32), np.empty((BLOCK, frame // 2 + 1), np.float32)
    windows, tapered = sliding_window_view(stretch, frame)[::hop], np.empty((rows, frame), np.float32)
    tapers = np.tile(taper, (rows, 1))  # a quarter faster than a broadcast product
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


@lru_cache
def _band_groups(transform: FrameTransform) -> tuple[tuple[slice, slice, Floats], ...]:
    """For each group of bands: the group, the bins they use, and their weights (bins, bands).

    The filters are applied to a few bands at a time, because each is zero outside a few bins.
    """
    filters = transform.filters
    groups, start = [], 0
    while start < len(filters):
        width = max(1, int(np.count_nonzero(filters[start])))
        bands = slice(start, min(start + min(16, max(4, SPAN // width)), len(filters)))
        used = np.flatnonzero(filters[bands].any(axis=0))
        bins = slice(int(used[0]), int(used[-1]) + 1) if len(used) else slice(0, 1)
        groups.append((bands, bins, np.ascontiguousarray(filters[bands, bins].T)))
        start = bands.stop
    return tuple(groups)


def _write_extremes(power: Floats, transform: FrameTransform, out: Floats) -> None:
    """The mean magnitudes of the loudest bins of each octave, then those of the softest, into (n, 2 octaves).

    power  (n, bins) power of transforms
    """
    averages = _averages(transform)
    chosen, start, middle = np.empty((len(power), len(averages)), np.float32), 0, len(averages) // 2
    for bins, count in transform.octaves:
        ordered = np.sort(power[:, bins], axis=1)
        chosen[:, start : start + count] = ordered[:, -count:]
        chosen[:, middle + start : middle + start + count] = ordered[:, :count]
        start += count
    np.matmul(np.sqrt(chosen, out=chosen), averages, out=out)


@lru_cache
def _averages(transform: FrameTransform) -> Floats:
    """Divide (m, 2 octaves) sums of the selected magnitudes, loudest then softest of each octave, for their means."""
    counts = [count for _, count in transform.octaves]
    means = np.zeros((2 * sum(counts), 2 * len(counts)), np.float32)
    start = 0
    for column, count in enumerate(2 * counts):
        means[start : start + count, column] = 1 / count
        start += count
    return means
