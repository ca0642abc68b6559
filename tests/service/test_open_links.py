"""Open links: anybody can join by one address, can continue later, and is done after their quota."""

from datetime import UTC, datetime, timedelta

import pytest

from audiosim.campaign import Campaign
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.errors import ClosedError, InputError
from audiosim.service.access.access import Access
from audiosim.service.access.links import NAME, JoiningLimits, OpenLink, OpenLinkStore
from audiosim.service.access.tokens import TokenStore
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.quotas import is_done

COARSE = "/v1/collections/coarse"
DEVICE, OTHER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def app(coarse, tmp_path):
    """An application that requires tokens."""
    database = f"sqlite:///{tmp_path / 'campaign.db'}"
    store = TokenStore(database)
    app = create_app(
        [coarse], "uniform", judging=Judging(database, listen_s=0.0), access=Access(tokens=store, locked=True)
    )
    yield app, {"Authorization": f"Bearer {store.create('olga', 'organiser')}"}
    store.close()


def made(http, olga, **settings):
    answer = http.post(f"{COARSE}/open-links", json={"name": "crowd", **settings}, headers=olga)
    assert answer.status_code == 201, answer.text
    return answer.json()["link"].rpartition("/")[2]


def joined(http, code, device=DEVICE, **more):
    return http.post(f"{COARSE}/join", json={"code": code, "device": device, **more})


def bearer(answer):
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['token']}"}


def answer_pairs(http, who, count):
    """Answer `count` pairs, or all pairs handed out; returns their number."""
    pairs = http.post(f"{COARSE}/next", json={"count": count}, headers=who).json()["pairs"]
    for pair in pairs:
        body = {"query": pair["query"], "document": pair["document"], "broad": 1}
        said = http.post(f"{COARSE}/judgments", json=body, headers=who)
        assert said.status_code == 201, said.text
    return len(pairs)


def completion(http, who):
    return http.get(f"{COARSE}/completion", headers=who).json()


