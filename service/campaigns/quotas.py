"""Quotas: the number of answers that a person has given, and may give."""

from collections.abc import Iterable

from audiosim.campaign import Campaign
from audiosim.campaign.event import Record
from audiosim.errors import ClosedError


def answers_given(campaign: Campaign, assessor: str) -> int:
    """Number of pairs and comparisons that an assessor answered; a revised answer counts once, a repeat separately."""
    return answers_among(answers_kept(campaign, assessor))


def answers_kept(campaign: Campaign, assessor: str) -> list[Record]:
    """Answers of an assessor about pairs, and comparisons, that were not withdrawn, including revised ones."""
    return [*campaign.answers(assessor), *campaign.comparisons.answers(assessor)]


def answers_among(records: Iterable[Record]) -> int:
    """Number of pairs and comparisons that one assessor answered in these lines, counted as in `answers_given`."""
    return len({_answered(record) for record in records})


def _answered(record: Record) -> tuple[str, frozenset[str], int]:
    """Query, documents, and for a repeat, its line number."""
    event = record.event
    documents = {pair.document for pair in event.comparison.pairs} if event.kind == "comparison" else {event.document}
    return event.query, frozenset(documents), record.number if event.kind == "repeat" else 0


def is_done(campaign: Campaign, answers: int, quota: int | None) -> bool:
    """True if a person with this many answers is done.

    A person is done if the quota is reached, if judging has ended, or if every remaining pair is leased to others: such
    a lease may end, but nobody waits for it. A campaign of comparisons never runs out of them.

    quota  largest number of answers; None: unlimited
    """
    if quota is not None and answers >= quota:
        return True
    if not answers or campaign.state == "paused":
        return False
    if campaign.state == "closed":
        return True
    try:
        return campaign.comparisons.allowed == "none" and not campaign.ask(1)
    except ClosedError:  # judging ended meanwhile
        return False
