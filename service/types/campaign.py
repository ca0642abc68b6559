"""The wire types of organising: a campaign's history, its remaining effort, and invitations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

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
from audiosim.ranking.ranking import PREDICTED, Ranking, score_rows
from audiosim.ranking.two_systems import TwoSystems
from audiosim.ranking.verdicts import Separation
from audiosim.service.access.tokens import LONGEST_DAYS, NAME_LIMIT, Token
from audiosim.service.collections.aliases import by_name
from audiosim.service.collections.imports import Import
from audiosim.service.collections.outlook import Course, Looked, RecentChanges
from audiosim.service.collections.ranking import Clip, QueryDifference, QueryScore, TellingPair
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.base import OfState, OnWire, Strict, Wire
from audiosim.service.types.judging import RecordOut, StatusOut, addresses_of
from audiosim.simulation.alternatives import DesignChoice
from audiosim.simulation.plan import Effort, FurtherJudging, usual_seconds
from audiosim.simulation.remaining import Forecast
from audiosim.stats.arrays import Array, Integers

# The wire types of states: a campaign's results so far, for organisers and programs.


class SystemOut(Wire, omit_defaults=True):
    """A system's expected score with its 95 % interval.

    variance   variance of the score
    group      letters; systems that share one cannot be told apart
    rank_low   best rank that the system may have, from 1
    rank_high  worst rank that it may have
    best       probability of being the best of all
    top        probability of being among the best `top_k`
    error      standard error of the simulation, where grades were drawn
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
    """Two systems, and how surely the first is better.

    a            the better system
    b            the worse system
    expectation  score of `a` less that of `b`
    variance     variance of the difference
    confidence   probability that `a` is better
    equal        true if they are known to be equal, such as one run under two names; the ranking's confidence leaves
                 them out
    """

    a: str
    b: str
    expectation: float
    variance: float
    confidence: float
    equal: bool = False


class AboutOut(Wire):
    """Subject of a statement: its queries and its listeners.

    queries    "these", or "queries" of this kind
    listeners  "panel" for the people who judged, "listeners" at large, or a number of people
    """

    queries: str = "these"
    listeners: str = "panel"


class AtLargeOut(Wire):
    """The ranking expected from listeners at large."""

    confidence: float | None
    systems: list[SystemOut]
    about: AboutOut


class EstimateOut(Wire, omit_defaults=True):
    """The systems ranked from few judgments or none, as printed by `audiosim estimate`.

    pairs         all pairs of systems
    comparisons   number of comparisons of two documents that count, too
    groups        groups of systems that cannot be told apart
    family_wise   level at which all groups and ranks hold together
    nearest       the two systems that the fewest further judgments would tell apart; null if unknown
    fit_evidence  evidence against the model so far: 1 is none, and from 20 on the model fails the check
    fit_against   reasons against the model, after FAIL
    fit_instead   "general" if the ranking uses a general prior over collections instead; else empty
    draws         number of draws of grades, for measures without a formula
    judges        number of people who judged
    at_large      the statement about listeners at large, if several people judged
    notes         sentences: judgments that the measure leaves unused; how many pairs another model predicts, and why
    """

    measure: str
    model: str
    judged: int
    pool: int
    confidence: float | None
    systems: list[SystemOut]
    pairs: list[DifferenceOut]
    comparisons: int = 0
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
    notes: list[str] = field(default_factory=list)


class RankingOut(EstimateOut, omit_defaults=True, kw_only=True):
    """The ranking in one state of the campaign, as printed by `audiosim estimate`."""

    collection: str
    state: int


class StoppingRuleOut(Wire):
    """Stopping rule, and how far the campaign is from it.

    goal   the rule, such as confidence=0.95
    level  present level, in the unit of the rule
    """

    goal: str
    level: float
    reached: bool


class PairOut(Wire):
    """A query and a document."""

    query: str
    document: str


class CannotOut(PairOut):
    """A pair that an assessor cannot judge, and the reason."""

    assessor: str
    reason: str


class HeldOut(PairOut):
    """A pair leased to an assessor.

    until  end of the lease, ISO 8601, UTC
    """

    assessor: str
    until: str


