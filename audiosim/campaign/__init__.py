"""A judging campaign: an append-only log of what assessors say, and what it adds up to."""

from audiosim.campaign.campaign import Campaign, Progress
from audiosim.campaign.database import DatabaseStore
from audiosim.campaign.event import Event, Record
from audiosim.campaign.ledger import Change, Lease, Ledger
from audiosim.campaign.pace import Pace
from audiosim.campaign.reading import judgments_in
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.standing import Lesson, Standing
from audiosim.campaign.store import MemoryStore, Store
from audiosim.users.listeners import Agreement, ScaleAgreement, TwoAssessors

__all__ = [
    "Agreement",
    "Campaign",
    "CampaignSettings",
    "Change",
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
    "Standing",
    "Store",
    "TwoAssessors",
    "judgments_in",
]
