"""Studies of stability from a collection, compared with arithmetic on the same grades."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.values import Judgment
from audiosim.errors import InputError
from audiosim.evaluation.reliability import (
    assessor_reliability,
    complete_assessors,
    completed_queries,
    reliability,
    split_half_study,
)
from audiosim.stats.generalizability import nested


def test_reliability_is_that_of_the_mean_squares(demo, scores):
    # Two-way analysis of variance by hand: equations 6.3 to 6.7.
    x = np.stack(list(scores.values()))
    s, q = x.shape
    system_ms = q * x.mean(axis=1).var(ddof=1)
    query_ms = s * x.mean(axis=0).var(ddof=1)
    rest = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
    residual = (rest**2).sum() / ((s - 1) * (q - 1))
    system, query = (system_ms - residual) / q, (query_ms - residual) / s
    found = reliability(demo, "CG@5").to_dict()
    assert found["system"] == pytest.approx(system / (system + query + residual))
    assert found["generalizability"] == pytest.approx(system / (system + residual / q))
    assert found["dependability"] == pytest.approx(system / (system + (query + residual) / q))
    assert found["queries_for_generalizability"] == int(np.ceil(0.95 * residual / (system * 0.05)))


def test_a_frame_has_the_coefficients_of_the_spearman_brown_formula(demo):
    # Twice the queries halve the noise: 2 r / (1 + r), Brennan (2001), section 2.
    frame = reliability(demo, "CG@5").to_frame().set_index("queries")
    for column in ("relative", "absolute"):
        r = frame.loc[10, column]
        assert frame.loc[20, column] == pytest.approx(2 * r / (1 + r))


def test_while_judging_a_query_counts_once_all_of_it_is_judged(demo, scores):
    order = completed_queries(demo, 5)
    assert len(order) == 24
    assert list(order.values()) == sorted(order.values())
    first = {one.pair: place for place, one in reversed(list(enumerate(demo.judgments, start=1)))}
    for query, judgments in order.items():
        needed = {(query, document) for run in demo.runs for document in run.rankings[query][:5]}
        assert max(first[pair] for pair in needed) == judgments
    part = replace(demo, judgments=demo.judgments[: list(order.values())[6]])
    growth = reliability(part, "CG@5", while_judging=True).growth
    assert [row["queries"] for row in growth] == [2, 3, 4, 5, 6, 7]
    seven = {run.system: {query: run.rankings[query] for query in list(order)[:7]} for run in demo.runs}
    judged = tuple(one for one in demo.judgments if one.query in list(order)[:7])
    runs = tuple(replace(run, rankings=seven[run.system]) for run in demo.runs)
    alone = replace(demo, runs=runs, judgments=judged)
    expected = reliability(alone, "CG@5").to_dict()
    assert growth[-1]["generalizability"] == pytest.approx(expected["generalizability"])
    assert growth[-1]["queries_for_dependability"] == expected["queries_for_dependability"]
    assert reliability(part, "CG@5", while_judging=True).to_dict()["system"] == pytest.approx(expected["system"])
    with pytest.raises(InputError, match="^demo: 0 queries are judged in full down to rank 5, a study while judging"):
        reliability(replace(demo, judgments=demo.judgments[:3]), "CG@5", while_judging=True)


@pytest.fixture(scope="module")
def assessed(demo):
    """The demo judged by ann and bob, the first ten queries also by cem, and q24 only by ann; bob grades severely."""
    rng = np.random.default_rng(3)
    kept = []
    for one in demo.judgments:
        kept.append(replace(one, assessor="ann"))
        if one.query != "q24":
            kept.append(replace(one, assessor="bob", grade=float(rng.integers(0, int(one.grade) + 1))))
        if one.query <= "q10":
            kept.append(replace(one, assessor="cem", grade=float(rng.integers(0, 101))))
    return replace(demo, judgments=tuple(kept))


@pytest.mark.parametrize("cutoff", [5, 3])
def test_the_study_of_assessors_is_that_of_the_scores_by_each_of_them(assessed, cutoff):
    found = assessor_reliability(assessed, f"CG@{cutoff}")
    assert complete_assessors(assessed, 5)["q24"] == ["ann"]
    assert complete_assessors(assessed, 5)["q01"] == ["ann", "bob", "cem"]
    assert found.left_out == ("q24",)
    by = {(one.pair, one.assessor): one.grade for one in assessed.judgments}
    queries = [query for query in assessed.runs[0].rankings if query != "q24"]
    cube = np.array(
        [
            [
                [sum(by[(q, d), who] for d in run.rankings[q][:cutoff]) / 100 / cutoff for who in ("ann", "bob")]
                for q in queries
            ]
            for run in assessed.runs
        ]
    )
    expected = nested(cube)
    assert found.study.shares() == pytest.approx(expected.shares())
    plain = found.to_dict()
    assert plain["generalizability"] == pytest.approx(float(expected.relative()))
    assert plain["generalizability_low"] < plain["generalizability"] < plain["generalizability_high"]
    assert (plain["queries"], plain["assessors"], plain["left_out"]) == (23, 2, ["q24"])
    frame = found.to_frame()
    row = frame[(frame.queries == 50) & (frame.assessors == 3)].iloc[0]
    assert row["relative"] == pytest.approx(float(expected.relative(50, 3)))


def test_a_study_of_assessors_needs_two_of_them(demo):
    with pytest.raises(InputError, match="^demo: 0 queries are judged in full by two assessors or more, a study of"):
        assessor_reliability(demo)


def test_a_split_half_study_of_systems_that_never_change_places_finds_no_conflict(demo):
    # System i gains 10 i on every document, with little noise: the two halves always agree.
    rng = np.random.default_rng(1)
    place = {document: i for i, run in enumerate(demo.runs[:3]) for document in [f"{run.system}-{n}" for n in range(5)]}
    runs = tuple(
        replace(run, rankings={f"q{n}": tuple(f"{run.system}-{k}" for k in range(5)) for n in range(12)})
        for run in demo.runs[:3]
    )
    judgments = tuple(
        Judgment(f"q{n}", document, float(30 * i + rng.integers(0, 5)))
        for n in range(12)
        for document, i in place.items()
    )
    split = replace(demo, runs=runs, judgments=judgments)
    found = split_half_study(split, "CG@5", trials=20)
    assert found.comparisons == 60
    rows = {row["alpha"]: row for row in found.rows()}
    assert rows[0.05]["non_significance"] == 0
    assert rows[0.05]["success"] == 1
    assert found.to_dict()["test"] == "t"
    with pytest.raises(InputError, match="test must be one of t, wilcoxon, sign, bootstrap, permutation, got 'z'"):
        split_half_study(split, "CG@5", test="z")
