"""Reports on machines that judge, for machines drawn with known leniency, favourites and worth."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.evidence import JudgeSettings
from audiosim.collection.pool import build_pool
from audiosim.joint.people import NO_JUDGES
from audiosim.joint.terms import usual_slopes
from audiosim.people.judges import reports_on_machines, reports_on_people
from audiosim.people.machines import favours_of

TEAMS = tuple("ABCDEFGHIJ")


def drawn(rng, favours, pairs=120):
    """Judged pairs of 30 queries, each retrieved by three teams, and a machine that favours teams as given."""
    retrieved = np.array([rng.permutation(len(TEAMS)) < 3 for _ in range(pairs)], dtype=np.float64)
    people = rng.normal(size=pairs)
    query = rng.integers(30, size=pairs)
    said = 0.6 * people + retrieved @ favours + 0.3 * rng.normal(size=30)[query] + 0.7 * rng.normal(size=pairs)
    return retrieved, query, said, people


@pytest.mark.slow
def test_intervals_of_favours_hold_them_as_often_as_they_say_where_machines_are_drawn_from_the_prior():
    rng, prior, inside = np.random.default_rng(0), usual_slopes(), []
    for _ in range(60):
        spread = prior.favour[0] * np.exp(prior.favour[1] * rng.normal())
        favours = spread * rng.normal(size=len(TEAMS))
        favours -= favours.mean()  # every pair is retrieved by three teams, so a favour common to all cannot be seen
        found = {one.team: one.size for one in favours_of(TEAMS, *drawn(rng, favours))}
        inside += [found[name][1] <= true <= found[name][2] for name, true in zip(TEAMS, favours, strict=True)]
    # 600 intervals that are dependent within 60 draws, and a tenth of a deviation wider than the data require.
    assert 0.93 < np.mean(inside) < 1


def test_a_team_that_a_machine_adds_to_is_sure_to_be_favoured_and_in_a_fair_machine_none_is():
    rng = np.random.default_rng(1)
    first, *others = favours_of(TEAMS, *drawn(rng, 1.5 * (np.arange(10) == 3)))
    assert (first.team, first.sure) == ("D", True)
    assert first.size[1] < 1.5 < first.size[2] + 0.3
    assert not any(one.sure and one.size[0] > 0 for one in others)
    fair = [favours_of(TEAMS, *drawn(rng, np.zeros(10))) for _ in range(20)]
    assert sum(one.sure for some in fair for one in some) <= 1


def partly_judged(rng, favours, judged=30, pairs=250):
    """Pairs as in `drawn`, mostly unjudged: the expectation of people's grades, and a covariance by teams."""
    retrieved, query, said, people = drawn(rng, favours, pairs)
    quality = 0.3 * rng.normal(size=len(TEAMS))
    people, said = people + retrieved @ quality, said + 0.6 * retrieved @ quality
    covariance = np.eye(pairs) + 0.3**2 * retrieved @ retrieved.T
    rest, known = np.arange(judged, pairs), np.arange(judged)
    gain = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, rest)]).T
    expected, unsure = people.copy(), np.zeros((pairs, pairs))
    expected[rest] = gain @ people[known]
    unsure[np.ix_(rest, rest)] = covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(known, rest)]
    return retrieved, query, said, expected, unsure


@pytest.mark.slow
def test_pairs_that_nobody_judged_tell_of_favours_what_people_make_of_them_leaves_open():
    rng, prior, inside, found, alone = np.random.default_rng(3), usual_slopes(), [], 0, 0
    for _ in range(30):
        favours = prior.favour[0] * np.exp(prior.favour[1] * rng.normal()) * rng.normal(size=len(TEAMS))
        favours -= favours.mean()
        some = {one.team: one.size for one in favours_of(TEAMS, *partly_judged(rng, favours))}
        inside += [some[name][1] <= true <= some[name][2] for name, true in zip(TEAMS, favours, strict=True)]
    assert 0.92 < np.mean(inside) < 1
    for _ in range(10):
        retrieved, query, said, people, unsure = partly_judged(rng, 1.5 * (np.arange(10) == 3))
        most, *others = favours_of(TEAMS, retrieved, query, said, people, unsure)
        found += most.team == "D" and most.sure and not any(one.sure and one.size[0] > 0 for one in others)
        alone += favours_of(TEAMS, retrieved[:30], query[:30], said[:30], people[:30])[0].sure
    assert found == 10
    assert alone < 10


@pytest.mark.slow
def test_without_judgments_or_with_one_team_nobody_is_a_favourite(judged):
    retrieved, query, said, people = drawn(np.random.default_rng(2), np.zeros(10))
    assert favours_of(("A",), retrieved[:, :1], query, said, people) == ()
    assert not any(one.sure for one in favours_of(TEAMS, retrieved[:5], query[:5], said[:5], people[:5]))
    assert all(one.findings == () for one in reports_on_machines(build_pool(judged), ()))


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
        given = dict(zip(pool.pairs, grades.tolist(), strict=True))
        known = known.with_judge(name, given, "ACME", version="4", may_favour=pool.systems[0])
    return known


@pytest.fixture(scope="module")
def reports(judged):
    return {one.judge: one for one in reports_on_machines(build_pool(judged), judged.judgments)}


@pytest.mark.slow
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
    # The judgments that noise seems to save are within the variation of the confidence by chance.
    assert reports["noise"].worth[1] < 25
    assert reports["noise"].worth[0] < 0.3 * middle


def test_a_machine_that_favours_the_system_of_its_maker_is_named(judged, reports):
    own = judged.runs[0].system
    team = judged.team(own)
    (first, *_) = reports["partial"].findings
    assert first.startswith(f"partial favours {team}, as it might, by ")
    (own_made, *_) = replace(reports["partial"], settings=JudgeSettings(maker=own)).findings
    assert own_made.startswith(f"partial favours {team}, of its own maker {own}, by ")
    assert reports["good"].findings == ()
    row = reports["partial"].to_dict()
    assert (row["kind"], row["favours"], row["maker"], row["judgments"]) == ("machine", team, "ACME", 600)
    assert (row["version"], row["prompt"], row["may_favour"]) == ("4", None, own)
    assert row["teams"][0]["sure"]
    assert row["taste_low"] > 0


@pytest.mark.slow
def test_where_all_is_judged_a_machine_saves_nothing_and_without_machines_there_is_no_report(demo, judged):
    (some, *_) = judged.judges
    everything = replace(demo, documents={}, judges=(some,))
    (report,) = reports_on_machines(build_pool(everything), demo.judgments)
    assert report.worth == (0, 0, 0)
    assert reports_on_machines(build_pool(demo), demo.judgments) == []
    assert reports_on_people(build_pool(judged), NO_JUDGES) == []
