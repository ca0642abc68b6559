"""A judging campaign: an append-only log of assessors' answers, and the ranking that follows from it."""

from typing import TYPE_CHECKING, Any

from audiosim.campaign.campaign import Campaign
from audiosim.campaign.event import Event, Record
from audiosim.campaign.learning import CampaignState, Counted, Lesson, Progress, Stretch
from audiosim.campaign.reader import judgments_in, with_log
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.state import Change, Lease, Ledger
from audiosim.campaign.store import MemoryStore, Store
from audiosim.campaign.timing import Pace
from audiosim.people.agreement import Agreement, ScaleAgreement, TwoAssessors

if TYPE_CHECKING:
    from audiosim.campaign.database import DatabaseStore

__all__ = [
    "Agreement",
    "Campaign",
    "CampaignSettings",
    "CampaignState",
    "Change",
    "Counted",
    "DatabaseStore",
    "Event",
    "Lease",
    "Ledger",
    "Lesson",
    "MemoryStore",
    "Pace",
    "Progress",
    "Record",
    "ScaleAgreement",
    "Store",
    "Stretch",
    "TwoAssessors",
    "judgments_in",
    "with_log",
]


def __getattr__(name: str) -> Any:
    """Import the database store on first use: SQLAlchemy takes longer to load than most commands run."""
    if name != "DatabaseStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from audiosim.campaign.database import DatabaseStore

    return DatabaseStore