class StandingOut(OfState):
    """Standing of a ranking: what it is of, and the check of its model."""

    measure: str
    model: str
    judged: int
    pool: int
    about: AboutOut
    fit: str
    fit_sentence: str


class CampaignOut(StandingOut):
    """Progress of a campaign.

    Of the assessors, the leases, and the pairs that cannot be judged or were dropped, only a part is shown.

    meaning       sentence on the range and the meaning of a score; empty for a measure without one
    reason        why it was paused, opened again or closed; null if unknown
    comparisons   number of comparisons of two documents that count
    leased        number of pairs handed out and not yet answered
    twice         number of pairs that wait for a second person
    confidence    that of `estimate` and of the ranking; null if there is nothing to order
    of_this_kind  confidence about queries of this kind; null if there is nothing to order
    at_large      confidence about listeners at large, if several people judged
    pace          pace of all assessors together
    assessors     pace of each assessor, by name
    agreement     agreement of the people who judged the same pairs
    cannot        pairs that somebody could not judge
    dropped       pairs that nobody is asked for any more
    leases        pairs handed out
    sounds        pairs without sound, which are not offered; empty if all have sound
    totals        numbers of all assessors, cannot, dropped and leases
    evidence      number of pairs of the pool with each kind of evidence: output, genre, sound and so on; none once the
                  model has failed its check and metadata are ignored
    selection_rule  rule that chooses the pairs to judge next
    second_share  share of the pairs that two people judge
    all_asked     true if nobody who answered so far has a question left, but another person would have one
    only_compares  true if people are asked for comparisons alone
    heard         false if the campaign has no sound at all
    model_lost    reason why the model is not the one chosen in the log; else empty
    aspects       aspects graded for each pair; none if a pair has one grade
    """

    meaning: str
    status: str
    reason: str | None
    judgments: int
    comparisons: int
    leased: int
    twice: int
    confidence: float | None
    of_this_kind: float | None
    at_large: float | None
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
    selection_rule: str
    second_share: float
    all_asked: bool
    only_compares: bool = False
    heard: bool = False
    model_lost: str = ""
    aspects: list[str] = field(default_factory=list)

    @classmethod
    def from_domain(cls, served: ServedCollection, shown: slice) -> "CampaignOut":
        campaign, rule = served.campaign, served.judging.stopping_rule
        progress, selection = _at_rest(campaign)
        names, dropped, leases = campaign.assessors(), campaign.dropped(), campaign.leases()
        asked = set(names) - campaign.aside().keys()
        more = progress.twice or campaign.comparisons.worth("\n").left  # for another person: nobody has this name
        cannot = [(pair, name, reason) for pair, by in campaign.cannot().items() for name, reason in by.items()]
        return cls.of(
            progress,
            comparisons=selection.ranking.comparisons,
            collection=served.collection.identifier,
            state=progress.number,
            status=progress.state,
            reason=StatusOut.from_domain(served.collection.identifier, campaign).reason,
            measure=str(selection.measure),
            meaning=selection.measure.meaning,
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
            only_compares=served.judging.settings.comparisons == "only",
            heard=bool(served.sounds),
            model_lost=served.lost_model,
            aspects=[] if served.collection.aspects is None else list(served.collection.aspects.names),
            evidence=evidence_counts(selection.belief) if selection.ranking.check.instead is None else {},
            selection_rule=selection.selection_rule.name,
            second_share=served.judging.settings.twice,
            all_asked=bool(asked and more) and not any(campaign.comparisons.worth(name).left for name in asked),
        )


class ChangeOut(Wire):
    """Notice of a change in a campaign, with its new state.

    comparisons  number of comparisons of two documents that count
    """

    state: int
    status: str
    judged: int
    pool: int
    judgments: int
    comparisons: int
    confidence: float | None
    fit: str
    reached: bool

    @classmethod
    def from_domain(cls, served: ServedCollection) -> "ChangeOut":
        progress, selection = _at_rest(served.campaign)
        return cls.of(
            progress,
            state=progress.number,
            status=progress.state,
            comparisons=selection.ranking.comparisons,
            confidence=selection.confidence,
            fit=selection.ranking.check.verdict,
            reached=selection.reached(served.judging.stopping_rule),
        )


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


