"""Are statements about queries of this kind true on other queries? Stated on one half, checked on the other half.

    python benchmarks/halves.py [--draws 4] [--full 100] [--only mirex2011,dl2019]

The collections of ../shared/data, with unknown documents, each with a model learned without its source. The queries are
split at random. One half is judged by the usual rule, and the order of the systems on it is compared with the scores on
the other half, judged in full: with AT pairs judged, and with all judged, where no model is involved, on FULL halves.

    these           mean confidence about these queries, as stated about the judged half
    of this kind    the same about queries of this kind
    another sample  the mean chance that another sample of as many queries has the same order, see `on_another_sample`
    flat            the same if nothing is known of the size of differences, so that none regresses to the mean:
                    Var = Var[mean d | judgments] + 2 E[sample variance of d | judgments] / queries
    right           share of the pairs of systems that have the same order on the other half
    .95 or more     share of the pairs stated at .95 or more about queries of this kind, and how many of these, of 100,
                    are reversed on the other half; then the same for pairs so stated about another sample

Most of the doubt about a mean of six comes from differences between collections: its standard error is over
collections.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from calibration import Start, between_all, model_for, real
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import queries_of
from audiosim.joint.estimators import uniform
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection
from audiosim.ranking.about import OF_THIS_KIND
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.two_systems import on_another_sample
from audiosim.simulation import draw_parts
from audiosim.simulation.replay import right
from audiosim.simulation.trials import Part, selections
from audiosim.stats.normal.multivariate import Moments

AT = (0, 50, 100, 200)
ALL = -1  # judged
BATCH = 20
SURE = 0.95
OFF = 0.03  # largest error of statements about another sample, for the mean over collections
REVERSED = 4.0  # largest number of reversed verdicts, of 100 at SURE
Row = tuple[float, ...]


def flat(ranking: Ranking) -> Ranking:
    """The ranking about another sample of as many queries of this kind, without a prior of differences."""
    moments = Moments(ranking.scores.mean, ranking.scores.covariance + ranking.sampling)
    return replace(ranking, scores=moments)


def beside(ranking: Ranking, scores: np.ndarray) -> Row:
    """Statements of a ranking about queries of this kind, compared with the scores (s,) on the other half.

    these, of this kind, another sample, flat, right; then, for verdicts about queries of this kind and on another
    sample, the share stated SURE, and the share stated so and reversed
    """
    held, open_ = right(ranking, scores), ~ranking.tied
    again = on_another_sample(ranking)
    row = [ranking.of_these.confidence, ranking.confidence, again[open_].mean(), flat(ranking).confidence]
    row.append(held[open_].mean())
    for stated in (ranking.confidences, again):
        sure = (stated >= SURE) & open_
        row += [sure.sum() / open_.sum(), (held[sure] == 0).sum() / open_.sum()]
    return tuple(map(float, row))


def moments_of(start: Selection, grades: np.ndarray) -> Iterator[tuple[int, Ranking]]:
    """Rankings about queries of this kind with AT judged."""
    for state in selections(start, grades):
        if state.judged in AT:
            yield state.judged, state.stated(OF_THIS_KIND)
        if state.judged >= max(AT):
            return


def true_scores_of(collection: Collection, systems: tuple[str, ...]) -> np.ndarray:
    """(s,) mean scores of systems, in this order, on a fully judged collection."""
    pool = build_pool(collection)
    grades = pool.spread(collection.grades()) / pool.scale.maximum
    share = np.asarray(pool.retrieved @ grades) / pool.cutoff / len(pool.queries)
    by_name = dict(zip(pool.systems, share.tolist(), strict=True))
    return np.array([by_name[name] for name in systems])


def played(collection: Collection, model: Model, draws: int, full: int) -> dict[int, np.ndarray]:
    """(draws, 9) figures for each number of judgments, (full, 9) with all judged: see `beside`."""
    half = len(queries_of(collection.runs)) // 2
    parts = draw_parts(collection, max(draws, full), np.random.default_rng(0), queries=half, held_out="queries")
    found: dict[int, list[Row]] = {}
    for code, part in enumerate(parts[:draws]):
        judged = part.of(collection)
        start = replace(Start(model, "CG")(judged, None), batch=BATCH)
        truth = true_scores_of(part.rest(collection), start.pool.systems)
        for at, ranking in moments_of(start, start.pool.spread(judged.grades())):
            found.setdefault(at, []).append(beside(ranking, truth))
        print(f"  half {code + 1} of {draws}", flush=True)
    found[ALL] = [_judged_in_full(collection, part) for part in parts[:full]]
    return {at: np.array(rows) for at, rows in found.items()}


def _judged_in_full(collection: Collection, part: Part) -> Row:
    judged = part.of(collection)
    pool = build_pool(judged)
    start = Selection.start(pool, parse_measure(f"CG@{pool.cutoff}"), uniform(pool), judged.judgments)
    return beside(start.stated(OF_THIS_KIND), true_scores_of(part.rest(collection), pool.systems))


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--full", type=int, default=100)
    parser.add_argument("--only", default="", help="collections, with commas")
    options = parser.parse_args()
    model, estimates, results = load_model("joint-fine"), between_all(), {}
    with Figures("halves") as figures, threadpool_limits(1):
        for name, collection in real([name for name in options.only.split(",") if name]).items():
            print(name, flush=True)
            results[name] = played(collection, model_for(name, model, estimates), options.draws, options.full)
        for at in (*AT, ALL):
            _table(figures, "all" if at == ALL else str(at), {name: of[at] for name, of in results.items()})


def _table(figures: Figures, at: str, found: dict[str, np.ndarray]) -> None:
    columns = [
        "",
        "these",
        "of this kind",
        "another sample",
        "flat",
        "right",
        ".95 or more",
        "of 100 the other way round",
    ]
    columns += ["of another sample .95 or more", "of 100 of these"]
    rows = []
    for name, of in found.items():
        *stated, sure, other_way, again, again_other_way = of.mean(axis=0).tolist()
        shares = (
            sure,
            100 * other_way / sure if sure else None,
            again,
            100 * again_other_way / again if again else None,
        )
        rows.append([f"{name}, {len(of)} halves", *stated, *shares])
    figures.table(f"{at} judged", columns, rows)
    excess = np.array([of[:, 2].mean() - of[:, 4].mean() for of in found.values()])
    error = float(np.std(excess, ddof=1)) / len(excess) ** 0.5 if len(excess) > 1 else float("nan")
    note = f"{excess.mean():+.3f} +- {error:.3f}"
    figures.add(f"stated of another sample less right, {at} judged", abs(float(excess.mean())), "", OFF, note)
    sure, other_way, again, again_other_way = np.mean(
        [of[:, 5:].mean(axis=0) for of in found.values()], axis=0
    ).tolist()
    if sure:
        figures.add(f"verdicts the other way round, of 100, {at} judged", 100 * other_way / sure, "", REVERSED)
    if again:
        figures.add(
            f"stated of another sample, the other way round, {at} judged", 100 * again_other_way / again, "", REVERSED
        )


if __name__ == "__main__":
    main()
