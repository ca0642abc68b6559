"""An organiser's view of a campaign's course, of the remaining work and of the assessors; and invitations."""

import gc
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np
import pytest
from scipy import stats

from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Judgment
from audiosim.ranking.stopping import parse_stopping_rule
from audiosim.service.access.tokens import TokenStore
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.outlook import Ahead, History, Leisure, Looked, Outlook, Outlooks
from audiosim.service.collections.served import ServedCollection
from audiosim.service.types.campaign import PlanOut, RemainingOut
from audiosim.simulation.plan import plan, usual_seconds

COARSE = "/v1/collections/coarse"


def plain_confidence(collection, pool, judged):
    """The mean confidence by CG in plain loops, with every grade equally probable until it is judged."""
    top = {(run.system, q): documents[:4] for run in collection.runs for q, documents in run.rankings.items()}
    most = 4 * len(pool.queries)
    sure = []
    for a, b in combinations(pool.systems, 2):
        difference = variance = 0.0
        for pair in pool.pairs:
            sign = (pair.document in top[a, pair.query]) - (pair.document in top[b, pair.query])
            difference += sign * judged.get(pair, 1.0) / 2 / most
            variance += 0.0 if pair in judged else sign**2 * np.var(BROAD.levels) / 4 / most**2
        sure.append(stats.t.cdf(abs(difference) / np.sqrt(variance), len(pool.queries) - 1))
    return float(np.mean(sure))


def open_campaign(collection, stopping_rule="confidence=0.95", model="uniform", **more):
    return ServedCollection(collection, model, Judging(stopping_rule=parse_stopping_rule(stopping_rule), **more))


def judge(one, count, rng):
    """Make some judgments; returns each pair and grade, in order."""
    made = []
    for _ in range(count):
        (pair,) = one.campaign.ask()
        grade = float(rng.choice(BROAD.levels))
        one.campaign.tell(Judgment(*pair, grade, "ann"))
        made.append((pair, grade))
    return made


@pytest.mark.slow
def test_the_course_has_the_confidence_after_each_judgment(coarse):
    one = open_campaign(coarse)
    made = judge(one, 12, np.random.default_rng(0))
    pool = build_pool(coarse)
    course = History(one).course()
    assert course.complete
    assert [moment.judged for moment in course.moments] == list(range(13))
    expected = [plain_confidence(coarse, pool, dict(made[:count])) for count in range(13)]
    np.testing.assert_allclose([moment.confidence for moment in course.moments], expected, rtol=1e-9)
    assert [moment.number for moment in course.moments] == list(range(13))
    assert [moment.time for moment in course.moments[1:]] == [record.event.time for record in one.campaign.log()]
    assert course.moments[0].time is None


@pytest.mark.slow
def test_a_course_asked_for_piece_by_piece_is_that_asked_for_at_once(coarse):
    one = open_campaign(coarse, "judgments=9")
    slow, rng = History(one), np.random.default_rng(1)
    for _ in range(30):
        judge(one, 1, rng)
        slow.course()
    assert slow.course() == History(one).course()


