"""What fitting an ordinal model costs, beside statsmodels and skordinal; and E and Var of a million rows.

    python benchmarks/ordinal.py [--runs 5]

Processor time on one thread, the median over runs; peers run where they are installed (pip install audiosim[bench])
and where they end in reasonable time.
"""

import argparse
import importlib.util
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from audiosim.arrays import Array, Integers
from audiosim.stats.ordinal import expectation, level_probabilities, variance
from audiosim.stats.ordinal_fit import fit

COLUMNS, LEVELS = 8, 10
LIMITS_S = {6_000: 0.010, 1_000_000: 1.0}
MOMENTS_LIMIT_S = 0.7
MEMORY_LIMIT_MB = 200


def drawn(rows: int) -> tuple[Array, Integers]:
    """Features and levels from a known model, every level equally frequent."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(rows, COLUMNS))
    latent = features @ np.linspace(-1, 1, COLUMNS) + rng.logistic(size=rows)
    return features, np.searchsorted(np.quantile(latent, np.arange(1, LEVELS) / LEVELS), latent)


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time of a call."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def by_statsmodels(features: Array, level: Integers) -> Array:
    """The coefficients by statsmodels' OrderedModel."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    model = OrderedModel(level, features, distr="logit")
    return np.asarray(model.fit(method="bfgs", disp=False, maxiter=500).params[:COLUMNS])


def by_skordinal(features: Array, level: Integers) -> Array:
    """The coefficients by skordinal's proportional odds model."""
    from skordinal.classifiers import POM

    return np.ravel(POM().fit(features, level).coef_)


PEERS = {"statsmodels": by_statsmodels, "skordinal": by_skordinal}


def megabytes() -> float:
    """The most memory the process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(rows: int, runs: int) -> None:
    """Print our time and the peers'."""
    features, level = drawn(rows)
    before = megabytes()
    ours = seconds(lambda: fit(features, level), runs)
    print(
        f"{rows:>9,} x {COLUMNS} x {LEVELS}   audiosim {1000 * ours:9.1f} ms   limit {1000 * LIMITS_S[rows]:6.0f} ms",
        end="",
    )
    print(f"   +{megabytes() - before:.0f} MB, limit {MEMORY_LIMIT_MB} MB" if rows > 100_000 else "")
    for name, peer in PEERS.items() if rows < 100_000 else ():
        if importlib.util.find_spec(name) is None:
            print(f"{'':>18} {name} is not installed")
            continue
        theirs = seconds(lambda peer=peer: peer(features, level), max(1, runs // 2))
        apart = np.abs(peer(features, level) - fit(features, level).coefficients).max()
        ratio = f"{theirs / ours:5.0f} times ours   coefficients {apart:.1e} apart"
        print(f"{'':>18} {name:>11} {1000 * theirs:9.1f} ms   {ratio}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with threadpool_limits(1):
        for rows in LIMITS_S:
            compare(rows, runs)
        features, level = drawn(1_000_000)
        found = fit(features, level)
        levels = np.arange(5.0, 100.0, 10.0)

        def moments() -> tuple[Array, Array]:
            probabilities = level_probabilities(found.thresholds, features @ found.coefficients)
            return expectation(probabilities, levels), variance(probabilities, levels)

        spent = seconds(moments, runs)
        print(f"E and Var of 1,000,000 rows {1000 * spent:9.1f} ms   limit {1000 * MOMENTS_LIMIT_S:6.0f} ms")


if __name__ == "__main__":
    main()
