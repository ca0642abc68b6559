"""Listening reported by assessors: impossible times are refused, and honest work never is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.campaign import Campaign, CampaignSettings, Event, MemoryStore
from audiosim.campaign.event import write_time
from audiosim.campaign.timing import SLACK_S
from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Run
from audiosim.errors import InputError

START = datetime(2026, 11, 22, 12, tzinfo=UTC)
DOCUMENTS = tuple(f"d{number:02}" for number in range(40))
MANY = Collection("many", "many", FINE, 40, tuple(Run(name, {"q": DOCUMENTS}) for name in "ST"))
REFUSED = "which is impossible"


class Watch:
    """A clock set by hand."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def forward(self, seconds):
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def watch():
    return Watch()


def opened(watch, store=None):
    return Campaign(MANY, "uniform", "CG@40", store, CampaignSettings(), clock=watch)


def answer(pair, when, played_s, assessor="ann", key=""):
    details = {"played_s": played_s, "query_played_s": played_s / 2, "document_played_s": played_s / 2}
    return Event("judgment", write_time(when), assessor, *pair, {"fine": 50.0}, details, key)


def taken_of(campaign, watch, answers):
    """Number of accepted answers, sent a hundredth of a second apart."""
    taken = 0
    for one in answers:
        watch.forward(0.01)
        try:
            campaign.tell(one)
            taken += 1
        except InputError as error:
            if REFUSED not in str(error):
                raise
    return taken


def test_answers_at_once_that_claim_twenty_seconds_each_are_refused(watch):
    store = MemoryStore()
    campaign = opened(watch, store)
    pairs = campaign.ask(40, "ann")
    answers = (answer(pair, watch.now, 20.0, key=f"k{number}") for number, pair in enumerate(pairs))
    assert taken_of(campaign, watch, answers) == SLACK_S // 20
    assert campaign.doubts()["ann"].startswith("37 answers refused for claiming more listening than there was time for")
    assert opened(watch, store).progress.judgments == 3
    campaign.tell(answer(pairs[0], watch.now, 20.0, key="k0"))  # sent again: the same answer
    watch.forward(20)
    campaign.tell(answer(pairs[-1], watch.now, 20.0))  # a person who listens can continue


def test_other_times_that_they_claim_help_nobody(watch):
    campaign = opened(watch)
    pairs = enumerate(campaign.ask(40, "ann"))
    answers = [answer(pair, START - timedelta(minutes=number), 20.0) for number, pair in pairs]
    assert taken_of(campaign, watch, answers) == 3


def test_who_was_never_handed_a_pair_claims_what_lies_before_the_answer(watch):
    campaign = opened(watch)
    assert taken_of(campaign, watch, (answer(("q", document), watch.now, 20.0) for document in DOCUMENTS)) == 4
    for number, document in enumerate(DOCUMENTS):  # work done elsewhere, each with its time
        campaign.tell(answer(("q", document), START - timedelta(seconds=30 * (number + 1)), 20.0, "bob"))
    assert len(campaign.answers("bob")) == 40


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0.0, 60.0), st.floats(0.0, 30.0), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 40),
    st.permutations(range(40)),
    st.floats(-3600, 60),
)
def test_an_honest_assessor_is_never_refused(work, batch, order, ahead_s):
    """They listen to pairs in any order, some of them ahead, judge offline, and send everything later."""
    watch, waiting, heard = Watch(), [], {}
    campaign = opened(watch)
    pairs = campaign.ask(batch, "ann")
    places = [place for place in order if place < len(pairs)]
    for (played_s, pause_s, sends), place in zip(work, places, strict=False):
        later = places[(places.index(place) + 1) % len(places)]
        heard[later] = heard.get(later, 0.0) + played_s / 3  # a look at another pair; its draft keeps the seconds
        heard[place] = heard.get(place, 0.0) + played_s * 2 / 3
        watch.forward(played_s + pause_s)
        waiting.append(answer(pairs[place], watch.now + timedelta(seconds=ahead_s), heard.pop(place)))
        while sends and waiting:
            campaign.tell(waiting.pop(0))
    while waiting:
        campaign.tell(waiting.pop())  # in any order
    assert not any("refused" in reason for reason in campaign.doubts().values())


def test_who_answers_faster_than_anybody_listens_is_doubted(watch):
    campaign = opened(watch)
    for number, pair in enumerate(campaign.ask(12, "ann")):
        watch.forward(0.2)
        said = answer(pair, watch.now, 0.0)
        campaign.tell(replace(said, details={"rushed": True} if number < 7 else {}))
    expected = "median of 0.2 s from one answer to the next; 7 of 12 answers came before both clips were heard"
    assert campaign.doubts() == {"ann": expected}
    for pair in campaign.ask(12, "bob"):
        watch.forward(12)
        campaign.tell(answer(pair, watch.now, 10.0, "bob"))
    assert list(campaign.doubts()) == ["ann"]


def test_a_day_of_listening_long_ago_is_not_added_up_for_ever(watch):
    campaign = opened(watch)
    for pair in campaign.ask(10, "ann"):
        campaign.tell_all([answer(pair, watch.now, 80_000.0)])  # accepted without checks
    with pytest.raises(InputError, match=REFUSED):
        campaign.tell(answer(campaign.ask(1, "ann")[0], watch.now, 20.0))
    watch.forward(2 * 86_400)
    campaign.tell(answer(campaign.ask(1, "ann")[0], watch.now, 20.0))
