"""The model of a running campaign over HTTP: trying, choosing, training on its judgments, sending a file."""

import json
import threading
from contextlib import ExitStack, closing

import pytest
from msgspec.structs import replace

import audiosim
from audiosim.campaign.archive import backup, restore, verify
from audiosim.campaign.engine import open_engine
from audiosim.campaign.schema import prepare_tables
from audiosim.errors import InputError
from audiosim.ordinal.model import load_model
from audiosim.service.access.callers import scopes_of
from audiosim.service.access.tokens import TokenStore
from audiosim.service.client import Client
from audiosim.service.collections.models import MOST_BYTES, KeptModels, check_model_name
from audiosim.service.collections.trainings import TrainingJob, Trainings, TrainingState, TrainingStore
from audiosim.service.operations import models as campaign_model
from audiosim.training.plan import Plan

SMALL = "/v1/collections/small"
MODEL, EFFECT, MODELS, TRAININGS = (f"{SMALL}/{what}" for what in ("model", "model-effect", "models", "trainings"))
FITS = ["confidence", "fit", "fit_sentence"]


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'campaign.db'}"


@pytest.fixture
def started(commanded, folders, tmp_path, url):
    """Starts a server of the campaign at each call; all end with the test."""
    with ExitStack() as stack:

        def start(name="log", database=url):
            server = stack.enter_context(commanded(folders[:1], tmp_path / name, "--db", database))
            return server, stack.enter_context(server.client())

        yield start


@pytest.fixture(scope="module")
def shared(commanded, folders, tmp_path_factory):
    """A client of a server with a campaign of an unchanged model."""
    root = tmp_path_factory.mktemp("shared")
    options = ("--db", f"sqlite:///{root / 'campaign.db'}")
    with commanded(folders[:1], root / "log", *options) as server, server.client() as http:
        yield http


@pytest.fixture(scope="module")
def output(small):
    """The file of a model trained elsewhere."""
    return json.dumps(audiosim.train(small, Plan(("fGEN",), folds=0)).to_dict()).encode()


def prepare(url):
    """Create the tables of a database like a service."""
    engine = open_engine(url, 60.0)
    prepare_tables(engine)
    engine.dispose()


def judged(http, count=3, assessor="zoe"):
    """Make `count` further judgments by a person."""
    for pair in http.post(f"{SMALL}/next", json={"assessor": assessor, "count": count}).json()["pairs"]:
        said = {"query": pair["query"], "document": pair["document"], "fine": 80, "assessor": assessor}
        assert http.post(f"{SMALL}/judgments", json=said).status_code == 201


def choices(http):
    events = http.get(f"{SMALL}/log?count=1000").json()["events"]
    return [(one["number"], one["details"]["model"]) for one in events if one["kind"] == "model"]


@pytest.mark.slow
def test_the_effect_shown_is_the_ranking_after_the_choice_and_everybody_has_that_model_then(
    started, check_close, wait_until
):
    (first, http), (_, other) = started("one"), started("another")
    judged(http)
    before, exported = http.get(f"{SMALL}/ranking").json(), http.get(f"{SMALL}/judgments?format=csv").text
    shown = http.get(MODEL).json()
    assert (shown["model"], shown["usual"], shown["chosen"], shown["lost"]) == ("joint-fine", "joint", None, "")
    assert {"joint", "mout", "uniform", "historical"} <= set(shown["published"])
    effect = http.get(f"{EFFECT}?model=mout").json()
    assert (effect["model"], effect["other"]) == ("joint-fine", "mout-fine")
    check_close([effect[name] for name in FITS], [before[name] for name in FITS])
    assert http.get(MODEL).json() == shown  # nothing changed
    said = {"model": "mout", "reason": "as announced"}
    made = http.post(MODEL, json=said, headers={"Idempotency-Key": "once"})
    assert made.status_code == 201, made.text
    assert (made.json()["kind"], made.json()["details"]["version"]) == ("model", load_model("mout-fine").version)
    again = http.post(MODEL, json=said, headers={"Idempotency-Key": "once"})
    assert (again.status_code, again.json()["number"]) == (200, made.json()["number"])
    after = http.get(f"{SMALL}/ranking").json()
    assert after["model"] == "mout-fine"
    check_close([effect[f"{name}_by_other"] for name in FITS], [after[name] for name in FITS])
    scores = {one["system"]: one["expectation"] for one in after["systems"]}
    check_close({one["system"]: one["score_by_other"] for one in effect["systems"]}, scores)
    assert {one["system"]: one["rank_by_other"] for one in effect["systems"]} == {
        name: place for place, name in enumerate(scores, start=1)
    }
    assert http.get(f"{SMALL}/judgments?format=csv").text == exported
    wait_until(lambda: other.get(f"{SMALL}/ranking").json()["model"] == "mout-fine")
    check_close(other.get(f"{SMALL}/ranking").json(), after)
    assert http.get(MODEL).json()["chosen"]["details"]["reason"] == "as announced"
    twice = http.post(MODEL, json={"model": "mout"})
    assert (twice.status_code, twice.json()["detail"]) == (409, "the campaign has the model mout already")
    first.stop()
    _, http = started("after a restart")
    check_close(http.get(f"{SMALL}/ranking").json(), after)
    assert http.post(MODEL, json={"model": ""}).status_code == 201
    back = http.get(f"{SMALL}/ranking").json()
    check_close(
        {name: back[name] for name in before if name != "state"}, {n: before[n] for n in before if n != "state"}
    )
    usual = http.post(MODEL, json={"model": ""}).json()["detail"]
    assert usual == "the campaign has its usual model already"
    assert [name for _, name in choices(http)] == ["mout", ""]


