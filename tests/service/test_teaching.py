"""Learning in a separate process gives the same results as here, and data known to both is not sent twice."""

import os
import pickle
import signal
import sys
import threading
import time
import tracemalloc
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from audiosim import Collection
from audiosim.campaign import Campaign, CampaignSettings, Lesson, MemoryStore
from audiosim.campaign.learning import WORTHWHILE
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.errors import ServiceError
from audiosim.joint.estimators import make_estimator
from audiosim.people.judges import reports_on_people
from audiosim.results.value import cached_property
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.served import ServedCollection
from audiosim.service.operations.judges import _people
from audiosim.service.process.learning import Errand, Errands, receive, wrap

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"


@pytest.fixture
def lesson(small):
    pool = build_pool(small)
    return Lesson(1, make_estimator(pool, "joint"), pool.spread(small.grades()))


@pytest.mark.slow
def test_what_a_process_of_its_own_learns_is_what_is_learned_here_to_the_last_bit(lesson):
    nothing = np.full(len(lesson.grades), np.nan)
    received = Errand(lesson.learned, lesson.shared).result()
    assert received.unlearned() is lesson.estimator
    assert all(mine is theirs for mine, theirs in zip(received.basis, lesson.estimator.basis, strict=True))
    there, here = (learned.predict(nothing) for learned in (received, lesson.learned()))
    assert not np.array_equal(here.prior.variance, lesson.estimator.predict(nothing).prior.variance)
    for name in ("mean", "variance", "shared"):
        assert np.array_equal(getattr(there.prior, name), getattr(here.prior, name))
    assert np.array_equal(there.probabilities, here.probabilities)


class Slotted:
    __slots__ = ("size",)


def test_a_lesson_shares_an_estimator_without_a_dict_as_a_whole():
    estimator = Slotted()
    assert Lesson(1, estimator, np.zeros(0)).shared == (estimator,)


def test_arrays_that_the_service_has_are_not_sent_back_but_shared(lesson, tmp_path):
    value = {"old": np.arange(50_000.0), "new": np.arange(50_000.0)}
    with (tmp_path / "there").open("w+b") as there, (tmp_path / "back").open("w+b") as back:
        sent = wrap(value)
        sent.write(there)
        there.seek(0)
        got, arrays = receive(there)
        wrap({"old": got["old"], "new": got["new"] + 1}, arrays).write(back)
        assert 400_000 < back.tell() < 410_000  # one of two arrays of 400,000 bytes
        back.seek(0)
        answer, _ = receive(back, sent.arrays)
    assert np.shares_memory(answer["old"], value["old"])
    assert np.array_equal(answer["new"], value["new"] + 1)


def test_a_lesson_is_packed_without_a_copy_of_its_arrays(lesson):
    held = np.zeros(2_000_000)
    tracemalloc.start()
    try:
        packed = wrap({"held": held})
        assert tracemalloc.get_traced_memory()[1] < held.nbytes / 10
    finally:
        tracemalloc.stop()
    assert sum(array.nbytes for array in packed.arrays) == held.nbytes


def test_a_process_that_is_ended_while_it_learns_is_said(lesson):
    errand = Errand(lesson.learned)
    errand._process.send_signal(signal.SIGKILL)
    time.sleep(0.05)
    with pytest.raises(ServiceError, match="^the process that learns ended with status -9$"):
        errand.result()


# The process that learns, with what it is sent, and nobody who reads its answer.
KILLED = """
from audiosim.service.process.learning import main
source, target = os.pipe()
os.close(source)
os.dup2(target, 1)
sys.stdin = open(sent)
begin()
main()
"""


