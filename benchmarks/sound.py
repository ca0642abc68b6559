"""What describing sound costs, stage by stage, beside librosa; what comparing costs; what the neighbours are worth.

    python benchmarks/sound.py [FOLDER] [--clips 24] [--runs 5]

FOLDER has sound files, and a documents.tsv with genres and artists where the worth is to be shown.
Times are of the processor, on one thread; the median over runs and clips.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lazy_loader
import numpy as np
import soundfile
from threadpoolctl import threadpool_limits

from audiosim.audio import decode, mfcc
from audiosim.audio.index import AudioIndex, extract
from audiosim.audio.sources import find_sounds
from audiosim.corpus.formats import read_documents
from audiosim.stats import gaussian

librosa = lazy_loader.load("librosa")  # so that workers, which import this file, do not import it too
ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT.parent / "shared" / "data" / "sounds", ROOT / "fixtures"]


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def ours(path: Path) -> dict[str, float]:
    """Our stages on one clip."""
    signal = decode.read(path)
    frames = mfcc.frames(signal)
    return {
        "decode": milliseconds(lambda: decode.read(path)),
        "frames": milliseconds(lambda: mfcc.frames(signal)),
        "gaussian": milliseconds(lambda: gaussian.fit(frames)),
    }


def librosas(path: Path) -> dict[str, float]:
    """The same stages as its manual would have them; soundfile decodes, since librosa.load calls it too."""
    samples, rate_hz = load_like_librosa(path)
    frames = librosa.feature.mfcc(y=samples, sr=rate_hz, n_mfcc=20)
    return {
        "decode": milliseconds(lambda: load_like_librosa(path)),
        "frames": milliseconds(lambda: librosa.feature.mfcc(y=samples, sr=rate_hz, n_mfcc=20)),
        "gaussian": milliseconds(lambda: (frames.mean(axis=1), np.cov(frames))),
    }


def load_like_librosa(path: Path) -> tuple[np.ndarray, int]:
    samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    mono = librosa.to_mono(samples.T)
    return librosa.resample(mono, orig_sr=rate_hz, target_sr=22_050), 22_050


def stages(paths: list[Path], runs: int) -> Iterator[str]:
    """One line per stage; the two take turns, so that a busy machine hurts both."""
    seen = [(ours(path), librosas(path)) for _ in range(runs) for path in paths]
    yield f"{'ms per clip':12}{'audiosim':>10}{'librosa':>10}"
    totals = [0.0, 0.0]
    for stage in ("decode", "frames", "gaussian"):
        medians = [float(np.median([pair[side][stage] for pair in seen])) for side in (0, 1)]
        totals = [total + median for total, median in zip(totals, medians, strict=True)]
        yield f"{stage:12}{medians[0]:10.2f}{medians[1]:10.2f}"
    yield f"{'all':12}{totals[0]:10.2f}{totals[1]:10.2f}"
    yield f"{'clips/s':12}{1000 / totals[0]:10.1f}{1000 / totals[1]:10.1f}   one core"


def whole(sounds: dict[str, Path], jobs: int) -> tuple[AudioIndex, str]:
    """The index of all, and what it took by the clock, workers started from cold."""
    start = time.perf_counter()
    index = extract(sounds, jobs)
    seconds = time.perf_counter() - start
    done = f"{len(index.ids)} clips in {seconds:.1f} s with n_jobs={jobs}: {len(index.ids) / seconds:.1f} clips/s"
    return index, f"{done}, {len(index.failed)} failed"


def comparing(n: int, runs: int) -> str:
    """All pairs of n random Gaussians."""
    rng = np.random.default_rng(0)
    frames = rng.standard_normal((n, 20, 60))
    means, covariances = 5 * rng.standard_normal((n, 20)), frames @ np.swapaxes(frames, 1, 2) / 60
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        gaussian.divergence(gaussian.pack(means, covariances))
        seconds.append(time.perf_counter() - start)
    median = float(np.median(seconds))
    return f"all pairs of {n} Gaussians in {median:.2f} s: {n * n / median / 1e6:.1f} million pairs/s"


def worth(index: AudioIndex, table: Path) -> Iterator[str]:
    """Mean share of the five nearest that are of the query's genre, beside that of five drawn at random."""
    documents = read_documents(table)
    artist = {identifier: document.artist for identifier, document in documents.items()}
    genre = {identifier: documents[identifier].genre for identifier in index.ids}
    for label, artists in (("all", {}), ("same artist left out", artist)):
        nearest = index.neighbours(None, 5, artists)
        others = index.neighbours(None, len(index.ids), artists)
        precision = np.mean([genre[near.identifier] == genre[q] for q, found in nearest.items() for near in found])
        shares = [
            np.mean([genre[near.identifier] == genre[q] for near in found]) for q, found in others.items() if found
        ]
        yield f"same-genre precision at 5, {label}: {precision:.3f} (chance {np.mean(shares):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=next((f for f in FOLDERS if f.is_dir()), None))
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    table = options.folder / "documents.tsv"
    sounds = find_sounds(table if table.is_file() else options.folder)
    step = max(1, len(sounds) // options.clips)
    with threadpool_limits(1):
        print(*stages(list(sounds.values())[::step], options.runs), sep="\n")
    index = None
    for jobs in (1, -1):
        index, line = whole(sounds, jobs)
        print(line)
    print(comparing(7000, min(3, options.runs)))
    if index is not None and table.is_file():
        print(*worth(index, table), sep="\n")


if __name__ == "__main__":
    main()
