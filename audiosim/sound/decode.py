"""Decoding of sound files to Signals or to samples piece by piece; no other code of audiosim opens sound files."""

from codecs import getincrementaldecoder
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Generic

import lazy_loader
import numpy as np

from audiosim.errors import InputError, SoundError
from audiosim.sound import formats as more_formats
from audiosim.sound.channel import (
    LOUDEST,
    STANDARD_LIMITS,
    SUFFIXES,
    Block,
    Conveyed,
    Gathering,
    S,
    Samples,
    SoundLimits,
)
from audiosim.sound.completeness import MPEG, Completeness, completeness

if TYPE_CHECKING:
    from soundfile import SoundFile

soundfile = lazy_loader.load("soundfile")
soxr = lazy_loader.load("soxr")

RATE_HZ = 22_050
HEAD_BYTES = 4096  # enough to tell text from sound
# How files that are no sound begin: SQLite's database, its write-ahead log in either byte order, its rollback journal;
# ZIP, and so xlsx and npz; Parquet.
OTHERS = (
    b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
    b"PK\x03\x04", b"PAR1",
)  # fmt: skip
FORMATS = "WAV, FLAC, Ogg, MP3 or AIFF"
SHORTEST_S = 1.0
ENOUGH = 0.9  # share of a truncated recording that must be there: the missing part may differ from the rest
ENOUGH_SCATTERED = 0.25  # the same for a recording that is damaged here and there
SLACK = 0.01  # relative error of an MP3's length, which is an estimate without a length header
CLIPPED = 0.001  # share of samples at full scale from which a recording counts as clipped
QUIET = 0.001  # peak below which a recording is noted as quiet: -60 dB, where 16 bits leave 5
SILENT = 1e-4  # peak without the mean below which a recording counts as silent: -80 dB, three steps of 16 bits
BLOCK = 2**18  # frames read at a time; soundfile seeks after each block, which makes MP3 decoding start again
NO_LENGTH = "its header does not give its length"
CHEAPER_ELSEWHERE = "OPUS"  # libsndfile takes three times as long for this format as FFmpeg's decoder
UNKNOWN_LENGTH = 2**62  # libsndfile reports 2 ** 63 - 1 if the header gives no length


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """Mono sound.

    samples  (n,) float32, finite, at least one; full scale is 1
    rate_hz  samples per second
    notes    cautions about the sound's origin, such as clipping
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


class Whole:
    """Sink that keeps the whole recording."""

    def __init__(self) -> None:
        self._pieces: list[Samples] = []

    def take(self, samples: Samples) -> None:
        """See `Sink`."""
        self._pieces.append(samples)

    def end(self) -> None:
        """See `Sink`."""

    @property
    def samples(self) -> Samples:
        """All samples that were taken."""
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate([np.empty(0, np.float32), *self._pieces])]
        return self._pieces[0]


class Unheard:
    """Sink that keeps nothing."""

    def take(self, samples: Samples) -> None:
        """See `Sink`."""

    def end(self) -> None:
        """See `Sink`."""


class Resampled(Generic[S]):
    """Sink that resamples for another sink; resampling is soxr's HQ, as in librosa."""

    def __init__(self, sink: S, rate_hz: int, wanted_hz: int) -> None:
        self.sink = sink
        self._stream = None
        if rate_hz != wanted_hz:
            self._stream = soxr.ResampleStream(rate_hz, wanted_hz, 1, dtype="float32", quality="HQ")

    def take(self, samples: Samples) -> None:
        """See `Sink`."""
        self.sink.take(samples if self._stream is None else self._stream.resample_chunk(samples))

    def end(self) -> None:
        """See `Sink`."""
        if self._stream is not None:
            self.sink.take(self._stream.resample_chunk(np.empty(0, np.float32), last=True))
        self.sink.end()


@dataclass(frozen=True, slots=True)
class Reader:
    """Way to open sound files: called with a path, it returns its Signal; see `read` for its other arguments."""

    rate_hz: int = RATE_HZ
    limits: SoundLimits = STANDARD_LIMITS

    def __call__(self, path: str | Path) -> Signal:
        whole, notes = self.feed(path, Whole)
        return Signal(whole.samples, self.rate_hz, notes)

    def feed(self, path: str | Path, start: Callable[[], S]) -> tuple[S, tuple[str, ...]]:
        """Pass all samples of a file to a sink, piece by piece; return the sink, and notes on the file.

        start  makes a new sink: if one decoder fails, another starts from the beginning
        """
        resampled, notes = self._convey(Path(path), lambda rate_hz: Resampled(start(), rate_hz, self.rate_hz))
        return resampled.sink, notes

    def _convey(self, path: Path, start: Callable[[int], S]) -> tuple[S, tuple[str, ...]]:
        """Pass all samples of a file, at its own rate, to a sink made for that rate."""
        size_bytes = _check_file(path)
        heard = _heard(path, size_bytes, self.limits, start)
        problem = self.limits.problem(heard.frames, 1, heard.rate_hz, size_bytes) or _problem(heard)
        if problem:
            raise SoundError(f"{path}: {problem}")
        return heard.sink, _notes(heard)

    def check(self, path: str | Path) -> None:
        """Raise the SoundError with which a file is refused; nothing is kept of its sound."""
        self._convey(Path(path), lambda rate_hz: Unheard())


