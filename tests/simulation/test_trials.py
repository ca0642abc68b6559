import sys
from dataclasses import replace
from importlib import import_module
from itertools import islice

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE
from audiosim.errors import InputError
from audiosim.joint.estimators import uniform, uniform_model
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection, parse_stopping_rule
from audiosim.simulation.replay import replay
from audiosim.simulation.trials import Trial, draw_parts, follow, repeat, selections
from benchmarks.synthetic import Design, synthetic_collection

NEVER = parse_stopping_rule("judgments=99999")


@pytest.fixture(scope="module")
def collection():
    """7 systems of 4 teams, 9 queries."""
    return synthetic_collection(np.random.default_rng(2), Design(7, 4, 9, 3, 15))


@pytest.fixture(scope="module")
def parts(collection):
    return draw_parts(collection, 6, np.random.default_rng(3))


def begin(part, model=None, batch=5):
    pool = build_pool(part)
    return Selection.start(pool, parse_measure("CG@3"), uniform(pool), batch=batch)


def replays(collection, parts, stopping_rule):
    """The same campaigns, each played separately."""
    starts = [begin(part.of(collection)) for part in parts]
    truths = [start.pool.spread(part.of(collection).grades()) for start, part in zip(starts, parts, strict=True)]
    return [replay(start, truth, stopping_rule) for start, truth in zip(starts, truths, strict=True)]


@pytest.fixture(scope="module")
def played(collection, parts):
    """The campaigns of all parts until everything is judged."""
    return replays(collection, parts, NEVER)


