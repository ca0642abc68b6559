"""The judging loop in this process with the estimator in another gives the same results as both in one."""

import contextlib
import socket
import threading
import time
import zlib
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

import msgspec
import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Judgment, Pair, Run
from audiosim.errors import InputError, ServiceError
from audiosim.joint.contract import check_estimator
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection, parse_stopping_rule
from audiosim.service.client import Client
from audiosim.service.estimator import RemoteEstimator, remote
from audiosim.service.types.predictions import CollectionOut, ModelName, PredictionsOut, ScaleOut
from audiosim.service.types.prior_file import decode_prior, encode_prior
from audiosim.simulation.remaining import drawn_grades
from audiosim.simulation.replay import replay
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters


def check_same_prediction(there, here):
    assert np.array_equal(there.probabilities, here.probabilities)
    assert np.array_equal(there.levels, here.levels)
    assert np.array_equal(there.expectation, here.expectation)
    assert np.array_equal(there.variance, here.variance)
    named = [[one.models[code] for code in one.model] for one in (there, here)]
    assert named[0] == named[1]


def check_same_replay(there, here):
    assert there.asked == here.asked
    assert there.curve == here.curve
    assert there.tau == here.tau
    ours, theirs = here.selection.ranking, there.selection.ranking
    assert ours.rows() == theirs.rows()
    assert ours.pair_rows() == theirs.pair_rows()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mjud", "mout", "uniform", "joint"])
def test_the_remote_estimator_keeps_the_contract(server, small, model):
    text = f"remote:{server.url}?model={model}"
    check_estimator(make_estimator, text, build_pool(small), np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mjud", "mout", "ljudge", "uniform"])
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_remote_predictions_are_those_made_here_to_the_last_bit(server, small, model, share):
    pool = build_pool(small)
    rng = np.random.default_rng(5)
    grades = np.where(rng.random(len(pool.pairs)) < share, rng.uniform(0, 100, len(pool.pairs)), np.nan)
    there = make_estimator(pool, f"remote:{server.url}?model={model}")
    here = make_estimator(pool, model)
    assert there.name == f"remote:{here.name}"
    assert there.version == here.version
    far, near = there.predict(grades), here.predict(grades)
    check_same_prediction(far, near)
    if near.spoke is not None:
        assert [far.evidence[code] for code in far.spoke] == [near.evidence[code] for code in near.spoke]


@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_a_remote_joint_model_believes_to_the_last_bit_what_one_here_does(server, small, share):
    pool = build_pool(small)
    rng = np.random.default_rng(5)
    grades = np.where(rng.random(len(pool.pairs)) < share, rng.uniform(0, 100, len(pool.pairs)), np.nan)
    there, here = make_estimator(pool, f"remote:{server.url}"), make_estimator(pool, "joint")
    assert (there.name, there.version) == ("remote:joint-fine", here.version)
    far, near = there.predict(grades), here.predict(grades)
    check_same_prediction(far, near)
    assert far.prior.correlated
    assert np.array_equal(far.gains.mean, near.gains.mean)
    assert far.evidence == near.evidence
    assert ("output", "genre", "artist") in far.evidence
    np.testing.assert_array_equal(far.spoke, near.spoke)
    for place in range(len(pool.pairs)):
        assert np.array_equal(far.gains.column(place), near.gains.column(place))


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "until"), [("CG@4", "confidence=0.97"), ("nDCG@4", "judgments=40")])
def test_a_loop_over_a_remote_joint_model_asks_the_same_pairs_and_ends_the_same(
    server, small, measure, until, monkeypatch
):
    # It learns again during the campaign, there as here. Its check passes, with grades drawn from the model.
    monkeypatch.setattr("audiosim.joint.moments.FIRST_LEARNING", 10)
    pool = build_pool(small)
    belief = make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan))
    truth = drawn_grades(belief, np.random.default_rng(11))
    there, here = (
        replay(
            Selection.start(pool, parse_measure(measure), make_estimator(pool, model)),
            truth,
            parse_stopping_rule(until),
        )
        for model in (f"remote:{server.url}", "joint")
    )
    assert len(here.asked) >= 40
    assert (there.selection.selection_rule.name, here.selection.selection_rule.name) == ("drawn", "drawn")
    assert (
        there.selection.belief.prior
        is not Selection.start(pool, parse_measure(measure), make_estimator(pool, f"remote:{server.url}")).belief.prior
    )
    check_same_replay(there, here)


