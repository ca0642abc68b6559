"""The wire types of states: the results of a campaign so far, for organisers and programs."""

from typing import Any

from msgspec import field

from audiosim.campaign import Campaign, Pace, Progress
from audiosim.campaign.event import write_time
from audiosim.expected.about import OF_THIS_KIND
from audiosim.expected.estimation import FEWEST_QUERIES
from audiosim.expected.ranking import PREDICTED
from audiosim.expected.verdicts import Separation
from audiosim.relevance.pair_evidence import evidence_counts
from audiosim.selection import Selection
from audiosim.service.entrance.exchange import Wire
from audiosim.service.shelf.served_collection import ServedCollection


class SystemOut(Wire, omit_defaults=True):
    """A system's expected score with its 95 % interval; `error` where grades were drawn to get it.

    Systems that share a letter of `group` cannot be told apart; each may have the ranks from `rank_low`, the best, to
    `rank_high`; `best` is the probability that it is the best of all, `top` that it is among the best `top_k`.
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
    """The better system `a`, the worse `b`, what their difference is expected to be, and how sure its sign is.

    `equal` where they are known to be, such as one run under two names: such a pair counts for no confidence.
    """

    a: str
    b: str
    expectation: float
    variance: float
    confidence: float
    equal: bool = False


class AboutOut(Wire):
    """Subject of a statement: `these` queries or `queries` of this kind, as the `panel` of those who judged has it,
    `listeners` at large, or so many people.
    """

    queries: str = "these"
    listeners: str = "panel"


class AtLargeOut(Wire):
    """The ranking as listeners at large would have it."""

    confidence: float | None
    systems: list[SystemOut]
    about: AboutOut


class RankingOut(Wire, omit_defaults=True):
    """The ranking as `audiosim estimate` has it, in one state of the campaign.

    `basis` is "predicted, nothing judged", or the number of judgments that it rests on. All is stated `about` the
    queries and listeners named there; `confidence` is null where there is nothing to order. `groups` of systems cannot
    be told apart, at the `family_wise` level; `nearest` to it are two, where known; `sentence` says the result. `fit`
    says whether the judgments come out as the model predicts them: PASS, FAIL, NOT CHECKED, `fit_sentence` in words.
    Where it fails, `fit_against` says what speaks against it; all statements are `widened` times as wide, and where
    `fit_instead` is "general" they rest on what collections in general are like, and on the judgments. Where several
    people judged, `judges` of them, `at_large` says beside a statement about them what listeners at large would say.
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
    """Goal at which judging may stop, where it stands in the unit of the goal, and whether that is enough."""

    goal: str
    level: float
    reached: bool


class CannotOut(Wire):
    """A pair that an assessor cannot judge, and why."""

    query: str
    document: str
    assessor: str
    reason: str


class PairOut(Wire):
    """A query and a document."""

    query: str
    document: str


class HeldOut(Wire):
    """A pair that is with an assessor."""

    query: str
    document: str
    assessor: str
    until: str


class CampaignOut(Wire):
    """Progress of a campaign. `state` is the number of its last event, `status` open, paused or closed.

    `evidence` says of how many pairs of the pool each piece of evidence speaks: output, genre, sound and so on.
    `confidence` is what `estimate` and the ranking say, `about` what it is of, `of_this_kind` the same about queries of
    this kind, `at_large` as listeners at large would have it where several people judged; null where there is nothing
    to order. `fit` is the check of the model, PASS, FAIL or NOT CHECKED, and
    `fit_sentence` says it; deviations are `widened` so many times where it fails.
    `basis` is "predicted, nothing judged", or the number of judged pairs that the confidence rests on. `sounds` says
    what cannot be heard, and so is not handed out; empty where all can be; `heard` is false where the campaign has no
    sound at all. Of assessors, leases and pairs that cannot
    be judged or were dropped a part is shown; `totals` says how many there are of each.
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
            evidence=evidence_counts(selection.belief),
        )


class ChangeOut(Wire):
    """Notice that a campaign has moved on: where it stands now."""

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
    """Confidence about queries of this kind; None where there is nothing to order, and of a single query."""
    several = len(selection.pool.queries) >= FEWEST_QUERIES
    return selection.stated(OF_THIS_KIND).confidence if several else None


def _at_rest(campaign: Campaign) -> tuple[Progress, Selection]:
    """Progress and selection of one state."""
    while True:
        progress, current = campaign.progress, campaign.current_state
        if progress.number == current.number:
            return progress, current.selection
