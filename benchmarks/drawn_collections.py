"""Honesty on single collections if the model is right: on collections drawn from `joint`.

    python benchmarks/drawn_collections.py [--only dl2019,mirex2011] [--draws 30] [--parts 5]
    python benchmarks/drawn_collections.py measures [--only dl2019,mirex2011] [--draws 30] [--parts 2]

Runs are those of a collection of ../shared/data; trend, standard deviations and gains are drawn from the model's
distribution over collections, and not cut to the scale. Of each drawn collection, 50, 100 and 200 pairs of random parts
are judged at random; the standard deviations are learned from these as in a campaign, or known. The mean of stated less
true confidence over drawn collections is the cost of approximations, and should be 0. Its spread between collections,
adjusted for parts, is the error to expect on a single collection even if the model is right, because its systems are
the same for all queries.

Measures other than CG need grades on the scale, so `measures` puts each gain on the level where the model has it.
Campaigns choose pairs by their own rule, or at random. The errors of expected scores and the coverage of intervals are
reported as in benchmarks/other_measures.py, with the errors on the real collections in standard deviations of those on
drawn ones.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from calibration import Start, parts_of, real
from figures import RESULTS, Figures
from other_measures import CONSIDERED, MEASURES, looks
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import FINE, Judgment
from audiosim.joint.model import JointEstimator
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking.expected import rank
from audiosim.ranking.linear import LinearScores
from audiosim.results.value import cached_property

AT = (50, 100, 200)
HOW = ("learned", "known")  # origin of the standard deviations
RULES = {"drawn": None, "at random": "random"}  # choice of pairs
SIMULATED = MEASURES[1:]  # measures from drawn grades
DRAWN = 9  # seed of the drawn collections


@dataclass(frozen=True)
class Played:
    """A pool on which collections are drawn, or a judged part of one.

    places  (n,) of its pairs in the whole pool
    """

    pool: Pool
    estimator: JointEstimator
    places: np.ndarray

    @classmethod
    def of(cls, part: Collection, whole: Pool | None, model: Model) -> "Played":
        """Part of a pool; None for the whole pool."""
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
        gains   (n,) gains of all pairs
        """
        prior, held = self.estimator.prior, self.estimator.uncertainty
        field = prior.layout.normal(deviations, held.mean).with_effects(prior.layout.fixed, held.covariance)
        scores = field.condition_all(judged, gains[judged]).project(self.scores.weights)
        ranking = rank(self.scores, "joint", scores, len(judged), correlated=True)
        better, worse = ranking.pairs
        truth = self.scores.weights @ gains
        return ranking.confidence - float((1 + np.sign(truth[better] - truth[worse])).mean() / 2)


def excesses(name: str, model: Model, draws: int, parts: int) -> Iterator[tuple[str, int, int, float]]:
    """Excess of each part, with the origin of the standard deviations, number judged and number of the collection."""
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


def drawn_collection(unjudged: Collection, model: Model, code: int) -> Collection:
    """A collection of the same runs with grades drawn from a model before any judgment.

    Its standard deviations are drawn first. Gains lie on the levels where the model has them, correlated and with the
    tails of grades in the model.
    """
    pool, rng = build_pool(unjudged), np.random.default_rng([DRAWN, code])
    estimator, nothing = JointEstimator(pool, (model,)), np.full(len(pool.pairs), np.nan)
    held, grades = estimator.uncertainty, np.empty(len(pool.pairs))
    deviations = {name: float(np.exp(rng.normal(np.log(of), held.spread[name]))) for name, of in held.centre.items()}
    levels = np.zeros(len(estimator.predict(nothing).levels) - 1)
    lesson = estimator.learned | {"standard_deviations": deviations, "shape": levels}
    belief = estimator.resumed(nothing, lesson).predict(nothing)
    for rows, values in belief.draw(rng, 1):
        grades[rows] = values[0]
    judgments = (Judgment(*pair, grade=float(grade)) for pair, grade in zip(pool.pairs, grades, strict=True))
    return replace(unjudged, judgments=tuple(judgments))


def confidence(options: argparse.Namespace, model: Model) -> None:
    """Keep the errors of stated confidence."""
    rows, parts = [], options.parts or 5
    with Figures("drawn_collections") as figures:
        for name in options.only.split(","):
            found: dict[tuple[str, int], list[list[float]]] = {}
            for how, judged, code, value in excesses(name, model, options.draws, parts):
                by_draw = found.setdefault((how, judged), [[] for _ in range(options.draws)])
                by_draw[code].append(value)
            rows += [[f"{name}, {how}", *(_cell(np.array(found[how, judged])) for judged in AT)] for how in HOW]
        head = ["runs, standard deviations", *(f"{judged} judged" for judged in AT)]
        figures.table("stated less true confidence, and its spread between drawn collections", head, rows)


