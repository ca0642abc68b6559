"""Collections made over HTTP: completely or not at all, only by organisers, with the same messages as the commands."""

import asyncio
import json
import wave
from datetime import date

import numpy as np
import pytest

from audiosim.campaign import CampaignSettings
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.kinds import read_judgments
from audiosim.collection.values import FINE, Run
from audiosim.errors import InputError
from audiosim.evaluation.check import check
from audiosim.service.access.access import Access
from audiosim.service.access.tokens import TokenStore
from audiosim.service.app import create_app
from audiosim.service.collections import drafts as drafts
from audiosim.service.collections.campaigns import CampaignFile, Judging
from audiosim.service.collections.drafts import SETTINGS, Draft, Home
from audiosim.service.operations.drafts import TURNS


async def after(end, sent):
    """The answer to a request that gets its turn after `end` was called."""
    async with TURNS:
        waiting = asyncio.create_task(sent)
        while not TURNS.statistics().tasks_waiting and not waiting.done():
            await asyncio.sleep(0.005)
        end()
    return await waiting


RUNS = "".join(
    f"q{query} Q0 {system}{query}{rank} {rank} {1 / rank} {system}\n"
    for system in ("one", "two")
    for query in range(1, 6)
    for rank in (1, 2, 3)
)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def database(tmp_path):
    return f"sqlite:///{tmp_path / 'campaigns.db'}"


@pytest.fixture
def http(home, database, in_process):
    """A client of a service without any collection."""
    app = create_app([], "uniform", judging=Judging(database, settings=CampaignSettings()), home=home)
    with in_process(app) as client:
        yield client


def send(http, name, content, draft="new", **about):
    body = content if isinstance(content, bytes) else content.encode()
    return http.post(f"/v1/drafts/{draft}/files", params={"name": name, **about}, content=body)


def begun(http, name="new"):
    answer = http.post("/v1/drafts", json={"name": name})
    assert answer.status_code == 201, answer.text
    return f"/v1/drafts/{name}"


