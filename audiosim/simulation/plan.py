"""Effort that a stopping rule will take: judgments, hours, and the pairs of systems that remain unsettled."""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge

from audiosim.campaign.timing import Pace, pace
from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import grouped
from audiosim.errors import InputError, check_count
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, make_estimator, taught_by
from audiosim.joint.people import Listeners, Panel, Who
from audiosim.measures.measure import Measure
from audiosim.ranking import Selection, StoppingRule
from audiosim.ranking.about import THESE, About, DifferenceDistribution, as_about
from audiosim.ranking.expected import rank, to_rank
from audiosim.ranking.ranking import Ranking
from audiosim.ranking.reach import mean_reach
from audiosim.ranking.stopping import as_stopping_rule
from audiosim.results.plots import Line, draw_curves
from audiosim.results.value import Result, Row, Value, parts, plain
from audiosim.simulation.alternatives import DesignChoice, alternatives, mean_differences, scores_of
from audiosim.simulation.remaining import BATCH, SIMULATED_CAMPAIGNS, Forecast, drawn_grades, forecast
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import Moments
from audiosim.stats.threads import one_thread
from audiosim.text import counted
from audiosim.workers import Workers

if TYPE_CHECKING:
    from altair import LayerChart


# Gain of further judging for two statements: about the present judges, and about listeners at large.
#
# The covariance that further judgments remove does not depend on their grades. With C before and C' after, the expected
# scores will be normal around the present ones, with covariance C - C'. The expected confidence is the mean over draws
# of these scores (Raiffa & Schlaifer 1961, section 5.4: preposterior analysis).


FURTHER = 100  # number of further judgments
DRAWN_SCORES = 200
ANOTHER = "another person"


@dataclass(frozen=True, slots=True)
class FurtherJudging(Value):
    """Confidence, and width of the 95 % intervals of scores, now or after further judgments.

    what       as it is; another 100 judgments; another 100, by another person
    people     number of people who have judged by then
    judgments  number of their judgments by then
    panel, panel_width          confidence and width about these people
    listeners, listeners_width  the same about listeners at large
    """

    what: str
    people: int
    judgments: int
    panel: float | None
    panel_width: float
    listeners: float | None
    listeners_width: float


def further_judging(selection: Selection, rng: np.random.Generator, count: int = FURTHER) -> tuple[FurtherJudging, ...]:
    """Gain of some further judgments, by the present judges and by another person; the first row is the present state.

    The judgments are about the pairs chosen by the selection, fewer if fewer are left. Empty if the model does not
    distinguish people, or if scores are simulated.
    """
    people = selection.stated_belief.people
    if people is None or selection.expected.draws is not None:
        return ()
    asked = selection.ask(count) if selection.judged < len(selection.pool.pairs) else []
    places = np.asarray(selection.pool.locate(asked), dtype=np.int64)
    panel, spread = people.panel, cache(partial(_spread, selection))  # needed several times for the same people
    names = panel.judges or ("one person",)
    found = [_after(selection, spread, "as it is", panel, panel, rng)]
    if len(places):
        by = len(places)
        those = _with(panel, selection, places, names)
        other = _with(panel, selection, places, (ANOTHER,) if panel.judges else (*names, ANOTHER))
        found.append(_after(selection, spread, f"another {counted(by, 'judgment')}", panel, those, rng))
        what = f"another {by}, {'by' if panel.judges else 'half by'} {ANOTHER}"
        if ANOTHER in other.judges:  # people take whole queries: a single one cannot be shared
            found.append(_after(selection, spread, what, panel, other, rng))
    return tuple(found)


def _with(panel: Panel, selection: Selection, places: Integers, names: Sequence[str]) -> Panel:
    """The panel after further judgments by these people, who take queries in turn; their grades do not matter."""
    mean = selection.stated_belief.gains.mean
    query = selection.pool.query[places]
    for place, code in zip(places.tolist(), query.tolist(), strict=True):
        panel = panel.after(place, names[code % len(names)], float(mean[place]))
    return panel


_Spread = Callable[[Panel, Listeners], Array]


def _spread(selection: Selection, panel: Panel, listeners: Listeners) -> Array:
    """(s, s) covariance of the scores about some people, given a panel's judgments."""
    belief = selection.stated_belief
    assert belief.people is not None
    posterior = belief.people.model.posterior(panel, listeners)
    return posterior.project(selection.expected.slopes(belief)).covariance


