"""The wire types of organising: a campaign's history, its remaining effort, and invitations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from audiosim.arrays import Array, Integers
from audiosim.campaign import CampaignState
from audiosim.campaign.event import write_time
from audiosim.service.callers.tokens import LONGEST_DAYS, NAME_LIMIT, Token
from audiosim.service.files.import_store import Import
from audiosim.service.shelf.confidence_history import Course, Moment
from audiosim.service.shelf.recent_changes import Moved, RecentChanges, Settled
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.base import Strict, Wire
from audiosim.service.wire.judgment_types import RecordOut
from audiosim.service.wire.state_types import AboutOut
from audiosim.simulation.alternatives import DesignChoice
from audiosim.simulation.effort import Effort
from audiosim.simulation.remaining_judgments import Remaining, interval_of, off_of
from audiosim.users.leanings import Leaning


class HistoryOut(Wire):
    """Growth of the confidence in the ranking, and the scores of the `systems`.

    Unless `complete`, some moments are still missing: ask again. `met` is the first moment at which the stopping rule
    was met, null if it never was.
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


class ChangesOut(Wire):
    """Changes of a campaign `since` a moment; `before` is the last line of its log at that moment.

    `answers` counts answers since then by person, largest first; people in `joined` gave their first. `moved` lists
    systems whose rank by expected score changed, with rank and score before and now. `settled` lists pairs of systems
    that can be told apart now but not before, at the family-wise level of the ranking; `unsettled` lists the reverse.
    """

    collection: str
    state: int
    since: str
    before: int
    answers: dict[str, int]
    joined: list[str]
    judged_before: int
    judged: int
    confidence_before: float | None
    confidence: float | None
    moved: list[Moved]
    settled: list[Settled]
    unsettled: list[Settled]

    @classmethod
    def from_domain(cls, collection: str, since: datetime, found: RecentChanges) -> "ChangesOut":
        lists = {name: list(getattr(found, name)) for name in ("joined", "moved", "settled", "unsettled")}
        return cls.of(found, collection=collection, state=found.number, since=write_time(since), **lists)


class RemainingOut(Wire):
    """Number of pairs still to be judged until the stopping rule is met, as predicted by the model.

    It is the median of `draws` campaigns simulated to their end with grades drawn from the model; `low` and
    `high` bound an 80 % interval, widened by the errors that replays of real campaigns showed.

    `more_than` is a lower bound, given if no simulated campaign ended in time; the other figures are then null.
    `unjudged` pairs are left in the pool. Judgments by a second assessor are not included. A `preliminary` answer rests
    on few campaigns; a later request gets one from more.
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
    """Two systems whose order judging will probably not settle, and the confidence in it at the end.

    `queries` is the number of queries of this kind that, all judged, would tell them apart; null for more than 10,000.
    """

    a: str
    b: str
    confidence: float
    queries: int | None


class FurtherOut(Wire):
    """Confidence and mean width of 95 % intervals of scores, for the people who judged and for listeners at large.

    `what` names the campaign as it is, or after further judgments; `people` and `judgments` are totals.
    """

    what: str
    people: int
    judgments: int
    panel: float | None
    panel_width: float
    listeners: float | None
    listeners_width: float


class PlanOut(Wire):
    """Effort until the stopping rule is met, as `audiosim plan` reports it: further `judgments`, with an 80 % interval.

    `hours` is the time of each of the `listeners` at `seconds_per_judgment`. If no simulated campaign ended in time,
    `low` is the number of judgments reached by one, and `judgments`, `high` and `hours` are null. `unmet` is the number
    of campaigns in which every pair was judged without meeting the rule. A `preliminary` plan rests on few campaigns; a
    later request gets one from more.
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
    """Pairs in the pool, and judged pairs, of a query or a system."""

    name: str
    pairs: int
    judged: int


class ProgressOut(Wire):
    """Progress of judging, by query and by system."""

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
    """Lines of a campaign's log, oldest first; `more` if there are earlier ones."""

    collection: str
    state: int
    more: bool
    events: list[RecordOut]


class AssessorsOut(Wire):
    """Severity of each assessor in one state of the campaign; null if unknown.

    `doubts` gives, by name, reasons to doubt that a person listens; judgments of the people in `aside` do not count.
    `checks` compares assessors' answers with their own earlier ones about the same pairs, and with known grades.
    """

    collection: str
    state: int
    assessors: list[Leaning]
    doubts: dict[str, str]
    aside: list[str]
    checks: list[dict[str, Any]]


class InvitationIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Person to invite, and the validity of the link in days; no limit if not given."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None


class InvitationOut(Wire):
    """Link to a person's judging page. With tokens it contains the person's token, which is shown only once."""

    name: str
    link: str
    expires: str | None


class WithdrawalIn(Strict, forbid_unknown_fields=True):
    """Name of the person whose invitation to withdraw."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class InvitedOut(Wire):
    """An assessor's invitation: its date, its end (null: never), and whether it has ended."""

    name: str
    created: str
    expires: str | None
    ended: bool

    @classmethod
    def from_domain(cls, token: Token, ended: bool) -> "InvitedOut":
        return cls(token.name, token.created, token.expires or None, ended)


class InvitationsOut(Wire):
    """Assessors invited to judge a collection; without `tokens`, everyone on this machine may judge."""

    tokens: bool
    invited: list[InvitedOut]


class ImportOut(Wire):
    """An uploaded file of judgments: waiting, running, done or failed.

    It has `lines` judgments, null until it is read; `written` of them are in the log. `problem` is the reason of a
    failure or delay, otherwise empty.
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
