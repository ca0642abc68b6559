"""A sound file -> Signal. The only code of audiosim that opens sound files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from stat import S_ISREG
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np
from numpy.typing import NDArray

from audiosim.audio.completeness import Completeness, completeness
from audiosim.audio.sound_limits import STANDARD, SoundLimits
from audiosim.errors import InputError, SoundError

if TYPE_CHECKING:
    from soundfile import SoundFile

soundfile = lazy_loader.load("soundfile")
soxr = lazy_loader.load("soxr")

Samples = NDArray[np.float32]
Block = NDArray[np.float32] | NDArray[np.int16]

RATE_HZ = 22_050
FORMATS = "WAV, FLAC, Ogg, MP3 or AIFF"
SHORTEST_S = 1.0
ENOUGH = 0.9  # of a truncated recording
MP3_SLACK = 0.01  # without a length header the length of an MP3 is an estimate, good to this
FULL_SCALE = 1 - 2.0**-15  # the highest sample of 16 bits; lower depths reach it on the negative side
CLIPPED = 0.001  # share of samples at full scale from which a recording counts as clipped
QUIET = 0.001  # peak below which a recording is noted as quiet: -60 dB, where 16 bits leave 5
SILENT = 1e-4  # peak, the mean taken off, below which a recording counts as silent: -80 dB, three steps of 16 bits
LOUDEST = 1e6  # in full scales; far more and the power of a frame leaves float32
BLOCK = 2**18  # frames read at a time; soundfile seeks after each block, which costs MP3 a fresh start
ROOM = 2**22  # frames that there is room for at first; doubled when it is full, since a header may lie
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
        if not np.isfinite([self.samples.min(), self.samples.max()]).all():
            raise InputError("samples must be finite")
        if self.rate_hz < 1:
            raise InputError(f"rate must be at least 1 Hz, got {self.rate_hz}")

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate_hz

    @property
    def silent(self) -> bool:
        """Whether no sample is 1e-4 of full scale (-80 dB) or more away from their mean: silence, or a constant."""
        mean = self.samples.mean(dtype=float)
        return bool(max(self.samples.max() - mean, mean - self.samples.min()) < SILENT)


def read(
    path: str | Path, rate_hz: int = RATE_HZ, limits: SoundLimits = STANDARD, decoders: "Sequence[Decoder]" = ()
) -> Signal:
    """The sound of a file: the mean of its channels, resampled to one rate.

    path     WAV, FLAC, Ogg (Vorbis, Opus), MP3 or AIFF
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


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """All that could be decoded of a file.

    samples       (n,) mean of the channels
    rate_hz       samples per second
    peak          largest absolute value over all channels, NaN if one is
    at_full_scale share of samples at full scale, over all channels
    gave_up       whether the decoder did, before the end
    known         how much of the promised sound this is, once the container has been asked
    """

    samples: Samples
    rate_hz: int
    peak: float
    at_full_scale: float = 0.0
    gave_up: bool = False
    known: Completeness = field(default_factory=Completeness)

    @classmethod
    def of(cls, channels: Samples, rate_hz: int) -> "Decoded":
        """All of a file, where nothing is missing.

        channels  (n, channels) samples in full scales
        """
        size = np.abs(channels)
        mean = channels.mean(axis=1, dtype=np.float32)
        return cls(mean, rate_hz, float(size.max(initial=0)), float((size >= FULL_SCALE).mean()))


