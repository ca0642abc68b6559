"""Gain of further judging: the expectation beforehand, compared with the statements after the judgments."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.joint.estimators import JOINT, estimator_of
from audiosim.joint.people import PanelModels, People
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.ranking.about import About
from audiosim.ranking.expected import expected_scores, rank
from audiosim.simulation.plan import ANOTHER, expected_confidence, further_judging
from audiosim.stats.normal.multivariate import Moments
from benchmarks.synthetic import Design, synthetic_collection

CG = parse_measure("CG@4")


@pytest.fixture(scope="module")
def pool():
    design = Design(systems=4, teams=2, queries=12, cutoff=4, candidates=12)
    return build_pool(synthetic_collection(np.random.default_rng(2), design), 4)


def begun(pool, names, count=20):
    rng = np.random.default_rng(3)
    places = rng.permutation(len(pool.pairs))[:count].tolist()
    said = [
        Judgment(*pool.pairs[place], float(rng.choice(pool.scale.levels)), names[number % len(names)])
        for number, place in enumerate(places)
    ]
    return Selection.start(pool, CG, estimator_of(pool, JOINT), said, learns=False)


@pytest.mark.slow
@pytest.mark.parametrize(("names", "people"), [(("ann", "bob"), 2), (("",), 1)])
def test_the_first_row_is_what_is_stated_now(pool, names, people):
    selection = begun(pool, names)
    now = further_judging(selection, np.random.default_rng(0))[0]
    assert (now.what, now.people, now.judgments) == ("as it is", people, 20)
    for listeners, confidence, width in (
        ("panel", now.panel, now.panel_width),
        ("listeners", now.listeners, now.listeners_width),
    ):
        stated = selection.stated(About("these", listeners))
        assert stated.check.factor == 1
        assert confidence == pytest.approx(stated.confidence)
        reach = 2 * stats.t.ppf(0.975, len(pool.queries) - 1)
        assert width == pytest.approx(reach * np.sqrt(stated.scores.variance).mean())


@pytest.mark.slow
def test_the_widths_to_come_are_those_stated_once_the_judgments_are_there(pool):
    selection = begun(pool, ("ann", "bob"))
    _, same, other = further_judging(selection, np.random.default_rng(0), 10)
    assert (same.people, same.judgments, other.people, other.judgments) == (2, 30, 3, 30)
    asked = selection.ask(10)
    for row, names in ((same, ("ann", "bob")), (other, (ANOTHER,))):
        after = selection
        for pair in asked:
            query = int(pool.query[pool.positions[pair]])
            after = after.tell(Judgment(*pair, pool.scale.maximum / 2, names[query % len(names)]))
        # Sizes of people's deviations are learned at 25 judgments; here they stay fixed, as the plan assumes.
        people = after.stated_belief.people
        kept = selection.stated_belief.people.model
        for who, width in (("panel", row.panel_width), ("listeners", row.listeners_width)):
            belief = after.stated_belief.heard(People(people.panel, PanelModels(), lambda _, kept=kept: kept)).about(
                who
            )
            variance = expected_scores(CG, pool).scores(belief).variance
            reach = 2 * stats.t.ppf(0.975, len(pool.queries) - 1)
            assert width == pytest.approx(reach * np.sqrt(variance).mean(), rel=1e-6)


@pytest.mark.slow
def test_the_same_people_leave_more_doubt_about_listeners_at_large_than_another_one(pool):
    _, same, other = further_judging(begun(pool, ("ann", "bob")), np.random.default_rng(0), 20)
    assert other.listeners_width < same.listeners_width
    assert same.panel_width < same.listeners_width


@pytest.mark.slow
def test_before_anybody_judged_one_person_stands_beside_two(pool):
    selection = Selection.start(pool, CG, estimator_of(pool, JOINT), [])
    found = further_judging(selection, np.random.default_rng(0), 20)
    assert [(row.what, row.people, row.judgments) for row in found] == [
        ("as it is", 0, 0),
        ("another 20 judgments", 1, 20),
        ("another 20, half by another person", 2, 20),
    ]


def test_a_model_that_knows_nobody_and_a_measure_that_is_drawn_say_nothing(pool):
    rng = np.random.default_rng(0)
    assert further_judging(Selection.start(pool, CG, estimator_of(pool, "mout"), []), rng) == ()
    drawn = Selection.start(pool, parse_measure("ERR@4"), estimator_of(pool, JOINT), [])
    assert further_judging(drawn, rng) == ()


def test_the_expected_confidence_of_two_systems_is_its_integral():
    design = Design(systems=2, teams=2, queries=12, cutoff=4, candidates=12)
    two = build_pool(synthetic_collection(np.random.default_rng(2), design), 4)
    moments = Moments(np.array([0.52, 0.5]), np.diag([4e-4, 4e-4]))
    ranking = replace(rank(expected_scores(CG, two), JOINT, moments, 5, "normal"))
    moves = np.diag([3e-4, 2e-4])
    spread, left = np.sqrt(5e-4), np.sqrt(8e-4)
    expected = integrate.quad(
        lambda d: stats.norm.cdf(abs(d) / left) * stats.norm.pdf(d, 0.02, spread), -0.2, 0.25, points=[0]
    )[0]
    # 200 draws of a value with a standard deviation of about .15: three standard errors are .03.
    assert expected_confidence(ranking, moves, np.random.default_rng(1)) == pytest.approx(expected, abs=0.03)
    assert expected_confidence(ranking, np.zeros((2, 2)), np.random.default_rng(1)) == ranking.confidence
