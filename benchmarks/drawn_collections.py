"""Honesty of the confidence on one collection, where the model is right: on collections drawn from what `joint` holds.

    python benchmarks/drawn_collections.py [--only dl2019,mirex2011] [--draws 30] [--parts 5]

Runs are those of a collection of ../shared/data; trend, standard deviations and gains are drawn from the model's
distribution over collections, and not cut to the scale. Of each drawn collection random parts are judged at random, 50,
100 and 200 pairs; the standard deviations are learned from these as in a campaign, or known. The mean of stated less
true confidence over drawn collections is what approximations cost, and should be 0. Its spread between them, parts
allowed for, is what one collection may be off by although the model is right: its systems are what they are, whichever
queries are taken.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from calibration import parts_of, real
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import FINE
from audiosim.corpus.pool import Pool, build_pool
from audiosim.expected.estimation import rank
from audiosim.expected.linear import LinearScores
from audiosim.measures.measure import parse_measure
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.published import Model, load_model

AT = (50, 100, 200)
HOW = ("learned", "known")  # how the standard deviations come about
DRAWN = 9  # seed of the drawn collections


@dataclass(frozen=True)
class Played:
    """A pool on which collections are drawn, or a part of one that is judged.

    places  (n,) of its pairs in the whole pool
    """

    pool: Pool
    estimator: JointEstimator
    places: np.ndarray

    @classmethod
    def of(cls, part: Collection, whole: Pool | None, model: Model) -> "Played":
        """Part of a pool; the whole of it where None."""
        pool = build_pool(part)
        positions = (pool if whole is None else whole).positions
        return cls(pool, JointEstimator(pool, (model,)), np.array([positions[pair] for pair in pool.pairs]))

    @cached_property
    def scores(self) -> LinearScores:
        """Expected CG of the systems."""
        return LinearScores(parse_measure(f"CG@{self.pool.cutoff}"), self.pool)

    def drawn(self, rng: np.random.Generator) -> tuple[dict[str, float], np.ndarray]:
        """Standard deviations and (n,) gains of a collection."""
        prior, held = self.estimator.prior, self.estimator.uncertainty
        logarithms = {name: rng.normal(np.log(deviation), held.spread[name]) for name, deviation in held.centre.items()}
        deviations = {name: float(np.exp(value)) for name, value in logarithms.items()}
        trend = rng.normal(0, np.sqrt(np.diag(held.covariance)))
        gains = np.empty(len(self.pool.pairs))
        for rows, values in prior.layout.normal(deviations, held.mean + prior.layout.fixed @ trend).draw(rng, 1):
            gains[rows] = values[0]
        return deviations, gains

    def excess(self, deviations: Mapping[str, float], judged: np.ndarray, gains: np.ndarray) -> float:
        """Stated less true confidence.

        judged  (k,) places of the judged pairs
        gains   (n,) of all
        """
        prior, held = self.estimator.prior, self.estimator.uncertainty
        field = prior.layout.normal(deviations, held.mean).with_effects(prior.layout.fixed, held.covariance)
        scores = field.condition_all(judged, gains[judged]).project(self.scores.weights)
        ranking = rank(self.scores, "joint", scores, len(judged), correlated=True)
        better, worse = ranking.pairs
        truth = self.scores.weights @ gains
        return ranking.confidence - float((1 + np.sign(truth[better] - truth[worse])).mean() / 2)


def excesses(name: str, model: Model, draws: int, parts: int) -> Iterator[tuple[str, int, int, float]]:
    """Excess of each part, after how the standard deviations came about, number judged and number of the collection."""
    unjudged = replace(real([name])[name], scale=FINE, judgments=())
    whole = Played.of(unjudged, None, model)
    pieces = [Played.of(part.of(unjudged), whole.pool, model) for part in parts_of(name, unjudged, parts)]
    for code in range(draws):
        rng = np.random.default_rng([DRAWN, code])
        deviations, gains = whole.drawn(rng)
        for piece in pieces:
            own, order = gains[piece.places], rng.permutation(len(piece.places))
            for judged in AT:
                learned = piece.estimator.learned_deviations(order[:judged], own[order[:judged]])
                for how, one in zip(HOW, (learned, deviations), strict=True):
                    yield how, judged, code, piece.excess(one, order[:judged], own)


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="dl2019,ehealth2013,mirex2011", help="collections whose runs are taken")
    parser.add_argument("--draws", type=int, default=30, help="collections drawn")
    parser.add_argument("--parts", type=int, default=5, help="of each, at least two")
    options = parser.parse_args()
    model = replace(load_model("joint-fine"), training=None)
    rows = []
    with Figures("drawn_collections") as figures, threadpool_limits(1):
        for name in options.only.split(","):
            found: dict[tuple[str, int], list[list[float]]] = {}
            for how, judged, code, value in excesses(name, model, options.draws, options.parts):
                by_draw = found.setdefault((how, judged), [[] for _ in range(options.draws)])
                by_draw[code].append(value)
            rows += [[f"{name}, {how}", *(_cell(np.array(found[how, judged])) for judged in AT)] for how in HOW]
        head = ["runs, standard deviations", *(f"{judged} judged" for judged in AT)]
        figures.table("stated less true confidence, and its spread between drawn collections", head, rows)


def _cell(excess: np.ndarray) -> str:
    """Mean, its standard error, and spread between drawn collections, of (draws, parts)."""
    by_draw, within = excess.mean(axis=1), excess.var(axis=1, ddof=1).mean()
    error = by_draw.std(ddof=1) / np.sqrt(len(excess))
    spread = np.sqrt(max(0.0, by_draw.var(ddof=1) - within / excess.shape[1]))
    return f"{by_draw.mean():+.3f} ± {error:.3f}, spread {spread:.3f}"


if __name__ == "__main__":
    main()
