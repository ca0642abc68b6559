"""Frames that describe a recording, from its samples as a whole or piece by piece.

A frame depends on the loudest of all frames, which is known only at the end. Until then spectra are kept, for long
recordings in a temporary file, so that memory does not grow with length.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from tempfile import SpooledTemporaryFile
from typing import NamedTuple
from weakref import finalize

import numpy as np

from audiosim.errors import InputError, SoundError
from audiosim.results.value import cached_property
from audiosim.sound.channel import Samples, fed
from audiosim.sound.decode import SILENT, Signal
from audiosim.sound.filters import filter_banks
from audiosim.sound.parameters import CONTRAST, LOWEST_OCTAVE_HZ, MFCC, OCTAVES, STANDARD_FRAMES, Descriptor, Parameters
from audiosim.sound.spectrum import RANGE_DB, FrameTransform, decibels_of, floored, mfcc, spectrum
from audiosim.stats.arrays import Array, Integers

# Descriptors of the mel bands, and where a recording's band ends.


# dB below the loudest band of the recording: a band above this in one frame of twenty counts as heard
HEARD_DB = RANGE_DB - 6
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


def band_limit_hz(blocks: Callable[[], Iterable[Samples]], loudest: np.float32, parameters: Parameters) -> float | None:
    """Frequency above which almost nothing is heard in a recording; None if it fills its band.

    blocks   the frames of the recording, some (frames, bands) levels in dB at a time, from the first at each call
    loudest  highest level of the recording

    Sound from a source with a lower sampling rate leaves the highest bands empty, at the floor 80 dB below the
    loudest. All other levels then stand above that floor by the loudness of the frame, which hides all other
    differences. The limit is the centre of the highest band that is above the floor by 6 dB in a twentieth of the
    frames, less those below it that fall by more than 3 dB in four bands.
    """
    bands = parameters.bands
    if bands < 1 / TOP:
        return None
    counts = [(len(levels), np.count_nonzero(levels > loudest - np.float32(HEARD_DB), axis=0)) for levels in blocks()]
    frames = sum(number for number, _ in counts)
    share = np.sum([heard for _, heard in counts], axis=0) / frames
    if share[bands - int(bands * TOP) :].max() > HEARD:
        return None
    heard = np.flatnonzero(share > HEARD)
    per_db = np.float32(np.log(10) / 10)
    power = np.sum([np.exp((floored(levels, loudest) - loudest) * per_db).sum(axis=0) for levels in blocks()], axis=0)
    mean = 10 * np.log10(power / frames)
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


# Spectral contrast: height of the peaks of a spectrum above its valleys, octave by octave.


QUANTILE = 0.02  # share of an octave's bins that form its peak, and share that form its valley
FLOOR, RANGE_DB_OF_CONTRAST = 1e-10, 80.0


def contrast(extremes: Samples, highest: Samples) -> Array:
    """Spectral contrast of a recording: (frames, 7), in dB.

        10 log10 peak - 10 log10 valley

    extremes  (frames, 14) peaks and valleys, see `spectrum`; both have a floor 80 dB below
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
    least = 10 * np.log10(max(FLOOR, float(highest))) - RANGE_DB_OF_CONTRAST
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


BLOCK = 1536  # frames made at a time: over half a minute, so that a clip takes one step
IN_MEMORY = 2**22  # size of spectra, in bytes, from which they are kept in a file


class Frames(NamedTuple):
    """The frames of a recording.

    values    (1 + n // hop, d), one row per frame, named by the parameters' `dimensions`
    limit_hz  end of the recording's band; None if it is not known to end
    """

    values: Array
    limit_hz: float | None = None


def frames(signal: Signal, parameters: Parameters = STANDARD_FRAMES) -> Frames:
    """The frames of a signal, joined from the descriptors that the parameters name.

    signal  n samples at the rate of the parameters

    Frames are centred, with zeros beyond the ends. Computation is in single precision, the result in double; each
    descriptor is within 1e-3 of librosa's. Silence gives the floor, which is finite. Plain MFCC agree with librosa's
    for any sound. With other descriptors, the empty part of a band-limited recording (see `band_limit_hz`) is
    replaced by the mirror image of the part below, so that it can be compared with others.
    """
    if signal.rate_hz != parameters.rate_hz:
        raise InputError(f"the rate must be the {parameters.rate_hz} Hz of the parameters, got {signal.rate_hz} Hz")
    recording = framed(lambda start: fed(start(), signal.samples), parameters)
    return Frames(np.concatenate(list(recording.values())), recording.limit_hz)


