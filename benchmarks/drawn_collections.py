"""Is what `joint` states true on collections drawn from the distribution between collections that it holds itself?

    python benchmarks/drawn_collections.py [--only dl2019] [--draws 16] [--parts 3] [--at 0,50,100,200]

Runs are those of a collection of ../shared/data; trend and sizes are drawn from the model's distribution, grades from
both, on the Fine scale and cut to it; campaigns are played on parts. The mean of stated less true confidence is what
approximations cost; its spread between drawn collections, parts allowed for, is what not knowing the collection costs,
however well the distribution between collections is known.
"""

import argparse
from dataclasses import replace

import numpy as np
from calibration import Start, parts_of, real
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import FINE, Judgment
from audiosim.corpus.pool import build_pool
from audiosim.relevance.joint import Prior, Uncertainty
from audiosim.relevance.published import Model, load_model, usual_model
from audiosim.simulation import Trial, follow


def drawn(collection: Collection, model: Model, rng: np.random.Generator) -> Collection:
    """The runs of a collection with grades of another one, drawn from the distribution between collections."""
    unjudged = replace(collection, scale=FINE, judgments=())
    pool = build_pool(unjudged)
    prior = Prior.of(pool, (usual_model(FINE),), sound=False, metadata=False)
    assert model.between is not None
    held = Uncertainty.elsewhere(prior, model, model.between)
    standard_deviations = {
        name: float(np.exp(rng.normal(np.log(size), held.spread[name]))) for name, size in held.centre.items()
    }
    trend = rng.normal(0, np.sqrt(np.diag(held.covariance)))
    gains = np.empty(len(pool.pairs))
    for rows, values in prior.layout.normal(standard_deviations, held.mean + prior.layout.fixed @ trend).draw(rng, 1):
        gains[rows] = values[0]
    grades = np.clip(np.round(100 * gains), 0, 100).tolist()
    made = tuple(Judgment(*pair, grade=grade) for pair, grade in zip(pool.pairs, grades, strict=True))
    return replace(unjudged, judgments=made)


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="dl2019", help="collections whose runs are taken, with commas")
    parser.add_argument("--draws", type=int, default=16, help="collections drawn")
    parser.add_argument("--parts", type=int, default=3, help="of each, at least two")
    parser.add_argument("--at", default="0,50,100,200", help="numbers of judged pairs to look at")
    options = parser.parse_args()
    model, at = replace(load_model("joint-fine"), training=None), [int(one) for one in options.at.split(",")]
    with Figures("drawn_collections") as figures, threadpool_limits(1):
        for name, collection in real(options.only.split(",")).items():
            excess = np.empty((options.draws, options.parts, len(at)))
            for code in range(options.draws):
                one = drawn(collection, model, np.random.default_rng([7, code]))
                curve = follow(Trial(one, Start(model, "CG")), parts_of(name, one, options.parts), at).curve()
                excess[code] = np.array([row["by_part"]["excess"] for row in curve]).T
            for place, judged in enumerate(at):
                by_draw, within = excess[:, :, place].mean(axis=1), excess[:, :, place].var(axis=1, ddof=1).mean()
                error = by_draw.std(ddof=1) / np.sqrt(options.draws)
                between = np.sqrt(max(0.0, by_draw.var(ddof=1) - within / options.parts))
                figures.add(f"{name}, {judged} judged, stated less true", by_draw.mean(), "", note=f"± {error:.3f}")
                figures.add(f"{name}, {judged} judged, spread between drawn collections", between, "")


if __name__ == "__main__":
    main()
