"""Write judges/slopes.json: the weight of machines' grades, learned over collections judged by machines.

    python models/make_judges.py COLLECTION ...

COLLECTION is a folder judged fully by people, with `judges/`. For each machine by itself, with all judgments known, the
script estimates the slopes of its grades within queries and systems, of systems, of queries and in excess, and the size
of its taste for systems. The file has the mean of the slopes over collections, each being the mean over its machines by
random effects (DerSimonian & Laird 1986), their standard deviation over machines and collections, and the median of the
tastes. Sources of the shipped file: language models that judge TREC 2019's passages, and automatic measures of dialogue
summaries (DialSummEval).
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.joint.model import JointEstimator
from audiosim.joint.terms import MACHINE_SYSTEM, SlopePrior, machine_kind
from audiosim.ordinal.evidence import LEVELS, machine_grades, mean_weights
from audiosim.tables.text import write_text

HERE = Path(__file__).parent
WIDE = 1.0  # prior standard deviation of a slope: hardly informative
WIDE_TASTE = 1.5  # standard deviation of the logarithm of a taste
LEAST = {"within": 0.2, "system": 0.3, "query": 0.2, "excess": 0.3}  # a few machines tell little of others
LEAST_TASTE = 0.5


def estimates(folder: Path) -> list[tuple[str, np.ndarray, np.ndarray, float]]:
    """Name, (4,) slopes, (4,) their standard errors, and taste of each machine of a collection."""
    collection = Collection.load(folder)
    found = []
    for judge in collection.judges:
        pool = build_pool(replace(collection, judges=(judge,)), collection.cutoff)
        found.append((judge.name, *_estimate(pool, pool.spread(collection.grades()))))
    return found


def _estimate(pool: Pool, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    prior = SlopePrior(dict.fromkeys(LEVELS, (0.0, WIDE)), (0.5, WIDE_TASTE), ())
    estimator = estimator_of(pool, "joint", [machine_kind(prior)])
    if not isinstance(estimator, JointEstimator):
        raise TypeError("joint is a joint model")
    layout, held = estimator.prior.layout, estimator.uncertainty
    judged = np.flatnonzero(~np.isnan(truth))
    gain = truth[judged] / pool.scale.maximum
    sizes = estimator.learned_deviations(judged, gain)
    covariance = layout.part(judged).normal(sizes, np.zeros(len(judged))).among(np.arange(len(judged)))
    columns = layout.fixed[judged]
    precision = np.linalg.inv(held.covariance) + columns.T @ np.linalg.solve(covariance, columns)
    left = gain - held.mean[judged]  # the slopes have prior means of 0
    slopes = np.linalg.solve(precision, columns.T @ np.linalg.solve(covariance, left))
    errors = np.sqrt(np.diagonal(np.linalg.inv(precision)))
    return slopes[-len(LEVELS) :], errors[-len(LEVELS) :], sizes[MACHINE_SYSTEM]


def responses(folder: Path) -> list[tuple[float, float]]:
    """Slope of each machine's mean grades of systems on people's, in deviations, and the residual of these."""
    collection = Collection.load(folder)
    pool = build_pool(collection, collection.cutoff)
    truth, weights = pool.spread(collection.grades()), mean_weights(pool, pool.found)
    deviation = np.sqrt(np.mean(estimator_of(pool, "joint", []).predict(pool.spread({})).prior.variance))
    people = weights @ (truth / pool.scale.maximum) / deviation
    people = people - people.mean()
    found = []
    for machine in machine_grades(pool):
        slope = people @ machine.scores / (people @ people)
        found.append((float(slope), float((machine.scores - slope * people).std())))
    return found


def random_effects(found: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of quantities estimated with these errors (DerSimonian & Laird 1986)."""
    weights = errors**-2.0
    mean = weights @ found / weights.sum()
    beyond = weights @ (found - mean) ** 2 - (len(found) - 1)
    between = max(0.0, beyond / (weights.sum() - (weights**2).sum() / weights.sum()))
    weights = 1 / (errors**2 + between)
    return float(weights @ found / weights.sum()), float(np.sqrt(between))


def prior_of(sources: dict[str, list[tuple[str, np.ndarray, np.ndarray, float]]]) -> SlopePrior:
    """The distribution over machines, from estimates for several collections with equal weights."""
    slopes = {}
    for place, level in enumerate(LEVELS):
        of_sources = np.array(
            [
                random_effects(np.array([one[1][place] for one in some]), np.array([one[2][place] for one in some]))
                for some in sources.values()
            ]
        )
        means, spreads = of_sources.T
        beyond = means.var(ddof=1) if len(means) > 1 else 0.0
        spread = np.sqrt((spreads**2).mean() + beyond)
        slopes[level] = (round(float(means.mean()), 3), round(float(max(LEAST[level], spread)), 3))
    tastes = np.log([one[3] for some in sources.values() for one in some])
    taste = round(float(np.exp(np.median(tastes))), 3), round(max(LEAST_TASTE, float(tastes.std())), 3)
    return SlopePrior(slopes, taste, tuple(sources))


def main(folders: list[str]) -> None:
    sources = {Path(folder).name: estimates(Path(folder)) for folder in folders}
    for name, machines in sources.items():
        for machine, slopes, errors, taste in machines:
            told = "  ".join(f"{a} {b:.2f} ± {c:.2f}" for a, b, c in zip(LEVELS, slopes, errors, strict=True))
            print(f"{name:10} {machine:16} {told}  taste {taste:.2f}")
        if len(sources) > 1:
            print(f"without {name}: {prior_of({other: some for other, some in sources.items() if other != name})}")
    prior = prior_of(sources)
    slopes, left = np.array([one for folder in folders for one in responses(Path(folder))]).T
    fields = {
        "format": 1,
        "sources": list(prior.sources),
        "slopes": prior.of,
        "taste": prior.taste,
        "response": [round(float(slopes.mean()), 3), round(float(slopes.std(ddof=1)), 3)],
        "favour": [round(float(np.median(left)), 3), round(float(np.log(left).std(ddof=1)), 3)],
    }
    write_text(HERE / "judges" / "slopes.json", json.dumps(fields, indent=1).splitlines())


if __name__ == "__main__":
    main(sys.argv[1:])
