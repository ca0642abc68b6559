"""Fairness: who may judge what and under which name, and the collection that a log belongs to."""

import hashlib
import json
from contextlib import closing
from dataclasses import replace

import pytest

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, MemoryStore, judgments_in
from audiosim.collection.values import BROAD, FINE, Judgment, Pair, Run
from audiosim.errors import InputError, LeaseError


def opened(tiny, store=None, **settings):
    return Campaign(tiny, "mjud", "CG@2", store, CampaignSettings(**settings))


def test_a_judgment_of_a_pair_that_was_not_handed_out_is_kept_and_nothing_rests_on_it(tiny, said):
    store = MemoryStore()
    campaign = opened(tiny, store, unasked="mark")
    before = campaign.ranking.to_dict()
    record = campaign.tell(said(key="k"))
    assert record.event.details == {"unasked": True}
    assert campaign.ranking.to_dict() == before
    assert (campaign.judgments(), campaign.progress.judged) == ((), 0)
    assert [one.number for one in campaign.answers("ann")] == [1]
    assert campaign.tell(said(key="k")) == record._replace(replayed=True)  # sent again, it gives the same record
    assert opened(tiny, store, unasked="mark").judgments() == ()
    # The pair is still to be judged; once it is handed out, an answer about it counts.
    pairs = campaign.ask(7, "ann")
    assert Pair("q1", "a") in pairs
    assert campaign.tell(said(grade=60.0)).event.details == {}
    assert [judgment.grade for judgment in campaign.judgments()] == [60]
    assert opened(tiny, store, unasked="mark").judgments() == campaign.judgments()


def test_a_pair_that_was_handed_out_may_be_judged_after_its_lease_and_revised(tiny, watch, said):
    settings = CampaignSettings(unasked="refuse", lease_s=60)
    campaign = Campaign(tiny, "mjud", "CG@2", None, settings, clock=watch)
    (pair,) = campaign.ask(1, "ann")
    watch.forward(3600)
    for grade in (10.0, 20.0):
        campaign.tell(said(*pair, grade=grade))
    assert [judgment.grade for judgment in campaign.judgments()] == [20]
    with pytest.raises(LeaseError, match=f"document {pair.document} for query {pair.query} was never handed to bob"):
        campaign.tell(said(*pair, assessor="bob"))


def test_a_revision_of_an_answer_that_counts_counts_though_the_pair_was_never_handed_out(tiny, said):
    """Such as an imported one, or one of the collection's files; one that does not count stays without effect."""
    campaign = opened(replace(tiny, judgments=(Judgment("q1", "a", 30.0, "bob"),)), unasked="mark")
    campaign.tell_all([Judgment("q1", "a", 10.0, "ann")])
    for name, grade in (("ann", 20.0), ("bob", 40.0)):
        assert campaign.tell(said("q1", "a", assessor=name, grade=grade)).event.details == {}
    assert {one.assessor: one.grade for one in campaign.judgments()} == {"ann": 20, "bob": 40}
    for grade in (50.0, 60.0):
        assert campaign.tell(said("q1", "a", assessor="cem", grade=grade)).event.details == {"unasked": True}
    assert len(campaign.judgments()) == 2


def test_judgments_that_somebody_vouches_for_count(tiny, tiny_truth):
    campaign = opened(tiny, unasked="mark")
    campaign.tell_all(tiny_truth[:3])
    assert campaign.progress.judged == 3


@pytest.mark.parametrize("spelt", ["Zoë", "ZOE\u0308", "zoë ", "Z\u200bo\u00adë", "\uff3aoë", "\u202ezoë"])
def test_one_persons_name_is_one_name_however_it_is_typed(tiny, spelt):
    campaign = opened(tiny, lease_s=600)
    campaign.ask(2, "Zoë")
    assert campaign.known_as(spelt) == "Zoë"


def test_a_name_is_taken_literally_by_all_that_does_not_come_from_typing(tiny):
    campaign = opened(tiny, lease_s=600)
    pairs = {name: campaign.ask(1, name)[0] for name in ("ann", "ANN", "\uff41nn")}
    assert len(set(pairs.values())) == 3
    for name, pair in pairs.items():
        campaign.tell(Judgment(*pair, 50.0, name))
    campaign.undo("ANN")
    assert [judgment.assessor for judgment in campaign.judgments()] == ["ann", "\uff41nn"]
    assert [campaign.known_as(name) for name in ("ann", "ANN", "Ann", "\uff41nn")] == ["ann", "ANN", "ann", "\uff41nn"]


