"""Mel bands and their cepstral coefficients, as librosa defines them."""

from functools import lru_cache

import numpy as np

from audiosim.arrays import Array
from audiosim.audio.gathering import Samples
from audiosim.audio.parameters import Parameters

FLOOR = 1e-10  # power below which nothing is told apart
RANGE_DB = 80.0  # below the loudest band of the recording nothing is told apart either
SPAN = 96  # bins that bands filtered together span: more would multiply by more zeros, fewer be too many products


def mfcc(levels: Samples, parameters: Parameters) -> Array:
    """Mel-frequency cepstral coefficients: (frames, coefficients), in dB.

        DCT-II, orthonormal, of L

    levels  (frames, bands) L in dB, see `decibels_of`

    Within 1e-3 of librosa.feature.mfcc with its defaults. McFee et al. (2015), doi:10.25080/Majora-7b98e3ed-003.
    """
    cosines = _cosines(parameters)
    # From the middle of the range: sums in single precision lose less where numbers are small.
    middle = np.float32(levels.max() - RANGE_DB / 2)
    coefficients: Array = ((levels - middle) @ cosines).astype(float) + float(middle) * cosines.sum(axis=0, dtype=float)
    return coefficients


def decibels_of(power: Samples) -> Samples:
    """Levels in dB of the mel power of a recording: max(L, max L - 80), L = 10 log10 max(1e-10, power). In place."""
    np.log10(np.maximum(power, FLOOR, out=power), out=power)
    levels: Samples = np.multiply(power, 10, out=power)
    np.maximum(levels, levels.max() - np.float32(RANGE_DB), out=levels)
    return levels


def filtered(powers: Samples, parameters: Parameters, out: Samples) -> None:
    """The mel power (n, bands) of the powers of transforms (n, bins), into `out`.

    The filters are applied a few bands at a time: they are zero but for a few bins each.
    """
    for bands, columns, weights in _band_groups(parameters):
        np.matmul(powers[:, columns], weights, out=out[:, bands])


@lru_cache
def hann(frame: int) -> Samples:
    """The periodic window of that name."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)).astype(np.float32)


@lru_cache
def _cosines(parameters: Parameters) -> Samples:
    """(bands, coefficients) from levels to the coefficients that are kept."""
    n, start = parameters.bands, 0 if parameters.first else 1
    order = np.arange(start, start + parameters.coefficients)
    transform = np.sqrt(2 / n) * np.cos(np.pi * (np.arange(n)[:, None] + 0.5) * order / n)
    transform[:, order == 0] /= np.sqrt(2)
    return np.ascontiguousarray(transform, np.float32)


@lru_cache
def _band_groups(parameters: Parameters) -> tuple[tuple[slice, slice, Samples], ...]:
    """For every few bands: which, the bins they look at, and their weights (bins, bands)."""
    filters = mel_filters(parameters)
    groups, start = [], 0
    while start < parameters.bands:
        width = max(1, int(np.count_nonzero(filters[start])))
        bands = slice(start, min(start + min(16, max(4, SPAN // width)), parameters.bands))
        used = np.flatnonzero(filters[bands].any(axis=0))
        bins = slice(int(used[0]), int(used[-1]) + 1) if len(used) else slice(0, 1)
        groups.append((bands, bins, np.ascontiguousarray(filters[bands, bins].T)))
        start = bands.stop
    return tuple(groups)


def mel_filters(parameters: Parameters) -> Samples:
    """Triangles (bands, frame / 2 + 1) that overlap by half, evenly spaced in mel, each of area 1.

    Slaney (1998), Auditory Toolbox, as in librosa.filters.mel; written out here because importing
    librosa takes seconds, in every worker.
    """
    nyquist = parameters.rate_hz / 2
    bins = np.linspace(0, nyquist, 1 + parameters.frame // 2)
    edges = _hertz(np.linspace(0, _mel(nyquist), parameters.bands + 2))
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre))
    filters: Samples = (np.maximum(0, triangles) * 2 / (high - low)).astype(np.float32)
    return filters


def band_centres_hz(parameters: Parameters) -> Array:
    """(bands,) the frequency at which each mel filter is highest."""
    return _hertz(np.linspace(0, _mel(parameters.rate_hz / 2), parameters.bands + 2))[1:-1]


LINEAR_HZ = 200 / 3  # per mel, below 1 kHz
BREAK_HZ, BREAK_MEL = 1000.0, 15.0
LOG_STEP = np.log(6.4) / 27  # per mel, above


def _mel(hertz: float) -> float:
    if hertz < BREAK_HZ:
        return hertz / LINEAR_HZ
    return float(BREAK_MEL + np.log(hertz / BREAK_HZ) / LOG_STEP)


def _hertz(mel: Array) -> Array:
    above: Array = BREAK_HZ * np.exp(LOG_STEP * (mel - BREAK_MEL))
    return np.where(mel < BREAK_MEL, LINEAR_HZ * mel, above)
