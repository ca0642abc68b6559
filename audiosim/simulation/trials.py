"""Campaigns simulated on many parts of a collection, with models learned from the remainder."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.values import Run, queries_of
from audiosim.errors import ArgumentError, InputError, of_argument
from audiosim.evaluation.evaluation import to_score
from audiosim.joint.estimators import JOINT, NameOrFile
from audiosim.measures.measure import Measure
from audiosim.ordinal.model import Model
from audiosim.ranking import Selection, StoppingRule
from audiosim.ranking.about import THESE, About, DifferenceDistribution, Ideal, as_about
from audiosim.ranking.rules import AffectedDifferences, DrawnByDoubt
from audiosim.ranking.stopping import first_of
from audiosim.results.progress import progress
from audiosim.results.value import Result, Row
from audiosim.simulation.calibration import Observation, Truth, agreement_of, claims_of, observation_summary
from audiosim.simulation.replay import Setup, check_complete, stopping_rules_of
from audiosim.stats.arrays import Array
from audiosim.training.plan import Plan, is_joint, parse_terms
from audiosim.training.train import train
from audiosim.workers import each_in_turn

# Random parts of a collection for simulated campaigns, and the remainder, from which a model may learn.


HeldOutKind = Literal["queries", "teams"]


@dataclass(frozen=True, slots=True)
class Part:
    """Some queries and teams of a collection.

    queries   names of the queries
    teams     names of the teams
    held_out  data that a model used here must not have learned from: these queries, or these teams as well
    """

    queries: frozenset[str]
    teams: frozenset[str]
    held_out: HeldOutKind

    def of(self, collection: Collection) -> Collection:
        """Part for a simulated campaign."""
        return part_of(collection, self.queries, self.teams)

    def rest(self, collection: Collection) -> Collection:
        """Data that a model may learn from: the other queries, with all systems or only with those of other teams."""
        queries, teams = frozenset(queries_of(collection.runs)), frozenset(teams_of(collection))
        if not queries - self.queries:
            raise InputError(f"a part of all {len(queries)} queries leaves none to learn from; draw fewer queries")
        if self.held_out == "queries":
            return part_of(collection, queries - self.queries, teams)
        if not teams - self.teams:
            raise InputError(f"a part of all {len(teams)} teams leaves none to learn from; draw fewer teams")
        return part_of(collection, queries - self.queries, teams - self.teams)


def draw_parts(
    collection: Collection,
    times: int,
    rng: np.random.Generator,
    queries: int | None = None,
    teams: int | None = None,
    held_out: HeldOutKind = "teams",
) -> tuple[Part, ...]:
    """Random parts, with queries and teams drawn without replacement.

    times    number of parts
    queries  number in each part; None: half of them, rounded up
    teams    number in each part; None: all teams if queries are held out; three quarters, rounded up, if teams are held
             out

    Parts depend only on these arguments, so that all methods and models are compared on equal parts. Their queries are
    the same for any number of teams.
    """
    every, named = list(queries_of(collection.runs)), teams_of(collection)
    queries = -(-len(every) // 2) if queries is None else queries
    usual = len(named) if held_out == "queries" else -(-3 * len(named) // 4)
    teams = usual if teams is None else teams
    _check_sizes(times, queries, len(every), teams, len(named))
    _check_pairs(collection, teams)
    drawn = [(rng.permutation(len(every))[:queries], rng.permutation(len(named))[:teams]) for _ in range(times)]
    return tuple(
        Part(frozenset(every[i] for i in some), frozenset(named[i] for i in few), held_out) for some, few in drawn
    )


def teams_of(collection: Collection) -> list[str]:
    """The teams behind the runs, each once."""
    return list(dict.fromkeys(collection.team(run.system) for run in collection.runs))


def _check_sizes(times: int, queries: int, every: int, teams: int, named: int) -> None:
    if not 1 <= times <= MOST_PARTS:
        raise InputError(f"the number of repeats must be 1 to {MOST_PARTS:,}, got {times}")
    if not 1 <= queries <= every:
        raise InputError(f"a part must have 1 to {every} queries, got {queries}")
    if not 1 <= teams <= named:
        raise InputError(f"a part must have 1 to {named} teams, got {teams}")


def _check_pairs(collection: Collection, teams: int) -> None:
    """Check that every part has two systems to compare, even if the smallest teams are drawn."""
    sizes = sorted(Counter(collection.team(run.system) for run in collection.runs).values())
    if sum(sizes[:teams]) < 2:
        raise InputError(f"a part needs two systems to compare, but one with {teams} teams may have a single system")


def part_of(collection: Collection, queries: Set[str], teams: Set[str]) -> Collection:
    """The collection with only some of its queries and teams, as an edition of it.

    Judgments of documents that none of these teams retrieved are left out too.
    """
    runs = tuple(
        Run(run.system, {query: documents for query, documents in run.rankings.items() if query in queries})
        for run in collection.runs
        if collection.team(run.system) in teams
    )
    found = {(query, document) for run in runs for query, top in run.rankings.items() for document in top}
    judgments = tuple(judgment for judgment in collection.judgments if judgment.pair in found)
    series = collection.edition_of or f"parts of {collection.identifier}"
    return replace(collection.judged_by(judgments), runs=runs, edition_of=series)


MOST_PARTS = 10_000
NEAR = 0.02  # difference between systems below which it may not matter


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Setting to try on parts of a collection.

    collection  collection with all pairs of its pool judged
    campaign    function that starts a campaign on a part, with the model learned from the rest, or None
    learn       function that learns a model from the rest of the collection; None if the campaign has its own
    by_query    True to take each batch from as few queries as possible
    """

    collection: Collection
    campaign: Callable[[Collection, Model | None], Selection]
    learn: Callable[[Collection], Model] | None = None
    by_query: bool = False

    def play(self, part: Part) -> tuple[Truth, Iterator[Selection]]:
        """Truth of a part, and a campaign on it after each of its judgments."""
        model = None if self.learn is None else self.learn(part.rest(self.collection))
        played = part.of(self.collection)
        start = self.campaign(played, model)
        grades = start.pool.spread(played.grades())
        check_complete(start, grades)
        return Truth.of(start, grades), selections(start, grades, self.by_query)


