"""A page of several candidates: pairs of one query, handed to one person, that stay theirs."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.campaign import Campaign, CampaignSettings, Event
from audiosim.campaign.paying_pages import page_pays
from audiosim.campaign.seconds_taken import SecondsTaken
from audiosim.corpus.model import Judgment
from audiosim.errors import InputError
from audiosim.simulation import Design, synthetic_collection


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
    assert campaign.ask(20, "ann") == page  # a page that is loaded again is the same
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
    """All that Ann judged waits for a second person, whose page holds nothing else of that query."""
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
        watch.forward(40)  # of the 60 s that a lease lasts
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
    """The same pairs are asked for, in the same order, as without the setting."""
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
    """Its seconds are shared by the answers of the page; counted for each they are more than the time that passed."""
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
        else:  # 3 x 65 s are more than the 80 s there were, and the slack of 60
            campaign.tell_all(page[:2])
            with pytest.raises(InputError, match="bob claims 195 s of listening in the last 80 s"):
                campaign.tell(page[2])


def brute_force(weights, query, free, candidates, seconds):
    """The best sum per second over all pages of free pairs of one query, beside the best single pair per second."""
    groups = [[weights[i] for i in np.flatnonzero(free & (query == code))] for code in set(query)]
    best = [sorted(group, reverse=True)[:candidates] for group in groups if group]
    return max(sum(page) / seconds.page(len(page), "ann") for page in best), max(map(max, best)) / seconds.page(
        1, "ann"
    )


def told(grade, page, of=4):
    """Seconds by a log in which a single grade and a whole page have taken so long, often."""
    seconds = SecondsTaken()
    for _ in range(400):
        for took, beside in ((grade, {}), (page / of, {"beside": of})):
            seconds.note(
                Event("judgment", "2013-05-01T12:01:20Z", "ann", "q", "d", {"fine": 1.0}, {"seconds": took, **beside})
            )
    return seconds


def test_a_page_takes_its_query_and_candidates_until_answers_show_otherwise():
    assert [SecondsTaken().page(count, "ann") for count in (1, 2, 5)] == [14, 21, 42]  # of 7 s a clip
    seconds = told(20.0, 60.0)
    assert seconds.page(1, "ann") == pytest.approx(20, rel=0.05)
    assert seconds.page(4, "ann") == pytest.approx(60, rel=0.05)
    assert seconds.page(8, "ann") == pytest.approx(60 * 9 / 5, rel=0.05)


@pytest.mark.parametrize("page", [24.0, 50.0, 80.0])
def test_a_page_pays_where_no_single_grade_tells_more_per_second(page):
    rng, seconds, found = np.random.default_rng(3), told(20.0, page), []
    for _ in range(50):
        weights, query = rng.random(30) ** 2, rng.integers(6, size=30)
        free = rng.random(30) < 0.7
        best, single = brute_force(weights, query, free, 4, seconds)
        found.append(page_pays(weights, query, free, 4, seconds, "ann"))
        assert found[-1] == (best >= single)
    # Where a page takes as long as its grades, it pays only where the best pair is alone in its query.
    assert {24.0: np.mean(found) > 0.8, 50.0: 0 < np.mean(found) < 1, 80.0: np.mean(found) < 0.2}[page]


@pytest.mark.parametrize(("page", "candidates"), [(80.0, 1), (24.0, 4)])
def test_pages_that_take_as_long_as_their_grades_give_way_to_single_grades(page, candidates):
    design = Design(systems=5, teams=2, queries=14, cutoff=5, candidates=16)
    collection = replace(synthetic_collection(np.random.default_rng(4), design), judgments=())
    campaign = Campaign(collection, "joint", "CG@5", settings=CampaignSettings(candidates=4))
    sizes = []
    while sum(sizes) < 110:
        pairs = campaign.ask(4, "ann")
        took = 20.0 if len(pairs) == 1 else page * len(pairs) / 4
        details = {"seconds": took / len(pairs), "beside": len(pairs)}
        sizes.append(len(pairs))
        assert campaign.ask(4, "ann") == pairs  # a page that is loaded again is the same
        campaign.tell_all(
            [Event("judgment", "2013-05-01T12:01:20Z", "ann", *pair, {"fine": 50.0}, details) for pair in pairs]
        )
    assert sizes[:8] == [4, 4, 4, 1, 4, 4, 4, 1]  # one after every twelve grades, until their seconds are known
    late = sizes[-10:]
    assert max(late, key=late.count) == candidates


@pytest.mark.parametrize("count", [0, 9])
def test_a_page_has_one_to_eight_candidates(count):
    with pytest.raises(InputError, match=rf"number of candidates on a page must be in \[1, 8\], got {count}"):
        CampaignSettings(candidates=count)