@pytest.mark.slow
def test_where_a_remote_model_is_refused_the_ranking_is_that_of_the_same_model_here(server, coarse):
    pool, what = build_pool(coarse), parse_measure("CG@4")
    expected = make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan)).expectation
    middle = np.median(expected)
    spoilt = [  # the lowest grade where the highest is expected, and vice versa
        Judgment(*pair, 0.0 if mean > middle else 2.0)
        for pair, mean in zip(pool.pairs[:60], expected.tolist(), strict=False)
    ]
    there, here = (
        Selection.start(pool, what, make_estimator(pool, model), spoilt).ranking
        for model in (f"remote:{server.url}", "joint")
    )
    assert (there.check.verdict, here.check.verdict) == ("FAIL", "FAIL")
    assert there.check.sentence == here.check.sentence
    assert here.check.instead is not None
    np.testing.assert_allclose(there.scores.mean, here.scores.mean, rtol=1e-9)
    np.testing.assert_allclose(there.scores.covariance, here.scores.covariance, rtol=1e-9)
    assert there.confidence == pytest.approx(here.confidence, rel=1e-9)


@pytest.mark.slow
def test_mirex_2011_is_played_against_a_remote_joint_model_as_against_one_here(mirex_server, mirex2011):
    pool = build_pool(mirex2011)
    truth, what = pool.spread(mirex2011.grades()), parse_measure("CG@5")
    there, here = (
        replay(Selection.start(pool, what, make_estimator(pool, model)), truth, parse_stopping_rule("judgments=60"))
        for model in (f"remote:{mirex_server.url}?model=joint", "joint")
    )
    assert len(here.asked) == 60  # it learned again at 25 and at 50
    check_same_replay(there, here)
    with Client(mirex_server.url) as client:
        assert len(client.prior("mirex2011", model="joint")) < 10**6


@pytest.mark.slow
def test_with_sound_known_of_all_pairs_of_mirex_2011_a_prior_is_two_megabytes_at_most(mirex2011, tmp_path):
    pool, rng, parameters = build_pool(mirex2011), np.random.default_rng(0), Parameters(coefficients=4)
    documents = sorted({pair.document for pair in pool.pairs} | set(pool.query_documents))
    size = parameters.dimension
    heard = {name: Gaussian(rng.normal(size=size), np.eye(size)) for name in documents}
    AudioIndex.of(heard, parameters).save(tmp_path / "sounds.index")
    pool = build_pool(replace(mirex2011, sounds=tmp_path / "sounds.index"))
    belief = make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan))
    assert ("output", "genre", "artist", "sound") in belief.evidence
    body = encode_prior(belief, ())
    assert len(body) < 2 * 10**6
    found = decode_prior(body, belief.grades, belief.maximum, "here").prior
    for one, other in zip(belief.prior.within, found.within, strict=True):
        assert np.array_equal(one, other)


def test_levels_learned_from_judgments_come_over_the_wire(small):
    pool = build_pool(small)
    grades = pool.spread(small.grades())
    learned, nothing = make_estimator(pool, "joint").relearned(grades).predict(grades), np.full(len(grades), np.nan)
    assert learned.use.shape.any()
    found = decode_prior(encode_prior(learned, ()), nothing, learned.maximum, "here").revise(grades)
    assert np.array_equal(found.use.shape, learned.use.shape)
    assert found.use.stretch == learned.use.stretch
    np.testing.assert_array_equal(found.use.means, learned.use.means)
    assert found.use.worth == learned.use.worth
    assert np.array_equal(found.probabilities, learned.probabilities)


