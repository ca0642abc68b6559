"""Decoders compared, format by format; files with flipped bytes; an hour of sound in one process.

    python benchmarks/formats.py [FOLDER] [--clips 6] [--runs 5] [--flipped 20] [--only NAME]

FOLDER has sound files; the ffmpeg command writes the clips in each format. NAME is decoders, damage or hour. Times are
processor time, including child processes, in ms per clip of 30 s, medians over runs and clips; decoders take turns.
Damage: bytes at random places after the first kilobyte are replaced. Prints how many of the files are described, the
share of their sound that was decoded, and the divergence from the whole clip beside that of the nearest other clip. The
hour is stereo FLAC at 44.1 kHz, described in a separate process.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from figures import Figures, run_parts
from neighbours import SOUNDS

from audiosim.errors import SoundError
from audiosim.sound import by_ffmpeg
from audiosim.sound import formats as more_formats
from audiosim.sound.decode import Whole, read
from audiosim.sound.describe import Described, describe_file
from audiosim.sound.gaussians import from_triangles, to_rows
from audiosim.sound.jensen_shannon import jensen_shannon_divergence
from audiosim.sound.parameters import STANDARD_FRAMES
from audiosim.sound.store import Recording

CODERS = {
    "wav": [], "flac": [], "aiff": [], "mp3": ["-b:a", "128k"], "ogg": ["-c:a", "libvorbis", "-q:a", "5"],
    "opus": ["-c:a", "libopus", "-b:a", "96k"], "m4a": ["-c:a", "aac", "-b:a", "128k"], "wma": ["-b:a", "128k"],
    "webm": ["-c:a", "libopus", "-b:a", "96k"], "wv": [],
}  # fmt: skip
HEAD = 1024  # bytes of a file that stay unchanged
HOUR_MB = 150
DESCRIBE = """
import resource, sys
from audiosim.sound.describe import Described, describe_file
from audiosim.sound.store import Recording
from audiosim.sound.parameters import STANDARD_FRAMES
found = describe_file(Recording("x", sys.argv[1]), STANDARD_FRAMES)
assert isinstance(found, Described), found
usage = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss, which begins with that of the process that started this one.
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(found.recording.seconds, int(most.split()[1]) / 1024, usage.ru_utime + usage.ru_stime)
"""


def write(clip: Path, path: Path, rate_hz: int = 44_100) -> bool:
    """Write a clip in the format of a path's ending; False if ffmpeg lacks the coder."""
    command = ["ffmpeg", "-loglevel", "error", "-y", "-i", clip, "-ac", "2", "-ar", str(rate_hz)]
    if path.suffix in (".opus", ".webm"):
        command[-1] = "48000"
    return subprocess.run([*command, *CODERS[path.suffix[1:]], path], check=False).returncode == 0


def processor_ms(work) -> float:
    """Processor time of a call, including that of child processes."""
    start = _used()
    work()
    return 1e3 * (_used() - start)


def _used() -> float:
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in every)


def whole_by(decode, path: Path) -> None:
    found = decode(path, lambda *_: None, lambda rate_hz: Whole(), True)
    if isinstance(found, str):
        raise SoundError(found)
    _ = found.sink.samples


def by_libsndfile(path: Path) -> None:
    import soundfile

    soundfile.read(path, dtype="float32")


def decoders(clips: list[Path], folder: Path, runs: int) -> None:
    """Times of each decoder for each format."""
    ways = {
        "libsndfile": by_libsndfile,
        "PyAV": partial(whole_by, more_formats.decode_other),
        "ffmpeg": partial(whole_by, by_ffmpeg.decode_by_ffmpeg),
        "audiosim, resampled": read,
    }
    rows = []
    for end in CODERS:
        paths = [folder / f"{clip.stem}.{end}" for clip in clips]
        if not all(write(clip, path) for clip, path in zip(clips, paths, strict=True)):
            continue
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(runs):
            for path in paths:
                for name, way in ways.items():
                    try:
                        times[name].append(processor_ms(partial(way, path)))
                    except Exception:  # the decoder does not read this format
                        times[name].append(np.nan)
        middle = {name: float(np.median(found)) for name, found in times.items()}
        rows.append([end, *(None if np.isnan(value) else value for value in middle.values())])
    with Figures("formats", "decoders") as figures:
        figures.table("ms of processor time for a clip, stereo at 44.1 kHz", ["", *ways], rows)


