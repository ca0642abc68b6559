"""Descriptors of the mel bands, and where a recording's band ends."""

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.audio.channel import Samples
from audiosim.audio.filter_banks import filter_banks
from audiosim.audio.mfcc import RANGE_DB
from audiosim.audio.parameters import Parameters

HEARD_DB = (
    RANGE_DB - 6
)  # dB below the loudest band of the recording: a band above this in one frame of twenty counts as heard
HEARD = 0.05
TOP = 1 / 32  # share of the bands at the top: a recording heard in these is complete
STEEP_BANDS, STEEP_DB = 4, 3.0  # no music falls this fast by itself: this slope is a filter's, at the end of a band
LOWEST_HZ = 1000.0  # a recording that ends below this is dull, not band-limited
INSIDE = 0.9  # share of the highest audible frequency at which band-limiting filters begin


def band_descriptors(levels: Samples, loudest: np.float32, before: Samples | None = None) -> Array:
    """Four descriptors of each frame: (frames, 4).

        flatness               mean L - 10 log10 of the mean of P, in dB
        onset flux             mean of max(0, L(t) - L(t - 1)), in dB, 0 in the first frame of a recording
        centroid of power      sum of b P / sum of P, b = 0, 1, ... counting bands
        centroid of magnitude  the same with the root of P

    levels   (frames, bands) L in dB; P = 10^(L / 10)
    loudest  highest level of the recording
    before   (bands,) levels of the frame before the first; None where the recording begins

    Each is within 1e-3 of librosa's spectral_flatness (as a level), onset_strength (lag 1, not centred) and
    spectral_centroid of the same levels, powers and magnitudes.
    """
    bands = levels.shape[1]
    sums = np.stack([np.ones(bands), np.arange(bands)], axis=1).astype(np.float32)  # sum, and sum weighted by band
    relative = levels - loudest
    magnitude = np.multiply(relative, np.float32(np.log(10) / 20))
    np.exp(magnitude, out=magnitude)  # np.power takes five times as long
    magnitudes = magnitude @ sums
    power = np.square(magnitude, out=magnitude)
    powers = power @ sums
    flatness = relative @ sums[:, 0] / bands - 10 * np.log10(powers[:, 0] / bands)
    flux = np.zeros(len(levels), np.float32)
    if before is not None:
        flux[:1] = np.maximum(relative[:1] - (before - loudest), 0) @ sums[:, 0] / bands
    rise = np.diff(relative, axis=0)
    flux[1:] = np.maximum(rise, 0, out=rise) @ sums[:, 0] / bands
    centroids = [part[:, 1] / part[:, 0] for part in (powers, magnitudes)]
    return np.column_stack([flatness, flux, *centroids]).astype(float)


class BandLimit:
    """Highest audible frequency of a recording, measured from its frames block by block.

    loudest  highest level of the recording
    """

    def __init__(self, loudest: np.float32) -> None:
        self._loudest, self._frames = loudest, 0
        self._heard: Integers | int = 0
        self._power: Samples | np.float32 = np.float32(0)

    def add(self, levels: Samples) -> None:
        """The next frames, (frames, bands) in dB."""
        self._frames += len(levels)
        self._heard = self._heard + np.count_nonzero(levels > self._loudest - np.float32(HEARD_DB), axis=0)
        power = np.exp((levels - self._loudest) * np.float32(np.log(10) / 10))
        self._power = self._power + power.sum(axis=0)

    def limit_hz(self, parameters: Parameters) -> float | None:
        """Frequency above which almost nothing is heard; None if the recording fills its band.

        Sound from a source with a lower sampling rate leaves the highest bands empty, at the floor 80 dB below the
        loudest. All other levels then stand above that floor by the loudness of the frame, which hides all other
        differences. The limit is the centre of the highest band that is above the floor by 6 dB in a twentieth of the
        frames, less those below it that fall by more than 3 dB in four bands.
        """
        bands = parameters.bands
        if bands < 1 / TOP:
            return None
        share = np.asarray(self._heard / self._frames)
        if share[bands - int(bands * TOP) :].max() > HEARD:
            return None
        heard = np.flatnonzero(share > HEARD)
        mean = 10 * np.log10(self._power / self._frames)
        last = int(heard[-1]) if len(heard) else 0
        while last > STEEP_BANDS and mean[last - STEEP_BANDS] - mean[last] > STEEP_DB:
            last -= 1
        limit = float(filter_banks(parameters).centres_hz[last])
        return limit if limit >= LOWEST_HZ else None


def mirrored_bins(limit_hz: float, parameters: Parameters) -> Integers:
    """(bins,) source bin of each bin's power, so that the part above a limit mirrors the part below.

    The spectrum is folded at 0.9 of the limit, repeatedly if need be, so that it continues without a step.
    """
    edge = max(1, int(INSIDE * limit_hz * parameters.frame / parameters.rate_hz))
    place = np.arange(1 + parameters.frame // 2) % (2 * edge)
    return np.where(place < edge, place, 2 * edge - 1 - place)
