"""Cost of describing sound, stage by stage, compared with librosa, musly and essentia; and of workers.

    python benchmarks/sound.py [FOLDER] [--clips 6] [--runs 5] [--repeats 100]

FOLDER has sound files. The clips are written in each format, at 22,050 Hz mono and at 44.1 kHz stereo. Times are
processor time, in ms per clip, on one thread, medians over runs and clips; the programs take turns, so that other load
affects them equally. `all` is the standard description, with spectral contrast and band descriptors, `mfcc` the plain
one; `spectra` is its part that makes mel powers and extremes of octaves. Musly (pymusly) and essentia are measured if
they are installed; musly receives the samples, and is compared with audiosim from samples as well. The cost of workers
is the processor time of all their processes. The limits are our own.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import lazy_loader
import numpy as np
import soundfile
import soxr
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.sound import decode, describe
from audiosim.sound.frames import frame_transform, frames
from audiosim.sound.index import extract
from audiosim.sound.parameters import PLAIN, STANDARD_FRAMES, Parameters
from audiosim.sound.sources import find_sounds
from audiosim.sound.spectrum import spectrum

librosa = lazy_loader.load("librosa")
ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT.parent / "shared" / "data" / "sounds", ROOT / "fixtures"]
FORMATS = {f"{rate_hz}.{end}": rate_hz for rate_hz in (22_050, 44_100) for end in ("wav", "flac", "mp3", "ogg")}

LIBROSA, COMPRESSED, BARE, MORE_MS, START_MS = 1.7, 1.4, 1.25, 10.0, 150.0

Times = dict[str, float]
Describe = Callable[[Path], object]


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e6


def ours(path: Path, parameters: Parameters = STANDARD_FRAMES) -> object:
    return describe.summarise([frames(decode.read(path), parameters).values])


def by_librosa(path: Path) -> object:
    samples, rate_hz = librosa.load(path, sr=22_050)
    return mean_and_covariance(librosa.feature.mfcc(y=samples, sr=rate_hz, n_mfcc=20))


def others() -> dict[str, Describe]:
    """The other programs that are installed."""
    found: dict[str, Describe] = {"librosa": by_librosa}
    for name, make in (("musly", musly), ("essentia", essentia)):
        try:
            found[name] = make()
        except ImportError:
            print(f"{name}: not installed")
    return found


def musly() -> Describe:
    """Musly's method "timbre"; the time to convert an array to its list is not counted."""
    import pymusly

    jukebox = pymusly.MuslyJukebox(method="timbre", decoder="none")
    lists: dict[Path, list[float]] = {}

    def describe(path: Path) -> object:
        if path not in lists:
            lists[path] = decode.read(path).samples.tolist()
        return jukebox.track_from_audiodata(lists[path])

    return describe


def essentia() -> Describe:
    """Essentia, set up to do the same."""
    import essentia

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
    """Our stages on one file, each separately, and decoding alone."""
    rate_hz = soundfile.info(path).samplerate
    signal = decode.read(path)
    found = frames(signal).values
    decoded = milliseconds(lambda: decode.read(path, rate_hz))
    resampled = milliseconds(lambda: decode.read(path)) - decoded if rate_hz != signal.rate_hz else 0.0
    return {
        "bare": milliseconds(lambda: soundfile.read(path, dtype="float32")),
        "decode": decoded,
        "resample": resampled,
        "spectra": milliseconds(lambda: spectrum(signal.samples, frame_transform(STANDARD_FRAMES))),
        "frames": milliseconds(lambda: frames(signal)),
        "gaussian": milliseconds(lambda: describe.summarise([found])),
        "of samples": milliseconds(lambda: describe.summarise([frames(signal).values])),
    }


def written(sounds: list[Path], folder: Path) -> dict[str, list[Path]]:
    """Each clip in each format; the second channel is a delayed, softer copy of the first."""
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


def measured(paths: list[Path], runs: int, peers: Mapping[str, Describe]) -> Times:
    """The medians, over files and runs, of our stages, of our whole description, and of other programs."""
    whole = {"all": ours, "mfcc": partial(ours, parameters=PLAIN), **peers}
    for one in whole.values():  # the first call loads and compiles
        one(paths[0])
    for path in paths:
        for one in peers.values():
            one(path)
    seen = [
        stages(path) | {name: milliseconds(partial(one, path)) for name, one in whole.items()}
        for _ in range(runs)
        for path in paths
    ]
    return {name: float(np.median([row[name] for row in seen])) for name in seen[0]}


def describing(files: Mapping[str, list[Path]], runs: int, figures: Figures) -> None:
    """Add the table of all formats, and the figures with limits."""
    peers = others()
    found = {name: measured(paths, runs, peers) for name, paths in files.items()}
    columns = list(found["22050.wav"])
    rows = [[name, *(round(times[column], 2) for column in columns)] for name, times in found.items()]
    figures.table("ms of processor time per clip of 30 s", ["", *columns], rows)
    for name, times in found.items():
        if name != "22050.wav":
            most = round(BARE * times["bare"] + MORE_MS, 2)
            figures.add(
                f"{name}: description", times["all"], limit=most, note=f"{BARE} times bare decoding + {MORE_MS:g}"
            )
            times_as_fast = times["librosa"] / times["all"]
            figures.add(f"{name}: times as fast as librosa's MFCC", times_as_fast, "", COMPRESSED, least=True)
    plain = found["22050.wav"]
    figures.add("22050.wav: description", plain["all"])
    figures.add("of it decoding and the spectra alone", plain["decode"] + plain["spectra"])
    for peer, least in (("librosa", LIBROSA), ("musly", None), ("essentia", None)):
        if peer in plain:
            figures.add(f"times as fast as {peer}", plain[peer] / plain["all"], "", least, least=True)
    if "musly" in plain:
        times = plain["musly"] / plain["of samples"]
        figures.add("times as fast as musly, both handed samples", times, "")


def workers(paths: list[Path], repeats: int, figures: Figures) -> None:
    """Cost of clips in workers, all processes counted, and of starting a worker."""
    sounds = {f"{path.stem}-{turn}": path for turn in range(repeats) for path in paths}
    few = dict(list(sounds.items())[: len(sounds) // 4])
    for jobs in (1, 2):
        start = of_children()
        extract(few, jobs)
        middle = of_children()
        extract(sounds, jobs)
        end = of_children()
        each = 1000 * ((end - middle) - (middle - start)) / (len(sounds) - len(few))
        figures.add(f"a clip in {jobs} worker{'s' if jobs > 1 else ''}, once they run", each)
    one, nine = (spent(lambda jobs=jobs: extract(dict(list(sounds.items())[:9]), jobs)) for jobs in (1, 9))
    figures.add("starting a worker", 1000 * (nine - one) / 8, limit=START_MS)


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
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # workers load compiled modules, as in an installation
    sounds = list(find_sounds(options.folder).values())
    with TemporaryDirectory() as folder, Figures("sound") as figures:
        files = written(sounds[:: max(1, len(sounds) // options.clips)][: options.clips], Path(folder))
        with threadpool_limits(1):
            describing(files, options.runs, figures)
        workers(files["22050.wav"], options.repeats, figures)


if __name__ == "__main__":
    main()
