"""Statements about people who were not asked: panels drawn from collections with several judges, the others held out.

    python benchmarks/listeners.py [--panels 12] [--only real|simulated] [--check] [--figures]

The collections of ../shared/data/listeners name the assessor of each judgment. From each, panels of several people are
drawn, with the first of their judgments in random order; the mean opinion of the others is the truth. For each
statement the script prints the stated confidence, the share of pairs of systems in the right order, and the shares of
95 % intervals of scores and of differences that contain the truth. `known` takes the mean grade of a judged pair as its
value; `panel` and `listeners` are those of `audiosim estimate --about`; `others` is about as many people as were held
out. Deviations of people are learned from the other collections, see models/make_listeners.py. Panels of one collection
share its people and pairs, so standard errors over panels concern only this collection.

Then six simulated people judge mirex2011, which is fully judged: its grades are the truth. People add a severity (sd
.10 of the scale) and noise (sd .195; three times that for a careless one), and give the nearest grade of the scale. The
opinion of listeners at large is the mean of such grades over people and noise, not of what they feel.

With --check the exit code is 1 if the mean over collections, or over simulated panels, is off; see `faults`.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import mean_grades
from audiosim.joint.estimators import estimator_of
from audiosim.joint.fit import JudgeDeviations
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import Listeners, Panel
from audiosim.measures.measure import parse_measure
from audiosim.ranking.expected import expected_scores, rank
from audiosim.ranking.ranking import Ranking
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.layout import REST

# By collection, as shares of the scale: judge, judge x system, judge x query, noise. `models/make_listeners.py`
# prints them; the prior for a collection comes from the others.
FOUND = {
    "vcc2020-en": (0.097, 0.056, 0.025, 0.157),
    "sisec08": (0.038, 0.047, 0.050, 0.072),
    "dialsumm": (0.123, 0.052, 0.068, 0.172),
    "mqm23-zhen": (0.122, 0.021, 0.121, 0.174),
}
NAMES = ("judge", "judge_system", "judge_query", REST)
PANELS = {
    "vcc2020-en": (12, (300, 900)),
    "sisec08": (4, (100, 400)),
    "dialsumm": (2, (200, 600)),
    "mqm23-zhen": (4, (400,)),
}
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
OFF = 0.03  # largest error of stated confidence in the mean over collections
OFF_SIMULATED = 0.015  # the same for simulated panels
HELD = 0.91  # least share of 95 % intervals that must hold in the mean over collections
LEAST = 0.4  # least standard deviation of the logarithm of a deviation over collections


def prior_without(name: str) -> JudgeDeviations:
    """Deviations of people, from the other collections."""
    logarithms = np.log([found for other, found in FOUND.items() if other != name])
    middle, spread = logarithms.mean(axis=0), np.maximum(LEAST, logarithms.std(axis=0, ddof=1))
    spread *= np.sqrt(1 + 1 / len(logarithms))
    return JudgeDeviations(
        {one: (float(np.exp(m)), float(s)) for one, m, s in zip(NAMES, middle, spread, strict=True)}, ()
    )


def opinion(pool: Pool, panel: Panel, weights: Array) -> Array:
    """(s,) mean scores by these people's judgments; each system by the pairs judged by any of them."""
    counts = np.bincount(panel.place, minlength=len(pool.pairs))
    means = np.bincount(panel.place, panel.gain, len(pool.pairs)) / np.maximum(1, counts)
    seen = weights * (counts > 0)
    return np.asarray(seen @ means / seen.sum(axis=1) * weights.sum(axis=1))


def held(ranking: Ranking, truth: Array) -> Array:
    """(4,) stated confidence, share in the right order, shares of intervals of scores and differences that hold."""
    low, high = ranking.scores.interval()
    first, second = ranking.scores.pairs
    difference, (mean, variance) = truth[first] - truth[second], ranking.scores.differences
    right = np.where(difference == 0, 0.5, difference > 0).mean()
    inside = np.abs(difference - mean) <= ranking.scores.quantile(0.95) * np.sqrt(variance)
    return np.array([ranking.confidence or 1.0, right, np.mean((low <= truth) & (truth <= high)), inside.mean()])


