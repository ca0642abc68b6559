"""The judges: reports on them, their effect on the ranking, and setting a judge aside."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Body, Query, Response
from fastapi.concurrency import run_in_threadpool

from audiosim.campaign.event import utc_now
from audiosim.campaign.learning import takes_long
from audiosim.campaign.reader import placed_grades
from audiosim.collection.values import Judgment, Pair
from audiosim.errors import InputError
from audiosim.joint.estimators import comparing
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import JudgeReport
from audiosim.people.effects import PlacedGrade, judge_effect
from audiosim.people.judges import Judges, all_order_effects, reports_on_people
from audiosim.ranking import Selection
from audiosim.ranking.about import About
from audiosim.service.access.tokens import TokenStore
from audiosim.service.collections.served import ServedCollection
from audiosim.service.http.exchange import CollectionDep, FreshDep, answer, chapter
from audiosim.service.operations.campaign import AboutQuery, RankingsDep
from audiosim.service.operations.judging import MOST_SHOWN, WRITES, CountQuery, WritingDep, written
from audiosim.service.operations.sessions import AccessDep
from audiosim.service.process.loops import kept_beside
from audiosim.service.types.judging import RecordOut
from audiosim.service.types.people import (
    AdjudicationIn,
    AdjudicationOut,
    AdjudicationsOut,
    DisagreementsOut,
    JudgeEffectOut,
    JudgesOut,
    NamedJudgeIn,
    OrderEffectOut,
)

router = chapter("campaign")

SHOWN = 20
Result = TypeVar("Result")

JudgeQuery = Annotated[str, Query(min_length=1, max_length=1000, description="name of a person who judged")]


@router.get("/collections/{collection}/judges", response_model=JudgesOut)
async def show_judges(one: CollectionDep, effects: RankingsDep, machines: bool = True) -> Response:
    """Show how people and machines judge, as `audiosim judges` does, with effects of order, and the people set aside.

    Without `machines`, the list has only people, which is faster; it is then empty until the first judgment.
    """
    number, selection = one.campaign.current_state
    work = partial(_all_judges, one) if machines else partial(_only_people, one, selection)
    found = await effects.do((one, "judges", number, machines), work)
    order = [OrderEffectOut(**effect.to_dict()) for effect in found.order_effects]
    aside = {name: RecordOut.from_domain(record) for name, record in one.campaign.aside().items()}
    return answer(JudgesOut(one.collection.identifier, number, found.to_dict(), order, aside))


def _all_judges(one: ServedCollection) -> Judges:
    comparisons = one.campaign.comparisons.in_force()[1]
    pool, judgments = one.campaign.selection.pool, one.campaign.judgments()
    return _worked_out(partial(Judges.of, pool, judgments, comparisons, _placed(one)), one, len(judgments))


def _worked_out(work: Callable[[], Result], one: ServedCollection, judgments: int) -> Result:
    """Result of work on some judgments, in a process of its own if they, or the people who made them, are many."""
    now = one.campaign.selection
    long = takes_long(judgments, len(now.panel.judges), len(now.pool.pairs))
    return one.judging.errands.run_now(lambda: work) if long else work()


def _only_people(one: ServedCollection, selection: Selection) -> Judges:
    people = _people(selection, one)
    found = all_order_effects(people, one.campaign.comparisons.in_force()[1], _placed(one))
    return Judges(people, (), order_effects=found)


def _placed(one: ServedCollection) -> list[PlacedGrade]:
    """Grades from pages of several candidates, in the campaign's log."""
    return placed_grades(one.campaign.log(), one.collection.scale)


@kept_beside
def _people(selection: Selection, one: ServedCollection) -> tuple[JudgeReport, ...]:
    """Reports on people in a state; with a thousand judgments they take a second."""
    pool, panel = selection.pool, selection.panel
    return tuple(_worked_out(partial(reports_on_people, pool, panel), one, len(panel.place)))


@router.get("/collections/{collection}/disagreements", response_model=DisagreementsOut)
async def show_disagreements(one: CollectionDep, effects: RankingsDep, count: CountQuery = SHOWN) -> Response:
    """Show the pairs to discuss: those on which people differ most, considering how each of them judges other pairs.

    The answer is that of `audiosim disagreements`.
    """
    number, selection = one.campaign.current_state
    found = await effects.do((one, "disputed", number), lambda: _disputed(selection, one))
    return answer({"collection": one.collection.identifier, "state": number, "pairs": found[:count]})