@pytest.mark.slow
def test_a_process_whose_service_was_killed_ends_without_a_word(lesson, together, tmp_path):
    half, whole = tmp_path / "half", tmp_path / "whole"
    with whole.open("wb") as target:
        wrap((lesson.learned, ())).write(target)
    text = whole.read_bytes()
    half.write_bytes(text[: len(text) // 2])
    assert together(KILLED, {"sent": half}, {"sent": whole}) == [(1, ""), (1, "")]


@pytest.fixture(scope="module")
def begun():
    """The log of a campaign on the demo, judged by two people in turn, from its beginning; not to be counted."""
    collection, store, stretches = Collection.load(DEMO), MemoryStore(), []
    campaign = Campaign(collection, "joint", store=store, settings=CampaignSettings(learn_later=True))
    rng = np.random.default_rng(1)
    for place, pair in enumerate(campaign.selection.pool.pairs[: WORTHWHILE + 3]):
        campaign.tell(Judgment(*pair, float(rng.integers(101)), ("ann", "ben")[place % 2]))
    settings = CampaignSettings(learn_later=True)
    Campaign(
        collection,
        "joint",
        "CG@5",
        store,
        settings,
        count_long=lambda one: stretches.append(deepcopy(one)) or one.counted(),
    )
    return replace(stretches[0], ready=True)


@pytest.fixture
def stretch(begun):
    """A copy of it, without what other tests have learned from it."""
    return deepcopy(begun)


@pytest.mark.slow
def test_a_stretch_that_another_process_counts_comes_to_what_it_does_here_to_the_last_bit(stretch):
    errands = Errands()
    errands.start()
    alone = deepcopy(stretch)  # otherwise it would find what the other process has learned
    there, here = errands.count(stretch).selection, alone.counted().selection
    assert there.knows_people
    assert there.judge(599, 50.0, ("ann", 50.0)).knows_people  # what was learned there is known here
    assert there.judged == WORTHWHILE + 3
    assert there.pool is stretch.first.pool
    assert there.expected is stretch.first.expected
    assert np.array_equal(there.weights, here.weights)
    for of in (lambda one: one.ranking.scores, lambda one: one.ranking.at_large.scores):
        assert np.array_equal(of(there).mean, of(here).mean)
        assert np.array_equal(of(there).covariance, of(here).covariance)


@pytest.mark.slow
def test_before_the_service_serves_and_where_it_is_quick_a_stretch_is_counted_here(stretch, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")  # so no other process could start
    errands = Errands()
    assert errands.count(stretch).selection.judged == WORTHWHILE + 3
    errands.start()
    short = replace(stretch, changes=stretch.changes[:100], learnings=(), place=100)
    assert errands.count(short).selection.judged == 100


@pytest.mark.slow
def test_a_stretch_whose_process_is_ended_is_counted_here_and_not_where_the_service_ends(stretch, caplog, wait_until):
    def end_the_process(errands, how):
        wait_until(lambda: errands._under_way)
        how(*errands._under_way)

    errands = Errands()
    errands.start()
    thread = threading.Thread(target=end_the_process, args=(errands, lambda one: one._process.kill()))
    thread.start()
    assert errands.count(stretch).selection.judged == WORTHWHILE + 3
    thread.join()
    assert "the process that learns ended with status -9; it is done within the service" in caplog.text
    thread = threading.Thread(target=end_the_process, args=(errands, lambda one: errands.stop()))
    thread.start()
    with pytest.raises(ServiceError, match="^the process that learns ended with status -9$"):
        errands.count(stretch)
    thread.join()


@dataclass(frozen=True, slots=True)
class Parts:
    """Values that other threads add."""

    kept: dict
    rows: list = field(default_factory=list)


class Filled:
    """An object with a cached result, and with parts that are filled while it is in use."""

    def __init__(self) -> None:
        self.kept = {}
        self.parts = Parts(self.kept)

    @cached_property
    def result(self):
        return {}


def test_what_other_threads_fill_meanwhile_can_be_sent_without_their_results():
    filled, stop, ready, usual_s = Filled(), threading.Event(), threading.Event(), sys.getswitchinterval()
    filled.result["much"] = np.zeros(1000)

    def fill():
        while not stop.is_set():
            for number in range(300):
                filled.kept[number] = filled.result[number] = object
                filled.parts.rows.append(object)
            ready.set()
            for held in (filled.kept, filled.result, filled.parts.rows):
                held.clear()

    thread = threading.Thread(target=fill)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        assert ready.wait(60)
        parcels = [wrap(filled, with_results=False) for _ in range(300)]
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(usual_s)
    for parcel in parcels:
        found = pickle.loads(parcel.text)
        assert vars(found).keys() == {"kept", "parts"}
        assert found.parts.kept is found.kept
        assert not parcel.arrays


@pytest.mark.slow
def test_nothing_that_a_campaign_computed_goes_to_the_process_that_counts_it(lesson):
    belief = lesson.estimator.predict(lesson.grades)
    computed = belief.gains.variance, belief.probabilities
    assert "gains" in vars(belief)
    sent, everything = wrap(belief, with_results=False), wrap(belief)
    assert len(sent.arrays) < len(everything.arrays)
    there = pickle.loads(sent.text, buffers=sent.arrays)
    assert "gains" not in vars(there)
    assert all(map(np.array_equal, computed, (there.gains.variance, there.probabilities)))


@pytest.mark.slow
def test_many_judgments_are_reported_on_in_a_process_of_their_own_and_as_here(coarse):
    def of_processes_s():
        return os.times().children_user + os.times().children_system

    one, rng = ServedCollection(coarse, "joint", Judging()), np.random.default_rng(0)
    campaign = one.campaign
    said = [(pair, name) for name in "abcd" for pair in campaign.selection.pool.pairs][:WORTHWHILE]
    judged = [Judgment(*pair, float(rng.choice(coarse.scale.levels)), name) for pair, name in said]
    campaign.tell_all(judged[:-1])
    few = campaign.selection
    campaign.tell_all(judged[-1:])
    many = campaign.selection
    expected = reports_on_people(many.pool, many.panel)
    one.judging.errands.start()
    try:
        before = of_processes_s()
        assert len(_people(few, one)) == 3
        assert of_processes_s() == before
        assert _people(many, one) == tuple(expected)
        assert of_processes_s() > before
    finally:
        one.judging.errands.stop()


@pytest.mark.slow
def test_a_model_of_many_people_is_learned_by_no_thread_that_answers_requests(monkeypatch):
    monkeypatch.setattr("audiosim.campaign.learning.OF_PEOPLE", 1)  # two people are many
    long = []
    campaign = Campaign(
        Collection.load(DEMO),
        "joint",
        store=MemoryStore(),
        settings=CampaignSettings(learn_later=True),
        count_long=lambda stretch: long.append(stretch) or stretch.counted(),
    )
    rng = np.random.default_rng(0)
    judged = [
        Judgment(*pair, float(rng.integers(101)), ("ann", "ben")[place % 2])
        for place, pair in enumerate(campaign.selection.pool.pairs[:30])
    ]
    campaign.sync()
    for one in judged[:24]:
        campaign.tell(one)
    assert campaign.selection.judged <= 24
    campaign.sync()
    assert campaign.selection.judged == 24
    long.clear()
    for one in judged[24:]:  # a model of them is learned from 25
        campaign.tell(one)
        campaign.refresh()
        assert campaign.confidence is not None
    assert (long, campaign.selection.judged) == ([], 24)
    campaign.sync()
    assert len(long) == 1
    assert campaign.selection.judged == 30
    assert campaign.selection.knows_people
