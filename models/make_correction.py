"""Write stopping/correction.json: the stated deviation of the scores at which simulated campaigns had a given error.

    python models/make_correction.py [WORLDS]

Each world is a draw of the sizes of effects and of a collection. Models with the terms of the thesis's M_out and M_jud
are fitted, as in the thesis, to collections of that world. Then campaigns are replayed on new collections of it, with
the weights of section 8.4, until nearly everything is judged. No real data are read.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.joint.independent import OrdinalEstimator
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection
from audiosim.simulation.replay import replay
from audiosim.stats.arrays import Array
from audiosim.training.plan import LISTS, Plan
from audiosim.training.train import train

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.resolve().parent / "validation"))
sys.path.append(str(HERE.resolve().parent / "benchmarks"))  # last, because benchmarks/service.py is not the service
from reproduce.own_judgment import fit_as_printed  # noqa: E402
from synthetic import Design, Effects, synthetic_collection  # noqa: E402

MEASURES = ("CG@5", "DCG@5", "nDCG@5", "RBP@5")
ERRORS = tuple(round(0.01 * step, 2) for step in range(1, 11))
TRAINING = 3  # collections to which a world's models are fitted
WORLDS = 24
# Smallest and largest value of each field of Effects, in order; the default is about the middle.
RANGES = (
    (0.05, 0.17),
    (0.05, 0.17),
    (0.03, 0.10),
    (0.03, 0.12),
    (0.02, 0.06),
    (0.01, 0.04),
    (0.10, 0.18),
    (0.30, 0.50),
    (0.05, 0.25),
)


def world(rng: np.random.Generator) -> tuple[Design, Effects]:
    """The sizes of one world."""
    systems = int(rng.integers(8, 25))
    design = Design(systems, -(-systems // 2), int(rng.integers(50, 151)), 5, int(rng.integers(150, 400)))
    return design, Effects(*(float(rng.uniform(low, high)) for low, high in RANGES))


def fitted(collections: list[Collection]) -> tuple[Model, ...]:
    """The models of a world in order of preference, fitted as in the thesis; the last needs no feature."""
    jud = fit_as_printed(collections, Plan(LISTS["judgment"], "jud", folds=0))
    out = train(collections, Plan(LISTS["output"], "out", folds=0)).model
    assert out.fallback is not None
    return jud, out, load_model(out.fallback)


def campaigns(seed: int) -> dict[str, Array]:
    """For each measure the (moments, 2) stated deviation and true error along one campaign in a separate world."""
    rng = np.random.default_rng([2013, seed])
    design, effects = world(rng)
    earlier = [synthetic_collection(rng, design, effects) for _ in range(TRAINING)]
    models = fitted([replace(made, identifier=f"year {year}") for year, made in enumerate(earlier)])
    collection = synthetic_collection(rng, design, effects)
    pool = build_pool(collection)
    truth, batch = pool.spread(collection.grades()), max(1, len(pool.pairs) // 50)
    curves = {}
    with threadpool_limits(1):
        for name in MEASURES:
            estimator = OrdinalEstimator(pool, models)
            start = Selection.start(pool, parse_measure(name), estimator, batch=batch, selection_rule="scores")
            found = replay(start, truth, 1.1)
            curves[name] = np.array([(moment.deviation, moment.error) for moment in found.curve])
    return curves


def deviation_for(curves: list[Array], error: float) -> float:
    """The largest d for which campaigns that stop at a stated deviation of d are off by `error` on average."""
    tried = np.geomspace(1e-4, max(curve[0, 0] for curve in curves), 400)
    means = np.array([np.mean([first_error(curve, d) for curve in curves]) for d in tried])
    too_far = np.flatnonzero(means > error)
    return float(tried[too_far[0] - 1 if len(too_far) else -1])


def first_error(curve: Array, deviation: float) -> float:
    """The error when the stated deviation is first this low; at the last moment if it never is."""
    low = np.flatnonzero(curve[:, 0] <= deviation)
    return float(curve[low[0] if len(low) else -1, 1])


def rising(values: list[float]) -> Iterator[float]:
    """The values, each raised to the previous one if lower."""
    yield from np.maximum.accumulate(values).tolist()


def main() -> None:
    worlds = int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS
    with ProcessPoolExecutor(2) as pool:
        played = list(pool.map(campaigns, range(worlds)))
    measures = {}
    for name in MEASURES:
        curves = [curve[name] for curve in played]
        deviations = [round(d, 5) for d in rising([deviation_for(curves, error) for error in ERRORS])]
        measures[parse_measure(name).name] = {"errors": ERRORS, "deviations": deviations}
        start = np.mean([curve[0] for curve in curves], axis=0)
        print(f"{name:8} nothing judged: stated deviation {start[0]:.4f}, error {start[1]:.4f}; ", end="")
        print("  ".join(f"{e:g}: {d:.4f}" for e, d in zip(ERRORS, deviations, strict=True)))
    fields = {
        "format": 1,
        "source": f"models/make_correction.py: {worlds} simulated campaigns per measure",
        "models": "terms of M_out and M_jud of Urbano (2013), fitted the thesis's way to collections of the same world",
        "ranges": dict(zip(Effects.__dataclass_fields__, RANGES, strict=True)),
        "measures": measures,
    }
    path = HERE / "stopping" / "correction.json"
    path.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
    assert len(RANGES) == len(astuple(Effects()))


if __name__ == "__main__":
    main()
