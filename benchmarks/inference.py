"""Costs of paired tests of all pairs of systems, beside the limits, with scipy on one pair for comparison.

    python benchmarks/inference.py [--systems 50] [--queries 1000] [--samples 10000] [--runs 3]

Processor time on two threads, the median over runs. The limits are for the default sizes.
"""

import argparse
import resource

import numpy as np
from figures import Figures, cpu_seconds
from scipy.stats import permutation_test as one_pair
from threadpoolctl import threadpool_limits

from audiosim.stats.arrays import Array
from audiosim.stats.ranks import friedman_test, tukey_test
from audiosim.stats.split_half import split_half
from audiosim.stats.tests import paired_test

LIMIT_S = 5.0
LIMIT_MB = 1000


def megabytes() -> float:
    """Peak memory of the process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_scipy(first: Array, second: Array, samples: int) -> object:
    """The permutation test of one pair."""
    return one_pair(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=samples,
        vectorized=True,
        batch=1000,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("systems", 50), ("queries", 1000), ("samples", 10_000), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(given.systems, given.queries)) + np.linspace(0, 0.3, given.systems)[:, None]
    pairs = given.systems * (given.systems - 1) // 2
    of = f"{pairs:,} pairs x {given.queries:,} queries"
    with threadpool_limits(2), Figures("inference") as figures:
        for name in ("permutation", "bootstrap"):
            spent = cpu_seconds(lambda name=name: paired_test(scores, name, samples=given.samples), given.runs)
            figures.add(f"{name}, {of}, {given.samples:,} samples", spent, "s", LIMIT_S)
        figures.add("memory of these", megabytes(), "MB", LIMIT_MB)
        for name in ("t", "sign", "wilcoxon"):
            figures.add(f"{name}, {of}", cpu_seconds(lambda name=name: paired_test(scores, name), 1), "s")
        figures.add(f"tukey, {of}", cpu_seconds(lambda: tukey_test(friedman_test(scores)), 1), "s")
        study = scores[:18, :100]
        spent = cpu_seconds(lambda: split_half(study, "permutation", np.random.default_rng(0), trials=10), 1)
        figures.add("split-half, 18 systems x 100 queries, permutation, a split", spent / 10, "s")
        theirs = cpu_seconds(lambda: by_scipy(scores[0], scores[1], given.samples), 1)
        figures.add("scipy, permutation of one pair", theirs, "s", note=f"times {pairs:,}: {theirs * pairs:,.0f} s")


if __name__ == "__main__":
    main()
