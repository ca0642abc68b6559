"""Quotas: how many answers a person has given, of those that they may give."""

from audiosim.campaign import Campaign
from audiosim.errors import ClosedError


def answers_given(campaign: Campaign, assessor: str) -> int:
    """Number of pairs and comparisons that an assessor answered; a revised answer is one, and a repeat another."""
    pairs = {
        (record.event.pair, record.number if record.event.kind == "repeat" else 0)
        for record in campaign.answers(assessor)
    }
    compared = {
        (said.query, frozenset((said.document_a, said.document_b)))
        for said in (record.event.comparison for record in campaign.comparisons.answers(assessor))
    }
    return len(pairs) + len(compared)


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
