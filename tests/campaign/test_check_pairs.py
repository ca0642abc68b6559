"""Pairs that people judge twice, and pairs with a known grade: handed out at a rate, and kept separate from answers."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from audiosim.campaign import Campaign, CampaignSettings, Event
from audiosim.campaign.self_checks import attention_of, self_checks, within_noise
from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Judgment, Pair, Run
from audiosim.errors import InputError

NOON = "2013-05-01T12:00:00Z"
QUERIES = [f"q{number}" for number in range(30)]
WIDE = Collection("wide", "wide", FINE, 4, (Run("A", {q: tuple(f"{q}d{n}" for n in range(4)) for q in QUERIES}),))


def opened(store=None, **options):
    return Campaign(WIDE, "uniform", "CG@4", store, CampaignSettings(**options))


def work(campaign, name, count, grade):
    """Answer a number of pairs, one at a time."""
    for _ in range(count):
        (pair,) = campaign.ask(1, name)
        campaign.tell(Judgment(*pair, grade(pair), name))


@pytest.mark.slow
def test_a_share_of_the_answers_is_of_pairs_judged_before_and_replaces_nothing(store):
    campaign, rng = opened(store, repeats=0.2), np.random.default_rng(1)
    work(campaign, "ann", 50, lambda pair: float(rng.integers(101)))
    kinds = [record.event.kind for record in campaign.log()]
    assert kinds.count("repeat") == kinds.count("again") == 10
    first = {}
    for number, event, _ in campaign.log():
        if event.kind == "judgment":
            first[event.pair] = (number, event.grades["fine"])
        elif event.kind == "repeat":
            # Ten answers lie between, each with a lease.
            assert number - first[event.pair][0] > 20
    assert {one.pair: one.grade for one in campaign.judgments()} == {pair: grade for pair, (_, grade) in first.items()}
    assert len(first) == 40
    again = opened(store, repeats=0.2)
    assert again.judgments() == campaign.judgments()
    assert again.ask(3, "ann") == campaign.ask(3, "ann")


def test_comparisons_make_no_check_pairs_due():
    campaign = opened(repeats=0.1)
    work(campaign, "ann", 12, lambda pair: 40.0)
    said = [
        Event("comparison", NOON, "ann", q, f"{q}d0", details={"document_b": f"{q}d{n}", "answer": "a", "seconds": 9.0})
        for q in QUERIES
        for n in (1, 2)
    ]
    # 60 comparisons would have made six of the next pairs repeats; of 13 judgments one is due.
    before = [record.event.kind for record in campaign.log()].count("again")
    campaign.tell_all(said)
    work(campaign, "ann", 6, lambda pair: 40.0)
    kinds = [record.event.kind for record in campaign.log()]
    assert before <= kinds.count("again") <= 1


def test_known_pairs_are_handed_to_everybody_at_their_rate():
    known = {("q3", "q3d1"): 80.0, ("q7", "q7d2"): 10.0, ("elsewhere", "d"): 5.0}
    pairs = {Pair(*pair): grade for pair, grade in known.items()}
    campaign = opened(known=0.1, known_grades=pairs)
    for name in ("ann", "bob"):
        work(campaign, name, 25, lambda pair: 50.0)
        mine = [one.pair for one in campaign.judgments() if one.assessor == name]
        assert {pair for pair in mine if pair in pairs} == {Pair("q3", "q3d1"), Pair("q7", "q7d2")}
        assert mine[:9].count(Pair("q3", "q3d1")) + mine[:9].count(Pair("q7", "q7d2")) == 0


def test_an_answer_sent_twice_is_one_repeat_and_undone_it_is_asked_again():
    campaign = opened(repeats=0.5)
    work(campaign, "ann", 20, lambda pair: 40.0)
    while True:
        (pair,) = campaign.ask(1, "ann")
        (lease,) = campaign.leases("ann")
        if lease.again:
            break
        campaign.tell(Judgment(*pair, 40.0, "ann"))
    said = Event("judgment", "2026-11-22T12:00:00Z", "ann", *pair, {"fine": 90.0}, key="k")
    record = campaign.tell(said)
    assert record.event.kind == "repeat"
    assert campaign.tell(said) == record._replace(replayed=True)
    held = campaign.judgments()
    campaign.undo("ann")
    assert campaign.judgments() == held
    assert [(lease.pair, lease.again) for lease in campaign.leases("ann")] == [(pair, True)]
    assert self_checks(campaign.log(), FINE, {}).keys() <= {"ann"}


@pytest.mark.slow
def test_noise_within_a_person_is_found_again():
    campaign, rng = opened(repeats=0.4), np.random.default_rng(3)
    work(campaign, "ann", 150, lambda pair: float(np.clip(round(50 + 8 * rng.standard_normal()), 0, 100)))
    found = self_checks(campaign.log(), FINE, {})["ann"]
    assert found.repeats >= 40
    assert found.noise_low < 0.08 < found.noise_high
    assert found.warnings == ()


def test_the_interval_is_that_of_a_variance_of_normal_differences():
    halves = np.array([0.01, 0.04, 0.02, 0.0])
    s2, m = halves.mean(), len(halves)
    expected = [s2, *(m * s2 / stats.chi2.ppf(share, m) for share in (0.975, 0.025))]
    np.testing.assert_allclose(within_noise(halves), np.sqrt(expected))
    assert within_noise(halves[:1]) == (None, None, None)


def test_attention_is_the_distance_over_that_of_all_permutations():
    rng = np.random.default_rng(2)
    known = rng.random(6)
    graded = np.clip(known + 0.3 * rng.standard_normal(6), 0, 1)
    every = np.array([np.abs(np.array(order) - known).mean() for order in permutations(graded)])
    attention, chance = attention_of(graded, known)
    own = np.abs(graded - known).mean()
    assert attention == pytest.approx(1 - own / every.mean())
    assert chance == pytest.approx(stats.norm.cdf((own - every.mean()) / every.std()))
    assert attention_of(known, known)[0] == 1
    assert attention_of(np.full(6, 0.5), known)[0] == pytest.approx(0)


def test_who_guesses_is_warned_of_and_nothing_is_left_out():
    known = {Pair(q, f"{q}d0"): 100.0 * (number % 2) for number, q in enumerate(QUERIES[:10])}
    campaign = opened(known=0.5, known_grades=known)
    work(campaign, "guesses", 30, lambda pair: 50.0)
    work(campaign, "listens", 30, lambda pair: known.get(pair, 50.0))
    found = self_checks(campaign.log(), FINE, known)
    assert found["listens"].attention == 1
    assert found["listens"].warnings == ()
    assert "guesses is hardly nearer to the known grades" in found["guesses"].warnings[0]
    assert len(campaign.judgments()) == 60


def test_somebody_noisier_than_the_others_is_warned_of():
    campaign, rng = opened(repeats=0.5), np.random.default_rng(5)
    for name, noise in (("steady", 3), ("careless", 40)):
        work(
            campaign,
            name,
            40,
            lambda pair, noise=noise: float(np.clip(round(50 + noise * rng.standard_normal()), 0, 100)),
        )
    found = self_checks(campaign.log(), FINE, {})
    assert found["steady"].warnings == ()
    assert found["careless"].warnings[0].startswith("careless answers the same pair again with a noise of")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"repeats": 0.6}, r"the share of repeats must be in \[0, 0.5\], got 0.6"),
        ({"known": -0.1}, r"the share of known must be in \[0, 0.5\], got -0.1"),
        ({"known": 0.1}, "a share of known pairs needs their known grades"),
    ],
)
def test_shares_that_cannot_be_are_refused(options, complaint):
    with pytest.raises(InputError, match=complaint):
        replace(CampaignSettings(), **options)
