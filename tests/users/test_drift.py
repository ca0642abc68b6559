import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats

from audiosim.corpus.model import Judgment, Pair
from audiosim.users.drift import leanings, welch_interval


def said(assessor, grades, query="q"):
    return [Judgment(query, f"d{place}", float(grade), assessor) for place, grade in enumerate(grades)]


def expecting(*grades):
    return {Pair("q", f"d{place}"): float(grade) for place, grade in enumerate(grades)}


def test_an_assessor_is_compared_with_the_mean_of_the_others_on_shared_pairs():
    # d0: 80 beside 50 and 30, their mean 40; d1: 60 beside 80; d2: alone. Worked out by hand: (40 - 20) / 2 = 10.
    judgments = [*said("ann", [80, 60, 10]), *said("bob", [50, 80]), *said("cid", [30])]
    found = leanings(judgments, 100, {})
    assert list(found) == ["ann", "bob", "cid"]
    assert (found["ann"].judgments, found["ann"].shared) == (3, 2)
    assert found["ann"].to_others == pytest.approx(0.10)
    assert found["bob"].to_others == pytest.approx((-5 + 20) / 2 / 100)
    assert found["cid"].to_others == pytest.approx(-0.35)


def test_halves_are_in_the_order_in_which_the_judgments_were_made_and_the_middle_one_is_of_the_first():
    # Off the model by 10, 20, 30 and then by 50, 70.
    found = leanings(said("ann", [60, 70, 80, 100, 120]), 200, expecting(50, 50, 50, 50, 50))["ann"]
    assert (found.first, found.second) == (pytest.approx(20 / 200), pytest.approx(60 / 200))
    assert found.drift == pytest.approx(40 / 200)
    assert found.to_model == pytest.approx(36 / 200)
    assert found.expected == 5


def test_pairs_of_which_the_model_says_nothing_do_not_count():
    found = leanings(said("ann", [60, 70, 80]), 100, expecting(50))["ann"]
    assert (found.judgments, found.expected, found.to_model) == (3, 1, pytest.approx(0.1))


def test_what_cannot_be_said_is_none_and_plain_values_are_json():
    found = leanings(said("ann", [60]), 100, expecting(50))["ann"]
    assert (found.to_others, found.second, found.drift, found.low, found.high) == (None,) * 5
    assert json.loads(json.dumps(asdict(found)))["first"] == pytest.approx(0.1)
    assert leanings([], 100, {}) == {}


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_the_drift_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.normal(0.1, 0.2, 5 + seed), rng.normal(0, 0.5, 9)
    peer = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert welch_interval(one, other) == pytest.approx((peer.low, peer.high))


def test_two_halves_without_any_spread_differ_for_sure():
    assert welch_interval(np.full(3, 0.5), np.full(2, 0.25)) == (0.25, 0.25)


def test_an_assessor_who_turned_generous_is_seen_and_one_who_did_not_is_not():
    rng = np.random.default_rng(2)
    model = expecting(*[50] * 80)
    steady = said("steady", 50 + rng.integers(-20, 21, 80))
    turned = said("turned", [*(50 + rng.integers(-20, 21, 40)), *(75 + rng.integers(-20, 21, 40))])
    found = leanings([*steady, *turned], 100, model)
    assert found["turned"].low > 0.15
    assert found["turned"].low < 0.25 < found["turned"].high
    assert found["steady"].low < 0 < found["steady"].high
