"""Rules for the events that a campaign currently accepts."""

from dataclasses import replace
from datetime import datetime, timedelta

from audiosim.campaign.event import (
    ANSWERS,
    ASIDE,
    JUDGING,
    MODEL,
    QUESTIONNAIRE,
    STATES,
    UNASKED,
    WORDS,
    Event,
    write_time,
)
from audiosim.campaign.state import Ledger
from audiosim.campaign.store import used
from audiosim.collection.pool import Pool
from audiosim.collection.values import Pair, PairedComparison
from audiosim.errors import ArgumentError, ClosedError, InputError, LeaseError


def check_open(ledger: Ledger) -> None:
    """Raise an error if the campaign is paused or closed."""
    if ledger.state != "open":
        raise ClosedError(f"the campaign is {ledger.state}: its organiser opens it by `resume`")


def check_next(event: Event, ledger: Ledger, pool: Pool, now: datetime, vouched: bool = False) -> None:
    """Raise an error if an event may not be the next line of the log.

    vouched  True for events from elsewhere: their pairs may be leased to another assessor, and listening times are not
             checked
    """
    # These may follow in a paused or closed campaign, because none of them is a judgment: resuming it, setting a person
    # aside, choosing a model, changing texts, learning.
    if event.kind in STATES:
        _check_turn(event, ledger)
    elif event.kind in ASIDE:
        check_aside(event, ledger)
    elif event.kind == MODEL:
        _check_model(event, ledger)
    elif event.kind == QUESTIONNAIRE:
        _check_questionnaire(event, ledger)
    elif event.kind not in ("learn", WORDS):
        check_open(ledger)
        if event.kind != "undo":
            _check_answer(event, ledger, pool, now, vouched)
        elif not ledger.counts(event.assessor, event.refers):
            raise InputError(f"event {event.refers} is not a valid answer of {event.assessor or 'nobody'}")


def _check_answer(event: Event, ledger: Ledger, pool: Pool, now: datetime, vouched: bool) -> None:
    pool.locate(event.comparison.pairs if event.kind == "comparison" else [event.pair])
    if event.kind in JUDGING:
        event.judgment_on(ledger.scale)
    lease = None if event.kind == "comparison" else ledger.lease(event.pair, now)
    if lease is not None and lease.assessor != event.assessor and not vouched:
        pair = f"document {event.document} for query {event.query}"
        raise LeaseError(f"{pair} is with another assessor until {write_time(lease.until)}")
    if not vouched:
        ledger.check_heard(event, now)


def marked(event: Event, ledger: Ledger, unasked: str) -> Event:
    """An event as written to the log: an answer on a pair never handed to its assessor is marked, or refused.

    unasked  as in `CampaignSettings`
    """
    # Decided here and not by the client, which may be an older page, because a repeat must never replace the first
    # answer.
    if event.kind == "judgment" and ledger.asked_again(event.pair, event.assessor):
        return replace(event, kind="repeat")
    if event.kind not in (*ANSWERS, "comparison") or unasked == "count" or ledger.handed(event):
        return event
    if unasked == "refuse":
        if event.kind == "comparison":
            raise LeaseError(
                f"this comparison for query {event.query} was never handed to {event.assessor or 'nobody'}: ask for "
                "comparisons first"
            )
        pair = f"document {event.document} for query {event.query}"
        raise LeaseError(f"{pair} was never handed to {event.assessor or 'nobody'}: ask for pairs to judge first")
    return replace(event, details={**event.details, UNASKED: True})


def undoing(ledger: Ledger, pool: Pool, assessor: str, number: int | None, key: str, now: datetime) -> Event:
    """The event that withdraws an answer: a new one, or the one sent before with this key.

    number  number of the answer; None: the assessor's last valid one
    """
    # Looked up before the last answer: a retried undo would otherwise withdraw a second answer.
    earlier = ledger.earlier(assessor, key)
    if earlier is not None:
        if earlier.event.kind != "undo" or number not in (None, earlier.event.refers):
            raise InputError(f"{used(earlier.event)} for another event")
        return earlier.event
    number = ledger.latest(assessor) if number is None else number
    if number is None:
        raise InputError(f"{assessor or 'nobody'} has no answer to undo")
    undo = Event("undo", write_time(now), assessor, key=key, refers=number)
    check_next(undo, ledger, pool, now)
    return undo