def test_a_name_of_which_nothing_is_to_be_seen_is_none(tiny):
    with pytest.raises(InputError, match="is not a name: it has no visible character"):
        opened(tiny).known_as("\u200b\u2060")


def test_a_grade_that_contradicts_the_grade_on_its_scale_is_refused(tiny, said):
    campaign = opened(tiny)
    with pytest.raises(InputError, match="grade 10 contradicts fine 90: both are on the same scale"):
        campaign.tell(replace(said(), grades={"fine": 90.0, "grade": 10.0}))
    campaign.tell(replace(said(), grades={"fine": 90.0, "grade": 90.0, "broad": 0.0}))  # another scale may disagree


def test_pairs_that_are_withheld_are_handed_to_nobody(tiny):
    mute = frozenset({Pair("q1", "a"), Pair("q2", "e")})
    campaign = Campaign(tiny, "mjud", "CG@2", withheld=mute)
    assert len(campaign.ask(7, "ann")) == 5
    assert not mute & {*campaign.ask(7), *campaign.ask(7, "ann")}


def grown(tiny):
    """The collection with another system, which retrieved a document of its own."""
    return replace(tiny, runs=(*tiny.runs, Run("D", {"q1": ("e", "f"), "q2": ("a", "b")})))


def shrunk(tiny):
    return replace(tiny, runs=tiny.runs[1:])


def coarse(tiny):
    return replace(tiny, scale=BROAD)


def asked_otherwise(tiny):
    return replace(tiny, task="is it the same song")


@pytest.mark.slow
def test_a_log_goes_on_with_a_collection_that_has_grown(tiny, database, said):
    with closing(DatabaseStore(database, "grown")) as store:
        opened(tiny, store).tell(said())
        assert opened(grown(tiny), store).progress.judged == 1
        with pytest.raises(InputError, match="3 of its 10 pairs are not in this one, 0 of them judged"):
            opened(tiny, store)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (shrunk, "1 of its 7 pairs are not in this one, 0 of them judged, such as document b for query q1; 0 are new"),
        (coarse, "it was judged on the fine scale, this one is on the broad scale"),
        (asked_otherwise, "its task was 'how alike they sound', that of this one is 'is it the same song'"),
    ],
)
def test_a_log_of_another_collection_is_refused_unless_it_is_adopted(tiny, database_to_make, said, change, message):
    with closing(DatabaseStore(database_to_make, "tiny")) as store:
        tiny = replace(tiny, task="how alike they sound")
        opened(tiny, store)
        other = change(tiny)
        expected = (
            f"the campaign in the database is of another collection: {message}; the setting adopt continues with it"
        )
        with pytest.raises(InputError, match=expected):
            opened(other, store)
        with pytest.raises(InputError, match=expected):
            judgments_in(database_to_make, other)
        opened(other, store, adopt=True)
        assert judgments_in(database_to_make, other) == ()
        opened(other, store)


def test_what_was_judged_is_counted_among_what_another_collection_lacks(tiny, said):
    store = MemoryStore()
    opened(tiny, store).tell(said(document="b"))
    with pytest.raises(InputError, match="1 of its 7 pairs are not in this one, 1 of them judged"):
        opened(shrunk(tiny), store)


def test_a_task_that_is_said_later_is_no_other_collection(tiny):
    store = MemoryStore()
    opened(tiny, store)
    opened(asked_otherwise(tiny), store)
    opened(tiny, store)


def test_the_campaign_s_row_has_the_pool_s_hash_the_scale_and_the_task(tiny):
    store = MemoryStore()
    opened(asked_otherwise(tiny), store)
    row = json.loads(store.described()[0])
    pool = sorted({(q, d) for run in tiny.runs for q, top in run.rankings.items() for d in top[: tiny.cutoff]})
    assert row["pool"] == hashlib.sha256(json.dumps(pool).encode()).hexdigest()
    assert (row["scale"], row["levels"], row["task"]) == ("fine", list(FINE.levels), "is it the same song")
