"""A clock that is set back after an error: nothing is lost, and the log keeps its order by line numbers."""

import pytest

from audiosim.campaign import Campaign, CampaignSettings, Event
from audiosim.campaign.event import write_time
from audiosim.errors import LeaseError


@pytest.fixture
def campaign(tiny, store, watch):
    return Campaign(tiny, "mjud", "CG@2", store, CampaignSettings(lease_s=600), clock=watch)


def test_judgments_keep_their_order_whatever_their_times(tiny, store, watch, campaign):
    written = []
    for hours in (0, -5, 1, -24 * 400):
        watch.forward(3600 * hours)
        (pair,) = campaign.ask(1, "ann")
        written.append(campaign.tell(said_now(pair, watch)))
    numbers = [record.number for record in written]
    assert numbers == sorted(numbers)
    times = [record.event.time for record in written]
    assert times != sorted(times)
    assert [record.event.time for record in campaign.answers("ann")] == times
    assert campaign.pace("ann").answers == 4
    again = Campaign(tiny, "mjud", "CG@2", store, clock=watch)
    assert again.judgments() == campaign.judgments()
    assert again.ranking.to_dict() == campaign.ranking.to_dict()


def test_a_revision_replaces_what_was_said_at_a_later_time(campaign, watch, said):
    (pair,) = campaign.ask(1, "ann")
    campaign.tell(said(*pair, grade=10))
    watch.forward(-7200)
    campaign.tell(said_now(pair, watch, grade=70))
    assert [judgment.grade for judgment in campaign.judgments()] == [70]


def test_a_pair_that_is_leased_stays_its_assessors_and_may_be_judged(campaign, watch):
    (pair,) = campaign.ask(1, "ann")
    watch.forward(-7200)
    assert campaign.ask(1, "bob") != [pair]
    with pytest.raises(LeaseError, match="is with another assessor until 2013-05-01T12:10:00.000Z"):
        campaign.tell(said_now(pair, watch, assessor="bob"))
    assert campaign.ask(1, "ann") == [pair]  # asking again sets the end by the present clock
    assert [write_time(lease.until) for lease in campaign.leases("ann")] == ["2013-05-01T10:10:00.000Z"]
    campaign.tell(said_now(pair, watch))
    watch.forward(601)
    assert campaign.leases("ann") == []


def said_now(pair, watch, grade=50.0, assessor="ann"):
    return Event("judgment", write_time(watch()), assessor, *pair, {"fine": grade})
