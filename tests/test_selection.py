from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from audiosim.corpus.model import Judgment, Run
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.measure import Measure
from audiosim.plugins import make_estimator
from audiosim.selection import Selection, pairs_of_systems_affected

CG, DCG = Measure("CG", 2), Measure("DCG", 2)


def start(collection, measure=CG, model="mjud", **options):
    pool = build_pool(collection, measure.cutoff)
    return Selection.start(pool, measure, make_estimator(pool, model), **options)


def random_collection(collection, systems, queries, rng):
    documents = [f"d{i}" for i in range(9)]
    runs = [
        Run(
            f"s{s}", {f"q{q}": tuple(rng.permutation(documents)[: rng.integers(1, 6)].tolist()) for q in range(queries)}
        )
        for s in range(systems)
    ]
    return replace(collection, runs=tuple(runs), cutoff=4)


@pytest.mark.parametrize("measure", [Measure("CG", 4), Measure("DCG", 4)])
@pytest.mark.parametrize("systems", [1, 2, 7])
def test_weights_are_the_sum_over_pairs_of_systems_that_the_thesis_writes(tiny, measure, systems):
    # Section 8.3, with the double loop over pairs of systems spelled out.
    collection = random_collection(tiny, systems, 5, np.random.default_rng(systems))
    pool = build_pool(collection)
    discount = [1.0] * 4 if measure.name == "CG" else [1 / np.log2(rank + 1) for rank in range(1, 5)]
    at = {
        (run.system, query, document): discount[place]
        for run in collection.runs
        for query, documents in run.rankings.items()
        for place, document in enumerate(documents[:4])
    }
    expected = [
        sum(abs(at.get((a, *pair), 0) - at.get((b, *pair), 0)) for a, b in combinations(pool.systems, 2))
        for pair in pool.pairs
    ]
    np.testing.assert_allclose(pairs_of_systems_affected(measure, pool), expected, rtol=1e-12, atol=1e-12)


def test_the_pairs_asked_for_have_the_largest_weights(tiny):
    # a and e are in all three lists (weight 0), the others in one or two of three (weight 2).
    selection = start(tiny)
    asked = selection.ask(7)
    weights = selection.weights[selection.pool.locate(asked)]
    assert weights.tolist() == [2, 2, 2, 2, 2, 0, 0]
    assert {pair.document for pair in asked[5:]} == {"a", "e"}


def test_of_equal_weight_the_less_certain_pair_comes_first(tiny):
    selection = start(tiny)
    variances = selection.moments.variance[selection.pool.locate(selection.ask(5))]
    assert np.all(np.diff(variances) <= 0)


def test_a_judged_pair_is_not_asked_for_again(tiny):
    selection = start(tiny)
    (pair,) = selection.ask()
    following = selection.tell(Judgment(*pair, grade=50.0))
    assert pair not in following.ask(7)
    assert following.judged == 1
    assert len(following.ask(99)) == 6


def test_telling_leaves_the_selection_before_as_it_was(tiny):
    selection = start(tiny)
    before = selection.ranking.to_dict()
    selection.tell(Judgment("q1", "c", 0.0))
    assert selection.judged == 0
    assert np.all(np.isnan(selection.grades))
    assert selection.ranking.to_dict() == before


def test_telling_one_by_one_equals_starting_with_all(tiny, tiny_truth):
    told = start(tiny)
    for judgment in tiny_truth[:4]:
        told = told.tell(judgment)
    at_once = start(tiny, judgments=tiny_truth[:4])
    assert told.ranking.to_dict() == at_once.ranking.to_dict()
    assert told.ask(7) == at_once.ask(7)


def test_between_batches_only_what_was_judged_changes(tiny):
    selection = start(tiny, batch=3)
    following = selection.tell(Judgment("q1", "a", 90.0))
    changed = following.moments.mean != selection.moments.mean
    assert changed.tolist() == [True, *[False] * 6]
    for pair in following.ask(2):
        following = following.tell(Judgment(*pair, grade=10.0))
    fresh = start(
        tiny, judgments=[Judgment(*p, grade=g) for p, g in zip(following.told, [90.0, 10.0, 10.0], strict=True)]
    )
    np.testing.assert_array_equal(following.moments.mean, fresh.moments.mean)


def test_a_revised_judgment_replaces_the_same_assessor_s_earlier_one(tiny):
    selection = start(tiny).tell(Judgment("q1", "a", 90.0, "ann")).tell(Judgment("q1", "a", 70.0, "ann"))
    assert selection.judged == 1
    assert selection.grades[0] == 70
    assert selection.moments.mean[0] == pytest.approx(0.7)


def test_the_grade_of_a_pair_is_the_mean_over_its_assessors(tiny):
    selection = start(tiny).tell(Judgment("q1", "a", 90.0, "ann")).tell(Judgment("q1", "a", 70.0, "bob"))
    assert (selection.judged, selection.grades[0]) == (1, 80)


def test_judging_may_stop_when_nothing_left_can_change_the_ranking(tiny, tiny_truth):
    selection = start(tiny)
    for judgment in tiny_truth:
        if judgment.document in "bcdf":
            assert not selection.reached(1.1)
            selection = selection.tell(judgment)
    assert selection.judged == 5
    assert selection.reached(1.1)


def test_systems_that_retrieve_the_same_are_not_worth_a_judgment(tiny):
    twins = start(replace(tiny, runs=(tiny.runs[0], Run("twin", tiny.runs[0].rankings))))
    assert twins.confidence == 0.5
    assert twins.reached(0.95)


def test_when_everything_is_judged_nothing_is_asked(tiny, tiny_truth):
    assert start(tiny, judgments=tiny_truth).ask(3) == []


def test_a_pair_outside_the_pool_and_a_grade_off_the_scale_are_refused(tiny):
    selection = start(tiny)
    with pytest.raises(InputError, match="no system retrieved document z for query q1 in its top 2"):
        selection.tell(Judgment("q1", "z", 50.0))
    with pytest.raises(InputError, match="grade 101 is not on the fine scale"):
        selection.tell(Judgment("q1", "a", 101.0))


def test_asking_for_nothing_and_batches_of_nothing_are_refused(tiny):
    with pytest.raises(InputError, match="the number of pairs to ask for must be at least 1, got 0"):
        start(tiny).ask(0)
    with pytest.raises(InputError, match="batch must be at least 1, got 0"):
        start(tiny, batch=0)
