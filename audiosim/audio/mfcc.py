"""A Signal -> frames of mel-frequency cepstral coefficients, as librosa defines them."""

from dataclasses import astuple, dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import dct, rfft

from audiosim.arrays import Array
from audiosim.audio.decode import RATE_HZ, Samples, Signal
from audiosim.errors import InputError

FLOOR = 1e-10  # power below which nothing is told apart
RANGE_DB = 80.0  # below the loudest band of the recording nothing is told apart either
BLOCK = 64  # frames transformed together: they stay in cache


@dataclass(frozen=True, slots=True)
class Parameters:
    """How frames are made; frames made otherwise cannot be compared.

    rate_hz       of the signal
    frame         samples in a frame, Hann window
    hop           samples from one frame to the next
    bands         Slaney's mel bands from 0 Hz to half the rate
    coefficients  kept of the cosine transform, the first included
    """

    rate_hz: int = RATE_HZ
    frame: int = 2048
    hop: int = 512
    bands: int = 128
    coefficients: int = 20

    def __post_init__(self) -> None:
        if not all(isinstance(value, int) and value >= 1 for value in astuple(self)):
            raise InputError(f"the parameters of frames must be whole numbers from 1, got {self}")
        if self.coefficients > self.bands:
            raise InputError(f"coefficients must be at most the {self.bands} bands, got {self.coefficients}")
        if self.frame % 2 or self.hop > self.frame:
            raise InputError(f"a frame must be even and at least a hop of {self.hop}, got {self.frame}")

    def __str__(self) -> str:
        made = f"{self.rate_hz} Hz, frame {self.frame}, hop {self.hop}"
        return f"{made}, {self.bands} bands, {self.coefficients} coefficients"


STANDARD = Parameters()


def frames(signal: Signal, parameters: Parameters = STANDARD) -> Array:
    """The MFCC of a signal: (1 + n // hop, coefficients), one row per frame, in dB.

        DCT-II, orthonormal, of  max(L, max L - 80),  L = 10 log10 max(1e-10, mel power)

    signal      n samples at the rate of the parameters
    parameters  the standard ones are librosa's: 20 coefficients, frame 2048, hop 512, 128 bands

    Frames are centred, with zeros beyond the ends. The Fourier transform is in single precision:
    within 1e-3 of librosa.feature.mfcc with its defaults. McFee et al. (2015), doi:10.25080/Majora-7b98e3ed-003.
    """
    if signal.rate_hz != parameters.rate_hz:
        raise InputError(f"the rate must be the {parameters.rate_hz} Hz of the parameters, got {signal.rate_hz} Hz")
    levels = 10 * np.log10(np.maximum(FLOOR, _mel_power(signal.samples, parameters)))
    levels = np.maximum(levels, levels.max() - RANGE_DB)
    coefficients: Array = dct(levels.astype(float), type=2, norm="ortho", axis=1)[:, : parameters.coefficients]
    return coefficients


def _mel_power(samples: Samples, parameters: Parameters) -> Samples:
    padded = np.pad(samples, parameters.frame // 2)
    windows = sliding_window_view(padded, parameters.frame)[:: parameters.hop]
    hann, mel = _hann(parameters.frame), mel_filters(parameters).T
    power = np.empty((len(windows), parameters.bands), np.float32)
    for start in range(0, len(windows), BLOCK):
        spectrum = rfft(windows[start : start + BLOCK] * hann, axis=1)
        power[start : start + BLOCK] = (spectrum.real**2 + spectrum.imag**2) @ mel
    return power


@lru_cache
def _hann(frame: int) -> Samples:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)).astype(np.float32)


@lru_cache
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
