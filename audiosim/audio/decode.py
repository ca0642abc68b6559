"""A sound file -> Signal. The only code that opens sound files."""

from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np
from numpy.typing import NDArray

from audiosim.audio.completeness import Completeness, completeness
from audiosim.errors import InputError, SoundError

if TYPE_CHECKING:
    from soundfile import SoundFile

soundfile = lazy_loader.load("soundfile")
soxr = lazy_loader.load("soxr")

Samples = NDArray[np.float32]

RATE_HZ = 22_050
FORMATS = "WAV, FLAC, Ogg, MP3 or AIFF"
SHORTEST_S = 1.0
ENOUGH = 0.9  # of a truncated recording
MP3_SLACK = 0.01  # without a length header the length of an MP3 is an estimate, good to this
FULL_SCALE = 1 - 2.0**-15  # the highest sample of 16 bits; lower depths reach it on the negative side
CLIPPED = 0.001  # share of samples at full scale from which a recording counts as clipped
QUIET = 0.001  # peak below which a recording is noted as quiet: -60 dB, where 16 bits leave 5
LOUDEST = 1e6  # in full scales; far more and the power of a frame leaves float32
BLOCK = 32_768  # frames read at a time
UNKNOWN_LENGTH = 2**62  # libsndfile gives 2 ** 63 - 1 where a header does not say


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """Mono sound.

    samples  (n,) float32, finite, at least one; full scale is 1
    rate_hz  samples per second
    notes    what a careful reader should know of where it comes from, such as clipping
    """

    samples: Samples
    rate_hz: int
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.samples.ndim != 1 or self.samples.dtype != np.float32 or not len(self.samples):
            found = f"{self.samples.shape} {self.samples.dtype}"
            raise InputError(f"samples must be (n,) float32 with n at least 1, got {found}")
        if not np.isfinite(self.samples).all():
            raise InputError("samples must be finite")
        if self.rate_hz < 1:
            raise InputError(f"rate must be at least 1 Hz, got {self.rate_hz}")

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate_hz


def read(path: str | Path, rate_hz: int = RATE_HZ) -> Signal:
    """The sound of a file: the mean of its channels, resampled to one rate.

    path     WAV, FLAC, Ogg (Vorbis, Opus), MP3 or AIFF
    rate_hz  rate of the result; resampling is soxr's HQ, as in librosa

    A SoundError says why a file is refused: it cannot be read or decoded, holds NaN or infinite
    samples, lasts under 1 s, is silent or constant, or is truncated to less than 90 % of what it promises.
    What is accepted with a note: truncated to 90 % or more, or by an unknown amount; clipped; quiet.
    """
    path = Path(path)
    _check_file(path)
    decoded = _decode(path)
    problem = _problem(decoded)
    if problem:
        raise SoundError(f"{path}: {problem}")
    samples = decoded.samples
    if decoded.rate_hz != rate_hz:
        samples = np.ascontiguousarray(soxr.resample(samples, decoded.rate_hz, rate_hz, quality="HQ"))
    return Signal(samples, rate_hz, _notes(decoded))


@dataclass(frozen=True, slots=True, eq=False)
class _Decoded:
    """All that could be decoded of a file.

    samples       (n,) mean of the channels
    present       share of the promised sound that could be decoded
    at_full_scale share of samples at full scale, over all channels
    doubt         why the share may be wrong, empty if it is known
    """

    samples: Samples
    rate_hz: int
    present: float
    at_full_scale: float
    doubt: str


def _check_file(path: Path) -> None:
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise SoundError(f"{path}: is not a file, expected a sound file")
        path.open("rb").close()
    except OSError as error:
        raise SoundError(f"{path}: cannot be read ({error.strerror}), expected a sound file") from None
    if not status.st_size:
        raise SoundError(f"{path}: is empty, expected a sound file")


def _decode(path: Path) -> _Decoded:
    try:
        with soundfile.SoundFile(path) as file:
            samples, full_scale, gave_up = _samples(file)
            known = _completeness(completeness(path, file.format), file, len(samples), gave_up)
            return _Decoded(samples, file.samplerate, known.present, full_scale, known.doubt)
    except (soundfile.LibsndfileError, TypeError) as error:  # TypeError: a name that ends in .raw
        reason = getattr(error, "error_string", "it has no header").strip(" .")
        raise SoundError(f"{path}: cannot be decoded ({reason}), expected {FORMATS}") from None


def _samples(file: "SoundFile") -> tuple[Samples, float, bool]:
    """The mean of the channels, the share of samples at full scale, and whether the decoder gave up."""
    means, full, gave_up = [np.empty(0, np.float32)], 0, False
    buffer = np.empty((BLOCK, file.channels), np.float32)
    while True:
        buffer.fill(np.nan)
        try:
            block = file.read(out=buffer)
        except soundfile.LibsndfileError:  # what it decoded before it gave up is in the buffer all the same
            block, gave_up = buffer[np.isfinite(buffer[:, 0])], True
        full += int(np.count_nonzero(np.abs(block) >= FULL_SCALE))
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused later
            means.append(sum(block.T) / file.channels)
        if gave_up or not len(block):
            samples = np.concatenate(means)
            return samples, full / max(1, len(samples) * file.channels), gave_up


def _completeness(known: Completeness, file: "SoundFile", decoded: int, gave_up: bool) -> Completeness:
    """What the container says, together with what came out of the decoder."""
    if file.frames >= UNKNOWN_LENGTH:
        return Completeness(known.present, known.doubt or "its header does not give its length")
    present = min(1.0, decoded / file.frames) if file.frames else 1.0
    if file.format == "MP3" and not gave_up and present > 1 - MP3_SLACK:
        present = 1.0
    return Completeness(min(known.present, present), known.doubt)


def _problem(decoded: _Decoded) -> str:
    """Why the recording cannot be described honestly, empty if it can."""
    samples, seconds = decoded.samples, len(decoded.samples) / decoded.rate_hz
    if not np.isfinite(samples).all():
        return "holds samples that are NaN or infinite, expected finite ones"
    if np.abs(samples).max(initial=0) > LOUDEST:
        return f"holds samples {np.abs(samples).max():.3g} times full scale, expected at most {LOUDEST:.0e}"
    if decoded.present < ENOUGH:
        share = f"{100 * decoded.present:.0f} % of the sound that its header promises can be decoded"
        return f"truncated: only {share}, expected at least {100 * ENOUGH:.0f} %"
    if seconds < SHORTEST_S:
        return f"lasts {seconds:.2f} s, expected at least {SHORTEST_S:.0f} s"
    if not samples.any():
        return "silent: every sample is 0 in the mean of the channels, expected sound"
    if samples.min() == samples.max():
        return f"constant: every sample is {samples[0]:.4g} in the mean of the channels, expected sound"
    return ""


def _notes(decoded: _Decoded) -> tuple[str, ...]:
    notes, peak = [], np.abs(decoded.samples).max()
    if decoded.present < 1:
        notes.append(f"truncated: {100 * decoded.present:.1f} % of the promised sound was decoded")
    if decoded.doubt:
        notes.append(f"may be truncated: {decoded.doubt}")
    if decoded.at_full_scale >= CLIPPED:
        notes.append(f"clipped: {100 * decoded.at_full_scale:.1f} % of samples at full scale")
    if peak < QUIET:
        notes.append(f"quiet: its peak is at {20 * np.log10(peak):.0f} dB of full scale")
    return tuple(notes)