@pytest.mark.slow
@pytest.mark.parametrize("stopping_rule", ["judgments=12", "confidence=0.85", "judgments=99999"])
def test_what_is_claimed_is_what_each_campaign_said_at_its_start_and_at_its_end(collection, parts, stopping_rule):
    played = replays(collection, parts, parse_stopping_rule(stopping_rule))
    said = repeat(Trial(collection, begin), parts, parse_stopping_rule(stopping_rule)).to_dict()
    assert list(said) == ["repeats", "queries", "teams", "held_out", "start", "end"]
    assert (said["repeats"], said["queries"], said["teams"], said["held_out"]) == (6, 5, 3, "teams")
    for moment, place in (("start", 0), ("end", -1)):
        curve = [one.curve[place] for one in played]
        assert said[moment]["judged"] == pytest.approx(np.mean([point.judged for point in curve]))
        assert said[moment]["stated"] == pytest.approx(np.mean([point.confidence for point in curve]))
        assert said[moment]["accuracy"] == pytest.approx(np.mean([point.accuracy for point in curve]))
        assert said[moment]["rho"] == pytest.approx(np.mean([point.rho for point in curve]))
        errors = [point.rmse_differences for point in curve]
        assert said[moment]["rmse_differences"] == pytest.approx(np.mean(errors))
        assert said[moment]["rmse_differences_error"] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(6))
    claims = sum(row["claims"] for row in said["end"]["bins"])
    assert claims == sum(len(one.scores) * (len(one.scores) - 1) // 2 for one in played)


@pytest.mark.slow
def test_each_moment_is_that_of_the_campaign_played_by_itself(collection, parts, played):
    found = follow(Trial(collection, begin), parts, (17, 0, 30, 17)).to_dict()
    assert list(found) == ["repeats", "queries", "teams", "held_out", "near", "curve", "goals"]
    assert found["goals"] == []
    assert [row["judged"] for row in found["curve"]] == [0, 17, 30]  # 17 is within a batch
    for row in found["curve"]:
        points = [one.curve[int(row["judged"])] for one in played]
        assert row["by_part"]["stated"] == pytest.approx([point.confidence for point in points])
        assert row["by_part"]["accuracy"] == pytest.approx([point.accuracy for point in points])
        assert row["by_part"]["error"] == pytest.approx([point.error for point in points])


@pytest.mark.slow
def test_goals_are_noted_where_each_was_first_met_and_stop_nothing(collection, parts, played):
    stopping_rules = [
        parse_stopping_rule(text)
        for text in ("confidence(floor=0)=0.65", "confidence(floor=0)=0.77", "judgments=7", "judgments=400")
    ]
    found = follow(Trial(collection, begin), parts, (5, 25), stopping_rules).to_dict()
    assert [row["judged"] for row in found["curve"]] == [5, 25]
    assert [row["goal"] for row in found["goals"]] == [str(stopping_rule) for stopping_rule in stopping_rules]
    for row, target in zip(found["goals"], (0.65, 0.77), strict=False):
        first = [next(point for point in one.curve if point.confidence >= target) for one in played]
        met = [point for point in first if point.judged <= 25]
        assert row["reached"] == len(met)
        assert row["judged"] == pytest.approx(np.mean([point.judged for point in met]))
        assert row["stated"] == pytest.approx(np.mean([point.confidence for point in met]))
        assert row["accuracy"] == pytest.approx(np.mean([point.accuracy for point in met]))
        excess = [point.confidence - point.accuracy for point in met]
        assert row["excess_error"] == pytest.approx(np.std(excess, ddof=1) / np.sqrt(len(met)))
    assert found["goals"][0]["judged_error"] > 0
    assert 0 < found["goals"][1]["reached"] < 6
    assert (found["goals"][2]["reached"], found["goals"][2]["judged"], found["goals"][2]["judged_error"]) == (6, 7, 0)
    unmet = found["goals"][3]
    assert (unmet.pop("goal"), unmet.pop("reached")) == ("judgments=400", 0)
    assert set(unmet.values()) == {None}


@pytest.mark.slow
def test_where_a_pool_has_fewer_pairs_its_last_moment_stands(collection, parts):
    sizes = [len(build_pool(part.of(collection)).pairs) for part in parts]
    row = follow(Trial(collection, begin), parts, (10, 5000)).curve()[1]
    assert row["judged"] == pytest.approx(np.mean(sizes))
    assert row["judged_error"] == pytest.approx(np.std(sizes, ddof=1) / np.sqrt(6))
    assert (row["stated"], row["accuracy"], row["clear"]["accuracy"]) == (1, 1, 1)
    assert row["error"] == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_a_campaign_goes_on_though_no_judgment_is_worth_anything(tiny, tiny_truth):
    # Only A and B: documents retrieved by both do not distinguish them.
    both = replace(tiny, runs=tiny.runs[:2], judgments=tuple(tiny_truth), cutoff=2)
    start = Selection.start(build_pool(both), parse_measure("CG@2"), uniform(build_pool(both)))
    chosen = list(selections(start, start.pool.spread(both.grades())))
    assert [state.judged for state in chosen] == list(range(len(start.pool.pairs) + 1))
    worthless = next(state.judged for state in chosen if state.reached(NEVER))
    assert worthless < len(start.pool.pairs)
    part = draw_parts(both, 1, np.random.default_rng(0), queries=2)
    trial = Trial(both, lambda part, model: begin_at_two(part))
    assert [seen.judged for seen in repeat(trial, part, NEVER).last] == [worthless]
    assert follow(trial, part, [100]).curve()[0]["judged"] == len(start.pool.pairs)


def begin_at_two(part):
    pool = build_pool(part)
    return Selection.start(pool, parse_measure("CG@2"), uniform(pool))


def test_batches_are_by_query_where_asked_for(collection):
    start = begin(collection, batch=10)
    grades = start.pool.spread(collection.grades())
    asked = [next(islice(selections(start, grades, by_query), 10, None)).graded for by_query in (False, True)]
    mixed, grouped = ({pair.query for pair in chosen} for chosen in asked)
    assert len(grouped) < len(mixed)


class Recorder:
    """Learns nothing, and records its inputs and the uses of its model."""

    def __init__(self):
        self.rests, self.played = [], []

    def learn(self, rest):
        self.rests.append(rest)
        return replace(uniform_model(FINE), name=f"number {len(self.rests)}")

    def begin(self, part, model):
        self.played.append((part, model))
        return begin(part)


@pytest.mark.parametrize("held_out", ["queries", "teams"])
def test_each_part_is_played_with_the_model_that_learned_from_the_rest(collection, held_out):
    parts = draw_parts(collection, 5, np.random.default_rng(1), held_out=held_out)
    kept = Recorder()
    follow(Trial(collection, kept.begin, kept.learn), parts, [3])
    assert [model.name for _, model in kept.played] == [f"number {i}" for i in range(1, 6)]
    for part, rest, (played, _) in zip(parts, kept.rests, kept.played, strict=True):
        assert {query for run in played.runs for query in run.rankings} == part.queries
        assert part.queries.isdisjoint(query for run in rest.runs for query in run.rankings)
        assert part.queries.isdisjoint(judgment.query for judgment in rest.judgments)
        systems = {run.system for run in rest.runs}
        teams = {collection.teams[system] for system in systems}
        assert part.teams.isdisjoint(teams) if held_out == "teams" else len(systems) == len(collection.runs)


@pytest.mark.slow
def test_a_trial_without_learning_brings_its_own_model(collection, parts):
    kept = Recorder()
    repeat(Trial(collection, kept.begin), parts, parse_stopping_rule("judgments=1"))
    assert [model for _, model in kept.played] == [None] * 6


def test_a_part_that_leaves_nothing_to_learn_from_is_not_played(collection):
    kept = Recorder()
    parts = draw_parts(collection, 3, np.random.default_rng(1), queries=9)
    with pytest.raises(InputError, match="^a part of all 9 queries leaves none to learn from; draw fewer queries$"):
        follow(Trial(collection, kept.begin, kept.learn), parts, [3])
    assert kept.played == []


@pytest.mark.slow
def test_how_far_the_parts_are_is_told(collection, parts):
    trial, seen = Trial(collection, begin), []
    repeat(trial, parts, parse_stopping_rule("judgments=2"), progress=lambda *done: seen.append(done))
    follow(trial, parts, [2], progress=lambda *done: seen.append(done))
    assert seen == [(done, 6) for done in range(7)] * 2


def test_numbers_that_make_no_sense_are_refused(collection, parts):
    trial = Trial(collection, begin)
    with pytest.raises(InputError, match=r"^moments must be numbers of judgments, 0 or more, got 5, -1$"):
        follow(trial, parts, [5, -1])
    with pytest.raises(InputError, match=r"^moments must be numbers of judgments, 0 or more, got none$"):
        follow(trial, parts, [])
    with pytest.raises(InputError, match=r"^the number of jobs must be at least 1, got 0$"):
        repeat(trial, parts, NEVER, jobs=0)


def test_a_pair_without_a_judgment_is_named(collection, parts):
    bare = replace(collection, judgments=())
    with pytest.raises(InputError, match=r"^\d+ of the pool's \d+ pairs have no judgment, such as query d\d, document"):
        follow(Trial(bare, begin), parts, [3])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory, forked_workers):
    """Campaigns that worker processes can import: one that plays, one with an error, one that ends its process."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "campaigns_elsewhere.py").write_text(
        "import os\n"
        "from audiosim.collection.pool import build_pool\n"
        "from audiosim.errors import InputError\n"
        "from audiosim.measures.measure import parse_measure\n"
        "from audiosim.joint.estimators import uniform\n"
        "from audiosim.ranking import Selection\n\n"
        "def begin(part, model):\n"
        "    pool = build_pool(part)\n"
        "    return Selection.start(pool, parse_measure('CG@3'), uniform(pool), batch=5)\n\n"
        "def refuse(part, model):\n"
        "    raise InputError('not on this part')\n\n"
        "def end(part, model):\n"
        "    os._exit(3)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        get_reusable_executor().shutdown(wait=True)  # existing processes do not look in this folder
        yield import_module("campaigns_elsewhere")
        get_reusable_executor().shutdown(wait=True)
        del sys.modules["campaigns_elsewhere"]


@pytest.mark.slow
def test_parts_played_in_two_processes_give_the_same_answer(collection, parts, elsewhere):
    trial, stopping_rules = Trial(collection, elsewhere.begin), [parse_stopping_rule("confidence=0.8")]
    here, in_processes = (follow(trial, parts, (0, 20), stopping_rules, jobs=jobs).to_dict() for jobs in (1, 2))
    assert here == in_processes


@pytest.mark.slow
def test_what_goes_wrong_in_a_process_is_one_line(collection, parts, elsewhere):
    for campaign, message in (
        ("refuse", r"^not on this part$"),
        ("end", r"^a worker process at part [12] of 6, or a later one, crashed \(EXIT\(3\)\)$"),
    ):
        with pytest.raises(InputError, match=message):
            repeat(Trial(collection, getattr(elsewhere, campaign)), parts, NEVER, jobs=2)