def _after(
    selection: Selection, spread: _Spread, what: str, before: Panel, after: Panel, rng: np.random.Generator
) -> FurtherJudging:
    panel, listeners = (_ranked(selection, spread, who, before, after, rng) for who in ("panel", "listeners"))
    return FurtherJudging(what, len(after.judges), len(after.place), *panel, *listeners)


def _ranked(
    selection: Selection, spread: _Spread, who: Who, before: Panel, after: Panel, rng: np.random.Generator
) -> tuple[float | None, float]:
    """Expected confidence, and mean width of the intervals of scores, after a panel's further judgments."""
    if who == "panel" and after is before:  # what `estimate` says; judgments without names are not one person's there
        stated = selection.stated(replace(selection.about, listeners="panel"))
        low, high = stated.scores.interval()
        return stated.confidence, float(np.mean(high - low))
    belief, expected = selection.stated_belief, selection.expected
    # About the same people before and after: the judges at that moment, or one person if there are none.
    people: Who = max(1, len(after.judges)) if who == "panel" else who
    weight, subject = (Listeners.of(people, len(some.judges)) for some in (before, after))
    whose = "panel" if people == len(before.judges) else people
    now, then = spread(before, weight), spread(after, subject)
    ranking = rank(
        expected,
        selection.estimator.name,
        Moments(expected.scores(belief.about(whose)).mean, then),
        selection.judged,
        selection.distribution,
        correlated=True,
    )
    low, high = replace(ranking.scores, reach=partial(mean_reach, expected.measure, expected.pool)).interval()
    return expected_confidence(ranking, now - then, rng), float(np.mean(high - low))


def expected_confidence(ranking: Ranking, moves: Array, rng: np.random.Generator) -> float | None:
    """Mean confidence in a ranking with scores that are normal around its present ones.

    moves  (s, s) covariance of these scores
    """
    values, vectors = np.linalg.eigh((moves + moves.T) / 2)
    root = vectors * np.sqrt(np.maximum(0, values))
    if values.max(initial=0) <= 0 or ranking.confidence is None:
        return ranking.confidence
    sure = []
    for _ in range(DRAWN_SCORES):
        mean = ranking.scores.mean + root @ rng.standard_normal(len(root))
        sure.append(replace(ranking, scores=replace(ranking.scores, mean=mean)).confidence or 1.0)
    return float(np.mean(sure))


Maker = Callable[[Pool], RelevanceEstimator]
SECONDS = 30.0  # time for a judgment if the pace is unknown: half of each of two 30 s clips
SETTLED = 0.95
POWERED = 1.96 + 0.84  # standard errors that a paired test at 5 % needs for a power of 80 %
MANY = 10_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Effort(Forecast, Result):
    """Effort for a goal: the forecast of its judgments, hours, and what will remain open.

    seconds   time per judgment and assessor
    listeners number of people judging at the same time
    unsettled pairs of systems with a confidence below SETTLED at the goal, in at least half of the campaigns: a,
              b, confidence (mean at the goal) and queries (number of queries of this kind that would separate them, if
              all were judged: power 80 %, paired t at 5 %; None for over 10,000)
    otherwise numbers of separated pairs of systems as it is, with more queries, a deeper cutoff, second opinions
    about     subject of the goal
    beside    confidence about the present judges and about listeners at large, now and after further judgments
    """

    seconds: float
    listeners: int
    unsettled: tuple[dict[str, Any], ...] = ()
    otherwise: tuple[DesignChoice, ...] = ()
    about: About = THESE
    beside: tuple[FurtherJudging, ...] = ()

    @property
    def hours(self) -> float | None:
        """Hours until the goal, all listeners judging at the same time; None if no campaign was finished."""
        return None if self.judgments is None else self.judgments * self.seconds / 3600 / self.listeners

    @property
    def time_in_words(self) -> str:
        """`hours`, as minutes below one hour."""
        hours = self.hours or 0.0
        return f"{hours:.1f} hours" if hours >= 1 else counted(math.ceil(60 * hours), "minute")

    def rows(self) -> list[Row]:
        """One row: the numbers of `to_dict`, and how many pairs of systems would be unsettled."""
        numbers = {key: value for key, value in self.to_dict().items() if not isinstance(value, list | dict)}
        return [numbers | {"unsettled": len(self.unsettled)}]

    def to_dict(self) -> dict[str, Any]:
        """The effort as plain values, ready for JSON."""
        low, high = self.interval
        return {
            "goal": self.stopping_rule,
            "judged": self.judged,
            "judgments": self.judgments,
            "low": low,
            "high": high,
            "hours": self.hours,
            "seconds_per_judgment": self.seconds,
            "listeners": self.listeners,
            "campaigns": len(self.counts),
            **parts(self, "unmet", "about", "unsettled", "otherwise"),
            "further": plain(self.beside),
        }

    def __repr__(self) -> str:
        low, high = self.interval
        if self.judgments is None:
            return f"{self.stopping_rule}: more than {counted(low or 0, 'further judgment')}, {self.judged} judged"
        sure = f" (80 % {low} to {high})" if self.reliable else ""
        return (
            f"{self.stopping_rule}: {counted(self.judgments, 'further judgment')}{sure}, {self.time_in_words} at "
            f"{self.seconds:.0f} s a judgment, {counted(len(self.unsettled), 'pair')} of systems still open then"
        )

    def plot(self) -> "LayerChart":
        """Share of campaigns finished after each number of further judgments."""
        steps = np.arange(len(self.counts) + 1) / max(1, len(self.counts))
        line = Line(self.stopping_rule, np.repeat([0, *self.counts], 2)[1:], np.repeat(steps, 2)[:-1])
        return draw_curves([line], "further judgments", "share of campaigns done")


