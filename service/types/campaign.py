"""The wire types of organising: a campaign's history, its remaining effort, and invitations."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, field

from audiosim.campaign import Campaign, CampaignState, Pace, Progress
from audiosim.campaign.event import write_time
from audiosim.collection.values import Pair
from audiosim.joint.posterior import evidence_counts
from audiosim.people.agreement import Leaning
from audiosim.ranking import Selection
from audiosim.ranking.about import OF_THIS_KIND
from audiosim.ranking.expected import FEWEST_QUERIES
from audiosim.ranking.ranking import PREDICTED, Ranking
from audiosim.ranking.two_systems import TwoSystems
from audiosim.ranking.verdicts import Separation
from audiosim.service.access.tokens import LONGEST_DAYS, NAME_LIMIT, Token
from audiosim.service.collections.aliases import by_name
from audiosim.service.collections.imports import Import
from audiosim.service.collections.outlook import Course, Looked, Moment, Moved, RecentChanges, Settled
from audiosim.service.collections.ranking import Clip, QueryDifference, QueryScore, TellingPair
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.base import Strict, Wire
from audiosim.service.types.judging import RecordOut, addresses_of
from audiosim.simulation.alternatives import DesignChoice
from audiosim.simulation.plan import Effort, usual_seconds
from audiosim.simulation.remaining import Forecast
from audiosim.stats.arrays import Array, Integers

# The wire types of states: a campaign's results so far, for organisers and programs.


class SystemOut(Wire, omit_defaults=True):
    """A system's expected score with its 95 % interval; `error` is the sampling error of drawn grades.

    Systems that share a letter of `group` cannot be told apart. A system may have the ranks from `rank_low` (better) to
    `rank_high`; `best` is its probability of being the best of all, `top` of being among the best `top_k`.
    """

    system: str
    expectation: float
    variance: float
    low: float
    high: float
    group: str = ""
    rank_low: int | None = None
    rank_high: int | None = None
    best: float | None = None
    top: float | None = None
    error: float | None = None


class DifferenceOut(Wire):
    """The better system `a`, the worse `b`, their expected difference, and the confidence in its sign.

    `equal` if they are known to be equal, such as one run under two names; the ranking's confidence leaves out such
    pairs.
    """

    a: str
    b: str
    expectation: float
    variance: float
    confidence: float
    equal: bool = False


class AboutOut(Wire):
    """Subject of a statement: its queries and its listeners.

    The queries are `these` or `queries` of this kind; the listeners are the `panel` of people who judged, `listeners`
    at large, or a number of people.
    """

    queries: str = "these"
    listeners: str = "panel"


class AtLargeOut(Wire):
    """The ranking expected from listeners at large."""

    confidence: float | None
    systems: list[SystemOut]
    about: AboutOut


class RankingOut(Wire, omit_defaults=True):
    """The ranking in one state of the campaign, as printed by `audiosim estimate`.

    `basis` is "predicted, nothing judged", or the number of judgments used. `about` names the queries and listeners of
    every statement; `confidence` is null if there is nothing to order. Systems within one of `groups` cannot be told
    apart at the `family_wise` level. `nearest` are the two systems that the fewest further judgments would tell apart,
    if known. `sentence` puts the result in words. `fit` is the check of the model against the judgments: PASS, FAIL or
    NOT CHECKED, in words `fit_sentence`. After FAIL, `fit_against` gives the reasons and deviations are `widened` times
    as wide; if `fit_instead` is "general", the ranking uses a general prior over collections and the judgments. If
    several people (`judges`) judged, `at_large` adds the statement about listeners at large.
    """

    collection: str
    state: int
    measure: str
    model: str
    judged: int
    pool: int
    confidence: float | None
    systems: list[SystemOut]
    pairs: list[DifferenceOut]
    groups: list[list[str]] = field(default_factory=list)
    family_wise: float | None = None
    top_k: int | None = None
    about: AboutOut = field(default_factory=AboutOut)
    sentence: str = ""
    nearest: Separation | None = None
    basis: str | int = PREDICTED
    fit: str = "NOT CHECKED"
    fit_sentence: str = ""
    fit_evidence: float = 1.0
    fit_against: str = ""
    fit_instead: str = ""
    widened: float = 1.0
    draws: int | None = None
    judges: int = 0
    at_large: AtLargeOut | None = None


class StoppingRuleOut(Wire):
    """Stopping rule: its target, the present level in the same unit, and whether that is enough."""

    goal: str
    level: float
    reached: bool


class CannotOut(Wire):
    """A pair that an assessor cannot judge, and the reason."""

    query: str
    document: str
    assessor: str
    reason: str


class PairOut(Wire):
    """A query and a document."""

    query: str
    document: str


class HeldOut(Wire):
    """A pair leased to an assessor."""

    query: str
    document: str
    assessor: str
    until: str


class CampaignOut(Wire):
    """Progress of a campaign; `state` is the number of its last event, `status` is open, paused or closed.

    `evidence` counts the pairs of the pool with each kind of evidence: output, genre, sound and so on. `confidence` is
    that of `estimate` and of the ranking, and `about` is its subject. `of_this_kind` is the confidence about queries of
    this kind; `at_large` is that about listeners at large, if several people judged. They are null if there is nothing
    to order. `fit` is the check of the model, PASS, FAIL or NOT CHECKED, in words `fit_sentence`; after FAIL,
    deviations are multiplied by `widened`. `basis` is "predicted, nothing judged", or the number of judged pairs behind
    the confidence. `sounds` names the pairs without sound, which are not offered; it is empty if all have sound.
    `heard` is false if the campaign has no sound at all. `aspects` lists the aspects graded for each pair; none if a
    pair has one grade. `model_lost` gives the reason if the model is not the one chosen in the log. Only a part of the
    assessors, the leases, and the pairs that cannot be judged or were dropped is shown; `totals` has their numbers.
    """

    collection: str
    state: int
    status: str
    measure: str
    model: str
    judged: int
    pool: int
    judgments: int
    leased: int
    twice: int
    confidence: float | None
    about: AboutOut
    of_this_kind: float | None
    at_large: float | None
    fit: str
    fit_sentence: str
    widened: float
    basis: str | int
    goal: StoppingRuleOut
    pace: Pace
    assessors: dict[str, Pace]
    agreement: dict[str, Any]
    cannot: list[CannotOut]
    dropped: list[PairOut]
    leases: list[HeldOut]
    sounds: str
    totals: dict[str, int]
    evidence: dict[str, int]
    heard: bool = False
    model_lost: str = ""
    aspects: list[str] = field(default_factory=list)

    @classmethod
    def from_domain(cls, served: ServedCollection, shown: slice) -> "CampaignOut":
        campaign, rule = served.campaign, served.judging.stopping_rule
        progress, selection = _at_rest(campaign)
        names, dropped, leases = campaign.assessors(), campaign.dropped(), campaign.leases()
        cannot = [(pair, name, reason) for pair, by in campaign.cannot().items() for name, reason in by.items()]
        return cls.of(
            progress,
            collection=served.collection.identifier,
            state=progress.number,
            status=progress.state,
            measure=str(selection.measure),
            model=selection.estimator.name,
            confidence=selection.confidence,
            about=AboutOut(**selection.about.to_dict()),
            of_this_kind=_of_this_kind(selection),
            at_large=None if selection.ranking.at_large is None else selection.ranking.at_large.confidence,
            fit=selection.ranking.check.verdict,
            fit_sentence=selection.ranking.check.sentence,
            widened=selection.ranking.check.factor,
            basis=selection.ranking.basis,
            goal=StoppingRuleOut(str(rule), rule.level(selection), selection.reached(rule)),
            pace=campaign.pace(),
            assessors={name: campaign.pace(name) for name in names[shown]},
            agreement=campaign.agreement().to_dict(),
            cannot=[CannotOut(*pair, name, reason) for pair, name, reason in cannot[shown]],
            dropped=[PairOut(*pair) for pair in dropped[shown]],
            leases=[HeldOut(*one.pair, one.assessor, write_time(one.until)) for one in leases[shown]],
            totals={"assessors": len(names), "cannot": len(cannot), "dropped": len(dropped), "leases": len(leases)},
            sounds=served.coverage,
            heard=bool(served.sounds),
            model_lost=served.lost_model,
            aspects=[] if served.collection.aspects is None else list(served.collection.aspects.names),
            evidence=evidence_counts(selection.belief),
        )


class ChangeOut(Wire):
    """Notice of a change in a campaign, with its new state."""

    state: int
    status: str
    judged: int
    pool: int
    judgments: int
    confidence: float | None
    fit: str
    reached: bool

    @classmethod
    def from_domain(cls, served: ServedCollection) -> "ChangeOut":
        progress, selection = _at_rest(served.campaign)
        now = {"confidence": selection.confidence, "fit": selection.ranking.check.verdict}
        now["reached"] = selection.reached(served.judging.stopping_rule)
        return cls.of(progress, state=progress.number, status=progress.state, **now)


def _of_this_kind(selection: Selection) -> float | None:
    """Confidence about queries of this kind; None if there is nothing to order, or only one query."""
    several = len(selection.pool.queries) >= FEWEST_QUERIES
    return selection.stated(OF_THIS_KIND).confidence if several else None


def _at_rest(campaign: Campaign) -> tuple[Progress, Selection]:
    """Progress and selection in one state."""
    while True:
        progress, current = campaign.progress, campaign.current_state
        if progress.number == current.number:
            return progress, current.selection


# The wire types of the basis of a ranking's row: a system's queries, its results for one of them, and two systems.


class SystemQueriesOut(Wire):
    """A system's scores query by query; their mean is its score in the ranking, in which `rank` is its place.

    A query's interval is a statement about that query. The system's `low` and `high` come from the ranking, and are a
    statement about the subject `about`.
    """

    collection: str
    state: int
    measure: str
    model: str
    aspect: str
    system: str
    rank: int
    expectation: float
    low: float
    high: float
    about: AboutOut
    queries: list[QueryScore]

    @classmethod
    def from_domain(
        cls, one: ServedCollection, number: int, aspect: str, ranking: Ranking, system: str, queries: list[QueryScore]
    ) -> "SystemQueriesOut":
        rows = enumerate(ranking.system_rows(), start=1)
        rank, row = next((place, row) for place, row in rows if row["system"] == system)
        return cls(
            collection=one.collection.identifier,
            state=number,
            measure=str(ranking.measure),
            model=ranking.model,
            aspect=aspect,
            rank=rank,
            about=AboutOut(**ranking.about.to_dict()),
            queries=queries,
            **{key: row[key] for key in ("system", "expectation", "low", "high")},
        )


class ClipOut(Wire):
    """A result of a system. If it is `judged`, `expectation` is its grade: the mean of `grades`, which are by name.

    Otherwise `expectation` is the expected grade, with the central 95 % interval of a single grade. `gain` is the value
    in the ranking, as a share of the highest grade. `sound` is the address of the recording, null if there is none.
    """

    rank: int
    document: str
    judged: bool
    expectation: float
    low: float
    high: float
    gain: float
    grades: dict[str, float]
    sound: str | None


class ResultListOut(Wire):
    """The results of a system for a query, in the order of their ranks, down to the cutoff of the measure.

    `score` is the system's score for this query, null if no system retrieved anything; `highest` is the highest grade,
    and `query_sound` the address of the query's recording.
    """

    collection: str
    state: int
    measure: str
    aspect: str
    system: str
    query: str
    highest: float
    score: QueryScore | None
    query_sound: str | None
    clips: list[ClipOut]

    @classmethod
    def from_domain(
        cls, one: ServedCollection, query: str, score: QueryScore | None, clips: Sequence[Clip], **said: Any
    ) -> "ResultListOut":
        """The list for a query; `said` has the remaining fields."""
        pairs = [Pair(query, clip.document) for clip in clips]
        grades = one.grades_by_person(pairs, said["aspect"])
        shown = [
            ClipOut.of(clip, grades=grades[pair], sound=addresses_of(one, pair, by_name)["document_sound"])
            for pair, clip in zip(pairs, clips, strict=True)
        ]
        asked = addresses_of(one, Pair(query, ""), by_name)["query_sound"]
        return cls(one.collection.identifier, query=query, score=score, query_sound=asked, clips=shown, **said)


class TellingOut(Wire):
    """An unjudged pair, its rank in each system's results (null: not retrieved), and its expected grade.

    `share` is the part of the variance of the systems' difference that a judgment removes, null if the measure or the
    model does not give it. `low` and `high` bound an interval of a single grade.
    """

    query: str
    document: str
    rank_a: int | None
    rank_b: int | None
    expectation: float
    low: float
    high: float
    share: float | None
    query_sound: str | None
    sound: str | None

    @classmethod
    def from_domain(cls, one: ServedCollection, telling: TellingPair) -> "TellingOut":
        found = addresses_of(one, Pair(telling.query, telling.document), by_name)
        return cls.of(telling, query_sound=found["query_sound"], sound=found["document_sound"])


class TwoSystemsOut(Wire):
    """Two systems compared: the verdict of `audiosim compare` on `a` less `b`, with its basis.

    `above` is the probability that `a` is better. `more` further judgments would probably separate them; null if they
    are separated or the number is unknown. `again` is the probability of the likelier order on another sample of
    queries. `beside` is the verdict about the other kind of queries. `largest` lists the queries with the greatest
    expected differences, and `least_sure` those with the greatest variances, out of `queries`; `telling` lists the
    pairs whose judgment would give most information about the difference.
    """

    collection: str
    state: int
    aspect: str
    a: str
    b: str
    measure: str
    model: str
    judged: int
    pool: int
    expectation: float
    low: float
    high: float
    above: float
    confidence: float
    verdict: str
    sentence: str
    again: float | None
    more: int | None
    about: AboutOut
    beside: dict[str, Any] | None
    queries: int
    largest: list[QueryDifference]
    least_sure: list[QueryDifference]
    telling: list[TellingOut]

    @classmethod
    def from_domain(
        cls,
        one: ServedCollection,
        found: TwoSystems,
        queries: Sequence[QueryDifference],
        telling: Sequence[TellingPair],
        count: int,
        **said: Any,
    ) -> "TwoSystemsOut":
        """Two systems, with `count` queries of each kind. `said` has state and aspect."""
        value = found.to_dict()
        kept = {key: value[key] for key in cls.__struct_fields__ if key in value and key != "about"}
        largest = sorted(queries, key=lambda one: -abs(one.expectation))[:count]
        unsure = sorted((one for one in queries if one.variance > 0), key=lambda one: -one.variance)[:count]
        return cls(
            collection=one.collection.identifier,
            above=found.above(0.0),
            sentence=found.sentence,
            about=AboutOut(**value["about"]),
            queries=len(queries),
            largest=largest,
            least_sure=unsure,
            telling=[TellingOut.from_domain(one, pair) for pair in telling],
            **said,
            **kept,
        )


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
    """Forecast of the number of pairs still to be judged until the stopping rule is met.

    It is the median of `draws` campaigns simulated to their end with grades drawn from the model; `low` and
    `high` bound an 80 % interval, widened by the errors that replays of real campaigns showed.

    `more_than` is a lower bound, given if too few simulated campaigns ended in time; `median`, `low` and `high` are
    then null. `unjudged` pairs are left in the pool. Judgments by a second assessor are not included. A `preliminary`
    answer has no figures, because the forecast is still being computed.
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
    def from_domain(cls, one: ServedCollection, at_hand: tuple[Looked, Forecast] | None) -> "RemainingOut":
        looked, found = at_hand or (Looked.of(one.campaign.current_state), None)
        reliable = found is not None and found.reliable
        low, high = (None, None) if found is None else found.interval
        return cls(
            collection=one.collection.identifier,
            state=looked.number,
            goal=str(one.judging.stopping_rule),
            model=looked.model,
            draws=0 if found is None else len(found.counts),
            median=found.judgments if found is not None and reliable else None,
            low=low if reliable else None,
            high=high,
            more_than=None if reliable else low,
            unjudged=looked.unjudged,
            preliminary=found is None,
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

    `hours` is the time of each of the `listeners` at `seconds_per_judgment`. If too few simulated campaigns ended in
    time, `low` is a lower bound of the judgments, and `judgments`, `high` and `hours` are null. `unmet` is the number
    of campaigns in which every pair was judged without meeting the rule. A `preliminary` plan has no figures, because
    the forecast is still being computed.
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
    def from_domain(cls, one: ServedCollection, planned: tuple[Looked, Effort] | None, listeners: int) -> "PlanOut":
        state, goal = one.campaign.current_state, str(one.judging.stopping_rule)
        judged, about = state.selection.judged, state.selection.about
        pace = usual_seconds(one.campaign.pace())
        none = Effort(stopping_rule=goal, judged=judged, seconds=pace, listeners=1, about=about)
        looked, found = planned or (Looked.of(state), none)
        if not found.reliable:
            found = replace(found, counts=(), cut=found.interval[0])
        said = replace(found, listeners=listeners).to_dict() | {"model": looked.model, "state": looked.number}
        said |= {"collection": one.collection.identifier, "preliminary": planned is None}
        return msgspec.convert(said, cls)


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


# The wire types of shared results: the page opened by a link, and the list of links.


class ResultsOut(Wire):
    """Results of a collection, as shown to readers with a link: the ranking, and the progress of judging.

    The fields are those of the ranking and of the campaign; `words` names the subject of the confidence.
    """

    collection: str
    name: str
    state: int
    status: str
    measure: str
    model: str
    queries: int
    judged: int
    pool: int
    confidence: float | None
    about: AboutOut
    words: str
    stopping_rule: str
    reached: bool
    sentence: str
    fit: str
    fit_sentence: str
    top_k: int | None
    systems: list[SystemOut]
    pairs: list[DifferenceOut]

    @classmethod
    def from_domain(cls, served: ServedCollection, number: int, ranking: dict[str, Any]) -> "ResultsOut":
        """Results in one state of the campaign.

        ranking  as printed by `audiosim estimate --format json`
        """
        current, rule = served.campaign.current_state, served.judging.stopping_rule
        selection = current.selection
        same = ("measure", "model", "judged", "pool", "confidence", "sentence", "fit", "fit_sentence", "top_k")
        return cls(
            collection=served.collection.identifier,
            name=served.collection.name,
            state=number,
            status=served.campaign.progress.state,
            queries=len(selection.pool.queries),
            words=selection.ranking.about.words,
            about=AboutOut(**ranking["about"]),
            stopping_rule=str(rule),
            reached=selection.reached(rule),
            systems=[SystemOut(**row) for row in ranking["systems"]],
            pairs=[DifferenceOut(**row) for row in ranking["pairs"]],
            **{name: ranking[name] for name in same},
        )


class LinkIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a new link, such as its recipient, and its validity in days; no limit if not given."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None


class LinkOut(Wire):
    """Link to the page of results. If tokens are used, it contains one, which is never shown again."""

    name: str
    link: str
    expires: str | None


class RevocationIn(Strict, forbid_unknown_fields=True):
    """Name of the link to revoke."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class LinkedOut(Wire):
    """A link: its date, its end (null: never), and whether it has ended."""

    name: str
    created: str
    expires: str | None
    ended: bool

    @classmethod
    def from_domain(cls, token: Token, ended: bool) -> "LinkedOut":
        return cls(token.name, token.created, token.expires or None, ended)


class LinksOut(Wire):
    """Links to the results of a collection; without `tokens`, everyone on this machine sees them."""

    tokens: bool
    links: list[LinkedOut]