def tree(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_collection_made_over_http_is_the_folder_that_the_commands_read(http, home, database):
    draft = begun(http)
    assert send(http, "systems/all.trec", RUNS).json()["said"] == "one, two: 5 queries"
    table = "document\tartist\tgenre\none11\tBach\tbaroque\n"
    assert send(http, "what I know.tsv", table).json() | {"size": 0} == {
        "name": "documents.tsv", "kind": "documents", "size": 0, "said": "1 document", "partial": False,
        "sent": "what I know.tsv",
    }  # fmt: skip
    judged = "query,document,grade\nq1,one11,2\nq2,two21,0\n"
    assert send(http, "people.csv", judged).json()["kind"] == "judgments"
    assert send(http, "clap.tsv", "query\tdocument\tscore\nq1\tone11\t0.5\n").json()["kind"] == "judge"
    settings = {
        "title": "New one",
        "task": "Alike?",
        "scale": "broad",
        "cutoff": 2,
        "stopping_rule": "every=0.9",
        "measure": "DCG@2",
        "headphones": "yes",
        "languages": "en, pt-BR",
        "devices": "computer tablet",
        "twice": 0.5,
        "candidates": 3,
        "listen": 2.5,
        "kept_until": "2027-12-31",
        "break_after": 12,
    }
    assert http.post(f"{draft}/settings", json=settings).json()["settings"]["stopping_rule"] == "every=0.9"
    checked = http.get(f"{draft}/check").json()
    read = checked["check"]
    assert (checked["error"], read["pool"], read["judged"]) == ("", 20, 2)
    assert [one["system"] for one in read["runs"]] == ["one", "two"]
    assert [question["name"] for question in checked["questions"]] == ["broad", "note"]
    taken = http.post(f"{draft}/plan", json={"stopping_rule": "judgments=7", "listeners": 2}).json()
    assert (taken["judgments"], taken["hours"]) == (5, pytest.approx(5 * 30 / 3600 / 2))  # 2 are judged
    assert http.post(f"{draft}/create").json() == {"collection": "new"}
    made = Collection.load(home.folder / "new")
    assert read == check(made).to_dict()
    assert made.name == "New one"
    assert made.task == "Alike?"
    assert made.cutoff == 2
    asked = made.assessor_task.table
    assert (asked.headphones, asked.languages, asked.devices) == (True, ("en", "pt-BR"), ("computer", "tablet"))
    assert (asked.kept_until, asked.break_after) == (date(2027, 12, 31), 12)
    own = CampaignFile.of(home.folder / "new").of_judging(Judging())
    assert (own.settings.twice, own.settings.candidates, own.settings.comparisons, own.listen_s) == (
        0.5,
        3,
        "none",
        2.5,
    )
    shown = http.get("/v1/collections/new/questions").json()
    assert (shown["candidates"], shown["listen_s"], shown["heading"]) == (3, 2.5, "Alike?")
    assert made.scale.levels == (0, 1, 2)
    assert made.runs[0] == Run("one", {f"q{q}": tuple(f"one{q}{rank}" for rank in (1, 2, 3)) for q in range(1, 6)})
    assert made.documents["one11"].genre == "baroque"
    assert [judge.name for judge in made.judges] == ["clap"]
    campaign = http.get("/v1/collections/new/campaign").json()
    assert (campaign["status"], campaign["measure"], campaign["goal"]["goal"]) == ("paused", "DCG@2", "every=0.9")
    assert http.get("/v1/drafts").json()["drafts"] == []
    assert [one["identifier"] for one in http.get("/v1/collections").json()] == ["new"]
    assert http.get("/openapi.json").status_code == 200
    assert http.post("/v1/drafts", json={"name": "new"}).status_code == 422
    again = create_app([], "uniform", judging=Judging(database), home=Home(home.folder))  # as after a restart
    assert again.state.service.served.collections.names == ["new"]
    assert again.state.service.served.collection("new").campaign.state == "paused"


def test_an_empty_folder_is_a_home_even_with_the_database_of_its_campaigns(tmp_path):
    (tmp_path / "campaigns.db").touch()
    assert Home.is_one(tmp_path)
    (tmp_path / "collection.toml").touch()
    assert not Home.is_one(tmp_path)


def test_files_keep_their_names_unless_two_folders_have_the_same(home):
    draft = home.begin("new")
    runs = {
        system: "".join(line for line in RUNS.splitlines(True) if system in line).encode() for system in ("one", "two")
    }
    sent = [
        ("a/runs/mine.trec", "one"),
        ("a/my judgments.csv", ""),
        ("b/mine.trec", "two"),
        ("a/runs/mine.trec", "one"),
    ]
    for name, system in sent:
        draft.put(name, runs[system] if system else b"query,document,grade\nq1,one11,2\n")
    names = {"runs/a-mine.trec": "a/runs/mine.trec", "runs/b-mine.trec": "b/mine.trec"}
    kept = names | {"judgments.csv": "a/my judgments.csv"}
    assert {one.name: one.sent for one in draft.files()} == kept
    draft.remove("runs/a-mine.trec")
    draft.put("b/mine.trec", runs["two"])  # alone again
    assert {one.name: one.sent for one in draft.files()}["runs/mine.trec"] == "b/mine.trec"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"twice": 2}, "the share of pairs judged twice must be in [0, 1], got 2"),
        ({"candidates": 9}, "the number of candidates on a page must be in [1, 8], got 9"),
        ({"comparisons": "all"}, "unknown share of comparisons 'all', expected none, some, only"),
        ({"listen": -1}, "seconds to listen must be from 0 to 600, got -1"),
        ({"kept_until": "soon"}, "kept_until: expected a day such as 2027-12-31, got 'soon'"),
    ],
)
def test_a_wrong_setting_of_a_campaign_is_refused_in_one_line(http, said, problem):
    draft = begun(http)
    answer = http.post(f"{draft}/settings", json=said)
    assert (answer.status_code, answer.json()["detail"]) == (422, problem)
    assert http.get(draft).json()["settings"] == {}  # nothing is kept