@dataclass(frozen=True, slots=True)
class Decoder:
    """A way to open some kinds of sound file.

    Entry-point group `audiosim.decoders`: each entry is a decoder, under its own name. Contract:
    `audiosim.plugins.check_decoder`. Workers are other processes: `decode` must be a function of a module.

    name      letters and digits
    suffixes  of the names of the files, with the dot, in small letters
    decode    the sound of a file of so many bytes, within limits; a SoundError, which names the file, where it holds
              more or cannot be decoded
    """

    name: str
    suffixes: tuple[str, ...]
    decode: Callable[[Path, int, SoundLimits], Decoded]

    def __post_init__(self) -> None:
        if not self.name.isalnum():
            raise InputError(f"the name of a decoder must be letters and digits, got {self.name!r}")
        wrong = [suffix for suffix in self.suffixes if not suffix.startswith(".") or suffix != suffix.lower()]
        if wrong or not self.suffixes:
            raise InputError(f"the suffixes of decoder {self.name} must be such as .wav, got {self.suffixes}")

    def opens(self, path: PurePath) -> bool:
        """Whether the name of a file ends as those do that it opens."""
        return path.name.lower().endswith(self.suffixes)


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
    def check(frames: int) -> None:
        problem = limits.problem(frames, file.channels, file.samplerate, size_bytes)
        if problem:
            raise SoundError(f"{path}: {problem}")

    try:
        with soundfile.SoundFile(path) as file:
            check(0 if file.frames >= UNKNOWN_LENGTH else file.frames)
            decoded = _samples(file, check)
            known = _completeness(completeness(path, file.format), file, decoded)
            return replace(decoded, known=known)
    except (soundfile.LibsndfileError, TypeError) as error:  # TypeError: a name that ends in .raw
        reason = getattr(error, "error_string", "it has no header").strip(" .")
        raise SoundError(f"{path}: cannot be decoded ({reason}), expected {FORMATS}") from None


SUFFIXES = (".aif", ".aiff", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".wav")
LIBSNDFILE = Decoder("libsndfile", SUFFIXES, _decode)
DECODERS: Mapping[str, Decoder] = {LIBSNDFILE.name: LIBSNDFILE}


def _samples(file: "SoundFile", check: Callable[[int], None]) -> Decoded:
    """Everything that comes out of the decoder; `check` hears how many frames, and may put an end to it."""
    whole = file.subtype == "PCM_16" and file.format in {"WAV", "WAVEX", "AIFF"}
    unit = 2.0**-15 if whole else 1.0  # whole numbers are read as such: libsndfile would take ten times as long
    buffer = np.empty((min(BLOCK, max(1024, file.frames)), file.channels), np.int16 if whole else np.float32)
    samples, n, peaks, full, gave_up = np.empty(min(ROOM, file.frames), np.float32), 0, [0.0], 0, False
    while not gave_up:
        block, gave_up = _block(file, buffer)
        if not len(block):
            break
        check(n + len(block))
        if n + len(block) > len(samples):
            samples = np.concatenate([samples[:n], np.empty(max(n, len(block)), np.float32)])
        _mix(block, unit, samples[n : n + len(block)])
        n += len(block)
        peaks.append(unit * max(float(block.max()), -float(block.min())))
        if peaks[-1] >= FULL_SCALE:
            full += int(np.count_nonzero((block >= FULL_SCALE / unit) | (block <= -FULL_SCALE / unit)))
    share = full / max(1, n * file.channels)
    return Decoded(samples[:n], file.samplerate, float(np.max(peaks)), share, gave_up, Completeness())


def _block(file: "SoundFile", buffer: Block) -> tuple[Block, bool]:
    """The next frames, none at the end, and whether the decoder gave up."""
    if buffer.dtype == np.float32:
        buffer.fill(np.nan)
    try:
        return file.read(out=buffer), False
    except soundfile.LibsndfileError:  # what it decoded before it gave up is in the buffer all the same
        return buffer[np.isfinite(buffer[:, 0])] if buffer.dtype == np.float32 else buffer[:0], True


def _mix(block: Block, unit: float, mean: Samples) -> None:
    """The mean of the channels; summed one by one, since numpy takes 30 times as long for a mean over a short axis."""
    scale = np.float32(unit / block.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused later
        if block.shape[1] == 1:
            np.multiply(block[:, 0], scale, out=mean)
            return
        np.add(block[:, 0], block[:, 1], out=mean, dtype=np.float32)
        for channel in block.T[2:]:
            np.add(mean, channel, out=mean)
        np.multiply(mean, scale, out=mean)


def _completeness(known: Completeness, file: "SoundFile", decoded: Decoded) -> Completeness:
    """What the container says, together with what came out of the decoder."""
    if file.frames >= UNKNOWN_LENGTH:
        return replace(known, doubt=known.doubt or "its header does not give its length")
    present = min(1.0, len(decoded.samples) / file.frames) if file.frames else 1.0
    if file.format == "MP3" and not decoded.gave_up and present > 1 - MP3_SLACK:
        present = 1.0
    return replace(known, present=min(known.present, present))


def _problem(decoded: Decoded) -> str:
    """Why the recording cannot be described honestly, empty if it can."""
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