def test_a_prior_comes_over_the_wire_as_it_was(joint_belief):
    nothing = np.full(len(joint_belief.grades), np.nan)
    found = decode_prior(encode_prior(joint_belief, ()), nothing, joint_belief.maximum, "here")
    for name in ("levels", "marginals", "model"):
        assert np.array_equal(getattr(found, name), getattr(joint_belief, name))
    assert found.models == joint_belief.models
    assert found.use.shape is joint_belief.use.shape is None
    assert found.use.width == joint_belief.use.width < 1
    assert found.use.stretch == joint_belief.use.stretch == 1
    assert found.use.worth == joint_belief.use.worth == np.inf
    ours, theirs = joint_belief.prior, found.prior
    assert np.array_equal(ours.mean, theirs.mean)
    assert np.array_equal(ours.shared, theirs.shared)
    for name in ("blocks", "within", "loadings"):
        for one, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            assert np.array_equal(one, other)


@pytest.fixture
def joint_belief(small):
    pool = build_pool(small)
    return make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan))


def changed_prior(belief, **changes):
    """The file of a belief with some arrays changed; None leaves one out."""
    with np.load(BytesIO(encode_prior(belief, ()))) as arrays:
        parts = dict(arrays) | changes
    file = BytesIO()
    np.savez_compressed(file, **{name: part for name, part in parts.items() if part is not None})
    return file.getvalue()


WRONG_PRIORS = {
    "no file": (lambda b: b"nonsense", "File is not a zip file"),
    "half a file": (lambda b: encode_prior(b, ())[:500], "File is not a zip file"),
    "an array too few": (lambda b: changed_prior(b, shared=None), "it holds .*, expected levels, .*, shared"),
    "another pool": (lambda b: changed_prior(b, mean=b.prior.mean[1:]), r"it has \d+ pairs, expected \d+"),
    "pickles": (lambda b: changed_prior(b, mean=np.array([{}] * 3, dtype=object)), "Object arrays cannot be loaded"),
    "rows that sum to 6": (lambda b: changed_prior(b, marginals=6 * b.marginals), "each row of probabilities must be"),
    "no numbers": (lambda b: changed_prior(b, mean=b.prior.mean * np.nan), "means and covariances of shared effects"),
    "negative covariances": (lambda b: changed_prior(b, shared=-b.prior.shared), "shared effects must not be negative"),
    "negative blocks": (
        lambda b: changed_prior(b, within=-np.concatenate([w[np.tril_indices(len(w))] for w in b.prior.within])),
        "within each of its blocks must be positive definite",
    ),
    "triangles of words": (lambda b: changed_prior(b, within=np.array(["a"])), "its triangles must be numbers, or eig"),
    "blocks too few": (lambda b: changed_prior(b, sizes=np.array([1])), "its blocks do not have the stated sizes"),
    "a place twice": (
        lambda b: changed_prior(b, places=0 * np.concatenate(b.prior.blocks)),
        "blocks must hold each of .* places once",
    ),
    "loadings elsewhere": (
        lambda b: changed_prior(b, data=np.ones(1), row=np.array([10**6]), column=np.array([0])),
        "exceeds matrix dimension",
    ),
    "a shape too short": (lambda b: changed_prior(b, shape=np.ones(2)), "its shape must be 9 finite numbers"),
    "a shape without end": (lambda b: changed_prior(b, shape=np.full(9, np.inf)), "its shape must be 9 finite num"),
    "means that fall": (
        lambda b: changed_prior(b, means=np.arange(10.0)[::-1].copy()),
        "its means must be 10 rising grades up to 100, one for each level",
    ),
    "no stretch": (lambda b: changed_prior(b, stretch=np.array(0.0)), "its stretch must be one finite number above 0"),
    "no width": (lambda b: changed_prior(b, width=np.array(np.inf)), "its width must be one finite number above 0"),
    "no worth": (lambda b: changed_prior(b, worth=np.array(np.nan)), "its worth must be one number above 0"),
    "means beyond any scale": (
        lambda b: changed_prior(b, mean=1e300 * b.prior.mean),
        "its mean gains are .* expected 0",
    ),
    "means of the other sign": (
        lambda b: changed_prior(b, mean=-b.prior.mean),
        "its mean gains are -0.* expected 0 to 1",
    ),
    "means of grades": (lambda b: changed_prior(b, mean=100 * b.prior.mean), "its mean gains are .* expected 0 to 1"),
    "whole means": (
        lambda b: changed_prior(b, mean=np.zeros(len(b.grades), int)),
        "its mean must be float64, got int64",
    ),
    "complex means": (lambda b: changed_prior(b, mean=b.prior.mean * 1j), "its mean must be float64, got complex128"),
    "complex effects": (
        lambda b: changed_prior(b, shared=b.prior.shared * 1j),
        "its shared must be float64, got comple",
    ),
    "complex loadings": (lambda b: changed_prior(b, data=np.ones(1) * 1j), "its data must be float64, got complex128"),
    "places in tenths": (
        lambda b: changed_prior(b, places=np.concatenate(b.prior.blocks) / 10),
        "its places must be whole, got float64",
    ),
    "words that are numbers": (lambda b: changed_prior(b, models=np.ones(1)), "its models must be text, got float64"),
    "effects without symmetry": (
        lambda b: changed_prior(b, shared=b.prior.shared + np.triu(np.ones_like(b.prior.shared), 1)),
        "the covariance of its shared effects must be symmetric",
    ),
    "effects that are no square": (
        lambda b: changed_prior(b, shared=b.prior.shared[:, :-1]),
        "effects must be symmetric",
    ),
    "variance beyond a scale": (
        lambda b: changed_prior(b, shared=1e6 * b.prior.shared),
        "a gain has variance .*, expec",
    ),
    "two stretches": (lambda b: changed_prior(b, stretch=np.ones(2)), "its stretch must be one finite number above 0"),
}