def _before(end: float) -> bool:
    """True before a moment, in seconds of the clock shared with other processes and machines."""
    return time.time() < end


@judgments_second
@one_thread()
def plan(
    collection: object,
    model: NameOrFile | RelevanceEstimator | Maker | None = None,
    measure: str | Measure = "CG",
    *,
    stopping_rule: str | float | StoppingRule = "confidence=0.95",
    batch: Annotated[int, Ge(1)] = BATCH,
    campaigns: Annotated[int, Ge(1)] = SIMULATED_CAMPAIGNS,
    seconds: Annotated[float, Ge(0.1)] | None = None,
    listeners: Annotated[int, Ge(1)] = 1,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    seed: int | np.random.Generator = 0,
    time_limit: Annotated[float, Ge(1)] = 120,
    judgments: object = None,
    scale: str | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
) -> Effort:
    """Predict how many judgments and hours a stopping rule will take, and which systems will remain tied.

    Campaigns are simulated to the stop with grades drawn from the model: the answer is as good as the model. Pairs of
    systems that remain tied are listed with the number of queries that would separate them. The last lines count the
    pairs that would be separated by more queries, by a deeper cutoff or by second opinions.

    model          as in `estimate`, or a function that makes an estimator for a pool; an estimator for this pool alone
                   cannot predict for a deeper cutoff
    stopping_rule  such as confidence=0.95, every=0.9, error=0.02 (the mean absolute error of the scores) or
                   judgments=200
    batch          number of pairs handed out at a time
    campaigns      number of simulated campaigns, with grades of all unjudged pairs drawn from the predictions
    seconds        seconds per judgment. Default: the pace of the judgments so far, or 30
    listeners      number of people who judge at the same time
    distribution   distribution of a difference between systems: "t", or "normal" as in the paper of 2013
    about          queries that the goal is about: "these", or "queries" of this kind
    seed           seed of the simulated campaigns, or a generator
    time_limit     seconds after which no further judgment is simulated
    judgments      as for `estimate`, as is scale
    jobs           number of processes
    scheduler      address of a Dask cluster that does the work instead; see `each_in_turn`

    The model does not relearn from its own grades in simulated campaigns; `interval` allows for the error of
    predictions beyond their variation between campaigns.

    Example: `audiosim plan demo --stopping-rule confidence=0.95 --listeners 6 --judgments none`

    On a cluster: `audiosim plan demo --campaigns 100 --scheduler tcp://10.0.0.1:8786`
    """
    until = partial(_before, time.time() + time_limit)
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    stop = as_stopping_rule(stopping_rule)
    make = model if callable(model) else partial(make_estimator, model=model)
    seconds = seconds_per_judgment(collection) if seconds is None else seconds
    _check_effort(seconds, listeners)
    selection = Selection.start(
        pool, measure, make(pool), collection.judgments, learns=False, distribution=distribution, about=as_about(about)
    )
    deeper = make if model is None or isinstance(model, str | os.PathLike) or callable(model) else None
    rng = np.random.default_rng(seed)
    found = forecast(selection, stop, rng, campaigns, batch, until, Workers(jobs, scheduler))
    return effort_from(found, collection, selection, seconds=seconds, listeners=listeners, deeper=deeper)