def row_of(path: Path) -> tuple[np.ndarray, Described] | None:
    found = describe_file(Recording("x", str(path)), STANDARD_FRAMES)
    if not isinstance(found, Described):
        return None
    d = STANDARD_FRAMES.dimension
    row = found.row[None]
    return to_rows(row[:, :d], from_triangles(row[:, d:], d)), found


def damage(clips: list[Path], folder: Path, flipped: int) -> None:
    """Results for files with some replaced bytes."""
    rng, d, rows = np.random.default_rng(0), STANDARD_FRAMES.dimension, []
    for end in CODERS:
        paths = [folder / f"{clip.stem}.{end}" for clip in clips]
        if not all(write(clip, path, 22_050) for clip, path in zip(clips, paths, strict=True)):
            continue
        whole = np.concatenate([row_of(path)[0] for path in paths])
        near = jensen_shannon_divergence(whole, None, d)
        np.fill_diagonal(near, np.inf)
        shares, moved = [], []
        for place, path in enumerate(paths):
            content = bytearray(path.read_bytes())
            for at in rng.integers(min(HEAD, len(content) // 2), len(content), flipped):
                content[at] = rng.integers(256)
            path.write_bytes(bytes(content))
            if (found := row_of(path)) is not None:
                notes = [note for note in found[1].recording.note.split("; ") if "was decoded" in note]
                shares.append(float(notes[0].split(": ")[1].split(" %")[0]) if notes else 100.0)
                moved.append(float(jensen_shannon_divergence(found[0], whole[place : place + 1], d)[0, 0]))
        share = f"{np.median(shares):.1f} % ({min(shares):.1f} %)" if shares else ""
        middle = [float(np.median(one)) if len(one) else None for one in (moved, near.min(axis=1))]
        rows.append([end, f"{len(shares)} of {len(paths)}", share, *middle])
    with Figures("formats", "damage") as figures:
        heads = ["", "described", "decoded (least)", "divergence from the whole clip", "of the nearest other clip"]
        figures.table(f"{flipped} bytes replaced at random places", heads, rows)


def hour(clips: list[Path], folder: Path) -> None:
    """Memory and time of an hour of sound."""
    every, path = folder / "clips.txt", folder / "hour.flac"
    lines = [f"file '{clip.resolve()}'\n" for clip in clips]
    every.write_text("".join((lines * 120)[:120]))
    command = ["ffmpeg", "-loglevel", "error", "-f", "concat", "-safe", "0", "-i", every, "-ac", "2", "-ar", "44100"]
    subprocess.run([*command, path], check=True)
    with Figures("formats", "hour") as figures:
        for name, sound in (("a clip of 30 s", clips[0]), ("an hour", path)):
            done = subprocess.run([sys.executable, "-c", DESCRIBE, sound], capture_output=True, text=True, check=True)
            seconds, megabytes, taken = map(float, done.stdout.split())
            limit = HOUR_MB if sound == path else None
            figures.add(f"{name}: most memory of its process", megabytes, "MB", limit, f"{seconds:.0f} s of sound")
            figures.add(f"{name}: processor time of its process", taken, "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=SOUNDS)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--flipped", type=int, default=20)
    parser.add_argument("--only")
    options = parser.parse_args()
    every = sorted(options.folder.glob("*.ogg"))
    clips = every[:: max(1, len(every) // options.clips)][: options.clips]
    with tempfile.TemporaryDirectory() as made:
        parts = {
            "decoders": partial(decoders, clips, Path(made), options.runs),
            "damage": partial(damage, clips, Path(made), options.flipped),
            "hour": partial(hour, every, Path(made)),
        }
        run_parts(parts, options.only)


if __name__ == "__main__":
    main()
