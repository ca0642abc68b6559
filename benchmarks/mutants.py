"""Outcomes of damaged sound files: seeded mutants of real clips in six formats, each described in a worker.

    python benchmarks/mutants.py [FOLDER] [--mutants 2052] [--seed 0] [--jobs 2]

FOLDER has sound files. The exit code is 1 if the run fails, a row is not finite and positive
definite, or a file takes longer than its limit.
"""

import argparse
import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import soundfile

from audiosim.sound.describe import Described, Failure, describe_all, listed
from audiosim.sound.gaussians import from_triangles
from audiosim.sound.parameters import STANDARD_FRAMES

ROOT = Path(__file__).parents[1]
SECONDS = 4
FORMATS = {
    "wav": ("WAV", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "aiff": ("AIFF", "PCM_16"),
}
OUTCOMES = ("described", "with note", "failed", "crashed", "hung", "bad row")
HARMLESS = OUTCOMES[:4]  # a crash of the decoder loses only its file
HEADER = 256

Mutate = Callable[[bytes, bytes, np.random.Generator], bytes]


def flip_bits(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Flip 1 to 64 bits anywhere."""
    return _flipped(data, len(data), int(rng.integers(1, 65)), rng)


def flip_header(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Flip 1 to 16 bits of the first 256 bytes."""
    return _flipped(data, HEADER, int(rng.integers(1, 17)), rng)


def _flipped(data: bytes, end: int, count: int, rng: np.random.Generator) -> bytes:
    bits = np.frombuffer(data, np.uint8).copy()
    for _ in range(count):
        bits[rng.integers(min(end, len(bits)))] ^= 1 << int(rng.integers(8))
    return bits.tobytes()


def set_extremes(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Set four bytes of the header to something huge, or to nothing."""
    start, extreme = int(rng.integers(HEADER - 4)), (b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff")
    return data[:start] + extreme[rng.integers(4)] + data[start + 4 :]


def cut_end(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Cut off the end, like an interrupted transfer."""
    return data[: int(len(data) * rng.uniform())]


def cut_start(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Cut off the beginning."""
    return data[int(len(data) * rng.uniform(0, 0.5)) :]


def splice(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Put the header of another file, usually of another format, in front."""
    length = int(2 ** rng.uniform(3, 13))
    return other[:length] + data[length:]


def zero_range(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Replace up to half of the file by zeros, like a failing disk or a partial download."""
    start, end = sorted(int(len(data) * share) for share in rng.uniform(0, 1, 2))
    end = min(end, start + len(data) // 2)
    return data[:start] + bytes(end - start) + data[end:]


def swap_blocks(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Swap two blocks of up to 4 kB."""
    size = int(2 ** rng.uniform(4, 12))
    first, second = sorted(int(place) for place in rng.integers(0, len(data) - 2 * size, 2))
    second += size
    one, two = data[first : first + size], data[second : second + size]
    return data[:first] + two + data[first + size : second] + one + data[second + size :]


def insert_noise(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Insert up to 4 kB of random bytes."""
    place = int(rng.integers(len(data)))
    return data[:place] + rng.bytes(int(2 ** rng.uniform(0, 12))) + data[place:]


KINDS: dict[str, Mutate] = {
    mutate.__name__.replace("_", " "): mutate
    for mutate in (
        flip_bits, flip_header, set_extremes, cut_end, cut_start, splice, zero_range, swap_blocks, insert_noise,
    )
}  # fmt: skip


def encoded(clips: list[Path]) -> dict[str, list[bytes]]:
    """Some seconds of each clip, in each format."""
    return {suffix: [_encoded(clip, *of) for clip in clips] for suffix, of in FORMATS.items()}


def _encoded(clip: Path, container: str, subtype: str) -> bytes:
    with soundfile.SoundFile(clip) as file:
        rate_hz = file.samplerate
        samples = file.read(SECONDS * rate_hz)
    if subtype == "OPUS":
        rate_hz = 24_000  # the format has few rates; a change of pitch does not matter here
    held = io.BytesIO()
    soundfile.write(held, samples, rate_hz, format=container, subtype=subtype)
    return held.getvalue()


def mutants(originals: dict[str, list[bytes]], count: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """Format, kind and content of each mutant: all formats and kinds equally often, up to one."""
    rng = np.random.default_rng(seed)
    pairs = [(suffix, kind) for kind in KINDS for suffix in FORMATS]
    everything = [data for files in originals.values() for data in files]
    for number in range(count):
        suffix, kind = pairs[number % len(pairs)]
        data = originals[suffix][rng.integers(len(originals[suffix]))]
        yield suffix, kind, KINDS[kind](data, everything[rng.integers(len(everything))], rng)


def write_mutants(folder: Path, originals: dict[str, list[bytes]], count: int, seed: int) -> dict[str, Path]:
    """Files of mutants, by number, format and kind."""
    paths = {}
    for number, (suffix, kind, data) in enumerate(mutants(originals, count, seed)):
        name = f"{number:05} {suffix} {kind}"
        paths[name] = folder / f"{name}.{suffix}"
        paths[name].write_bytes(data)
    return paths


def judge(outcome: Described | Failure) -> str:
    """Name of an outcome."""
    if isinstance(outcome, Failure):
        if "took more than" in outcome.error or "\n" in outcome.error:
            return "hung"
        return "crashed" if "crashed (" in outcome.error else "failed"
    d = STANDARD_FRAMES.dimension
    if not np.isfinite(outcome.row).all() or np.linalg.eigvalsh(from_triangles(outcome.row[None, d:-1], d))[0, 0] <= 0:
        return "bad row"
    return "with note" if outcome.recording.note else "described"


def table(seen: Counter[tuple[str, str]]) -> Iterator[str]:
    """One line per format or kind, one column per outcome."""
    yield "".join([f"{'':16}", *(f"{outcome:>11}" for outcome in OUTCOMES)])
    for name in dict.fromkeys(name for name, _ in seen):
        yield "".join([f"{name:16}", *(f"{seen[name, outcome]:11}" for outcome in OUTCOMES)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "fixtures")
    parser.add_argument("--mutants", type=int, default=2052)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    clips = sorted(path for path in options.folder.rglob("*") if path.suffix in {".ogg", ".wav", ".flac"})
    originals = encoded(clips[:: max(1, len(clips) // 12)])
    seen: Counter[tuple[str, str]] = Counter()
    slowest, last = 0.0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_mutants(Path(folder), originals, options.mutants, options.seed)
        for name, outcome in zip(paths, describe_all(listed(paths), STANDARD_FRAMES, n_jobs=options.jobs), strict=True):
            _, suffix, kind = name.split(" ", 2)
            seen[suffix, judge(outcome)] += 1
            seen[kind, judge(outcome)] += 1
            seen["all", judge(outcome)] += 1
            slowest, last = max(slowest, time.monotonic() - last), time.monotonic()
    names = dict.fromkeys(name for name, _ in sorted(seen, key=_order))
    from figures import Figures  # imported here: modules elsewhere that import this script do not find it

    with Figures("mutants") as figures:
        rows = [(name, *(seen[name, outcome] for outcome in OUTCOMES)) for name in names]
        figures.table(f"outcomes of {options.mutants:,} damaged files", ["", *OUTCOMES], rows)
        figures.add("longest wait for an outcome", slowest, "s")
    sys.exit(any(count for (_, outcome), count in seen.items() if outcome not in HARMLESS))


def _order(key: tuple[str, str]) -> int:
    return [*FORMATS, *KINDS, "all"].index(key[0])


if __name__ == "__main__":
    main()
