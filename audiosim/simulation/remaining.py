"""Forecast of the judgments still needed for a goal, by simulation from the model: the only one, shown everywhere."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from audiosim.errors import check_count
from audiosim.joint.posterior import FEW, Belief
from audiosim.ranking import Selection, StoppingRule
from audiosim.ranking.stopping import Judgments
from audiosim.simulation.alternatives import scores_of
from audiosim.stats.arrays import Array, Integers
from audiosim.workers import HERE, Workers

SIMULATED_CAMPAIGNS = 10
BATCH = 20  # fewest pairs that a simulated campaign hands out at a time

STEP = 4  # a long campaign judges 1/STEP of its judgments so far in one step
# In pools with more pairs than LARGE a step is as many as so far; from LONG judgments on, 1/LONG_STEP of them. With
# 17,236 pairs, in 20 campaigns, counts for confidences of 0.84, 0.9 and 0.95 moved by 2.6 % (standard error 1.6),
# -0.4 (0.7) and 0.8 (1.2) against steps of 1/STEP until LONG; the median of ten campaigns has a standard error of 14 %
# or more.
LARGE = 10_000
LONG, LONG_STEP = 1_000, 2
INSIDE = 0.8  # share of the campaigns inside the reported interval
ENOUGH = 8  # fewest campaigns whose interval holds INSIDE: one more falls between the least and the greatest of n with
# probability (n - 1) / (n + 1), and OFF makes up for the missing .02
OFF = 0.3  # standard deviation of log(judgments needed in replays / predicted): benchmarks/plans.py
ROUNDING = 1e-9


def interval_of(counts: Sequence[int], off: float) -> tuple[int, int] | None:
    """Interval that holds the further judgments of a campaign with probability INSIDE.

        exp(log m -+ sqrt((log m - log q)^2 + (z off)^2)) - 1

    counts  further judgments of the simulated campaigns
    off     see `off_of`

    with m the median plus one, q the quantile on that side plus one, and z the normal quantile. Quantiles are at
    i / (n + 1) for the i-th of n counts: as many of further counts lie below it on average. The counts vary with the
    drawn grades; real campaigns deviate further, by `off`. Never below 0. None for fewer counts than ENOUGH, unless
    `off` is 0.
    """
    if len(counts) < (ENOUGH if off else 1):
        return None
    shares = [(1 - INSIDE) / 2, 0.5, (1 + INSIDE) / 2]
    low, middle, high = np.quantile(counts, shares, method="weibull").tolist()
    reach = float(ndtri((1 + INSIDE) / 2)) * off
    below, above = (math.hypot(math.log((middle + 1) / (end + 1)), reach) for end in (low, high))
    least, most = (middle + 1) * math.exp(-below) - 1, (middle + 1) * math.exp(above) - 1
    return max(0, math.floor(least + ROUNDING)), math.ceil(most - ROUNDING)


def off_of(selection: Selection, stop: StoppingRule) -> float:
    """Error of predictions beyond their variation, as in `interval_of`: OFF; 0 if the number is known."""
    return 0.0 if isinstance(stop, Judgments) or selection.reached(stop) else OFF


@dataclass(frozen=True, eq=False, kw_only=True)
class Forecast:
    """Further judgments until a goal, from simulated continuations of a campaign with grades drawn from its belief.

    stopping_rule  the goal, in its notation
    judged    number of pairs judged already
    counts    further judgments of the simulated campaigns that reached their end, rising
    cut       judgments of the campaign interrupted when time was up; None if there was time for all
    off       standard deviation of log(judgments needed in replays / judgments predicted)
    unmet     number of campaigns that did not meet the goal with everything judged: the goal needs more queries
    worlds    (s, q) scores of the systems in each campaign, also in the interrupted one
    confidences  (p,) confidence in the order of each pair of systems at the end of each finished campaign
    """

    stopping_rule: str
    judged: int
    counts: tuple[int, ...] = ()
    cut: int | None = None
    off: float = OFF
    unmet: int = 0
    worlds: tuple[Array, ...] = field(default=(), repr=False)
    confidences: tuple[Array, ...] = field(default=(), repr=False)

    @property
    def judgments(self) -> int | None:
        """Median of the further judgments; None if no campaign was finished."""
        return round(float(np.median(self.counts))) if self.counts else None

    @property
    def interval(self) -> tuple[int | None, int | None]:
        """Interval of the further judgments, see `interval_of`; with too few campaigns, the least of them and None."""
        seen = (*self.counts, *(() if self.cut is None else (self.cut,)))
        return interval_of(self.counts, self.off) or (min(seen, default=None), None)

    @property
    def reliable(self) -> bool:
        """True if there is an interval that holds what it claims."""
        return self.interval[1] is not None


def forecast(
    selection: Selection,
    stopping_rule: StoppingRule,
    rng: np.random.Generator,
    campaigns: int = SIMULATED_CAMPAIGNS,
    batch: int = BATCH,
    proceed: Callable[[], bool] = lambda: True,
    workers: Workers = HERE,
) -> Forecast:
    """Simulate the rest of a campaign several times, with grades drawn from its model.

    Each time the grades of all unjudged pairs are drawn from the present belief. Pairs are then selected and judged as
    in the campaign itself, until the goal is met or no further judgment has any value. The model does not learn from
    these grades.

    rng        one seed gives one forecast of a state
    campaigns  number of campaigns, at least 1
    batch      fewest pairs handed out at a time: after each batch the model predicts again
    proceed    called before each judgment: True if there is time for it; must pickle for several processes

    The prediction is only as good as the model's probabilities. If the model treats pairs as independent although
    grades of one artist or query are correlated, it is most reliable for near goals.
    """
    check_count("the number of campaigns", campaigns)
    off = off_of(selection, stopping_rule)
    # A belief that came judgment by judgment has the same moments, but another root: its draws would differ.
    selection = selection.anew(selection.estimator, selection.graded, selection.panel, selection.comparisons).in_thought
    selection = selection.in_batches(max(batch, selection.batch))
    drawn = tuple(drawn_grades(selection.belief, rng) for _ in range(campaigns))
    ends, cut = [], None
    for end in workers.each(partial(_ended, selection, drawn, stopping_rule, proceed), campaigns):
        if not end.finished:
            cut = end.judged
            break
        ends.append(end)
    seen = drawn[: len(ends) + (cut is not None)]
    return Forecast(
        stopping_rule=str(stopping_rule),
        judged=selection.judged,
        counts=tuple(sorted(end.judged for end in ends)),
        cut=cut,
        off=off,
        unmet=sum(not end.reached for end in ends),
        worlds=tuple(scores_of(selection.pool, selection.measure, grades) for grades in seen),
        confidences=tuple(end.confidences for end in ends),
    )


class _Ended(NamedTuple):
    """Simulated campaign: its judgments, True if it ended in time, True if it met the goal, and its confidences."""

    judged: int
    finished: bool
    reached: bool
    confidences: Array


def _ended(
    selection: Selection, grades: Sequence[Array], stop: StoppingRule, proceed: Callable[[], bool], number: int
) -> _Ended:
    """The campaign with a number, with the grades drawn for that number."""
    end, count, finished = played(selection, grades[number], stop, proceed)
    return _Ended(count, finished, stop.reached(end), _confidences(end))


def _confidences(selection: Selection) -> Array:
    """(p,) confidence in the order of each pair of systems, in the order of `combinations`."""
    ranking = selection.ranking
    return ranking.scores.square(ranking.scores.confidences)[np.triu_indices(len(ranking.systems), 1)]


def drawn_grades(belief: Belief, rng: np.random.Generator) -> Array:
    """(n,) a grade for each pair: its own if judged, otherwise drawn from the belief."""
    drawn = np.empty(len(belief.grades))
    for rows, grades in belief.draw(rng, 1):
        drawn[rows] = grades[0]
    return drawn


def played(
    selection: Selection, grades: Array, stop: StoppingRule, proceed: Callable[[], bool]
) -> tuple[Selection, int, bool]:
    """Campaign simulated to its goal: its end, the number of judgments made, and True if they were enough.

    grades   (n,) grades that the judgments will give
    proceed  called before each step: True if there is time for it

    A step is one judgment, or a share 1/STEP of those made so far if that is more than FEW and than a batch; in LARGE
    pools as many as so far, and 1/LONG_STEP of them from LONG on. This predicts long campaigns as well as single
    judgments would, and many times faster. Bisection finds the point within a step at which the goal is met.
    """
    count, large = 0, len(selection.pool.pairs) > LARGE
    selection = selection.for_many if selection.batch > FEW else selection
    while not selection.reached(stop):
        several = count // STEP > max(FEW, selection.batch) or selection.batch > FEW
        places = selection.places_to_judge(_step(count, selection.batch, large))
        if several:
            if not proceed():
                return selection, count, False
            selection = selection.for_many
            after = selection.judge_all(places, grades[places])
            after = after if stop.reached(after) else after.for_many
            if after.reached(stop):
                after, places = _first_reached(selection, after, places, grades, stop)
            selection, count = after, count + len(places)
            continue
        for place in places.tolist():
            if not proceed():
                return selection, count, False
            selection, count = selection.judge(place, float(grades[place])), count + 1
            if selection.reached(stop):
                break
    return selection, count, True


def _step(count: int, batch: int, large: bool) -> int:
    """Number of judgments in the next step after a number of them; see `played`."""
    share = STEP if not large else LONG_STEP if count >= LONG else 1
    return max(batch, count // share)


def _first_reached(
    selection: Selection, after: Selection, places: Integers, grades: Array, stop: StoppingRule
) -> tuple[Selection, Integers]:
    """The selection after as many of the pairs as the goal needs, and their places; it is met `after` all of them.

    If the goal itself is met, and not merely no pair is worth judging, this needs no weights of pairs.
    """
    met = stop.reached if stop.reached(after) else partial(Selection.reached, stopping_rule=stop)
    least, most = 0, len(places)
    while most - least > 1:
        middle = (least + most) // 2
        more = places[least:middle]
        further = selection.judge_all(more, grades[more])
        if met(further):
            after, most = further, middle
        else:
            selection, least = further, middle
    return after, places[:most]
