"""A campaign with a learning model is the same after it is opened again."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim import estimate
from audiosim.campaign import Campaign, CampaignSettings, Event, MemoryStore
from audiosim.campaign.event import Record, turn_event, utc_now
from audiosim.campaign.learning import Count, Lessons
from audiosim.campaign.reader import judged_aspects
from audiosim.campaign.state import Ledger, judgments_after, what_compares
from audiosim.collection.aspects import Aspects
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, PairedComparison
from audiosim.joint.estimators import learned_from, uniform
from audiosim.joint.model import JointEstimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from benchmarks.synthetic import Design, synthetic_collection

WITHOUT = synthetic_collection(np.random.default_rng(3), Design(6, 3, 12, 5, 30))
TRUTH = WITHOUT.grades()

NOON = "2013-05-01T12:00:00Z"
GRADED = {"form": 20.0, "melody": 40.0}


def judge_again(campaign, pair, name):
    campaign.tell(Judgment(*pair, 100.0 if TRUTH[pair] < 50 else 0.0, name))


@pytest.mark.slow
def test_what_changes_after_the_model_has_learned_leaves_what_estimate_makes_of_the_judgments_in_force():
    """Also when somebody is set aside and taken back, and when fewer judgments are left than a model learns from."""
    truth, store, pairs = WITHOUT.grades(), MemoryStore(), []
    live = Campaign(replace(WITHOUT, judgments=()), store=store)
    for number in range(53):
        pairs += live.ask()
        live.tell(Judgment(*pairs[-1], truth[pairs[-1]], "ann" if number < 23 or number > 24 else "bob"))
    learned = live.selection.estimator.standard_deviations

    def turn(kind):
        live.tell_all([turn_event(kind, utc_now(), "", "", judge="bob")])

    changes = {
        "nothing": lambda: None,
        "second": lambda: judge_again(live, pairs[1], "bob"),
        "late": lambda: judge_again(live, pairs[51], "ann"),
        "aside": lambda: turn("set_aside"),
        "back": lambda: turn("take_back"),
        "revised": lambda: judge_again(live, pairs[0], "ann"),
        "undone": lambda: live.undo("ann", 3),
        "first undone": lambda: live.undo("ann", 1),
    }
    for name, change in changes.items():
        change()
        stated = estimate(replace(WITHOUT, judgments=tuple(live.judgments())), measure="CG")
        again = Campaign(replace(WITHOUT, judgments=()), store=store)
        for one in (live, again):
            assert one.confidence == pytest.approx(stated.confidence, rel=1e-9), name
            np.testing.assert_allclose(one.ranking.scores.mean, stated.scores.mean, rtol=1e-9, err_msg=name)
        assert again.ask() == live.ask(), name
        same = live.selection.estimator.standard_deviations == learned
        assert same == (name in ("nothing", "second", "late", "back")), name
    for number in range(26):
        live.undo("ann")
        if number % 5 and number < 22:
            continue
        stated = estimate(replace(WITHOUT, judgments=tuple(live.judgments())), measure="CG")
        assert live.confidence == pytest.approx(stated.confidence, rel=1e-9), number


@pytest.mark.slow
def test_a_log_whose_judgments_the_collection_has_as_well_is_what_estimate_makes_of_them():
    """Such as the demo's, with judgments.csv beside campaign.db. The log names moments of learning without them."""
    truth, store = WITHOUT.grades(), MemoryStore()
    live = Campaign(replace(WITHOUT, judgments=()), store=store)
    for pair in live.ask(70):
        live.tell(Judgment(*pair, truth[pair], "ann"))
    collection = replace(WITHOUT, judgments=tuple(live.judgments()))
    again = Campaign(collection, store=store)
    assert again.confidence == pytest.approx(estimate(collection, measure="CG").confidence, rel=1e-9)