@pytest.mark.parametrize(("make", "message"), WRONG_PRIORS.values(), ids=WRONG_PRIORS)
def test_a_prior_that_cannot_be_one_is_not_believed(joint_belief, make, message):
    nothing = np.full(len(joint_belief.grades), np.nan)
    with pytest.raises(ServiceError, match=f"^there sends an invalid prior: .*{message}"):
        decode_prior(make(joint_belief), nothing, joint_belief.maximum, "there")


def test_a_prior_that_unpacks_without_end_is_not_kept(joint_belief, monkeypatch):
    monkeypatch.setattr("audiosim.service.types.prior_file.MOST_BYTES", 1000)
    nothing = np.full(len(joint_belief.grades), np.nan)
    with pytest.raises(ServiceError, match="it unpacks to [0-9,]+ bytes, more than 1,000$"):
        decode_prior(encode_prior(joint_belief, ()), nothing, joint_belief.maximum, "there")


def test_a_prior_of_independent_gains_is_not_sent(server, small):
    with Client(server.url) as client, pytest.raises(InputError, match="prior of mjud-fine is a IndependentNormal"):
        client.prior("small", model="mjud")


@pytest.mark.slow
def test_a_large_pool_is_asked_for_in_batches(server, small):
    pool = build_pool(small)
    grades = pool.spread(small.grades())
    with Client(server.url) as client:
        there = RemoteEstimator(pool, client, "small", "mjud", batch=7).predict(grades)
    check_same_prediction(there, make_estimator(pool, "mjud").predict(grades))


def test_a_pool_of_another_cutoff_is_predicted_as_such(server, small):
    pool = build_pool(small, 2)
    grades = pool.spread(small.grades())
    there = make_estimator(pool, f"remote:{server.url}?model=mjud").predict(grades)
    check_same_prediction(there, make_estimator(pool, "mjud").predict(grades))


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "batch"), [("CG@4", 1), ("DCG@2", 5)])
def test_a_campaign_played_against_a_service_goes_as_it_does_in_one_process(server, small, measure, batch):
    what = parse_measure(measure)
    pool = build_pool(small, what.cutoff)
    truth = np.random.default_rng(11).choice(FINE.levels, len(pool.pairs))
    there, here = (
        replay(Selection.start(pool, what, make_estimator(pool, model), batch=batch), truth, 0.97)
        for model in (f"remote:{server.url}?model=mjud", "mjud")
    )
    assert len(here.asked) > 10
    check_same_replay(there, here)


