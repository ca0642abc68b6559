"""Effects of evidence in a joint model, compared with full covariances."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.evidence import Evidence
from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import make_estimator
from audiosim.joint.terms import OWN_SLOPE, SLOPE, SOUND_KIND, layout_of
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.spectrum import Parameters


@pytest.fixture(scope="module")
def heard(demo, tmp_path_factory):
    """The demo with an index in which documents with the same instruments sound alike."""
    rng, parameters = np.random.default_rng(0), Parameters()
    names = ("organ", "pluck", "bell", "pad", "square", "bass", "drums")
    gaussians = []
    for document in demo.documents.values():
        mean = rng.normal(scale=0.3, size=parameters.dimension)
        mean[: len(names)] += [8 * float(document.more[name]) for name in names]
        gaussians.append(Gaussian(mean, np.eye(parameters.dimension)))
    folder = tmp_path_factory.mktemp("heard") / "sounds.index"
    AudioIndex.of(dict(zip(demo.documents, gaussians, strict=True)), parameters).save(folder)
    return replace(demo, sounds=folder)


def belief(collection, grades=None):
    pool = build_pool(collection)
    return make_estimator(pool, None).predict(np.full(len(pool.pairs), np.nan) if grades is None else grades)


def error(collection):
    """Error of single grades, nothing judged."""
    truth = build_pool(collection).spread(collection.grades())
    return float(np.sqrt(np.mean((belief(collection).expectation - truth) ** 2)))


@pytest.mark.slow
def test_an_index_of_sounds_makes_predictions_better(demo, heard):
    assert error(heard) < error(demo) - 1
    assert error(replace(heard, documents={})) < error(replace(demo, documents={})) - 3


@pytest.mark.slow
def test_what_spoke_for_each_pair_is_named(demo, heard):
    informed = belief(
        heard.with_evidence("clicks", {("q01", next(iter(heard.runs[0].rankings["q01"]))): 1.0, **clicks(heard)})
    )
    words = {informed.evidence[code] for code in informed.spoke}
    assert ("output", "genre", "artist", "sound") in words
    assert ("output", "genre", "artist", "sound", "clicks") in words
    assert ("output", "genre", "sound") in words  # d001 has no artist
    bare = belief(demo)
    assert {bare.evidence_of(place) for place in range(600)} == {
        "output, artist",
        "output, genre",
        "output, genre, artist",
    }


def clicks(collection):
    return {("q02", document): float(place) for place, document in enumerate(collection.runs[0].rankings["q02"])}


@pytest.mark.slow
def test_evidence_moves_the_mean_by_its_slope_and_is_as_unsure_as_its_slope(demo):
    rng = np.random.default_rng(3)
    numbers = {document: float(rng.normal()) for document in demo.documents}
    before, after = belief(demo).prior, belief(demo.with_evidence("year", numbers)).prior
    pool = build_pool(demo)
    shares = np.argsort(np.argsort([numbers[pair.document] for pair in pool.pairs]))
    np.testing.assert_allclose(after.mean, before.mean, atol=1e-12)  # its direction is unknown
    added = after.variance - before.variance
    assert np.all(added >= -1e-12)
    middle, end = np.argsort(np.abs(shares - len(shares) / 2))[[0, -1]]
    assert added[end] > 20 * added[middle]
    assert OWN_SLOPE == (0.0, 0.2)
    assert 0 < SLOPE[1] < SLOPE[0]


def sound_of(collection):
    pool = build_pool(collection)
    return SOUND_KIND.regressors(pool, layout_of(pool, np.ones(len(pool.pairs)), metadata=False).blocks)


@pytest.mark.slow
def test_descriptions_of_sound_have_together_the_slope_that_one_has(demo, heard):
    alone = sound_of(heard)
    assert (alone.slopes.tolist(), alone.standard_deviations) == ([SLOPE[0]], {"sound": (0.3, 0.3)})
    rng = np.random.default_rng(5)
    piece = Evidence.of("net", {document: rng.normal(size=4) for document in demo.documents})
    both = sound_of(replace(heard, evidence=(replace(piece, of_sound=True),)))
    assert both.names == ("sound", "net")
    together = (both.columns @ both.slopes)[both.known.all(axis=1)]
    np.testing.assert_allclose(together.std(), SLOPE[0], rtol=1e-9)
    assert sum(size**2 for size, _ in both.standard_deviations.values()) == pytest.approx(0.3**2)


@pytest.mark.slow
def test_vectors_of_sound_count_before_anything_is_judged(demo):
    rng = np.random.default_rng(5)
    piece = Evidence.of("net", {document: rng.normal(size=4) for document in demo.documents})
    any_vectors, of_sound = (replace(demo, evidence=(replace(piece, of_sound=one),)) for one in (False, True))
    without, before, after = (belief(one).prior.mean for one in (demo, any_vectors, of_sound))
    np.testing.assert_allclose(before, without, atol=1e-12)
    assert np.abs(after - without).max() > 0.05


@pytest.mark.slow
def test_judgments_learn_the_slope_as_generalised_least_squares_with_a_prior_does(demo):
    # The whole covariance by projection on unit weights, then conditioned by solving in numpy.
    rng = np.random.default_rng(4)
    known = demo.with_evidence("good", dict(zip(demo.documents, rng.normal(size=72), strict=True)))
    pool = build_pool(known)
    prior = belief(known).prior
    column = np.array([prior.column(place) for place in range(len(pool.pairs))])
    truth = pool.spread(known.grades()) / 100
    seen = rng.choice(len(truth), 60, replace=False)
    expected = prior.mean + column[:, seen] @ np.linalg.solve(column[np.ix_(seen, seen)], (truth - prior.mean)[seen])
    grades = np.full(len(truth), np.nan)
    grades[seen] = 100 * truth[seen]
    np.testing.assert_allclose(belief(known, grades).gains.mean, expected, atol=1e-8)


@pytest.mark.slow
def test_evidence_that_tells_the_truth_is_believed_after_some_judgments(demo):
    pool = build_pool(demo)
    truth = pool.spread(demo.grades())
    informed = demo.with_evidence("judge", dict(zip(pool.pairs, truth.tolist(), strict=True)))
    seen = np.random.default_rng(5).choice(600, 60, replace=False)
    left = np.setdiff1d(np.arange(600), seen)
    grades = np.full(600, np.nan)
    grades[seen] = truth[seen]
    without, with_it = (belief(of, grades).expectation[left] - truth[left] for of in (demo, informed))
    assert np.std(with_it) < 0.8 * np.std(without)


@pytest.mark.slow
def test_useless_evidence_costs_next_to_nothing(demo):
    # One seed; benchmarks/evidence.py has twenty.
    rng = np.random.default_rng(6)
    vectors = demo.with_evidence("noise", dict(zip(demo.documents, rng.normal(size=(72, 16)), strict=True)))
    assert error(vectors) < error(demo) + 0.2


def test_evidence_that_nothing_is_known_of_changes_nothing(demo):
    here = replace(demo, evidence=(Evidence("year", "document", ("elsewhere", "too"), np.array([1.0, 2.0])),))
    np.testing.assert_array_equal(belief(here).probabilities, belief(demo).probabilities)
