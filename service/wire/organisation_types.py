"""The wire types of organising: the course of a campaign, the effort left, and invitations."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from audiosim.arrays import Array, Integers
from audiosim.campaign import CampaignState
from audiosim.service.callers.tokens import LONGEST_DAYS, NAME_LIMIT, Token
from audiosim.service.entrance.exchange import Strict, Wire
from audiosim.service.files.import_store import Import
from audiosim.service.shelf.confidence_history import Course, Moment
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.judgment_types import RecordOut
from audiosim.service.wire.state_types import AboutOut
from audiosim.simulation.alternatives import DesignChoice
from audiosim.simulation.effort import Effort
from audiosim.simulation.remaining_judgments import Remaining, interval_of, off_of
from audiosim.users.leanings import Leaning


class HistoryOut(Wire):
    """Growth of the confidence in the ranking, and the scores of the `systems`.

    Not `complete`: there was no time for all moments, ask again. `met` is the first moment at which the goal was met,
    null where it never was.
    """

    collection: str
    state: int
    complete: bool
    goal: str
    systems: list[str]
    moments: list[Moment]
    met: Moment | None

    @classmethod
    def from_domain(cls, one: ServedCollection, course: Course) -> "HistoryOut":
        goal, systems = str(one.judging.stopping_rule), list(one.campaign.selection.pool.systems)
        moments = list(course.moments)
        return cls(one.collection.identifier, course.number, course.complete, goal, systems, moments, course.met)


class RemainingOut(Wire):
    """Number of pairs still to be judged until the goal, in the opinion of the model: in `draws` campaigns that
    were played on with grades drawn from it, the median, and an interval of 80 %: wider than those campaigns vary, by
    how far replays were off.

    `more_than` where there was no time to play one to its end, and then the others are null. `unjudged` pairs are
    left in the pool. Judgments by a second assessor come on top. A `preliminary` one is of few campaigns; whoever asks
    again is told one of more.
    """

    collection: str
    state: int
    goal: str
    model: str
    draws: int
    median: int | None
    low: int | None
    high: int | None
    more_than: int | None
    unjudged: int
    preliminary: bool

    @classmethod
    def from_domain(
        cls, one: ServedCollection, current: CampaignState, found: Remaining, preliminary: bool
    ) -> "RemainingOut":
        selection, stop = current.selection, one.judging.stopping_rule
        low, high = interval_of(found.counts, off_of(selection, stop)) or (None, None)
        return cls(
            collection=one.collection.identifier,
            state=current.number,
            goal=str(stop),
            model=selection.estimator.name,
            draws=len(found.counts),
            median=found.quantile(0.5),
            low=low,
            high=high,
            more_than=found.more_than,
            unjudged=len(selection.pool.pairs) - selection.judged,
            preliminary=preliminary,
        )


class UnsettledOut(Wire):
    """Two systems whose order judging will probably not settle, and how sure it will be at the goal.

    `queries` of this kind would tell them apart, were all judged; null for more than 10,000.
    """

    a: str
    b: str
    confidence: float
    queries: int | None


class FurtherOut(Wire):
    """Confidence and mean width of the 95 % intervals of scores, about those who judged and about listeners at large.

    `what`: as it is, or after further judgments, by `people` in all, of `judgments` in all.
    """

    what: str
    people: int
    judgments: int
    panel: float | None
    panel_width: float
    listeners: float | None
    listeners_width: float


class PlanOut(Wire):
    """Effort that the goal takes, as `audiosim plan` says it: `judgments` more, with an interval of 80 %.

    `hours` are of each of the `listeners` at `seconds_per_judgment`. Where no campaign could be played to its end in
    the time, `low` is what one had made and `judgments`, `high` and `hours` are null. In `unmet` of the campaigns
    all was judged and the goal still not met. A `preliminary` plan is of few campaigns; whoever asks again is told one
    of more.
    """

    collection: str
    state: int
    goal: str
    model: str
    judged: int
    judgments: int | None
    low: int | None
    high: int | None
    hours: float | None
    seconds_per_judgment: float
    listeners: int
    campaigns: int
    unmet: int
    about: AboutOut
    unsettled: list[UnsettledOut]
    otherwise: list[DesignChoice]
    further: list[FurtherOut]
    preliminary: bool

    @classmethod
    def from_domain(cls, one: ServedCollection, current: CampaignState, found: Effort, preliminary: bool) -> "PlanOut":
        about = {"collection": one.collection.identifier, "state": current.number, "preliminary": preliminary}
        return msgspec.convert(about | {"model": current.selection.estimator.name} | found.to_dict(), cls)


class ShareOut(Wire):
    """Number of pairs that a query or a system has in the pool, and how many of them are judged."""

    name: str
    pairs: int
    judged: int


class ProgressOut(Wire):
    """Progress of the judging, by query and by system."""

    collection: str
    state: int
    queries: list[ShareOut]
    systems: list[ShareOut]

    @classmethod
    def from_domain(cls, collection: str, current: CampaignState) -> "ProgressOut":
        pool, judged = current.selection.pool, ~np.isnan(current.selection.grades)
        by_query = (np.bincount(pool.query[chosen], minlength=len(pool.queries)) for chosen in (judged | True, judged))
        by_system = (pool.retrieved @ np.ones(len(judged)), pool.retrieved @ judged)
        queries, systems = _shares(pool.queries, *by_query), _shares(pool.systems, *by_system)
        return cls(collection, current.number, queries, systems)


def _shares(names: Sequence[str], pairs: Array | Integers, judged: Array | Integers) -> list[ShareOut]:
    rows = zip(names, pairs.astype(int).tolist(), judged.astype(int).tolist(), strict=True)
    return [ShareOut(*row) for row in rows]


class LogOut(Wire):
    """Lines of a campaign's log, oldest first; `more` where there are earlier ones."""

    collection: str
    state: int
    more: bool
    events: list[RecordOut]


