"""Honesty of scores by nDCG, RBP, ERR, P and AP, from drawn grades: on each collection, and at home.

    python benchmarks/other_measures.py [--parts 8] [--only dl2019,home] [--at 50,100,200]
    python benchmarks/other_measures.py --random --parts 12 --at 20,50

The campaigns are those of benchmarks/calibration.py, with pairs chosen for CG; at some moments each measure is applied
to the same belief. Away from home, the source of the collection is left out and nothing is known about its documents;
home is MIREX 2011 with the model of the other half of its queries. The alikeness of documents in a list is measured by
the standard deviation, over systems and queries, of the share of relevant documents: only AP, of these measures, grows
with it. --random judges pairs of the whole collection at random, as people without `next` do, by the model as shipped.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from calibration import DRAWS, Start, between_all, learned, model_for, parts_of, real
from figures import Figures
from scipy import sparse
from threadpoolctl import threadpool_limits

from audiosim import estimate
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Scale
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection
from audiosim.ranking.expected import expected_scores
from audiosim.simulation.calibration import Observation, Truth, mean_and_error
from audiosim.simulation.trials import selections

HOME = "home"
MEASURES = ("CG", "nDCG", "RBP", "ERR", "P", "AP")
BINARY = ("P", "AP")
LEAST = {"fine": 40.0}  # grade from which a document is relevant, by scale; for others the middle
CONSIDERED = ("systems", "differences")
LISTS = "lists"
Spread = tuple[float, float]  # standard deviation over lists of the share of relevant documents: expected, true
Row = tuple[str, int, Observation | Spread]  # measure or LISTS, pairs judged


def least_of(scale: Scale) -> float:
    """Grade from which a document is relevant."""
    return LEAST.get(scale.name, scale.levels[len(scale.levels) // 2])


def measures_of(collection: Collection, cutoff: int) -> list[str]:
    """Names of the measures."""
    least = least_of(collection.scale)
    return [f"{name}(min={least:g})@{cutoff}" if name in BINARY else f"{name}@{cutoff}" for name in MEASURES]


def spread_of_lists(state: Selection, grades: np.ndarray) -> Spread:
    """Standard deviation over lists of the relevant share, expected and by the true grades (n,)."""
    pool, least = state.pool, least_of(state.pool.scale)
    cells = pool.retrieved.tocoo()
    lists = sparse.csr_array((np.ones(cells.nnz), (cells.row * len(pool.queries) + pool.query[cells.col], cells.col)))
    lists = lists[np.flatnonzero(lists.sum(axis=1))]
    drawn = np.empty((DRAWS, len(grades)))
    for rows, values in state.belief.draw(np.random.default_rng(0), DRAWS):
        drawn[:, rows] = values
    expected, true = (np.sqrt(np.var(lists @ (of >= least).T, axis=0).mean()) for of in (drawn, grades[None]))
    return float(expected / pool.cutoff), float(true / pool.cutoff)


def looks(part: Collection, start: Selection, at: Sequence[int]) -> Iterator[Row]:
    """Statements of a campaign at some moments, by each measure, with the truth."""
    grades = start.pool.spread(part.grades())
    written = measures_of(part, start.pool.cutoff)
    expected = {word: expected_scores(parse_measure(word), start.pool, draws=DRAWS) for word in written}
    truths: dict[str, Truth] = {}
    for state in selections(start, grades):
        if state.judged in at:
            for name, (word, one) in zip(MEASURES, expected.items(), strict=True):
                seen = replace(state, expected=one, scores=one.scores(state.belief))
                truth = truths.setdefault(word, Truth.of(seen, grades))
                yield name, state.judged, truth.beside(seen)
            yield LISTS, state.judged, spread_of_lists(state, grades)
        if state.judged >= max(at):
            return


def played(name: str, collection: Collection, model: Model, parts: int, at: Sequence[int]) -> list[Row]:
    """All looks at some parts."""
    found: list[Row] = []
    learn = partial(learned, model.between) if name == HOME else None
    for part in parts_of(name, collection, parts, home=name == HOME):
        own = None if learn is None else learn(part.rest(collection))
        mine = part.of(collection)
        found += looks(mine, Start(model, "CG")(mine, own), at)
    return found


def randomly_judged(collection: Collection, draws: int, at: Sequence[int]) -> Iterator[list[str]]:
    """Rows of expected less true scores after some random judgments, by each measure at cutoff 5."""
    for written in ("CG@5", "nDCG@5", "AP@5"):
        truth = estimate(collection, model="joint", measure=written).scores.mean
        pool = build_pool(collection, 5)
        inside = [one for one in collection.judgments if one.pair in pool.positions]
        row = [written, f"{truth.mean():.3f}"]
        for count in at:
            off = list[float]()
            for seed in range(draws):
                some = np.random.default_rng(seed).permutation(len(inside))[:count]
                part = replace(collection, judgments=tuple(inside[place] for place in some))
                off.append(float((estimate(part, model="joint", measure=written).scores.mean - truth).mean()))
            row.append(_with_error(off))
        yield row


def tables(figures: Figures, results: Mapping[str, Sequence[Row]], at: Sequence[int]) -> None:
    """Keep the overall error of scores, coverage of intervals and excess confidence for each measure."""
    head = ["", *(f"{count} judged" for count in at)]
    titles = (("expected less true scores", _bias), ("95 % intervals", _held), ("excess", _excess))
    kinds = [(measure, f"{measure}: {title}", cell) for measure in MEASURES for title, cell in titles]
    for kind, title, cell in (*kinds, (LISTS, "spread of the relevant shares of lists, expected, true", _spread)):
        rows = []
        for name, of in results.items():
            seen = [[one for what, judged, one in of if (what, judged) == (kind, count)] for count in at]
            rows.append([f"{name}, {len(seen[0])} parts", *map(cell, seen)])
        figures.table(title, head, rows)


def _with_error(values: Sequence[float]) -> str:
    found: dict[str, Any] = mean_and_error("value", values)
    return f"{found['value']:+.3f} ± {found['value_error'] or 0:.3f}"


def _bias(seen: Sequence[Observation]) -> str:
    return _with_error([one.bias for one in seen])


def _excess(seen: Sequence[Observation]) -> str:
    return _with_error([float(one.stated.mean() - one.right.mean()) for one in seen])


def _held(seen: Sequence[Observation]) -> str:
    counts = (np.sum([one.inside[kind] for one in seen], axis=0) for kind in CONSIDERED)
    return ", ".join(f"{hold / of:.2f}" for hold, of in counts)


def _spread(seen: Sequence[Spread]) -> str:
    expected, true = np.array(seen).T
    return f"{expected.mean():.3f}, {true.mean():.3f}: {_with_error(expected - true)}"


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--only", default="", help=f"collections, with commas; {HOME} is MIREX 2011 at home")
    parser.add_argument("--at", default="50,100,200", help="numbers of judged pairs to look at")
    parser.add_argument("--random", action="store_true", help="judge pairs at random")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    at = [int(count) for count in options.at.split(",")]
    asked = {name: one for name, one in real([]).items() if not names or name in names}
    if options.random:
        with Figures("other_measures", "random") as figures, threadpool_limits(1):
            rows = [[name, *row] for name, one in asked.items() for row in randomly_judged(one, options.parts, at)]
            head = ["", "measure", "true score", *(f"after {count}" for count in at)]
            figures.table(f"expected less true scores, pairs judged at random, {options.parts} draws", head, rows)
        return
    model, estimates = load_model("joint-fine"), between_all()
    asked |= {HOME: real(["mirex2011"], known=True)["mirex2011"]} if not names or HOME in names else {}
    results = {}
    with Figures("other_measures", HOME if names == [HOME] else "") as figures, threadpool_limits(1):
        for name, collection in asked.items():
            own = model if name == HOME else model_for(name, model, estimates)
            results[name] = played(name, collection, own, options.parts, at)
            print(f"{name}: {options.parts} parts", flush=True)
        tables(figures, results, at)


if __name__ == "__main__":
    main()
