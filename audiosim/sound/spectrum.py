"""Mel bands and their cepstral coefficients, as librosa defines them."""

import numpy as np

from audiosim.sound.channel import Samples
from audiosim.sound.filters import filter_banks
from audiosim.sound.parameters import Parameters
from audiosim.stats.arrays import Array

FLOOR = 1e-10  # power below which differences are ignored
RANGE_DB = 80.0  # dB below the loudest band of the recording; fainter differences are ignored


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
    coefficients: Array = ((levels - middle) @ cosines).astype(float) + float(middle) * cosines.sum(axis=0, dtype=float)
    return coefficients


def decibels_of(power: Samples) -> Samples:
    """Levels in dB of mel power: 10 log10 max(1e-10, power). In place."""
    np.log10(np.maximum(power, FLOOR, out=power), out=power)
    return np.multiply(power, 10, out=power)


def floored(levels: Samples, loudest: np.float32) -> Samples:
    """The levels of a recording, none more than 80 dB below its loudest. In place."""
    return np.maximum(levels, loudest - np.float32(RANGE_DB), out=levels)
