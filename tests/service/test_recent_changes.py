"""Changes of a campaign since a moment, compared with the results of the judgments until then and until now."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import rankdata

import audiosim
from audiosim.campaign.event import parse_time
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Judgment
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.outlook import Outlook
from audiosim.service.collections.served import ServedCollection

NOON = "2026-03-01T12:00:00Z"


def judged_in_turn(coarse):
    """A judgment of each pair: the first twenty by ann in the morning, the others by ann and bob in the afternoon."""
    rng = np.random.default_rng(8)
    pairs = build_pool(coarse).pairs
    return [
        Judgment(
            *pair,
            float(rng.choice(BROAD.levels)),
            "ann" if place < 20 or place % 3 == 0 else "bob",
            f"2026-03-01T{9 if place < 20 else 15:02}:00:{place % 60:02}Z",
        )
        for place, pair in enumerate(pairs)
    ]


@pytest.mark.slow
def test_changes_are_what_lies_between_the_estimates_then_and_now(coarse):
    one, said = ServedCollection(coarse, "uniform", Judging()), judged_in_turn(coarse)
    one.campaign.tell_all(said)
    found = Outlook(one).since(parse_time(NOON))
    then, now = (
        audiosim.estimate(replace(coarse, judgments=tuple(some)), "uniform", measure="CG@4")
        for some in (said[:20], said)
    )
    assert (found.before, found.state) == (20, one.campaign.number)
    later = [one.assessor for one in said[20:]]
    assert found.answers == {name: later.count(name) for name in sorted(set(later), key=later.count, reverse=True)}
    assert found.joined == ("bob",)
    assert (found.judged_before, found.judged) == (20, len(said))
    assert (found.confidence_before, found.confidence) == pytest.approx((then.confidence, now.confidence))
    ranks = [rankdata(-ranking.scores.mean.round(12), "min").tolist() for ranking in (then, now)]  # equal ones share it
    moved = {one.system: (one.rank_before, one.rank) for one in found.moved}
    both = zip(now.systems, zip(*ranks, strict=True), strict=True)
    assert moved == {name: (before, after) for name, (before, after) in both if before != after}
    assert moved
    # All pairs are judged, so every two systems with different means are distinguished; before, none were.
    grades = {one.pair: one.grade for one in said}
    mean = {
        run.system: sum(grades[query, name] for query, names in run.rankings.items() for name in names[:4])
        for run in coarse.runs
    }
    apart = {(a, b) for a, b in permutations(mean, 2) if mean[a] > mean[b]}
    assert {(one.better, one.worse) for one in found.settled} == apart
    assert found.unsettled == ()
    assert Outlook(one).since(parse_time("2026-03-02T00:00:00Z")).answers == {}
    from_start = Outlook(one).since(parse_time("2026-02-01T00:00:00Z"))
    assert (from_start.before, from_start.judged_before, from_start.joined) == (0, 0, ("ann", "bob"))


def test_answers_since_a_moment_are_counted_once_however_often_they_are_revised_and_not_if_withdrawn(coarse):
    one, pairs = ServedCollection(coarse, "uniform", Judging()), build_pool(coarse).pairs
    one.campaign.tell_all(
        Judgment(*pairs[place], grade, name, "2026-03-01T15:00:00Z")
        for place, grade, name in [(0, 1.0, "ann"), (0, 2.0, "ann"), (1, 1.0, "ann"), (2, 0.0, "bob")]
    )
    one.campaign.undo("bob")
    found = Outlook(one).since(parse_time(NOON))
    assert (found.answers, found.joined) == ({"ann": 2}, ("ann",))


@pytest.mark.slow
def test_changes_are_asked_for_since_a_moment_or_since_yesterday(coarse, in_process):
    path = "/v1/collections/coarse"
    with in_process(create_app([coarse], "uniform")) as http:
        (pair,) = http.post(f"{path}/next", json={"assessor": "ann"}).json()["pairs"]
        body = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "broad": 2}
        assert http.post(f"{path}/judgments", json=body).status_code == 201
        found = http.get(f"{path}/changes").json()
        assert (found["answers"], found["joined"], found["judged_before"], found["judged"]) == (
            {"ann": 1},
            ["ann"],
            0,
            1,
        )
        assert found["acts"] == []
        for what, said in (("pause", {}), ("resume", {}), ("set-aside", {"judge": "ann", "reason": "why"})):
            http.post(f"{path}/{what}", json=said).raise_for_status()
        acts = http.get(f"{path}/changes").json()["acts"]
        assert [one["kind"] for one in acts] == ["pause", "resume", "set_aside"]
        assert acts[-1]["details"] == {"judge": "ann", "reason": "why"}
        http.post(f"{path}/take-back", json={"judge": "ann"}).raise_for_status()
        later = http.get(f"{path}/changes", params={"since": "2999-01-01T00:00:00Z"}).json()
        assert later["acts"] == []
        assert (later["answers"], later["moved"], later["since"]) == ({}, [], "2999-01-01T00:00:00.000Z")
        assert later["confidence_before"] == later["confidence"]
        refused = http.get(f"{path}/changes", params={"since": "yesterday"})
        assert refused.status_code == 422
        assert refused.json()["detail"] == "expected a time in UTC such as 2013-05-01T12:00:00Z, got 'yesterday'"
