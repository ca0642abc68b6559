"""What comparing recordings costs, up to a million of them, beside the machine's own matrix product; what it is worth.

    python benchmarks/neighbours.py [--pairs 7000] [--recordings 1000000] [--runs 5] [--sounds FOLDER]
        [--shards 8] [--only NAME]

NAME is pairs, jensen-shannon, million, shards or worth; shards, of RECORDINGS in all, only where it is named. The large
index lies in a temporary folder, which takes 3 GB for a million recordings and is deleted afterwards. Its Gaussians
are random: what is measured depends on their number. FOLDER has sound files and a documents.tsv with genres. Times are
by the clock, the median over runs; rates that are compared are measured in turn.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.stats import bootstrap, skew

from audiosim.audio.index import AudioIndex, extract
from audiosim.audio.index_store import Appender, Recording
from audiosim.audio.parameters import PLAIN
from audiosim.audio.shards import search_shards
from audiosim.corpus.formats import read_documents
from audiosim.stats import jensen_shannon
from audiosim.stats.gaussian import Gaussian, from_rows, to_rows
from audiosim.stats.kullback_leibler import kullback_leibler_divergence, pack

ROOT = Path(__file__).parents[1]
SOUNDS = ROOT.parent / "shared" / "data" / "sounds"
D = PLAIN.dimension
FLOPS = 2 * (D * (D + 1) + 2 * D + 2)  # of a pair: two inner products
BLOCK = 20_000


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median time of a call."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def random_rows(n: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussians whose spectra fall by coefficient as those of music do, some near to each other and most not."""
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
    """One large product in single precision, into memory that is there: what the machine can do."""
    matrix = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    out = np.empty_like(matrix)
    return lambda: np.matmul(matrix, matrix, out=out)


def ratio(work: Callable[[], object], operations: float, product: Callable[[], object]) -> tuple[float, float, float]:
    """Seconds of a work, and the share it reaches of the rate of the product: by the clock, and of the processors."""
    taken, whole = both_times(work), both_times(product)
    share = [operations * other / mine / (2 * 4096**3) for mine, other in zip(taken, whole, strict=True)]
    return taken[0], share[0], share[1]