@pytest.mark.slow
def test_the_service_keeps_its_own_judgments(server, small):
    pool = build_pool(small)
    with Client(server.url) as client:
        before = client.predict("small", pool.pairs)
        selection = Selection.start(pool, parse_measure("CG@4"), make_estimator(pool, f"remote:{server.url}"))
        selection.tell(Judgment(*pool.pairs[0], grade=100.0))
        assert client.predict("small", pool.pairs) == before


def test_a_collections_full_address_may_be_given(server, small):
    renamed = build_pool(replace(small, identifier="here"))
    assert remote(renamed, f"{server.url}/v1/collections/small?model=mout").name == "remote:mout-fine"
    assert remote(renamed, f"{server.url}/v1/collections/small/").name == "remote:joint-fine"


def test_a_collection_that_is_unknown_there_is_said(server, small):
    pool = build_pool(replace(small, identifier="here"))
    with pytest.raises(
        InputError, match=f"^{server.url} refuses: unknown collection 'here', expected one of small, co"
    ):
        remote(pool, server.url)


def swapped(collection):
    """The same pairs, but one system swaps the ranks of two documents."""
    first, *rest = collection.runs
    rankings = dict(first.rankings)
    one, two, *others = rankings["q3"]
    rankings["q3"] = (one, *others[:1], two, *others[1:])
    return replace(collection, runs=(Run(first.system, rankings), *rest))


@pytest.mark.parametrize(
    "change",
    [
        swapped,
        lambda c: replace(c, runs=c.runs[1:]),
        lambda c: replace(c, runs=c.runs[::-1]),
        lambda c: replace(c, runs=(replace(c.runs[0], system="X"), *c.runs[1:])),
    ],
)
def test_a_collection_that_is_not_the_callers_is_refused(server, small, change):
    pool = build_pool(change(small))
    message = (
        rf"^collection small at {server.url} is not the small here: its top 4 has \d+ pairs of 5 systems, pool hash"
    )
    with pytest.raises(InputError, match=message):
        remote(pool, server.url)


def test_pairs_that_no_system_retrieved_are_refused(server, small):
    wider = build_pool(small, also=[Pair("q0", "d00"), build_pool(small).pairs[0]])
    message = f"^{server.url} predicts only pairs of a pool; no system retrieved 1 of these$"
    with pytest.raises(InputError, match=message):
        remote(wider, server.url)


def test_the_hash_of_a_pool_does_not_depend_on_what_a_collection_is_called(small):
    assert build_pool(replace(small, name="x", identifier="y")).content_hash == build_pool(small).content_hash


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost:8000",
        "ftp://a",
        "http://",
        "http://[",
        "http://a/v1/collections",
        "http://a/v1/collections/b/c",
        "http://a?modle=mout",
    ],
)
def test_a_text_that_is_no_address_is_refused(small, text):
    with pytest.raises(InputError, match="^expected the address of a service, such as http://127.0.0.1:8000, or"):
        remote(build_pool(small), text)


def canned_answers(pool, name="m", rows=None, **wrong):
    model = ModelName(name, "1")
    scale = ScaleOut("fine", list(pool.scale.levels))
    shown = CollectionOut(
        "small", "small", scale, pool.cutoff, [], 0, 0, pool.content_hash, 0, ModelName("m", "1"), "CG@4", 0
    )
    count = len(pool.pairs) if rows is None else rows
    predicted = PredictionsOut(
        model,
        0,
        [50.0] * count,
        [2500.0] * count,
        ["predicted"] * count,
        ["m"] * count,
        [0.0, 100.0],
        [[0.5, 0.5]] * count,
    )
    for name, value in wrong.items():
        column = getattr(predicted, name)
        setattr(predicted, name, value if name == "levels" else [value, *column[1:]])
    return [(200, msgspec.json.encode(answer)) for answer in (shown, predicted)]