class AssessorsOut(Wire):
    """Position of the grades of all assessors, in one state of the campaign; null is what is not known of one.

    `doubts` says of some by name why it is doubtful that they listen; nothing rests on what those in `aside` say.
    `checks` hold some against their own answers to the same pair, and against pairs whose grade is known.
    """

    collection: str
    state: int
    assessors: list[Leaning]
    doubts: dict[str, str]
    aside: list[str]
    checks: list[dict[str, Any]]


class InvitationIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Person to invite to judge, and the validity in days; for ever if not given."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None


class InvitationOut(Wire):
    """Link to a person's judging page. If tokens are used it contains theirs, which is not shown again."""

    name: str
    link: str
    expires: str | None


class WithdrawalIn(Strict, forbid_unknown_fields=True):
    """Name of the person whose invitation ends."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class InvitedOut(Wire):
    """Assessor who was invited and when, when that ends (null: never), and whether it has."""

    name: str
    created: str
    expires: str | None
    ended: bool

    @classmethod
    def from_domain(cls, token: Token, ended: bool) -> "InvitedOut":
        return cls(token.name, token.created, token.expires or None, ended)


class InvitationsOut(Wire):
    """Assessors who are invited to judge a collection; where there are no `tokens`, everybody on this machine is."""

    tokens: bool
    invited: list[InvitedOut]


class ImportOut(Wire):
    """A file of judgments that was sent: waiting, running, done or failed.

    `lines` judgments are in it, null until it is read; `written` of them are in the log. `problem` says why it failed,
    or what it waits for; empty where nothing.
    """

    collection: str
    number: int
    status: str
    by: str | None
    time: str
    lines: int | None
    written: int
    problem: str
    state: int

    @classmethod
    def from_domain(cls, file: Import, state: int) -> "ImportOut":
        return cls.of(file, by=file.by or None, state=state)