def both_times(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of all processors."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def all_pairs(n: int, runs: int) -> Iterator[str]:
    """Rate, memory and errors of all pairs of n."""
    rows, product = random_rows(n, np.random.default_rng(1)), large_product()
    packed = pack(rows, D)
    product()
    measured = [
        ratio(lambda: kullback_leibler_divergence(packed), FLOPS * n * (n + 1) / 2, product) for _ in range(runs)
    ]
    times, shares, processor = (np.array(part) for part in zip(*measured, strict=True))
    packing, double = (
        seconds(work, 1)
        for work in (lambda: pack(rows, D), lambda: kullback_leibler_divergence(packed, precision="double"))
    )
    yield f"all pairs of {n}: {np.median(times):.3f} s (limit 0.6)"
    yield f"  packing them {packing:.3f} s, all pairs in double precision {double:.3f} s"
    yield f"  of the machine's own rate: {np.median(shares):.2f} (limit 0.80), best {max(shares):.2f}"
    yield f"  the same in processor time: {np.median(processor):.2f}, best {max(processor):.2f}"
    some = np.random.default_rng(2).integers(0, n, (2, 200))
    means, covariances = from_rows(rows, D)
    expected = [brute(means, covariances, i, j) for i, j in some.T]
    found = kullback_leibler_divergence(packed)[some[0], some[1]]
    apart = some[0] != some[1]
    error = np.max(np.abs(found[apart] / np.array(expected)[apart] - 1))
    yield f"  largest relative error of 200 pairs, by the definition in double precision: {error:.1e}"


def brute(means: np.ndarray, covariances: np.ndarray, i: int, j: int) -> float:
    """The divergence of a pair from its definition."""
    p, q, shift = np.linalg.inv(covariances[i]), np.linalg.inv(covariances[j]), means[i] - means[j]
    traces = np.sum(p * covariances[j]) + np.sum(q * covariances[i])
    return float((traces + shift @ (p + q) @ shift) / 2 - D)


def js_rate(n: int, runs: int) -> Iterator[str]:
    """Pairs per second of the Jensen-Shannon divergence."""
    rows = random_rows(n, np.random.default_rng(3))
    taken = seconds(lambda: jensen_shannon.jensen_shannon_divergence(rows, None, D), runs)
    yield f"Jensen-Shannon, all pairs of {n}: {taken:.2f} s, {n * (n - 1) / 2 / taken / 1e6:.2f} million pairs/s"


def million(n: int, runs: int) -> Iterator[str]:
    """What an index of n recordings costs."""
    folder = Path(tempfile.mkdtemp(prefix="audiosim-"))
    try:
        yield from large(folder / "sounds.index", n, runs)
    finally:
        shutil.rmtree(folder)


def large(folder: Path, n: int, runs: int) -> Iterator[str]:
    """Make, open, append to and search an index."""
    rng = np.random.default_rng(4)
    start = time.perf_counter()
    with Appender(folder, PLAIN) as index:
        for block in range(0, n, BLOCK):
            rows = random_rows(min(BLOCK, n - block), rng)
            names = range(block, block + len(rows))
            index.extend(
                [Recording(f"{i // 1000}/{i}", f"music/{i // 1000}/{i}.flac", i, i, 30.0, 1292) for i in names], rows
            )
    yield f"an index of {n} recordings: made in {time.perf_counter() - start:.1f} s, {size(folder)}"
    yield f"  opened in {1000 * seconds(lambda: len(AudioIndex.load(folder)), 5):.1f} ms (limit 50)"
    yield f"  its identifiers read in {seconds(lambda: AudioIndex.load(folder).ids, 1):.2f} s"
    start = time.perf_counter()
    with Appender(folder, PLAIN) as index:
        yield f"  opened to append to in {time.perf_counter() - start:.2f} s"
        each = seconds(lambda: index.append(Recording("new", size_bytes=time.perf_counter_ns()), rows[0]), 100)
    yield f"  a recording appended in {1e6 * each:.0f} us"
    index = AudioIndex.load(folder)
    ids = index.ids
    start = time.perf_counter()
    index.neighbours(ids[:1], 10, divergence="kl", proximity=False)
    yield f"  packed once, which all later searches read, in {time.perf_counter() - start:.1f} s, {size(folder)}"
    yield from searches(index, ids, runs)


def in_shards(n: int, count: int, runs: int) -> Iterator[str]:
    """What a search of shards costs, one after the other and on a cluster of two processes on this machine."""
    from distributed import LocalCluster

    folder, rng = Path(tempfile.mkdtemp(prefix="audiosim-")), np.random.default_rng(6)
    shards = [folder / f"{number}.index" for number in range(count)]
    try:
        for number, shard in enumerate(shards):
            with Appender(shard, PLAIN) as index:
                for start in range(0, n // count, BLOCK):
                    rows = random_rows(min(BLOCK, n // count - start), rng)
                    index.extend([Recording(f"{number}/{start + i}") for i in range(len(rows))], rows)
        clip = AudioIndex.of({"clip": Gaussian(np.zeros(D), 400 * np.eye(D))}, PLAIN)
        start = time.process_time()
        search_shards(shards, clip, 10)
        yield f"{n} recordings in {count} shards: packed once in {time.process_time() - start:.1f} s of processor time"
        alone = both_times(lambda: search_shards(shards, clip, 10))
        yield f"  top 10 of one new clip: {alone[0]:.2f} s, {alone[1]:.2f} s of processor time"
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            together = lambda: search_shards(shards, clip, 10, scheduler=cluster.scheduler_address)  # noqa: E731
            together()
            taken = seconds(together, runs)
        yield f"  on two processes of a cluster: {taken:.2f} s, {alone[0] / taken:.2f} times as fast by the clock"
        yield f"  ten million would take {alone[1] * 1e7 / n:.1f} s of processor time"
    finally:
        shutil.rmtree(folder)


def searches(index: AudioIndex, ids: tuple[str, ...], runs: int) -> Iterator[str]:
    """What finding neighbours costs in an open index."""
    for name, options in (
        ("Kullback-Leibler", {"divergence": "kl", "proximity": False}),
        ("Jensen-Shannon", {"divergence": "js", "proximity": False}),
        ("Jensen-Shannon, mutual proximity", {"divergence": "js", "proximity": True}),
    ):
        one = seconds(lambda options=options: index.neighbours([ids[17]], 10, **options), runs)
        yield f"  top 10 of one query, {name}: {one:.3f} s (limit 0.3)"
    clip = AudioIndex.of({"clip": Gaussian(np.zeros(D), 400 * np.eye(D))}, PLAIN)
    yield f"  top 10 of one new clip, by all: {seconds(lambda: index.neighbours_of(clip, 10), runs):.3f} s"
    many = ids[:: max(1, len(ids) // 1000)][:1000]
    taken, share, processor = ratio(
        lambda: index.neighbours(many, 5, divergence="kl", proximity=False),
        FLOPS * len(many) * len(ids),
        large_product(),
    )
    yield f"  top 5 of {len(many)} queries, Kullback-Leibler: {taken:.2f} s"
    yield f"    of the machine's own rate: {share:.2f}, in processor time {processor:.2f}"


def size(folder: Path) -> str:
    """How large the files of a folder are."""
    return f"{sum(path.stat().st_size for path in folder.iterdir()) / 1e9:.2f} GB"


def worth(folder: Path) -> Iterator[str]:
    """Same-genre precision and hubness of each way to find neighbours, with bootstrap intervals over queries."""
    index = extract(folder / "documents.tsv", n_jobs=-1)
    genre = {name: document.genre for name, document in read_documents(folder / "documents.tsv").items()}
    genres = np.array([genre[name] for name in index.ids])
    chance = np.mean([np.mean(np.delete(genres, i) == genres[i]) for i in range(len(genres))])
    yield f"{len(index)} clips of {len(set(genres))} genres; share of the nearest of the query's own, 95 % over queries"
    yield f"{'':28}{'at 1':>22}{'at 5':>22}{'at 10':>22}{'hubness':>9}"
    drawn = [
        np.random.default_rng(i).permutation(np.delete(np.arange(len(genres)), i))[:10] for i in range(len(genres))
    ]
    hubness = skew(np.bincount(np.concatenate(drawn), minlength=len(genres)))
    yield f"{'chance':28}" + f"{chance:22.3f}" * 3 + f"{hubness:9.2f}"
    for name, kind in (("Kullback-Leibler", "kl"), ("Jensen-Shannon", "js")):
        for proximity in (False, True):
            label = name + (", mutual" if proximity else "")
            yield f"{label:28}" + quality(
                index, genre, index.neighbours(None, 10, divergence=kind, proximity=proximity)
            )


def quality(index: AudioIndex, genre: dict[str, str | None], near: dict) -> str:
    """Precision at 1, 5 and 10, and the skewness of how often a recording is among ten."""
    hits = np.array([[genre[query] == genre[other.identifier] for other in found] for query, found in near.items()])
    columns = []
    for k in (1, 5, 10):
        precision = hits[:, :k].mean(axis=1)
        interval = bootstrap(
            (precision,), np.mean, method="percentile", rng=np.random.default_rng(5)
        ).confidence_interval
        columns.append(f"{precision.mean():.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    named = [other.identifier for found in near.values() for other in found]
    occurrence = [named.count(identifier) for identifier in index.ids]
    return "".join(f"{column:>22}" for column in columns) + f"{skew(occurrence):9.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7000)
    parser.add_argument("--recordings", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sounds", type=Path, default=SOUNDS)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--only", choices=["pairs", "jensen-shannon", "million", "shards", "worth"])
    options = parser.parse_args()
    parts = {
        "pairs": lambda: all_pairs(options.pairs, options.runs),
        "jensen-shannon": lambda: js_rate(2000, 1),
        "million": lambda: million(options.recordings, options.runs),
        "shards": lambda: in_shards(options.recordings, options.shards, options.runs),
        "worth": lambda: worth(options.sounds),
    }
    for name, part in parts.items():
        wanted = options.only in {None, name} and (name != "shards" or options.only)
        if wanted and (name != "worth" or options.sounds.is_dir()):
            for line in part():
                print(line, flush=True)


if __name__ == "__main__":
    main()
