"""Weights of descriptions, learned from judgments: compared with a search over all weights."""

import numpy as np
import pytest

from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.sound.descriptions import ByVectors, Searched
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.neighbours import FEWEST, learned_weights
from audiosim.sound.parameters import PLAIN

N = 60


def described(rng):
    """Recordings with the same Gaussian, and two descriptions of them by vectors."""
    searched = Searched((AudioIndex.of({f"r{n}": Gaussian(np.zeros(20), np.eye(20)) for n in range(N)}, PLAIN),))
    vectors = rng.normal(size=(2, N, 4))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return searched, [ByVectors(name, one, np.ones(N, bool)) for name, one in zip("ab", vectors, strict=True)]


def graded(descriptions, mix, noise, rng, queries=20):
    """Grades of all documents of some queries: a mixture of both cosines."""
    own = {f"q{n}": f"r{n}" for n in range(queries)}
    grades = {}
    for n, query in enumerate(own):
        for m in range(N):
            if m != n:
                alike = [one.vectors[n] @ one.vectors[m] for one in descriptions]
                grades[Pair(query, f"r{m}")] = float(np.dot(mix, alike) + noise * rng.normal())
    return own, grades


def test_the_description_that_grades_follow_has_all_the_weight():
    rng = np.random.default_rng(0)
    searched, descriptions = described(rng)
    own, grades = graded(descriptions, (1.0, 0.0), 0.1, rng)
    weights = learned_weights(searched, descriptions, own, grades)
    assert weights.mean() == pytest.approx(1)
    assert weights[0] > 1.9


def test_descriptions_that_grades_follow_alike_have_the_same_weight():
    rng = np.random.default_rng(1)
    searched, descriptions = described(rng)
    own, grades = graded(descriptions, (1.0, 1.0), 0.5, rng)
    np.testing.assert_allclose(learned_weights(searched, descriptions, own, grades), 1, atol=0.15)


def test_few_judgments_move_the_weights_little_and_noise_not_at_all():
    rng = np.random.default_rng(2)
    searched, descriptions = described(rng)
    own, grades = graded(descriptions, (1.0, 0.0), 1.0, rng, queries=1)
    few = dict(list(grades.items())[:15])
    many = graded(descriptions, (1.0, 0.0), 1.0, rng)
    weights = learned_weights(searched, descriptions, own, few)
    assert abs(weights[0] - 1) < abs(learned_weights(searched, descriptions, *many)[0] - 1)
    own, grades = graded(descriptions, (-1.0, -1.0), 0.1, rng)
    assert learned_weights(searched, descriptions, own, grades).tolist() == [1, 1]


def test_too_few_judgments_are_refused():
    searched, descriptions = described(np.random.default_rng(3))
    with pytest.raises(InputError, match=f"need at least {FEWEST} judged pairs of recordings .* found 1$"):
        learned_weights(searched, descriptions, {"q": "r0"}, {Pair("q", "r1"): 1.0, Pair("q", "x"): 1.0})
