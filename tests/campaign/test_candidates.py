"""A page of several candidates: pairs of one query, handed to one person who keeps them."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.campaign import Campaign, CampaignSettings, Event
from audiosim.collection.values import Judgment
from audiosim.errors import InputError
from benchmarks.synthetic import Design, synthetic_collection


@pytest.fixture(scope="module")
def collection():
    design = Design(systems=4, teams=2, queries=6, cutoff=5, candidates=12)
    return replace(synthetic_collection(np.random.default_rng(4), design), judgments=())


@pytest.fixture
def campaign(collection, watch):
    return Campaign(collection, "joint", "CG@5", settings=CampaignSettings(candidates=4, lease_s=60), clock=watch)


def test_a_page_is_of_one_query_and_nobody_else_is_handed_it(campaign):
    page = campaign.ask(20, "ann")
    assert len(page) == 4
    assert len({pair.query for pair in page}) == 1
    assert campaign.ask(20, "ann") == page  # reloading gives the same page
    other = campaign.ask(20, "bob")
    assert len({pair.query for pair in other}) == 1
    assert other[0].query != page[0].query
    assert len(campaign.ask(2, "eve")) == 2  # no more than are asked for


def test_what_is_left_of_a_page_is_filled_up_with_its_query(campaign):
    page = campaign.ask(4, "ann")
    campaign.tell(Judgment(*page[0], 1.0, "ann"))
    rest = campaign.ask(4, "ann")
    assert rest[:3] == page[1:]
    assert len(rest) == 4
    assert {pair.query for pair in rest} == {page[0].query}
    assert page[0] not in rest


def test_a_page_is_not_filled_up_with_a_query_of_somebody_else(collection):
    """All pairs that Ann judged wait for a second person, and that person's page has nothing else of the query."""
    campaign = Campaign(collection, "joint", "CG@5", settings=CampaignSettings(candidates=4, twice=1.0))
    first = campaign.ask(4, "ann")
    for pair in first[:3]:
        campaign.tell(Judgment(*pair, 1.0, "ann"))
    page = campaign.ask(4, "bob")
    assert set(page) == set(first[:3])
    for pair in page:
        campaign.tell(Judgment(*pair, 1.0, "bob"))
    assert {pair.query for pair in campaign.ask(4, "bob")}.isdisjoint({first[0].query})


def test_a_page_that_was_taken_back_comes_first_and_the_next_one_stays_held(campaign, watch):
    first = campaign.ask(4, "ann")
    for pair in first:
        campaign.tell(Judgment(*pair, 1.0, "ann"))
    second = campaign.ask(4, "ann")
    for _ in first:
        campaign.undo("ann")
    for _ in range(4):
        watch.forward(40)  # of the 60 s of a lease
        held = campaign.ask(4, "ann")
        assert set(held[:4]) == set(first)
        assert held[4:] == second
    assert set(campaign.ask(4, "bob")).isdisjoint({*first, *second})


@pytest.mark.slow
def test_a_campaign_by_pages_ends_with_everything_judged(campaign):
    pool = campaign.selection.pool
    for _ in range(len(pool.pairs)):
        page = campaign.ask(20, "ann")
        for pair in page:
            campaign.tell(Judgment(*pair, 1.0, "ann"))
        if not page:
            break
    assert campaign.progress.judged == len(pool.pairs)


@pytest.mark.slow
def test_pages_of_one_candidate_are_single_grades(collection):
    """The pairs and their order are the same as without the setting."""
    plain, ones = (
        Campaign(collection, "joint", "CG@5", settings=CampaignSettings(**some)) for some in ({}, {"candidates": 1})
    )
    for number in range(20):
        pairs = plain.ask(3, "ann", by_query=True)
        assert ones.ask(3, "ann", by_query=True) == pairs
        for one in (plain, ones):
            one.tell(Judgment(*pairs[0], float(number % 2), "ann"))
    assert plain.confidence == ones.confidence


def test_a_query_heard_once_for_all_its_candidates_is_claimed_once(campaign, watch):
    """Its seconds are shared between the answers of the page; counted for each, they would exceed the time passed."""
    heard = {"query_played_s": 60.0, "document_played_s": 5.0}
    for name, beside in (("ann", {"beside": 4}), ("bob", {})):
        page = [
            Event("judgment", "2013-05-01T12:01:20Z", name, *pair, {"fine": 50.0}, heard | beside)
            for pair in campaign.ask(4, name)
        ]
        assert len(page) == 4
        watch.forward(80)
        if beside:  # 4 x (15 + 5) = 80 s
            campaign.tell_all(page)
        else:  # 3 x 65 s exceed the 80 s that passed plus 60 s of slack
            campaign.tell_all(page[:2])
            with pytest.raises(InputError, match="bob claims 195 s of listening in the last 80 s"):
                campaign.tell(page[2])


@pytest.mark.parametrize("count", [0, 9])
def test_a_page_has_one_to_eight_candidates(count):
    with pytest.raises(InputError, match=rf"number of candidates on a page must be in \[1, 8\], got {count}"):
        CampaignSettings(candidates=count)
