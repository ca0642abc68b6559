"""Coverage of the 95 % intervals of `evaluate` with few queries: of the mean score, and of the score on a new query.

    python benchmarks/intervals.py [--samples 20000] [--worst 3000]

Scores are drawn from made populations with a known mean. The last row is the lowest coverage among random populations
of three scores, computed exactly over all samples.
"""

import argparse
from collections.abc import Callable

import numpy as np
from figures import Figures
from scipy.special import stdtrit
from scipy.stats import multinomial

from audiosim.stats.arrays import Array
from audiosim.stats.score_matrix import bounded_mean

QUERIES = (2, 3, 5, 10, 20, 30, 50)
LARGEST_EXACT = 30  # queries up to which all samples of three scores are listed in full for every population
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
POPULATIONS: dict[str, tuple[Draw, float]] = {
    "0 or 1, mean .5": (lambda rng, shape: (rng.random(shape) < 0.5) * 1.0, 0.5),
    "0 or 1, mean .9": (lambda rng, shape: (rng.random(shape) < 0.9) * 1.0, 0.9),
    "0 or 1, mean .98": (lambda rng, shape: (rng.random(shape) < 0.98) * 1.0, 0.98),
    "share of 5 results, each relevant with .3": (lambda rng, shape: rng.binomial(5, 0.3, shape) / 5, 0.3),
    "reciprocal rank, each relevant with .5": (lambda rng, shape: 1 / rng.geometric(0.5, shape), float(np.log(2))),
    ".4, with .05 instead .9": (lambda rng, shape: np.where(rng.random(shape) < 0.05, 0.9, 0.4), 0.425),
    "Beta(.2, .8)": (lambda rng, shape: rng.beta(0.2, 0.8, shape), 0.2),
    "Beta(8, 2)": (lambda rng, shape: rng.beta(8, 2, shape), 0.8),
    "Beta(20, 20)": (lambda rng, shape: rng.beta(20, 20, shape), 0.5),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
}


def cut_t(mean: Array, variance: Array, count: int, new: float = 0.0) -> tuple[Array, Array]:
    """Student's interval of the mean, or of one new value, cut to [0, 1]."""
    reach = stdtrit(count - 1, 0.975) * np.sqrt(variance * (new + 1 / count))
    return np.maximum(0, mean - reach), np.minimum(1, mean + reach)


def held(ends: tuple[Array, Array], values: Array | float) -> Array:
    """True where a value lies within its interval, with room for rounding."""
    return (ends[0] <= values + 1e-12) & (values <= ends[1] + 1e-12)


def measured(draw: Draw, mean: float, queries: int, samples: int, rng: np.random.Generator) -> Array:
    """Coverage and mean width of the interval used and of Student's, and coverage of a new score by Student's."""
    scores = draw(rng, (samples, queries))
    moments = scores.mean(axis=1), scores.var(axis=1, ddof=1), queries
    ours, theirs, new = bounded_mean(*moments), cut_t(*moments), cut_t(*moments, new=1.0)
    covered = held(ours, mean).mean(), held(theirs, mean).mean(), held(new, draw(rng, (samples,))).mean()
    return np.array([*covered, *(np.mean(high - low) for low, high in (ours, theirs))])


def populations(count: int, rng: np.random.Generator) -> list[tuple[Array, Array]]:
    """Random populations of three scores and their shares, often with an end of the scale among the scores."""
    found = []
    for place in range(count):
        values = np.sort(rng.random(3))
        values[0] *= place % 2
        values[2] = 1.0 if place % 4 < 2 else values[2]
        found.append((values, rng.dirichlet(np.full(3, rng.choice([0.2, 1.0, 3.0])))))
    return found


def lowest(queries: int, count: int, rng: np.random.Generator) -> Array:
    """Lowest exact coverage of the mean, by the interval used and by Student's, over random populations."""
    samples = np.array([(a, b, queries - a - b) for a in range(queries + 1) for b in range(queries + 1 - a)])
    found = []
    for values, shares in populations(count if queries <= LARGEST_EXACT else count // 4, rng):
        mean = samples @ values / queries
        variance = np.maximum(0, samples @ values**2 - queries * mean**2) / (queries - 1)
        chances = multinomial.pmf(samples, queries, shares)
        both = bounded_mean(mean, variance, queries), cut_t(mean, variance, queries)
        found.append([chances @ held(one, shares @ values) for one in both])
    return np.min(found, axis=0)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--worst", type=int, default=3_000)
    given, rng = parser.parse_args(), np.random.default_rng(1)
    found = {
        name: np.array([measured(draw, mean, queries, given.samples, rng) for queries in QUERIES]).T.round(3)
        for name, (draw, mean) in POPULATIONS.items()
    }
    worst = np.array([lowest(queries, given.worst, rng) for queries in QUERIES]).T.round(3)
    columns = ["scores", *(f"{queries} queries" for queries in QUERIES)]
    of_worst = [("lowest of random populations of three scores", *one) for one in worst.tolist()]
    with Figures("intervals") as figures:
        for place, title in enumerate(("mean, interval used", "mean, Student's interval cut to the scale")):
            rows = [(name, *values[place].tolist()) for name, values in found.items()]
            figures.table(title, columns, [*rows, of_worst[place]])
        figures.table("new query, Student's", columns, [(name, *v[2].tolist()) for name, v in found.items()])
        widths = [(name, *(f"{a:.2f}, {b:.2f}" for a, b in v[3:].T)) for name, v in found.items()]
        figures.table("width, interval used and Student's", columns, widths)


if __name__ == "__main__":
    main()
