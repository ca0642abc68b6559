"""Results of judging at random, with and without predictions, beside campaigns of `joint`: at equal budgets.

    python benchmarks/peers.py [--parts 8] [--only NAMES] [--by joint,shrunken]

The parts of benchmarks/calibration.py, documents unknown, the source of the collection left out. At 50, 100 and 200
judged pairs: the share of pairs of systems in their true order, of 95 % intervals of a system's score those that hold
it, and their mean half width, by

    joint     audiosim as it is, pairs drawn by its rule
    at random pairs judged at random:
      shrunken  mean of a system's judged documents and three of the mean of all
      t         mean of a system's judged documents, t-interval
      ppi       prediction-powered inference (Angelopoulos et al. 2023), by ppi-python, which need not be installed;
                what is predicted is a line in ln(number of teams), fitted to the judged pairs
      cje       Causal Judge Evaluation, by cje-eval, which need not be installed; the judge scores ln(number of teams)
    mjud, mout  models of the thesis by its own rule `differences`, on scales that it has coefficients for

A system with fewer judged documents than its method needs is put at the mean of all, and has no interval. Where only
some of them are asked for, their figures are kept by themselves.
"""

import argparse
import importlib
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from calibration import SOURCES, Start, between_all, parts_of, real
from figures import Figures
from scipy import stats
from threadpoolctl import threadpool_limits

from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import Pool, build_pool
from audiosim.measures.measure import parse_measure
from audiosim.relevance.consensus import log_teams
from audiosim.relevance.estimators import built_in
from audiosim.relevance.published import load_model
from audiosim.selection import Selection
from audiosim.simulation.trials import selections
from audiosim.training.between_collections import learn_between

BUDGETS = (50, 100, 200)
SCALES = ("broad", "fine")  # that the thesis has coefficients for
FEWEST = 3  # judged documents of a system that an interval needs
PEERS = ("joint", "shrunken", "t", "ppi", "cje", "mjud", "mout")
HOME = ("mirex2011",)  # the collection that is no foreign one
PSEUDO = 3.0  # judgments' worth of the mean of all
Scores = tuple[np.ndarray, np.ndarray]  # (s,) of the systems, and (s,) half widths of 95 % intervals, NaN where none


def accuracies(scores: Scores, truth: np.ndarray) -> list[float]:
    """Share of right orders, of intervals that hold the truth, and mean half width of these."""
    mean, half = scores
    first, second = np.triu_indices(len(truth), 1)
    right = (1 + np.sign(truth[first] - truth[second]) * np.sign(mean[first] - mean[second])) / 2
    there = np.isfinite(half)
    holds = np.abs(mean - truth)[there] <= half[there]
    return [float(right.mean()), *((float(holds.mean()), float(half[there].mean())) if there.any() else (np.nan,) * 2)]


def shrunken(gains: np.ndarray, lists: np.ndarray, seen: np.ndarray, *_: object) -> Scores:
    """Mean of the judged documents and PSEUDO of the mean of all."""
    counts, overall = (lists & seen).sum(axis=1), gains[seen].mean()
    sums = (lists & seen) @ np.where(seen, gains, 0)
    return (sums + PSEUDO * overall) / (counts + PSEUDO), np.full(len(lists), np.nan)


def by_t(gains: np.ndarray, lists: np.ndarray, seen: np.ndarray, *_: object) -> Scores:
    """Mean of the judged documents with its t-interval."""

    def one(own: np.ndarray) -> tuple[float, float]:
        return float(own.mean()), float(stats.t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own)))

    return _each(gains, lists, seen, lambda inside: one(gains[inside & seen]))


def by_ppi(gains: np.ndarray, lists: np.ndarray, seen: np.ndarray, predicted: np.ndarray, *_: object) -> Scores:
    """Prediction-powered inference of each system's mean."""
    ppi = importlib.import_module("ppi_py")
    line = np.polyfit(predicted[seen], gains[seen], 1) if np.ptp(predicted[seen]) > 0 else [0.0, gains[seen].mean()]
    guess = np.polyval(line, predicted)

    def one(inside: np.ndarray) -> tuple[float, float]:
        own, others = inside & seen, inside & ~seen
        if others.sum() < FEWEST:
            return by_t(gains, inside[None], seen)[0][0], np.nan
        low, high = (float(np.ravel(end)[0]) for end in ppi.ppi_mean_ci(gains[own], guess[own], guess[others]))
        return (low + high) / 2, (high - low) / 2

    return _each(gains, lists, seen, one)


def by_cje(
    gains: np.ndarray, lists: np.ndarray, seen: np.ndarray, predicted: np.ndarray, query: np.ndarray, *_: object
) -> Scores:
    """Causal Judge Evaluation: each system a policy, each query a prompt, each retrieved document a draw."""
    cje = importlib.import_module("cje")
    logging.disable(logging.WARNING)
    draws = {
        f"s{code}": [
            {
                "prompt_id": f"q{query[pair]}",
                "judge_score": float(predicted[pair]),
                "oracle_label": float(gains[pair]) if seen[pair] else None,
                "draw_idx": rank,
            }
            for rank, pair in enumerate(np.flatnonzero(inside).tolist())
        ]
        for code, inside in enumerate(lists)
    }
    found = cje.analyze_dataset(fresh_draws_data=draws)
    order = [int(name[1:]) for name in found.metadata["target_policies"]]
    low, high = (np.asarray(ends, dtype=float) for ends in zip(*found.ci(), strict=True))
    mean, half = np.full(len(lists), gains[seen].mean()), np.full(len(lists), np.nan)
    mean[order], half[order] = found.estimates, (high - low) / 2
    return mean, half


