"""A mean for each pattern of known features, compared with separate fits of the same rows and terms."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.joint.estimators import estimator_of
from audiosim.ordinal.model import fallbacks, load_model
from audiosim.training.examples import judged_pools
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train

PATTERNS = ["mine", "mine-of-output-genre", "mine-of-output-artist", "mine-of-output", "historical-fine"]


@pytest.fixture(scope="module")
def model(demo):
    return train([demo], Plan(parse_terms("joint"), "mine", folds=0, joint=True)).model


def without(collection, *unknown):
    documents = {name: replace(one, **dict.fromkeys(unknown)) for name, one in collection.documents.items()}
    return replace(collection, documents=documents)


@pytest.mark.slow
def test_each_pattern_of_what_is_known_has_a_model_and_the_one_that_explains_more_comes_first(model):
    assert sorted(one.name for one in (model, *fallbacks(model))) == sorted(PATTERNS)
    assert fallbacks(model)[-2].name == "mine-of-output"


@pytest.mark.slow
def test_a_pattern_is_the_fit_of_its_terms_alone_and_keeps_what_one_collection_cannot_tell(demo):
    terms = ("fTEAM", "OV", "sGEN", "fGEN")
    whole = train([demo], Plan(terms, "mine", folds=0, joint=True)).model
    alone = train([demo], Plan(("fTEAM",), "alone", folds=0)).model
    (pattern,) = [one for one in fallbacks(whole) if one.name == "mine-of-output"]
    assert "OV" not in whole.terms  # constant in one collection
    assert pattern.terms == ("fTEAM",)
    np.testing.assert_allclose(pattern.coefficients, alone.coefficients, rtol=1e-6)
    np.testing.assert_allclose(pattern.thresholds, alone.thresholds, rtol=1e-6)


def test_a_term_that_one_collection_cannot_tell_counts_what_it_does_in_the_whole_model():
    whole = load_model("joint-fine")
    for pattern in fallbacks(whole)[:-1]:
        assert dict(zip(pattern.terms, pattern.coefficients, strict=True))["OV"] == 2.0652


@pytest.mark.slow
def test_knowing_more_predicts_better(demo, model):
    errors = []
    for unknown in (("artist", "genre"), ("genre",), ("artist",), ()):
        ((pool, truth),) = judged_pools([without(demo, *unknown)])
        belief = estimator_of(pool, model).predict(np.full(len(truth), np.nan))
        errors.append(float(np.sqrt(np.mean((belief.expectation - truth) ** 2))))
        assert len({belief.evidence_of(place) for place in range(len(truth))}) <= 4
    nothing, artist, genre, both = errors
    assert both <= genre < artist <= nothing


@pytest.mark.slow
def test_a_fallback_that_is_asked_for_is_the_only_one(demo):
    plan = Plan(parse_terms("joint"), "mine", folds=0, joint=True, fallback="historical-fine")
    assert [one.name for one in fallbacks(train([demo], plan).model)] == ["historical-fine"]
