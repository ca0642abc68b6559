"""Many collections in one service: each is opened on demand, the least used is closed, and nothing is lost."""

import shutil
from functools import partial
from types import SimpleNamespace

import pytest

from audiosim.campaign import DatabaseStore
from audiosim.campaign.event import Event
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, Run
from audiosim.errors import InputError, StoreError
from audiosim.service.access.links import OpenLinkStore
from audiosim.service.collections.additions import Receiver
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.imports import Delivery, ImportStore
from audiosim.service.collections.open import CollectionSource, UnopenedError
from audiosim.service.collections.outlook import Outlooks
from audiosim.service.collections.shelf import Served
from audiosim.service.process.loops import Loop
from audiosim.service.tasks.cards import Cards
from audiosim.service.tasks.keeper import Keeper

NAMES = ["one", "two", "three", "four", "five"]


@pytest.fixture
def places(coarse, tmp_path):
    """Five folders with the same collection."""
    for name in NAMES:
        coarse.save(tmp_path / name)
    return [tmp_path / name for name in NAMES]


def served_from(places, database=None, keep_open=2):
    sources = [CollectionSource.of_folder(place, partial(Collection.load, place)) for place in places]
    return Served(sources, {}, Judging(database), keep_open=keep_open)


def judge(served, name, grade=2.0):
    campaign = served.collection(name).campaign
    (pair,) = campaign.ask(assessor="ann")
    return campaign.tell(Judgment(*pair, grade, "ann"))


@pytest.mark.slow
def test_a_server_of_many_lists_all_and_loses_no_judgment_of_those_it_closes(commanded, places, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    told = {}
    with commanded(places, tmp_path / "log", "--db", url, AUDIOSIM_KEEP_OPEN="2") as server, server.client() as http:
        assert server.says("serving 5 collections at")
        listed = http.get("/v1/collections").json()
        assert [one["identifier"] for one in listed] == NAMES
        assert [one["judgments"] for one in listed] == [0] * 5
        for name in NAMES * 2:
            (pair,) = http.post(f"/v1/collections/{name}/next", json={"assessor": "ann"}).json()["pairs"]
            said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "broad": 1}
            answer = http.post(f"/v1/collections/{name}/judgments", json=said)
            assert answer.status_code == 201
            told.setdefault(name, []).append(answer.json()["number"])
        listed = http.get("/v1/collections").json()
        assert [one["judgments"] for one in listed] == [2] * 5
        assert [one["state"] for one in listed] == [told[name][-1] for name in NAMES]
        assert http.get("/health/ready").json() == {"status": "ready"}
        assert http.get("/judge/five").status_code == 200
        assert http.get("/judge/six").status_code == 404
        assert "'six'" in http.get("/v1/collections/six").json()["detail"]
        assert server.stop() == 0
    for name in NAMES:
        kinds = [event.kind for _, event in DatabaseStore(url, name).read()]
        assert kinds.count("judgment") == 2


@pytest.mark.slow
def test_only_so_many_are_open_and_those_of_use_stay(places):
    served = served_from(places)
    assert list(served.collections.open) == ["one"]
    first = served.collection("one")
    served.collection("two")
    assert served.collection("one") is first
    served.collection("three")
    assert list(served.collections.open) == ["one", "three"]
    with served.collections.held("one"):
        served.collection("four")
        served.collection("five")
        assert list(served.collections.open) == ["one", "five"]
    assert served.collections.closed == 3


@pytest.mark.slow
def test_few_collections_are_all_open_at_once(places):
    assert list(served_from(places, keep_open=5).collections.open) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["memory", "database"])
def test_a_campaign_that_was_closed_goes_on_where_it_was(places, tmp_path, kept):
    served = served_from(places, None if kept == "memory" else f"sqlite:///{tmp_path / 'log.db'}")
    told = judge(served, "one")
    before = served.collection("one")
    confidence = before.campaign.confidence
    for name in NAMES[1:]:
        judge(served, name)
    after = served.collection("one")
    assert after is not before
    assert after.campaign.record(told.number) == told
    assert after.campaign.confidence == pytest.approx(confidence, rel=1e-9)
    assert judge(served, "one").number > told.number