def test_models_that_are_none_or_of_another_scale_are_refused_and_nothing_changes(shared, output):
    http = shared
    for name in ("no such", "../x.json", "remote:http://127.0.0.1", "n" * 500):
        refused = http.get(EFFECT, params={"model": name})
        assert (refused.status_code, refused.json()["detail"]) == (422, f"this service keeps no model {name!r:.80}")
        assert http.post(MODEL, json={"model": name}).status_code == 422
    broad = http.get(EFFECT, params={"model": "mout-broad"}).json()["detail"]
    assert broad == "model mout-broad is for the broad scale, the collection's is fine"
    wrong = http.post(MODELS, content=output.replace(b'"terms"', b'"words"'))
    assert wrong.json()["detail"].startswith("line 1: expected the keys ")
    changed = output.replace(b'"rows": ', b'"rows": 1')
    assert http.post(MODELS, content=changed).json()["detail"].startswith("line 1: the checksum does not match")
    assert choices(http) == []


def test_a_model_sent_as_a_file_is_kept_once_and_chosen(started, output):
    server, http = started()
    with Client(server.url) as client:
        kept = client.organiser.add_model("small", output)
        assert (kept.name, kept.origin, kept.scale) == ("trained", "sent as a file", "fine")
        assert client.organiser.add_model("small", output) == kept
        assert [one.name for one in client.organiser.model_choice("small").kept] == ["trained"]
        effect = client.organiser.model_effect("small", "trained")
        assert effect.other_version == kept.version
        client.organiser.choose_model("small", "trained", reason="ours")
        assert client.collection("small").model.version == kept.version
    assert json.loads(http.get(f"{MODELS}?name=trained").content) == json.loads(output)
    assert http.get(f"{MODELS}?name=nothing").json()["detail"] == "this service keeps no model 'nothing'"
    assert http.post(f"{SMALL}/reload").json()["model"]["version"] == kept.version


@pytest.mark.slow
def test_a_model_is_trained_on_the_judgments_so_far_as_the_command_trains_it(
    started, small, wait_until, tmp_path, check_close
):
    server, http = started()
    judged(http)
    rows = http.get(f"{SMALL}/judgments?format=csv").text
    (tmp_path / "judged.csv").write_text(rows)
    small.save(tmp_path / "small")
    asked = {"name": "ours", "features": "fGEN,fART", "folds": 3}
    begun = http.post(TRAININGS, json=asked).json()
    assert (begun["status"], begun["collections"]) == ("running", ["small"])
    busy = http.post(TRAININGS, json=asked | {"name": "more"})
    assert (busy.status_code, busy.json()["detail"]) == (409, "ours is being trained: wait for it, or cancel it")
    wait_until(lambda: http.get(TRAININGS).json()["training"]["status"] != "running")
    found = http.get(TRAININGS).json()
    assert (found["training"]["status"], found["training"]["problem"], found["busy"]) == ("done", "", False)
    assert found["training"]["done"] == found["training"]["total"] > 0
    (kept,) = http.get(MODEL).json()["kept"]
    assert (kept["name"], kept["origin"]) == ("ours", "trained on small")
    collection = audiosim.Collection.load(tmp_path / "small", tmp_path / "judged.csv")
    mine = json.loads(http.get(f"{MODELS}?name=ours").content)
    theirs = json.loads(json.dumps(audiosim.train(collection, Plan(tuple(mine["terms"]), "ours", 3)).to_dict()))
    for name in ("terms", "levels", "coefficients", "thresholds"):
        check_close(mine[name], theirs[name])
    check_close(mine["report"]["scores"], theirs["report"]["scores"])
    assert http.post(MODEL, json={"model": "ours"}).status_code == 201
    taken = http.post(TRAININGS, json=asked).json()["detail"]
    assert taken == "there is another model called ours already: choose another name"
    server.stop()
    server, http = started("after a restart")
    shown = http.get(MODEL).json()
    assert (shown["model"], shown["version"]) == ("ours", kept["version"])


