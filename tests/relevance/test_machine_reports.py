"""Reports on machines that judge: on machines drawn so that leniency, favourites and worth are known."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.corpus.pool import build_pool
from audiosim.relevance.machine_evidence import usual_slopes
from audiosim.relevance.machine_reports import favours_of
from audiosim.relevance.who_judges import reports_on_machines, reports_on_people
from audiosim.stats.multivariate import Moments

SYSTEMS = tuple("ABCDEFGHIJ")


def test_intervals_of_favours_hold_them_as_often_as_they_say_where_machines_are_drawn_from_the_prior():
    rng, prior = np.random.default_rng(0), usual_slopes()
    count, inside, known = len(SYSTEMS), [], 0.05 * np.eye(len(SYSTEMS))
    for _ in range(60):
        people = rng.normal(scale=0.4, size=count)
        favours = np.exp(np.log(prior.favour[0]) + prior.favour[1] * rng.normal()) * rng.normal(size=count)
        favours -= favours.mean()
        response = prior.response[0] + prior.response[1] * rng.normal()
        said = response * (people - people.mean()) + favours
        seen = people + rng.multivariate_normal(np.zeros(count), known**2)
        found = {one.system: one.size for one in favours_of(SYSTEMS, said, Moments(seen, known**2))}
        inside += [found[name][1] <= true <= found[name][2] for name, true in zip(SYSTEMS, favours, strict=True)]
    # 600 intervals that are dependent within 60 draws: a standard error of some .02.
    assert 0.90 < np.mean(inside) < 0.99


def test_a_system_that_is_set_above_all_that_people_say_is_sure_to_be_favoured_and_no_other():
    rng = np.random.default_rng(1)
    people = rng.normal(scale=0.4, size=10)
    said = 0.8 * people + 0.05 * rng.normal(size=10) + 1.5 * (np.arange(10) == 3)
    first, *others = favours_of(SYSTEMS, said - said.mean(), Moments(people, 0.01 * np.eye(10)))
    assert (first.system, first.sure) == ("D", True)
    assert first.size[1] < 1.5 * 0.9 < first.size[2]  # from the mean of all ten
    assert not any(one.sure and one.size[0] > 0 for one in others)


def test_one_system_is_no_favourite():
    assert favours_of(("A",), np.zeros(1), Moments(np.zeros(1), np.eye(1))) == ()


@pytest.fixture(scope="module")
def judged(demo):
    """The demo, some pairs judged, and machines: a good one, one that favours a system, and noise."""
    rng, pool = np.random.default_rng(2), build_pool(demo)
    truth = pool.spread(demo.grades())
    favoured = pool.retrieved.toarray()[0] > 0
    said = {
        "good": np.clip(truth + 10 + 8 * rng.normal(size=len(truth)), 0, 100),
        "partial": truth + truth.std() * (rng.normal(size=len(truth)) + 2 * favoured),
        "noise": rng.normal(size=len(truth)),
    }
    chosen = set(rng.choice(len(truth), 150, replace=False).tolist())
    judgments = tuple(one for one in demo.judgments if pool.positions.get(one.pair, -1) in chosen)
    known = replace(demo, documents={}, judgments=judgments)
    for name, grades in said.items():
        known = known.with_judge(name, dict(zip(pool.pairs, grades.tolist(), strict=True)), pool.systems[0])
    return known


@pytest.fixture(scope="module")
def reports(judged):
    return {one.judge: one for one in reports_on_machines(build_pool(judged), judged.judgments)}


def test_leniency_is_told_of_a_machine_on_the_scale_of_the_people(reports):
    middle, low, high = reports["good"].severity
    assert low < 0.1 < high
    assert middle == pytest.approx(0.1, abs=0.04)
    assert reports["noise"].severity is None


def test_a_machine_agrees_with_people_and_is_worth_judgments_the_more_the_better_it_is(reports):
    assert reports["good"].agreement[0] > 0.8 > reports["noise"].agreement[0]
    low, middle, high = (reports["good"].worth[place] for place in (1, 0, 2))
    assert 0 <= low <= middle <= high
    assert middle > 20
    # What noise seems to save is within what the luck of the draw of judgments makes of confidence.
    assert reports["noise"].worth[1] < 25
    assert reports["noise"].worth[0] < 0.3 * middle


def test_a_machine_that_favours_the_system_of_its_maker_is_named(judged, reports):
    own = judged.runs[0].system
    (first, *_) = reports["partial"].findings
    assert first.startswith(f"partial favours {own}, of its own maker {own}, by ")
    assert reports["good"].findings == ()
    row = reports["partial"].to_dict()
    assert (row["kind"], row["favours"], row["maker"], row["judgments"]) == ("machine", own, own, 600)
    assert row["systems"][0]["sure"]
    assert row["taste_low"] > 0


def test_where_all_is_judged_a_machine_saves_nothing_and_without_machines_there_is_no_report(demo, judged):
    (some, *_) = judged.judges
    everything = replace(demo, documents={}, judges=(some,))
    (report,) = reports_on_machines(build_pool(everything), demo.judgments)
    assert report.worth == (0, 0, 0)
    assert reports_on_machines(build_pool(demo), demo.judgments) == []
    assert reports_on_people(build_pool(judged), ()) == []
