"""Gain of further judging for two statements: about the present judges, and about listeners at large.

The covariance that further judgments remove does not depend on their grades. With C before and C' after, the expected
scores will be normal around the present ones, with covariance C - C'. The expected confidence is the mean over draws of
these scores (Raiffa & Schlaifer 1961, section 5.4: preposterior analysis).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.expected.estimation import rank
from audiosim.expected.ranking import Ranking
from audiosim.expected.reach import mean_reach
from audiosim.relevance.judges import Listeners, Panel, Who
from audiosim.selection import Selection
from audiosim.stats.normal.multivariate import Moments

FURTHER = 100  # number of further judgments
DRAWN_SCORES = 200
ANOTHER = "another person"


@dataclass(frozen=True, slots=True)
class FurtherJudging:
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

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return asdict(self)


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
        found.append(_after(selection, spread, f"another {by} judgments", panel, those, rng))
        what = f"another {by}, {'by' if panel.judges else 'half by'} {ANOTHER}"
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
    ranking = replace(ranking, reach=partial(mean_reach, expected.measure, expected.pool))
    low, high = ranking.interval()
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
        sure.append(replace(ranking, scores=Moments(mean, ranking.scores.covariance)).confidence or 1.0)
    return float(np.mean(sure))
