"""Quotas: how many answers a person has given, of those that they may give."""

from collections.abc import Iterable

from audiosim.campaign import Campaign
from audiosim.campaign.event import Record
from audiosim.errors import ClosedError


def answers_given(campaign: Campaign, assessor: str) -> int:
    """Number of pairs and comparisons that an assessor answered; a revised answer is one, and a repeat another."""
    return answers_among(answers_kept(campaign, assessor))


def answers_kept(campaign: Campaign, assessor: str) -> list[Record]:
    """Answers of an assessor about pairs, and comparisons, that were not withdrawn, including revised ones."""
    return [*campaign.answers(assessor), *campaign.comparisons.answers(assessor)]


def answers_among(records: Iterable[Record]) -> int:
    """Number of pairs and comparisons that one assessor answered in these lines, counted as `answers_given` does."""
    return len({_answered(record) for record in records})


def _answered(record: Record) -> tuple[str, frozenset[str], int]:
    """Query, documents, and the number of the line if it is a repeat."""
    event = record.event
    documents = {pair.document for pair in event.comparison.pairs} if event.kind == "comparison" else {event.document}
    return event.query, frozenset(documents), record.number if event.kind == "repeat" else 0


def is_done(campaign: Campaign, answers: int, quota: int | None) -> bool:
    """True if somebody who gave so many answers is done.

    They are if these are as many as they may give, if judging has ended, or if no pair is left that nobody has: what
    others hold may come back, and is not waited for. A campaign of comparisons always has some left.

    quota  number of answers that they may give; None: any
    """
    if quota is not None and answers >= quota:
        return True
    if not answers or campaign.state == "paused":
        return False
    if campaign.state == "closed":
        return True
    try:
        return campaign.comparisons.allowed == "none" and not campaign.ask(1)
    except ClosedError:  # meanwhile
        return False