@pytest.mark.slow
def test_a_plan_is_by_the_measure_of_the_service(database, in_process, home):
    """Of 30 retrieved pairs the two systems' first ranks are 10."""
    judging = Judging(database, "CG@1", settings=CampaignSettings())
    with in_process(create_app([], "uniform", judging=judging, home=home)) as http:
        draft = begun(http)
        send(http, "all.trec", RUNS)
        assert http.post(f"{draft}/settings", json={"scale": "broad"}).status_code == 200
        assert http.post(f"{draft}/plan", json={"stopping_rule": "judgments=7"}).json()["pool"] == 10
        assert http.post(f"{draft}/settings", json={"scale": "broad", "measure": "CG@3"}).status_code == 200
        assert http.post(f"{draft}/plan", json={"stopping_rule": "judgments=7"}).json()["pool"] == 30


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.trec", "q1 Q0 d1 1 0.5 s\nq1 Q0 d2 2 high s\n", "a.trec:2: "),
        ("documents.tsv", "document\tgenre\nd1\tjazz\nd1\trock\n", "documents.tsv:3: "),
        ("judgments.csv", "query,document,grade\nq1,d1,much\n", "judgments.csv:2: "),
        ("judges/a.tsv", "query\tdocument\tgrade\nq1\td1\t1\nq1\td1\t2\n", "judges/a.tsv:3: "),
        ("a.wav", "this is no sound", "a.wav: "),
        ("../a.trec", RUNS, "'..': expected a name of 1 to 120 printable bytes that starts with no dot"),
        ("a/../../b.trec", RUNS, "'..': expected a name"),
        ("runs/.hidden", RUNS, "'.hidden': expected a name"),
        ("..\\..\\a.trec", RUNS, "'..': expected a name"),
        ("a\nb.trec", RUNS, "expected a name"),
    ],
)
def test_a_wrong_file_is_refused_with_the_readers_words_and_nothing_is_kept(http, home, name, content, said):
    begun(http)
    before = tree(home.folder)
    answer = send(http, name, content)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    assert str(home.folder) not in answer.text
    assert tree(home.folder) == before


def test_a_scale_to_be_named_is_asked_for_by_the_form_s_field(http):
    begun(http)
    told = "fits no usual scale (binary, broad, levels up to 10, fine), expected a scale in the field Scale of step 2"
    assert send(http, "judgments.csv", "query,document,grade\nq1,d1,150\n").json()["detail"].endswith(told)


def test_the_words_are_those_of_the_commands(http, tmp_path):
    begun(http)
    wrong = tmp_path / "judgments.csv"
    wrong.write_text("query,document,grade\nq1,d1,much\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_judgments(wrong)
    detail = send(http, "judgments.csv", wrong.read_bytes()).json()["detail"]
    assert detail == str(raised.value).removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize("name", ["", "..", ".drafts", "a/b", "a b", "-a", "é", "x" * 65, "%2e%2e"])
def test_a_collections_name_cannot_lead_elsewhere(http, home, name):
    assert http.post("/v1/drafts", json={"name": name}).status_code == 422
    assert [path.name for path in home.folder.iterdir()] == [".drafts"]


@pytest.mark.slow
def test_what_cannot_be_served_is_not_created_and_the_draft_stays(http, home):
    draft = begun(http)
    assert http.post(f"{draft}/create").json()["detail"].startswith("new: has no runs, expected ")
    send(http, "all.trec", RUNS)
    http.post(f"{draft}/settings", json={"scale": "1-5", "model": "mjud"})  # a model for other scales
    assert http.post(f"{draft}/create").status_code == 422
    http.post(f"{draft}/settings", json={})
    send(http, "queries.tsv", "query\tdocument\nother\tone11\n")  # not a query of the runs
    refused = http.post(f"{draft}/create")
    assert refused.status_code == 422
    assert refused.json()["detail"] == http.get(f"{draft}/check").json()["error"]
    assert [path.name for path in home.folder.iterdir()] == [".drafts"]
    assert http.get("/v1/collections").json() == []
    assert http.delete(f"{draft}/files", params={"name": "queries.tsv"}).status_code == 204
    assert http.post(f"{draft}/create").status_code == 201


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"stopping_rule": "sure"}, "unknown stopping rule"),
        ({"measure": "best"}, "measure"),
        ({"model": "/etc/passwd"}, "unknown model"),
        ({"selection_rule": "first"}, "unknown selection rule"),
        ({"scale": "loud"}, "scale"),
        ({"cutoff": 0}, "cutoff must be from 1 to 1000"),
    ],
)
def test_wrong_settings_are_refused(http, said, problem):
    answer = http.post(f"{begun(http)}/settings", json=said)
    assert answer.status_code == 422
    assert problem in answer.json()["detail"]


