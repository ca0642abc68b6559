"""Machines that judge beside people: rankings with and without them, and the teams they favour.

    python benchmarks/machines.py [--collections dl2019,dialsumm] [--parts 6] [--only rankings|favourites] [--known]

The collections of ../shared/data that were judged by machines and fully by people. On random halves of their queries,
after several numbers of judgments in random order, the script prints the share of pairs of systems in the right order
by judgments alone, by the machine's grades alone, and by both, with the stated less the right share for both, and the
share of 95 % intervals of scores that hold. The prior of slopes is that of the other collections, as printed by
`models/make_judges.py`.

Then one team is favoured: 1.5 standard deviations are added to the grades of everything that its systems retrieved. The
script prints how often this team is reported as favoured, how many other teams are, and how often the score of a
favoured system is stated too high by more than its interval.

With --known the deviations of the joint model's components are those estimated from all judgments: any remaining error
is not due to their uncertainty.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import MachineJudge
from audiosim.collection.pool import Pool, build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.joint.model import JointEstimator
from audiosim.joint.terms import EvidenceKind, SlopePrior, machine_kind, usual_slopes
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.evidence import machine_grades, mean_weights
from audiosim.people.machines import machine_reports
from audiosim.ranking.expected import ExpectedScores, expected_scores, rank
from audiosim.ranking.ranking import Ranking
from audiosim.simulation.trials import draw_parts
from audiosim.stats.arrays import Array

COUNTS = (0, 25, 50, 100, 200, 400)
ADDED = 1.5  # standard deviations, added to everything a team's systems retrieved
# From the other collections alone, as printed by `models/make_judges.py`.
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = {"dl2019": "foreign", "dialsumm": "listeners"}
WITHOUT = {
    "dl2019": SlopePrior(
        {"within": (0.178, 0.2), "system": (0.719, 0.3), "query": (0.203, 0.2), "excess": (0.036, 0.3)},
        (0.644, 0.5),
        ("dialsumm",),
    ),
    "dialsumm": SlopePrior(
        {"within": (0.437, 0.2), "system": (0.64, 0.3), "query": (0.624, 0.2), "excess": (0.454, 0.3)},
        (0.623, 0.5),
        ("dl2019",),
    ),
}


def kind_for(name: str) -> EvidenceKind:
    """The kind of evidence for machines, without the slopes learned from a collection."""
    return machine_kind(WITHOUT.get(name, usual_slopes()))


def estimated(
    collection: Collection, seen: Array, kinds: Sequence[EvidenceKind], depth: int, known: bool = False
) -> tuple[Ranking, ExpectedScores, Pool, JointEstimator, Array]:
    """Ranking by judgments (n,), NaN where unjudged, and its basis."""
    pool = build_pool(collection, depth)
    estimator, expected = estimator_of(pool, "joint", kinds), expected_scores(parse_measure(f"CG@{depth}"), pool)
    assert isinstance(estimator, JointEstimator)
    judged = int((~np.isnan(seen)).sum())
    if known or judged >= min(COUNTS[1:]):
        estimator = estimator.relearned(pool.spread(collection.grades()) if known else seen)
    ranking = rank(expected, "joint", expected.scores(estimator.predict(seen)), judged, "t", True)
    return ranking, expected, pool, estimator, seen


def held(ranking: Ranking, truth: Array) -> Array:
    """(3,) stated confidence, share of pairs in the right order, share of intervals of scores that hold."""
    low, high = ranking.interval()
    first, second = ranking.pairs
    difference = truth[first] - truth[second]
    right = np.where(difference == 0, 0.5, difference > 0).mean()
    return np.array([ranking.confidence or 1.0, right, np.mean((low <= truth) & (truth <= high))])


def right_alone(collection: Collection, depth: int, truth: Array) -> float:
    """Share of pairs of systems in the right order by the mean grades of one machine."""
    pool = build_pool(collection, depth)
    (machine,) = machine_grades(pool)
    scores = mean_weights(pool, pool.found) @ machine.parts.sum(axis=1)
    first, second = np.triu_indices(len(truth), 1)
    same = np.sign(scores[first] - scores[second]) == np.sign(truth[first] - truth[second])
    return float(np.where((truth[first] == truth[second]) | (scores[first] == scores[second]), 0.5, same).mean())


def rankings(name: str, collection: Collection, parts: int, known: bool) -> Iterator[tuple[str, int, Array]]:
    """Rows of one part each: machine, judged, and confidence, right and intervals alone, machine alone, and both."""
    sets = [(judge.name, (judge,)) for judge in collection.judges] + [("all of them", collection.judges)]
    for number, part in enumerate(draw_parts(collection, parts, np.random.default_rng(0), held_out="queries")):
        own, depth = part.of(collection), collection.cutoff
        bare = replace(own, judges=())
        grades, truth = truth_of(bare, depth)
        order = np.random.default_rng(number).permutation(len(grades))
        for count in (count for count in COUNTS if count <= len(order)):
            seen = np.where(np.isin(np.arange(len(order)), order[:count]), grades, np.nan)
            alone = held(estimated(bare, seen, [], depth, known)[0], truth)
            for label, judges in sets:
                judged_by = replace(own, judges=judges)
                both = held(estimated(judged_by, seen, [kind_for(name)], depth, known)[0], truth)
                machine = right_alone(judged_by, depth, truth) if len(judges) == 1 else np.nan
                yield label, count, np.array([*alone, machine, *both])


def truth_of(collection: Collection, depth: int) -> tuple[Array, Array]:
    """(n,) grades of the pool's pairs, and (s,) true scores of the systems."""
    pool = build_pool(collection, depth)
    grades = pool.spread(collection.grades())
    known, expected, *_ = estimated(collection, grades, [], depth)
    assert expected is not None
    return grades, known.scores.mean


