from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from audiosim.corpus.model import Run
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.measures.expected import rank
from audiosim.measures.measure import Measure
from audiosim.plugins import make_estimator
from audiosim.selection import Selection
from audiosim.simulate import agreement, replay
from audiosim.stats.moments import Moments

CG = Measure("CG", 2)


@pytest.fixture
def selection(tiny):
    pool = build_pool(tiny)
    return Selection.start(pool, CG, make_estimator(pool, "mjud"))


@pytest.fixture
def truth(selection, tiny_truth):
    return selection.pool.spread({judgment.pair: judgment.grade for judgment in tiny_truth})


def test_a_replay_stops_as_soon_as_the_target_is_reached(selection, truth):
    result = replay(selection, truth, 0.9)
    confidences = [moment.confidence for moment in result.curve]
    assert confidences[-1] >= 0.9
    assert max(confidences[:-1]) < 0.9
    assert [moment.judged for moment in result.curve] == list(range(len(confidences)))


def test_a_replay_to_the_end_judges_all_that_bears_on_the_ranking_and_is_right(selection, truth):
    # a and e are in every list: they move no difference.
    result = replay(selection, truth, 1.1)
    end = result.to_dict()
    assert (end["judged"], end["pool"], end["confidence"], end["accuracy"], end["tau"]) == (5, 7, 1.0, 1.0, 1.0)
    assert {judgment.document for judgment in result.asked} == {"b", "c", "d", "f"}


def test_a_batch_that_reaches_the_target_is_not_judged_to_its_end(selection, truth):
    one_by_one = replay(replace(selection, batch=7), truth, 0.8)
    assert one_by_one.selection.judged < 7


def test_a_replay_tells_of_every_moment(selection, truth):
    seen = []
    result = replay(selection, truth, 0.9, seen.append)
    assert tuple(seen) == result.curve


def test_a_replay_without_the_whole_truth_is_refused(selection, truth):
    truth[[2, 5]] = np.nan
    with pytest.raises(
        InputError,
        match="2 of the pool's 7 pairs have no judgment, such as query q2, document b; a replay needs them all",
    ):
        replay(selection, truth, 0.9)


def ranking_with_means(collection, pool, means):
    """A ranking whose expected scores are the means given, from a diagonal pool: one system, one document each."""
    return rank(Measure("CG", 1), pool, "given", Moments(np.array(means), np.ones(len(means))), 0)


@pytest.mark.parametrize("seed", range(20))
def test_tau_is_kendall_s_as_scipy_has_it_and_accuracy_is_its_half_way_form(tiny, seed):
    rng = np.random.default_rng(seed)
    runs = tuple(Run(f"s{i}", {"q1": (f"d{i}",)}) for i in range(8))
    collection = replace(tiny, runs=runs, cutoff=1)
    means, true = rng.random(8), rng.random(8)
    accuracy, tau = agreement(ranking_with_means(collection, build_pool(collection), means), true)
    assert tau == pytest.approx(kendalltau(means, true).statistic)
    assert accuracy == pytest.approx((1 + tau) / 2)


def test_a_tie_on_one_side_counts_half_and_one_on_both_sides_is_right(tiny):
    runs = tuple(Run(f"s{i}", {"q1": (f"d{i}",)}) for i in range(3))
    collection = replace(tiny, runs=runs, cutoff=1)
    ranking = ranking_with_means(collection, build_pool(collection), [0.5, 0.5, 0.2])
    assert agreement(ranking, np.array([0.6, 0.6, 0.1]))[0] == 1
    assert agreement(ranking, np.array([0.6, 0.5, 0.1]))[0] == pytest.approx((0.5 + 1 + 1) / 3)


def test_mirex_2011_needs_few_judgments(mirex2011):
    # The papers' README: .908 right without judgments; about 182-186 judgments to .95 in the author's own program.
    pool = build_pool(mirex2011, 5)
    selection = Selection.start(pool, Measure("CG", 5), make_estimator(pool, "mjud"))
    result = replay(selection, pool.spread(mirex2011.grades()), 0.95)
    assert result.curve[0].accuracy == pytest.approx(0.908, abs=5e-4)
    assert 150 <= result.curve[-1].judged <= 230
    assert result.curve[-1].accuracy >= 0.90
