"""A judge is set aside by a line of the log, and taken back by another."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, Event, judgments_in
from audiosim.campaign.reader import turn_aside
from audiosim.collection.values import Judgment, Pair
from audiosim.errors import ClosedError, InputError
from audiosim.ranking.expected import estimate

NOON = "2013-05-01T12:00:00Z"


@pytest.fixture
def opened(tiny, watch):
    """Opens a campaign on the tiny collection, at noon."""

    def call(store=None, collection=tiny, **options):
        return Campaign(collection, "mjud", "CG@2", store, CampaignSettings(**options), clock=watch)

    return call


def judged(campaign, truth):
    """Ann judges some pairs; bob judges two of them differently, and one more."""
    for one in truth[:4]:
        campaign.tell(replace(one, assessor="ann"))
    for one in (*truth[:2], truth[4]):
        campaign.tell(replace(one, assessor="bob", grade=100.0 - one.grade))
    return campaign


@pytest.mark.slow
def test_who_is_set_aside_counts_as_if_they_had_never_judged(opened, tiny_truth, store):
    campaign = judged(opened(store), tiny_truth)
    campaign.set_aside("bob", "me", "did not listen")
    alone = opened()
    for one in tiny_truth[:4]:
        alone.tell(replace(one, assessor="ann"))
    assert [(one.pair, one.grade) for one in campaign.judgments()] == [
        (one.pair, one.grade) for one in alone.judgments()
    ]
    np.testing.assert_array_equal(campaign.selection.grades, alone.selection.grades)
    np.testing.assert_allclose(campaign.ranking.scores.mean, alone.ranking.scores.mean, rtol=1e-12)
    assert campaign.ranking.judged == alone.ranking.judged
    assert campaign.selection.panel.judges == ("ann",)
    assert campaign.aside()["bob"].event.details == {"judge": "bob", "reason": "did not listen"}


@pytest.mark.slow
def test_who_is_taken_back_counts_as_before_and_another_server_finds_the_same(opened, tiny_truth, store):
    campaign = judged(opened(store), tiny_truth)
    before, grades = campaign.judgments(), campaign.selection.grades
    campaign.set_aside("bob")
    assert opened(store).ranking.to_dict() == campaign.ranking.to_dict()
    campaign.take_back("bob")
    assert campaign.judgments() == before
    np.testing.assert_array_equal(campaign.selection.grades, grades)
    assert campaign.aside() == {}
    again = opened(store)
    assert again.ranking.to_dict() == campaign.ranking.to_dict()
    assert again.judgments() == before


def test_what_is_said_while_aside_is_kept_and_counts_once_they_are_back(opened, tiny_truth):
    campaign = opened()
    first, later = tiny_truth[0], tiny_truth[1]
    campaign.tell(replace(first, assessor="bob"))
    campaign.set_aside("bob")
    campaign.tell(replace(first, assessor="bob", grade=100.0 - first.grade))
    campaign.tell(replace(later, assessor="bob"))
    assert campaign.judgments() == ()
    assert campaign.progress.judged == 0
    campaign.take_back("bob")
    assert {one.pair: one.grade for one in campaign.judgments()} == {
        first.pair: 100.0 - first.grade,
        later.pair: later.grade,
    }


def test_judgments_that_the_collection_came_with_are_set_aside_too(opened, tiny, tiny_truth):
    own = tuple(replace(one, assessor=name) for one, name in zip(tiny_truth[:3], ("ann", "bob", "bob"), strict=True))
    campaign = opened(collection=replace(tiny, judgments=own))
    campaign.set_aside("bob")
    assert campaign.judgments() == own[:1]
    assert campaign.snapshot(back=("bob",))[1] == own
    campaign.take_back("bob")
    assert campaign.judgments() == own


def test_who_is_aside_is_offered_nothing_and_their_reports_drop_no_pair(opened, tiny_truth):
    campaign = opened(cannot_limit=1)
    pair = tiny_truth[0].pair
    campaign.tell(Event("cannot", NOON, "bob", *pair, details={"reason": "silent"}))
    assert campaign.dropped() == [pair]
    campaign.set_aside("bob")
    assert campaign.dropped() == []
    assert campaign.ask(3, "bob") == []
    assert pair in campaign.ask(7, "ann")


def test_only_who_has_judged_is_set_aside_and_only_once(opened, tiny_truth):
    campaign = judged(opened(), tiny_truth)
    with pytest.raises(InputError, match="^carl has judged nothing here: expected the name of a person who has$"):
        campaign.set_aside("carl")
    with pytest.raises(ClosedError, match="^bob is not set aside$"):
        campaign.take_back("bob")
    first = campaign.set_aside("bob", key="k")
    assert campaign.set_aside("bob", key="k") == first._replace(replayed=True)
    with pytest.raises(ClosedError, match="^bob is set aside already$"):
        campaign.set_aside("bob")
    campaign.close()
    campaign.take_back("bob")  # even after judging has ended


@pytest.mark.parametrize("details", [{}, {"judge": " "}, {"judge": None}])
def test_a_line_that_names_nobody_is_refused(details):
    with pytest.raises(InputError, match="^set_aside needs a name: expected judge in the details$"):
        Event("set_aside", NOON, "me", details=details)


@pytest.mark.slow
def test_a_command_sets_aside_in_a_log_that_a_service_has_open(opened, tiny, tiny_truth, tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with closing(DatabaseStore(url, tiny.identifier)) as store:
        campaign = judged(opened(store), tiny_truth)
        everything = campaign.judgments()
        record = turn_aside(url, tiny, "set_aside", "BOB", reason="why")
        assert campaign.sync() == record.number
        assert {one.assessor for one in campaign.judgments()} == {"ann"}
        assert judgments_in(url, tiny) == campaign.judgments()
        assert judgments_in(url, tiny, back=("bob",)) == everything
        with pytest.raises(ClosedError, match="^bob is set aside already$"):
            turn_aside(url, tiny, "set_aside", "bob")
        turn_aside(url, tiny, "take_back", "bob")
        campaign.sync()
        assert campaign.judgments() == everything


@pytest.mark.slow
def test_a_model_learns_anew_from_what_is_left(demo_collection_of_two):
    collection, truth = demo_collection_of_two
    campaign = Campaign(collection, None, "CG@5", settings=CampaignSettings())
    campaign.tell_all(truth)
    campaign.set_aside("bob")
    left = [one for one in truth if one.assessor == "ann"]
    alone = estimate(replace(collection, judgments=tuple(left)), measure="CG@5")
    assert campaign.log()[-1].event.kind == "learn"
    np.testing.assert_allclose(campaign.ranking.scores.mean, alone.scores.mean, rtol=1e-9)


@pytest.fixture
def demo_collection_of_two():
    """Ten queries by three systems, with judgments by two people: bob of 10 pairs, then ann of 50 more."""
    from audiosim.collection.collection import Collection
    from audiosim.collection.values import FINE, Run

    rng = np.random.default_rng(0)
    queries = [f"q{number}" for number in range(10)]
    names = [f"d{number}" for number in range(9)]
    runs = tuple(Run(s, {q: tuple(rng.permutation(names)[:5]) for q in queries}) for s in "ABC")
    pairs = sorted({Pair(q, d) for run in runs for q, found in run.rankings.items() for d in found})
    rng.shuffle(pairs)
    said = [
        Judgment(*pair, float(rng.integers(101)), "bob" if number < 10 else "ann")
        for number, pair in enumerate(pairs[:60])
    ]
    return Collection("tens", "tens", FINE, 5, runs), said
