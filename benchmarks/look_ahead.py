"""Judging the pair expected to put most in order, compared with the usual rule on the same parts.

    python benchmarks/look_ahead.py [--only dl2019,covid1] [--parts 8] [--measure CG]

The usual rule draws in proportion to `doubts`, the first-order decrease of the sum of p (1 - p) over pairs of systems.
Here it is replaced by the exact decrease of the expected number of pairs in the wrong order, one step ahead. For a pair
of systems with an expected difference of z standard deviations, of whose variance a judgment explains the share rho^2,
the difference D and its expectation after the judgment are jointly normal with correlation rho. Before the judgment the
order is wrong with probability P(-|z|); after it, with the probability that D and the later expectation differ in sign:

    fall(z, rho) = P(-|z|) - P(X > -z, Y < -z / rho) - P(X < -z, Y > -z / rho)

The variance of a weighted sum after a judgment does not depend on the grade, so this is exact.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from calibration import bare, between_all, model_for, parts_of, real
from figures import Figures
from numpy.polynomial.legendre import leggauss
from scipy import sparse
from scipy.interpolate import RegularGridInterpolator
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.rules import DrawnByDoubt
from audiosim.simulation import Trial, follow
from audiosim.stats.arrays import Array, Booleans

AT = (50, 100, 200, 400)
LARGEST = 6.0  # z beyond which no order changes
AT_ONCE = 400_000  # pairs of systems times documents


def fall(z: Array, rho: Array) -> Array:
    """The expected decrease of the probability that a pair is in the wrong order; z 0 or more, rho in (0, 1).

    P(X < -z, Y < -z / rho) by Gauss and Legendre's rule over y; the decrease is twice that less P(Y < -z / rho).
    """
    nodes, weights = leggauss(60)
    end = -z / rho
    low = np.minimum(end - 8, -9)
    y = low[..., None] + (end - low)[..., None] * (nodes + 1) / 2
    left = ndtr((-z[..., None] - rho[..., None] * y) / np.sqrt(1 - rho[..., None] ** 2))
    both = ((end - low) / 2) * (weights * np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi) * left).sum(axis=-1)
    return np.asarray(np.maximum(0, 2 * both - ndtr(end)))


def table() -> RegularGridInterpolator:
    """The decrease on a grid of z and rho."""
    z, rho = np.linspace(0, LARGEST, 121), np.concatenate([[1e-4, 1e-3, 5e-3], np.linspace(0.01, 0.999, 150)])
    grid = fall(*np.meshgrid(z, rho, indexing="ij"))
    return RegularGridInterpolator((z, rho), grid, bounds_error=False, fill_value=0)


class DrawnByLookingAhead(DrawnByDoubt):
    """`drawn` with one step ahead in place of doubts."""

    name = "look ahead"
    _falls = table()

    def doubt_removed(
        self, across: sparse.csc_array | Array, variance: Array, ranking: Ranking, open_: Booleans
    ) -> Array:
        across, places = across if isinstance(across, np.ndarray) else across.toarray(), np.flatnonzero(open_)
        difference, uncertain = ranking.differences
        first, second = ranking.pairs
        unsure = uncertain > 0
        spread = np.sqrt(uncertain[unsure])
        z = np.abs(difference[unsure]) / spread
        near = z < LARGEST
        first, second, spread, z = first[unsure][near], second[unsure][near], spread[near], z[near]
        own, worth = np.sqrt(variance), np.zeros(len(variance))
        for some in np.array_split(places, max(1, len(places) * len(z) // AT_ONCE)):
            explained = np.abs(across[first][:, some] - across[second][:, some])
            rho = np.minimum(0.999, explained / np.outer(spread, np.maximum(own[some], 1e-12)))
            worth[some] = self._falls((np.broadcast_to(z[:, None], rho.shape), np.maximum(rho, 1e-4))).sum(axis=0)
        return worth


@dataclass(frozen=True)
class Begin:
    """Start of a campaign by the usual rule, or by looking ahead; both are updated every `batch` judgments."""

    model: Model
    measure: str
    ahead: bool
    batch: int

    def __call__(self, part: Collection, _: Model | None) -> Selection:
        pool = build_pool(part)
        expected = expected_scores(parse_measure(f"{self.measure}@{pool.cutoff}"), pool)
        rule = DrawnByLookingAhead(expected) if self.ahead else None
        return Selection.start(pool, expected, estimator_of(pool, self.model), selection_rule=rule, batch=self.batch)


def row_of(name: str, curves: Sequence[Sequence[dict[str, float]]]) -> list[str]:
    """A line of a table: accuracy of each rule at each moment."""
    return [name, *(f"{a['accuracy']:.3f}, {b['accuracy']:.3f}" for a, b in zip(*curves, strict=True))]


def main() -> None:
    """Print the accuracy of each, and the stated less the true share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="collections, with commas")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--measure", default="CG")
    parser.add_argument("--batch", type=int, default=5, help="judgments between two looks ahead")
    options = parser.parse_args()
    model, estimates = load_model("joint-fine"), between_all()
    with Figures("look_ahead", "rules") as figures, threadpool_limits(1):
        right, honest = [], []
        for name, collection in real([one for one in options.only.split(",") if one]).items():
            own, parts = model_for(name, model, estimates), parts_of(name, collection, options.parts)
            curves = [
                follow(Trial(bare(collection), Begin(own, options.measure, ahead, options.batch)), parts, AT).curve()
                for ahead in (False, True)
            ]
            right.append(row_of(name, curves))
            honest.append([name, *(f"{a['excess']:+.3f}, {b['excess']:+.3f}" for a, b in zip(*curves, strict=True))])
            print(*right[-1], *honest[-1][1:], sep="  ", flush=True)
        head = ["drawn, looking ahead", *(f"{at} judged" for at in AT)]
        figures.table("Right", head, right)
        figures.table("Stated less right", head, honest)


if __name__ == "__main__":
    main()