def test_a_service_that_changes_its_model_in_between_is_caught(canned, small):
    pool = build_pool(small)
    estimator = remote(pool, canned(*canned_answers(pool, "another")).url)
    with pytest.raises(ServiceError, match="changed its model for small while it was asked$"):
        estimator.predict(np.full(len(pool.pairs), np.nan))


def test_a_service_that_leaves_pairs_out_is_caught(canned, small):
    pool = build_pool(small)
    estimator = remote(pool, canned(*canned_answers(pool, rows=3)).url)
    with pytest.raises(ServiceError, match="lacks answers for some of the requested pairs$"):
        estimator.predict(np.full(len(pool.pairs), np.nan))


@pytest.mark.slow
def test_a_service_that_went_away_is_said(another, small):
    pool = build_pool(small)
    estimator = remote(pool, another.url)
    assert another.stop() == 0
    with pytest.raises(ServiceError, match=f"^{another.url} cannot be reached: "):
        estimator.predict(np.full(len(pool.pairs), np.nan))


NONSENSE = {
    "probabilities times 7": (
        {"probabilities": [3.5, 3.5]},
        "probabilities of least 3.5 and sum 7, expected 0 or more and",
    ),
    "negative probabilities": ({"probabilities": [-0.5, 1.5]}, "probabilities of least -0.5 and sum 1, expected"),
    "probabilities of 0": ({"probabilities": [0.0, 0.0]}, "probabilities of least 0 and sum 0, expected"),
    "too few probabilities": (
        {"probabilities": [1.0]},
        r"must give 2 probabilities for each of \d+ pairs, one for each",
    ),
    "no probabilities": ({"probabilities": None}, r"must give 2 probabilities for each of \d+ pairs, one for each"),
    "reversed levels": ({"levels": [100.0, 0.0]}, r"gives the levels \[100.0, 0.0\], expected rising ones within the"),
    "levels beyond the scale": (
        {"levels": [0.0, 700.0]},
        r"gives the levels \[0.0, 700.0\], expected rising ones within",
    ),
    "no levels": ({"levels": []}, r"gives the levels \[\], expected rising ones within"),
    "expectation beyond the levels": (
        {"expectation": 101.0},
        "expectation 101.0 and variance 2500.0, expected 0 to 100 an",
    ),
    "no expectation": ({"expectation": None}, "expectation None and variance 2500.0, expected 0 to 100 and 0 to 2500"),
    "negative variance": ({"variance": -1.0}, "expectation 50.0 and variance -1.0, expected 0 to 100 and 0 to 2500"),
    "variance beyond the levels": ({"variance": 1e9}, "variance 1000000000.0, expected 0 to 100 and 0 to 2500"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "message"), NONSENSE.values(), ids=NONSENSE)
def test_a_service_that_talks_nonsense_is_not_believed(canned, small, wrong, message):
    pool = build_pool(small)
    estimator = remote(pool, canned(*canned_answers(pool, **wrong)).url)
    with pytest.raises(ServiceError, match=f"^http://127.0.0.1:.*{message}"):
        estimator.predict(np.full(len(pool.pairs), np.nan))


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"1e999"])
def test_numbers_that_are_none_are_not_believed(canned, small, constant):
    pool = build_pool(small)
    shown, (status, body) = canned_answers(pool)
    estimator = remote(pool, canned(shown, (status, body.replace(b"2500.0", constant, 1))).url)
    with pytest.raises(ServiceError, match="does not answer as audiosim does: |expected 0 to 100 and 0 to 2500$"):
        estimator.predict(np.full(len(pool.pairs), np.nan))


def test_an_answer_too_long_is_not_read_to_its_end(canned):
    url = canned((200, b" " * 2**20)).url
    with (
        Client(url, most_bytes=2**16) as client,
        pytest.raises(ServiceError, match=f"^{url} sends more than the 65,536 by"),
    ):
        client.models()


