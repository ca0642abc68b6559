"""A random collection with known and unknown metadata of all kinds, and an index of most of its recordings."""

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Run
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters


@pytest.fixture(scope="session")
def sounding(tmp_path_factory):
    """The pool of six systems, five queries and at most 20 documents, cutoff 5."""
    rng = np.random.default_rng(7)
    names = [f"d{i}" for i in range(20)]
    genres, artists = ["rock", "jazz", "folk", None], ["X", "Y", "Z", None]
    known = [*names[:18], "q0", "q1", "q2", "q3"]
    documents = {name: Document(name, rng.choice(artists), rng.choice(genres)) for name in known}
    folder = tmp_path_factory.mktemp("sounding") / "sounds.index"
    AudioIndex.of({name: draw_gaussian(rng) for name in [*known[2:], "other"]}, parameters(3)).save(folder)
    runs = tuple(
        Run(system, {f"q{i}": tuple(map(str, rng.permutation(names[2 * i : 2 * i + 12])[:5])) for i in range(5)})
        for system in "ABCDEF"
    )
    return build_pool(Collection("sounding", "sounding", FINE, 5, runs, documents, sounds=folder))


def draw_gaussian(rng):
    root = rng.standard_normal((3, 8))
    return Gaussian(rng.standard_normal(3), root @ root.T / 8)


def parameters(coefficients):
    return Parameters(coefficients=coefficients)