def test_what_a_collection_and_its_log_both_hold_counts_from_the_log_and_goes_with_it():
    """A judgment that was exported has the time of its line; another of the same grade has not."""
    truth, store = WITHOUT.grades(), MemoryStore()
    live = Campaign(replace(WITHOUT, judgments=()), "uniform", store=store)
    for pair in live.ask(5):
        live.tell(Judgment(*pair, truth[pair], "ann"))
    exported = tuple(live.judgments())
    earlier = replace(exported[0], time=NOON)
    again = Campaign(replace(WITHOUT, judgments=exported), "uniform", store=store)
    assert (list(again.own), again.changes()[1]) == ([], live.changes()[1])
    live.undo("ann")
    assert Campaign(replace(WITHOUT, judgments=exported), "uniform", store=store).judgments() == live.judgments()
    for own in ((earlier,), (earlier, *exported[1:])):
        assert list(Campaign(replace(WITHOUT, judgments=own), "uniform", store=store).own) == [earlier]


def _as_told(one):
    details = {"document_b": one.document_b, "answer": one.answer}
    return Event("comparison", NOON, one.assessor, one.query, one.document_a, details=details)


@pytest.mark.slow
@pytest.mark.parametrize("own", [0, 30])
def test_grades_and_comparisons_in_any_order_are_what_estimate_makes_of_them(own):
    """By one person first, then by others too, up to twelve at once; `own` of each are in the collection's tables."""
    rng, truth, store = np.random.default_rng(2), WITHOUT.grades(), MemoryStore()
    found = {}
    for query, document in truth:
        found.setdefault(query, []).append(document)
    graded = [Judgment(*pair, truth[pair], "ann") for pair in map(tuple, rng.permutation(list(truth)).tolist())][:40]
    compared = []
    for number in range(52):
        query = rng.choice([query for query, there in found.items() if len(there) > 1])
        a, b = rng.choice(found[query], 2, replace=False).tolist()
        answer = "ab"[truth[query, a] + 20 * rng.standard_normal() < truth[query, b]]
        person = "ann" if number < 28 else str(rng.choice(["ann", "bob"] if number < 40 else ["bob", "cem"]))
        compared.append(PairedComparison(str(query), a, b, answer, person))
    compared = list({what_compares(one): one for one in compared}.values())
    tables = {"judgments": tuple(graded[:own]), "comparisons": tuple(compared[:own])}
    live = Campaign(replace(WITHOUT, **tables), store=store, settings=CampaignSettings(comparisons="some"))
    assert live.confidence == pytest.approx(estimate(replace(WITHOUT, **tables), measure="CG").confidence, rel=1e-9)
    grades, comparisons = iter(graded[own:]), iter(compared[own:])
    order = rng.permutation([0] * (40 - own) + [1] * (len(compared) - own))
    said = [_as_told(next(comparisons)) if one else next(grades) for one in order]
    while said:
        some = int(rng.integers(1, 13))
        live.tell_all(said[:some])
        del said[:some]
    whole = replace(WITHOUT, judgments=tuple(live.judgments()), comparisons=live.comparisons.in_force()[1])
    stated = estimate(whole, measure="CG").confidence
    again = Campaign(replace(WITHOUT, **tables), store=store, settings=CampaignSettings(comparisons="some"))
    assert [live.confidence, again.confidence] == pytest.approx([stated] * 2, rel=1e-9)


@pytest.mark.slow
def test_whoever_comes_later_counts_as_in_the_log_whether_they_were_asked_or_not():
    truth, store = WITHOUT.grades(), MemoryStore()
    own = tuple(Judgment(*pair, truth[pair], "ann") for pair in list(truth)[:60])
    live = Campaign(replace(WITHOUT, judgments=own), store=store)
    for name in ("bob", "cem") * 4:
        (pair,) = live.ask(1, name)
        live.tell(Judgment(*pair, truth[pair], name))
        live.sync()
        again = Campaign(replace(WITHOUT, judgments=own), store=store)
        assert again.confidence == pytest.approx(live.confidence, rel=1e-9)
    assert live.confidence == pytest.approx(
        estimate(replace(WITHOUT, judgments=tuple(live.judgments())), measure="CG").confidence, rel=1e-9
    )


