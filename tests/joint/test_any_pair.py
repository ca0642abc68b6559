"""Pairs that no system retrieved: they are predicted, and change no statement about the others."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_pairs
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Pair, Run, Scale
from audiosim.errors import FormatError
from audiosim.joint.estimators import make_estimator
from audiosim.joint.predictions import Known, portions
from audiosim.ordinal.features import FEATURES, columns
from audiosim.ranking.expected import estimate
from audiosim.ranking.verbs import predict


@pytest.fixture(scope="module")
def pools(demo):
    """The pool of the demo's runs, then with all other pairs of its queries and documents, and one query more."""
    alone = build_pool(demo)
    every = [Pair(query, document) for query in (*alone.queries, "d010") for document in demo.documents]
    return alone, build_pool(demo, also=every)


def test_pairs_that_are_asked_for_come_after_those_that_were_retrieved(pools):
    alone, more = pools
    n = len(alone.pairs)
    assert more.pairs[:n] == alone.pairs
    assert len(more.pairs) == 25 * 72
    assert more.found[:n].all()
    assert not more.found[n:].any()
    assert more.queries == (*alone.queries, "d010")
    np.testing.assert_array_equal(more.ranks[:, :n].toarray(), alone.ranks.toarray())


def test_documents_that_evidence_alone_names_are_known(demo):
    (first, *_), pair = build_pool(demo).pairs, Pair("q01", "heard elsewhere")
    known = Known(
        demo.with_evidence("likeness", {pair: 1.0, first: 2.0}).with_evidence("tempo", {"d001": 90.0, "d900": 120.0})
    )
    assert {"heard elsewhere", "d900"} <= known.documents
    assert known.among([pair, Pair("q01", "nowhere")]) == (pair,)


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_no_feature_of_a_retrieved_pair_changes_when_others_are_asked_for(pools, demo, name):
    alone, more = pools
    grades = alone.spread({pair: grade for pair, grade in demo.grades().items() if pair in alone.positions})
    padded = np.concatenate([grades, np.full(len(more.pairs) - len(grades), np.nan)])
    with np.errstate(all="raise"):
        after = columns(more, padded, [name])[name][: len(grades)]
    np.testing.assert_allclose(after, columns(alone, grades, [name])[name], rtol=1e-12)


@pytest.mark.parametrize("model", [None, "mout", "mjud"])
def test_no_prediction_of_a_retrieved_pair_changes_when_others_are_asked_for(pools, demo, model):
    alone, more = pools
    judged = dict(list(demo.grades().items())[:300])
    before = make_estimator(alone, model).predict(alone.spread(judged))
    after = make_estimator(more, model).predict(
        more.spread({pair: judged[pair] for pair in judged if pair in alone.positions})
    )
    np.testing.assert_allclose(after.expectation[: len(alone.pairs)], before.expectation, atol=1e-8)
    np.testing.assert_allclose(after.variance[: len(alone.pairs)], before.variance, atol=1e-6)


@pytest.mark.parametrize("model", [None, "mjud"])
def test_judging_a_pair_that_no_system_retrieved_is_learned_from_like_any_other(pools, model):
    _, more = pools
    place = more.positions[Pair("q01", "d070")]
    assert not more.found[place]
    estimator, grades = make_estimator(more, model), np.full(len(more.pairs), np.nan)
    before = estimator.predict(grades)
    grades[place] = 90
    fresh = make_estimator(more, model).predict(grades)
    after = estimator.predict(grades)
    np.testing.assert_allclose(after.expectation, fresh.expectation, atol=1e-8)
    assert model == "mjud" or after.expectation[more.positions[Pair("q01", "d071")]] > before.expectation[place + 1]


def test_genre_tells_which_of_the_pairs_that_no_system_retrieved_are_relevant(pools, demo):
    _, more = pools
    left = ~more.found & (np.array(more.query) != more.query.max())
    truth = more.spread(demo.grades())
    left &= ~np.isnan(truth)
    expected = make_estimator(more, None).predict(np.full(len(truth), np.nan)).expectation
    same = (more.genre == more.query_genre) & left
    assert expected[same].mean() > expected[left & ~same].mean() + 10
    assert np.std((expected - truth)[left]) < np.std(truth[left])


def test_what_a_collection_knows_of_is_named_by_runs_metadata_or_queries(demo):
    bare = replace(demo, documents={}, query_documents={})
    retrieved = next(iter(bare.runs[0].rankings["q01"]))
    assert Pair("q01", "d001") in Known(demo)
    assert Pair("d001", "d002") in Known(demo)
    assert Pair("q01", "d999") not in Known(demo)
    assert Pair("q99", "d001") not in Known(demo)
    assert Pair("q01", retrieved) in Known(bare)
    assert Known(demo).among([("q01", "d999"), ("q01", "d001"), ("q01", "d001")]) == (Pair("q01", "d001"),)


def test_unretrieved_pairs_are_dealt_out_so_that_no_query_gets_many_at_a_time(pools):
    alone, _ = pools
    pairs = [*alone.pairs[:5], *(Pair(query, f"x{number}") for query in ("q01", "q02") for number in range(250))]
    dealt = list(portions(alone, pairs + pairs))
    assert [len(portion) for portion in dealt] == [400, 100]
    assert {pair for portion in dealt for pair in portion} == set(pairs[5:])
    assert list(portions(alone, alone.pairs)) == [()]


# Rows differ by system here, which no model without features could say.
@pytest.mark.parametrize("scale", [FINE, BROAD, Scale("custom", (0.0, 1.0, 2.0, 3.0))], ids=lambda scale: scale.name)
def test_where_no_genre_artist_or_sound_is_known_a_row_names_the_model_that_the_ranking_names(scale):
    runs = [
        Run(system, {f"q{query}": tuple(f"d{(place * query + of) % 7}" for place in range(5)) for query in range(1, 5)})
        for of, system in enumerate("ABC")
    ]
    found = Collection("made", "made", scale, 5, tuple(runs))
    rows = predict(found).pairs
    assert {row["model"] for row in rows} == {estimate(found).model} == {f"joint-{scale.name}"}
    assert len({row["expectation"] for row in rows}) > 1


def test_a_list_of_pairs_is_read_in_its_order(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("query\tdocument\nq02\td 1\n\nq01 d001\n")
    assert read_pairs(path) == {Pair("q02", "d 1"): 2, Pair("q01", "d001"): 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q01\td001\nq01\n", r"pairs.tsv:2: expected 2 columns as on the lines above, found 1$"),
        ("q01 d001 70\n", r"pairs.tsv:1: expected a query and a document per line, found 3 columns"),
        ("q01 d001\nq01 d001\n", r"pairs.tsv:2: query q01, document d001 is on line 1 already, expected it once$"),
        ("query document\n", r"pairs.tsv:1: the file ends after its header, expected pairs below it$"),
        ("", r"pairs.tsv:1: the file is empty, expected a query and a document per line$"),
    ],
)
def test_a_list_that_is_no_list_of_pairs_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_pairs(path)