def reopened(ledger: Ledger, undo: Event, now: datetime, lease_s: float) -> list[Event]:
    """The lease that returns the pair of a withdrawn answer to its assessor; none if an earlier one is valid again."""
    if ledger.earlier(undo.assessor, undo.key) is not None or not undo.assessor or ledger.revises(undo.refers):
        return []
    undone = ledger.record(undo.refers).event
    if undone.kind == "comparison":
        return [comparison_lease(undone.comparison, undo.assessor, now, lease_s)]
    if undone.kind == "cannot" and ledger.comparisons.shown(undone.pair, undo.assessor) is not None:
        return []  # the comparison that showed the pair is still leased
    # The pair may be with somebody else by now; two leases of one pair would hand it out twice.
    held = ledger.lease(undone.pair, now)
    kind = "again" if undone.kind == "repeat" else "lease"
    free = held is None or held.assessor == undo.assessor
    return [_lease(kind, undone.pair, undo.assessor, now, lease_s)] if free else []


def lease_of(ledger: Ledger, pair: Pair, assessor: str, now: datetime, lease_s: float, why: str = "") -> Event:
    """The lease that hands a pair to an assessor, again if they have judged it.

    why  reason for a second opinion; unchanged if they have the pair already
    """
    held = ledger.lease(pair, now)
    why = why or (held.why if held is not None and held.assessor == assessor else "")
    return _lease("again" if assessor in ledger.assessors(pair) else "lease", pair, assessor, now, lease_s, why)


def comparison_lease(one: PairedComparison, assessor: str, now: datetime, lease_s: float) -> Event:
    """The event that hands a comparison to an assessor."""
    details, until = {"document_b": one.document_b}, now + timedelta(seconds=lease_s)
    return Event(
        "compare", write_time(now), assessor, one.query, one.document_a, details=details, until=write_time(until)
    )


def _lease(kind: str, pair: Pair, assessor: str, now: datetime, lease_s: float, why: str = "") -> Event:
    until, details = now + timedelta(seconds=lease_s), {"why": why} if why else {}
    return Event(kind, write_time(now), assessor, *pair, details=details, until=write_time(until))


def check_aside(event: Event, ledger: Ledger) -> None:
    """Raise an error if no person of this name has judged, or if they are set aside already, or not set aside."""
    name, aside = event.judge, event.judge in ledger.aside
    if not aside and not ledger.judged_anything(name):
        raise ArgumentError("judge", f"{name} has judged nothing here: expected the name of a person who has")
    if aside == (event.kind == "set_aside"):
        raise ClosedError(f"{name} is set aside already" if aside else f"{name} is not set aside")


def _check_model(event: Event, ledger: Ledger) -> None:
    """Raise an error if the campaign has this model already."""
    line = ledger.decided.get(MODEL)
    chosen = ledger.record(line).event.details["model"] if line else ""
    if event.details["model"] == chosen:
        raise ClosedError(f"the campaign has {f'the model {chosen}' if chosen else 'its usual model'} already")


def _check_questionnaire(event: Event, ledger: Ledger) -> None:
    """Raise an error unless the campaign is open, or a person who judged answers the last questions after its end."""
    late = event.details["moment"] == "after" and "after" not in ledger.questionnaires.get(event.assessor, {})
    if ledger.state == "closed" and not (late and ledger.judged_anything(event.assessor)):
        check_open(ledger)


def _check_turn(event: Event, ledger: Ledger) -> None:
    if ledger.state == STATES[event.kind] or (event.kind, ledger.state) == ("pause", "closed"):
        raise ClosedError(f"cannot {event.kind} the campaign: it is {ledger.state}")
