from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Run
from audiosim.errors import InputError
from audiosim.simulation.trials import Part, draw_parts, part_of
from benchmarks.synthetic import Design, synthetic_collection


@pytest.fixture(scope="module")
def collection():
    """7 systems of 4 teams, 9 queries."""
    return synthetic_collection(np.random.default_rng(2), Design(7, 4, 9, 3, 15))


def draw(collection, times, seed=0, **sizes):
    return draw_parts(collection, times, np.random.default_rng(seed), **sizes)


def queries_of(collection):
    return {query for run in collection.runs for query in run.rankings}


def teams_of(collection):
    return {collection.teams[run.system] for run in collection.runs}


def test_parts_are_of_as_many_queries_and_teams_as_was_said_each_once(collection):
    parts = draw(collection, 12, queries=4, teams=3)
    assert len(parts) == 12
    assert all((len(part.queries), len(part.teams)) == (4, 3) for part in parts)
    assert len(set(parts)) > 6
    for part in parts:
        played = part.of(collection)
        assert (queries_of(played), teams_of(played)) == (part.queries, part.teams)
        whole = [run for run in collection.runs if collection.teams[run.system] in part.teams]
        assert [run.system for run in played.runs] == [run.system for run in whole]
        for run, old in zip(played.runs, whole, strict=True):
            assert run.rankings == {query: old.rankings[query] for query in old.rankings if query in part.queries}


@pytest.mark.parametrize(("held_out", "teams"), [("queries", 4), ("teams", 3)])
def test_half_of_the_queries_are_drawn_with_all_teams_or_three_quarters_of_them(collection, held_out, teams):
    part = draw(collection, 1, held_out=held_out)[0]
    assert (len(part.queries), len(part.teams), part.held_out) == (5, teams, held_out)


def test_every_query_and_team_is_drawn_equally_often(collection):
    parts = draw(collection, 200, 1, queries=3, teams=2)
    queries = Counter(query for part in parts for query in sorted(part.queries))
    teams = Counter(team for part in parts for team in sorted(part.teams))
    # Binomial, 200 draws with probabilities 1/3 and 1/2: within four standard deviations.
    assert len(queries) == 9
    assert all(abs(count - 200 / 3) < 4 * np.sqrt(200 * 2 / 9) for count in queries.values())
    assert len(teams) == 4
    assert all(abs(count - 100) < 4 * np.sqrt(50) for count in teams.values())


def test_parts_depend_on_the_seed_and_the_first_of_them_on_nothing_else(collection):
    assert draw(collection, 4) == draw(collection, 4) == draw(collection, 9)[:4]
    assert draw(collection, 4) != draw(collection, 4, 1)
    sizes = ({}, {"teams": 2}, {"held_out": "queries"}, {"held_out": "queries", "teams": 3})
    assert len({tuple(part.queries for part in draw(collection, 4, **some)) for some in sizes}) == 1


def test_a_model_learns_from_the_other_queries_with_all_systems(collection):
    for part in draw(collection, 10, held_out="queries", queries=4):
        played, rest = part.of(collection), part.rest(collection)
        assert queries_of(played).isdisjoint(queries_of(rest))
        assert queries_of(played) | queries_of(rest) == queries_of(collection)
        assert [run.system for run in rest.runs] == [run.system for run in collection.runs]
        assert {judgment.query for judgment in rest.judgments} == queries_of(rest)
        assert len(played.judgments) + len(rest.judgments) == len(collection.judgments)


def test_a_model_learns_from_other_queries_all_the_same_where_some_teams_do_not_play(collection):
    part = draw(collection, 1, held_out="queries", teams=2)[0]
    assert teams_of(part.rest(collection)) == teams_of(collection)


