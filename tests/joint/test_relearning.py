"""Learning of a joint model from a campaign's own judgments, when and what: against the order of judgments alone."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, Pair, PairedComparison
from audiosim.joint.estimators import estimator_of, following, relearned, taught_by, uniform
from audiosim.joint.moments import comparisons_learned, is_moment, last_moment
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.training.joint import fit_joint
from benchmarks.synthetic import Design, Effects, synthetic_collection

DEMO = package_files.folder("fixtures") / "demo"


@pytest.fixture(scope="module")
def collection():
    return synthetic_collection(np.random.default_rng(3), Design(8, 4, 30, 5, 60), Effects(query=0.25, rest=0.1))


@pytest.fixture(scope="module")
def pool(collection):
    return build_pool(collection)


@pytest.fixture
def early(monkeypatch):
    """Learn at 10, 20, 40, ... judged pairs."""
    monkeypatch.setattr("audiosim.joint.moments.FIRST_LEARNING", 10)


def test_moments_double_from_the_twentyfifth_judged_pair_on():
    assert [count for count in range(2000) if is_moment(count)] == [25, 50, 100, 200, 400, 800, 1600]
    assert [last_moment(count) for count in (0, 24, 25, 99, 100, 399, 400, 5000)] == [0, 0, 25, 50, 100, 200, 400, 3200]


@pytest.mark.parametrize(
    ("people", "learned"),
    [("a" * 24, 0), ("a" * 24 + "b", 25), ("a" * 30 + "bbb", 31), ("ab" * 30, 50), ("a" * 60 + "b" * 9 + "c" * 9, 70)],
)
def test_comparisons_are_learned_from_at_their_moments_and_when_another_person_begins(people, learned):
    compared = [PairedComparison("q", f"d{place}", "d", "a", name) for place, name in enumerate(people)]
    assert comparisons_learned(compared) == learned


def test_an_estimator_that_does_not_learn_stays_what_it_is(pool):
    estimator = uniform(pool)
    assert relearned(estimator, np.full(len(pool.pairs), 50.0)) is estimator


@pytest.mark.slow
def test_much_that_is_judged_outweighs_what_the_model_held(pool, collection, joined):
    # Queries differ more than twice as much as the model has it; all judgments together say so.
    model = joined(components={**joined().components, "query": (0.6, 0.02), "rest": (0.9, 0.02)})
    estimator, grades = estimator_of(pool, model), pool.spread(collection.grades())
    found = estimator.relearned(grades).standard_deviations
    alone = fit_joint([(pool, grades)], replace(model, components=None, trend=None), vary=False).components
    assert 0.6 < 0.7 * alone["query"][0] < found["query"] < 1.05 * alone["query"][0]
    assert found["rest"] == pytest.approx(alone["rest"][0], rel=0.1)
    # The earlier estimator is unchanged, and learns the same from the same judgments again.
    assert estimator.standard_deviations["query"] == 0.6
    assert estimator.relearned(grades).relearned(grades).standard_deviations == pytest.approx(found, rel=1e-6)


def test_little_that_is_judged_leaves_what_the_model_held(pool, collection, joined):
    sure = joined(components={name: (size, 0.01) for name, (size, _) in joined().components.items()})
    estimator, grades = estimator_of(pool, sure), pool.spread(collection.grades())
    grades[3:] = np.nan
    for name, size in estimator.relearned(grades).standard_deviations.items():
        assert size == pytest.approx(estimator.standard_deviations[name], rel=0.25)


@pytest.mark.slow
def test_a_campaign_learns_at_its_moments_and_at_no_other(pool, collection, joined, early):
    grades, estimator = collection.grades(), estimator_of(pool, joined())
    selection = Selection.start(pool, parse_measure("CG@5"), estimator, selection_rule="random", seed=1)
    moments, order = [], []
    for count in range(1, 45):
        (pair,) = selection.ask()
        order.append(Judgment(*pair, grade=grades[pair]))
        before, selection = selection.estimator, selection.tell(order[-1])
        if selection.estimator is not before:
            moments.append(count)
    assert moments == [10, 20, 40]
    first = pool.spread({judgment.pair: judgment.grade for judgment in order[:40]})
    assert selection.estimator.standard_deviations == estimator.relearned(first).standard_deviations
    # The same judgments in the same order, all at once, give the same campaign; in another order they need not.
    again = Selection.start(pool, parse_measure("CG@5"), estimator, order, selection_rule="random", seed=1)
    assert again.estimator.standard_deviations == selection.estimator.standard_deviations
    np.testing.assert_allclose(again.scores.covariance, selection.scores.covariance, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(again.scores.mean, selection.scores.mean, rtol=1e-10)
    assert taught_by(pool, estimator, order).standard_deviations == selection.estimator.standard_deviations


def test_a_judgment_changed_or_withdrawn_is_learned_from_as_if_it_had_been_so_from_the_start(
    pool, collection, joined, early
):
    grades, estimator = collection.grades(), estimator_of(pool, joined())
    judgments = [Judgment(*pair, grade=grades[pair]) for pair in pool.pairs[:11]]

    def start(judged):
        return Selection.start(pool, parse_measure("CG@5"), estimator, judged, selection_rule="random")

    selection, other = start(judgments), replace(judgments[0], grade=100.0)
    learned = selection.estimator
    assert learned is not estimator
    assert selection.tell(replace(judgments[10], grade=100.0)).estimator is learned  # after the last moment
    changed, begun = selection.tell(other), start([other, *judgments[1:]])
    assert changed.estimator.standard_deviations == begun.estimator.standard_deviations != learned.standard_deviations
    np.testing.assert_allclose(changed.scores.mean, begun.scores.mean, rtol=1e-12)
    left = changed.withdraw(judgments[0].pair, "")
    assert left.estimator.standard_deviations == start(judgments[1:]).estimator.standard_deviations
    assert left.withdraw(judgments[1].pair, "").estimator is estimator  # too few are left


@pytest.mark.slow
def test_an_estimator_of_a_wider_pool_takes_over_what_was_learned():
    demo = Collection.load(DEMO, DEMO / "truth.qrels")
    alone = build_pool(demo)
    wide = build_pool(demo, also=[Pair(query, "d010") for query in alone.queries])
    grades = alone.spread(dict(list(demo.grades().items())[:60]))
    padded = np.concatenate([grades, np.full(len(wide.pairs) - len(grades), np.nan)])
    learned, fresh = relearned(estimator_of(alone, "joint"), grades), estimator_of(wide, "joint")
    taken = following(fresh, learned).predict(padded)
    anew = relearned(fresh, padded).predict(padded)
    # Unretrieved pairs change the learned values a little; grades go to 100.
    np.testing.assert_allclose(taken.expectation, anew.expectation, atol=0.05)
    assert np.abs(taken.expectation - fresh.predict(padded).expectation).max() > 0.01
    assert following(estimator_of(alone, "mout"), learned) is None