def _each(
    gains: np.ndarray, lists: np.ndarray, seen: np.ndarray, one: Callable[[np.ndarray], tuple[float, float]]
) -> Scores:
    enough = (lists & seen).sum(axis=1) >= FEWEST
    rows = [one(inside) if there else (gains[seen].mean(), np.nan) for inside, there in zip(lists, enough, strict=True)]
    return np.array([mean for mean, _ in rows]), np.array([half for _, half in rows])


def peers(asked: Sequence[str]) -> dict[str, Callable[..., Scores]]:
    """Those asked for that judge at random and are installed, by name."""
    own: dict[str, Callable[..., Scores]] = {"shrunken": shrunken, "t": by_t}
    found = {name: peer for name, peer in own.items() if name in asked}
    others = (("ppi", "ppi_py", by_ppi), ("cje", "cje", by_cje))
    for name, module, peer in (other for other in others if other[0] in asked):
        try:
            importlib.import_module(module)
            found[name] = peer
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return found


def at_random(pool: Pool, gains: np.ndarray, code: int, known: Mapping[str, Callable[..., Scores]]) -> dict:
    """Results of each peer at each budget."""
    lists, order = np.asarray(pool.retrieved.toarray()) > 0, np.random.default_rng([0, code]).permutation(len(gains))
    truth, predicted = np.array([gains[row].mean() for row in lists]), log_teams(pool)
    found = {}
    for budget in BUDGETS:
        seen = np.isin(np.arange(len(gains)), order[:budget])
        for name, peer in known.items():
            found[name, budget] = accuracies(peer(gains, lists, seen, predicted, pool.query), truth)
    return found


def campaigned(start: Selection, grades: np.ndarray, name: str) -> dict:
    """Results of a campaign at each budget."""
    found, truth = {}, start.expected.scores(start.belief.certain(grades)).mean
    for state in selections(start, grades):
        if state.judged in BUDGETS:
            half = state.ranking.quantile(0.95) * np.sqrt(state.scores.variance)
            found[name, state.judged] = accuracies((state.scores.mean, half), truth)
        if state.judged >= BUDGETS[-1]:
            break
    return found


def played(
    part: Collection, away: Start, code: int, known: Mapping[str, Callable[..., Scores]], asked: Sequence[str]
) -> dict:
    """Every figure of one part."""
    start = away(part, None)
    pool, grades = start.pool, start.pool.spread(part.grades())
    found = campaigned(start, grades, "joint") | at_random(pool, grades / pool.scale.maximum, code, known)
    if pool.scale.name in SCALES:
        for name in (name for name in ("mjud", "mout") if name in asked):
            own = build_pool(part)
            measure = parse_measure(f"CG@{own.cutoff}")
            begun = Selection.start(own, measure, built_in(own, f"{name}-{pool.scale.name}"), rule="differences")
            found |= campaigned(begun, grades, name)
    return found


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--only", default="", help="collections, with commas")
    parser.add_argument("--by", default="", help="methods, with commas, joint among them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    asked = options.by.split(",") if options.by else PEERS
    model, estimates, known = load_model("joint-fine"), between_all(), peers(asked)
    results: dict[str, dict[tuple[str, int], np.ndarray]] = {}
    with Figures("peers", " ".join(asked) if options.by else "") as figures, threadpool_limits(1):
        for name, collection in real([name for name in options.only.split(",") if name]).items():
            between = learn_between([one for one in estimates if one.source != SOURCES[name]])
            away = Start(replace(model, between=between, training=None), "CG")
            rows: dict[tuple[str, int], list[list[float]]] = {}
            for code, part in enumerate(parts_of(name, collection, options.parts)):
                for key, values in played(part.of(collection), away, code, known, asked).items():
                    rows.setdefault(key, []).append(values)
            results[name] = {key: np.array(values) for key, values in rows.items()}
            print(f"{name}: {len(rows['joint', BUDGETS[0]])} parts", flush=True)
        tables(figures, results)


def tables(figures: Figures, results: Mapping[str, Mapping[tuple[str, int], np.ndarray]]) -> None:
    """Keep a table of each kind of figure, three to a cell for the budgets.

    results  by collection; of each peer and budget (parts, 3), see `told`
    """
    found = [peer for peer in PEERS if any((peer, BUDGETS[0]) in of for of in results.values())]
    at = ", ".join(map(str, BUDGETS))
    titles = ("pairs of systems in their true order", "95 % intervals that hold the score", "half width of intervals")
    for column, (title, digits) in enumerate(zip(titles, (3, 2, 3), strict=True)):
        rows = []
        for name, of in results.items():
            cells = [_cell([of.get((peer, budget)) for budget in BUDGETS], column, digits) for peer in found]
            rows.append([f"{name}, {len(of['joint', BUDGETS[0]])} parts", *cells])
        figures.table(f"{title}, at {at} judged", ["", *found], rows)
    for budget in BUDGETS:
        above = {name: (of["joint", budget] - of["shrunken", budget])[:, 0] for name, of in results.items()}
        foreign = [values for name, values in above.items() if name not in HOME]
        if foreign:
            error = np.sqrt(sum(values.var(ddof=1) / len(values) for values in foreign)) / len(foreign)
            mean = np.mean([values.mean() for values in foreign])
            said = f"joint above shrunken means, foreign collections, {budget} judged"
            figures.add(said, mean, "", 0.08, f"± {error:.3f}", least=True)


def _cell(values: list[np.ndarray | None], column: int, digits: int) -> str:
    """Means over the parts, one for each budget; empty where there are none."""
    means = [np.nan if one is None else np.nanmean(one[:, column]) for one in values if one is not None]
    return " ".join("" if np.isnan(mean) else f"{mean:.{digits}f}" for mean in means)


if __name__ == "__main__":
    main()