@pytest.mark.slow
def test_nobody_who_asks_waits_while_a_campaign_that_learns_later_learns_about_people(monkeypatch):
    learned, learn = [], JointEstimator.panel_model

    def counted(estimator, panel, deviations=None):
        learned.append(len(panel.place))
        return learn(estimator, panel, deviations)

    monkeypatch.setattr(JointEstimator, "panel_model", counted)
    campaign = Campaign(replace(WITHOUT, judgments=()), settings=CampaignSettings(learn_later=True))
    for _ in range(15):
        for name in ("ann", "bob"):
            (pair,) = campaign.ask(1, name)
            campaign.tell(Judgment(*pair, TRUTH[pair], name))
    assert campaign.ask(1, "ann")
    assert learned == [0]  # the second person was asked before two people had judged
    campaign.sync()
    assert learned == [0]  # left to the next lesson
    lesson = campaign.lesson()
    campaign.teach(lesson.number, lesson.learned())
    assert set(learned[1:]) == {25}
    learned.clear()
    assert campaign.ask(1, "cem")
    assert learned == []
    first, *others = (one for one in campaign.judgments() if one.assessor == "ann")
    campaign.tell(replace(first, grade=100 - first.grade))  # one of the judgments that the model learned from
    assert campaign.ask(1, "cem")
    campaign.sync()
    assert learned == []  # left to the next lesson
    lesson = campaign.lesson()
    campaign.teach(lesson.number, lesson.learned())
    assert set(learned) == {25}
    learned.clear()
    campaign.tell_all([replace(one, assessor=name) for one in others for name in ("bob", "cem")])
    assert campaign.lesson() is None  # 58 judgments, of 30 pairs
    assert campaign.ask(1, "cem")
    assert learned == []
    campaign.sync()
    assert learned == [50]
    assert campaign.ask(1, "cem")
    assert learned == [50]


@pytest.mark.parametrize("seed", range(20))
def test_no_change_in_what_is_learned_from_goes_unnoticed(seed, monkeypatch):
    """Three people judge, revise, cannot judge, withdraw, are set aside, taken back; models learn at 4, 8, 16, ..."""
    monkeypatch.setattr("audiosim.joint.moments.FIRST_LEARNING", 4)
    collection = synthetic_collection(np.random.default_rng(3), Design(3, 2, 3, 3, 8))
    pool, rng, people = build_pool(collection), np.random.default_rng(seed), ("ann", "bob", "cem")
    own = tuple(Judgment(*pair, 50.0, "ann") for pair in pool.pairs[: seed % 7])
    ledger, estimator = Ledger(collection.scale, own), uniform(pool)
    first = Selection.start(pool, parse_measure("CG@3"), estimator, own, learned=True, learns=False)
    count, log, answered, aside = Count(first, estimator, Lessons(MemoryStore())), [], [], set()
    for number in range(1, 60):
        name, pair = people[rng.integers(3)], pool.pairs[rng.integers(len(pool.pairs))]
        kind = rng.choice(["judgment", "cannot", "undo", "turn"], p=[0.75, 0.05, 0.12, 0.08])
        if kind == "turn":
            aside ^= {name}
            event = turn_event("set_aside" if name in aside else "take_back", utc_now(), "", judge=name)
        elif kind == "undo" and answered:
            line, name = answered.pop(rng.integers(len(answered)))
            event = Event("undo", NOON, name, refers=line)
        elif kind == "cannot":
            event = Event("cannot", NOON, name, *pair, details={"reason": "noise"})
        else:
            event = Event("judgment", NOON, name, *pair, {"fine": float(rng.choice([0, 50, 100]))})
        if event.kind in ("judgment", "cannot"):
            answered.append((number, name))
        before = learned_from(pool, judgments_after(own, log))
        changes = ledger.apply(number, event)
        log += changes
        count.note(number, changes)
        held = judgments_after(own, log)
        assert [(one.pair, one.assessor, one.grade) for one in held] == [
            (one.pair, one.assessor, one.grade) for one in ledger.judgments()
        ]
        assert learned_from(pool, held) == before or count.unsaid == number


def test_so_do_the_grades_of_each_aspect():
    pair, other = list(WITHOUT.grades())[:2]
    graded = {one: Event("judgment", NOON, "ann", *one, {"fine": 30.0}, GRADED) for one in (pair, other)}
    records = [Record(1, graded[pair]), Record(2, graded[other]), Record(3, Event("undo", NOON, "ann", refers=2))]
    own = {name: tuple(Judgment(*one, grade, "ann", NOON) for one in graded) for name, grade in GRADED.items()}
    found = judged_aspects(records, Aspects(FINE, own))
    assert [(one.pair, one.aspect, one.grade) for one in found.every] == [(pair, *one) for one in GRADED.items()]
