"""The wire types of judges: reports on them, and setting a judge aside."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from msgspec import Meta

from audiosim.campaign.adjudications import Adjudication
from audiosim.service.wire.base import Strict, Wire
from audiosim.service.wire.judgment_types import Name, RecordOut, Text
from audiosim.service.wire.state_types import AboutOut


class OrderEffectOut(Wire):
    """Effect of order, with its 95 % interval; `by_chance` if the interval includes 0.

    `effect` is one of three. `drift` is the mean change of `count` people's grades from first to last judgment, as a
    share of the scale; `between` is its standard deviation from person to person. `position` is the same from the first
    to the last place of a page of several candidates. `first` is the share of `a` among `count` comparisons without
    ties.
    """

    effect: str
    value: float
    low: float
    high: float
    count: int
    by_chance: bool
    between: float | None
    sentence: str


class JudgesOut(Wire):
    """Reports on all judges, people and machines: the rows that `audiosim judges --format json` prints.

    `order_effects` has the rows of `audiosim judges --order-effects`; none while too few people have answered. `aside`
    has the people set aside, by name, with the number of the log line that did it; the rows leave them out.
    """

    collection: str
    state: int
    judges: list[dict[str, Any]]
    order_effects: list[OrderEffectOut]
    aside: dict[str, RecordOut]


class DisagreementOut(Wire):
    """Pair on which people differ: `grades` by name; `beyond` is a grade less its prediction from their other grades.

    `spread` is 1 if they differ as much as people usually do here; `chance` is the probability of differing at least as
    much.
    """

    query: str
    document: str
    grades: dict[str, float]
    beyond: dict[str, float]
    spread: float
    chance: float


class DisagreementsOut(Wire):
    """Pairs that several people judged, greatest disagreement first."""

    collection: str
    state: int
    pairs: list[DisagreementOut]


class AdjudicationIn(Strict, forbid_unknown_fields=True):
    """Pair to put first in a person's queue."""

    query: Annotated[Name, Meta(min_length=1)]
    document: Annotated[Name, Meta(min_length=1)]
    assessor: Annotated[Name, Meta(min_length=1)]


class AdjudicationOut(Wire):
    """Pair that an organiser gave to a person, with the number and time of the log line that did so.

    `status`: waiting, judged, cannot (they cannot judge it) or set aside (nothing that they say counts). `grade` is
    null until it is judged.
    """

    number: int
    time: str
    query: str
    document: str
    assessor: str
    status: Literal["waiting", "judged", "cannot", "set aside"]
    grade: float | None


class AdjudicationsOut(Wire):
    """Pairs that organisers gave to particular people, in the order of the requests."""

    collection: str
    adjudications: list[AdjudicationOut]

    @classmethod
    def from_domain(cls, collection: str, found: Iterable[Adjudication]) -> "AdjudicationsOut":
        rows = [AdjudicationOut(one.number, one.time, *one.pair, one.assessor, one.status, one.grade) for one in found]
        return cls(collection, rows)


class NamedJudgeIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a judge, and the reason for setting them aside or taking them back."""

    judge: Annotated[Name, Meta(min_length=1)]
    reason: Text = ""


class MovedOut(Wire):
    """Rank and score of a system, with its 95 % interval, with and without a person's judgments."""

    system: str
    rank: int
    score: float
    low: float
    high: float
    rank_without: int
    score_without: float
    low_without: float
    high_without: float


class JudgeEffectOut(Wire):
    """Effect of one judge's judgments on the ranking; `without` them, the model learns anew from the others' judgments.

    `aside`: whether they are set aside now. `pairs_turned` lists the pairs of systems that change places, `turned` is
    their number. Without these judgments, the score of `moved_most` is higher by `moved_by`.
    """

    collection: str
    state: int
    judge: str
    aside: bool
    judgments: int
    about: AboutOut
    measure: str
    confidence: float | None
    turned: int
    best_without: str
    moved_most: str
    moved_by: float
    confidence_without: float | None
    pairs_turned: list[list[str]]
    sentence: str
    systems: list[MovedOut]