STANDARD_READER = Reader()


def read(path: str | Path, rate_hz: int = RATE_HZ, limits: SoundLimits = STANDARD_LIMITS) -> Signal:
    """The sound of a file: the mean of its channels, resampled to one rate.

    path     WAV, FLAC, Ogg (Vorbis, Opus), MP3 or AIFF by libsndfile; by PyAV (audiosim[formats]) M4A, WMA and such,
             and whatever libsndfile does not play
    rate_hz  rate of the result; resampling is soxr's HQ, as in librosa
    limits   limits on the sound in a file

    A SoundError gives the reason to refuse a file: it cannot be read or decoded, holds more than the limits allow,
    holds samples that are NaN or infinite, lasts under 1 s, is cut off before 90 % of its stated length, or is so
    damaged that less than 25 % can be decoded. Decoding continues after damage, by libsndfile in MP3 and Ogg, by PyAV
    in all formats. Files are accepted with a note if they are truncated or damaged, with the remaining
    share if it is known; clipped; quiet; silent or constant (see `Signal.silent`).
    """
    return Reader(rate_hz, limits)(path)


def load_libraries() -> None:
    """Load the libraries that read WAV and resample, so that the first file does not pay for it."""
    soundfile.available_formats()
    soxr.resample(np.zeros(441, np.float32), 44_100, RATE_HZ, quality="HQ")


def _check_file(path: Path) -> int:
    """Size in bytes of a file, after a check that it can be read."""
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise SoundError(f"{path}: is not a file, expected a sound file")
        path.open("rb").close()
    except OSError as error:
        # A name without a suffix may have been meant as a folder's.
        wanted = "a sound file" if path.suffix else "a sound file or a folder that exists"
        raise SoundError(f"{path}: cannot be read ({error.strerror}), expected {wanted}") from None
    if not status.st_size:
        raise SoundError(f"{path}: is empty, expected a sound file")
    return status.st_size


def _heard(path: Path, size_bytes: int, limits: SoundLimits, start: Callable[[int], S]) -> Conveyed[S]:
    """Everything that libsndfile can decode of a file; or PyAV, if it decodes more, or is faster."""

    def check(frames: int, channels: int, rate_hz: int) -> None:
        problem = limits.problem(frames, channels, rate_hz, size_bytes)
        if problem:
            raise SoundError(f"{path}: {problem}")

    def by_pyav(known: bool) -> Conveyed[S] | str:
        return more_formats.decode_other(path, check, start, known) if more_formats.installed() else ""

    if _is_other_content(path):
        raise SoundError(f"{path}: cannot be decoded (it is text, a table or a database), expected {FORMATS}")
    try:
        with soundfile.SoundFile(path) as file:
            if file.format == "RAW":  # libsndfile reads any file named .au as a telephone call
                raise SoundError(f"{path}: cannot be decoded (it has no header), expected {FORMATS}")
            check(0 if file.frames >= UNKNOWN_LENGTH else file.frames, file.channels, file.samplerate)
            known = completeness(path, file.format)
            whole = known.present == 1 and not known.doubt
            if file.subtype == CHEAPER_ELSEWHERE and whole and isinstance(found := by_pyav(False), Conveyed):
                return found
            heard = _by_libsndfile(file, start, lambda frames: check(frames, file.channels, file.samplerate))
            heard = replace(heard, known=_completeness(known, file, heard))
    except (soundfile.LibsndfileError, TypeError) as error:  # TypeError: a name that ends in .raw
        other = by_pyav(False)
        # FFmpeg finds frames of sound in noise: a file that libsndfile should know must be worth describing.
        if isinstance(other, Conveyed) and not (path.name.lower().endswith(SUFFIXES) and _problem(other)):
            return other
        raise SoundError(f"{path}: cannot be decoded ({_reason(error)}), expected {FORMATS}{_remedy(path)}") from None
    guessed = known.doubt if file.format in MPEG else ""
    if heard.gave_up or heard.known.present < 1 or guessed or _problem(heard):
        other = by_pyav(True)
        if isinstance(other, Conveyed) and _better(other := _with_known(other, known, heard.frames), heard):
            return other
    return heard


def _with_known(other: Conveyed[S], container: Completeness, frames: int) -> Conveyed[S]:
    """Sound of PyAV with what the container says of its completeness, as PyAV goes by a WAV's size.

    frames  number of them that libsndfile decodes
    """
    known = other.known
    if container.scattered or container.present < known.present:
        present = min(known.present, container.present)
        known = replace(known, present=present, scattered=container.scattered, harm=container.harm)
    doubt = known.doubt or container.doubt or ("" if frames else NO_LENGTH)
    return replace(other, known=replace(known, doubt=doubt))


