"""Columns of evidence, compared with values computed pair by pair."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import Evidence
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Pair, Run
from audiosim.ordinal.evidence import user_columns
from audiosim.ordinal.sound import angles_of, query_proximity

DOCUMENTS = [f"d{number}" for number in range(12)]


@pytest.fixture
def collection():
    runs = (
        Run("a", {"d0": tuple(DOCUMENTS[1:7]), "d1": tuple(DOCUMENTS[6:12])}),
        Run("b", {"d0": tuple(DOCUMENTS[4:10]), "d1": tuple(DOCUMENTS[2:8])}),
        Run("c", {"d0": tuple(DOCUMENTS[9:12]), "d1": tuple(DOCUMENTS[4:7])}),
    )
    return Collection("c", "c", FINE, 6, runs)


def column(collection, *more):
    (found,) = user_columns(build_pool(collection, also=more))
    return found


def test_numbers_are_normal_scores_of_their_ranks(collection):
    rng = np.random.default_rng(0)
    values = {document: float(np.exp(3 * rng.normal())) for document in DOCUMENTS[:9]}
    found = column(collection.with_evidence("year", values))
    pairs = build_pool(collection).pairs
    numbers = np.array([values.get(pair.document, np.nan) for pair in pairs])
    known = ~np.isnan(numbers)
    scores = norm.ppf((rankdata(numbers[known]) - 0.5) / known.sum())
    np.testing.assert_array_equal(found.known, known)
    np.testing.assert_allclose(found.values[known], (scores - scores.mean()) / scores.std(), atol=1e-12)
    assert not found.values[~known].any()


def test_units_do_not_matter(collection):
    values = {document: float(place) for place, document in enumerate(DOCUMENTS)}
    other = {document: 10.0 ** (value - 5) for document, value in values.items()}
    first, second = (column(collection.with_evidence("x", of)).values for of in (values, other))
    np.testing.assert_allclose(first, second)


def test_numbers_of_systems_are_means_over_those_that_retrieved_a_document(collection):
    more = replace(collection, evidence=(Evidence("price", "system", ("a", "b"), np.array([1.0, 5.0])),))
    found, pool = column(more), build_pool(more)
    of = {pair: [found.known[place], found.values[place]] for pair, place in pool.positions.items()}
    only_a, only_b, both, only_c = (of[Pair("d0", name)] for name in ("d1", "d8", "d5", "d10"))
    assert only_a[1] < both[1] < only_b[1]
    assert only_c == [False, 0.0]


def test_vectors_say_how_near_a_document_is_to_the_query_whatever_their_lengths(collection):
    rng = np.random.default_rng(1)
    vectors = dict(zip(DOCUMENTS, rng.normal(size=(12, 4)), strict=True))
    vectors["d5"] = 3 * vectors["d0"]
    found, pool = column(collection.with_evidence("clap", vectors)), build_pool(collection)
    assert np.argmax(np.where(pool.query == 0, found.values, -np.inf)) == pool.positions[Pair("d0", "d5")]
    longer = {document: (place + 1) * vectors[document] for place, document in enumerate(DOCUMENTS)}
    np.testing.assert_allclose(column(collection.with_evidence("clap", longer)).values, found.values)


def test_mutual_proximity_by_angle_is_the_share_of_references_that_are_farther_from_both(collection):
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(12, 3))
    piece = Evidence("clap", "document", tuple(DOCUMENTS), vectors)
    pool = build_pool(collection)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = 1 - unit @ unit.T
    for one, other in ((0, 3), (1, 9), (4, 5)):
        others = [j for j in range(12) if j not in (one, other)]
        expected = np.mean([min(distances[one, j], distances[other, j]) > distances[one, other] for j in others])
        assert angles_of(pool, piece).proximity(one, np.array([other]))[0] == pytest.approx(expected)


def test_what_is_the_same_of_all_or_known_of_one_pair_is_no_column(collection):
    assert user_columns(build_pool(collection.with_evidence("x", dict.fromkeys(DOCUMENTS, 1.0)))) == ()
    assert user_columns(build_pool(collection.with_evidence("x", {("d0", "d1"): 3.0}))) == ()
    assert user_columns(build_pool(collection)) == ()


def test_pairs_that_no_system_retrieved_change_no_column(collection):
    rng = np.random.default_rng(3)
    more = [Pair("d0", name) for name in DOCUMENTS] + [Pair("d7", name) for name in DOCUMENTS]
    for values in (rng.normal(size=12), rng.normal(size=(12, 3))):
        known = collection.with_evidence("x", (DOCUMENTS, values))
        before, after = column(known), column(known, *more)
        np.testing.assert_allclose(after.values[: len(before.values)], before.values, atol=1e-12)
        assert after.known.all()


def test_closeness_to_the_query_is_the_mean_over_vectors_of_sound(collection):
    rng = np.random.default_rng(4)
    pieces = [
        Evidence("clap", "document", tuple(DOCUMENTS), rng.normal(size=(12, 3)), of_sound=True),
        Evidence("mert", "document", tuple(DOCUMENTS[:6]), rng.normal(size=(6, 5)), of_sound=True),
        Evidence("lyrics", "document", tuple(DOCUMENTS), rng.normal(size=(12, 3))),
    ]
    pool = build_pool(replace(collection, evidence=tuple(pieces)))
    each = [angles_of(pool, piece).to_query(pool) for piece in pieces[:2]]
    both = ~np.isnan(each[1])
    assert 0 < both.sum() < len(both)
    np.testing.assert_allclose(query_proximity(pool), np.where(both, np.nansum(each, axis=0) / 2, each[0]))
