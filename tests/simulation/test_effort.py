"""Effort of a stopping rule, compared with known counts and the sample size of a paired t-test."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Run
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.simulation import plan as effort
from audiosim.simulation.alternatives import scores_of
from audiosim.simulation.plan import SECONDS, plan, queries_needed, seconds_per_judgment
from audiosim.simulation.remaining import interval_of
from benchmarks.synthetic import Design, synthetic_collection


def test_a_goal_of_so_many_judgments_takes_those_that_are_left(tiny, tiny_truth):
    some = replace(tiny, judgments=tuple(tiny_truth[:2]))
    found = plan(some, "uniform", "CG@2", stopping_rule="judgments=6", campaigns=3, seconds=90, listeners=2, batch=1)
    assert (found.judged, found.counts, found.judgments, found.interval) == (2, (4, 4, 4), 4, (4, 4))
    assert found.hours == pytest.approx(4 * 90 / 3600 / 2)
    assert found.to_dict()["goal"] == "judgments=6"


def test_the_interval_is_wider_than_campaigns_vary_by_how_far_replays_are_off():
    # By hand: quantiles .1, .5 and .9 of the counts, at places 1.2, 6 and 10.8 of 11, are 100, 200 and 400;
    # 1.2816 is the normal quantile of .9.
    counts = (100,) * 3 + (200,) * 5 + (400,) * 3
    below = math.hypot(math.log(201 / 101), 1.2816 * 0.3)
    above = math.hypot(math.log(401 / 201), 1.2816 * 0.3)
    expected = (math.floor(201 * math.exp(-below) - 1), math.ceil(201 * math.exp(above) - 1))
    assert interval_of(counts, 0.3) == expected
    assert interval_of(counts, 0.0) == (100, 400)
    assert interval_of((), 0.3) is None


@pytest.mark.slow
def test_the_command_says_what_a_deeper_cutoff_would_tell_apart(run, tmp_path):
    made = synthetic_collection(np.random.default_rng(8), Design(4, 3, 6, 5, 20))
    made.save(tmp_path / "made")
    call = ("plan", tmp_path / "made", "--measure", "CG@2", "--stopping-rule", "judgments=3", "--judgments", "none")
    code, out, _ = run(*call, "--format", "json")
    assert code == 0
    found = json.loads(out)["otherwise"]
    assert [one["what"] for one in found] == ["as it is", "2 times the queries", "4 times the queries", "cutoff 4"]
    assert found[-1]["judgments"] == len(build_pool(made, 4).pairs)


def test_with_everything_judged_nothing_is_left(tiny, tiny_truth):
    found = plan(replace(tiny, judgments=tuple(tiny_truth)), "uniform", "CG@2", campaigns=2)
    assert (found.judgments, found.unsettled) == (0, ())


def test_where_there_is_no_time_it_takes_more_than_was_played(tiny, monkeypatch):
    clock = iter([100, 109, 109.9, 110.0])  # the start, then before each judgment
    monkeypatch.setattr(effort, "time", SimpleNamespace(time=lambda: next(clock)))
    found = plan(tiny, "uniform", "CG@2", stopping_rule="judgments=6", batch=1, time_limit=10)
    assert (found.judgments, found.hours, found.interval) == (None, None, (2, None))


def test_systems_that_a_goal_leaves_open_are_named_by_how_open_they_are(tiny):
    found = plan(tiny, "uniform", "CG@2", stopping_rule="judgments=1", campaigns=5)
    confidences = [row["confidence"] for row in found.unsettled]
    assert confidences == sorted(confidences)
    assert {(row["a"], row["b"]) for row in found.unsettled} <= {("A", "B"), ("A", "C"), ("B", "C")}
    (row,) = found.rows()
    assert (row["judgments"], row["unsettled"]) == (found.judgments, len(found.unsettled))


def test_queries_needed_are_those_of_the_paired_t_test_of_statsmodels():
    from statsmodels.stats.power import TTestPower  # takes a second, so only where it is needed

    rng = np.random.default_rng(4)
    grades = rng.integers(0, 101, (60, 2)) + np.array([8, 0])
    queries = [f"q{i}" for i in range(60)]
    runs = tuple(Run(name, {q: (f"{name}{q}",) for q in queries}) for name in "AB")
    collection = Collection("made", "made", FINE, 1, runs)
    pool = build_pool(collection)
    given = {(q, f"{name}{q}"): min(100, grades[i, j]) for i, q in enumerate(queries) for j, name in enumerate("AB")}
    drawn = np.array([float(given[pair]) for pair in pool.pairs])
    difference = np.array([given[q, f"A{q}"] - given[q, f"B{q}"] for q in queries])
    expected = TTestPower().solve_power(difference.mean() / difference.std(ddof=1), power=0.8, alpha=0.05)
    (found,) = queries_needed(scores_of(pool, parse_measure("CG@1"), drawn))
    # The normal approximation needs about two queries less, z^2 / 2 of them: Cohen (1988), chapter 2.
    assert found == pytest.approx(expected - 1.96**2 / 2, rel=0.02)


def test_equal_systems_are_settled_not_open(tiny):
    runs = (tiny.runs[0], Run("A2", tiny.runs[0].rankings))
    found = plan(replace(tiny, runs=runs, teams={}), "uniform", "CG@2", stopping_rule="judgments=1", campaigns=1)
    assert found.unsettled == ()


def test_a_goal_that_judging_cannot_meet_asks_for_queries(tiny):
    found = plan(tiny, "uniform", "CG@2", stopping_rule="confidence(floor=0)=0.99999", campaigns=2, about="queries")
    assert found.unmet == len(found.counts) == 2
    assert found.to_dict()["about"] == {"queries": "queries", "listeners": "panel"}


def test_the_pace_is_that_of_the_judgments_there_are(tiny):
    times = ["2026-01-01T10:00:00", "2026-01-01T10:00:20", "2026-01-01T10:00:50", "2026-01-01T10:01:10"]
    judged = tuple(
        Judgment(query, document, 50.0, "ann", time)
        for (query, document), time in zip([("q1", "a"), ("q1", "b"), ("q1", "c"), ("q2", "e")], times, strict=True)
    )
    assert seconds_per_judgment(replace(tiny, judgments=judged)) == pytest.approx(70 / 3)  # as their sum takes
    assert seconds_per_judgment(tiny) == SECONDS
    at_once = [replace(one, time=f"2013-05-01T12:00:00.{place:03}Z") for place, one in enumerate(judged)]
    assert seconds_per_judgment(replace(tiny, judgments=at_once)) == SECONDS


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"campaigns": 0}, "number of campaigns must be at least 1, got 0"),
        ({"listeners": 0}, "number of listeners must be at least 1, got 0"),
        ({"seconds": 0}, "seconds that a judgment takes must be above 0, got 0"),
        ({"stopping_rule": "soon"}, "soon"),
    ],
)
def test_a_plan_without_sense_is_refused(tiny, options, said):
    with pytest.raises(InputError, match=said):
        plan(tiny, "uniform", "CG@2", **options)


@pytest.mark.parametrize(
    ("campaigns", "rule", "said"),
    [
        ("2", "confidence=0.99", "too few campaigns for an interval"),
        ("8", "judgments=0", "judgments=0 is reached."),
    ],
)
def test_only_a_goal_that_is_reached_is_called_so(run, tiny, tmp_path, campaigns, rule, said):
    tiny.save(tmp_path / "tiny")
    call = ("plan", tmp_path / "tiny", "--model", "uniform", "--measure", "CG@2", "--stopping-rule", rule)
    out = run(*call, "--campaigns", campaigns)[1]
    assert said in out
    assert ("is reached" in out) == ("is reached" in said)


def test_the_command_says_judgments_hours_and_what_stays_open(run, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    call = ("plan", tmp_path / "tiny", "--model", "uniform", "--measure", "CG@2", "--stopping-rule", "judgments=3")
    code, out, _ = run(*call, "--campaigns", "2", "--listeners", "2")
    assert code == 0
    assert "judgments=3 takes about 3 more judgments (80 % interval 3 to 3)" in out
    assert ", 1 minute of each of 2 listeners at 30 s a judgment" in out
