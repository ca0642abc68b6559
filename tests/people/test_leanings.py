import json
from dataclasses import asdict

import pytest

from audiosim.collection.values import Judgment, Pair
from audiosim.people.agreement import leanings


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


def test_the_mean_distance_from_the_model_is_a_share_of_the_scale():
    # Off the model by 10, 20, 30, 50 and 70, out of 200.
    found = leanings(said("ann", [60, 70, 80, 100, 120]), 200, expecting(50, 50, 50, 50, 50))["ann"]
    assert (found.expected, found.to_model) == (5, pytest.approx(36 / 200))


def test_pairs_of_which_the_model_says_nothing_do_not_count():
    found = leanings(said("ann", [60, 70, 80]), 100, expecting(50))["ann"]
    assert (found.judgments, found.expected, found.to_model) == (3, 1, pytest.approx(0.1))


def test_what_cannot_be_said_is_none_and_plain_values_are_json():
    found = leanings(said("ann", [60]), 100, {})["ann"]
    assert (found.to_others, found.to_model) == (None, None)
    assert json.loads(json.dumps(asdict(found)))["judgments"] == 1
    assert leanings([], 100, {}) == {}