class SystemQueriesOut(OfState):
    """A system's scores query by query; their mean is its score in the ranking.

    The intervals of queries are statements about each query; those of the system are about the subject.

    expectation  score of the system in the ranking
    queries      one entry for each query
    """

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
        rows = enumerate(score_rows(ranking), start=1)
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


class ClipOut(Clip, OnWire, frozen=True):
    """A result of a system.

    rank         place among the system's results, from 1
    judged       true if somebody judged it
    expectation  its grade, if judged the mean of `grades`, else expected
    low          lower end of the central 95 % of a single grade
    high         upper end of the same
    gain         value in the ranking, as a share of the highest grade
    grades       grades by person
    sound        address of the recording; null if there is none
    """

    grades: dict[str, float]
    sound: str | None


class ResultListOut(OfState):
    """The results of a system for a query, in the order of their ranks, down to the cutoff of the measure.

    highest  highest grade of the scale
    score    score of the system for this query; null if no system retrieved anything
    clips    the results
    """

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


class TellingOut(TellingPair, OnWire, frozen=True):
    """An unjudged pair whose judgment would say much about the difference between two systems.

    rank_a       its rank in the results of the first; null if it is not among them
    rank_b       the same for the second
    expectation  expected grade
    low          lower end of the central 95 % of a single grade
    high         upper end of the same
    share        part of the variance of the difference that a judgment removes; null if it cannot be told
    sound        address of the document's recording; null if there is none
    """

    query_sound: str | None
    sound: str | None

    @classmethod
    def from_domain(cls, one: ServedCollection, telling: TellingPair) -> "TellingOut":
        found = addresses_of(one, Pair(telling.query, telling.document), by_name)
        return cls.of(telling, query_sound=found["query_sound"], sound=found["document_sound"])


class TwoSystemsOut(StandingOut):
    """Two systems compared: the verdict of `audiosim compare` on `a` less `b`, with its basis.

    a            the first system
    b            the second system
    expectation  expected difference, `a` less `b`
    above        probability that `a` is better
    confidence   probability of the likelier order
    verdict      `a` is better, worse, equal, or not told apart
    again        probability of the likelier order on another sample of queries; null if it cannot be told
    more         further judgments that would probably separate them; null if they are separated or it is unknown
    beside       the verdict about the other kind of queries
    fit_evidence  evidence against the model so far: 1 is none, and from 20 on the model fails the check
    fit_against   reasons against the model, after FAIL
    fit_instead   "general" if the ranking uses a general prior over collections instead; else empty
    queries      number of queries
    largest      queries with the greatest expected differences
    least_sure   queries with the greatest variances
    telling      pairs whose judgment would give most information about the difference
    """

    aspect: str
    a: str
    b: str
    expectation: float
    low: float
    high: float
    above: float
    confidence: float
    verdict: str
    sentence: str
    again: float | None
    more: int | None
    beside: dict[str, Any] | None
    basis: str | int
    fit_evidence: float
    fit_against: str
    fit_instead: str
    widened: float
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
        largest = sorted(queries, key=lambda one: -abs(one.expectation))[:count]
        unsure = sorted((one for one in queries if one.variance > 0), key=lambda one: -one.variance)[:count]
        said |= {
            "collection": one.collection.identifier,
            "above": found.above(0.0),
            "sentence": found.sentence,
            "queries": len(queries),
            "largest": largest,
            "least_sure": unsure,
            "telling": [TellingOut.from_domain(one, pair) for pair in telling],
        }
        return msgspec.convert(found.to_dict() | said, cls)


class RankedOut(Wire):
    """Rank and score of a system, with its 95 % interval.

    score  score in the ranking
    """

    system: str
    rank: int
    score: float
    low: float
    high: float


class ChangedRankingOut(OfState):
    """Change of the ranking by a decision that is not yet made.

    turned        number of pairs of systems that change places
    moved_most    system whose score changes most
    moved_by      change of its score
    pairs_turned  pairs of systems that change places
    """

    about: AboutOut
    measure: str
    confidence: float | None
    turned: int
    moved_most: str
    moved_by: float
    pairs_turned: list[list[str]]
    sentence: str


