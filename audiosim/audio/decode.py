"""A sound file -> Signal. The only code of audiosim that opens sound files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np

from audiosim.audio import by_ffmpeg, more_formats
from audiosim.audio.completeness import Completeness, completeness
from audiosim.audio.decoder import SUFFIXES, Decoder
from audiosim.audio.gathering import Block, Decoded, Gathering, Samples
from audiosim.audio.sound_limits import STANDARD_LIMITS, SoundLimits
from audiosim.errors import InputError, SoundError

if TYPE_CHECKING:
    from soundfile import SoundFile

soundfile = lazy_loader.load("soundfile")
soxr = lazy_loader.load("soxr")

RATE_HZ = 22_050
FORMATS = "WAV, FLAC, Ogg, MP3 or AIFF"
SHORTEST_S = 1.0
ENOUGH = 0.9  # of a truncated recording
MP3_SLACK = 0.01  # without a length header the length of an MP3 is an estimate, good to this
CLIPPED = 0.001  # share of samples at full scale from which a recording counts as clipped
QUIET = 0.001  # peak below which a recording is noted as quiet: -60 dB, where 16 bits leave 5
SILENT = 1e-4  # peak, the mean taken off, below which a recording counts as silent: -80 dB, three steps of 16 bits
LOUDEST = 1e6  # in full scales; far more and the power of a frame leaves float32
BLOCK = 2**18  # frames read at a time; soundfile seeks after each block, which costs MP3 a fresh start
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
    _ends: tuple[float, float] = field(init=False, repr=False)  # the lowest and the highest sample

    def __post_init__(self) -> None:
        if self.samples.ndim != 1 or self.samples.dtype != np.float32 or not len(self.samples):
            found = f"{self.samples.shape} {self.samples.dtype}"
            raise InputError(f"samples must be (n,) float32 with n at least 1, got {found}")
        object.__setattr__(self, "_ends", (float(self.samples.min()), float(self.samples.max())))
        if not np.isfinite(self._ends).all():
            raise InputError("samples must be finite")
        if self.rate_hz < 1:
            raise InputError(f"rate must be at least 1 Hz, got {self.rate_hz}")

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate_hz

    @property
    def silent(self) -> bool:
        """True if no sample is 1e-4 of full scale (-80 dB) or more away from their mean: silence, or a constant."""
        low, high = self._ends
        if high - low >= 2 * SILENT:
            return False
        mean = float(self.samples.mean(dtype=float))
        return max(high - mean, mean - low) < SILENT


def read(
    path: str | Path, rate_hz: int = RATE_HZ, limits: SoundLimits = STANDARD_LIMITS, decoders: Sequence[Decoder] = ()
) -> Signal:
    """The sound of a file: the mean of its channels, resampled to one rate.

    path     WAV, FLAC, Ogg (Vorbis, Opus), MP3 or AIFF; M4A, WMA and such by PyAV
             (audiosim[formats]), or else by the ffmpeg command where it is on the machine
    rate_hz  rate of the result; resampling is soxr's HQ, as in librosa
    limits   how much sound a file may hold
    decoders of other kinds of file, by their suffixes; libsndfile opens all others

    A SoundError says why a file is refused: it cannot be read or decoded, holds more than the limits allow,
    or samples that are NaN or infinite, lasts under 1 s, or less than 90 % of what it promises can be decoded.
    What is accepted with a note: truncated or damaged to 90 % or more, or by an unknown amount; clipped;
    quiet; silent or constant (see `Signal.silent`).
    """
    path = Path(path)
    size_bytes = _check_file(path)
    decoder = next((decoder for decoder in decoders if decoder.opens(path)), LIBSNDFILE)
    decoded = decoder.decode(path, size_bytes, limits)
    problem = limits.problem(len(decoded.samples), 1, decoded.rate_hz, size_bytes) or _problem(decoded)
    if problem:
        raise SoundError(f"{path}: {problem}")
    samples = decoded.samples
    if decoded.rate_hz != rate_hz:
        samples = np.ascontiguousarray(soxr.resample(samples, decoded.rate_hz, rate_hz, quality="HQ"))
    return Signal(samples, rate_hz, _notes(decoded))


def load_libraries() -> None:
    """Load what reads WAV and resamples, which the first file would otherwise pay for."""
    soundfile.available_formats()
    soxr.resample(np.zeros(441, np.float32), 44_100, RATE_HZ, quality="HQ")


def _check_file(path: Path) -> int:
    """The size of a file that can be read, in bytes."""
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise SoundError(f"{path}: is not a file, expected a sound file")
        path.open("rb").close()
    except OSError as error:
        raise SoundError(f"{path}: cannot be read ({error.strerror}), expected a sound file") from None
    if not status.st_size:
        raise SoundError(f"{path}: is empty, expected a sound file")
    return status.st_size


def _decode(path: Path, size_bytes: int, limits: SoundLimits) -> Decoded:
    def check(frames: int, channels: int, rate_hz: int) -> None:
        problem = limits.problem(frames, channels, rate_hz, size_bytes)
        if problem:
            raise SoundError(f"{path}: {problem}")

    try:
        with soundfile.SoundFile(path) as file:
            if file.format == "RAW":  # libsndfile takes whatever is named .au for a telephone call
                raise SoundError(f"{path}: cannot be decoded (it has no header), expected {FORMATS}")
            check(0 if file.frames >= UNKNOWN_LENGTH else file.frames, file.channels, file.samplerate)
            decoded = _samples(file, lambda frames: check(frames, file.channels, file.samplerate))
            known = _completeness(completeness(path, file.format), file, decoded)
            decoded = replace(decoded, known=known)
            return _opus_elsewhere(path, decoded, check) if decoded.gave_up and file.subtype == "OPUS" else decoded
    except (soundfile.LibsndfileError, TypeError) as error:  # TypeError: a name that ends in .raw
        reason = _reason(error)
    found = next((decode(path, check) for installed, decode in OTHERS if installed()), reason)
    if isinstance(found, Decoded):
        return found
    raise SoundError(f"{path}: cannot be decoded ({reason}), expected {FORMATS}{_remedy(path)}")


OTHERS = (  # of what libsndfile refuses, in the order in which they are preferred
    (more_formats.installed, more_formats.decode_other),
    (by_ffmpeg.ffmpeg_installed, by_ffmpeg.decode_by_ffmpeg),
)


LIBSNDFILE = Decoder("libsndfile", SUFFIXES, _decode)
DECODERS: Mapping[str, Decoder] = {LIBSNDFILE.name: LIBSNDFILE}


def _opus_elsewhere(path: Path, decoded: Decoded, check: Callable[[int, int, int], None]) -> Decoded:
    """Opus that libsndfile gives up, as another decoder has it where that is more.

    It takes some whole files, such as those that ffmpeg writes, for malformed, see libsndfile issue 888.
    """
    found = next((decode(path, check) for installed, decode in OTHERS if installed()), "")
    return found if isinstance(found, Decoded) and found.known.present > decoded.known.present else decoded


def _reason(error: Exception) -> str:
    """Reason why libsndfile does not open a file; for noise named .mp3 it gives none."""
    reason = str(getattr(error, "error_string", "it has no header")).strip(" .")
    return "its content is no sound that is known" if "does not exist" in reason else reason


def _remedy(path: Path) -> str:
    """Means to read a file that is named as if it were of one of the other formats."""
    if not path.name.lower().endswith(more_formats.SUFFIXES):
        return ""
    if any(installed() for installed, _ in OTHERS):
        return ", or sound of another format that is whole"
    return f"; audiosim[formats] reads {path.suffix.lower()} files: pip install 'audiosim[formats]'"


def _samples(file: "SoundFile", check: Callable[[int], None]) -> Decoded:
    """Everything that comes out of the decoder; `check` hears how many frames, and may put an end to it."""
    whole = file.subtype == "PCM_16" and file.format in {"WAV", "WAVEX", "AIFF"}
    unit = 2.0**-15 if whole else 1.0  # whole numbers are read as such: libsndfile would take ten times as long
    buffer = np.empty((min(BLOCK, max(1024, file.frames)), file.channels), np.int16 if whole else np.float32)
    gathering, gave_up = Gathering(file.frames, check, unit), False
    while not gave_up:
        block, gave_up = _block(file, buffer)
        if not len(block):
            break
        gathering.add(block)
    return gathering.result(file.samplerate, gave_up)


def _block(file: "SoundFile", buffer: Block) -> tuple[Block, bool]:
    """The next frames, none at the end, and whether the decoder gave up."""
    if buffer.dtype == np.float32:
        buffer[:, 0].fill(np.nan)
    try:
        return file.read(out=buffer), False
    except soundfile.LibsndfileError:  # what it decoded before it gave up is in the buffer all the same
        return buffer[np.isfinite(buffer[:, 0])] if buffer.dtype == np.float32 else buffer[:0], True


def _completeness(known: Completeness, file: "SoundFile", decoded: Decoded) -> Completeness:
    """Completeness by the container, together with what came out of the decoder."""
    if file.frames >= UNKNOWN_LENGTH:
        return replace(known, doubt=known.doubt or "its header does not give its length")
    present = min(1.0, len(decoded.samples) / file.frames) if file.frames else 1.0
    if file.format == "MP3" and not decoded.gave_up and present > 1 - MP3_SLACK:
        present = 1.0
    return replace(known, present=min(known.present, present))


def _problem(decoded: Decoded) -> str:
    """Reason why the recording cannot be described honestly, empty if it can."""
    seconds = len(decoded.samples) / decoded.rate_hz
    if not np.isfinite(decoded.peak):
        return "holds samples that are NaN or infinite, expected finite ones"
    if decoded.peak > LOUDEST:
        return f"holds samples {decoded.peak:.3g} times full scale, expected at most {LOUDEST:.0e}"
    if decoded.known.present < ENOUGH:
        share = f"{100 * decoded.known.present:.0f} % of the sound that its header promises can be decoded"
        return f"{decoded.known.harm}: only {share}, expected at least {100 * ENOUGH:.0f} %"
    if seconds < SHORTEST_S:
        return f"lasts {seconds:.2f} s, expected at least {SHORTEST_S:.0f} s"
    return ""


def _notes(decoded: Decoded) -> tuple[str, ...]:
    notes, known = [], decoded.known
    low, high = float(decoded.samples.min()), float(decoded.samples.max())
    peak = max(high, -low)
    if known.present < 1:
        notes.append(f"{known.harm}: {100 * known.present:.1f} % of the promised sound was decoded")
    if known.doubt:
        notes.append(f"may be truncated: {known.doubt}")
    if decoded.at_full_scale >= CLIPPED:
        notes.append(f"clipped: {100 * decoded.at_full_scale:.1f} % of samples at full scale")
    if low == high:
        notes.append(f"silent: every sample is {low:.4g} in the mean of the channels")
    elif peak < QUIET:
        notes.append(f"quiet: its peak is at {20 * np.log10(peak):.0f} dB of full scale")
    return tuple(notes)
