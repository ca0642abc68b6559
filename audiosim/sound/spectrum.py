"""Spectra of a recording's frames: powers of mel bands, extremes of octaves, cepstral coefficients as in librosa."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from audiosim.sound.channel import Samples
from audiosim.sound.filters import filter_banks
from audiosim.sound.parameters import Parameters
from audiosim.stats.arrays import Array, Integers

FLOOR = 1e-10  # power below which differences are ignored
RANGE_DB = 80.0  # dB below the loudest band of the recording; fainter differences are ignored
BLOCK = 128  # frames returned at a time: with fewer, the products with the mel filters are too small to be fast
PIECE = 131_072  # samples transformed at a time: they stay in cache
SPAN = 300  # bins of bands filtered together: more would add products with 0, fewer too many small products


@dataclass(frozen=True, slots=True, eq=False)
class FrameTransform:
    """Steps from samples to the spectra of frames; equal only to itself, so that tables made for it can be cached.

    hop      samples from one frame to the next
    taper    (frame,) factors of the samples of a frame, which is even
    filters  (bands, 1 + frame / 2) weights of the bins in each band
    octaves  the bins of each octave, and the number that form its peak; none if extremes are not needed
    """

    hop: int
    taper: Samples
    filters: Samples
    octaves: tuple[tuple[slice, int], ...]


def spectrum(samples: Samples, transform: FrameTransform, source: Integers | None = None) -> tuple[Samples, Samples]:
    """Power of bands (n, bands); mean magnitude of the loudest bins of each octave, then the softest (n, 2 octaves).

    samples  (m,); frame t is centred on sample t hop, with zeros beyond the ends; n = 1 + m // hop
    source   (bins,) bin from which each bin takes its power; None: its own
    """
    n, (ends, averages) = 1 + len(samples) // transform.hop, _ends_of_octaves(transform)
    mel, chosen = np.empty((n, len(transform.filters)), np.float32), np.empty((n, len(ends)), np.float32)
    room = np.empty((BLOCK, sum(bins.stop - bins.start for bins, _ in transform.octaves)), np.float32)
    for some, power in powers(samples, transform.taper, transform.hop):
        block = power if source is None else power[:, source]
        for columns, bins, weights in _band_groups(transform):
            np.matmul(block[:, bins], weights, out=mel[some, columns])
        if transform.octaves:
            ordered, start = room[: len(block)], 0
            np.concatenate([block[:, bins] for bins, _ in transform.octaves], axis=1, out=ordered)
            for bins, _ in transform.octaves:
                ordered[:, start : (start := start + bins.stop - bins.start)].sort(axis=1)
            np.take(ordered, ends, axis=1, out=chosen[some], mode="clip")
    return mel, np.sqrt(chosen, out=chosen) @ averages


def powers(samples: Samples, taper: Samples, hop: int) -> Iterator[tuple[slice, Samples]]:
    """The powers |X|^2 of the transforms of frames, for some frames at a time.

    samples  (n,) float32; frame t is centred on sample t hop, with zeros beyond the ends
    taper    (frame,) factor of each sample of a frame; frame is even
    hop      samples from one frame to the next

    Yields a slice of the 1 + n // hop frames, and their powers (frames in the slice, 1 + frame / 2), valid until the
    next request.
    """
    from scipy.fft import rfft  # takes half as long as numpy's; loading it takes 0.2 s

    n, frame = 1 + len(samples) // hop, len(taper)
    rows = max(1, PIECE // frame)
    # Allocated once and small: new memory costs as much as the transforms.
    stretch, power = np.empty((BLOCK - 1) * hop + frame, np.float32), np.empty((BLOCK, frame // 2 + 1), np.float32)
    windows, tapered = sliding_window_view(stretch, frame)[::hop], np.empty((rows, frame), np.float32)
    tapers = np.tile(taper, (rows, 1))  # a quarter faster than a broadcast product
    squares = np.empty((rows, frame // 2 + 1), np.float32)
    for start in range(0, n, BLOCK):
        _cut(samples, start * hop - frame // 2, stretch)
        block = power[: min(BLOCK, n - start)]
        for row in range(0, len(block), rows):
            piece = block[row : row + rows]
            count = len(piece)
            found = rfft(np.multiply(windows[row : row + count], tapers[:count], out=tapered[:count]), overwrite_x=True)
            np.square(found.real, out=piece)
            np.add(piece, np.square(found.imag, out=squares[:count]), out=piece)
        yield slice(start, start + len(block)), block


def _cut(samples: Samples, start: int, stretch: Samples) -> None:
    """Fill a stretch with the samples from `start` on, and with zeros outside the signal."""
    there = samples[max(0, start) : max(0, start + len(stretch))]
    before = min(len(stretch), max(0, -start))
    stretch[:before] = 0
    stretch[before : before + len(there)] = there
    stretch[before + len(there) :] = 0


@lru_cache
def _band_groups(transform: FrameTransform) -> tuple[tuple[slice, slice, Samples], ...]:
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


@lru_cache
def _ends_of_octaves(transform: FrameTransform) -> tuple[Integers, Samples]:
    """Columns (m,) of the loudest and softest of bins sorted octave by octave; averages (m, 2 octaves) of these."""
    counts = [count for _, count in transform.octaves]
    stops = np.cumsum([0, *(bins.stop - bins.start for bins, _ in transform.octaves)])
    loudest = [np.arange(stop - count, stop) for stop, count in zip(stops[1:], counts, strict=True)]
    softest = [np.arange(start, start + count) for start, count in zip(stops, counts, strict=False)]
    averages = np.repeat(np.eye(2 * len(counts), dtype=np.float32), 2 * counts, axis=0)
    return np.concatenate([*loudest, *softest, np.empty(0, int)]).astype(int), averages / averages.sum(axis=0)


def mfcc(levels: Samples, loudest: np.float32, parameters: Parameters) -> Array:
    """Mel-frequency cepstral coefficients: (frames, coefficients), in dB.

        DCT-II, orthonormal, of L

    levels   (frames, bands) L in dB, see `floored`
    loudest  highest level of the recording

    Within 1e-3 of librosa.feature.mfcc with its defaults. McFee et al. (2015), doi:10.25080/Majora-7b98e3ed-003.
    """
    cosines = filter_banks(parameters).cosines
    # Relative to the middle of the range: sums of smaller numbers lose less in single precision.
    middle = np.float32(loudest - RANGE_DB / 2)
    return np.asarray(((levels - middle) @ cosines).astype(float) + float(middle) * cosines.sum(axis=0, dtype=float))


def decibels_of(power: Samples) -> Samples:
    """Levels in dB of mel power: 10 log10 max(1e-10, power). In place."""
    np.log10(np.maximum(power, FLOOR, out=power), out=power)
    return np.multiply(power, 10, out=power)


def floored(levels: Samples, loudest: np.float32) -> Samples:
    """The levels of a recording, none more than 80 dB below its loudest. In place."""
    return np.maximum(levels, loudest - np.float32(RANGE_DB), out=levels)
