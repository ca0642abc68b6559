"""Worth of the closeness of recordings to predictions: grades of documents predicted with and without it.

    python benchmarks/alike.py [FOLDER] [--pool 40] [--seed 0]

FOLDER has sound files and a documents.tsv with genres. Every recording is a query for POOL others drawn at random; a
document is relevant if it has the query's genre. The sizes of the effects (query, sound, rest) are the most likely
ones for the queries of half of the genres, and the expectation of a pair from its qSIM is fitted to them; both are used
on the other half, and vice versa. Prints the root mean squared error on unjudged pairs, with 0, 10 and 20 % of a query
judged, less that without sound.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from figures import Figures
from scipy.optimize import minimize

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_documents
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, Run
from audiosim.ordinal.sound import closeness, query_proximity
from audiosim.sound import jensen_shannon
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.proximity import nearest_correlation

SOUNDS = Path(__file__).parents[2] / "shared" / "data" / "sounds"
SHARES = (0.0, 0.1, 0.2)
Kernels = list[np.ndarray]


def bandwidth(divergences: np.ndarray) -> np.ndarray:
    """Closeness by the divergence to the seventh nearest: exp(-D / sqrt(h_i h_j))."""
    near = np.sort(divergences, axis=1)[:, 7]
    return nearest_correlation(np.exp(-divergences / np.sqrt(np.outer(near, near))))


class Setting:
    """Queries, the true relevance of their documents, and the available kernels."""

    def __init__(self, folder: Path, pool_size: int, seed: int, index_folder: Path) -> None:
        extract(folder / "documents.tsv", n_jobs=2, into=index_folder)
        index = AudioIndex.load(index_folder)
        genre = {name: one.genre for name, one in read_documents(folder / "documents.tsv").items()}
        rng = np.random.default_rng(seed)
        drawn = {
            name: tuple(map(str, rng.permutation([one for one in index.ids if one != name])[:pool_size]))
            for name in index.ids
        }
        pool = build_pool(Collection("alike", "alike", BINARY, pool_size, (Run("all", drawn),), sounds=index_folder))
        self.blocks = [np.flatnonzero(pool.query == code) for code in range(len(pool.queries))]
        self.truth = np.array([float(genre[query] == genre[document]) for query, document in pool.pairs])
        self.near = query_proximity(pool)
        plain = {name: place for place, name in enumerate(index.ids)}
        divergences = jensen_shannon.jensen_shannon_divergence(np.asarray(index.rows), None, index.parameters.dimension)
        alike = [closeness(pool, rows) for rows in self.blocks]
        places = [[plain[pool.pairs[row].document] for row in rows] for rows in self.blocks]
        self.kernels: dict[str, Kernels] = {
            "mutual proximity ^ 8": [nearest_correlation(block) for block in alike],
            "mutual proximity": [nearest_correlation(block ** (1 / 8)) for block in alike],
            "divergence by bandwidth": [bandwidth(divergences[np.ix_(rows, rows)]) for rows in places],
            "exp(-divergence)": [nearest_correlation(np.exp(-divergences[np.ix_(rows, rows)])) for rows in places],
        }
        half = set(rng.permutation(sorted({str(genre[query]) for query in pool.queries}))[::2])
        first = [code for code, query in enumerate(pool.queries) if genre[query] in half]
        self.halves = first, [code for code in range(len(pool.queries)) if code not in first]


def expected(setting: Setting, seen: list[int], by_sound: bool) -> Callable[[int], np.ndarray]:
    """Expectation of the pairs of a query: a polynomial in qSIM, or the share of relevant ones."""

    def powers(code: int) -> np.ndarray:
        near = setting.near[setting.blocks[code]]
        return np.stack([near**power for power in ((0, 1, 4, 16) if by_sound else (0,))], axis=1)

    truth = np.concatenate([setting.truth[setting.blocks[code]] for code in seen])
    weights = np.linalg.lstsq(np.concatenate([powers(code) for code in seen]), truth, rcond=None)[0]
    return lambda code: powers(code) @ weights


def errors(setting: Setting, kernel: str | None, by_sound: bool) -> tuple[np.ndarray, np.ndarray]:
    """(3,) the errors at each share, and (3,) the sizes, as shares of the variance."""
    squares: list[list[float]] = [[] for _ in SHARES]
    sizes = []
    for seen, asked in (setting.halves, setting.halves[::-1]):
        mean = expected(setting, seen, by_sound)

        def covariance(code: int, size: np.ndarray) -> np.ndarray:
            n = len(setting.blocks[code])
            sound = 0.0 if kernel is None else size[1] * setting.kernels[kernel][code]
            return size[0] + sound + (size[2] + 1e-9) * np.eye(n)

        def deviance(logarithms: np.ndarray, seen: list[int] = seen, mean: Callable = mean) -> float:
            total = 0.0
            for code in seen:
                root = np.linalg.cholesky(covariance(code, np.exp(logarithms)))
                divergences = np.linalg.solve(root, setting.truth[setting.blocks[code]] - mean(code))
                total += divergences @ divergences / 2 + np.log(np.diag(root)).sum()
            return float(total)

        size = np.exp(minimize(deviance, np.log([0.02, 0.05, 0.05]), method="Nelder-Mead", options={"maxfev": 120}).x)
        sizes.append(size / size.sum())
        rng = np.random.default_rng(1)
        for place, share in enumerate(SHARES):
            for code in asked:
                truth, guess, whole = setting.truth[setting.blocks[code]], mean(code), covariance(code, size)
                order = rng.permutation(len(truth))
                judged, left = np.split(order, [round(share * len(truth))])
                solved = np.linalg.solve(whole[np.ix_(judged, judged)], truth[judged] - guess[judged])
                squares[place] += ((guess[left] + whole[np.ix_(left, judged)] @ solved - truth[left]) ** 2).tolist()
    return np.sqrt([np.mean(part) for part in squares]), np.mean(sizes, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SOUNDS)
    parser.add_argument("--pool", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        setting = Setting(options.folder, options.pool, options.seed, Path(folder) / "sounds.index")
    plain, _ = errors(setting, None, by_sound=False)
    rows: list[list[str | float]] = [["no sound: the error itself", *plain, ""]]
    for by_sound in (False, True):
        for kernel in (None, *setting.kernels):
            if by_sound or kernel:
                found, size = errors(setting, kernel, by_sound)
                shares = "{:.2f}, {:.2f}, {:.2f}".format(*size)
                rows.append(
                    [f"{'qSIM' if by_sound else 'no qSIM'}, {kernel or 'no closeness'}", *(found - plain), shares]
                )
    with Figures("alike") as figures:
        columns = ["", *(f"{share:.0%} judged" for share in SHARES), "sizes of query, sound, rest"]
        figures.table(f"change of the error by sound, {len(setting.truth)} pairs", columns, rows)


if __name__ == "__main__":
    main()