@pytest.mark.slow
def test_whoever_opens_the_link_judges_under_a_drawn_name_and_is_recognised(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code = made(http, olga, people=2)
        assert http.get(f"{COARSE}/join", params={"code": code}).json() == {"parameter": "", "ended": None}
        first, second = joined(http, code), joined(http, code, OTHER)
        names = [one.json()["name"] for one in (first, second)]
        assert all(map(NAME.fullmatch, names))
        assert names[0] != names[1]
        third = joined(http, code, "another browser's key")
        assert (third.status_code, third.json()["detail"]) == (409, "all places are taken")
        assert answer_pairs(http, bearer(first), 2) == 2
        again = joined(http, code)
        assert again.json()["name"] == names[0]
        assert len(http.get(f"{COARSE}/answers", headers=bearer(again)).json()["answers"]) == 2
        # The previous token has expired, and one person cannot use another person's.
        assert http.get(f"{COARSE}/answers", headers=bearer(first)).status_code == 401
        assert http.get(f"{COARSE}/answers", headers=bearer(second)).json()["answers"] == []
        assert http.get(f"{COARSE}/ranking", headers=bearer(again)).status_code == 403
        assert http.get(f"{COARSE}/participants", headers=bearer(again)).status_code == 403


@pytest.mark.slow
def test_an_identifier_from_the_address_is_checked_kept_for_the_organiser_and_in_no_export(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code = made(http, olga, parameter="PROLIFIC_PID")
        lacking, wrong = joined(http, code), joined(http, code, reference="{{%PROLIFIC_PID%}}")
        assert "lacks your identifier: expected ?PROLIFIC_PID=" in lacking.json()["detail"]
        assert "PROLIFIC_PID: expected 1 to 100 letters, digits and . _ ~ : -, got" in wrong.json()["detail"]
        assert joined(http, code, reference="x" * 101).status_code == 422
        one = joined(http, code, reference="5f3c2d")
        assert answer_pairs(http, bearer(one), 1) == 1
        elsewhere = joined(http, code, OTHER, reference="5f3c2d")
        assert elsewhere.json()["name"] == one.json()["name"]
        beside = joined(http, code, reference="another")  # on the same computer
        assert beside.json()["name"] != one.json()["name"]
        people = http.get(f"{COARSE}/participants", headers=olga).json()["participants"]
        assert [(row["reference"], row["answers"], row["link"]) for row in people] == [
            ("5f3c2d", 1, "crowd"),
            ("another", 0, "crowd"),
        ]
        for form in ("csv", "jsonl", "log", "qrels"):
            assert "5f3c2d" not in http.get(f"{COARSE}/judgments?format={form}", headers=olga).text
        assert http.get(f"{COARSE}/invitations", headers=olga).json()["invited"] == []


@pytest.mark.slow
def test_a_person_is_done_after_their_quota_and_then_gets_the_code(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code = made(http, olga, judgments=3, completion="C0DE", return_to="https://example.org/done?cc=C0DE")
        who = bearer(joined(http, code))
        assert answer_pairs(http, who, 2) == 2
        before = completion(http, who)
        assert (before["answers"], before["quota"], before["done"], before["completion"]) == (2, 3, False, None)
        assert answer_pairs(http, who, 20) == 1
        assert answer_pairs(http, who, 20) == 0
        after = completion(http, who)
        assert (after["done"], after["completion"], after["return_to"]) == (
            True,
            "C0DE",
            "https://example.org/done?cc=C0DE",
        )
        assert http.post(f"{COARSE}/undo", json={}, headers=who).status_code == 201
        assert completion(http, who)["completion"] is None
        assert answer_pairs(http, who, 20) == 1


@pytest.mark.slow
def test_a_link_that_is_closed_or_whose_campaign_is_lets_nobody_new_in(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code = made(http, olga)
        who = joined(http, code)
        assert http.post(f"{COARSE}/close", json={}, headers=olga).status_code == 201
        assert joined(http, code, OTHER).json()["detail"] == "judging has ended"
        assert http.post(f"{COARSE}/resume", json={}, headers=olga).status_code == 201
        closed = http.post(f"{COARSE}/open-links/close", json={"name": "crowd"}, headers=olga).json()
        assert [(link["ended"], link["joined"]) for link in closed["links"]] == [("this link is closed", 1)]
        assert joined(http, code, OTHER).json()["detail"] == "this link is closed"
        assert joined(http, code).json()["name"] == who.json()["name"]
        again = http.post(f"{COARSE}/open-links/close", json={"name": "crowd"}, headers=olga)
        assert again.json()["detail"] == "there is no open link 'crowd' to coarse"
        assert joined(http, "no such code").status_code == 404
        small = http.post("/v1/collections/small/join", json={"code": code, "device": DEVICE})
        assert small.status_code == 404


def test_without_tokens_a_link_draws_a_name_and_locks_nobody_out(coarse, in_process):
    with in_process(create_app([coarse], "uniform")) as http:
        assert http.get(f"{COARSE}/open-links").json() == {"collection": "coarse", "links": []}
        code = made(http, {})
        who = joined(http, code).json()
        assert who["token"] is None
        assert joined(http, code).json() == who
        assert http.get(f"{COARSE}/open-links").json()["links"][0]["joined"] == 1


def test_people_who_come_at_the_same_moment_do_not_exceed_the_places(database):
    one, other = OpenLinkStore(database), OpenLinkStore(database)
    link = one.create(OpenLink("", "crowd", "coarse", "", people=1))
    assert other.known("coarse", link.code, "", DEVICE) == (link, None)
    one.join(link, "", DEVICE)
    with pytest.raises(ClosedError, match="all places are taken"):
        other.join(link, "", OTHER)
    assert [one.joined for one in other.links("coarse")] == [1]


def test_the_same_person_who_comes_twice_at_once_takes_one_place(database):
    store = OpenLinkStore(database)
    link = store.create(OpenLink("", "crowd", "coarse", "", parameter="PID"))
    first = store.join(link, "ann", DEVICE)
    assert store.join(link, "ann", DEVICE) == first
    assert [one.joined for one in store.links("coarse")] == [1]


def test_a_link_ends(tmp_path):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = OpenLinkStore(f"sqlite:///{tmp_path / 'links.db'}", lambda: now)
    link = store.create(OpenLink("", "crowd", "coarse", ""), days=2)
    now += timedelta(days=2)
    with pytest.raises(ClosedError, match="this link has ended"):
        store.join(link, "", DEVICE)
    with pytest.raises(InputError, match="there is an open link 'crowd' already"):
        store.create(link)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"people": 5001}, "people must be from 1 to 5000, got 5001"),
        ({"parameter": "lang"}, "parameter: expected a letter, then up to 63 letters"),
        ({"parameter": "a=b"}, "and none of ask, batch, break, lang, listen, got 'a=b'"),
        ({"return_to": "javascript:alert(1)"}, "return_to: expected an address that begins with https:// or http://"),
        ({"return_to": "https://"}, "got 'https://'"),
        ({"completion": "a\nb"}, "completion: expected up to 200 printable characters"),
        ({"judgments": -1}, "judgments of a person must be from 0 to 10000, got -1"),
        ({"name": " "}, "an open link needs a name of 1 to 200 printable characters"),
    ],
)
def test_wrong_settings_are_one_clear_line(settings, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(".", r"\.")):
        OpenLink(**{"code": "", "name": "crowd", "collection": "coarse", "created": "", **settings})


