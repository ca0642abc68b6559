"""Spectral contrast: height of the peaks of a spectrum above its valleys, octave by octave."""

from functools import lru_cache

import numpy as np

from audiosim.arrays import Array
from audiosim.audio.channel import Samples
from audiosim.audio.filter_banks import filter_banks
from audiosim.audio.parameters import LOWEST_OCTAVE_HZ, OCTAVES, Parameters

QUANTILE = 0.02  # share of an octave's bins that form its peak, and share that form its valley
FLOOR, RANGE_DB = 1e-10, 80.0


def contrast(extremes: Samples, highest: Samples) -> Array:
    """Spectral contrast of a recording: (frames, 7), in dB.

        10 log10 peak - 10 log10 valley

    extremes  (frames, 14) peaks and valleys, see `spectrum_by_arrays`; both have a floor 80 dB below
              their highest, and at 1e-10
    highest   (2,) highest of the peaks and of the valleys of the recording

    Octaves: 0 to 200 Hz, 200 to 400 Hz, and so on; the last takes all above 6.4 kHz. Within 1e-3 of
    librosa.feature.spectral_contrast with its defaults. Jiang et al. (2002), doi:10.1109/ICME.2002.1035731.
    """
    return _level(extremes[:, :OCTAVES], highest[0]) - _level(extremes[:, OCTAVES:], highest[1])


def highest_of(extremes: Samples) -> Samples:
    """(2,) the highest peak and the highest valley of a few frames."""
    return np.array([extremes[:, :OCTAVES].max(initial=0), extremes[:, OCTAVES:].max(initial=0)], np.float32)


def _level(magnitude: Samples, highest: np.float32) -> Array:
    levels: Array = 10 * np.log10(np.maximum(FLOOR, magnitude.astype(float)))
    least = 10 * np.log10(max(FLOOR, float(highest))) - RANGE_DB
    np.maximum(levels, least, out=levels)
    return levels


@lru_cache
def octave_bins(parameters: Parameters) -> tuple[tuple[slice, int], ...]:
    """The bins of each octave, and the number of them that form its peak.

    As in librosa, an octave includes the bin below it, and all but the last leave out their highest bin. The number
    of bins in the peak still includes it.
    """
    hertz = filter_banks(parameters).bins_hz
    edges = np.concatenate([[0.0], LOWEST_OCTAVE_HZ * 2.0 ** np.arange(OCTAVES)])
    found = []
    for octave in range(OCTAVES):
        inside = np.flatnonzero((hertz >= edges[octave]) & (hertz <= edges[octave + 1]))
        last = octave == OCTAVES - 1
        start, stop = max(0, int(inside[0]) - (octave > 0)), len(hertz) if last else int(inside[-1]) + 1
        count = max(1, int(np.rint(QUANTILE * (stop - start))))
        found.append((slice(start, stop if last else stop - 1), count))
    return tuple(found)
