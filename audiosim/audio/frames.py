"""A Signal -> the frames that describe it."""

from typing import NamedTuple

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.audio.bands import band_descriptors, band_limit_hz, mirrored_bins
from audiosim.audio.contrast import contrast, octave_extremes
from audiosim.audio.decode import Signal
from audiosim.audio.filter_banks import filter_banks
from audiosim.audio.gathering import Samples
from audiosim.audio.mfcc import decibels_of, filtered, mfcc
from audiosim.audio.parameters import CONTRAST, MFCC, OCTAVES, STANDARD_FRAMES, Descriptor, Parameters
from audiosim.audio.spectra import has_code, powers
from audiosim.code_door import by_code
from audiosim.errors import InputError, SoundError


class Frames(NamedTuple):
    """The frames of a recording.

    values    (1 + n // hop, d), one row per frame, named by the parameters' `dimensions`
    limit_hz  where the band of the recording ends, None where it is not known to end
    """

    values: Array
    limit_hz: float | None = None


def frames(signal: Signal, parameters: Parameters = STANDARD_FRAMES) -> Frames:
    """The frames of a signal, joined from the descriptors that the parameters name.

    signal  n samples at the rate of the parameters

    Frames are centred, with zeros beyond the ends. All is computed in single precision, the result handed out in
    double: each descriptor within 1e-3 of librosa's; silence gives the floor, which is finite. Plain MFCC are librosa's
    of any sound. With other descriptors, the empty part of a band-limited recording (see `band_limit_hz`) is replaced
    by the mirror image of the part below, so that it can be compared with others.
    """
    if signal.rate_hz != parameters.rate_hz:
        raise InputError(f"the rate must be the {parameters.rate_hz} Hz of the parameters, got {signal.rate_hz} Hz")
    spectrum, limit_hz = _Spectrum(signal.samples, parameters), None
    if not parameters.plain:
        limit_hz = band_limit_hz(spectrum.levels, parameters)
        if limit_hz is not None:
            spectrum = _Spectrum(signal.samples, parameters, mirrored_bins(limit_hz, parameters))
    columns = [_column(one, spectrum, signal, parameters) for one in parameters.descriptors]
    return Frames(columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1), limit_hz)


class _Spectrum:
    """Spectrum that all descriptors of ours are made from, in one pass over the transforms.

    levels    (frames, bands) in dB
    extremes  (frames, 2 octaves) magnitudes of peaks and valleys, where contrast is asked for
    """

    def __init__(self, samples: Samples, parameters: Parameters, source: Integers | None = None) -> None:
        mel, self.extremes = _spectrum(samples, parameters, source)
        self.levels = decibels_of(mel)


def _spectrum(samples: Samples, parameters: Parameters, source: Integers | None) -> tuple[Samples, Samples]:
    def code() -> tuple[Samples, Samples]:
        from audiosim.audio.spectrum_code import spectrum_by_code  # what loads LLVM

        return spectrum_by_code(samples, parameters, source)

    def arrays() -> tuple[Samples, Samples]:
        return spectrum_by_arrays(samples, parameters, source)

    return by_code(code, arrays) if has_code(parameters.frame, parameters.hop) else arrays()


def spectrum_by_arrays(
    samples: Samples, parameters: Parameters, source: Integers | None = None
) -> tuple[Samples, Samples]:
    """Spectrum of frames of any length and hop, as `spectrum_by_code` gives it."""
    n = 1 + len(samples) // parameters.hop
    mel, extremes = np.empty((n, parameters.bands), np.float32), np.empty((n, 2 * OCTAVES), np.float32)
    for some, power in powers(samples, filter_banks(parameters).window, parameters.hop):
        block = power if source is None else power[:, source]
        filtered(block, parameters, mel[some])
        if CONTRAST in parameters.names:
            octave_extremes(block, parameters, extremes[some])
    return mel, extremes


def _column(one: str | Descriptor, spectrum: _Spectrum, signal: Signal, parameters: Parameters) -> Array:
    """(frames, d) of one descriptor."""
    if isinstance(one, Descriptor):
        return _from_elsewhere(one, signal, len(spectrum.levels))
    if one == MFCC:
        return mfcc(spectrum.levels, parameters)
    return contrast(spectrum.extremes) if one == CONTRAST else band_descriptors(spectrum.levels)


def _from_elsewhere(one: Descriptor, signal: Signal, count: int) -> Array:
    if one.function is None:
        raise InputError(f"descriptor {one.name} is known by its name only, expected the function that computes it")
    values = np.atleast_2d(np.asarray(one.function(y=signal.samples, sr=signal.rate_hz), dtype=float))
    if values.shape != (one.size, count):
        raise SoundError(f"descriptor {one.name} gave {values.shape}, expected {(one.size, count)}, d and frames")
    if not np.isfinite(values).all():
        raise SoundError(f"descriptor {one.name} gave numbers that are not finite")
    return values.T