@pytest.mark.slow
@pytest.mark.parametrize("count", [9, 10, 40, 59])
def test_of_a_long_log_moments_are_evenly_spaced_and_the_goal_is_found_to_the_judgment(coarse, count):
    one = open_campaign(coarse, "judgments=9")
    judge(one, count, np.random.default_rng(2))
    course = History(one, moments=10).course()
    stride = next(stride for stride in (1, 2, 4, 8) if count // stride <= 10)
    assert [moment.judged for moment in course.moments] == sorted({*range(0, count + 1, stride), count})
    assert (course.met.judged, course.met.reached) == (9, True)
    assert course.met.time == one.campaign.log()[8].event.time


def test_a_goal_that_was_never_met_has_no_moment_and_one_met_from_the_start_the_first(coarse):
    assert History(open_campaign(coarse)).course().met is None
    assert History(open_campaign(coarse, "judgments=0")).course().met.number == 0


def test_a_course_without_time_says_so_and_goes_on_when_asked_again(coarse):
    one = open_campaign(coarse)
    judge(one, 8, np.random.default_rng(3))
    history, steps = History(one), iter([True, True, True])
    first = history.course(lambda: next(steps, False))
    assert not first.complete
    assert len(first.moments) == 3
    assert history.course().complete
    assert history.course() == History(one).course()


def test_what_is_taken_back_is_so_in_the_course_too(coarse):
    one = open_campaign(coarse)
    made = judge(one, 2, np.random.default_rng(4))
    one.campaign.undo("ann")
    course = History(one).course()
    assert [moment.judged for moment in course.moments] == [0, 1, 2, 1]
    assert course.moments[3].confidence == pytest.approx(plain_confidence(coarse, build_pool(coarse), dict(made[:1])))


def test_judgments_that_a_collection_came_with_are_its_beginning(small):
    course = History(open_campaign(small)).course()
    (first,) = course.moments
    assert first.judged == len({judgment.pair for judgment in small.judgments})
    assert (first.number, first.time) == (0, None)


@pytest.mark.slow
def test_what_remains_is_worked_out_once_for_each_state(coarse):
    outlook = Outlook(one := open_campaign(coarse, "judgments=20"))
    current, found = outlook.remaining.worked_out()
    assert (current.number, found.counts) == (0, (20,) * 10)
    assert outlook.remaining.worked_out()[1] is found
    judge(one, 3, np.random.default_rng(5))
    current, found = outlook.remaining.worked_out()
    assert (current.number, found.counts) == (3, (17,) * 10)


def test_a_forecast_that_is_sooner_made_than_a_process_is_the_same_and_starts_none(coarse, monkeypatch):
    outlook = Outlook(one := open_campaign(coarse, "judgments=20"))
    one.judging.errands.start()
    monkeypatch.setattr("sys.executable", "nowhere")  # a process would fail to start
    found = outlook.remaining.worked_out()[1]
    looked = Looked.of(one.campaign.current_state)
    ahead = Ahead(looked, one.campaign.selection, one.judging.stopping_rule, one.judging.settings.seed, 60)
    assert found.counts == ahead.forecast().counts == (20,) * 10
    assert np.array_equal(found.worlds, ahead.forecast().worlds)


def test_a_forecast_from_other_people_s_judgments_is_no_answer_for_a_campaign_without_them(coarse):
    remaining = Outlook(one := open_campaign(coarse, "judgments=20")).remaining
    judge(one, 3, np.random.default_rng(5))
    remaining.worked_out()
    assert remaining.at_hand()[0].unjudged == 77 - 3
    judge(one, 1, np.random.default_rng(6))
    assert remaining.at_hand()[0].unjudged == 77 - 3  # of an earlier state of the same people
    for turn in (one.campaign.set_aside, one.campaign.take_back):
        turn("ann")
        assert remaining.at_hand() is None
        assert remaining.worked_out()[0].unjudged == remaining.at_hand()[0].unjudged


@pytest.mark.slow
def test_the_state_of_a_forecast_is_not_kept_in_memory_while_another_process_makes_it(coarse, wait_until):
    one, begun = open_campaign(coarse, "judgments=20"), []
    errands = one.judging.errands
    errands.start()

    def prepare():
        looked = Looked.of(one.campaign.current_state)
        ahead = Ahead(looked, one.campaign.selection, one.judging.stopping_rule, one.judging.settings.seed, 60)
        begun.append(weakref.ref(ahead))
        return ahead.with_state

    with ThreadPoolExecutor(1) as threads:
        told = threads.submit(errands.run, prepare)
        wait_until(lambda: begun and begun[0]() is None)
        assert not told.done()
        assert told.result()[1].counts == (20,) * 10


@pytest.mark.slow
def test_the_course_of_a_small_campaign_does_not_wait_for_a_forecast(coarse):
    outlook = Outlook(one := open_campaign(coarse, "judgments=20"))
    forecasting = threading.Event()
    done = threading.Event()

    def forecast():
        with outlook._working:  # as `Lookahead.worked_out` does while it computes
            forecasting.set()
            done.wait(60)

    thread = threading.Thread(target=forecast)
    thread.start()
    forecasting.wait()
    found = outlook.course()
    done.set()
    thread.join()
    assert found.complete
    assert found == History(one).course()


def test_without_time_all_that_is_known_is_that_it_takes_more(coarse):
    outlook = Outlook(one := open_campaign(coarse))
    outlook.remaining.worked_out(seconds=0)
    left = RemainingOut.from_domain(one, outlook.remaining.at_hand())
    assert (left.median, left.low, left.high, left.more_than, left.preliminary) == (None, None, None, 0, False)
    effort = PlanOut.from_domain(one, outlook.plan(), 3)
    assert (effort.judgments, effort.low, effort.high, effort.hours, effort.preliminary) == (None, 0, None, None, False)


def test_there_are_no_figures_while_the_forecast_is_being_made(coarse):
    outlook = Outlook(one := open_campaign(coarse))
    left = RemainingOut.from_domain(one, outlook.remaining.at_hand())
    assert (left.median, left.low, left.high, left.more_than, left.preliminary) == (None, None, None, None, True)
    effort = PlanOut.from_domain(one, outlook.plan(), 1)
    assert (effort.judgments, effort.low, effort.high, effort.hours, effort.preliminary) == (
        None,
        None,
        None,
        None,
        True,
    )


@pytest.mark.slow
def test_the_last_forecast_is_at_hand_while_the_next_is_worked_out_beside_the_requests(coarse):
    outlook = Outlook(one := open_campaign(coarse, "judgments=20"))
    estimate = outlook.remaining
    assert estimate.at_hand() is None  # no request waits
    assert outlook.plan() is None
    estimate.go_on()
    first = estimate.worked_out()
    judge(one, 3, np.random.default_rng(5))
    estimate.go_on()  # nobody has asked since
    assert estimate.at_hand() is first
    assert outlook.plan() is None  # it needs a forecast of the present state
    with estimate._working:  # as during the work
        thread = threading.Thread(target=estimate.go_on)
        thread.start()
        assert all(estimate.at_hand() is first for _ in range(3))
    thread.join()
    current, found = estimate.at_hand()
    assert (current.number, found.counts) == (3, (17,) * 10)
    looked, effort = outlook.plan()
    assert effort.counts == found.counts
    told = PlanOut.from_domain(
        one, (looked, replace(effort, seconds=99.0)), 1
    )  # from before answers that change the pace
    assert told.seconds_per_judgment == usual_seconds(one.campaign.pace()) != 99


def test_an_old_forecast_is_not_told_to_those_who_come_back_later(coarse, monkeypatch):
    estimate = Outlook(one := open_campaign(coarse, "judgments=20")).remaining
    first = estimate.worked_out()
    monkeypatch.setattr("audiosim.service.collections.outlook.LOOKED_AT_S", 0.0)
    assert estimate.at_hand() is first  # still of this state
    judge(one, 3, np.random.default_rng(5))
    assert estimate.at_hand() is None


@pytest.mark.slow
def test_an_estimate_whose_process_failed_is_tried_again(coarse, monkeypatch):
    estimate = Outlook(one := open_campaign(coarse, "judgments=20", "joint")).remaining
    estimate.worked_out()
    judge(one, 3, np.random.default_rng(5))
    estimate.at_hand()
    one.judging.errands.start()
    with monkeypatch.context() as without:
        without.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(OSError, match="nowhere"):
            estimate.go_on()
    estimate.go_on()
    assert estimate.at_hand()[0].number == 3


def settled(http, path, **asked):
    """An estimate of all campaigns, or a history of all moments, computed in the background."""
    end = time.monotonic() + 180
    while unsettled(found := http.get(path, params=asked).json()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def unsettled(found):
    return found["preliminary"] if "preliminary" in found else not found["complete"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["uniform", "joint"])
def test_page_plan_and_library_have_one_forecast_that_moves_only_with_the_judgments(coarse, model):
    one = open_campaign(coarse, "confidence=0.8", model)
    judge(one, 4, np.random.default_rng(6))
    _, judgments = one.campaign.snapshot()
    outlook, again = Outlook(one), Outlook(one)
    for each in (outlook, again):
        each.remaining.worked_out()
    current, found = outlook.plan()
    expected = plan(replace(coarse, judgments=judgments), model, stopping_rule="confidence=0.8")
    assert (found.counts, found.judgments, found.interval) == (expected.counts, expected.judgments, expected.interval)
    assert found.unmet == expected.unmet
    assert again.plan()[1].to_dict() == found.to_dict()
    assert outlook.plan()[1] is found
    assert current.number == one.campaign.current_state.number
    left = RemainingOut.from_domain(one, outlook.remaining.at_hand())
    assert (left.median, left.low, left.high) == (expected.judgments, *expected.interval)


def test_a_collection_has_one_outlook_until_it_is_served_anew(coarse):
    outlooks, one, other = Outlooks(), open_campaign(coarse), open_campaign(coarse)
    first = outlooks.of(one)
    assert outlooks.of(one) is first
    assert outlooks.current({"coarse": one}) == [("coarse", first)]
    assert outlooks.of(other) is not first
    assert outlooks.current({"coarse": one}) == []


def test_what_is_served_no_longer_is_not_held_by_the_outlook_that_was_asked_for(coarse):
    outlooks, one = Outlooks(), open_campaign(coarse)
    outlooks.of(one)
    gone = weakref.ref(one)
    outlooks.of(other := open_campaign(coarse))
    del one
    gc.collect()
    assert gone() is None
    assert outlooks.of(other) is outlooks.of(other)


def test_a_course_that_somebody_looks_at_goes_on_beside_the_requests(coarse):
    outlook = Outlook(one := open_campaign(coarse))
    judge(one, 8, np.random.default_rng(3))
    outlook.go_on(lambda: True)  # nobody has looked yet
    assert outlook.course(seconds=0).moments == ()
    outlook.go_on(lambda: True)
    assert outlook.course(seconds=0) == History(one).course()


def test_while_one_works_at_a_course_others_are_told_what_is_known(coarse):
    one = open_campaign(coarse)
    judge(one, 8, np.random.default_rng(3))
    history, told = History(one), []

    def ask_meanwhile():
        if len(told) < 4:
            told.append(history.course())
        return True

    assert history.course(ask_meanwhile).complete
    assert [len(course.moments) for course in told] == [0, 1, 2, 3]
    assert not any(course.complete for course in told)


def test_leisure_rests_as_long_as_it_works_and_ends():
    start, worked = time.monotonic(), time.thread_time()
    left = Leisure(0.05, slice_s=0.001)
    while left():
        pass
    worked = time.thread_time() - worked
    assert worked >= 0.05
    assert time.monotonic() - start > 1.5 * 0.05


@pytest.fixture(scope="module")
def server(commanded, folders, tmp_path_factory):
    """A server open to everybody on this machine, with all grades equally probable."""
    root = tmp_path_factory.mktemp("organising")
    database = f"sqlite:///{root / 'campaign.db'}"
    with commanded(
        folders, root / "log", "--db", database, "--model", "uniform", "--stopping-rule", "judgments=6"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def http(server):
    with httpx.Client(base_url=server.url, timeout=180) as client:
        yield client


def judged(http, assessor, grades, path=COARSE, scale="broad"):
    for grade in grades:
        (pair,) = http.post(f"{path}/next", json={"assessor": assessor}).json()["pairs"]
        body = {"query": pair["query"], "document": pair["document"], "assessor": assessor, scale: grade}
        assert http.post(f"{path}/judgments", json=body).status_code == 201


@pytest.mark.slow
def test_an_organiser_is_told_all_of_it_over_http(http, coarse):
    judged(http, "ann", [2, 2, 2, 2])
    judged(http, "bob", [0, 0, 0])
    history = settled(http, f"{COARSE}/course")
    assert (history["complete"], history["goal"]) == (True, "judgments=6")
    assert [moment["judged"] for moment in history["moments"]] == list(range(8))
    assert (history["met"]["judged"], history["moments"][0]["time"]) == (6, None)
    campaign = http.get(f"{COARSE}/campaign").json()
    assert history["moments"][-1]["confidence"] == pytest.approx(campaign["confidence"], rel=1e-12)
    assert history["state"] == campaign["state"]
    left = settled(http, f"{COARSE}/remaining")
    assert [left[name] for name in ("draws", "low", "median", "high", "more_than")] == [10, 0, 0, 0, None]
    assert left["unjudged"] == len(build_pool(coarse).pairs) - 7
    effort = settled(http, f"{COARSE}/plan", listeners=2)
    assert [effort[name] for name in ("goal", "judged", "judgments", "low", "high", "hours")] == [
        "judgments=6",
        7,
        0,
        0,
        0,
        0,
    ]
    assert (effort["listeners"], effort["campaigns"], effort["state"]) == (2, 10, campaign["state"])
    assert effort["otherwise"][0]["judgments"] == len(build_pool(coarse).pairs)
    assert http.get(f"{COARSE}/plan", params={"listeners": 0}).status_code == 422
    people = http.get(f"{COARSE}/judges", params={"machines": "false"}).json()
    assert [(one["judge"], one["judgments"]) for one in people["judges"]] == [("ann", 4), ("bob", 3)]
    assert people == http.get(f"{COARSE}/judges").json()
    ann, bob = http.get(f"{COARSE}/assessors").json()["assessors"]
    # Every grade of 0, 1, 2 is equally probable, so the expectation is 1 for every pair.
    assert (ann["assessor"], ann["judgments"], ann["to_model"]) == ("ann", 4, 0.5)
    assert (bob["assessor"], bob["judgments"], bob["to_model"], bob["shared"]) == ("bob", 3, -0.5, 0)


@pytest.mark.parametrize("what", ["remaining", "plan"])
def test_an_estimate_of_the_state_before_is_told_at_once_and_the_next_appears(http, what, wait_until):
    path = "/v1/collections/small"
    http.get(f"{path}/{what}").raise_for_status()
    judged(http, "ann", [20], path, "fine")
    now = http.get(f"{path}/campaign").raise_for_status().json()["state"]
    assert http.get(f"{path}/{what}").json()["state"] <= now  # the next state, if it was done in the meantime
    wait_until(lambda: http.get(f"{path}/{what}").json()["state"] == now)


@pytest.mark.parametrize("what", ["course", "remaining", "plan", "assessors", "invitations"])
def test_a_collection_that_there_is_not_has_nothing_to_show(http, what):
    answer = http.get(f"/v1/collections/other/{what}")
    assert answer.status_code == 404
    assert "unknown collection 'other'" in answer.json()["detail"]


def test_without_tokens_an_invitation_is_a_link_with_a_name_and_locks_nobody_out(http):
    assert http.get(f"{COARSE}/invitations").json() == {"tokens": False, "invited": []}
    made = http.post(f"{COARSE}/invitations", json={"name": "Zoë & co"})
    assert made.status_code == 201
    link = urlsplit(made.json()["link"])
    assert (link.path, parse_qs(link.fragment)) == ("/judge/coarse", {"name": ["Zoë & co"]})
    assert http.get(f"{COARSE}/campaign").status_code == 200
    refused = http.post(f"{COARSE}/invitations", json={"name": "a\nb"})
    assert refused.status_code == 422
    assert refused.json()["detail"] == r"an invitation needs a name of 1 to 200 printable characters, got 'a\nb'"


@pytest.fixture(scope="module")
def locked(commanded, folders, tmp_path_factory):
    """A server with the tokens of two organisers, one only for the other collection; sends requests with a token."""
    root = tmp_path_factory.mktemp("invitations")
    database = f"sqlite:///{root / 'campaign.db'}"
    store = TokenStore(database)
    secrets = {name: store.create(name, "organiser", of) for name, of in (("olga", ""), ("sam", "small"))}
    store.close()
    with (
        commanded(folders, root / "log", "--db", database) as running,
        httpx.Client(base_url=running.url, timeout=180) as client,
    ):

        def call(method, path, who, **more):
            return client.request(method, path, headers={"Authorization": f"Bearer {secrets.get(who, who)}"}, **more)

        yield call


@pytest.mark.slow
def test_an_invitation_lets_its_holder_judge_at_once_and_nothing_else(locked):
    made = locked("POST", f"{COARSE}/invitations", "olga", json={"name": "ivy", "days": 2})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    link = urlsplit(made.json()["link"])
    assert link.path == "/judge/coarse"
    (token,) = parse_qs(link.fragment)["token"]
    assert locked("POST", f"{COARSE}/next", token, json={}).json()["assessor"] == "ivy"
    for method, path in [
        ("GET", f"{COARSE}/ranking"),
        ("GET", f"{COARSE}/course"),
        ("GET", f"{COARSE}/remaining"),
        ("GET", f"{COARSE}/plan"),
        ("GET", f"{COARSE}/assessors"),
        ("GET", f"{COARSE}/invitations"),
        ("POST", f"{COARSE}/invitations"),
        ("POST", "/v1/collections/small/next"),
    ]:
        assert locked(method, path, token, json={"name": "x"}).status_code == 403, path
    ends = datetime.fromisoformat(made.json()["expires"]) - datetime.now(UTC)
    assert timedelta(days=2) - timedelta(minutes=5) < ends <= timedelta(days=2)


def test_the_invited_are_listed_without_their_tokens(locked):
    locked("POST", f"{COARSE}/invitations", "olga", json={"name": "jan"})
    shown = locked("GET", f"{COARSE}/invitations", "olga")
    assert shown.json()["tokens"] is True
    jan = next(one for one in shown.json()["invited"] if one["name"] == "jan")
    assert (jan["expires"], jan["ended"]) == (None, False)
    assert "audiosim_" not in shown.text
    assert locked("GET", "/v1/collections/small/invitations", "olga").json()["invited"] == []
    again = locked("POST", f"{COARSE}/invitations", "olga", json={"name": "jan"})
    assert again.status_code == 422
    assert again.json()["detail"] == "there is a token of jan already; withdraw it first, or take another name"


def test_a_withdrawn_invitation_ends_at_once(locked):
    link = locked("POST", f"{COARSE}/invitations", "olga", json={"name": "kim"}).json()["link"]
    (token,) = parse_qs(urlsplit(link).fragment)["token"]
    assert locked("POST", f"{COARSE}/next", token, json={}).status_code == 200
    left = locked("POST", f"{COARSE}/invitations/withdraw", "olga", json={"name": "kim"})
    assert "kim" not in [one["name"] for one in left.json()["invited"]]
    assert locked("POST", f"{COARSE}/next", token, json={}).status_code == 401


@pytest.mark.parametrize("name", ["olga", "sam", "nobody"])
def test_only_those_invited_to_a_collection_can_be_uninvited(locked, name):
    refused = locked("POST", f"{COARSE}/invitations/withdraw", "olga", json={"name": name})
    assert refused.status_code == 422
    assert refused.json()["detail"] == f"'{name}' is not invited to judge coarse"


def test_an_organiser_of_one_collection_invites_to_that_alone(locked):
    assert locked("POST", f"{COARSE}/invitations", "sam", json={"name": "lea"}).status_code == 403
    assert locked("POST", "/v1/collections/small/invitations", "sam", json={"name": "lea"}).status_code == 201


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "x", "days": 0}, {"name": "x" * 201}, {"name": "x", "a": 1}]
)
def test_an_invitation_that_makes_no_sense_is_refused(locked, body):
    assert locked("POST", f"{COARSE}/invitations", "olga", json=body).status_code == 422
