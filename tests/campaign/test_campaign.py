from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, Event, MemoryStore, judgments_in
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, Pair
from audiosim.errors import ClosedError, InputError, LeaseError, RewoundError
from audiosim.joint.estimators import estimator_of
from audiosim.ranking.expected import estimate

NOON = "2013-05-01T12:00:00Z"


@pytest.fixture
def opened(tiny, watch):
    """Opens a campaign on the tiny collection, at noon."""

    def call(store=None, collection=tiny, **options):
        return Campaign(collection, "mjud", "CG@2", store, CampaignSettings(**options), clock=watch)

    return call


def cannot(assessor="ann", document="a", reason="silent", query="q1", **more):
    return Event("cannot", NOON, assessor, query, document, details={"reason": reason}, **more)


def same(one, other):
    """True if two campaigns are in the same state and would ask for the same pairs."""
    assert one.ranking.to_dict() == other.ranking.to_dict()
    assert one.ask(7) == other.ask(7)
    assert one.judgments() == other.judgments()
    assert one.progress == other.progress
    np.testing.assert_array_equal(one.selection.grades, other.selection.grades)
    return True


# --- the log is the state


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_a_campaign_opened_again_is_where_it_was(opened, tiny_truth, store, batch):
    campaign = opened(store, batch=batch)
    revised = replace(tiny_truth[1], grade=40.0)
    for judgment in [*tiny_truth[:3], revised, *tiny_truth[3:5]]:
        campaign.tell(judgment)
    assert same(opened(store, batch=batch), campaign)


ACTIONS = st.tuples(
    st.sampled_from(["judge", "judge", "judge", "cannot", "undo", "undo one", "ask"]),
    st.sampled_from(["", "ann", "bob", "cid"]),
    st.integers(0, 6),
    st.sampled_from([0.0, 30.0, 77.0, 100.0]),
)


def act(campaign, kind, assessor, place, grade):
    """Do one action, if it is allowed now."""
    pair = campaign.selection.pool.pairs[place]
    try:
        if kind == "judge":
            campaign.tell(Judgment(*pair, grade, assessor))
        elif kind == "cannot":
            campaign.tell(cannot(assessor, pair.document, query=pair.query))
        elif kind == "ask":
            campaign.ask(1 + place % 3, assessor)
        else:
            campaign.undo(assessor, place + 1 if kind == "undo one" else None)
    except InputError:
        pass  # leased to another, or nothing to undo


def by_hand(collection, log):
    """The judgments in force, by going through the whole log for each pair and assessor."""
    undone = {event.refers for _, event in log if event.kind == "undo"}
    answers = [(0, Event("judgment", NOON, j.assessor, *j.pair, {"fine": j.grade})) for j in collection.judgments]
    answers += [line for line in log if line[1].kind in ("judgment", "cannot") and line[0] not in undone]
    last = {(event.pair, event.assessor): event for _, event in answers}
    return {key: event.grades["fine"] for key, event in last.items() if event.kind == "judgment"}


