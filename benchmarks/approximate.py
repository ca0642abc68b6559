"""Approximate search, compared with exact search: time, size, and recall.

    python benchmarks/approximate.py [--recordings 100000 1000000] [--queries 20] [--sounds FOLDER]

The Gaussians come from real sound: moment-matched mixtures of three pieces of 3 s, drawn from the clips of FOLDER. They
are closer together than recordings are, so the ten nearest are harder to find. The index is in a temporary folder (2 GB
for a million). The time for 10,000,000 is extrapolated from the two largest sizes, along a line. Times are processor
time unless marked `clock`.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from figures import Figures
from neighbours import SOUNDS, both_times

from audiosim.sound import decode
from audiosim.sound.approximate import CANDIDATES, LISTS, NUMBERS, ApproximateSearch
from audiosim.sound.descriptions import Searched, descriptions_of, neighbours_by
from audiosim.sound.frames import frames
from audiosim.sound.gaussians import to_rows
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import STANDARD_FRAMES
from audiosim.sound.store import Appender, Recording

BLOCK, PIECES, MIXED = 5000, 10, 3


def pieces(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances of pieces of the clips in a folder."""
    found = []
    for path in sorted(folder.glob("*.ogg")):
        found += [part for part in np.array_split(frames(decode.read(path)).values, PIECES) if part.std(axis=0).all()]
    return np.array([part.mean(axis=0) for part in found]), np.array([np.cov(part.T) for part in found])


def fill(folder: Path, n: int, means: np.ndarray, covariances: np.ndarray) -> None:
    """An index of n mixtures."""
    rng = np.random.default_rng(1)
    with Appender(folder, STANDARD_FRAMES) as index:
        for start in range(0, n, BLOCK):
            count = min(BLOCK, n - start)
            shares, chosen = rng.dirichlet([0.6] * MIXED, count), rng.integers(0, len(means), (count, MIXED))
            middle = np.einsum("nk,nkd->nd", shares, means[chosen])
            away = means[chosen] - middle[:, None]
            whole = np.einsum("nk,nkij->nij", shares, covariances[chosen])
            whole += np.einsum("nk,nki,nkj->nij", shares, away, away)
            index.extend([Recording(f"r{start + i}") for i in range(count)], to_rows(middle, whole))


def measure(n: int, queries: int, folder: Path, figures: Figures) -> float:
    """Add the figures of a size; return the time that its lists took."""
    searched = Searched.load([folder])
    ids, kinds = searched.ids, descriptions_of(searched)
    made = both_times(lambda: ApproximateSearch(searched))[1]
    opened = both_times(lambda: ApproximateSearch(Searched.load([folder])))[1]
    search = ApproximateSearch(searched)
    asked = [ids[place] for place in range(7, n, n // queries)][:queries]
    near = {}
    times = [both_times(partial(one, near, searched, kinds, name, search)) for name in asked]
    clock, taken = np.median(times, axis=0)
    exact = AudioIndex.load(folder)
    first = both_times(lambda: exact.neighbours(asked[:1], 10))
    each = [both_times(partial(exact.neighbours, [name], 10)) for name in asked]
    true = exact.neighbours(asked, 10)
    shared = [len({one.identifier for one in near[name]} & {one.identifier for one in true[name]}) for name in asked]
    size = (folder / LISTS).stat().st_size
    figures.add(f"{n:,}: lists made once", made, "s", note=f"{size / n:.0f} bytes a recording")
    figures.add(f"{n:,}: lists opened", 1000 * opened, "ms")
    figures.add(
        f"{n:,}: ten nearest of one, approximately", 1000 * taken, "ms", note=f"{1000 * clock:.0f} ms by the clock"
    )
    whole = np.median(each, axis=0)
    figures.add(
        f"{n:,}: ten nearest of one, exactly", 1000 * whole[1], "ms", note=f"{1000 * whole[0]:.0f} ms by the clock"
    )
    figures.add(f"{n:,}: packed for that once", first[1], "s", note=f"{both(folder) / n:.0f} bytes a recording")
    note = f"of {NUMBERS} numbers a recording, {CANDIDATES} candidates"
    figures.add(f"{n:,}: recall of the ten nearest by divergence", search.recall, "", note=note)
    figures.add(f"{n:,}: results that both searches share", np.mean(shared) / 10, "", note="with mutual proximity")
    return made


def one(near: dict, searched: Searched, kinds: tuple, name: str, search: ApproximateSearch) -> None:
    near.update(neighbours_by(searched, kinds, [name], 10, shortlists=search))


def both(folder: Path) -> int:
    return (folder / "packed.f32").stat().st_size if (folder / "packed.f32").exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--sounds", type=Path, default=SOUNDS)
    options = parser.parse_args()
    means, covariances = pieces(options.sounds)
    found = {}
    with Figures("approximate") as figures:
        for n in options.recordings:
            with tempfile.TemporaryDirectory(prefix="audiosim-") as scratch:
                fill(Path(scratch) / "sounds.index", n, means, covariances)
                found[n] = measure(n, options.queries, Path(scratch) / "sounds.index", figures)
        if len(found) > 1:
            low, high = sorted(found)[-2:]
            slope = (found[high] - found[low]) / (high - low)
            figures.add("10,000,000, reckoned: lists made once", found[high] + slope * (1e7 - high), "s")


if __name__ == "__main__":
    main()