@pytest.mark.slow
def test_a_training_is_cancelled_and_one_that_cannot_be_says_why(shared, wait_until):
    http = shared
    none = http.post(f"{TRAININGS}/cancel")
    assert (none.status_code, none.json()["detail"]) == (409, "no model is being trained")
    assert http.post(TRAININGS, json={"name": "long", "features": "joint", "folds": 20}).status_code == 201
    assert http.post(f"{TRAININGS}/cancel").json()["status"] == "cancelled"
    assert http.post(TRAININGS, json={"name": "short", "features": "fGEN", "folds": 100}).status_code == 201
    wait_until(lambda: http.get(TRAININGS).json()["training"]["status"] == "failed")
    found = http.get(TRAININGS).json()["training"]
    assert (found["name"], found["problem"]) == ("short", "6 queries with judgments are too few for 100 folds")
    for wrong, message in (
        ({"features": "no such"}, "unknown feature"),
        ({"name": "joint"}, "a model cannot be called joint: that is the name of another model, a file or an address"),
        ({"folds": 1}, "expected at least 2 folds, or 0 for none, got 1"),
        ({"others": ["nothing"]}, "unknown collection 'nothing'"),
    ):
        refused = http.post(TRAININGS, json={"name": "wrong"} | wrong)
        assert message in refused.json()["detail"], refused.text
    assert http.get(MODEL).json()["kept"] == []


@pytest.mark.slow
def test_assessors_judge_on_while_the_model_is_changed_and_no_judgment_is_lost(started):
    server, http = started()
    told, stop = [], threading.Event()

    def judge(name):
        with server.client() as own:
            while not stop.is_set():
                pairs = own.post(f"{SMALL}/next", json={"assessor": name, "count": 1}).json()["pairs"]
                if not pairs:
                    return
                said = {"query": pairs[0]["query"], "document": pairs[0]["document"], "fine": 30, "assessor": name}
                answer = own.post(f"{SMALL}/judgments", json=said)
                told.append((answer.status_code, answer.json().get("number")))

    people = [threading.Thread(target=judge, args=[f"p{number}"]) for number in range(2)]
    for one in people:
        one.start()
    for name in ("mout", "joint", "uniform"):
        assert http.post(MODEL, json={"model": name}).status_code == 201
    stop.set()
    for one in people:
        one.join(180)
        assert not one.is_alive()
    assert told
    assert {status for status, _ in told} == {201}
    log = [json.loads(line) for line in http.get(f"{SMALL}/judgments?format=log").text.splitlines()]
    assert {number for _, number in told} == {one["number"] for one in log if one["kind"] == "judgment"}
    assert http.get(f"{SMALL}/campaign").json()["model"] == "uniform"


def test_a_restored_campaign_has_its_model_and_its_kept_models_are_those_of_the_backup(started, output, url, tmp_path):
    server, http = started()
    assert http.post(MODELS, content=output).status_code == 201
    assert http.post(MODEL, json={"model": "trained"}).status_code == 201
    before = http.get(MODEL).json()
    server.stop()
    found = backup(url, tmp_path / "backup.jsonl")
    assert verify(str(tmp_path / "backup.jsonl")) == found
    restore(tmp_path / "backup.jsonl", there := f"sqlite:///{tmp_path / 'restored.db'}")
    assert verify(there) == found
    server, http = started("restored", there)
    assert http.get(MODEL).json() == before
    assert json.loads(http.get(f"{MODELS}?name=trained").content) == json.loads(output)