class CourseOut(Course, OnWire, frozen=True):
    """Growth of the confidence in the ranking, and of the scores of the systems.

    complete  false while moments are missing: ask again
    systems   names of the systems, in the order of the scores of each moment
    moments   moments of the campaign, the first one first
    met       first moment at which the stopping rule was met; null if it never was
    """

    collection: str
    goal: str
    systems: tuple[str, ...]

    @classmethod
    def from_domain(cls, one: ServedCollection, course: Course) -> "CourseOut":
        goal, systems = str(one.judging.stopping_rule), one.campaign.selection.pool.systems
        return cls.of(course, collection=one.collection.identifier, goal=goal, systems=systems)


class ChangesOut(RecentChanges, OnWire, frozen=True):
    """Changes of a campaign since a moment.

    since              that moment, ISO 8601, UTC
    before             last line of the log at that moment
    answers            number of answers since then, by person, largest first
    joined             people who gave their first answer since then
    judged_before      number of judged pairs at that moment
    confidence_before  confidence at that moment
    moved              systems whose rank by expected score changed
    settled            pairs of systems that can be told apart now but not then, at the family-wise level
    unsettled          pairs that could be told apart then but not now
    acts               lines of the log since then that are the organisers': pauses and their ends, closing, people set
                       aside or taken back, other models and texts
    """

    collection: str
    since: str
    acts: list[RecordOut]


class RemainingOut(OfState):
    """Forecast of the number of pairs still to be judged until the stopping rule is met.

    It is the median of campaigns simulated to their end with grades drawn from the model. Judgments by a second
    assessor are not included.

    draws      number of simulated campaigns
    median     pairs still to be judged; null if too few simulated campaigns ended in time
    low        lower end of an 80 % interval, widened by the errors that replays of real campaigns showed; null likewise
    high       upper end of the same
    more_than  lower bound, if too few simulated campaigns ended in time; else null
    unjudged   number of unjudged pairs in the pool
    """

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
        goal, state = str(one.judging.stopping_rule), one.campaign.current_state
        looked, found = at_hand or (Looked.of(state), Forecast(stopping_rule=goal, judged=state.selection.judged))
        low, high = found.interval
        return cls(
            collection=one.collection.identifier,
            state=looked.number,
            goal=goal,
            model=looked.model,
            draws=len(found.counts),
            median=found.judgments if found.reliable else None,
            low=low if found.reliable else None,
            high=high,
            more_than=None if found.reliable else low,
            unjudged=looked.unjudged,
            preliminary=at_hand is None,
        )


class UnsettledOut(Wire):
    """Two systems whose order judging will probably not settle.

    a           the better system
    b           the worse system
    confidence  confidence in their order at the end
    queries     number of queries of this kind that, all judged, would tell them apart; null for more than 10,000
    """

    a: str
    b: str
    confidence: float
    queries: int | None


class EffortOut(Wire):
    """Effort until a stopping rule is met, as `audiosim plan` reports it.

    judgments             further judgments; null if too few simulated campaigns ended in time
    low                   lower end of an 80 % interval; a lower bound if too few simulated campaigns ended in time
    high                  upper end of the interval; null likewise
    hours                 time of each listener; null likewise
    seconds_per_judgment  time of one judgment
    listeners             number of people who judge at the same time
    campaigns             number of simulated campaigns
    unmet                 number of these in which every pair was judged without meeting the rule
    unsettled             pairs of systems that judging will probably not settle
    otherwise             other forms of the collection, and what they would cost
    further               what further judgments would give
    """

    goal: str
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
    further: list[FurtherJudging]


class PlanOut(EffortOut):
    """Effort until the stopping rule of a campaign is met."""

    collection: str
    state: int
    model: str
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
        said = replace(found, listeners=listeners, seconds=pace).to_dict() | {
            "model": looked.model,
            "state": looked.number,
        }
        said |= {"collection": one.collection.identifier, "preliminary": planned is None}
        return msgspec.convert(said, cls)


class ShareOut(Wire):
    """Pairs in the pool, and judged pairs, of a query or a system.

    name    name of the query or system
    pairs   number of its pairs in the pool
    judged  number of these that are judged
    """

    name: str
    pairs: int
    judged: int


class ProgressOut(OfState):
    """Progress of judging, by query and by system.

    queries  one entry for each query
    systems  one entry for each system
    """

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


