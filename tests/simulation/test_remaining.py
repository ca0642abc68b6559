"""Number of remaining judgments, on pools with a known answer."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Judgment, Run
from audiosim.errors import InputError
from audiosim.joint.estimators import make_estimator, uniform
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.ranking.stopping import ORDER, Assurance, Judgments
from audiosim.simulation import Design, replay, synthetic_collection
from audiosim.simulation.remaining import Remaining, drawn_grades, played, remaining

CG = parse_measure("CG@5")


class Certain:
    """An estimator that knows the truth, and states it except for a doubt too small to be drawn."""

    name = "certain"

    def __init__(self, levels, truth, doubt):
        self._levels = np.array(levels)
        self._probabilities = np.full((len(truth), len(levels)), doubt / (len(levels) - 1))
        self._probabilities[np.arange(len(truth)), np.searchsorted(self._levels, truth)] = 1 - doubt

    def predict(self, grades):
        return Belief.independent(self._levels, self._probabilities, grades, self._levels[-1], ("certain",))


@pytest.fixture(scope="module")
def pool():
    return build_pool(synthetic_collection(np.random.default_rng(4), Design(5, 4, 6, 5, 12)), 5)


def start(pool, **more):
    return Selection.start(pool, CG, uniform(pool), **more)


def test_a_goal_that_is_met_takes_nothing(pool):
    found = remaining(start(pool), Assurance(ORDER, 0.5, floor=0), np.random.default_rng(0))
    assert found == Remaining((0,) * 20)
    assert [found.quantile(share) for share in (0.1, 0.5, 0.9)] == [0, 0, 0]
    assert found.more_than is None


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 7])
def test_a_goal_of_so_many_judgments_takes_those_that_are_missing(pool, batch):
    first = start(pool, batch=batch)
    for pair in first.ask(9):
        first = first.tell(Judgment(*pair, 40.0))
    assert remaining(first, Judgments(30), np.random.default_rng(1), 3).counts == (21, 21, 21)


@pytest.mark.slow
def test_a_goal_out_of_reach_takes_all_pairs_on_which_the_systems_differ(pool):
    # CG: a document changes a difference unless all systems, or none, retrieved it.
    found = np.diff(pool.ranks.tocsc().indptr)
    moving = int(np.sum((found > 0) & (found < len(pool.systems))))
    assert remaining(start(pool), 1.1, np.random.default_rng(2), 2).counts == (moving, moving)


@pytest.mark.slow
def test_where_the_model_knows_the_truth_the_count_is_that_of_the_campaign_itself(pool):
    # The doubt keeps the confidence below 1 until pairs are judged; a draw misses the truth with odds of 1e-6 a pair.
    truth = np.random.default_rng(5).choice(FINE.levels, len(pool.pairs))
    known = Selection.start(pool, CG, Certain(FINE.levels, truth, 1e-6))
    every = Assurance(ORDER, 1.0)
    true = replay(known, truth, every)
    assert len(true.asked) > 20
    assert remaining(known, every, np.random.default_rng(3), 3).counts == (len(true.asked),) * 3


@pytest.mark.slow
def test_the_same_seed_gives_the_same_counts_and_another_seed_others(pool):
    counts = [remaining(start(pool), 0.9, np.random.default_rng(seed), 5).counts for seed in (6, 6, 7)]
    assert counts[0] == counts[1] != counts[2]


def test_time_that_is_up_cuts_a_campaign_short(pool):
    steps = iter([True] * 12)
    found = remaining(start(pool), 1.1, np.random.default_rng(0), proceed=lambda: next(steps, False))
    assert found == Remaining((), 12)
    assert found.more_than == 12
    assert found.quantile(0.5) is None


def test_campaigns_that_were_finished_in_time_count(pool):
    steps = iter([True] * 25)
    found = remaining(start(pool), Judgments(10), np.random.default_rng(0), proceed=lambda: next(steps, False))
    assert found == Remaining((10, 10), 5)
    assert (found.quantile(0.5), found.more_than) == (10, None)


@pytest.mark.slow
@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.floats(0.001, 1))
def test_a_quantile_is_the_inverse_of_the_empirical_distribution(counts, share):
    expected = np.quantile(counts, share, method="inverted_cdf")
    assert Remaining(tuple(sorted(counts))).quantile(share) == expected


def test_drawn_grades_follow_the_level_probabilities_and_judged_ones_stay():
    runs = tuple(Run(f"s{i}", {"q": tuple(f"d{j}" for j in range(i, i + 5))}) for i in range(3))
    pool = build_pool(Collection("lot", "lot", BROAD, 5, runs))
    first = Selection.start(pool, CG, uniform(pool)).tell(Judgment("q", "d0", 2.0))
    rng = np.random.default_rng(8)
    drawn = np.array([drawn_grades(first.belief, rng) for _ in range(3000)])
    judged = pool.positions["q", "d0"]
    assert set(drawn[:, judged]) == {2.0}
    counts = Counter(np.delete(drawn, judged, axis=1).ravel().tolist())
    # Uniform over three levels, 18000 draws: a seeded chi-squared test.
    assert stats.chisquare([counts[level] for level in BROAD.levels]).pvalue > 0.01


@pytest.mark.parametrize("share", [0, 1.1, float("nan")])
def test_a_share_beyond_one_is_refused(share):
    with pytest.raises(InputError, match=r"a share of campaigns must be in \(0, 1\], got"):
        Remaining((1,)).quantile(share)


def test_no_campaign_at_all_is_refused(pool):
    with pytest.raises(InputError, match="the number of campaigns to play must be at least 1, got 0"):
        remaining(start(pool), 0.9, np.random.default_rng(0), 0)


@pytest.mark.slow
def test_mirex_2011_near_its_goal_is_told_well(mirex2011):
    # The judgments still needed in a replay with the true grades are within the range stated after 120 judgments.
    pool = build_pool(mirex2011, 5)
    truth = pool.spread(mirex2011.grades())
    chosen = Selection.start(pool, CG, make_estimator(pool, "mjud"), batch=20)
    for judgment in replay(chosen, truth, Judgments(120)).asked:
        chosen = chosen.tell(judgment)
    needed = len(replay(chosen, truth, 0.95).asked)
    found = remaining(chosen, 0.95, np.random.default_rng(0))
    assert found.quantile(0.1) <= needed <= found.quantile(0.9)


@pytest.mark.slow
def test_a_campaign_played_in_steps_takes_about_as_many_as_one_by_one(mirex2011):
    # Looking after every judgment and not in steps, goals are met a little sooner: at a moment between two looks.
    pool = build_pool(mirex2011, 5)
    first = Selection.start(pool, CG, make_estimator(pool, "joint"), learns=False).in_thought
    grades, stopping_rule = drawn_grades(first.belief, np.random.default_rng(3)), Assurance(ORDER, 0.955)
    end, steps, finished = played(replace(first, batch=20), grades, stopping_rule, lambda: True)
    assert finished
    assert steps == end.judged > 200
    assert stopping_rule.reached(end)
    small = first
    while small.judged < 1.2 * steps and not stopping_rule.reached(small):
        for pair in small.ask(20):
            place = small.pool.positions[pair]
            small = small.judge(place, float(grades[place]))
    assert small.judged == pytest.approx(steps, rel=0.15)


def test_a_goal_within_a_step_is_found_to_the_judgment(pool):
    first = start(pool, batch=20)  # too many for conditioning one by one
    assert remaining(first, Judgments(33), np.random.default_rng(1), 2).counts == (33, 33)