@pytest.mark.slow
def test_a_large_file_comes_in_parts(http):
    draft = begun(http)
    half, size = len(RUNS) // 2, len(RUNS)
    first = send(http, "all.trec", RUNS[:half], size=size)
    assert first.json()["partial"]
    assert http.get(draft).json()["files"] == []
    lost = send(http, "all.trec", RUNS[half + 1 :], size=size, offset=half + 1)
    assert lost.json()["detail"].startswith(f"all.trec: expected the part at {half} bytes")
    assert send(http, "all.trec", RUNS[half:], size=size, offset=half).json()["said"] == "one, two: 5 queries"
    assert "bytes at most" in send(http, "b.trec", RUNS, size=10**12).json()["detail"]


@pytest.mark.slow
def test_recordings_find_the_documents_that_bear_their_names(http, home, sound):
    draft = begun(http)
    send(http, "all.trec", RUNS)
    send(http, "documents.tsv", "document\tpath\none11\tC:\\music\\one11.wav\ntwo11\t\n")
    for name in ("one11", "q1", "two11", "unknown"):
        assert send(http, f"tape/{name}.wav", sound).status_code == 201
    assert http.post(f"{draft}/create").status_code == 201
    documents = Collection.load(home.folder / "new").documents
    assert {name: one.path for name, one in documents.items()} == {
        name: f"sounds/tape/{name}.wav" for name in ("one11", "two11", "q1")
    }
    assert http.get("/v1/documents/one11/sound", params={"collection": "new"}).content == sound


