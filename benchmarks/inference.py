"""What paired tests of all pairs of systems cost, beside the limits, and scipy on one pair for scale.

    python benchmarks/inference.py [--systems 50] [--queries 1000] [--samples 10000] [--runs 3]

Processor time on two threads, the median over runs. The limits are for the sizes that are the defaults.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import permutation_test as one_pair
from threadpoolctl import threadpool_limits

from audiosim.arrays import Array
from audiosim.stats.friedman import friedman_test, tukey_test
from audiosim.stats.inference import bootstrap_test, permutation_test, sign_test, t_test, wilcoxon_test
from audiosim.stats.splithalf import split_half

LIMIT_S = 5.0
LIMIT_MB = 1000


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time of a call."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def megabytes() -> float:
    """The most memory the process has had so far."""
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
    drawn = {"samples": given.samples}
    print(
        f"{pairs:,} pairs, {given.queries:,} queries, {given.samples:,} samples; p-values, effect sizes and intervals"
    )
    with threadpool_limits(2):
        spent = seconds(lambda: permutation_test(scores, np.random.default_rng(0), **drawn), given.runs)
        print(f"permutation {spent:8.2f} s   limit {LIMIT_S:.2f} s", end="")
        print(f"   {megabytes():.0f} MB at most   limit {LIMIT_MB} MB")
        spent = seconds(lambda: bootstrap_test(scores, np.random.default_rng(0), **drawn), given.runs)
        print(f"bootstrap   {spent:8.2f} s   limit {LIMIT_S:.2f} s")
        for name, test in (("t", t_test), ("sign", sign_test), ("wilcoxon", wilcoxon_test)):
            print(f"{name:11} {seconds(lambda test=test: test(scores), 1):8.2f} s")
        print(f"{'tukey':11} {seconds(lambda: tukey_test(friedman_test(scores)), 1):8.2f} s")
        study = scores[:18, :100]
        spent = seconds(lambda: split_half(study, "permutation", np.random.default_rng(0), trials=10), 1)
        print(f"split-half  {spent / 10:8.3f} s a split of 18 systems, 100 queries, permutation, 10,000 samples")
        theirs = seconds(lambda: by_scipy(scores[0], scores[1], given.samples), 1)
        print(f"scipy       {theirs:8.2f} s permutation, one pair; times {pairs:,}: {theirs * pairs:,.0f} s")


if __name__ == "__main__":
    main()
