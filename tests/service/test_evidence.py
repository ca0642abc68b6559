"""The service's answers use a collection's evidence."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.service.collections.shelf import Served
from audiosim.service.operations.predictions import encode
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.spectrum import Parameters


def answer(collection):
    """Answer of the endpoint about all pairs before any judgment, as sent.

    With the judgments of this collection the model fails its check, and answers are those of its replacement.
    """
    pairs = build_pool(collection).pairs
    return encode(Served([collection], {}).collection("small").predictor().state({}).of(pairs))


@pytest.mark.slow
def test_an_index_of_sounds_changes_the_answers_and_is_named(small, tmp_path):
    rng, parameters = np.random.default_rng(0), Parameters(coefficients=3)
    identity = np.eye(parameters.dimension)
    documents = sorted({*small.documents, *small.query_documents.values(), *build_pool(small).query_documents})
    sounds = {name: Gaussian(3 * rng.normal(size=len(identity)), identity) for name in documents}
    AudioIndex.of(sounds, parameters).save(tmp_path / "sounds.index")
    before, after = answer(small), answer(replace(small, sounds=tmp_path / "sounds.index"))
    assert before != after
    assert b"sound" not in before
    assert b', sound"' in after


@pytest.mark.slow
def test_evidence_of_the_user_s_own_changes_the_answers_and_is_named(small):
    rng = np.random.default_rng(1)
    known = small.with_evidence("clap", {name: rng.normal(size=4) for name in sorted(small.documents)})
    assert b"clap" not in answer(small)
    assert b', clap"' in answer(known)
