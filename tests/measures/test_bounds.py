"""Bounds of scores, compared with all possible missing judgments."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Judgment, Run
from audiosim.measures.measure import parse_measure
from audiosim.measures.scores import score_bounds, scores

RUNS = (
    Run("A", {"q": ("a", "b", "c", "d"), "r": ("a", "b")}),
    Run("B", {"q": ("d", "e", "a", "b"), "r": ("b", "c", "a")}),
    Run("C", {"q": ("e", "f")}),
)
JUDGED = (("q", "a", 2), ("q", "b", 0), ("q", "f", 1), ("r", "a", 0), ("q", "x", 1))
COLLECTION = Collection("c", "c", BROAD, 4, RUNS, judgments=tuple(Judgment(q, d, float(g)) for q, d, g in JUDGED))
WITHOUT_IDEAL = ("CG@4", "DCG@4", "P(min=1)@4", "RR(min=1)@4", "ERR(ideal=user)@4", "RBP(ideal=user)@4")
WITH_IDEAL = ("nDCG@4", "nDCG@3", "Q@4", "AP(min=1)@4", "AP(min=2)@4", "RBP@4", "GAP@4", "ERR@4")


def all_scores(measure, collection=COLLECTION):
    """The scores for each of these: (worlds, s, q). As queries have their own scores, their worlds go side by side."""
    judged, holes = {judgment.pair for judgment in collection.judgments}, {}
    for pair in build_pool(collection, parse_measure(measure).cutoff).pairs:
        if pair not in judged:
            holes.setdefault(pair.query, []).append(pair)
    worlds = []
    for grades in product(BROAD.levels, repeat=max(map(len, holes.values()))):
        more = tuple(Judgment(*pair, grade) for of in holes.values() for pair, grade in zip(of, grades, strict=False))
        worlds.append(scores(replace(collection, judgments=collection.judgments + more), measure).values)
    return np.array(worlds)


@pytest.mark.slow
@pytest.mark.parametrize("measure", WITHOUT_IDEAL + WITH_IDEAL)
def test_every_way_the_judgments_could_have_turned_out_lies_within(measure):
    worlds, (low, high) = all_scores(measure), score_bounds(COLLECTION, measure)
    assert np.all(low <= worlds.min(axis=0) + 1e-12)
    assert np.all(worlds.max(axis=0) <= high + 1e-12)
    assert np.all(high <= 1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("measure", WITHOUT_IDEAL)
def test_without_an_ideal_the_bounds_are_met(measure):
    worlds, (low, high) = all_scores(measure), score_bounds(COLLECTION, measure)
    np.testing.assert_allclose(low, worlds.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(high, worlds.max(axis=0), atol=1e-12)


def test_where_nothing_is_missing_there_is_no_residual(tiny, tiny_truth):
    whole = replace(tiny, judgments=tuple(tiny_truth))
    for measure in ("CG@2", "nDCG@2"):
        low, high = score_bounds(whole, measure)
        np.testing.assert_allclose(low, scores(whole, measure).values, atol=1e-12)
        np.testing.assert_allclose(high, low, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("measure", WITHOUT_IDEAL + WITH_IDEAL)
def test_so_it_is_on_random_rankings(measure):
    """Six queries, of each of which four documents are not judged."""
    rng = np.random.default_rng(0)
    runs = tuple(Run(system, {q: tuple(map(str, rng.permutation(6)[:4])) for q in "nopqrs"}) for system in "AB")
    judgments = []
    for q in "nopqrs":
        pairs = [pair for pair in build_pool(replace(COLLECTION, runs=runs), 4).pairs if pair.query == q]
        judgments += [Judgment(*pairs[place], float(rng.integers(3))) for place in rng.permutation(len(pairs))[4:]]
    collection = replace(COLLECTION, runs=runs, judgments=tuple(judgments))
    worlds, (low, high) = all_scores(measure, collection), score_bounds(collection, measure)
    assert np.all(low <= worlds.min(axis=0) + 1e-12)
    assert np.all(worlds.max(axis=0) <= high + 1e-12)


@pytest.mark.parametrize("measure", ["EDCG@4", "ADR@4"])
def test_where_no_bounds_are_known_none_are_given(measure):
    low, high = score_bounds(COLLECTION, measure)
    assert low.shape == high.shape == (3, 2)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
