"""Number of remaining judgments, on pools with a known answer."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
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
from audiosim.simulation.plan import plan
from audiosim.simulation.remaining import ENOUGH, drawn_grades, forecast, interval_of, played
from audiosim.simulation.replay import replay
from benchmarks.synthetic import Design, synthetic_collection

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


def remaining(selection, stop, rng, campaigns=10, **more):
    """A forecast to the judgment: as in a campaign that hands out batches of its own size."""
    stop = stop if not isinstance(stop, float) else Assurance(ORDER, stop)
    return forecast(selection, stop, rng, campaigns, 1, **more)


def start(pool, **more):
    return Selection.start(pool, CG, uniform(pool), **more)


def test_a_goal_that_is_met_takes_nothing(pool):
    found = remaining(start(pool), Assurance(ORDER, 0.5, floor=0), np.random.default_rng(0))
    assert (found.counts, found.cut, found.judgments, found.interval, found.reliable) == (
        (0,) * 10,
        None,
        0,
        (0, 0),
        True,
    )


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
    assert remaining(start(pool), Judgments(10**6), np.random.default_rng(2), 2).counts == (moving, moving)


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
    found = remaining(start(pool), Judgments(10**6), np.random.default_rng(0), proceed=lambda: next(steps, False))
    assert (found.counts, found.cut, found.judgments, found.interval) == ((), 12, None, (12, None))


def test_campaigns_that_were_finished_in_time_count(pool):
    steps = iter([True] * 25)
    found = remaining(start(pool), Judgments(10), np.random.default_rng(0), proceed=lambda: next(steps, False))
    assert (found.counts, found.cut, found.judgments, found.interval) == ((10, 10), 5, 10, (10, 10))


def lognormal_counts(rng, campaigns, spread, cases=1500):
    return np.exp(5 + spread * rng.standard_normal((cases, campaigns))).round().astype(int).tolist()


@pytest.mark.parametrize("spread", [0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("campaigns", [ENOUGH, 10, 20])
def test_the_interval_holds_what_it_claims_from_the_first_number_of_campaigns_that_gives_one(campaigns, spread):
    # Real campaigns vary as the simulated ones do, and by OFF.
    rng = np.random.default_rng(campaigns)
    found = [interval_of(counts, 0.3) for counts in lognormal_counts(rng, campaigns, spread)]
    needed = np.exp(5 + np.hypot(spread, 0.3) * rng.standard_normal(len(found)))
    held = np.mean([low <= one <= high for (low, high), one in zip(found, needed, strict=True)])
    assert 0.77 <= held <= 0.86  # standard error .01
    assert interval_of([100] * (ENOUGH - 1), 0.3) is None


@pytest.mark.parametrize("counts", [[0] * 10, [0] * 9 + [3], [0, 0, 0, 1, 1, 1, 1, 2, 2, 40]])
def test_no_interval_of_further_judgments_begins_below_0(counts):
    low, high = interval_of(counts, 0.3)
    assert 0 <= low <= np.median(counts) <= high


@pytest.mark.slow
def test_later_forecasts_lie_in_the_earlier_intervals_as_often_as_these_claim():
    # Twenty campaigns whose grades come from the model: each is asked at its beginning, and later again, and of the
    # first so is the plan of a folder with the same judgments, without a campaign.
    stop, held, needed = Assurance(ORDER, 0.9), [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        made = synthetic_collection(rng, Design(6, 4, 8, 5, 15))
        pool = build_pool(made, 5)
        now, told = start(pool, batch=4), []
        truth = drawn_grades(now.belief, rng)

        def stated(now, told, made=made, seed=seed):
            found = forecast(now, stop, np.random.default_rng(0))
            if seed == 0:
                planned = plan(replace(made, judgments=tuple(told)), uniform, CG, stopping_rule=stop, time_limit=1e6)
                for part in ("judged", "counts", "judgments", "interval"):
                    assert getattr(planned, part) == getattr(found, part)
            return found

        low, high = stated(now, told).interval
        states = []
        while not now.reached(stop):
            for pair in now.ask(4):
                told.append(Judgment(*pair, float(truth[pool.positions[pair]])))
                now = now.tell(told[-1])
            states.append((now, tuple(told)))
        needed.append(low <= now.judged <= high)
        some = states[len(states) // 3 :: max(1, len(states) // 3)]
        held += [low <= len(told) + stated(now, told).judgments <= high for now, told in some]
    assert np.mean(needed) >= 0.8 - 1.3 * np.sqrt(0.8 * 0.2 / len(needed))
    assert np.mean(held) >= 0.8 - 1.3 * np.sqrt(0.8 * 0.2 / len(needed))


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


def test_no_campaign_at_all_is_refused(pool):
    with pytest.raises(InputError, match="the number of campaigns must be at least 1, got 0"):
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
    low, high = found.interval
    assert low <= needed <= high


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
