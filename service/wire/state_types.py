"""The wire types of states: a campaign's results so far, for organisers and programs."""

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
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.service.wire.base import Wire


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
