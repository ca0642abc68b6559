"""Cost of fitting an ordinal model, beside statsmodels and skordinal; and E and Var of a million rows.

    python benchmarks/ordinal.py [--runs 5]

Processor time on one thread, the median over runs; peers run if they are installed (pip install audiosim[bench])
and end in reasonable time.
"""

import argparse
import importlib.util
import resource

import numpy as np
from figures import Figures, cpu_seconds
from threadpoolctl import threadpool_limits

from audiosim.stats.arrays import Array, Integers
from audiosim.stats.ordinal import expectation, fit_ordinal, level_probabilities, variance

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
    """Peak memory of the process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(rows: int, runs: int, figures: Figures) -> None:
    """Add our time and the peers'."""
    features, level = drawn(rows)
    before, size = megabytes(), f"{rows:,} x {COLUMNS} x {LEVELS}"
    ours = cpu_seconds(lambda: fit_ordinal(features, level), runs)
    figures.add(f"fit of {size}", 1000 * ours, "ms", 1000 * LIMITS_S[rows])
    if rows > 100_000:
        figures.add(f"memory of a fit of {size}", megabytes() - before, "MB", MEMORY_LIMIT_MB)
        return
    for name, peer in PEERS.items():
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed")
            continue
        theirs = cpu_seconds(lambda peer=peer: peer(features, level), max(1, runs // 2))
        difference = np.abs(peer(features, level) - fit_ordinal(features, level).coefficients).max()
        figures.add(
            f"the same by {name}", 1000 * theirs, note=f"{theirs / ours:.0f} times ours, {difference:.1e} apart"
        )


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with threadpool_limits(1), Figures("ordinal") as figures:
        for rows in LIMITS_S:
            compare(rows, runs, figures)
        features, level = drawn(1_000_000)
        found = fit_ordinal(features, level)
        levels = np.arange(5.0, 100.0, 10.0)

        def moments() -> tuple[Array, Array]:
            probabilities = level_probabilities(found.thresholds, features @ found.coefficients)
            return expectation(probabilities, levels), variance(probabilities, levels)

        figures.add("E and Var of 1,000,000 rows", 1000 * cpu_seconds(moments, runs), "ms", 1000 * MOMENTS_LIMIT_S)


if __name__ == "__main__":
    main()