@pytest.fixture
def sound(tmp_path):
    """A second and a half of a tone, as WAV."""
    path = tmp_path / "tone.wav"
    with wave.open(str(path), "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(22_050)
        stream.writeframes((8000 * np.sin(np.arange(33_000) / 8)).astype("<i2").tobytes())
    return path.read_bytes()


def test_the_check_of_a_draft_says_what_a_listening_test_lacks(http, sound):
    def lacking():
        return http.get(f"{draft}/check").json()["lacks"]

    draft = begun(http)
    lines = "".join(f"q{query} Q0 d{query} 1 1 {{0}}\n" for query in (1, 2))
    send(http, "one.trec", lines.format("one"))
    assert lacking() == [
        "there is only one system: a ranking needs two",
        "2 of 2 queries have neither a recording nor a prompt, such as q1: nobody can listen to them",
        "2 of 2 results have no recording, such as d1: nobody can listen to them",
    ]
    for name in ("q1", "d1", "d2"):
        send(http, f"{name}.wav", sound)
    send(http, "two.trec", lines.format("two"))
    assert lacking() == ["1 of 2 queries have neither a recording nor a prompt, such as q2: nobody can listen to them"]


def test_folders_of_recordings_without_prompts_say_what_is_missing(http, sound):
    draft = begun(http)
    for name in ("a/one.wav", "b/one.wav", "b/two.wav"):
        send(http, name, sound)
    assert "called prompts or chosen; found a, b" in http.get(f"{draft}/check").json()["error"]
    http.post(f"{draft}/settings", json={"prompts": "a"})
    error = http.get(f"{draft}/check").json()["error"]
    assert error == "sounds/b/two.wav: no recording two in sounds/a, expected one of one"


@pytest.mark.slow
def test_prompts_in_text_come_with_the_recordings(http, home, sound):
    begun(http)
    for system in ("plain", "bright"):
        for prompt in ("rain", "sea"):
            send(http, f"{system}/{prompt}.wav", sound)
    assert "the prompt is empty" in send(http, "prompts/rain.txt", " ").json()["detail"]
    assert send(http, "mine/Prompts/rain.txt", "Rain\r\nfalls").json()["said"] == "10 characters"
    assert send(http, "texts.tsv", "prompt\ttext\nsea\twaves\n", kind="prompts").json()["said"] == "1 prompt"
    listed = {one["name"]: one["kind"] for one in http.get("/v1/drafts/new").json()["files"]}
    assert (listed["prompts/rain.txt"], listed["prompts.tsv"]) == ("prompt", "prompts")
    assert http.post("/v1/drafts/new/create").status_code == 201
    folder = home.folder / "new"
    assert prompts_of(Collection.load(folder)) == {"prompt-1": "Rain\nfalls", "prompt-2": "waves"}
    assert not [name for name in tree(folder) if name.startswith("prompts")]  # documents.tsv has them


@pytest.mark.slow
def test_only_organisers_of_the_whole_service_make_collections(home, database, in_process):
    store = TokenStore(database)
    tokens = [store.create("ann", "assessor"), store.create("bob", "client"), store.create("cem", "organiser", "other")]
    whole = store.create("dan", "organiser")
    app = create_app([], judging=Judging(database), access=Access(tokens=store), home=home)
    with in_process(app) as http:
        for token in tokens:
            headers = {"Authorization": f"Bearer {token}"}
            assert http.get("/v1/drafts", headers=headers).status_code == 403
            assert http.post("/v1/drafts", json={"name": "new"}, headers=headers).status_code == 403
        assert http.get("/v1/drafts").status_code == 401
        assert http.get("/v1/drafts", headers={"Authorization": f"Bearer {whole}"}).status_code == 200


def test_a_service_without_a_folder_for_them_makes_none(tiny, in_process):
    with in_process(create_app([tiny])) as http:
        assert not http.get("/v1/drafts").json()["home"]
        assert http.post("/v1/drafts", json={"name": "new"}).status_code == 409


@pytest.fixture
def tiny():
    return Collection("tiny", "Tiny", FINE, 2, (Run("a", {"q": ("x", "y")}), Run("b", {"q": ("y", "z")})))


def test_a_campaigns_file_in_the_folder_goes_before_the_settings_of_the_service(tmp_path):
    (tmp_path / "campaign.toml").write_text('measure = "nDCG@3"\nstopping_rule = "judgments=9"\n', encoding="utf-8")
    judging = CampaignFile.of(tmp_path).of_judging(Judging(measure="CG@5"))
    assert (judging.measure, str(judging.stopping_rule)) == ("nDCG@3", "judgments=9")
    assert CampaignFile.of(None).of_judging(judging) == judging
    (tmp_path / "campaign.toml").write_text('goal = "judgments=9"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"campaign\.toml: .*goal"):
        CampaignFile.of(tmp_path)
    assert CampaignFile(stopping_rule="judgments=9").lines() == ['stopping_rule = "judgments=9"']


@pytest.mark.slow
def test_the_services_model_is_that_of_new_collections_and_their_own_goes_before_it(home, database, in_process):
    with in_process(create_app([], "mjud", judging=Judging(database), home=home)) as http:
        draft = begun(http)
        send(http, "all.trec", RUNS)
        http.post(f"{draft}/settings", json={"scale": "1-5"})
        assert http.post(f"{draft}/create").status_code == 422  # otherwise the service could not start again
        http.post(f"{draft}/settings", json={"scale": "1-5", "model": "uniform"})
        assert http.post(f"{draft}/create").status_code == 201
        draft = begun(http, "other")
        send(http, "all.trec", RUNS, "other")
        assert http.post(f"{draft}/create").status_code == 201
    again = create_app([], "mjud", judging=Judging(database), home=Home(home.folder)).state.service.served
    assert [again.collection(name).model for name in ("new", "other")] == ["uniform", "mjud"]


@pytest.mark.parametrize(
    ("method", "place", "what"),
    [
        ("POST", "/files?name=all.trec", {"content": RUNS}),
        ("POST", "/files?name=all.trec&size=9000", {"content": RUNS}),
        ("POST", "/settings", {"json": {"title": "late"}}),
        ("GET", "/check", {}),
        ("POST", "/create", {}),
        ("DELETE", "", {}),
    ],
)
def test_what_comes_after_the_end_of_a_draft_is_refused_and_does_not_bring_it_back(http, home, method, place, what):
    draft = begun(http)
    answer = http.run(after(lambda: home.discard(home.draft("new")), http.send(method, draft + place, **what)))
    assert answer.status_code == 404
    assert "'new'" in answer.json()["detail"]
    assert home.drafts() == []


def test_files_of_one_name_in_two_folders_are_two_files(http):
    draft = begun(http)
    for folder in ("BM25", "LM"):
        tagged = RUNS.replace(" one\n", f" {folder}1\n").replace(" two\n", f" {folder}2\n")
        found = send(http, f"{folder}/run.trec", tagged).json()["name"]
        assert found == ("runs/LM-run.trec" if folder == "LM" else "runs/run.trec")  # alone, it keeps its name
        assert send(http, f"{folder}/judges/a.tsv", "query\tdocument\tscore\nq1\tone11\t0.5\n").status_code == 201
    for _ in range(2):  # sent again, a file replaces itself
        assert send(http, "BM25/run.trec", RUNS.replace(" one\n", " BM251\n")).json()["name"] == "runs/BM25-run.trec"
    names = [one["name"] for one in http.get(draft).json()["files"]]
    assert names == ["judges/BM25-a.tsv", "judges/LM-a.tsv", "runs/BM25-run.trec", "runs/LM-run.trec"]
    assert send(http, f"{'b' * 115}.trec", RUNS).status_code == 201
    assert send(http, f"{'a' * 120}/{'b' * 115}.trec", RUNS).json()["detail"].endswith("a name of 240 bytes together")


def test_a_name_that_is_taken_is_refused_at_once(tiny, home, database, in_process):
    with in_process(create_app([tiny], judging=Judging(database), home=home)) as http:
        http.post("/v1/collections/tiny/campaign/pause", json={"reason": "lunch"})
        assert "called tiny already" in http.post("/v1/drafts", json={"name": "tiny"}).json()["detail"]
        assert home.drafts() == []


@pytest.mark.slow
def test_a_collection_that_cannot_be_paused_is_a_draft_again(http, home):
    draft = begun(http)
    send(http, "all.trec", RUNS)
    before = tree(home.folder)

    def full(folder):
        assert (folder / "runs").is_dir()
        raise InputError("the disk is full")

    with pytest.raises(InputError, match="full"):
        home.finish(home.draft("new"), serve=full)
    assert tree(home.folder) == before
    assert http.post(f"{draft}/create").status_code == 201


@pytest.mark.slow
def test_only_paths_within_the_folder_go_before_a_recording_that_was_sent(http, home, sound, tmp_path):
    draft = begun(http)
    (tmp_path / "other.wav").write_bytes(sound)
    send(http, "all.trec", RUNS)
    outside = f"one11\t{tmp_path / 'other.wav'}\ntwo11\t../../../../other.wav\none12\t{'x' * 300}.wav\n"
    send(http, "documents.tsv", f"document\tpath\n{outside}one13\tsounds/tape/one11.wav\ntwo13\t{'y' * 300}\n")
    for name in ("one11", "two11", "one12", "one13"):
        send(http, f"tape/{name}.wav", sound)
    assert http.get(f"{draft}/check").json()["error"] == ""
    assert http.post(f"{draft}/create").status_code == 201
    found = {name: one.path for name, one in Collection.load(home.folder / "new").documents.items()}
    assert found == {name: f"sounds/tape/{name}.wav" for name in ("one11", "two11", "one12")} | {
        "one13": "sounds/tape/one11.wav",
        "two13": "y" * 300,
    }


def test_a_file_that_cannot_be_kept_is_refused_in_a_line(http, sound, monkeypatch):
    draft = begun(http)
    send(http, "x.wav/one.wav", sound)
    assert (
        send(http, "x.wav", sound).json()["detail"]
        == "x.wav: cannot be kept: Is a directory, expected a file, not a folder"
    )
    heard = http.get(f"{draft}/files", params={"name": "sounds/x.wav/one.wav"})
    assert (heard.content, heard.headers["cache-control"]) == (sound, "private, no-cache")
    monkeypatch.setattr(drafts, "MOST_BYTES", len(sound) + 100)
    assert send(http, "a.trec", RUNS[:90], size=5000).status_code == 201
    assert send(http, "b.trec", RUNS[:9], size=5000).status_code == 201
    assert "bytes at most" in send(http, "c.trec", RUNS[:9], size=5000).json()["detail"]


def test_settings_of_a_later_version_are_read_as_far_as_they_are_known(tmp_path):
    (tmp_path / SETTINGS).write_text(
        json.dumps(
            {
                "title": "Mine",
                "mood": {"of": "later"},
                "campaign": {"measure": "CG@3", "colour": "red"},
                "asked": {"aspect": [{"name": "rhythm", "question": "How?", "weight": 2}], "labels": ["a", "b"]},
            }
        ),
        encoding="utf-8",
    )
    found = Draft(tmp_path).settings
    assert (found.title, found.campaign.measure, found.asked.labels) == ("Mine", "CG@3", ("a", "b"))
    assert [(one.name, one.question) for one in found.asked.aspect] == [("rhythm", "How?")]