def statements(
    name: str, collection: Collection, chosen: set[str], count: int, rng: np.random.Generator
) -> Iterator[tuple[str, Array]]:
    """Statements from a number of judgments by some people, compared with the others' opinions."""
    pool, expected = build_pool(collection, 1), expected_scores(parse_measure("CG@1"), build_pool(collection, 1))
    ours = [one for one in collection.judgments if one.assessor in chosen]
    said = [ours[place] for place in rng.permutation(len(ours))[:count]]
    others = Panel.of(pool, (one for one in collection.judgments if one.assessor not in chosen))
    estimator, panel = estimator_of(pool, "joint"), Panel.of(pool, said)
    assert isinstance(estimator, JointEstimator)
    weights = expected.slopes(estimator.predict(pool.spread({})))
    truth = opinion(pool, others, weights.toarray())
    model = estimator.panel_model(panel, prior_without(name))
    whose = {"panel": Listeners.of("panel", len(panel.judges)), "listeners": Listeners.of("listeners", 1)}
    whose["others"] = Listeners(0.0, 1 / len(others.judges))
    grades = pool.spread(mean_grades(said))
    known = expected.scores(estimator.relearned(grades).predict(grades))
    yield "known", held(rank(expected, "joint", known, count, "t", True), truth)
    for about, listeners in whose.items():
        scores = model.posterior(panel, listeners).project(weights)
        yield about, held(rank(expected, "joint", scores, count, "t", True), truth)


SEVERITY, NOISE, CARELESS, PEOPLE = 0.10, 0.195, 3.0, 6
FORMS = ("pair by pair", "one a query", "unbalanced")


def sayings(true: Array, rng: np.random.Generator, careless: bool) -> tuple[Array, Array]:
    """(p, n) answers of each of six simulated people about each pair, and (n,) the mean of listeners at large."""
    noise = NOISE * np.where(np.arange(PEOPLE) < careless, CARELESS, 1.0)
    felt = true + SEVERITY * rng.standard_normal((PEOPLE, 1))
    said = np.clip(felt + noise[:, None] * rng.standard_normal((PEOPLE, len(true))), 0, 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    at_large = np.clip(true[:, None] + np.hypot(SEVERITY, NOISE) * nodes, 0, 1) @ (weights / weights.sum())
    return said, at_large


def handed_out(pool: Pool, form: str, count: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Places of `count` pairs, and the judge of each."""
    if form == "one a query":
        queries, who = rng.permutation(len(pool.queries)), rng.integers(PEOPLE, size=len(pool.queries))
        place = np.concatenate([np.flatnonzero(pool.query == query) for query in queries])[:count]
        return place, who[pool.query[place]]
    shares = [1 / PEOPLE] * PEOPLE if form == "pair by pair" else [0.5, 0.2, 0.1, 0.1, 0.05, 0.05]
    return rng.permutation(len(pool.pairs))[:count], rng.choice(PEOPLE, count, p=shares)


Found = dict[str, dict[str, list[Array]]]  # by row and statement, for each panel: see `held`


def simulated(collection: Collection, panels: int) -> Found:
    """Statements about six simulated people, and about people like them, compared with their opinions."""
    pool, found = build_pool(collection, 5), Found()
    expected, estimator = expected_scores(parse_measure("CG@5"), pool), estimator_of(pool, "joint")
    assert isinstance(estimator, JointEstimator)
    true, weights = (
        pool.spread(collection.grades()) / pool.scale.maximum,
        expected.slopes(estimator.predict(pool.spread({}))),
    )
    for careless in (False, True):
        for form in FORMS:
            for count in (200, 600, 1500):
                row = f"{form}, {'one careless' if careless else 'none careless'}, {count:,}"
                for number in range(panels):
                    rng = np.random.default_rng(number)
                    said, at_large = sayings(true, rng, careless)
                    place, judge = handed_out(pool, form, count, rng)
                    used, judge = np.unique(judge, return_inverse=True)
                    panel = Panel(tuple(map(str, used)), place, judge, said[used[judge], place])
                    model, truths = estimator.panel_model(panel), (said[used].mean(axis=0), at_large)
                    for about, truth in zip(("panel", "listeners"), truths, strict=True):
                        people = Listeners.of(about, len(used))
                        scores = model.posterior(panel, people).project(weights)
                        ranking = rank(expected, "joint", scores, count, "t", True)
                        found.setdefault(row, {}).setdefault(about, []).append(held(ranking, weights @ truth))
                show(row, found[row])
    return found


def real(panels: int) -> Found:
    """Statements from panels of real people, compared with the others' opinions."""
    found = Found()
    for name, (size, counts) in PANELS.items():
        collection = Collection.load(DATA / "listeners" / name)
        people = sorted({one.assessor for one in collection.judgments})
        for count in counts:
            rng, row = np.random.default_rng(0), f"{name}, {size} people, {count:,}"
            for _ in range(panels):
                chosen = set(rng.choice(people, size, replace=False).tolist())
                for about, values in statements(name, collection, chosen, count, rng):
                    found.setdefault(row, {}).setdefault(about, []).append(values)
            show(row, found[row])
    return found


def show(row: str, of: Mapping[str, Sequence[Array]]) -> None:
    """Print each statement's mean over some panels."""
    for about, values in of.items():
        stated, right, scores, differences = np.mean(values, axis=0)
        print(f"{row:40} {about:10} {stated:6.3f} {right:5.3f} {scores:6.2f} {differences:11.2f}", flush=True)


def told(values: Sequence[Array]) -> str:
    """Means over panels as a cell: stated less right, and shares of intervals that hold, with standard errors."""
    means, errors = with_errors(values)
    return f"{means[0]:+.3f} ± {errors[0]:.3f}; {means[1]:.2f} ± {errors[1]:.2f}, {means[2]:.2f} ± {errors[2]:.2f}"


def with_errors(values: Sequence[Array]) -> tuple[Array, Array]:
    """(3,) means over panels of stated less right and of shares of intervals that hold, and standard errors."""
    rows = np.array([[stated - right, scores, differences] for stated, right, scores, differences in values])
    return rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))


