"""Write listeners/deviations.json: how much people who judge differ, over collections judged by several.

    python models/make_listeners.py COLLECTION ...
    python models/make_listeners.py --comparisons COLLECTION ...

COLLECTION is a folder whose judgments.tsv names the assessor of each judgment. Only deviations are kept: of each
collection those of severity, taste (person x system), person x query and noise, as shares of the scale. The file has a
log-normal distribution of each for one more collection: the mean of the logarithms, and their standard deviation times
sqrt(1 + 1 / collections), as that mean is not known either. Sources of those that come with the package: VCC 2020
(quality, English listeners), SiSEC 2008 (MUSHRA), DialSummEval (relevance), WMT 2023 (MQM, Chinese-English).

With --comparisons nothing is written. The grades that a person gave to two documents of a query are an answer which of
them is better, or that they are the same; printed of each collection are the deviations that such answers show, in
those of a pair, and the probabilities of spreads of ties and of mean shares of guesses. Their means over collections,
for one draw of people, are beside `SPREAD_CHANCES` and `CHANCES` of `relevance.answering_habits`.
"""

import json
import sys
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, PairedComparison
from audiosim.joint.comparisons import CHANCES, MEANS, SPREAD_CHANCES, SPREADS
from audiosim.joint.estimators import estimator_of
from audiosim.joint.fit import JudgeDeviations, usual_deviations
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import JUDGE_QUERY, SEVERITY, TASTE, Panel
from audiosim.stats.normal.layout import REST
from audiosim.tables.text import write_text

HERE = Path(__file__).parent
PEOPLE = (SEVERITY, TASTE, JUDGE_QUERY, REST)
MOST = 2000  # judgments of a collection, drawn: whole queries, so that people meet on pairs
COMPARED, OF_A_QUERY, ANSWERS = 14, 6, 400  # people, answers of a person about a query, and answers in all
FEWEST = 10  # answers of each of these people
WIDE = 1.5  # standard deviation of the logarithm of a size: hardly anything is held before
LEAST = 0.4  # that of collections at least: a handful of them tells little of how they vary


def deviations_of(folder: Path) -> dict[str, float]:
    """Standard deviations of what people add, as shares of the scale, in one collection."""
    collection = Collection.load(folder)
    pool = build_pool(collection, collection.cutoff)
    rng = np.random.default_rng(0)
    per_query = max(1, len(collection.judgments) // len(pool.queries))
    chosen = set(rng.permutation(pool.queries)[: max(10, MOST // per_query)].tolist())
    panel = Panel.of(pool, (one for one in collection.judgments if one.query in chosen))
    estimator = estimator_of(pool, "joint")
    if not isinstance(estimator, JointEstimator):
        raise TypeError("joint is a joint model")
    wide = JudgeDeviations({name: (median, WIDE) for name, (median, _) in usual_deviations().of.items()}, ())
    model = estimator.panel_model(panel, wide)
    deviation = float(np.sqrt(np.mean(model.layout.scale**2)))
    units = {SEVERITY: 1.0, TASTE: 1.0, JUDGE_QUERY: deviation, REST: deviation}
    return {name: model.likeliest[name] * units[name] for name in PEOPLE}


def answers_of(collection: Collection, rng: np.random.Generator) -> list[PairedComparison]:
    """Grades compared two by two: some of each query of a person, for some people with enough, in random order."""
    said: dict[tuple[str, str], list[Judgment]] = defaultdict(list)
    for one in collection.judgments:
        said[one.assessor, one.query].append(one)
    made: dict[str, list[PairedComparison]] = defaultdict(list)
    for (name, query), own in said.items():
        pairs = list(combinations(own, 2))
        for a, b in (pairs[place] for place in rng.permutation(len(pairs))[:OF_A_QUERY]):
            answer = "a" if a.grade > b.grade else "b" if a.grade < b.grade else "="
            made[name].append(PairedComparison(query, a.document, b.document, answer, name))
    people = rng.permutation(sorted(name for name, own in made.items() if len(own) >= FEWEST))[:COMPARED]
    every = [one for name in people.tolist() for one in made[name]]
    return [every[place] for place in rng.permutation(len(every))[:ANSWERS]]


def print_comparisons(folders: list[str]) -> None:
    """Print what grades compared two by two show of people who compare."""
    spreads, shares = [], []
    for folder in folders:
        collection = Collection.load(Path(folder))
        made = answers_of(collection, np.random.default_rng(1))
        pool = build_pool(replace(collection, judgments=(), comparisons=tuple(made)), collection.cutoff)
        estimator = estimator_of(pool, "joint")
        answers = estimator.predict(np.full(len(pool.pairs), np.nan)).answers
        if answers is None:
            raise TypeError("joint takes comparisons")
        for each, found, usual in (
            (spreads, answers.habits.spreads, SPREAD_CHANCES),
            (shares, answers.habits.means, CHANCES),
        ):
            each.append(found / usual / np.sum(found / usual))
        sizes = " ".join(f"{name} {size:.2f}" for name, size in answers.model.deviations.items())
        print(
            f"{Path(folder).name}, {len(made)} answers: {sizes};", spreads[-1].round(2), shares[-1].round(2), flush=True
        )
    print("spread of ties", SPREADS, "has probability", np.mean(spreads, axis=0).round(2))
    print("mean share of guesses", MEANS, "has probability", np.mean(shares, axis=0).round(2))


def main(folders: list[str]) -> None:
    found = {Path(folder).name: deviations_of(Path(folder)) for folder in folders}
    for name, deviations in found.items():
        print(name, " ".join(f"{what} {size:.3f}" for what, size in deviations.items()))
    logarithms = np.log([[deviations[name] for name in PEOPLE] for deviations in found.values()])
    middle, spread = logarithms.mean(axis=0), np.maximum(LEAST, logarithms.std(axis=0, ddof=1))
    spread *= np.sqrt(1 + 1 / len(found))
    deviations = {
        name: [round(float(np.exp(one)), 4), round(float(of), 3)]
        for name, one, of in zip(PEOPLE, middle, spread, strict=True)
    }
    text = json.dumps({"format": 1, "sources": list(found), "deviations": deviations}, indent=1)
    write_text(HERE / "listeners" / "deviations.json", text.splitlines())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--comparisons"]:
        print_comparisons(sys.argv[2:])
    else:
        main(sys.argv[1:])