def framed(hand_on: "Callable[[Callable[[], FrameBlocks]], FrameBlocks]", parameters: Parameters) -> "FrameBlocks":
    """The frames of a recording; if its band is limited, the empty part is filled.

    hand_on  passes all samples to a new FrameBlocks and returns it; called again for a long recording whose band ends
    """
    recording = hand_on(lambda: FrameBlocks(parameters))
    limit_hz = None if parameters.plain else recording.heard_to_hz
    if limit_hz is None:
        return recording
    if recording.samples is None:
        return hand_on(lambda: FrameBlocks(parameters, limit_hz))
    return fed(FrameBlocks(parameters, limit_hz), recording.samples)


class FrameBlocks:
    """Sink that makes the frames of a recording, block by block.

    parameters  parameters of the frames; descriptors of other packages get all samples at once
    limit_hz    end of the band: the part above it is filled with the mirror image of the part below; None: no end
    """

    def __init__(self, parameters: Parameters, limit_hz: float | None = None) -> None:
        self.parameters, self.limit_hz = parameters, limit_hz
        self._source = None if limit_hz is None else mirrored_bins(limit_hz, parameters)
        foreign = any(isinstance(one, Descriptor) for one in parameters.descriptors)
        self._block = math.inf if foreign else BLOCK
        self._around = math.ceil(parameters.frame / 2 / parameters.hop)  # frames at an end that overlap samples beyond
        self._waiting: list[Samples] = []  # samples, starting with those of frame `self._from`
        self._from = self._count = 0
        self._ends, self._sum = [math.inf, -math.inf], 0.0
        self._transform, self._spectra = frame_transform(parameters), _Kept(parameters)
        self.samples: Samples | None = None  # all frames, if they form one block

    def take(self, samples: Samples) -> None:
        """See `Sink`."""
        if not len(samples):
            return
        self._count += len(samples)
        self._ends = [min(self._ends[0], float(samples.min())), max(self._ends[1], float(samples.max()))]
        if self._ends[1] - self._ends[0] < 2 * SILENT:  # else the mean is not needed, and costs as much as all the rest
            self._sum += float(samples.sum(dtype=float))
        self._waiting.append(samples)
        # Frames that overlap samples still to come are held back.
        while self._count // self.parameters.hop - self._around - self._spectra.frames >= self._block:
            self._make(self._spectra.frames + BLOCK)

    def end(self) -> None:
        """See `Sink`."""
        self._make(1 + self._count // self.parameters.hop)
        if not self._from:
            self.samples = self._waiting[0] if self._waiting else np.empty(0, np.float32)
        self._waiting = []

    def _make(self, stop: int) -> None:
        """The spectra of the frames up to a given one, from samples that reach beyond both ends."""
        hop, start = self.parameters.hop, self._spectra.frames
        self._waiting = [self._waiting[0] if len(self._waiting) == 1 else np.concatenate([_NONE, *self._waiting])]
        own = slice(start - self._from, stop - self._from)
        mel, extremes = spectrum(self._waiting[0][: (own.stop + self._around) * hop], self._transform, self._source)
        self._spectra.add(mel[own], extremes[own])
        keep = max(0, stop - self._around)
        if self._count // hop >= stop:
            self._waiting, self._from = [self._waiting[0][(keep - self._from) * hop :].copy()], keep

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self._spectra.frames

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return self._count / self.parameters.rate_hz

    @property
    def silent(self) -> bool:
        """See `Signal.silent`."""
        low, high = self._ends
        mean = self._sum / max(1, self._count)
        return high - low < 2 * SILENT and max(high - mean, mean - low) < SILENT

    @cached_property
    def heard_to_hz(self) -> float | None:
        """Frequency at which the band ends; None if it is not known to end. See `band_limit_hz`."""
        kept = self._spectra
        return band_limit_hz(lambda: (levels for levels, _ in kept.blocks()), kept.loudest, self.parameters)

    def values(self) -> Iterator[Array]:
        """The frames, a block (n, d) at a time."""
        kept, before = self._spectra, None
        for levels, extremes in kept.blocks():
            floored(levels, kept.loudest)
            columns = [self._column(one, levels, extremes, before) for one in self.parameters.descriptors]
            yield columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
            before = levels[-1]

    def _column(self, one: str | Descriptor, levels: Samples, extremes: Samples, before: Samples | None) -> Array:
        """(n, d) values of one descriptor."""
        kept = self._spectra
        if isinstance(one, Descriptor):
            samples = _NONE if self.samples is None else self.samples
            return _from_elsewhere(one, samples, self.parameters.rate_hz, len(levels))
        if one == MFCC:
            return mfcc(levels, kept.loudest, self.parameters)
        if one == CONTRAST:
            return contrast(extremes, kept.highest)
        return band_descriptors(levels, kept.loudest, before)


_NONE = np.empty(0, np.float32)


class _Kept:
    """Spectra of a recording, in order: (n, bands) levels in dB and (n, 14) extremes at a time."""

    def __init__(self, parameters: Parameters) -> None:
        self._bands, self.frames, self._sizes = parameters.bands, 0, list[tuple[int, int]]()
        self.loudest, self.highest = np.float32(-np.inf), np.zeros(2, np.float32)
        self._held = list[tuple[Samples, Samples]]()  # the last blocks; those before are in the file
        self._file = SpooledTemporaryFile()  # noqa: SIM115 - open for as long as the spectra are needed
        finalize(self, self._file.close)

    def add(self, mel: Samples, extremes: Samples) -> None:
        """Add the next frames; `mel` is mel power, and is overwritten."""
        levels = decibels_of(mel)
        self.loudest = np.maximum(self.loudest, levels.max())
        if extremes.shape[1]:
            self.highest = np.maximum(self.highest, highest_of(extremes))
        self.frames += len(levels)
        self._held.append((levels, extremes))
        if sum(levels.nbytes + extremes.nbytes for levels, extremes in self._held) > IN_MEMORY:
            self._write()

    def _write(self) -> None:
        """Move the blocks in memory to the file."""
        try:
            self._file.rollover()
            for levels, extremes in self._held:
                self._file.write(np.ascontiguousarray(levels).data)
                self._file.write(np.ascontiguousarray(extremes).data)
        except OSError as error:
            raise SoundError(f"does not fit into temporary files ({error.strerror}), expected enough space") from None
        self._sizes += [(len(levels), extremes.shape[1]) for levels, extremes in self._held]
        self._held = []

    def blocks(self) -> Iterator[tuple[Samples, Samples]]:
        """The blocks as they were added; each call starts from the first."""
        self._file.seek(0)
        for frames, columns in self._sizes:
            yield self._read(frames, self._bands), self._read(frames, columns)
        yield from self._held

    def _read(self, frames: int, columns: int) -> Samples:
        array = np.empty((frames, columns), np.float32)
        array.reshape(-1)[:] = np.frombuffer(self._file.read(array.nbytes), np.float32)
        return array


@lru_cache
def frame_transform(parameters: Parameters) -> FrameTransform:
    """Steps from samples to the spectra of frames, of any length and hop."""
    banks, with_contrast = filter_banks(parameters), CONTRAST in parameters.names
    octaves = octave_bins(parameters) if with_contrast else ()
    return FrameTransform(parameters.hop, banks.window, banks.mel, octaves)


def _from_elsewhere(one: Descriptor, samples: Samples, rate_hz: int, count: int) -> Array:
    if one.function is None:
        raise InputError(f"only the name of descriptor {one.name} is known, expected the function that computes it")
    values = np.atleast_2d(np.asarray(one.function(y=samples, sr=rate_hz), dtype=float))
    if values.shape != (one.size, count):
        raise SoundError(f"descriptor {one.name} gave {values.shape}, expected {(one.size, count)}, d and frames")
    if not np.isfinite(values).all():
        raise SoundError(f"descriptor {one.name} gave numbers that are not finite")
    return values.T