class LogOut(OfState):
    """Lines of a campaign's log, oldest first.

    more    true if there are earlier ones
    events  the lines
    """

    more: bool
    events: list[RecordOut]


class AssessorsOut(OfState):
    """Severity of each assessor in one state of the campaign.

    assessors  one entry for each; null where unknown
    doubts     reasons to doubt that a person listens, by name
    aside      people whose judgments do not count
    checks     assessors' answers beside their own earlier ones about the same pairs, and beside known grades
    """

    assessors: list[Leaning]
    doubts: dict[str, str]
    aside: list[str]
    checks: list[dict[str, Any]]


class InvitationIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Person to invite.

    name  the person's name
    days  validity of the link in days; no limit if not given
    """

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]
    days: Annotated[float, Meta(gt=0, le=LONGEST_DAYS)] | None = None


class InvitationOut(Wire):
    """Link to a person's judging page.

    name  the person's name
    link  address; with tokens it contains the person's token, which is shown only once
    """

    name: str
    link: str
    expires: str | None


class WithdrawalIn(Strict, forbid_unknown_fields=True):
    """Invitation to withdraw.

    name  the person's name
    """

    name: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT)]


class InvitedOut(Wire):
    """An assessor's invitation.

    name  the person's name
    """

    name: str
    created: str
    expires: str | None
    ended: bool

    @classmethod
    def from_domain(cls, token: Token, ended: bool) -> Self:
        return cls(token.name, token.created, token.expires or None, ended)


class InvitationsOut(Wire):
    """Assessors invited to judge a collection.

    tokens   false if everyone on this machine may judge without one
    invited  one entry for each assessor
    """

    tokens: bool
    invited: list[InvitedOut]


class ImportOut(Wire):
    """An uploaded file of judgments.

    number   number of the import
    status   waiting, running, done or failed
    by       name of the sender; null if the service needs no token
    time     time of its arrival, ISO 8601, UTC
    lines    number of judgments in it; null until it is read
    written  number of these in the log
    problem  reason of a failure or delay, else empty
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


class ResultsOut(StandingOut):
    """Results of a collection, as shown to readers with a link: the ranking, and the progress of judging.

    name           title of the collection
    queries        number of queries
    comparisons    number of comparisons of two documents that count, too
    words          subject of the confidence, in words
    stopping_rule  stopping rule of the campaign
    pairs          all pairs of systems
    notes          as in the ranking
    """

    name: str
    status: str
    queries: int
    comparisons: int
    confidence: float | None
    words: str
    stopping_rule: str
    reached: bool
    sentence: str
    top_k: int | None
    notes: list[str]
    systems: list[SystemOut]
    pairs: list[DifferenceOut]

    @classmethod
    def from_domain(cls, served: ServedCollection, number: int, ranking: dict[str, Any]) -> "ResultsOut":
        """Results in one state of the campaign.

        ranking  as printed by `audiosim estimate --format json`
        """
        selection, rule = served.campaign.selection, served.judging.stopping_rule
        said = {
            "collection": served.collection.identifier,
            "name": served.collection.name,
            "state": number,
            "comparisons": selection.ranking.comparisons,
            "status": served.campaign.progress.state,
            "queries": len(selection.pool.queries),
            "words": selection.ranking.about.words,
            "stopping_rule": str(rule),
            "reached": selection.reached(rule),
        }
        return msgspec.convert(ranking | said, cls)


class LinkIn(InvitationIn, forbid_unknown_fields=True, omit_defaults=True):
    """Link to make, to the page of results.

    name  name of the link, such as its recipient
    """


class LinkOut(InvitationOut):
    """Link to the page of results.

    name  name of the link, such as its recipient
    link  address; if tokens are used it contains one, which is never shown again
    """


class RevocationIn(WithdrawalIn, forbid_unknown_fields=True):
    """Link to revoke.

    name  name of the link
    """


class LinkedOut(InvitedOut):
    """A link to the page of results.

    name  name of the link, such as its recipient
    """


class LinksOut(Wire):
    """Links to the results of a collection.

    tokens  false if everyone on this machine sees the results without one
    links   one entry for each link
    """

    tokens: bool
    links: list[LinkedOut]