def effort_from(
    found: Forecast,
    collection: Collection,
    selection: Selection,
    *,
    seconds: float,
    listeners: int,
    deeper: Maker | None,
) -> Effort:
    """Effort of a forecast for a judging loop; rest as in `plan`.

    collection  collection with the judgments so far
    selection   the loop in the state of the forecast
    deeper      function that makes the model for the pool of a deeper cutoff; None to leave that out
    """
    _check_effort(seconds, listeners)
    rng, measure, count = np.random.default_rng(0), selection.measure, len(found.worlds)
    beside = further_judging(selection, rng)
    further = None if deeper is None else _deeper(collection, measure, deeper, count, rng)
    return Effort(
        **{part.name: getattr(found, part.name) for part in fields(found)},
        seconds=seconds,
        listeners=listeners,
        unsettled=_unsettled(selection.pool.systems, found.confidences, found.worlds),
        otherwise=alternatives(collection, selection.in_thought, found.worlds, further),
        about=selection.about,
        beside=beside,
    )


def _check_effort(seconds: float, listeners: int) -> None:
    check_count("the number of listeners", listeners)
    if not 0 < seconds < math.inf:
        raise InputError(f"the seconds that a judgment takes must be above 0, got {seconds:g}")


def _deeper(
    collection: Collection, measure: Measure, make: Maker, count: int, rng: np.random.Generator
) -> tuple[int, int, list[Array]] | None:
    """A deeper cutoff, double or as deep as the runs: the cutoff, its pool's pairs, and scores in drawn worlds."""
    depth = max((len(top) for run in collection.runs for top in run.rankings.values()), default=0)
    cutoff = min(2 * measure.cutoff, depth)
    if cutoff <= measure.cutoff:
        return None
    further = replace(measure, cutoff=cutoff)
    pool = build_pool(collection, cutoff)
    belief = taught_by(pool, make(pool), collection.judgments).predict(pool.spread(collection.grades()))
    worlds = [scores_of(pool, further, drawn_grades(belief, rng)) for _ in range(count)]
    return cutoff, len(pool.pairs), worlds


def seconds_per_judgment(collection: Collection) -> float:
    """Usual time in seconds from one judgment of an assessor to the next; see `usual_seconds`."""
    timed = (judgment for judgment in collection.judgments if judgment.time)
    times = grouped((judgment.assessor, datetime.fromisoformat(judgment.time).timestamp()) for judgment in timed)
    return usual_seconds(pace(times.values()))


def usual_seconds(judging: Pace) -> float:
    """Mean seconds of a judgment; SECONDS if the pace is unknown."""
    return SECONDS if judging.per_hour is None else 3600 / judging.per_hour


def queries_needed(scores: Array) -> Array:
    """(p,) queries that a paired t-test needs for each pair of systems, by their scores (s, q); inf if these are equal.

    n = (POWERED sd / mean)^2, for the differences over the queries
    """
    mean, error = mean_differences(scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, np.inf, (POWERED * error / mean) ** 2 * scores.shape[1])


def _unsettled(
    systems: tuple[str, ...], confidences: Sequence[Array], worlds: Sequence[Array]
) -> tuple[dict[str, Any], ...]:
    if not confidences:
        return ()
    at_stop, queries = np.array(confidences), np.median([queries_needed(scores) for scores in worlds], axis=0)
    open_ones = np.flatnonzero((at_stop < SETTLED).mean(axis=0) >= 0.5)
    pairs = list(combinations(systems, 2))
    rows = [
        {
            "a": pairs[i][0],
            "b": pairs[i][1],
            "confidence": float(at_stop[:, i].mean()),
            "queries": math.ceil(queries[i]) if queries[i] <= MANY else None,
        }
        for i in open_ones.tolist()
    ]
    return tuple(sorted(rows, key=lambda row: float(row["confidence"])))