def favouring(collection: Collection, judge: MachineJudge, team: str) -> Collection:
    """The collection with one machine, which favours a team."""
    theirs = {
        (query, document)
        for run in collection.runs
        if collection.team(run.system) == team
        for query, documents in run.rankings.items()
        for document in documents
    }
    more = np.array([pair in theirs for pair in judge.pairs])
    return replace(collection, judges=(replace(judge, grades=judge.grades + ADDED * judge.grades.std() * more),))


def favourites(name: str, collection: Collection, parts: int) -> Iterator[tuple[str, int, Array]]:
    """Rows of one team each: found, others reported as favoured, share of its scores stated above their interval."""
    depth, rng = collection.cutoff, np.random.default_rng(0)
    bare = replace(collection, judges=())
    grades, truth = truth_of(bare, depth)
    teams = sorted({collection.team(run.system) for run in collection.runs})
    for judge in collection.judges:
        for team in rng.permutation(teams)[:parts].tolist():
            own = favouring(collection, judge, team)
            order = rng.permutation(len(grades))
            for count in COUNTS[:5]:
                seen = np.where(np.isin(np.arange(len(order)), order[:count]), grades, np.nan)
                ranking, _, pool, *_ = estimated(own, seen, [kind_for(name)], depth)
                _, _, _, alone, _ = estimated(bare, seen, [], depth)
                ours = np.array([collection.team(system) == team for system in pool.systems])
                (report,) = machine_reports(pool, alone.predict(seen), [(judge.name, alone.predict(seen))])
                sure = {one.team for one in report.favours if one.sure and one.size[0] > 0}
                low = ranking.interval()[0]
                yield (
                    judge.name,
                    count,
                    np.array([team in sure, len(sure - {team}), np.mean(low[ours] > truth[ours])]),
                )


def shown(rows: Iterator[tuple[str, int, Array]]) -> Iterator[tuple[str, int, Array]]:
    """Means over parts."""
    found: dict[tuple[str, int], list[Array]] = {}
    for label, count, values in rows:
        found.setdefault((label, count), []).append(values)
    yield from ((label, count, np.mean(values, axis=0)) for (label, count), values in found.items())


def judged_by_machines(name: str) -> Collection:
    """A collection of the data with the machines that judged it."""
    collection = Collection.load(DATA / FOLDERS[name] / name)
    for path in sorted((DATA / "judges" / name).glob("*.tsv")):
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        collection = collection.with_judge(
            path.stem, {(query, document): float(said) for query, document, said in lines}
        )
    return collection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collections", default=",".join(FOLDERS), help="with commas")
    parser.add_argument("--known", action="store_true", help="deviations of components are known from the start")
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--only", choices=["rankings", "favourites"])
    asked = parser.parse_args()
    if not DATA.is_dir():
        print(f"{DATA} is missing: there are no people to compare machines with")
        return
    for name in asked.collections.split(","):
        collection = judged_by_machines(name)
        if asked.only != "favourites":
            print(f"{name:16} judged  judgments machine    both  best-both excess intervals, excess without it")
            for label, count, row in shown(rankings(name, collection, asked.parts, asked.known)):
                best = np.nanmax([row[1], row[3]])
                rest = f"{row[1]:9.3f} {row[3]:7.3f} {row[5]:7.3f} {best - row[5]:+10.3f} {row[4] - row[5]:+6.3f}"
                print(f"{label:16} {count:6} {rest} {row[6]:9.3f} {row[0] - row[1]:+10.3f}", flush=True)
        if asked.only != "rankings":
            print(f"{name:16} judged  found  others  above")
            for label, count, row in shown(favourites(name, collection, asked.parts)):
                print(f"{label:16} {count:6} {row[0]:6.2f} {row[1]:7.2f} {row[2]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
