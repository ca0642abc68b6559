"""What describing sound costs, stage by stage, beside librosa and essentia; and what a second worker brings.

    python benchmarks/sound.py [FOLDER] [--clips 6] [--runs 5] [--repeats 100]

FOLDER has sound files. The clips are written anew in each format, at 22,050 Hz mono and at 44.1 kHz stereo.
Times are of the processor, in ms per clip, on one thread, medians over runs and clips; the programs take
turns, so that a busy machine hurts them alike. `all` is the standard description, with spectral contrast and band
descriptors, `mfcc` the plain one; --transform says by whose Fourier transform. What workers cost is the processor
time of all their processes. The limits are ours.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import lazy_loader
import numpy as np
import soundfile
import soxr
from threadpoolctl import threadpool_limits

from audiosim.audio import decode, spectra
from audiosim.audio.frames import frames
from audiosim.audio.index import extract
from audiosim.audio.parameters import PLAIN, STANDARD_FRAMES, Parameters
from audiosim.audio.sources import find_sounds
from audiosim.stats import gaussian

librosa = lazy_loader.load("librosa")
ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT.parent / "shared" / "data" / "sounds", ROOT / "fixtures"]
FORMATS = {f"{rate_hz}.{end}": rate_hz for rate_hz in (22_050, 44_100) for end in ("wav", "flac", "mp3", "ogg")}

WHOLE_MS, LIBROSA, ESSENTIA, BARE, MORE_MS, START_MS = 9.0, 2.5, 5.0, 1.25, 8.0, 150.0

Times = dict[str, float]
Describe = Callable[[Path], object]


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e6


def ours(path: Path, parameters: Parameters = STANDARD_FRAMES) -> object:
    return gaussian.fit_gaussian(frames(decode.read(path), parameters).values)


def by_librosa(path: Path) -> object:
    samples, rate_hz = librosa.load(path, sr=22_050)
    return mean_and_covariance(librosa.feature.mfcc(y=samples, sr=rate_hz, n_mfcc=20))


def essentias() -> Describe | None:
    """Essentia put together to do the same; None where it is not installed."""
    try:
        import essentia
    except ImportError:
        return None
    essentia.log.infoActive = essentia.log.warningActive = False
    from essentia.standard import MFCC, FrameGenerator, MonoLoader, Spectrum, Windowing

    taper, spectrum = Windowing(type="hann"), Spectrum()
    bands = MFCC(inputSize=1025, sampleRate=22_050, highFrequencyBound=11_025, numberBands=128, numberCoefficients=20)

    def describe(path: Path) -> object:
        samples = MonoLoader(filename=str(path), sampleRate=22_050)()
        frames = FrameGenerator(samples, frameSize=2048, hopSize=512)
        return mean_and_covariance(np.array([bands(spectrum(taper(frame)))[1] for frame in frames]).T)

    return describe


def mean_and_covariance(frames: np.ndarray) -> object:
    return frames.mean(axis=1), np.cov(frames)


def stages(path: Path) -> Times:
    """Our stages on one file, each by itself, and the bare decode."""
    rate_hz = soundfile.info(path).samplerate
    signal = decode.read(path)
    found = frames(signal).values
    decoded = milliseconds(lambda: decode.read(path, rate_hz))
    return {
        "bare": milliseconds(lambda: soundfile.read(path, dtype="float32")),
        "decode": decoded,
        "resample": milliseconds(lambda: decode.read(path)) - decoded if rate_hz != signal.rate_hz else 0.0,
        "frames": milliseconds(lambda: frames(signal)),
        "gaussian": milliseconds(lambda: gaussian.fit_gaussian(found)),
    }


def written(sounds: list[Path], folder: Path) -> dict[str, list[Path]]:
    """Each clip in each format; the second channel is the first a little later and softer."""
    files: dict[str, list[Path]] = {name: [] for name in FORMATS}
    for number, sound in enumerate(sounds):
        samples = decode.read(sound).samples
        double = soxr.resample(samples, 22_050, 44_100)
        stereo = np.stack([double, 0.9 * np.roll(double, 40)], axis=1)
        for name, rate_hz in FORMATS.items():
            path = folder / f"{number}.{name}"
            soundfile.write(path, samples if rate_hz == 22_050 else stereo, rate_hz)
            files[name].append(path)
    return files


def measured(paths: list[Path], runs: int, others: Mapping[str, Describe]) -> Times:
    """The medians, over files and runs, of our stages, of our whole, and of others."""
    whole = {"all": ours, "mfcc": partial(ours, parameters=PLAIN), **others}
    for one in whole.values():  # the first call loads and builds
        one(paths[0])
    seen = [
        stages(path) | {name: milliseconds(partial(one, path)) for name, one in whole.items()}
        for _ in range(runs)
        for path in paths
    ]
    return {name: float(np.median([row[name] for row in seen])) for name in seen[0]}


def table(files: Mapping[str, list[Path]], runs: int, others: Mapping[str, Describe]) -> Iterator[str]:
    columns = ["bare", "decode", "resample", "frames", "gaussian", "all", "mfcc", *others]
    yield f"{'ms per clip':12}" + "".join(f"{name:>10}" for name in columns) + f"{'clips/s':>10}"
    judged = []
    for name, paths in files.items():
        found = measured(paths, runs, others)
        yield f"{name:12}" + "".join(f"{found[column]:10.2f}" for column in columns) + f"{1000 / found['all']:10.0f}"
        judged += list(verdicts(name, found))
    yield from ("", *judged)


def verdicts(name: str, found: Times) -> Iterator[str]:
    """What was found beside the limits."""
    if name == "22050.wav":
        yield verdict(name, "all, ms", found["all"], found["all"] <= WHOLE_MS, f"at most {WHOLE_MS}")
        for other, least in (("librosa", LIBROSA), ("essentia", ESSENTIA)):
            if other in found:
                ratio = found[other] / found["all"]
                yield verdict(name, f"times {other}", ratio, ratio >= least, f"at least {least}")
    else:
        most = BARE * found["bare"] + MORE_MS
        yield verdict(
            name, "all, ms", found["all"], found["all"] <= most, f"at most {BARE} bare + {MORE_MS}: {most:.2f}"
        )


def verdict(name: str, what: str, value: float, holds: bool, limit: str) -> str:
    return f"{name:12}{what:26}{value:8.2f}   {'holds ' if holds else 'MISSED'}   {limit}"


def workers(paths: list[Path], repeats: int) -> Iterator[str]:
    """What clips cost in workers, all processes counted, and what a worker costs to start."""
    sounds = {f"{path.stem}-{turn}": path for turn in range(repeats) for path in paths}
    few = dict(list(sounds.items())[: len(sounds) // 4])
    for jobs in (1, 2):
        start = of_children()
        extract(few, jobs)
        middle = of_children()
        extract(sounds, jobs)
        end = of_children()
        each = 1000 * ((end - middle) - (middle - start)) / (len(sounds) - len(few))
        yield f"{len(sounds)} clips, n_jobs={jobs}: {each:.2f} ms a clip once they run, {end - middle:.2f} s from cold"
    one, nine = (spent(lambda jobs=jobs: extract(dict(list(sounds.items())[:9]), jobs)) for jobs in (1, 9))
    more = 1000 * (nine - one) / 8
    yield verdict("22050.wav", "a further worker, ms", more, more <= START_MS, f"at most {START_MS}")


def spent(work: Callable[[], object]) -> float:
    """Processor time of the processes that a call starts, in seconds; the least of three."""
    times = []
    for _ in range(3):
        start = of_children()
        work()
        times.append(of_children() - start)
    return min(times)


def of_children() -> float:
    """Processor time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=next((f for f in FOLDERS if f.is_dir()), None))
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--transform", choices=["fastest", "scipy", "opencv"], default="fastest")
    options = parser.parse_args()
    if options.transform != "fastest":
        chosen = {"scipy": spectra.by_scipy, "opencv": spectra.by_opencv}[options.transform]
        spectra.fastest = lambda: chosen
    sounds = list(find_sounds(options.folder).values())
    essentia = essentias()
    others = {"librosa": by_librosa} | ({"essentia": essentia} if essentia else {})
    if essentia is None:
        print("essentia: not installed")
    with TemporaryDirectory() as folder:
        files = written(sounds[:: max(1, len(sounds) // options.clips)][: options.clips], Path(folder))
        with threadpool_limits(1):
            print(*table(files, options.runs, others), sep="\n")
        for line in workers(files["22050.wav"], options.repeats):
            print(line)


if __name__ == "__main__":
    main()