@pytest.mark.slow
def test_an_answer_that_unpacks_without_end_is_not_kept(trickling):
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(2**20)) for _ in range(64)) + packer.flush()
    url = trickling([packed], {"content-encoding": "gzip"})
    with (
        Client(url, most_bytes=2**22) as client,
        pytest.raises(ServiceError, match="sends more than the 4,194,304 bytes"),
    ):
        client.models()


def test_an_answer_that_trickles_ends(trickling):
    url = trickling(b" " for _ in range(10_000))
    with (
        Client(url, longest_s=0.3) as client,
        pytest.raises(ServiceError, match=f"^{url} takes more than the 0.3 s that "),
    ):
        client.models()


def test_an_answer_whose_head_trickles_ends():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle():
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while True:  # the head never ends, and bytes never stop coming
                    connection.sendall(b"a: b\r\n")
                    time.sleep(0.02)

        thread = threading.Thread(target=trickle)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with (
            Client(url, longest_s=0.3) as client,
            pytest.raises(ServiceError, match=f"^{url} takes more than the 0.3 s that an answer may take$"),
        ):
            client.models()
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def trickling():
    """A maker of servers that send one answer in parts, one every 10 ms."""
    made = []

    def make(parts, headers=()):
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                for name, value in dict(headers).items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    for part in parts:
                        self.wfile.write(part)
                        time.sleep(0.01)

            def log_message(self, *_):
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        made.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield make
    for server, thread in made:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_answer_that_trickles_is_given_up_long_before_its_limit(trickling, monkeypatch):
    monkeypatch.setattr("audiosim.service.types.answer_checks.PATIENCE_S", 0.2)
    url = trickling(b" " for _ in range(10_000))
    with (
        Client(url) as client,
        pytest.raises(ServiceError, match=rf"^{url} sends [0-9,]+ bytes a second, expected 20,000"),
    ):
        client.models()


def test_a_head_that_trickles_has_a_limit_of_its_own(monkeypatch):
    monkeypatch.setattr("audiosim.service.types.answer_checks.BEGINNING_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle():
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while True:
                    connection.sendall(b"x: y\r\n")
                    time.sleep(0.02)

        threading.Thread(target=trickle, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        start = time.monotonic()
        with Client(url) as client, pytest.raises(ServiceError, match="takes more than the"):
            client.models()
        assert time.monotonic() - start < 300  # the limit for a whole answer is 600


class Heard(BaseHTTPRequestHandler):
    """Records the callers' tokens, and refuses all requests."""

    def do_GET(self):
        self.server.heard.append(self.headers.get("authorization"))
        body = b'{"type": "about:blank", "title": "Unauthorized", "status": 401, "detail": "this needs a token"}'
        self.send_response(401)
        self.send_header("content-type", "application/problem+json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.slow
def test_the_token_of_the_environment_goes_to_no_host_that_is_not_named(monkeypatch):
    monkeypatch.setenv("AUDIOSIM_TOKEN", "secret")
    connect = socket.create_connection
    with ThreadingHTTPServer(("127.0.0.1", 0), Heard) as there:
        there.heard = []
        threading.Thread(target=there.serve_forever, daemon=True).start()
        # A host name that is not this machine's, redirected to it.
        monkeypatch.setattr(
            socket,
            "create_connection",
            lambda address, *rest, **more: connect(("127.0.0.1", address[1]), *rest, **more),
        )
        url = f"http://models.example.org:{there.server_port}"
        with (
            Client(url) as client,
            pytest.raises(
                ServiceError,
                match=r"status 401; AUDIOSIM_TOKEN was not sent: it is for AUDIOSIM_TOKEN_HOST, which must n",
            ),
        ):
            client.models()
        monkeypatch.setenv("AUDIOSIM_TOKEN_HOST", "other.example.org, models.example.org")
        for one in (Client(url), Client(f"http://127.0.0.1:{there.server_port}"), Client(url, token="mine")):
            with one as client, pytest.raises(ServiceError, match="status 401$"):
                client.models()
        there.shutdown()
    assert there.heard == [None, "Bearer secret", "Bearer secret", "Bearer mine"]
