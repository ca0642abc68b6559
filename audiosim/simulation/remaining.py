"""Predicted number of judgments still needed for a goal, by simulation from the model."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from audiosim.errors import InputError
from audiosim.joint.posterior import FEW, Belief
from audiosim.ranking import Selection, StoppingRule
from audiosim.ranking.stopping import Judgments, as_stopping_rule
from audiosim.stats.arrays import Array, Integers

REMAINING_DRAWS = 20
STEP = 4  # a long campaign judges 1/STEP of its judgments so far in one step
# In pools with more pairs than LARGE a step is as many as so far; from LONG judgments on, 1/LONG_STEP of them. With
# 17,236 pairs, in 20 campaigns, counts for confidences of 0.84, 0.9 and 0.95 moved by 2.6 % (standard error 1.6),
# -0.4 (0.7) and 0.8 (1.2) against steps of 1/STEP until LONG; the median of ten campaigns has a standard error of 14 %
# or more.
LARGE = 10_000
LONG, LONG_STEP = 1_000, 2
INSIDE = 0.8  # share of the campaigns inside the reported interval
OFF = 0.3  # standard deviation of log(judgments needed in replays / predicted): benchmarks/plans.py
ROUNDING = 1e-9


def interval_of(counts: Sequence[int], off: float) -> tuple[int, int] | None:
    """Central INSIDE of the further judgments that a campaign takes; None if none was finished.

        exp(log m -+ sqrt((log m - log q)^2 + (z off)^2)) - 1

    counts  further judgments of the simulated campaigns
    off     see `off_of`

    with m the median plus one, q the quantile on that side plus one, and z the normal quantile. The counts vary with
    the drawn grades; real campaigns deviate further, by `off`.
    """
    if not counts:
        return None
    low, middle, high = np.quantile(counts, [(1 - INSIDE) / 2, 0.5, (1 + INSIDE) / 2]).tolist()
    reach = float(ndtri((1 + INSIDE) / 2)) * off
    below, above = (math.hypot(math.log((middle + 1) / (end + 1)), reach) for end in (low, high))
    least, most = (middle + 1) * math.exp(-below) - 1, (middle + 1) * math.exp(above) - 1
    return math.floor(least + ROUNDING), math.ceil(most - ROUNDING)


def off_of(selection: Selection, stop: StoppingRule) -> float:
    """Error of predictions beyond their variation, as in `interval_of`: OFF; 0 if the number is known."""
    return 0.0 if isinstance(stop, Judgments) or selection.reached(stop) else OFF


@dataclass(frozen=True, slots=True)
class Remaining:
    """Numbers of further judgments in simulated continuations of a campaign, with grades drawn from the model.

    counts  further judgments of the campaigns that reached their end, rising
    cut     judgments of the campaign interrupted when time was up; None if there was time for all
    """

    counts: tuple[int, ...]
    cut: int | None = None

    def quantile(self, share: float) -> int | None:
        """Smallest count that at least this share of the campaigns did not exceed; None if none was finished.

        share  share of the campaigns, in (0, 1]
        """
        if not 0 < share <= 1:
            raise InputError(f"a share of campaigns must be in (0, 1], got {share:g}")
        return self.counts[math.ceil(share * len(self.counts)) - 1] if self.counts else None

    @property
    def more_than(self) -> int | None:
        """Lower bound of the judgments if no campaign was finished; otherwise None."""
        return None if self.counts else self.cut


def remaining(
    selection: Selection,
    stopping_rule: float | StoppingRule,
    rng: np.random.Generator,
    draws: int = REMAINING_DRAWS,
    proceed: Callable[[], bool] = lambda: True,
) -> Remaining:
    """Simulate the rest of a campaign several times, with grades drawn from its model.

    Each time the grades of all unjudged pairs are drawn from the present belief. Pairs are then selected and judged as
    in the campaign itself, until the goal is met or no further judgment has any value.

    stopping_rule  the stopping rule, or a mean confidence
    draws          number of campaigns
    proceed        called before each judgment: True if there is time for it

    The prediction is only as good as the model's probabilities. If the model treats pairs as independent although
    grades of one artist or query are correlated, it is most reliable for near goals.
    """
    if draws < 1:
        raise InputError(f"the number of campaigns to play must be at least 1, got {draws}")
    counts: list[int] = []
    selection = selection.in_thought
    for _ in range(draws):
        _, count, finished = played(selection, drawn_grades(selection.belief, rng), stopping_rule, proceed)
        if not finished:
            return Remaining(tuple(sorted(counts)), count)
        counts.append(count)
    return Remaining(tuple(sorted(counts)))


def drawn_grades(belief: Belief, rng: np.random.Generator) -> Array:
    """(n,) a grade for each pair: its own if judged, otherwise drawn from the belief."""
    drawn = np.empty(len(belief.grades))
    for rows, grades in belief.draw(rng, 1):
        drawn[rows] = grades[0]
    return drawn


def played(
    selection: Selection, grades: Array, stop: float | StoppingRule, proceed: Callable[[], bool]
) -> tuple[Selection, int, bool]:
    """Campaign simulated to its goal: its end, the number of judgments made, and True if they were enough.

    grades   (n,) grades that the judgments will give
    proceed  called before each step: True if there is time for it

    A step is one judgment, or a share 1/STEP of those made so far if that is more than FEW and than a batch; in LARGE
    pools as many as so far, and 1/LONG_STEP of them from LONG on. This predicts long campaigns as well as single
    judgments would, and many times faster. Bisection finds the point within a step at which the goal is met.
    """
    count, stop, large = 0, as_stopping_rule(stop), len(selection.pool.pairs) > LARGE
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