@pytest.mark.slow
def test_whoever_still_holds_a_closed_collection_writes_to_the_same_log(places, tmp_path):
    served = served_from(places, f"sqlite:///{tmp_path / 'log.db'}")
    held = served.collection("one")
    for name in NAMES[1:]:
        served.collection(name)
    (pair,) = held.campaign.ask(assessor="bob")
    told = held.campaign.tell(Judgment(*pair, 1.0, "bob"))
    assert served.collection("one").campaign.record(told.number) == told
    (other,) = served.collection("one").campaign.ask(assessor="bob")
    again = served.collection("one").campaign.tell(Judgment(*other, 1.0, "bob"))
    held.campaign.sync()
    assert held.campaign.record(again.number) == again


@pytest.mark.slow
def test_a_database_that_is_gone_is_not_made_anew_by_opening_a_collection(places, tmp_path):
    served = served_from(places, f"sqlite:///{tmp_path / 'log.db'}")
    judge(served, "one")
    for name in NAMES[1:4]:
        served.collection(name)
    for file in tmp_path.glob("log.db*"):
        file.rename(file.with_name(f"moved-{file.name}"))
    for name in ("one", "five"):
        with pytest.raises(StoreError, match=r"was moved, removed or replaced|unable to open|was replaced"):
            served.collection(name)
    assert not (tmp_path / "log.db").exists()


@pytest.mark.slow
def test_one_that_cannot_be_opened_is_said_so_and_keeps_no_other_from_it(places, caplog):
    served = served_from(places)
    cards = Cards(served.collections)
    runs = places[3] / "runs.trec"
    whole = runs.read_text()
    runs.write_text(f"{whole}q0 Q0 d01 1 nine S0\n")
    for _ in range(2):
        with pytest.raises(UnopenedError, match="^collection four cannot be opened; the service's log says why$"):
            served.collection("four")
    assert [card.said.identifier for card in cards.all()] == ["one", "two", "three", "five"]
    assert caplog.text.count(f"collection four cannot be opened: {runs}:") == 1
    runs.write_text(whole)
    assert [card.said.identifier for card in cards.all()] == NAMES


@pytest.mark.slow
def test_a_list_opens_for_a_moment_what_was_never_open_and_closes_nothing_of_use(places):
    served = served_from(places)
    cards = Cards(served.collections)
    used = [served.collection("one"), served.collection("two")]
    assert [card.said.identifier for card in cards.all()] == NAMES
    assert list(served.collections.open.values()) == used
    closed = served.collections.closed
    assert [card.said.judgments for card in cards.all()] == [0] * 5
    assert served.collections.closed == closed