@kept_beside
def _disputed(selection: Selection, one: ServedCollection) -> list[dict[str, Any]]:
    """Disagreements in a state, as plain values, cached because they take a second and pages ask repeatedly."""
    pool, panel = selection.pool, selection.panel
    estimator = selection.estimator
    if not panel.several or not isinstance(estimator, JointEstimator):
        return []
    found = _worked_out(partial(estimator.disagreements, panel, MOST_SHOWN), one, len(panel.place))
    return [each.to_dict(pool.scale.maximum) for each in found]


@router.get("/collections/{collection}/adjudications")
def show_adjudications(one: FreshDep) -> AdjudicationsOut:
    """List the pairs that organisers gave to particular people: those still open, and the decisions."""
    given = one.campaign.adjudications.all()
    rows = [AdjudicationOut(*one.pair, one.number, one.time, one.assessor, one.status, one.grade) for one in given]
    return AdjudicationsOut(one.collection.identifier, rows)


@router.post("/collections/{collection}/adjudications", **WRITES)
def ask_adjudication(
    access: AccessDep, response: Response, one: CollectionDep, asked: Annotated[AdjudicationIn, Body()]
) -> RecordOut:
    """Put a disputed pair first in a person's queue, as `audiosim adjudicate` does; the judgment counts like any other.

    The record is the lease that keeps the request in the log; repeating the request changes nothing.
    """
    name = _named(one, asked.assessor)
    if name not in one.campaign.assessors():
        _check_invited(access.tokens, one.collection.identifier, name)
    return written(one.campaign.adjudications.ask(Pair(asked.query, asked.document), name), response)


def _check_invited(tokens: TokenStore | None, collection: str, name: str) -> None:
    """Raise an error if this person has no valid token for judging a collection; without tokens, anybody may judge."""
    if tokens is None:
        return
    now, judging = utc_now(), ("assessor", "organiser")
    valid = [token for token in tokens.tokens() if token.role in judging and token.valid(now)]
    if not any(token.name == name and token.collection in ("", collection) for token in valid):
        raise InputError(f"{name} is not invited to judge {collection}: invite them first")


@router.get("/collections/{collection}/judge-effect", response_model=JudgeEffectOut)
async def show_judge_effect(
    one: CollectionDep, effects: RankingsDep, judge: JudgeQuery, about: AboutQuery = None
) -> Response:
    """Show the ranking with and without one person's judgments, as `audiosim judge-effect` does.

    It is to be looked at before setting them aside.

    For a person who is set aside, it shows the effect of taking them back. Their comparisons are left out together with
    their judgments. This takes a second or two.
    """
    subject = None if about is None else About.parse(about)
    name = await run_in_threadpool(_named, one, judge)
    number, judgments = one.campaign.snapshot(back=(name,))
    aside = name in one.campaign.aside()
    found = await effects.do((one, "effect", name, subject), lambda: _effect(one, judgments, name, subject))
    return answer({"collection": one.collection.identifier, "state": number, "aside": aside} | found)


def _named(one: ServedCollection, said: str) -> str:
    """The judge named by an organiser; another server may have recorded their judgments."""
    one.campaign.refresh()
    return one.campaign.known_as(said)


def _effect(one: ServedCollection, judgments: tuple[Judgment, ...], name: str, about: About | None) -> dict[str, Any]:
    selection = one.campaign.selection
    compared = one.campaign.comparisons.in_force(back=(name,))[1]
    estimator = comparing(one.predictor().estimator.unlearned(), compared, learn=True)
    rest = judgments, name, selection.distribution, about or selection.about
    return _worked_out(partial(judge_effect, selection.expected, estimator, *rest), one, len(judgments)).to_dict()


@router.post("/collections/{collection}/set-aside", **WRITES)
def set_aside(writing: WritingDep, said: Annotated[NamedJudgeIn, Body()]) -> RecordOut:
    """Set a judge aside: their judgments stay in the log but no longer count, until they are taken back.

    They are offered no more pairs; any judgments they still send are only logged. `judge-effect` shows the change.
    """
    name, campaign = _named(writing.one, said.judge), writing.one.campaign
    return writing.written(campaign.set_aside(name, writing.caller.name, said.reason, writing.key))


@router.post("/collections/{collection}/take-back", **WRITES)
def take_back(writing: WritingDep, said: Annotated[NamedJudgeIn, Body()]) -> RecordOut:
    """Take back a judge who was set aside: their judgments count again."""
    name, campaign = _named(writing.one, said.judge), writing.one.campaign
    return writing.written(campaign.take_back(name, writing.caller.name, said.reason, writing.key))
