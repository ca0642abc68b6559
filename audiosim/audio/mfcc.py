"""A Signal -> frames of mel-frequency cepstral coefficients, as librosa defines them."""

from dataclasses import astuple, dataclass
from functools import lru_cache

import numpy as np
from scipy.fft import dct

from audiosim.arrays import Array
from audiosim.audio.decode import RATE_HZ, Samples, Signal
from audiosim.audio.spectra import power_parts
from audiosim.errors import InputError

FLOOR = 1e-10  # power below which nothing is told apart
RANGE_DB = 80.0  # below the loudest band of the recording nothing is told apart either
SPAN = 96  # bins that bands filtered together span: more would multiply by more zeros, fewer be too many products


@dataclass(frozen=True, slots=True)
class Parameters:
    """How frames are made; frames made otherwise cannot be compared.

    rate_hz       of the signal
    frame         samples in a frame, Hann window
    hop           samples from one frame to the next
    bands         Slaney's mel bands from 0 Hz to half the rate
    coefficients  kept of the cosine transform
    first         whether the first is among them, which is the level; if not, the second is the first kept
    """

    rate_hz: int = RATE_HZ
    frame: int = 2048
    hop: int = 512
    bands: int = 128
    coefficients: int = 20
    first: bool = True

    def __post_init__(self) -> None:
        if not all(type(value) is int and value >= 1 for value in astuple(self)[:-1]):
            raise InputError(f"the parameters of frames must be whole numbers from 1, got {self}")
        if not isinstance(self.first, bool):
            raise InputError(f"whether the first coefficient is kept must be true or false, got {self.first!r}")
        if self.coefficients > self.bands - (not self.first):
            most = f"{self.bands} bands" if self.first else f"{self.bands - 1} beyond the first of {self.bands} bands"
            raise InputError(f"coefficients must be at most the {most}, got {self.coefficients}")
        if self.frame % 2 or self.hop > self.frame:
            raise InputError(f"a frame must be even and at least a hop of {self.hop}, got {self.frame}")

    def __str__(self) -> str:
        made = f"{self.rate_hz} Hz, frame {self.frame}, hop {self.hop}"
        kept = "" if self.first else " without the first"
        return f"{made}, {self.bands} bands, {self.coefficients} coefficients{kept}"


STANDARD = Parameters()


def frames(signal: Signal, parameters: Parameters = STANDARD) -> Array:
    """The MFCC of a signal: (1 + n // hop, coefficients), one row per frame, in dB.

        DCT-II, orthonormal, of  max(L, max L - 80),  L = 10 log10 max(1e-10, mel power)

    signal      n samples at the rate of the parameters
    parameters  the standard ones are librosa's: 20 coefficients, frame 2048, hop 512, 128 bands

    Frames are centred, with zeros beyond the ends. All is computed in single precision, the result
    handed out in double: within 1e-3 of librosa.feature.mfcc with its defaults; silence gives the floor,
    which is finite. McFee et al. (2015), doi:10.25080/Majora-7b98e3ed-003.
    """
    if signal.rate_hz != parameters.rate_hz:
        raise InputError(f"the rate must be the {parameters.rate_hz} Hz of the parameters, got {signal.rate_hz} Hz")
    bels, cosines = _bels(signal.samples, parameters), _cosines(parameters)
    # From the middle of the range: sums in single precision lose less where numbers are small.
    middle = float(bels.max()) - RANGE_DB / 20
    np.maximum(np.subtract(bels, middle, out=bels), -RANGE_DB / 20, out=bels)
    coefficients: Array = (bels @ cosines).astype(float) + middle * cosines.sum(axis=0, dtype=float)
    return coefficients


def _bels(samples: Samples, parameters: Parameters) -> Samples:
    """log10 max(1e-10, mel power): (frames, bands)

    The mel filters are applied a few bands at a time: they are zero but for a few bins each.
    """
    groups = _band_groups(parameters)
    bels = np.empty((1 + len(samples) // parameters.hop, parameters.bands), np.float32)
    for some, parts in power_parts(samples, _hann(parameters.frame), parameters.hop):
        block = bels[some]
        for bands, columns, weights in groups:
            np.matmul(parts[:, columns], weights, out=block[:, bands])
        np.log10(np.maximum(block, FLOOR, out=block), out=block)
    return bels


@lru_cache
def _hann(frame: int) -> Samples:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)).astype(np.float32)


@lru_cache
def _cosines(parameters: Parameters) -> Samples:
    """(bands, coefficients) from bels to the coefficients that are kept, in dB."""
    transform = 10 * dct(np.eye(parameters.bands), type=2, norm="ortho", axis=1)
    start = 0 if parameters.first else 1
    return np.ascontiguousarray(transform[:, start : start + parameters.coefficients], np.float32)


@lru_cache
def _band_groups(parameters: Parameters) -> tuple[tuple[slice, slice, Samples], ...]:
    """For every few bands: which, the columns of `power_parts` they look at, and their weights (columns, bands)."""
    filters = mel_filters(parameters)
    filters[:, [0, -1]] = 0  # as good as zero already, and these columns are not to be used
    groups, start = [], 0
    while start < parameters.bands:
        width = max(1, int(np.count_nonzero(filters[start])))
        bands = slice(start, min(start + min(16, max(4, SPAN // width)), parameters.bands))
        used = np.flatnonzero(filters[bands].any(axis=0))
        low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (1, 2)
        groups.append((bands, slice(2 * low, 2 * high), np.repeat(filters[bands, low:high].T, 2, axis=0)))
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