def test_a_backup_of_an_older_program_lacks_the_model_and_the_usual_one_serves_until_its_file_comes(
    started, output, url, tmp_path
):
    server, http = started()
    assert http.post(MODELS, content=output).status_code == 201
    assert http.post(MODEL, json={"model": "trained"}).status_code == 201
    server.stop()
    backup(url, tmp_path / "backup.jsonl")
    _, *lines = (tmp_path / "backup.jsonl").read_text(encoding="utf-8").splitlines()
    lines = ['{"format": "audiosim-log/1", "campaigns": 1}', *(one for one in lines if '"content"' not in one)]
    (tmp_path / "older.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    restore(tmp_path / "older.jsonl", there := f"sqlite:///{tmp_path / 'restored.db'}")
    server, http = started("restored", there)
    lost = "this service keeps no model 'trained'; until its file is sent, small is served by its usual model"
    assert server.says(f"small: {lost}")
    shown = http.get(MODEL).json()
    assert (shown["model"], shown["lost"]) == ("joint-fine", lost)
    assert http.get(f"{SMALL}/campaign").json()["model_lost"] == lost
    assert http.post(MODELS, content=output).status_code == 201
    shown = http.get(MODEL).json()
    assert (shown["model"], shown["lost"]) == ("trained", "")


def altered(lines):
    lines[-2] = lines[-2].replace('"by": ""', '"by": "eve"')


def without_model(lines):
    del lines[-2]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (altered, r"backup.jsonl:2: the model trained was altered after it was written"),
        (without_model, r"backup.jsonl:2: expected a kept model here: the backup was cut off"),
    ],
)
def test_a_backup_whose_model_was_altered_or_cut_off_is_refused(output, tmp_path, damage, message):
    url, path = f"sqlite:///{tmp_path / 'models.db'}", tmp_path / "backup.jsonl"
    prepare(url)
    KeptModels(url).add(output, "", "sent")
    backup(url, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    damage(lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        verify(str(path))


def test_restored_models_stand_beside_those_there_and_never_replace_one(output, small, database, tmp_path):
    url, path = f"sqlite:///{tmp_path / 'models.db'}", tmp_path / "backup.jsonl"
    prepare(url)
    KeptModels(url).add(output, "ann", "sent")
    backup(url, path)
    prepare(database)
    there = KeptModels(database)
    other = json.dumps(audiosim.train(small, Plan(("fART",), folds=0)).to_dict()).encode()
    there.add(other, "bob", "sent")
    with pytest.raises(InputError, match="the database keeps another model called trained: delete it there first"):
        restore(path, database)
    there.delete("trained")
    restore(path, database)
    restore(path, database)
    assert there.all() == KeptModels(url).all()
    assert json.loads(there.content("trained")) == json.loads(output)


def test_a_kept_model_is_deleted_unless_a_campaign_has_it(commanded, folders, tmp_path, output, small, url):
    other = json.dumps(audiosim.train(small, Plan(("fART",), folds=0)).to_dict()).encode()
    with commanded(folders[:1], tmp_path / "log", "--db", url) as server, Client(server.url) as client:
        organiser = client.organiser
        organiser.add_model("small", output)
        organiser.choose_model("small", "trained")
        with pytest.raises(InputError, match="trained is the model of small: choose another model there first"):
            organiser.delete_model("small", "trained")
        organiser.choose_model("small", "joint")
        first = organiser.model_effect("small", "trained").other_version
        organiser.delete_model("small", "trained")
        assert organiser.model_choice("small").kept == []
        for ask in (organiser.delete_model, organiser.model_effect, organiser.choose_model):
            with pytest.raises(InputError, match="this service keeps no model 'trained'"):
                ask("small", "trained")
        organiser.add_model("small", other)  # the name can be used again
        assert organiser.model_effect("small", "trained").other_version != first
    with commanded(folders[:1], tmp_path / "again", "--db", url) as server, server.client() as http:
        assert http.get(MODEL).json()["model"] == "joint-fine"


def test_a_model_that_only_a_campaign_in_memory_has_is_not_deleted_either(commanded, folders, tmp_path, output):
    with commanded(folders[:1], tmp_path / "log") as server, server.client() as http:
        http.post(MODELS, content=output)
        http.post(MODEL, json={"model": "trained"})
        refused = http.delete(f"{MODELS}?name=trained")
        assert refused.status_code == 409
        assert refused.json()["detail"] == "trained is the model of small: choose another model there first"
        http.post(MODEL, json={"model": ""})
        assert http.delete(f"{MODELS}?name=trained").status_code == 204


def test_whoever_organises_one_collection_deletes_only_models_of_their_own(commanded, folders, tmp_path, url, output):
    tokens = TokenStore(url)
    everything, one = tokens.create("olga", "organiser"), tokens.create("otto", "organiser", collection="small")
    tokens.close()
    with commanded(folders[:1], tmp_path / "log", "--db", url) as server:
        with Client(server.url, token=everything) as client:
            client.organiser.add_model("small", output)
        with (
            Client(server.url, token=one) as client,
            pytest.raises(InputError, match="this token for small may delete only otto's own models"),
        ):
            client.organiser.delete_model("small", "trained")


@pytest.mark.slow
def test_a_training_that_a_kill_ended_is_shown_as_such_after_the_restart_and_begun_again(
    commanded, folders, tmp_path, wait_until, url
):
    options = ("--db", url, "--model", "uniform")
    with commanded(folders[:1], tmp_path / "log", *options) as server, server.client() as http:
        asked = {"name": "ours", "features": "joint", "folds": 6, "eliminate": 0.05}
        began = http.post(TRAININGS, json=asked).json()["began"]
        with commanded(folders[:1], tmp_path / "other", *options) as other, other.client() as elsewhere:
            wait_until(lambda: elsewhere.get(TRAININGS).json()["training"] is not None)
            found = elsewhere.get(TRAININGS).json()
            assert (found["training"]["status"], found["busy"]) == ("running", False)
            refused = elsewhere.post(f"{TRAININGS}/cancel").json()["detail"]
            assert refused == "ours is being trained by another server, where it can be cancelled"
            server.kill()  # before the other server ends, which may take longer than the training
    with commanded(folders[:1], tmp_path / "again", *options) as server, server.client() as http:
        wait_until(lambda: http.get(TRAININGS).json()["training"]["status"] == "interrupted")
        found = http.get(TRAININGS).json()["training"]
        assert found["began"] == began
        assert {name: found[name] for name in asked} == asked
        again = asked | {"features": "fGEN", "folds": 0}  # quicker
        answer = http.post(TRAININGS, json=again)
        assert answer.status_code == 201, answer.text
        wait_until(lambda: http.get(TRAININGS).json()["training"]["status"] == "done")
        http.post(TRAININGS, json=asked | {"name": "more"})
        server.stop()  # a regular stop ends the training at once
    with closing(TrainingStore(url)) as store:  # as the next server would read it
        found = store.last("small")
    assert (found.name, found.status) == ("more", "interrupted")
    assert [one.name for one in KeptModels(url).all()] == ["ours"]


def test_every_database_has_the_last_training_and_tells_when_its_server_is_silent(database, monkeypatch):
    with closing(TrainingStore(database)) as store, closing(TrainingStore(database)) as elsewhere:
        assert store.last("small") is None
        began = TrainingState("ours", "fGEN", 3, None, ("small", "coarse"), "ann", "2026-11-29T12:00:00.000Z")
        for state in (began, replace(began, done=2, total=3)):
            store.note(state)
            assert elsewhere.last("small") == elsewhere.last("coarse") == state
        monkeypatch.setattr("audiosim.service.collections.trainings.SILENT_S", -1.0)
        assert elsewhere.last("small") == replace(state, status="interrupted")
        store.note(replace(state, status="done"))
        assert elsewhere.last("small").status == "done"


@pytest.mark.slow
def test_a_training_that_cannot_be_noted_goes_on(small, tmp_path, wait_until, caplog):
    lost = TrainingStore(f"sqlite:///{tmp_path / 'none' / 'here.db'}")
    kept = KeptModels(None)
    trainings = Trainings(kept.add, lost)
    trainings.start(TrainingJob((small,), Plan(("fGEN",), "ours", folds=0)), "fGEN", "ann")
    wait_until(lambda: not trainings.busy)
    assert [one.name for one in kept.all()] == ["ours"]
    assert "the training of ours cannot be noted: database sqlite:" in caplog.text


def test_it_is_the_organiser_s():
    scopes = {route.path: scopes_of(route) for route in campaign_model.router.routes}
    assert set(map(frozenset, scopes.values())) == {frozenset({"organiser"})}


def test_kept_models_are_bounded_and_a_name_has_one_model(output, small, tmp_path):
    kept = KeptModels(f"sqlite:///{tmp_path / 'models.db'}")
    assert kept.all() == []
    with pytest.raises(InputError, match=r"a model file may have 2,097,152 bytes at most, got 2,097,153"):
        kept.add(bytes(MOST_BYTES + 1), "ann", "sent")
    assert kept.add(output, "ann", "sent").by == "ann"
    other = json.dumps(audiosim.train(small, Plan(("fART",), folds=0)).to_dict()).encode()
    with pytest.raises(InputError, match="there is another model called trained already: choose another name"):
        kept.add(other, "ann", "sent")
    assert load_model(kept.file_of("trained")).version == kept.all()[0].version
    assert kept.file_of("joint") == "joint"


def test_names_that_mean_something_else_are_refused():
    for wrong in ("", " ", "a\nb", "x" * 65):
        with pytest.raises(InputError, match=r"^a model needs a name of 1 to 64 printable characters, got"):
            check_model_name(wrong)
    for taken in ("uniform", "joint-fine", "mine.json", "remote:x"):
        with pytest.raises(InputError, match=f"a model cannot be called {taken}: that is the name of another"):
            check_model_name(taken)