def faults(kind: str, found: Found) -> list[str]:
    """Faults: means over rows that are off by more than their limit and two standard errors, one per line.

    For real panels, statements about as many people as were held out; for simulated ones, both kinds of statements.
    """
    wrong = []
    for about in ("others",) if kind == "real" else ("panel", "listeners"):
        means, errors = map(np.array, zip(*(with_errors(of[about]) for of in found.values()), strict=True))
        (excess, *shares), (doubt, *doubts) = means.mean(axis=0), 2 * np.sqrt((errors**2).sum(axis=0)) / len(means)
        line = f"{kind}, about {about}: stated less right {excess:+.3f}, {shares[0]:.3f} and {shares[1]:.3f} hold"
        print(f"mean over {len(means)} rows, {line}", flush=True)
        off = abs(excess) > (OFF if kind == "real" else OFF_SIMULATED) + doubt
        if off or any(share < HELD - more for share, more in zip(shares, doubts, strict=True)):
            wrong.append(line)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=12)
    parser.add_argument("--only", choices=["real", "simulated"])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a statement is off")
    parser.add_argument("--figures", action="store_true", help="keep the results in results.json")
    asked, wrong = parser.parse_args(), list[str]()
    if not DATA.is_dir():
        print(f"{DATA} is missing: there are no panels to compare with")
        return
    for kind in ("real", "simulated") if asked.only is None else (asked.only,):
        print(f"{kind:40} {'about':10} stated  true scores differences")
        with threadpool_limits(1):
            one = real(asked.panels) if kind == "real" else simulated(Collection.load(DATA / "mirex2011"), asked.panels)
        wrong += faults(kind, one)
        if asked.figures:
            kinds = list(next(iter(one.values())))
            cells = [[row, *(told(of[about]) for about in kinds)] for row, of in one.items()]
            with Figures("listeners", kind) as figures:
                title = "stated less right; 95 % intervals of scores, of differences, that hold"
                figures.table(title, [f"{asked.panels} panels each", *kinds], cells)
    for line in wrong:
        print(f"NOT AS STATED  {line}")
    sys.exit(1 if wrong and asked.check else 0)


if __name__ == "__main__":
    main()
