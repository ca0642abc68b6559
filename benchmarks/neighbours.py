"""Cost of comparing recordings, up to millions, beside the machine's matrix product and musly; and its worth.

    python benchmarks/neighbours.py [--pairs 7000] [--recordings 1000000] [--runs 5] [--sounds FOLDER]
        [--shards 8] [--only NAME]

NAME is pairs, jensen-shannon, million, shards, worth or limited; shards, of RECORDINGS in all, only if named. The large
index is in a temporary folder, which takes 3 GB for a million recordings and is deleted afterwards. Its Gaussians are
random, because the costs depend only on their number. FOLDER has sound files and a documents.tsv with genres. Times are
medians over runs, in processor time unless marked `clock`; rates to be compared are measured in turn. Each part is kept
separately.
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
import soxr
from figures import Figures
from scipy.stats import bootstrap, skew
from threadpoolctl import threadpool_limits

from audiosim.collection.kinds import read_documents
from audiosim.collection.values import Document
from audiosim.sound import decode, jensen_shannon
from audiosim.sound.descriptions import ByGaussians, Searched
from audiosim.sound.gaussians import Gaussian, from_rows, to_rows
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.kullback_leibler import Packed, kullback_leibler_divergence, pack
from audiosim.sound.parameters import PLAIN, STANDARD_FRAMES
from audiosim.sound.search import neighbours_by
from audiosim.sound.store import Appender, Recording
from audiosim.sound.tags import read_tags
from audiosim.workers import Workers

ROOT = Path(__file__).parents[1]
SOUNDS = ROOT.parent / "shared" / "data" / "sounds"
D = PLAIN.dimension
FLOPS = 2 * (D * (D + 1) + 2 * D + 2)  # operations for a pair: two inner products
BLOCK = 20_000
TILE = 640
MUSLY_PAIRS = 400_000


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time of a call."""
    return float(np.median([processor(work) for _ in range(runs)]))