def selections(start: Selection, grades: Array, by_query: bool = False) -> Iterator[Selection]:
    """A campaign from its start until everything is judged, after each judgment.

    grades    (n,) grades of every pair of the pool
    by_query  True to take each batch from as few queries as possible
    """
    yield start
    while not start.belief.judged.all():
        for pair in start.ask(start.batch, by_query=by_query):
            place = start.pool.positions[pair]
            start = start.judge(place, float(grades[place]))
            yield start


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Campaigns played to a goal on random parts of a collection.

    parts  one or more parts
    first  statements of each before any judgment, beside the truth
    last   the same at the end of judging
    """

    parts: tuple[Part, ...]
    first: tuple[Observation, ...]
    last: tuple[Observation, ...]

    def to_dict(self) -> dict[str, Any]:
        """The repeats as plain values, ready for JSON."""
        return _sizes(self.parts) | {
            moment: claims_of(seen).to_dict() | agreement_of(seen)
            for moment, seen in {"start": self.first, "end": self.last}.items()
        }

    def followed(self, stopping_rule: StoppingRule) -> "Followed":
        """The same campaigns, observed at their start and end, where they met the stopping rule."""
        courses = (TrialCourse((a, b), (b,)) for a, b in zip(self.first, self.last, strict=True))
        return Followed(self.parts, (stopping_rule,), NEAR, tuple(courses))


def repeat(
    trial: Trial,
    parts: Sequence[Part],
    stopping_rule: StoppingRule,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
    scheduler: str | None = None,
) -> Repeats:
    """Play a campaign on many parts of a collection until a goal is met, or no further judgment has any value, and
    compare its claims with the truth of the part.

    jobs       number of processes; with more than one the trial must pickle
    scheduler  address of a Dask cluster that does the work instead; see `each_in_turn`

    Parts of one collection share queries and systems, so standard errors over them are for this collection.
    """
    work = partial(_to_stop, trial, tuple(parts), stopping_rule)
    first, last = zip(*each_in_turn(work, len(parts), jobs, progress, scheduler), strict=True)
    return Repeats(tuple(parts), first, last)


@dataclass(frozen=True, slots=True, eq=False)
class TrialCourse:
    """A campaign at its moments and when it met its stopping rules.

    moments  one observation per number of judgments; in a smaller pool, the last one
    reached  one per stopping rule; None if it was not met
    """

    moments: tuple[Observation, ...]
    reached: tuple[Observation | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Campaigns on random parts of a collection, all observed at the same moments.

    parts    one or more parts
    stopping_rules  each is watched separately
    near     pairs of systems that truly differ by more than this are clear
    courses  one per part
    """

    parts: tuple[Part, ...]
    stopping_rules: tuple[StoppingRule, ...]
    near: float
    courses: tuple[TrialCourse, ...]

    def curve(self) -> list[dict[str, Any]]:
        """One row for each moment; see `observations.observation_summary`."""
        return [
            observation_summary(seen, self.near)
            for seen in zip(*(course.moments for course in self.courses), strict=True)
        ]

    def stop_rows(self) -> list[dict[str, Any]]:
        """One row per stopping rule: the number of campaigns that met it, and means over these at that moment."""
        rows = []
        for stopping_rule, seen in zip(
            self.stopping_rules, zip(*(course.reached for course in self.courses), strict=True), strict=True
        ):
            there = [one for one in seen if one is not None]
            rows.append({"goal": str(stopping_rule), "reached": len(there), **claims_of(there).means()})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The campaigns as plain values, ready for JSON."""
        return _sizes(self.parts) | {"near": self.near, "curve": self.curve(), "goals": self.stop_rows()}


def follow(
    trial: Trial,
    parts: Sequence[Part],
    at: Sequence[int],
    stopping_rules: Sequence[StoppingRule] = (),
    near: float = NEAR,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
    scheduler: str | None = None,
) -> Followed:
    """Play a campaign on many parts of a collection, and compare its statements at some moments with the truth.

    at     numbers of judged pairs; each campaign continues to the largest, even if it meets its rules earlier
    stopping_rules  each is recorded when first met
    jobs   number of processes; with more than one the trial must pickle
    scheduler  address of a Dask cluster that does the work instead; see `each_in_turn`

    Parts of one collection share queries and systems, so standard errors over them are for this collection.
    """
    moments = tuple(sorted(set(at)))
    if not moments or moments[0] < 0:
        raise InputError(f"moments must be numbers of judgments, 0 or more, got {', '.join(map(str, at)) or 'none'}")
    work = partial(_to_moments, trial, tuple(parts), moments, tuple(stopping_rules))
    courses = each_in_turn(work, len(parts), jobs, progress, scheduler)
    return Followed(tuple(parts), tuple(stopping_rules), near, tuple(courses))


def _to_stop(
    trial: Trial, parts: Sequence[Part], stopping_rule: StoppingRule, number: int
) -> tuple[Observation, Observation]:
    """The start and the end on the part with a number, so that little is sent to a worker for each part."""
    truth, states = trial.play(parts[number])
    first = last = next(states)
    while not last.reached(stopping_rule):
        last = next(states)
    return truth.beside(first), truth.beside(last)


def _to_moments(
    trial: Trial, parts: Sequence[Part], at: Sequence[int], stopping_rules: Sequence[StoppingRule], number: int
) -> TrialCourse:
    """The course on the part with a number, at rising moments."""
    truth, states = trial.play(parts[number])
    seen: list[Observation] = []
    reached: dict[StoppingRule, Observation] = {}
    for state in states:
        for stopping_rule in stopping_rules:
            if stopping_rule not in reached and stopping_rule.reached(state):
                reached[stopping_rule] = truth.beside(state)
        if state.judged == at[len(seen)]:
            seen.append(truth.beside(state))
        if len(seen) == len(at):
            break
    seen += [truth.beside(state) for _ in at[len(seen) :]]
    return TrialCourse(tuple(seen), tuple(map(reached.get, stopping_rules)))


def _sizes(parts: Sequence[Part]) -> dict[str, Any]:
    one = parts[0]
    sizes = {"queries": len(one.queries), "teams": len(one.teams)}
    return {"repeats": len(parts), **sizes, "held_out": one.held_out}


LEARNED = "learned"


@dataclass(frozen=True)
class Learner:
    """Trains on the rest of a collection, as `train` does without validation."""

    plan: Plan

    @classmethod
    def of(cls, features: str) -> "Learner":
        """The learner of a list of features such as judgment."""
        with of_argument("learn"):
            return cls(Plan(parse_terms(features), LEARNED, folds=0, joint=is_joint(features)))

    @property
    def selection_rule(self) -> str:
        """Name of the usual selection rule with its models."""
        return DrawnByDoubt.name if self.plan.joint else AffectedDifferences.name

    def __call__(self, rest: Collection) -> Model:
        return train([rest], self.plan).model


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """Confidence stated in many campaigns on parts of a collection, beside the truth.

    collection  the whole
    measure, model, learn, rule  measure, model, features of a model learned for each part, and selection rule of all
    stopping_rule  rule at which they stopped; None if they were followed to the last of some moments
    played      the campaigns
    """

    collection: Collection
    measure: Measure
    model: str
    learn: str | None
    rule: str
    stopping_rule: StoppingRule | None
    played: Repeats | Followed

    def __repr__(self) -> str:
        return f"{len(self.played.parts)} campaigns on parts of {self.collection.name}: {self.measure}, {self.model}"

    def to_dict(self) -> dict[str, Any]:
        """The settings and the campaigns as plain values, ready for JSON."""
        until = {} if self.stopping_rule is None else {"goal": str(self.stopping_rule)}
        setting = {"measure": str(self.measure), "model": self.model, "learn": self.learn, "rule": self.rule}
        return setting | until | self.played.to_dict()

    def rows(self) -> list[Row]:
        """One row per moment; or per bin of confidence, at the start and at the end."""
        found = self.played.to_dict()
        if "curve" in found:
            return [flat(row) for row in found["curve"]]
        return [{"moment": moment} | row for moment in ("start", "end") for row in found[moment]["bins"]]

    def followed(self) -> dict[str, Any]:
        """The settings and the moments; the start and the end are moments, too."""
        if self.stopping_rule is None or isinstance(self.played, Followed):
            return self.to_dict()
        return self.to_dict() | self.played.followed(self.stopping_rule).to_dict()


def flat(row: Mapping[str, Any]) -> Row:
    """A row of a curve, flattened: nested fields get names such as `clear_pairs`; bins and parts are left out."""
    found: Row = {}
    for key, value in row.items():
        if isinstance(value, Mapping) and key != "by_part":
            found |= {f"{key}_{name}": inner for name, inner in value.items()}
        elif key not in {"bins", "by_part"}:
            found[key] = value
    return found


@judgments_second
def calibration(
    collection: object,
    model: NameOrFile | None = None,
    measure: str | Measure = "CG",
    *,
    parts: Annotated[int, Ge(1)] = 20,
    queries: Annotated[int, Ge(1)] | None = None,
    teams: Annotated[int, Ge(1)] | None = None,
    held_out: HeldOutKind | None = None,
    learn: str | None = None,
    at: Sequence[int] | None = None,
    near: Annotated[float, Ge(0)] = NEAR,
    stopping_rule: float | str | StoppingRule | Sequence[str] | None = None,
    selection_rule: str | None = None,
    batch: Annotated[int, Ge(1)] = 20,
    by_query: bool = False,
    ideal: Ideal = "ordered",
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    seed: int = 0,
    complete: bool = False,
    judgments: object = None,
    scale: str | None = None,
    jobs: Annotated[int, Ge(1)] | None = None,
    scheduler: str | None = None,
) -> Calibration:
    """Compare the stated confidence with the true accuracy, in campaigns on many random parts of a collection.

    Every pair of the pool must be judged, unless incomplete systems and queries are left out. Each campaign is compared
    before judging and where it stops, or at given numbers of judgments. The parts depend only on the seed, on their
    number and sizes, and on what is held out, so that two models or two rules are compared on the same parts.

    parts     number of parts; equal seeds and sizes give equal parts
    queries   queries in each part. Default: half
    teams     teams in each part. Default: three quarters, or all if queries are held out
    held_out  data hidden from a learned model. queries: a part has some queries, the rest the others. teams: a part has
              some queries and teams, the rest the other queries of the other teams. Default: queries if a
              model is learned or numbers of judgments are given, else teams
    learn     play each part with a model trained on the rest of the collection, with these features, as for
              `train`
    at        compare statements with the truth at these numbers of judgments, such as 0,100,200. Stopping rules are
              noted when met, and judging continues to the last number
    near      call a difference clear if it truly exceeds this
    stopping_rule   as for `simulate`; at given numbers of judgments each is noted separately. Default: confidence=0.95
    selection_rule  as for `next_pairs`
    batch     number of judgments between two updates of the predictions
    by_query  True for batches from as few queries as possible
    ideal     ideal of nDCG and RBP: see `estimate`
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    about     queries that the confidence is about, such as "queries": of this kind
    seed      seed of all random draws
    complete  leave out systems and queries that are not judged down to the cutoff
    judgments  as for `estimate`, as is scale
    jobs      worker processes. Default: one per core
    scheduler  play on a Dask cluster, such as tcp://10.0.0.1:8786, instead of processes here

    Examples: `audiosim calibration demo --judgments demo/truth.qrels --selection-rule doubts`

    `audiosim calibration demo --judgments demo/truth.qrels --learn judgment --at 0,50,100`
    """
    if learn is not None and model is not None:
        raise ArgumentError("learn", "each part is played with the model learned for it: leave out the model")
    learner = None if learn is None else Learner.of(learn)
    stops = stopping_rules_of(0.95, stopping_rule)
    collection, measure = to_score(collection, measure, scale, judgments, complete)
    setup = Setup(model, measure, selection_rule, batch, ideal, seed, distribution, as_about(about))
    usual = setup.start(collection).selection_rule.name if learner is None else learner.selection_rule
    rule = selection_rule or usual  # wrong names were refused, before any worker starts
    setup = replace(setup, selection_rule=rule)
    kind = held_out or ("queries" if learner or at is not None else "teams")
    drawn = draw_parts(collection, parts, np.random.default_rng(seed), queries, teams, kind)
    trial, shared = Trial(collection, setup.start, learner, by_query), (jobs or os.cpu_count() or 1,)
    with progress("repeating") as show:
        played: Repeats | Followed = (
            repeat(trial, drawn, first_of(stops), *shared, show, scheduler)
            if at is None
            else follow(trial, drawn, at, stops, near, *shared, show, scheduler)
        )
    named = LEARNED if learner else os.fspath(model or JOINT)
    until = first_of(stops) if at is None else None
    return Calibration(collection, measure, named, learn, rule, until, played)