# at_once: number of unread lines from which a campaign restarts its selection; with 1 it nearly always does.
@pytest.mark.slow
@pytest.mark.parametrize("at_once", [100, 1])
@settings(max_examples=35, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the fixtures are values
@given(actions=st.lists(ACTIONS, max_size=25), before=st.integers(0, 3), batch=st.sampled_from([1, 3, 4]))
def test_whatever_happens_a_campaign_opened_on_the_log_is_where_the_first_one_is(
    tiny, watch, monkeypatch, at_once, actions, before, batch
):
    monkeypatch.setattr("audiosim.campaign.learning.AT_ONCE", at_once)
    collection = replace(tiny, judgments=tuple(Judgment("q1", name, 50.0, "ann") for name in "abc"[:before]))
    store = MemoryStore()

    def fresh():
        return Campaign(collection, "mjud", "CG@2", store, CampaignSettings(batch, twice=0.5, seed=3), clock=watch)

    campaign, other = fresh(), fresh()
    for action in actions:
        act(campaign, *action)
        if action[0] == "undo":
            other.sync()
    other.sync()
    assert same(fresh(), campaign)
    assert same(other, campaign)
    held = by_hand(collection, list(store.read()))
    assert {(j.pair, j.assessor): j.grade for j in campaign.judgments()} == held
    for pair, grade in zip(campaign.selection.pool.pairs, campaign.selection.grades, strict=True):
        assert np.mean([held[key] for key in held if key[0] == pair] or [np.nan]) == pytest.approx(grade, nan_ok=True)
    for assessor in ("ann", "bob"):
        assert fresh().ask(3, assessor) == campaign.ask(3, assessor)


def test_many_judgments_at_once_leave_the_same_as_one_by_one(opened, tiny_truth, monkeypatch):
    for batch in (1, 3, 4):
        one, all_ = opened(batch=batch), opened(batch=batch)
        for judgment in tiny_truth[:5]:
            one.tell(judgment)
        monkeypatch.setattr("audiosim.campaign.learning.AT_ONCE", 1)
        all_.tell_all(tiny_truth[:5])
        monkeypatch.undo()
        assert same(one, all_)


def test_judgments_of_the_collection_count_before_the_log(opened, tiny, tiny_truth, store):
    campaign = opened(store, replace(tiny, judgments=tuple(tiny_truth[:2])))
    campaign.tell(tiny_truth[2])
    assert campaign.selection.judged == 3
    assert len(list(store.read())) == 1
    assert [judgment.grade for judgment in campaign.judgments()] == [90, 60, 20]


def test_with_batches_of_one_the_ranking_is_the_estimate_from_the_judgments_that_hold(opened, tiny, tiny_truth):
    campaign = opened()
    for judgment in tiny_truth[:4]:
        campaign.tell(replace(judgment, assessor="ann"))
    campaign.tell(replace(tiny_truth[0], assessor="bob", grade=50.0))
    campaign.undo("ann")
    from_files = estimate(replace(tiny, judgments=campaign.judgments()), "mjud", "CG@2")
    assert campaign.ranking.to_dict() == from_files.to_dict()


def test_a_line_about_a_pair_that_no_system_retrieves_any_more_changes_nothing(opened, said, append):
    store = MemoryStore()
    append(store, said(document="gone"))
    campaign = opened(store)
    assert campaign.selection.judged == 0
    assert [judgment.document for judgment in campaign.judgments()] == ["gone"]


def test_a_log_with_a_grade_off_the_scale_is_refused_by_the_number_of_its_line(opened, said, append):
    store = MemoryStore()
    append(store, said())
    append(store, replace(said(), grades={"grade": 0.5}))
    with pytest.raises(RewoundError, match="event 2 of the log: grade 0.5 is not on the fine scale; correct"):
        opened(store)


@pytest.mark.slow
def test_a_campaign_goes_on_from_the_lines_that_another_has_read(tiny, store, said):
    first = Campaign(tiny, "mjud", "CG@2", store)
    for document in ("a", "b"):
        first.tell(said(document=document))
    known = first.log()
    first.tell(said(document="c"))  # the next campaign has to read this line
    again, anew = Campaign(tiny, "mjud", "CG@2", store, known=known), Campaign(tiny, "mjud", "CG@2", store)
    assert again.number == anew.number == first.number
    assert again.judgments() == anew.judgments()
    assert again.ranking.to_dict() == anew.ranking.to_dict()


def test_a_line_that_does_not_fit_ends_all_answers_and_not_only_its_own(opened, said, append):
    store = MemoryStore()
    campaign = opened(store)
    append(store, replace(said(), grades={"grade": 0.5}))
    for _ in range(2):  # the second time the line has been read, and its half-finished effect must not be used
        with pytest.raises(RewoundError, match="event 1 of the log: grade 0.5 is not on the fine scale"):
            campaign.sync()
    with pytest.raises(RewoundError):
        campaign.tell(said(document="b"))
    assert "event 1 of the log" in campaign.trouble


def test_what_the_estimator_could_not_count_is_safe_and_counted_later(tiny, tiny_truth):
    class Failing:
        name, failing = "mjud", False

        def predict(self, grades):
            if self.failing:
                raise ConnectionError("no answer")
            return self.inner.predict(grades)

    store, estimator = MemoryStore(), Failing()
    estimator.inner = estimator_of(build_pool(tiny, 2), "mjud")
    campaign = Campaign(tiny, estimator, "CG@2", store)
    campaign.tell(tiny_truth[0])
    estimator.failing = True
    with pytest.raises(ConnectionError, match="no answer"):
        campaign.tell(tiny_truth[1])
    assert campaign.current_state.number == 1
    estimator.failing = False
    campaign.tell(tiny_truth[2])
    assert same(Campaign(tiny, estimator, "CG@2", store), campaign)
    assert campaign.selection.judged == 3


# --- allowed judgments


def test_a_refused_judgment_leaves_no_trace_in_the_log(opened, store):
    campaign = opened(store)
    for judgment, complaint in [
        (Judgment("q1", "a", 101.0), "grade 101 is not on the fine scale"),
        (Judgment("q1", "z", 10.0), "no system retrieved document z for query q1 in its top 2"),
        (Judgment("q1", "a", 10.0, time="yesterday"), "expected a time in UTC"),
        (Event("judgment", NOON, "", "q1", "a", {"broad": 1}), "expected a grade on the fine scale, got only broad"),
        (
            Event("lease", NOON, "ann", "q1", "a", until="2013-05-02T00:00:00Z"),
            "a lease cannot be recorded: ask for pairs instead",
        ),
        (Event("undo", NOON, "ann", refers=1), "event 1 is not a valid answer of ann"),
        (("q1", "a", 10.0), "expected a judgment such as"),
    ]:
        with pytest.raises(InputError, match=complaint):
            campaign.tell(judgment)
    with pytest.raises(InputError, match="grade 101"):
        campaign.tell_all([Judgment("q1", "a", 1.0), Judgment("q1", "a", 101.0)])
    assert list(store.read()) == []
    assert campaign.selection.judged == 0


@pytest.mark.slow
def test_a_judgment_sent_again_by_its_key_is_answered_as_before(opened, store, said):
    campaign = opened(store)
    first = campaign.tell(said(key="k"))
    assert (first.number, first.event, first.replayed) == (1, said(key="k"), False)
    campaign.pause()
    again = campaign.tell(replace(said(key="k"), time="2013-05-01T12:30:00Z"))
    assert again == (1, said(key="k"), True)
    assert opened(store).tell(said(key="k")) == again
    with pytest.raises(InputError, match="the key 'k' of ann is used for another event"):
        campaign.tell(said(key="k", grade=1.0))
    assert len(list(store.read())) == 2


def test_of_several_told_those_sent_before_are_answered_in_their_place(opened, said):
    campaign = opened()
    campaign.tell(said(key="k", document="b"))
    written = campaign.tell_all([said(), said(key="k", document="b"), said(document="c")])
    assert [(record.number, record.replayed) for record in written] == [(2, False), (1, True), (3, False)]


def test_a_judgment_without_a_time_has_that_of_the_clock(opened, watch):
    campaign = opened()
    watch.forward(61.5)
    assert campaign.tell(Judgment("q1", "a", 1.0)).event.time == "2013-05-01T12:01:01.500Z"
    assert campaign.tell(Judgment("q1", "b", 1.0, time=NOON)).event.time == NOON


def test_a_revised_judgment_replaces_the_earlier_one_and_both_stay_in_the_log(opened, store, said):
    campaign = opened(store)
    campaign.tell(said(grade=90.0))
    campaign.tell(said(grade=70.0))
    assert [judgment.grade for judgment in campaign.judgments()] == [70]
    assert [event.grades["fine"] for _, event in store.read()] == [90, 70]
    assert campaign.selection.grades[0] == 70


# --- undo


def test_undo_brings_back_what_was_replaced_and_then_nothing(opened, said):
    campaign = opened()
    nothing = campaign.ranking.to_dict()
    campaign.tell(said(grade=90.0))
    campaign.tell(said(grade=70.0))
    assert campaign.undo("ann").event.refers == 2
    assert [judgment.grade for judgment in campaign.judgments()] == [90]
    assert campaign.undo("ann").event.refers == 1
    assert (campaign.judgments(), campaign.ranking.to_dict()) == ((), nothing)
    with pytest.raises(InputError, match="ann has no answer to undo"):
        campaign.undo("ann")


def test_undoing_a_judgment_that_was_revised_leaves_the_revision(opened, said):
    campaign = opened()
    first = campaign.tell(said(grade=90.0))
    campaign.tell(said(grade=70.0))
    campaign.undo("ann", first.number)
    assert [judgment.grade for judgment in campaign.judgments()] == [70]
    with pytest.raises(InputError, match="event 1 is not a valid answer of ann"):
        campaign.undo("ann", first.number)


def test_nobody_undoes_what_another_said_or_what_is_no_answer(opened, said):
    campaign = opened()
    campaign.tell(said())
    campaign.ask(1, "bob")
    for number in (1, 2, 99):
        with pytest.raises(InputError, match=f"event {number} is not a valid answer of bob"):
            campaign.undo("bob", number)


def test_undo_brings_back_the_collection_s_own_judgment(opened, tiny):
    campaign = opened(collection=replace(tiny, judgments=(Judgment("q1", "a", 50.0, "ann"),)))
    campaign.tell(cannot("ann"))
    assert campaign.judgments() == ()
    campaign.undo("ann")
    assert campaign.selection.grades[0] == 50


def test_an_undone_pair_is_the_assessor_s_for_another_try(opened, said):
    campaign = opened()
    campaign.tell(said())
    campaign.undo("ann")
    assert campaign.ask(1, "ann") == [("q1", "a")]
    assert Pair("q1", "a") not in campaign.ask(7, "bob")


def test_a_pair_whose_earlier_answer_holds_again_is_not_asked_once_more(opened, said):
    campaign = opened()
    campaign.tell(said(grade=90.0))
    campaign.tell(said(grade=70.0))
    campaign.undo("ann")
    assert campaign.leases("ann") == []
    assert Pair("q1", "a") not in campaign.ask(20, "ann")
    campaign.undo("ann")  # the first answer as well
    assert Pair("q1", "a") in campaign.ask(20, "ann")


def test_undo_sent_again_by_its_key_takes_nothing_more_back(opened, store, said):
    campaign = opened(store)
    campaign.tell_all([said(), said(document="b")])
    first = campaign.undo("ann", key="u")
    again = campaign.undo("ann", key="u")
    assert (again.number, again.event, again.replayed) == (*first[:2], True)
    assert len(campaign.judgments()) == 1
    with pytest.raises(InputError, match="the key 'u' of ann is used for another event"):
        campaign.undo("ann", 1, key="u")


# --- cannot judge


def test_cannot_judge_takes_the_pair_from_that_assessor_only(opened):
    campaign = opened()
    campaign.tell(cannot("ann", "b"))
    assert Pair("q1", "b") not in campaign.ask(7, "ann")
    assert len(campaign.ask(7, "ann")) == 6
    assert Pair("q1", "b") in campaign.ask(7, "bob")
    assert campaign.cannot() == {("q1", "b"): {"ann": "silent"}}
    assert campaign.dropped() == []


def test_a_pair_that_two_assessors_cannot_judge_leaves_the_queue_until_one_of_them_can(opened):
    campaign = opened()
    campaign.tell_all([cannot("ann", "b"), cannot("bob", "b", "noise")])
    for assessor in ("", "cid"):
        assert Pair("q1", "b") not in campaign.ask(7, assessor)
    assert campaign.dropped() == [("q1", "b")]
    assert campaign.cannot() == {("q1", "b"): {"ann": "silent", "bob": "noise"}}
    campaign.undo("bob")
    assert (campaign.dropped(), campaign.progress.dropped) == ([], 0)


def test_the_limit_of_cannot_judge_may_be_chosen(opened):
    campaign = opened(cannot_limit=1)
    campaign.tell(cannot("ann", "b"))
    assert campaign.dropped() == [("q1", "b")]
    with pytest.raises(InputError, match="cannot_limit must be at least 1, got 0"):
        opened(cannot_limit=0)


def test_cannot_judge_after_a_judgment_replaces_it_and_the_other_way_round(opened, said):
    campaign = opened()
    campaign.tell(said())
    campaign.tell(cannot())
    assert (campaign.judgments(), campaign.selection.judged) == ((), 0)
    campaign.tell(said(grade=10.0))
    assert [judgment.grade for judgment in campaign.judgments()] == [10]
    assert campaign.cannot() == {}


# --- leases


def test_two_assessors_are_never_given_one_pair(opened):
    campaign = opened()
    ann, bob = campaign.ask(3, "ann"), campaign.ask(3, "bob")
    assert len(ann) == len(bob) == 3
    assert not set(ann) & set(bob)
    assert not set(campaign.ask(7)) & {*ann, *bob}
    assert [(lease.pair, lease.assessor) for lease in campaign.leases()] == [
        *((pair, "ann") for pair in ann),
        *((pair, "bob") for pair in bob),
    ]


def test_without_a_name_nothing_is_leased(opened, store):
    campaign = opened(store)
    assert campaign.ask(3) == campaign.ask(3)
    assert list(store.read()) == []


def test_asking_again_gives_the_same_pairs_first_also_elsewhere(opened, store, said):
    campaign = opened(store)
    first = campaign.ask(3, "ann")
    assert campaign.ask(3, "ann") == first
    assert opened(store).ask(2, "ann") == first[:2]
    campaign.tell(said(*first[0]))
    assert campaign.ask(3, "ann")[:2] == first[1:]


def test_another_s_lease_refuses_a_judgment_until_it_ends(opened, store, watch, said):
    campaign = opened(store, lease_s=60)
    (pair,) = campaign.ask(1, "ann")
    for event in (
        said(*pair, assessor="bob"),
        said(*pair, assessor=""),
        cannot("bob", pair.document, query=pair.query),
    ):
        with pytest.raises(LeaseError, match=r"is with another assessor until 2013-05-01T12:01:00.000Z"):
            campaign.tell(event)
    assert len(list(store.read())) == 1
    watch.forward(60)
    assert campaign.ask(1, "bob") == [pair]
    with pytest.raises(LeaseError, match=f"document {pair.document} for query {pair.query} is with another"):
        campaign.tell(said(*pair))
    campaign.tell(said(*pair, assessor="bob"))
    assert campaign.leases() == []


def test_asking_again_puts_off_the_end_of_a_lease(opened, watch):
    campaign = opened(lease_s=60)
    (pair,) = campaign.ask(1, "ann")
    watch.forward(50)
    campaign.ask(1, "ann")
    watch.forward(50)
    assert campaign.ask(1, "bob") != [pair]
    assert [lease.pair for lease in campaign.leases("ann")] == [pair]
    watch.forward(10)
    assert campaign.leases("ann") == []
    with pytest.raises(InputError, match="a lease must last .001 seconds at least, got 0"):
        opened(lease_s=0)


def test_asking_for_nothing_is_refused(opened):
    campaign = opened()
    campaign.ask(1, "ann")
    for assessor in ("", "ann"):
        with pytest.raises(
            InputError, match="the number of pairs to ask for must be a whole number of at least 1, got 0"
        ):
            campaign.ask(0, assessor)


def test_when_all_is_judged_or_leased_nothing_is_left(opened):
    campaign = opened()
    assert len(campaign.ask(99, "ann")) == 7
    assert campaign.ask(1, "bob") == []
    for pair in campaign.ask(7, "ann"):
        campaign.tell(Judgment(*pair, 10.0, "ann"))
    assert campaign.ask(7, "ann") == []


def test_pairs_asked_for_by_query_are_of_one_query(opened):
    assert len({pair.query for pair in opened().ask(3, "ann", by_query=True)}) == 1


# --- judged twice


def test_a_pair_wanted_twice_is_offered_to_a_second_assessor_before_new_ones(opened, said):
    campaign = opened(twice=1.0)
    campaign.tell_all([said(), said(document="c")])
    assert campaign.progress.twice == 2
    assert campaign.ask(2, "ann") != [("q1", "a"), ("q1", "c")]
    assert campaign.ask(2, "bob") == [("q1", "a"), ("q1", "c")]
    assert not {("q1", "a"), ("q1", "c")} & set(campaign.ask(7, "cid"))
    campaign.tell(said(assessor="bob"))
    assert campaign.progress.twice == 1
    campaign.tell(cannot("bob", "c"))
    assert Pair("q1", "c") not in campaign.ask(7, "bob")
    assert campaign.ask(1, "dee") == [("q1", "c")]


def test_a_second_judgment_that_is_undone_is_wanted_again(opened, said):
    campaign = opened(twice=1.0)
    campaign.tell_all([said(), said(assessor="bob")])
    campaign.undo("bob")
    assert campaign.progress.twice == 1
    campaign.undo("ann")
    assert campaign.progress.twice == 0


def test_the_collection_s_own_judgments_are_judged_a_second_time_too(opened, tiny):
    campaign = opened(collection=replace(tiny, judgments=(Judgment("q1", "a", 50.0),)), twice=1.0)
    assert campaign.ask(1, "ann") == [("q1", "a")]


def test_nothing_is_judged_twice_where_it_is_not_asked_for(opened, said):
    campaign = opened()
    campaign.tell(said())
    assert Pair("q1", "a") not in campaign.ask(7, "bob")


# --- pause and close


@pytest.mark.parametrize(("turn", "state"), [("pause", "paused"), ("close", "closed")])
def test_a_campaign_that_is_paused_or_closed_neither_asks_nor_tells(opened, store, said, turn, state):
    campaign = opened(store)
    campaign.tell(said())
    getattr(campaign, turn)("olga", "lunch")
    assert campaign.state == opened(store).state == state
    for refused in (
        lambda: campaign.tell(said(document="b")),
        lambda: campaign.ask(1, "ann"),
        lambda: campaign.ask(),
        lambda: campaign.undo("ann"),
    ):
        with pytest.raises(ClosedError, match=f"the campaign is {state}"):
            refused()
    campaign.resume("olga")
    assert campaign.tell(said(document="b")).number == 4
    assert [(r.event.kind, r.event.assessor) for r in campaign.log(after=1)][:2] == [(turn, "olga"), ("resume", "olga")]


def test_a_turn_that_changes_nothing_is_refused(opened):
    campaign = opened()
    with pytest.raises(ClosedError, match="cannot resume the campaign: it is open"):
        campaign.resume()
    campaign.close()
    for turn in (campaign.pause, campaign.close):
        with pytest.raises(ClosedError, match="cannot (pause|close) the campaign: it is closed"):
            turn()


# --- what the organiser sees


def test_progress_counts_what_was_done(opened, said):
    campaign = opened(twice=1.0)
    campaign.tell_all([said(), said(assessor="bob"), said(document="b")])
    campaign.ask(2, "cid")
    progress = campaign.progress
    assert (progress.number, progress.state, progress.judged, progress.pool) == (5, "open", 2, 7)
    assert (progress.judgments, progress.leased, progress.twice, progress.dropped) == (3, 2, 1, 0)
    assert campaign.current_state.number == campaign.sync() == 5
    assert campaign.assessors() == ["ann", "bob"]


def test_an_assessor_sees_his_own_answers(opened, said):
    campaign = opened()
    campaign.tell_all([said(), said(assessor="bob"), cannot("ann", "b"), said(grade=1.0)])
    campaign.undo("ann")
    assert [(record.number, record.event.kind) for record in campaign.answers("ann")] == [
        (1, "judgment"),
        (3, "cannot"),
    ]
    assert campaign.answers("cid") == []


def test_the_log_is_given_as_rows(opened, said):
    campaign = opened()
    campaign.tell(said(details={"note": "x"}))
    campaign.undo("ann")
    first, second, third = [record.event.row() for record in campaign.log()]
    assert (first["fine"], first["details"]) == (90.0, {"note": "x"})
    assert (second["kind"], second["refers"], third["kind"]) == ("undo", 1, "lease")


def test_pace_is_measured_between_an_assessor_s_answers_breaks_left_out(opened, watch, said):
    campaign = opened()
    starts = {"ann": [0, 10, 30, 60, 10_000, 10_020], "bob": [5, 25]}
    for assessor, seconds in starts.items():
        for second, pair in zip(seconds, campaign.selection.pool.pairs, strict=False):
            time = f"2013-05-01T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
            campaign.tell(replace(said(*pair, assessor=assessor), time=time))
    # ann: steps of 10, 20, 30 and 20 s and one break; bob: one of 20 s.
    pace = campaign.pace("ann")
    assert (pace.answers, pace.per_hour, pace.median_s) == (6, pytest.approx(4 * 3600 / 80), 20)
    assert campaign.pace().to_dict() == {"answers": 8, "per_hour": pytest.approx(5 * 3600 / 100), "median_s": 20}
    assert campaign.pace("cid").to_dict() == {"answers": 0, "per_hour": None, "median_s": None}


def test_the_judgments_in_a_database_are_those_that_hold(opened, tiny, database, said, caplog):
    collection = replace(tiny, identifier="read back", judgments=(Judgment("q2", "b", 5.0, "ann"),))
    store = DatabaseStore(database, "read back")
    campaign = opened(store, collection)
    campaign.tell_all([said(), said(document="b"), said(grade=20.0), cannot("ann", "b", query="q2")])
    campaign.undo("ann", 2)
    store.close()
    assert judgments_in(database, collection) == campaign.judgments()
    assert [(judgment.pair, judgment.grade) for judgment in campaign.judgments()] == [(("q1", "a"), 20.0)]
    caplog.set_level("INFO", "audiosim.notes")
    assert judgments_in(database, replace(collection, identifier="never begun")) == collection.judgments
    (note,) = caplog.messages
    assert note.startswith("the database has no judgments of never begun, only of ")
    assert "read back" in note