def test_one_address_brings_a_hundred_people_an_hour_and_all_a_thousand():
    now = 0.0
    limits = JoiningLimits(lambda: now)
    assert [limits.comes("here") for _ in range(101)] == [0] * 100 + [3600]
    assert sum(limits.comes(f"client {place // 100}") == 0 for place in range(1000)) == 900
    now = 3600.0
    assert limits.comes("here") == 0


@pytest.mark.slow
def test_who_asks_too_often_is_told_when_to_come_back(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code, limits = made(http, olga), app.state.service.joining
        while not (wait_s := limits.comes("127.0.0.1/32")):
            pass
        refused = joined(http, code)
        assert (refused.status_code, int(refused.headers["Retry-After"]) <= wait_s) == (429, True)
        assert "too many people came from this address" in refused.json()["detail"]


@pytest.mark.slow
def test_somebody_sees_all_that_is_stored_about_them_and_nothing_of_others(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code = made(http, olga, parameter="PID")
        one, other = (joined(http, code, reference=name) for name in ("5f3c2d", "another"))
        assert answer_pairs(http, bearer(one), 2) == 2
        own = http.get(f"{COARSE}/personal-data", headers=bearer(one)).json()
        assert (own["reference"], own["link"]) == ("5f3c2d", "crowd")
        assert sorted(line["kind"] for line in own["log"]) == ["judgment", "judgment", "lease", "lease"]
        assert {line["assessor"] for line in own["log"]} == {own["assessor"]}
        documents = {line["document"] for line in own["log"]}
        assert documents.isdisjoint(f"d{place:02}" for place in range(20))  # as the person may know these songs
        theirs = {"assessor": other.json()["name"]}
        assert http.get(f"{COARSE}/personal-data", params=theirs, headers=bearer(one)).status_code == 403
        seen = http.get(f"{COARSE}/personal-data", params={"assessor": own["assessor"]}, headers=olga).json()
        assert seen["reference"] == "5f3c2d"
        assert {line["document"] for line in seen["log"]} <= {f"d{place:02}" for place in range(20)}


@pytest.mark.slow
def test_a_deletion_keeps_the_answers_and_forgets_whose_they_are(app, in_process):
    app, olga = app
    with in_process(app) as http:
        app.state.service.access.reload()
        code = made(http, olga, parameter="PID")
        one, other = (joined(http, code, reference=name) for name in ("5f3c2d", "another"))
        names = [who.json()["name"] for who in (one, other)]
        assert [answer_pairs(http, bearer(who), 2) for who in (one, other)] == [2, 2]
        before = http.get(f"{COARSE}/judgments?format=csv", headers=olga).text
        refused = http.post(f"{COARSE}/forget", json={"set_aside": True}, headers=bearer(one))
        assert refused.json()["detail"] == "only an organiser decides that answers no longer count"
        gone = http.post(f"{COARSE}/forget", json={}, headers=bearer(one))
        assert gone.json() == {"assessor": names[0], "answers": 2, "count": True}
        assert http.get(f"{COARSE}/answers", headers=bearer(one)).status_code == 401
        assert http.get(f"{COARSE}/judgments?format=csv", headers=olga).text == before
        assert "5f3c2d" not in http.get(f"{COARSE}/participants", headers=olga).text
        again = http.post(f"{COARSE}/forget", json={"assessor": names[0]}, headers=olga)
        assert "was deleted already, or never joined: only people who joined by an open link" in again.json()["detail"]
        assert joined(http, code, reference="5f3c2d").json()["name"] not in names  # a new person
        aside = http.post(f"{COARSE}/forget", json={"assessor": names[1], "set_aside": True}, headers=olga)
        assert aside.json() == {"assessor": names[1], "answers": 2, "count": False}
        ann = http.post(f"{COARSE}/forget", json={"assessor": "ann"}, headers=olga)
        assert ann.json()["detail"].startswith("ann did not join by an open link: only people who")


@pytest.mark.slow
def test_after_the_day_that_the_task_says_nobody_is_known_any_more(coarse, tmp_path, in_process, wait_until):
    coarse.save(folder := tmp_path / "coarse")
    (folder / "task.toml").write_text("kept_until = 2020-02-29\nbreak_after = 7\n", encoding="utf-8")
    app = create_app([Collection.load(folder)], "uniform")
    with in_process(app) as http:
        asked = http.get(f"{COARSE}/questions").json()
        assert (asked["kept_until"], asked["break_after"]) == ("2020-02-29", 7)
        code = made(http, {}, parameter="PID")
        assert joined(http, code, reference="5f3c2d").status_code == 200
        assert len(http.get(f"{COARSE}/participants").json()["participants"]) == 1
        with app.state.service.running():
            wait_until(lambda: http.get(f"{COARSE}/participants").json()["participants"] == [])


@pytest.mark.slow
def test_nobody_is_handed_a_pair_before_the_headphone_check_is_passed(coarse, tmp_path, in_process):
    folder = tmp_path / "coarse"
    coarse.save(folder)
    (folder / "task.toml").write_text("headphones = true\nconsent = 'Yes.'\n", encoding="utf-8")
    database = f"sqlite:///{tmp_path / 'headphones.db'}"
    names = {}

    def check(http, who, right, key=""):
        body = {"assessor": names[who], "moment": "headphones", "trials_right": right}
        return http.post(f"{COARSE}/questionnaire", json=body, headers={"Idempotency-Key": key} if key else {})

    def state(http, who):
        found = http.get(f"{COARSE}/answers", params={"assessor": names[who]}).json()
        assert found["questionnaires"] == []
        return found["headphones"]

    def handed(http, who):
        return http.post(f"{COARSE}/next", json={"assessor": names[who]})

    with in_process(create_app([Collection.load(folder)], "uniform", judging=Judging(database))) as http:
        assert http.get(f"{COARSE}/questions").json()["headphones"]
        code = made(http, {}, completion="D0NE", screened_out="N0PE", screened_return_to="https://example.org/out")
        for who in ("passes", "fails"):
            names[who] = joined(http, code, f"the device that {who}").json()["name"]
            assert state(http, who) == "due"
            refused = handed(http, who)
            assert refused.status_code == 403
            assert "has not passed the headphone check yet" in refused.json()["detail"]
            compared = http.post(f"{COARSE}/comparisons/next", json={"assessor": names[who]})
            assert compared.status_code == 403
        for right in (None, 7):
            assert check(http, "fails", right).status_code == 422
        # Five out of six is a pass, as published; a result sent twice with one key counts once.
        sent = [check(http, "fails", 4, "one") for _ in range(2)]
        assert [one.status_code for one in sent] == [201, 200]
        assert (state(http, "fails"), handed(http, "fails").status_code) == ("again", 403)
        assert check(http, "fails", 4, "two").status_code == 201
        assert check(http, "passes", 2).status_code == check(http, "passes", 5).status_code == 201
        assert (state(http, "passes"), handed(http, "passes").status_code) == ("passed", 200)
    with in_process(create_app([Collection.load(folder)], "uniform", judging=Judging(database))) as http:
        again = check(http, "fails", 6)
        assert again.status_code == 409
        assert again.json()["detail"].startswith("the headphone check is over: ")
        refused = handed(http, "fails")
        assert refused.status_code == 403
        assert refused.json()["detail"].endswith("is screened out: the headphone check was failed twice")
        out = http.get(f"{COARSE}/completion", params={"assessor": names["fails"]}).json()
        found = [out[name] for name in ("screened", "done", "completion", "return_to")]
        assert found == [True, False, "N0PE", "https://example.org/out"]
        people = http.get(f"{COARSE}/participants").json()["participants"]
        assert {row["name"]: row["screened"] for row in people} == {names["passes"]: False, names["fails"]: True}
    (folder / "task.toml").unlink()
    with in_process(create_app([Collection.load(folder)], "uniform", judging=Judging(database))) as http:
        assert (state(http, "fails"), handed(http, "fails").status_code) == (None, 200)
        refused = check(http, "fails", 6)
        assert refused.status_code == 422
        assert refused.json()["detail"] == "no headphone check is asked for here: task.toml has none"


def test_a_person_with_pairs_in_their_own_hands_is_not_done_and_one_without_is(coarse):
    campaign, grade = Campaign(coarse), coarse.scale.levels[0]
    held = campaign.ask(2, "pid")
    others = [pair for pair in campaign.selection.pool.pairs if pair not in held]
    campaign.tell_all(Judgment(*pair, grade, "ann") for pair in others)
    assert not is_done(campaign, "pid", 2, 4)
    assert is_done(campaign, "ann", len(others), None)
    for pair in held:
        campaign.tell(Judgment(*pair, grade, "pid"))
    assert is_done(campaign, "pid", 2, 4)
