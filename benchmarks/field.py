"""Costs of a block normal: conditioning, projecting, and the likelihood of its components.

    python benchmarks/field.py [--effects 150] [--runs 9] [--threads 1] [--large] [--only NAME]

NAME is field or likelihood. The fields are random, with about as many unknowns as the pool of MIREX 2011, and as
1,000 queries x 60 documents. --large adds the likelihood of as many values. Times are processor time, the median over
runs.
"""

import argparse
import resource
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from figures import Figures
from scipy import sparse
from threadpoolctl import threadpool_limits

from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.normal.variance_components import Bend, RestrictedLikelihood, estimate_components

STANDARD_DEVIATIONS = {"query": 0.11, "genre": 0.12, "artist": 0.07, "shared": 0.06, REST: 0.14}
SYSTEMS, CUTOFF = 20, 5


def milliseconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time of a call."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


def layout(n: int, count: int, effects: int, rng: np.random.Generator) -> Layout:
    """The values of `count` queries, with genres and artists in each, and effects shared between queries."""
    blocks = tuple(np.array_split(np.arange(n), count))

    def same(kinds: int) -> tuple[np.ndarray, ...]:
        codes = [rng.integers(0, kinds, len(rows)) for rows in blocks]
        return tuple((code[:, None] == code).astype(float) for code in codes)

    kernels = {"query": tuple(np.ones((len(rows),) * 2) for rows in blocks), "genre": same(6), "artist": same(40)}
    return Layout(blocks, kernels, {"shared": rng.random((n, effects)) * (rng.random((n, effects)) < 0.05)}, np.ones(n))


def sums(n: int, count: int, rng: np.random.Generator) -> sparse.csr_array:
    """Each system's mean over queries of its mean over ranks down to the cutoff."""
    blocks = np.array_split(np.arange(n), count)
    rows = [np.concatenate([rng.choice(rows, CUTOFF, replace=False) for rows in blocks]) for _ in range(SYSTEMS)]
    columns, ends = np.concatenate(rows), np.arange(SYSTEMS + 1) * CUTOFF * count
    return sparse.csr_array((np.full(len(columns), 1 / (CUTOFF * count)), columns, ends), shape=(SYSTEMS, n))


def size(field: BlockNormal) -> float:
    """Size of its arrays in megabytes."""
    return sum(part.nbytes for part in (field.mean, field.shared, *field.within, *field.loadings)) / 1e6


def of_field(n: int, count: int, effects: int, runs: int, figures: Figures) -> None:
    """Print the costs of a field."""
    rng = np.random.default_rng(0)
    field, weights = layout(n, count, effects, rng).normal(STANDARD_DEVIATIONS, rng.normal(size=n)), sums(n, count, rng)
    per_query = sparse.csr_array((np.ones(n), np.arange(n), starts(n, count)), shape=(count, n))
    of = f"{n:,} unknowns in {count:,} blocks, {effects} effects: "
    figures.add(f"{of}memory", size(field), "MB")
    figures.add(f"{of}variance, from the start", milliseconds(lambda: fresh(field).variance, runs))
    order, place = rng.permutation(n), iter(range(n))
    after = field

    def condition() -> None:
        nonlocal after
        after = after.condition(int(order[next(place)]), 0.5)

    for name, work in (
        ("condition, and every variance", condition),
        ("column", lambda: after.column(5)),
        (f"project on {SYSTEMS} systems", lambda: after.project(weights)),
        (f"project on {count:,} queries", lambda: after.project(per_query)),
    ):
        work()
        figures.add(f"{of}{name}", milliseconds(work, runs))
    for share in (0.1, 0.5):
        places, values = order[: int(share * n)], rng.normal(size=int(share * n))
        spent = milliseconds(lambda p=places, v=values: field.condition_all(p, v), 3)
        figures.add(f"{of}condition_all of {len(places):,}", spent)
    memory(lambda: after.condition(int(order[-1]), 0.5), of, figures)


def memory(work: Callable[[], BlockNormal], of: str, figures: Figures) -> None:
    """Print the memory of another field."""
    tracemalloc.start()
    kept = work()  # noqa: F841 - for its memory
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    figures.add(f"{of}one more judgment", peak / 1e6, "MB", note=f"{now / 1e6:.2f} MB of it kept")


def starts(n: int, count: int) -> np.ndarray:
    """Starts of the blocks, and the end of the last."""
    return np.cumsum([0, *(len(rows) for rows in np.array_split(np.arange(n), count))])


def fresh(field: BlockNormal) -> BlockNormal:
    """The same field without cached results."""
    return BlockNormal(field.mean, field.blocks, field.within, field.loadings, field.shared)


def of_likelihood(n: int, count: int, effects: int, runs: int, figures: Figures) -> None:
    """Print the costs of one evaluation, and of a whole fit."""
    rng = np.random.default_rng(1)
    made = layout(n, count, effects, rng)
    values = simulated(made, rng)
    likelihood, variances = RestrictedLikelihood(made, values), np.array(list(STANDARD_DEVIATIONS.values())) ** 2

    def slopes() -> Bend:
        bend = likelihood.at(variances)
        assert np.isfinite(bend.slopes).all()
        assert np.isfinite(bend.average_information).all()
        return bend

    once = milliseconds(slopes, runs)
    start = time.process_time()
    found = estimate_components([made], [values], dict.fromkeys(STANDARD_DEVIATIONS, 0.1))
    spent = time.process_time() - start
    of = f"likelihood of {n:,} values in {count:,} blocks, {effects} effects: "
    standard_deviations = ", ".join(
        f"{name} {found.standard_deviations[name]:.3f} ({STANDARD_DEVIATIONS[name]})" for name in STANDARD_DEVIATIONS
    )
    figures.add(f"{of}one evaluation", once)
    figures.add(f"{of}a fit", spent, "s", note=f"found (true) {standard_deviations}")


def simulated(made: Layout, rng: np.random.Generator) -> np.ndarray:
    """Values whose components have the sizes above."""
    total = STANDARD_DEVIATIONS["shared"] * made.shared["shared"] @ rng.normal(size=made.shared["shared"].shape[1])
    for block, rows in enumerate(made.blocks):
        total[rows] += np.linalg.cholesky(made.within(STANDARD_DEVIATIONS, block)) @ rng.normal(size=len(rows))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effects", type=int, default=150)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", choices=["field", "likelihood"])
    options = parser.parse_args()
    with threadpool_limits(options.threads), Figures("field", options.only or "") as figures:
        if options.only in {None, "field"}:
            of_field(6322, 100, options.effects, options.runs, figures)
            of_field(60_000, 1000, options.effects, options.runs, figures)
        if options.only in {None, "likelihood"}:
            for n, count in [(3000, 50), (6000, 100)] + [(60_000, 1000)] * options.large:
                of_likelihood(n, count, options.effects, min(options.runs, 5), figures)
        figures.add("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "GB")


if __name__ == "__main__":
    main()