def _better(other: Conveyed[S], heard: Conveyed[S]) -> bool:
    """True if PyAV's sound is to be preferred to that of libsndfile, which stopped early or gives too little.

    libsndfile stops at the first damaged frame of a FLAC and at a hole in an MP3, reads an MP3 that does not give its
    length up to a length that it guesses, rejects some intact Opus files as malformed, such as those written by ffmpeg
    (libsndfile issue 888), and finds nothing in a WAV whose recorder died before it wrote the length.
    """
    if _problem(other) or _problem(heard):
        return not _problem(other)
    return other.frames / other.rate_hz > (1 + SLACK) * heard.frames / heard.rate_hz


def _is_other_content(path: Path) -> bool:
    """True for text, databases, archives and tables: decoders may still find sound in them, such as one kept there."""
    with path.open("rb") as file:
        start = file.read(HEAD_BYTES)
    if start.startswith(OTHERS):
        return True
    try:
        words = getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return all(letter.isprintable() or letter.isspace() for letter in words)


def _reason(error: Exception) -> str:
    """Reason why libsndfile does not open a file; libsndfile itself gives none for noise named .mp3."""
    reason = str(getattr(error, "error_string", "it has no header")).strip(" .")
    return "its content is no known sound format" if "does not exist" in reason else reason


def _remedy(path: Path) -> str:
    """Advice on reading a file with a suffix of one of the other formats."""
    if not path.name.lower().endswith(more_formats.SUFFIXES):
        return ""
    if more_formats.installed():
        return ", or an undamaged file of another format"
    return f"; audiosim[formats] reads {path.suffix.lower()} files: pip install 'audiosim[formats]'"


def _by_libsndfile(file: "SoundFile", start: Callable[[int], S], check: Callable[[int], None]) -> Conveyed[S]:
    """Everything that the decoder returns; `check` gets the number of frames and may stop the decoder."""
    whole = file.subtype == "PCM_16" and file.format in {"WAV", "WAVEX", "AIFF"}
    unit = 2.0**-15 if whole else 1.0  # whole numbers are read as such: libsndfile would take ten times as long
    buffer = np.empty((min(BLOCK, max(1024, file.frames)), file.channels), np.int16 if whole else np.float32)
    gathering, gave_up = Gathering(start(file.samplerate), file.samplerate, check, unit), False
    while not gave_up:
        block, gave_up = _block(file, buffer)
        if not len(block):
            break
        gathering.add(block)
    return gathering.result(gave_up)


def _block(file: "SoundFile", buffer: Block) -> tuple[Block, bool]:
    """The next frames, none at the end, and True if the decoder gave up."""
    if buffer.dtype == np.float32:
        buffer[:, 0].fill(np.nan)
    try:
        return file.read(out=buffer), False
    except soundfile.LibsndfileError:  # the buffer has the samples decoded before it gave up
        return buffer[np.isfinite(buffer[:, 0])] if buffer.dtype == np.float32 else buffer[:0], True


def _completeness(known: Completeness, file: "SoundFile", heard: Conveyed[S]) -> Completeness:
    """Completeness by the container and by the decoder's output."""
    if file.frames >= UNKNOWN_LENGTH:
        return replace(known, doubt=known.doubt or NO_LENGTH)
    present = min(1.0, heard.frames / file.frames) if file.frames else 1.0
    if file.format in MPEG and not heard.gave_up and present > 1 - SLACK:
        present = 1.0
    return replace(known, present=min(known.present, present))


def _problem(heard: Conveyed[S]) -> str:
    """Reason why a description of the recording would mislead; empty if it would not."""
    seconds, known = heard.frames / heard.rate_hz, heard.known
    if not np.isfinite(heard.peak):
        return "holds samples that are NaN or infinite, expected finite ones"
    if heard.peak > LOUDEST:
        return f"holds samples {heard.peak:.3g} times full scale, expected at most {LOUDEST:.0e}"
    enough = ENOUGH_SCATTERED if known.scattered else ENOUGH
    if known.present < enough:
        share = f"{100 * known.present:.0f} % of the sound that its header promises can be decoded"
        return f"{known.harm}: only {share}, expected at least {100 * enough:.0f} %"
    if seconds < SHORTEST_S:
        return f"lasts {seconds:.2f} s, expected at least {SHORTEST_S:.0f} s"
    return ""


def _notes(heard: Conveyed[S]) -> tuple[str, ...]:
    notes, known = [], heard.known
    peak = max(heard.highest, -heard.lowest)
    if known.present < 1:
        notes.append(f"{known.harm}: {100 * known.present:.1f} % of the promised sound was decoded")
    if known.doubt:
        notes.append(f"may be truncated: {known.doubt}")
    if heard.at_full_scale >= CLIPPED:
        notes.append(f"clipped: {100 * heard.at_full_scale:.1f} % of samples at full scale")
    if heard.peak >= QUIET and peak < SILENT:
        notes.append("silent: its channels are of opposite phase and cancel each other in their mean")
    elif heard.lowest == heard.highest:
        notes.append(f"silent: every sample is {heard.lowest:.4g} in the mean of the channels")
    elif peak < QUIET:
        notes.append(f"quiet: its peak is at {20 * np.log10(peak):.0f} dB of full scale")
    return tuple(notes)
