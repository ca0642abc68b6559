"""Are statements about queries of this kind true on other queries? Stated on one half, held against the other half.

    python benchmarks/halves.py [--draws 4] [--only mirex2011,dl2019]

The collections of ../shared/data, documents unknown, each with a model learned without its source. The queries are
split at random; one half is judged by the usual rule, and the order of the systems on it is held against the scores of
the other half, judged in full, with AT pairs judged and with all.

    these           mean confidence about these queries, as is stated about the half that is judged
    of this kind    the same about queries of this kind
    another half    stated of another sample of as many queries, whose own chance counts too:
                    Var = Var[mean d | judgments] + 2 E[sample variance of d | judgments] / queries
    right           share of the pairs of systems in the order that they have on the other half
    .95 or more     share of the pairs that are stated so about queries of this kind, and how many of these, of 100, are
                    the other way round on the other half
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from calibration import Start, between_all, model_for, real
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import build_pool
from audiosim.expected.about import OF_THIS_KIND
from audiosim.expected.ranking import Ranking
from audiosim.relevance.published import Model, load_model
from audiosim.selection import Selection
from audiosim.simulation import draw_parts
from audiosim.simulation.parts import queries_of
from audiosim.simulation.replay import right
from audiosim.simulation.trials import selections
from audiosim.stats.multivariate import Moments

AT = (0, 50, 100, 200)
ALL = -1  # judged
BATCH = 20
SURE = 0.95
OFF = 0.03  # most that what is stated of another half may be off, in the mean of collections
REVERSED = 4.0  # most, of 100 verdicts at SURE, that may be the other way round
Row = tuple[float, float, float, float, float, float]


def of_another_sample(ranking: Ranking) -> Ranking:
    """The ranking, about queries of this kind, of another sample of as many of them."""
    moments = Moments(ranking.scores.mean, ranking.scores.covariance + ranking.sampling)
    return replace(ranking, scores=moments)


def beside(ranking: Ranking, scores: np.ndarray) -> Row:
    """Statements of a ranking about queries of this kind beside the scores (s,) of the other half.

    these, of this kind, of another half, right, share stated SURE, share stated so and the other way round
    """
    held, open_ = right(ranking, scores), ~ranking.tied
    stated = (ranking.of_these, ranking, of_another_sample(ranking))
    sure = (ranking.confidences >= SURE) & open_
    other_way = (held[sure] == 0).sum()
    return (
        *(one.confidence for one in stated),
        float(held[open_].mean()),
        sure.sum() / open_.sum(),
        other_way / open_.sum(),
    )


def moments_of(start: Selection, grades: np.ndarray) -> Iterator[tuple[int, Ranking]]:
    """Rankings about queries of this kind with AT judged, and with all."""
    for state in selections(start, grades):
        if state.judged in AT:
            yield state.judged, state.stated(OF_THIS_KIND)
        if state.judged >= max(AT):
            break
    everything = np.flatnonzero(~state.belief.judged)
    yield ALL, state.judge_all(everything, grades[everything]).stated(OF_THIS_KIND)


def true_scores_of(collection: Collection, systems: tuple[str, ...]) -> np.ndarray:
    """(s,) mean scores on a collection that is judged in full, of systems in this order."""
    pool = build_pool(collection)
    grades = pool.spread(collection.grades()) / pool.scale.maximum
    share = np.asarray(pool.retrieved @ grades) / pool.cutoff / len(pool.queries)
    by_name = dict(zip(pool.systems, share.tolist(), strict=True))
    return np.array([by_name[name] for name in systems])


def played(collection: Collection, model: Model, draws: int) -> dict[int, np.ndarray]:
    """(draws, 6) figures of each number of judgments: see `beside`."""
    half = len(queries_of(collection)) // 2
    parts = draw_parts(collection, draws, np.random.default_rng(0), queries=half, held_out="queries")
    found: dict[int, list[Row]] = {}
    for code, part in enumerate(parts):
        judged, other = part.of(collection), part.rest(collection)
        start = replace(Start(model, "CG")(judged, None), batch=BATCH)
        truth = true_scores_of(other, start.pool.systems)
        for at, ranking in moments_of(start, start.pool.spread(judged.grades())):
            found.setdefault(at, []).append(beside(ranking, truth))
        print(f"  half {code + 1} of {draws}", flush=True)
    return {at: np.array(rows) for at, rows in found.items()}


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--only", default="", help="collections, with commas")
    options = parser.parse_args()
    model, estimates, results = load_model("joint-fine"), between_all(), {}
    with Figures("halves") as figures, threadpool_limits(1):
        for name, collection in real([name for name in options.only.split(",") if name]).items():
            print(name, flush=True)
            results[name] = played(collection, model_for(name, model, estimates), options.draws)
        for at in (*AT, ALL):
            _table(figures, "all" if at == ALL else str(at), {name: of[at] for name, of in results.items()})


def _table(figures: Figures, at: str, found: dict[str, np.ndarray]) -> None:
    columns = ["", "these", "of this kind", "another half", "right", ".95 or more", "of 100 the other way round"]
    rows = []
    for name, of in found.items():
        these, kind, another, true, sure, other_way = of.mean(axis=0).tolist()
        share = 100 * other_way / sure if sure else None
        rows.append([f"{name}, {len(of)} halves", these, kind, another, true, sure, share])
    figures.table(f"{at} judged", columns, rows)
    excess = float(np.mean([of[:, 2].mean() - of[:, 3].mean() for of in found.values()]))
    figures.add(f"stated of another half less right, {at} judged", abs(excess), "", OFF, f"{excess:+.3f}")
    sure, other_way = np.mean([of[:, 4:].mean(axis=0) for of in found.values()], axis=0).tolist()
    if sure:
        figures.add(f"verdicts the other way round, of 100, {at} judged", 100 * other_way / sure, "", REVERSED)


if __name__ == "__main__":
    main()