@pytest.mark.slow
def test_the_card_of_a_closed_collection_follows_what_another_service_wrote(places, tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    served = served_from(places, url)
    cards = Cards(served.collections)
    assert [card.said.judgments for card in cards.all()] == [0] * 5
    told = judge(served_from(places, url), "four")
    assert [card.said.judgments for card in cards.all()] == [0, 0, 0, 1, 0]
    assert cards.all()[3].line == told.number


@pytest.mark.slow
def test_cards_are_made_one_after_the_other_until_all_are_there(places):
    served = served_from(places)
    cards = Cards(served.collections)
    rounds = 0
    while cards.look_at_next():
        rounds += 1
    assert rounds == 4  # the first is already open
    assert not cards.look_at_next()


def test_what_came_to_a_collection_in_memory_stays_when_it_is_closed(coarse):
    collections = [coarse, Collection("other", "other", coarse.scale, 4, coarse.runs)]
    served = Served(collections, {}, keep_open=1)
    receiver = Receiver(served)
    query, found = next(iter(coarse.runs[0].rankings.items()))
    text = "".join(f"{query} Q0 {name} {rank} {9 - rank} S9\n" for rank, name in enumerate(found, start=1))
    assert receiver.take_runs("coarse", text.encode(), partial=True).fresh
    served.collection("other")
    assert list(served.collections.open) == ["other"]
    assert served.collection("coarse").collection.runs[-1] == Run("S9", {query: found})


@pytest.mark.slow
def test_what_came_to_the_folder_of_a_closed_collection_is_there_when_it_is_opened(places):
    served, other = served_from(places), served_from(places)
    served.collection("two")
    query = next(iter(served.collection("one").collection.runs[0].rankings))
    text = f"{query} Q0 d01 1 9 S9\n"
    for name in NAMES[2:]:
        served.collection(name)
    assert Receiver(other).take_runs("one", text.encode(), partial=True).fresh
    assert served.collection("one").collection.runs[-1].system == "S9"


@pytest.mark.slow
def test_a_file_that_waits_for_a_closed_collection_is_taken_in(places, tmp_path, wait_until):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    served, imports = served_from(places, url), ImportStore(url)
    (pair,) = served.collection("five").campaign.ask()
    for name in NAMES[:3]:
        served.collection(name)
    body = f"{pair.query} 0 {pair.document} 1\n".encode()
    file = imports.add(Delivery.of("five", "", "", body), body)
    access = SimpleNamespace(stale=False)
    keeper = Keeper(served, access, imports, Outlooks(), Cards(served.collections), OpenLinkStore(url))
    keeper.start()
    try:
        wait_until(lambda: imports.get("five", file.number).ended)
    finally:
        keeper.stop()
    assert imports.get("five", file.number).status == "done"
    assert [judgment.grade for judgment in served.collection("five").campaign.judgments()] == [1.0]


def test_failures_of_a_closed_collection_are_forgotten():
    loop = Loop("following", lambda: 1.0)
    for name in ("one", "two"):
        with loop.attempt(name, "writing"):
            raise StoreError("full")
    assert list(loop.reasons()) == ["following: one: writing: full", "following: two: writing: full"]
    loop.forget_all_but({"two"})
    assert list(loop.reasons()) == ["following: two: writing: full"]


def test_a_folder_without_runs_and_no_room_at_all_are_refused_at_once(places, tmp_path):
    shutil.rmtree(tmp_path / "two")
    with pytest.raises(InputError, match="two: no such folder"):
        served_from(places)
    with pytest.raises(InputError, match="^at least 1 collection must be kept open, got 0$"):
        served_from(places[:1], keep_open=0)


@pytest.mark.slow
def test_a_log_in_memory_is_kept_with_what_only_it_knows(places):
    served = served_from(places)
    campaign = served.collection("one").campaign
    campaign.tell(Event("pause", "2026-01-01T00:00:00Z", "ann"))
    for name in NAMES[1:]:
        served.collection(name)
    assert served.collection("one").campaign.state == "paused"


def stamped_sources(places):
    """Sources of folders, and the names of the loaded ones."""
    loaded = []

    def load(place):
        loaded.append(place.name)
        return Collection.load(place)

    return [CollectionSource.of_folder(place, partial(load, place)) for place in places], loaded


@pytest.mark.slow
def test_a_list_after_a_restart_opens_only_collections_whose_files_or_logs_are_others(places, tmp_path):
    judging = Judging(f"sqlite:///{places[0] / 'log.db'}")  # inside a collection's folder, where it is ignored
    sources, _ = stamped_sources(places)
    before = Served(sources, {}, judging, keep_open=2)
    listed = Cards(before.collections)
    written = [card.said for card in listed.all()]
    judge(before, "one")
    listed.keep_open_ones()

    sources, loaded = stamped_sources(places)
    after = Served(sources, {}, judging, keep_open=2)
    cards = Cards(after.collections)
    assert [card.said for card in cards.all()[1:]] == written[1:]
    assert cards.all()[0].said.judgments == written[0].judgments + 1
    scale = after.collection("one").collection.scale
    assert [card.scale for card in cards.all()] == [(scale.name, scale.levels)] * 5
    assert not cards.look_at_next()
    assert loaded == ["one"]  # a service opens its first collection at once

    about = places[2] / "collection.toml"
    about.write_text(about.read_text().replace("The coarse one", "The third"))
    judge(served_from(places, judging.database), "four")
    assert [card.said.name for card in cards.all()] == ["The coarse one"] * 2 + ["The third"] + ["The coarse one"] * 2
    assert [card.said.judgments for card in cards.all()][3] == written[3].judgments + 1
    assert loaded == ["one", "three", "four"]


@pytest.mark.slow
def test_cards_by_another_measure_are_made_anew(places, tmp_path):
    judging = Judging(f"sqlite:///{tmp_path / 'log.db'}", "CG@2")
    first = Cards(served_from(places, judging.database).collections).all()
    sources, loaded = stamped_sources(places)
    again = Cards(Served(sources, {}, judging, keep_open=2).collections).all()
    assert {card.said.measure for card in first} != {card.said.measure for card in again} == {"CG@2"}
    assert loaded == NAMES
