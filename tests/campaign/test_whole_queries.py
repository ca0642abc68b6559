"""A query stays with the person who began it, while they are active and others have something else to judge."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.campaign import Campaign, CampaignSettings
from audiosim.collection.values import Judgment
from benchmarks.synthetic import Design, synthetic_collection


@pytest.fixture(scope="module")
def collection():
    design = Design(systems=4, teams=2, queries=6, cutoff=5, candidates=12)
    return replace(synthetic_collection(np.random.default_rng(4), design), judgments=())


def judged_in_turn(campaign, people, count):
    """Assessors of each query, when people judge one pair each in turn."""
    said = {}
    for number in range(count):
        name = people[number % len(people)]
        (pair,) = campaign.ask(assessor=name)
        campaign.tell(Judgment(*pair, float(number % 2), name))
        said.setdefault(pair.query, set()).add(name)
    return said


@pytest.mark.slow
def test_each_query_is_judged_by_one_person_unless_they_may_be_split(collection):
    people = ("ann", "bob", "eve")
    whole = judged_in_turn(Campaign(collection, "joint", "CG@5"), people, 24)
    assert max(map(len, whole.values())) == 1
    settings = CampaignSettings(whole_queries=False)
    split = judged_in_turn(Campaign(collection, "joint", "CG@5", settings=settings), people, 24)
    assert max(map(len, split.values())) > 1


def test_who_has_nothing_else_left_helps_with_the_queries_of_others(collection):
    campaign = Campaign(collection, "joint", "CG@5")
    judged_in_turn(campaign, ("ann",), 3)
    begun = {judgment.query for judgment in campaign.judgments()}
    left = [pair for pair in campaign.selection.pool.pairs if pair not in campaign.selection.graded]
    asked = campaign.ask(len(left), "bob")
    assert {pair.query for pair in asked} & begun
    other = [pair.query in begun for pair in asked]
    assert other == sorted(other)  # those of ann's queries come last


def test_what_somebody_who_left_began_is_anybodys(collection, watch):
    campaign = Campaign(collection, "joint", "CG@5", settings=CampaignSettings(lease_s=60), clock=watch)
    judged_in_turn(campaign, ("ann",), 2)
    begun = {judgment.query for judgment in campaign.judgments()}
    assert not {pair.query for pair in campaign.ask(2, "bob")} & begun
    watch.forward(120)
    best = campaign.ask(1)
    assert campaign.ask(1, "bob") == best


def test_one_person_is_asked_what_anybody_is(collection):
    campaign = Campaign(collection, "joint", "CG@5")
    for number in range(15):
        nobody = campaign.ask()
        assert campaign.ask(assessor="ann") == nobody
        campaign.tell(Judgment(*nobody[0], float(number % 2), "ann"))
