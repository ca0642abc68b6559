"""Parts of machines' grades, compared with means by hand and with data of known parts."""

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.ordinal.evidence import LEVELS, REACH, machine_grades, mean_weights

RNG = np.random.default_rng(0)
SYSTEMS, QUERIES = "ABCDEF", 40


@pytest.fixture(scope="module")
def apart():
    """Systems that share no document: each has three documents of its own for each query."""
    runs = {
        name: {f"q{query}": [f"{name}{query}-{rank}" for rank in range(3)] for query in range(QUERIES)}
        for name in SYSTEMS
    }
    return Collection.from_frames(runs, scale=[0, 1, 2, 3], cutoff=3)


def graded(collection, grade):
    pool = build_pool(collection)
    values = {pair: grade(pair.query, pair.document[0]) for pair in pool.pairs}
    return build_pool(collection.with_judge("gpt", values))


def test_the_parts_add_up_to_the_normal_scores_and_within_adds_nothing_to_any_mean(demo):
    pool = build_pool(demo)
    some = build_pool(demo.with_judge("gpt", {pair: float(RNG.normal()) for pair in pool.pairs[::3]}))
    (found,) = machine_grades(some)
    assert found.known.sum() == len(pool.pairs[::3])
    assert np.all(found.parts[~found.known] == 0)
    total = found.parts.sum(axis=1)
    assert total[found.known].std() == pytest.approx(1)
    weights = mean_weights(some, found.known)
    query = found.parts[:, LEVELS.index("query")]
    for code in range(len(some.queries)):
        rows = found.known & (some.query == code)
        if rows.any():
            np.testing.assert_allclose(query[rows], total[rows].mean())
    # The ridge leaves a little of the systems' means in the within part, but none if systems share no document.
    assert np.abs(weights @ found.parts[:, LEVELS.index("within")]).max() < 0.2 * np.abs(found.scores).max()


def test_where_systems_share_nothing_their_parts_are_their_mean_grades(apart):
    better = dict(zip(SYSTEMS, (0.0, 0.2, 0.4, 0.6, 0.8, 3.0), strict=True))
    (found,) = machine_grades(graded(apart, lambda query, system: better[system] + RNG.normal()))
    pool = build_pool(apart)
    system, excess = (found.parts[:, LEVELS.index(level)] for level in ("system", "excess"))
    of = np.array([SYSTEMS.index(pair.document[0]) for pair in pool.pairs])
    total = found.parts.sum(axis=1) - found.parts[:, LEVELS.index("query")]
    means = np.array([total[of == code].mean() for code in range(len(SYSTEMS))])
    np.testing.assert_allclose(found.scores, means - means.mean(), atol=1e-9)
    # The ridge is 2 % of a mean square.
    np.testing.assert_allclose(system, REACH * np.tanh(found.scores / REACH)[of], rtol=0.03)
    np.testing.assert_allclose(system + excess, found.scores[of], rtol=0.03)
    assert found.scores[5] > 1
    assert np.abs(system).max() < REACH < excess[of == 5].min() + REACH


def test_a_judge_that_says_the_same_of_all_tells_nothing(apart):
    assert machine_grades(graded(apart, lambda query, system: 2.0)) == ()
    assert machine_grades(build_pool(apart)) == ()


def test_any_rising_function_of_the_grades_says_the_same(apart):
    draws = {}
    rng = np.random.default_rng(3)
    plain = graded(apart, lambda query, system: draws.setdefault((query, system), float(rng.normal())))
    turned = graded(apart, lambda query, system: 1e6 * np.exp(draws[query, system]))
    (one,), (other,) = machine_grades(plain), machine_grades(turned)
    np.testing.assert_allclose(one.parts, other.parts, atol=1e-12)