def measures(options: argparse.Namespace, model: Model) -> None:
    """Keep the errors of scores by other measures, and the coverage of their intervals."""
    names, parts = options.only.split(","), options.parts or 2
    head = ["runs, pairs judged", *(f"{judged} judged" for judged in AT)]
    with Figures("drawn_collections", "measures") as figures:
        found = {(name, rule): played(name, model, options.draws, parts, rule) for name in names for rule in RULES}
        for measure in SIMULATED:
            rows = [[", ".join(key), *(_cell(of[measure, at][0]) for at in AT)] for key, of in found.items()]
            figures.table(f"{measure}: expected less true scores, and their spread", head, rows)
            rows = [[", ".join(key), *(_held(of[measure, at][1:]) for at in AT)] for key, of in found.items()]
            figures.table(f"{measure}: 95 % intervals that hold a system's score, a difference", head, rows)
        rows = [
            [f"{name}, {measure}", *off(name, measure, found[name, "drawn"])] for name in names for measure in SIMULATED
        ]
        figures.table("real collections, in standard deviations of a drawn one", ["", *head[1:]], rows)


def played(name: str, model: Model, draws: int, parts: int, rule: str) -> dict[tuple[str, int], np.ndarray]:
    """(3, draws, parts) for each measure and number judged: bias, and shares of intervals that hold."""
    unjudged = replace(real([name])[name], judgments=())
    places = parts_of(name, unjudged, parts)
    found = {(measure, at): np.full((3, draws, parts), np.nan) for measure in SIMULATED for at in AT}
    for code in range(draws):
        drawn = drawn_collection(unjudged, model, code)
        for place, part in enumerate(places):
            mine = part.of(drawn)
            for measure, judged, seen in looks(mine, Start(model, "CG", selection_rule=RULES[rule])(mine, None), AT):
                if (measure, judged) in found:
                    held = [hold / max(1, of) for hold, of in (seen.inside[kind] for kind in CONSIDERED)]
                    found[measure, judged][:, code, place] = seen.bias, *held
    print(f"{name}, {rule}: {draws} collections", flush=True)
    return found


def off(name: str, measure: str, drawn: Mapping[tuple[str, int], np.ndarray]) -> list[str]:
    """Error on the real collection less the mean on drawn ones, in standard deviations of a drawn one."""
    tables = json.loads(RESULTS.read_text(encoding="utf-8"))["other_measures"]["tables"]
    rows = {row[0].partition(",")[0]: row[1:] for row in tables[f"{measure}: expected less true scores"]["rows"]}
    found = []
    for at, cell in zip(AT, rows[name], strict=True):
        bias, error = map(float, cell.split(" ± "))
        mean, own, spread = moments(drawn[measure, at][0])
        found.append(f"{(bias - mean) / np.sqrt(spread**2 + own**2 + error**2):+.1f}")
    return found


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("of", nargs="?", default="confidence", choices=["confidence", "measures"])
    parser.add_argument("--only", default="dl2019,ehealth2013,mirex2011", help="collections of which the runs are used")
    parser.add_argument("--draws", type=int, default=30, help="collections drawn")
    parser.add_argument("--parts", type=int, help="of each, at least two")
    options = parser.parse_args()
    model = replace(load_model("joint-fine"), training=None)
    with threadpool_limits(1):
        (confidence if options.of == "confidence" else measures)(options, model)


def moments(values: np.ndarray) -> tuple[float, float, float]:
    """Mean, its standard error, and spread between drawn collections, from (draws, parts)."""
    by_draw, within = values.mean(axis=1), values.var(axis=1, ddof=1).mean()
    spread = np.sqrt(max(0.0, by_draw.var(ddof=1) - within / values.shape[1]))
    return float(by_draw.mean()), float(by_draw.std(ddof=1) / np.sqrt(len(values))), float(spread)


def _cell(values: np.ndarray) -> str:
    mean, error, spread = moments(values)
    return f"{mean:+.3f} ± {error:.3f}, spread {spread:.3f}"


def _held(values: np.ndarray) -> str:
    """Mean share that holds, and standard deviation over the collections, from (2, draws, parts)."""
    return ", ".join(f"{of.mean():.2f} (sd {of.mean(axis=1).std(ddof=1):.2f})" for of in values)


if __name__ == "__main__":
    main()
