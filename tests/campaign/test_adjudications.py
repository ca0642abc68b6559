"""Disputed pairs that an organiser gives to a particular person."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from audiosim.campaign import Campaign, CampaignSettings, Event
from audiosim.collection.values import Pair
from audiosim.errors import ClosedError, InputError


@pytest.fixture
def opened(tiny, watch):
    """Opens a campaign on the tiny collection."""

    def call(store=None, **options):
        return Campaign(tiny, "mjud", "CG@2", store, CampaignSettings(**options), clock=watch)

    return call


@pytest.fixture
def disputed(opened, tiny_truth, store):
    """A campaign in which ann and bob differ on the first pair, and that pair."""
    campaign, first = opened(store), tiny_truth[0]
    for name, grade in (("ann", 0.0), ("bob", 100.0)):
        campaign.tell(replace(first, assessor=name, grade=grade))
    return campaign, first.pair


def test_a_pair_comes_first_in_the_queue_of_the_person_asked_and_of_nobody_else(disputed):
    campaign, pair = disputed
    (held,) = campaign.ask(assessor="carol")
    assert not campaign.adjudications.ask(pair, "carol").replayed
    assert pair not in campaign.ask(10, "dave")
    assert campaign.ask(2, "carol") == [pair, held]
    assert {lease.pair: lease.why for lease in campaign.leases("carol")} == {held: "", pair: "adjudication"}


def test_the_judgment_is_one_opinion_like_others(disputed, opened, tiny_truth):
    campaign, pair = disputed
    campaign.adjudications.ask(pair, "carol")
    campaign.ask(assessor="carol")
    campaign.tell(replace(tiny_truth[0], assessor="carol", grade=50.0))
    (told,) = campaign.adjudications.all()
    assert (told.pair, told.assessor, told.status, told.grade) == (pair, "carol", "judged", 50.0)
    assert pair not in campaign.ask(10, "carol")
    plain = opened()
    for name, grade in (("ann", 0.0), ("bob", 100.0), ("carol", 50.0)):
        plain.tell(replace(tiny_truth[0], assessor=name, grade=grade))
    np.testing.assert_allclose(campaign.ranking.scores.mean, plain.ranking.scores.mean, rtol=1e-12)


def test_a_pair_waits_across_a_restart_and_after_its_lease_has_ended(disputed, opened, store, watch):
    campaign, pair = disputed
    asked = campaign.adjudications.ask(pair, "carol")
    again = opened(store)
    assert again.adjudications.all() == campaign.adjudications.all()
    assert [one.status for one in again.adjudications.all()] == ["waiting"]
    assert again.ask(assessor="carol") == [pair]
    watch.now += timedelta(days=30)
    assert again.leases("carol") == []
    assert again.ask(assessor="carol") == [pair]
    repeated = again.adjudications.ask(pair, "carol")
    assert (repeated.number, repeated.replayed) == (asked.number, True)


def test_an_undone_decision_waits_again(disputed, tiny_truth):
    campaign, pair = disputed
    campaign.adjudications.ask(pair, "carol")
    campaign.tell(replace(tiny_truth[0], assessor="carol"))
    campaign.undo("carol")
    assert [one.status for one in campaign.adjudications.all()] == ["waiting"]
    assert campaign.ask(assessor="carol") == [pair]


def test_a_pair_that_another_person_has_stays_theirs_until_they_have_judged_it(opened, tiny_truth):
    campaign = opened()
    (pair,) = campaign.ask(assessor="ann")
    campaign.adjudications.ask(pair, "carol")
    assert pair not in campaign.ask(10, "carol")
    assert campaign.ask(assessor="ann") == [pair]
    campaign.tell(replace(next(one for one in tiny_truth if one.pair == pair), assessor="ann"))
    assert campaign.ask(assessor="carol") == [pair]


def test_asking_for_a_pair_that_a_person_has_already_keeps_their_lease(opened):
    campaign = opened()
    (pair,) = campaign.ask(assessor="carol")
    (before,) = campaign.leases("carol")
    campaign.adjudications.ask(pair, "carol")
    (after,) = campaign.leases("carol")
    assert (after.until, after.why) == (before.until, "adjudication")


def test_a_pair_comes_first_where_candidates_stand_beside_one_another(opened, tiny_truth):
    campaign, last = opened(candidates=3), tiny_truth[-1].pair
    campaign.adjudications.ask(last, "carol")
    page = campaign.ask(3, "carol")
    assert page[0] == last
    assert {pair.query for pair in page} == {last.query}


def test_requests_that_nobody_could_follow_are_refused(disputed, tiny_truth):
    campaign, pair = disputed
    what = f"document {pair.document} for query {pair.query}"

    def refused(message, pair=pair, name="carol", kind=InputError):
        with pytest.raises(kind, match=message):
            campaign.adjudications.ask(pair, name)

    refused(f"^ann has judged {what} already: expected a person who has not$", name="ann")
    refused("nowhere", Pair(pair.query, "nowhere"))
    campaign.tell(Event("cannot", "2013-05-01T12:00:00Z", "dora", *pair, details={"reason": "silent"}))
    refused(f"^dora cannot judge {what}: expected somebody else$", name="dora")
    campaign.set_aside("bob")
    refused("^bob is set aside: expected a person whose judgments count$", name="bob")
    campaign.adjudications.ask(pair, "carol")
    campaign.pause()
    refused("^the campaign is paused: its organiser opens it by `resume`$", kind=ClosedError)
    assert len(campaign.adjudications.all()) == 1


def test_a_pair_that_left_the_queue_is_refused_and_who_cannot_or_is_aside_is_said_to_be(opened, tiny_truth):
    campaign, pair = opened(cannot_limit=1), tiny_truth[0].pair
    for name in ("carol", "dave"):
        campaign.adjudications.ask(pair, name)
    campaign.tell(Event("cannot", "2013-05-01T12:00:00Z", "carol", *pair, details={"reason": "silent"}))
    campaign.tell(replace(tiny_truth[1], assessor="dave"))
    campaign.set_aside("dave")
    assert [one.status for one in campaign.adjudications.all()] == ["cannot", "set aside"]
    with pytest.raises(InputError, match="is no longer handed out: too many people cannot judge it, or it cannot be"):
        campaign.adjudications.ask(pair, "erin")
