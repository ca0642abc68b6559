"""Rules of what may happen in a campaign now, and what may not."""

from dataclasses import replace
from datetime import datetime

from audiosim.campaign.event import ANSWERS, STATES, UNASKED, Event, write_time
from audiosim.campaign.ledger import Ledger
from audiosim.corpus.pool import Pool
from audiosim.errors import ClosedError, InputError, LeaseError


def check_open(ledger: Ledger) -> None:
    """An error where the campaign is paused or closed."""
    if ledger.state != "open":
        raise ClosedError(f"the campaign is {ledger.state}")


def check_next(event: Event, ledger: Ledger, pool: Pool, now: datetime, vouched: bool = False) -> None:
    """An error where an event cannot be the next line of the log.

    vouched  whether it was made elsewhere: then its pair may be with another assessor, and be heard at any time
    """
    if event.kind in STATES:
        _check_turn(event, ledger)
        return
    if event.kind == "learn":
        return
    check_open(ledger)
    if event.kind == "undo":
        if not ledger.counts(event.assessor, event.refers):
            raise InputError(f"event {event.refers} is no answer of {event.assessor or 'nobody'} that counts")
        return
    pool.locate([event.pair])
    if event.kind == "judgment":
        event.judgment_on(ledger.scale)
    lease = ledger.lease(event.pair, now)
    if lease is not None and lease.assessor != event.assessor and not vouched:
        pair = f"document {event.document} for query {event.query}"
        raise LeaseError(f"{pair} is with another assessor until {write_time(lease.until)}")
    if not vouched:
        ledger.check_heard(event, now)


def marked(event: Event, ledger: Ledger, unasked: str) -> Event:
    """An event as it goes into the log: an answer on a pair that its assessor was never handed is marked, or refused.

    unasked  as in `CampaignSettings`
    """
    if event.kind not in ANSWERS or unasked == "count" or ledger.handed(event.pair, event.assessor):
        return event
    if unasked == "refuse":
        pair = f"document {event.document} for query {event.query}"
        raise LeaseError(f"{pair} was never handed to {event.assessor or 'nobody'}: ask for pairs to judge first")
    return replace(event, details={**event.details, UNASKED: True})


def _check_turn(event: Event, ledger: Ledger) -> None:
    if ledger.state == STATES[event.kind] or (event.kind, ledger.state) == ("pause", "closed"):
        raise ClosedError(f"cannot {event.kind} the campaign: it is {ledger.state}")