def test_a_model_learns_from_the_other_queries_of_the_other_teams(collection):
    for part in draw(collection, 10, held_out="teams", queries=4, teams=2):
        played, rest = part.of(collection), part.rest(collection)
        assert queries_of(played).isdisjoint(queries_of(rest))
        assert teams_of(played).isdisjoint(teams_of(rest))
        assert queries_of(played) | queries_of(rest) == queries_of(collection)
        assert teams_of(played) | teams_of(rest) == teams_of(collection)
        assert not set(build_pool(played).pairs) & {judgment.pair for judgment in rest.judgments}


def test_judgments_of_what_only_held_out_teams_retrieved_are_not_learned_from(tiny, tiny_truth):
    tiny = replace(tiny, judgments=tuple(tiny_truth))
    rest = Part(frozenset({"q1"}), frozenset({"one"}), "teams").rest(tiny)
    assert [(run.system, dict(run.rankings)) for run in rest.runs] == [("C", {"q2": ("e", "f")})]
    # A and B of team one retrieved b, C did not.
    assert [tuple(judgment.pair) for judgment in rest.judgments] == [("q2", "e"), ("q2", "f")]
    rest = Part(frozenset({"q1"}), frozenset({"one"}), "queries").rest(tiny)
    assert [tuple(judgment.pair) for judgment in rest.judgments] == [("q2", "b"), ("q2", "e"), ("q2", "f")]


def test_a_part_keeps_what_it_should_and_nothing_more(tiny, tiny_truth):
    tiny = replace(tiny, judgments=tuple(tiny_truth))
    part = part_of(tiny, {"q2"}, {"one"})
    assert [(run.system, dict(run.rankings)) for run in part.runs] == [
        ("A", {"q2": ("b", "e")}),
        ("B", {"q2": ("e", "b")}),
    ]
    assert part.judgments == tuple(one for one in tiny_truth if one.query == "q2" and one.document in "be")
    assert (part.scale, part.cutoff, part.documents, part.teams) == (tiny.scale, 2, tiny.documents, tiny.teams)
    assert len(tiny.runs) == 3
    assert build_pool(part).queries == ("q2",)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"times": 0}, "the number of repeats must be 1 to 10,000, got 0"),
        ({"queries": 10}, "a part must have 1 to 9 queries, got 10"),
        ({"queries": 0}, "a part must have 1 to 9 queries, got 0"),
        ({"teams": 5}, "a part must have 1 to 4 teams, got 5"),
        ({"teams": 0}, "a part must have 1 to 4 teams, got 0"),
        ({"teams": 1}, "a part needs two systems to compare, but one with 1 teams may have a single system"),
    ],
)
def test_numbers_that_no_part_can_have_are_refused(collection, numbers, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        draw(collection, **({"times": 2} | numbers))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"queries": 9, "held_out": "queries"},
            "a part of all 9 queries leaves none to learn from; draw fewer queries",
        ),
        ({"queries": 9, "held_out": "teams"}, "a part of all 9 queries leaves none to learn from; draw fewer queries"),
        ({"teams": 4, "held_out": "teams"}, "a part of all 4 teams leaves none to learn from; draw fewer teams"),
    ],
)
def test_a_part_that_leaves_nothing_to_learn_from_says_so(collection, sizes, message):
    part = draw(collection, 1, **sizes)[0]
    assert part.of(collection).runs
    with pytest.raises(InputError, match=f"^{message}$"):
        part.rest(collection)


def test_teams_that_all_have_two_systems_may_be_drawn_alone():
    runs = tuple(Run(f"s{i}", {"q": (f"d{i}",), "p": (f"d{i}",)}) for i in range(4))
    judgments = tuple(Judgment(q, f"d{i}", 10.0 * i) for q in "qp" for i in range(4))
    teams = {f"s{i}": f"t{i // 2}" for i in range(4)}
    pairs = Collection("pairs", "pairs", FINE, 1, runs, teams=teams, judgments=judgments)
    assert len(draw(pairs, 1, teams=1)[0].of(pairs).runs) == 2