def random_rows(n: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussians with spectra that fall by coefficient as in music, some near to each other and most not."""
    centres = to_rows(*gaussians(min(n, 2000), rng))
    rows = np.tile(centres, (-(-n // len(centres)), 1))[:n]
    size = np.exp(0.3 * rng.standard_normal(n)).astype(np.float32)
    rows[:, :D] += (0.5 * np.sqrt(size)[:, None] * rng.standard_normal((n, D))).astype(np.float32)
    rows[:, D:-1] *= size[:, None]
    rows[:, -1] += D * np.log(size)
    return rows


def gaussians(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means, and covariances of 80 frames each."""
    deviations = 60 / np.arange(1, D + 1) ** 0.8
    frames = rng.standard_normal((n, D, 80)) * (deviations[:, None] * np.exp(0.3 * rng.standard_normal((n, D, 1))))
    return deviations * rng.standard_normal((n, D)), frames @ np.swapaxes(frames, 1, 2) / 80


def large_product(size: int = 4096) -> Callable[[], object]:
    """One large product in single precision into existing memory: the machine's peak rate."""
    matrix = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    out = np.empty_like(matrix)
    return lambda: np.matmul(matrix, matrix, out=out)


def both_times(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and processor time of all threads."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def all_pairs(n: int, runs: int, figures: Figures) -> None:
    """Time and errors of all pairs of n, on one thread and on two, and their bounds."""
    rows, product = random_rows(n, np.random.default_rng(1)), large_product()
    packed = pack(rows, D)
    operations = FLOPS * n * (n + 1) / 2
    for threads in (1, 2):
        with threadpool_limits(threads):
            product()
            measured = [
                (*both_times(lambda: kullback_leibler_divergence(packed)), *both_times(product)) for _ in range(runs)
            ]
        clock, taken, _, whole = np.median(measured, axis=0)
        on = f"{threads} thread{'s' if threads > 1 else ''}"
        figures.add(f"all pairs of {n:,}, {on}", taken, "s", note=f"{clock:.2f} s by the clock")
        at_rate = operations / (2 * 4096**3) * whole
        what = f"the same at the rate of one large product, {on}"
        figures.add(what, at_rate, "s", note=f"{at_rate / taken:.2f} of ours")
    with threadpool_limits(1):
        figures.add("products of the tiles alone, 1 thread", seconds(lambda: products(packed), runs), "s")
        fresh = seconds(lambda: np.empty((n, n), np.float32).fill(0), runs)
        figures.add(
            "writing as many numbers once, 1 thread", fresh, "s", note="half of ours are written transposed too"
        )
        figures.add("packing", seconds(lambda: pack(rows, D), 1), "s")
        double = seconds(lambda: kullback_leibler_divergence(packed, precision="double"), 1)
        figures.add("all pairs in double precision, 1 thread", double, "s")
        wide = pack(wider(rows[: n // 2]), 31)
        half = [
            seconds(lambda one=one: kullback_leibler_divergence(one), runs) for one in (pack(rows[: n // 2], D), wide)
        ]
        figures.add("31 dimensions, times 20", half[1] / half[0], "", 2.5, note=f"all pairs of {n // 2:,}")
    some = np.random.default_rng(2).integers(0, n, (2, 200))
    means, covariances = from_rows(rows, D)
    expected = [brute(means, covariances, i, j) for i, j in some.T]
    found = kullback_leibler_divergence(packed)[some[0], some[1]]
    different = some[0] != some[1]
    error = np.max(np.abs(found[different] / np.array(expected)[different] - 1))
    figures.add("largest relative error of 200 pairs", error, "", 1e-4, note="by the definition in double precision")


def products(packed: Packed) -> None:
    """Only the matrix products of all tiles."""
    sides, w = packed.sides, packed.sides.shape[1] - 2
    out = np.empty((TILE, TILE), np.float32)
    for left in range(0, len(sides), TILE):
        across = np.ascontiguousarray(sides[left : left + TILE, :w].T)
        for top in range(0, left, TILE):
            np.matmul(sides[top : top + TILE, :w], across, out=out[:, : across.shape[1]])


def wider(rows: np.ndarray) -> np.ndarray:
    """The same Gaussians with eleven more dimensions, each slightly correlated with the one before."""
    means, covariances = from_rows(rows, D)
    mix = np.eye(31, D) + 0.3 * np.eye(31, D, -1) + 0.5 * np.eye(31, D, -11)
    rng = np.random.default_rng(7)
    noise = np.exp(rng.standard_normal((len(rows), 31, 1))) * np.eye(31)
    return to_rows(means @ mix.T, mix @ covariances @ mix.T + noise)


def brute(means: np.ndarray, covariances: np.ndarray, i: int, j: int) -> float:
    """The divergence of a pair from its definition."""
    p, q, shift = np.linalg.inv(covariances[i]), np.linalg.inv(covariances[j]), means[i] - means[j]
    traces = np.sum(p * covariances[j]) + np.sum(q * covariances[i])
    return float((traces + shift @ (p + q) @ shift) / 2 - D)


def js_rate(n: int, runs: int, figures: Figures) -> None:
    """Pairs per second of the Jensen-Shannon divergence, on one thread, in turn with musly's."""
    rows, theirs = random_rows(n, np.random.default_rng(3)), musly_pairs()
    wide = wider(rows[: n // 2])
    with threadpool_limits(1):
        jensen_shannon.jensen_shannon_divergence(rows[:100], None, D, many=True)  # compiles the loops
        taken = [
            [processor(work) for work in (partial(js, rows, D), partial(js, wide, 31), theirs or (lambda: None))]
            for _ in range(runs)
        ]
    ours, wide_s, musly_s = np.median(taken, axis=0)
    rate = n * (n - 1) / 2 / ours / 1e6
    figures.add(f"Jensen-Shannon, all pairs of {n:,}", rate, "million pairs/s")
    if theirs is not None:
        figures.add("times as fast as musly", rate * musly_s * 1e6 / MUSLY_PAIRS, "", 1.5, least=True)
    else:
        print("musly: not installed")
    wide_rate = (n // 2) * (n // 2 - 1) / 2 / wide_s / 1e6
    figures.add("31 dimensions, times 20", rate / wide_rate, "", 2.5, note="the arithmetic is 3.5 times as much")


def js(rows: np.ndarray, dimension: int) -> object:
    return jensen_shannon.jensen_shannon_divergence(rows, None, dimension)


def processor(work: Callable[[], object]) -> float:
    return both_times(work)[1]


def musly_pairs() -> Callable[[], object] | None:
    """Musly's similarity, method "timbre", of MUSLY_PAIRS pairs; None if pymusly is not installed."""
    try:
        import pymusly
    except ImportError:
        return None
    jukebox, rng = pymusly.MuslyJukebox(method="timbre", decoder="none"), np.random.default_rng(0)
    noises = [np.cumsum(rng.standard_normal(22_050 * 10)) for _ in range(8)]
    tracks = [jukebox.track_from_audiodata((noise / np.abs(noise).max()).tolist()) for noise in noises]
    jukebox.set_style(tracks)
    many = [tracks[i % len(tracks)] for i in range(4000)]
    pairs = list(zip(jukebox.add_tracks(many), many, strict=True))
    return lambda: [jukebox.compute_similarity(seed, pairs) for seed in pairs[: MUSLY_PAIRS // len(pairs)]]


def million(n: int, runs: int, figures: Figures) -> None:
    """Cost of an index of n recordings."""
    folder = Path(tempfile.mkdtemp(prefix="audiosim-"))
    try:
        large(folder / "sounds.index", n, runs, figures)
    finally:
        shutil.rmtree(folder)


def large(folder: Path, n: int, runs: int, figures: Figures) -> None:
    """Make, open, append to and search an index."""
    rng = np.random.default_rng(4)
    made = both_times(lambda: fill(folder, "", n, rng))
    figures.add(f"an index of {n:,} made", made[1], "s", note=size(folder))
    figures.add("opened", 1000 * seconds(lambda: len(AudioIndex.load(folder)), 5), limit=300)
    figures.add("its identifiers read", seconds(lambda: AudioIndex.load(folder).ids, 1), "s")
    row = random_rows(1, rng)[0]
    with Appender(folder, PLAIN) as index:
        each = seconds(lambda: index.append(Recording("new", size_bytes=time.perf_counter_ns()), row), 100)
    figures.add("a recording appended", 1000 * each)
    index = AudioIndex.load(folder)
    ids = index.ids
    packing = processor(lambda: index.neighbours(ids[:1], 10, divergence="kl", proximity=False))
    figures.add("packed once, which all later searches read", packing, "s", note=size(folder))
    again = AudioIndex.load(folder)
    first = processor(lambda: again.neighbours(ids[:1], 10))
    figures.add("first search of a process, with all checksums of the packed copy", first, "s")
    searches(index, ids, runs, figures)


def fill(folder: Path, prefix: str, n: int, rng: np.random.Generator) -> None:
    """An index of n random recordings."""
    with Appender(folder, PLAIN) as index:
        for block in range(0, n, BLOCK):
            rows = random_rows(min(BLOCK, n - block), rng)
            names = (f"{prefix}{i // 1000}/{i}" for i in range(block, block + len(rows)))
            index.extend([Recording(name, f"music/{name}.flac", 1, 1, 30.0, 1292) for name in names], rows)


def in_shards(n: int, count: int, runs: int, figures: Figures) -> None:
    """Cost of searching shards, one after the other and on a cluster of two processes on this machine."""
    from distributed import LocalCluster

    folder, rng = Path(tempfile.mkdtemp(prefix="audiosim-")), np.random.default_rng(6)
    shards = [folder / f"{number}.index" for number in range(count)]
    try:
        for number, shard in enumerate(shards):
            fill(shard, f"{number}/", n // count, rng)
        clip = AudioIndex.of({"clip": Gaussian(np.zeros(D), 400 * np.eye(D))}, PLAIN)
        searched = Searched.load(shards)
        packing = processor(lambda: ten_nearest(searched, clip, "kl"))
        figures.add(
            f"{n:,} in {count} shards packed once", packing, "s", note=f"{sum(map(bytes_of, shards)) / 1e9:.1f} GB"
        )
        alone = np.median([both_times(lambda: ten_nearest(searched, clip, "kl")) for _ in range(runs)], axis=0)
        figures.add("ten nearest of one clip, Kullback-Leibler", alone[1], "s", note=f"{alone[0]:.2f} s by the clock")
        figures.add("the same of 10,000,000, reckoned", alone[1] * 1e7 / n, "s")
        near = np.median([both_times(lambda: ten_nearest(searched, clip, "js")) for _ in range(runs)], axis=0)
        figures.add("ten nearest, mutual proximity", near[1], "s", note=f"{near[0]:.2f} s by the clock")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            spread = replace(searched, spread=Workers(scheduler=cluster.scheduler_address).map)
            ten_nearest(spread, clip, "kl")
            taken = float(np.median([both_times(lambda: ten_nearest(spread, clip, "kl"))[0] for _ in range(runs)]))
        note = f"{alone[0] / taken:.1f} times as fast as one"
        figures.add("ten nearest on two processes of a cluster, by the clock", taken, "s", note=note)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        figures.add("most memory of this process, mapped files included", peak, "GB")
    finally:
        shutil.rmtree(folder)


def ten_nearest(searched: Searched, clip: AudioIndex, kind: str) -> object:
    asked = replace(searched, asked=clip)
    return neighbours_by(asked, [ByGaussians(asked, kind)], None, 10, proximity=kind == "js")


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def searches(index: AudioIndex, ids: tuple[str, ...], runs: int, figures: Figures) -> None:
    """Cost of finding neighbours in an open index."""
    for name, options in (
        ("Kullback-Leibler", {"divergence": "kl", "proximity": False}),
        ("Jensen-Shannon", {"divergence": "js", "proximity": False}),
        ("Jensen-Shannon, mutual proximity", {"divergence": "js", "proximity": True}),
    ):
        times = [both_times(lambda options=options: index.neighbours([ids[17]], 10, **options)) for _ in range(runs)]
        clock, taken = np.median(times, axis=0)
        figures.add(f"ten nearest, {name}", taken, "s", 0.3, f"{clock:.2f} s by the clock")
    clip = AudioIndex.of({"clip": Gaussian(np.zeros(D), 400 * np.eye(D))}, PLAIN)
    figures.add("ten nearest of a new clip, the same", seconds(lambda: index.neighbours_of(clip, 10), runs), "s")
    many = ids[:: max(1, len(ids) // 1000)][:1000]
    taken = processor(lambda: index.neighbours(many, 5, divergence="kl", proximity=False))
    figures.add(f"five nearest of {len(many):,}, Kullback-Leibler", taken, "s")


def size(folder: Path) -> str:
    """Size of the files of a folder."""
    return f"{bytes_of(folder) / 1e9:.2f} GB"


def worth(folder: Path, figures: Figures) -> None:
    """Same-genre precision and hubness of each way to find neighbours, with bootstrap intervals over queries."""
    genre = {name: document.genre for name, document in read_documents(folder / "documents.tsv").items()}
    rows: list[list[str | float]] = []
    for frames, parameters in (("", STANDARD_FRAMES), ("MFCC: ", PLAIN)):
        index = extract(folder / "documents.tsv", n_jobs=-1, parameters=parameters)
        rows = rows or [chance([genre[name] for name in index.ids])]
        for name, kind in (("Kullback-Leibler", "kl"), ("Jensen-Shannon", "js")):
            for proximity in (False, True):
                near = index.neighbours(None, len(index) - 1, divergence=kind, proximity=proximity)
                rows.append(
                    [f"{frames}{name}{', mutual proximity' if proximity else ''}", *quality(index, genre, near)]
                )
    title = f"share of the nearest of the query's own genre, {len(index)} clips of {len(set(genre.values()))} genres"
    figures.table(title, ["", "at 1", "at 5", "at 10", "MAP", "hubness"], rows)


def chance(genres: list[str | None]) -> list[str | float]:
    share = np.mean(
        [np.mean([genres[j] == genres[i] for j in range(len(genres)) if j != i]) for i in range(len(genres))]
    )
    return ["chance", *[float(share)] * 3, "", ""]


def quality(index: AudioIndex, genre: dict[str, str | None], near: dict) -> list[str | float]:
    """Precision at 1, 5 and 10, mean average precision, and the skewness of how often a recording is among ten."""
    hits = np.array([[genre[query] == genre[other.identifier] for other in found] for query, found in near.items()])
    columns: list[str | float] = []
    for k in (1, 5, 10):
        precision = hits[:, :k].mean(axis=1)
        interval = bootstrap(
            (precision,), np.mean, method="percentile", rng=np.random.default_rng(5)
        ).confidence_interval
        columns.append(f"{precision.mean():.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    reached = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    columns.append(float(np.mean((reached * hits).sum(axis=1) / np.maximum(1, hits.sum(axis=1)))))
    named = [other.identifier for found in near.values() for other in found[:10]]
    return [*columns, float(skew([named.count(identifier) for identifier in index.ids]))]


def limited(folder: Path, figures: Figures) -> None:
    """Same-genre precision at 5, only other artists (by tags), if some clips have a source of 11 kHz."""
    documents = read_documents(folder / "documents.tsv")
    whole = {name: folder / document.path for name, document in documents.items() if document.path}
    artists = {name: read_tags(path).artist for name, path in whole.items()}
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        low = {name: Path(scratch) / f"{number}.wav" for number, name in enumerate(whole)}
        for name, path in low.items():
            samples = decode.read(whole[name]).samples
            soundfile.write(path, soxr.resample(soxr.resample(samples, 22_050, 11_025), 11_025, 22_050), 22_050)
        for called, parameters in (("standard", STANDARD_FRAMES), ("mfcc", PLAIN)):
            full, dull = (extract(sounds, n_jobs=-1, parameters=parameters) for sounds in (whole, low))
            every_second = np.where((np.arange(len(full)) % 2 == 0)[:, None], full.rows, dull.rows)
            both = [(full if n % 2 == 0 else dull).recordings[n] for n in range(len(full))]
            columns = [
                precisions(AudioIndex(tuple(recordings), table, parameters), documents, artists)
                for recordings, table in (
                    (full.recordings, full.rows),
                    (both, every_second),
                    (dull.recordings, dull.rows),
                )
            ]
            rows.append([called, *(value for column in columns for value in column)])
    heads = [f"{what}: {of}" for what in ("whole band", "every second 11 kHz", "all 11 kHz") for of in ("at 5", "MAP")]
    figures.table("precision at 5 and MAP, other artists alone", ["", *heads], rows)


def precisions(
    index: AudioIndex, documents: Mapping[str, Document], artists: Mapping[str, str | None]
) -> tuple[float, float]:
    """Precision at 5, and mean average precision."""
    near = index.neighbours(None, len(index), artists)
    hits = [
        np.array([documents[query].genre == documents[one.identifier].genre for one in found])
        for query, found in near.items()
    ]
    averages = [
        float((np.cumsum(one) / np.arange(1, len(one) + 1) * one).sum() / max(1, one.sum())) for one in hits if len(one)
    ]
    return float(np.mean([one[:5].mean() for one in hits if len(one)])), float(np.mean(averages))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7000)
    parser.add_argument("--recordings", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sounds", type=Path, default=SOUNDS)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--only", choices=["pairs", "jensen-shannon", "million", "shards", "worth", "limited"])
    options = parser.parse_args()
    parts = {
        "pairs": lambda figures: all_pairs(options.pairs, options.runs, figures),
        "jensen-shannon": lambda figures: js_rate(2000, options.runs, figures),
        "million": lambda figures: million(options.recordings, options.runs, figures),
        "shards": lambda figures: in_shards(options.recordings, options.shards, options.runs, figures),
        "worth": lambda figures: worth(options.sounds, figures),
        "limited": lambda figures: limited(options.sounds, figures),
    }
    for name, part in parts.items():
        wanted = options.only in {None, name} and (name != "shards" or options.only)
        if wanted and (name not in ("worth", "limited") or options.sounds.is_dir()):
            with Figures("neighbours", name) as figures:
                part(figures)


if __name__ == "__main__":
    main()
