"""The command makes folders of generated sound into a collection of systems and prompts, with sounds to hear."""

import json
import os
import shutil
import sys

import pytest
from typer.testing import CliRunner

from audiosim import package_files
from audiosim.campaign import CampaignSettings
from audiosim.cli import app
from audiosim.collection.collection import Collection
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import WAIT_S, Judging


@pytest.fixture
def folder(tmp_path):
    """Two systems and the prompts, three recordings each."""
    sounds = sorted((package_files.folder("fixtures") / "demo" / "sounds").rglob("*.*"))
    sounds = [path for path in sounds if path.is_file()][:9]
    for place, path in enumerate(sounds):
        target = tmp_path / "made" / ("prompts", "plain", "bright")[place // 3] / f"tune{place % 3}{path.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (tmp_path / "made" / "plain" / "notes.txt").write_text("not a recording")
    return tmp_path / "made"


def run(*arguments):
    return CliRunner().invoke(app, ["init", *map(str, arguments), "--generated", "--format", "json"])


@pytest.mark.slow
def test_folders_of_recordings_become_a_collection_that_is_served(folder, tmp_path, in_process):
    found = run(folder, "-o", tmp_path / "mine")
    systems = [{"system": name, "recordings": 3} for name in ("bright", "plain")]
    assert json.loads(found.stdout) == {"systems": systems, "prompts": 3}
    collection = Collection.load(tmp_path / "mine")
    with in_process(create_app([collection], folders={"mine": tmp_path / "mine"})) as http:
        pairs = http.post("/v1/collections/mine/next", json={"assessor": "ann", "count": 9}).json()["pairs"]
        assert len(pairs) == 6
        for pair in pairs:
            prompt, answer = (http.get(pair[side]).content for side in ("query_sound", "document_sound"))
            (heard,) = {path.stem for path in folder.glob("prompts/*") if path.read_bytes() == prompt}
            made = [path for path in folder.glob("[!p]*/*") if path.read_bytes() == answer]
            made += [path for path in folder.glob("plain/*") if path.read_bytes() == answer]
            assert heard in {path.stem for path in made}  # a system's recording for this prompt
            assert not any(word in json.dumps(pair) for word in ("plain", "bright", "tune"))


def test_a_folder_that_cannot_become_one_leaves_nothing_behind(folder, tmp_path):
    assert "no such folder" in str(run(tmp_path / "none", "-o", tmp_path / "mine").exception)
    shutil.copyfile(next(folder.glob("plain/tune0*")), folder / "plain" / "other.wav")
    refused = run(folder, "-o", tmp_path / "mine")
    assert refused.exit_code != 0
    assert "no recording other in sounds/prompts, expected one of tune0, tune1, tune2" in str(refused.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made"]


TEXT = 'A calm <b>piano</b>\nwith "rain" at C:\\new\tplace'


@pytest.mark.slow
def test_prompts_in_text_are_shown_in_place_of_a_clip_or_beside_one(folder, tmp_path, in_process):
    (recording,) = folder.glob("prompts/tune0*")
    recording.unlink()
    (folder / "prompts" / "tune0.txt").write_text(f"\ufeff{TEXT}\n", encoding="utf-8")
    (folder / "prompts.tsv").write_text("prompt\ttext\ntune1\tمطر\\nهادئ\n", encoding="utf-8")
    assert run(folder, "-o", tmp_path / "mine").exit_code == 0
    collection = Collection.load(tmp_path / "mine")
    collection.save(tmp_path / "again" / "mine")
    collection = Collection.load(tmp_path / "again" / "mine")  # the written files can be read
    judging = Judging(settings=CampaignSettings(learn_later=True, patience_s=WAIT_S), listen_s=2)
    app = create_app([collection], folders={"mine": tmp_path / "mine"}, judging=judging)
    with in_process(app) as http:
        pairs = http.post("/v1/collections/mine/next", json={"assessor": "ann", "count": 9}).json()["pairs"]
        shown = {(pair["query_text"], pair["query_sound"] is not None) for pair in pairs}
        assert shown == {(TEXT, False), ("مطر\nهادئ", True), (None, True)}
        assert len(pairs) == 6
        marks = {}
        for pair in pairs:
            said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "fine": 50}
            record = http.post("/v1/collections/mine/judgments", json=said | {"document_played_s": 2}).json()
            marks[pair["query_text"]] = record["details"].get("rushed", False)
        assert marks == {TEXT: False, "مطر\nهادئ": True, None: True}  # a clip beside a text must be heard
        answers = http.get("/v1/collections/mine/answers", params={"assessor": "ann"}).json()["answers"]
        assert {one.get("query_text") for one in answers} == {TEXT, "مطر\nهادئ", None}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("prompts/tune0.txt", b" \n", "tune0.txt: the prompt is empty, expected text"),
        ("prompts/tune0.txt", b"x" * 5001, "tune0.txt: the prompt has 5,001 characters, expected at most 5,000"),
        ("prompts/tune0.txt", b"a\x07b", "tune0.txt: the prompt has the character '\\x07', which is not text"),
        ("prompts/tune0.txt", b"\xff", "tune0.txt:1: "),
        ("prompts.tsv", b"prompt\ttext\ntune0\ta\ntune0\tb\n", "prompts.tsv:3: prompt tune0 is on line 2 already"),
        ("prompts.tsv", b"prompt\ttext\ntune0\t \n", "prompts.tsv:2: the prompt is empty, expected text"),
        ("prompts.tsv", b"prompt\nrain\n", "prompts.tsv:1: "),
    ],
)
def test_a_prompt_that_is_no_text_is_refused_with_its_place(folder, tmp_path, name, content, problem):
    (folder / name).write_bytes(content)
    refused = run(folder, "-o", tmp_path / "mine")
    assert refused.exit_code != 0
    assert problem in str(refused.exception)
    assert not (tmp_path / "mine").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_refused_in_words(folder, tmp_path):
    (folder / "plain").rename(folder / os.fsdecode(b"\xff"))
    refused = run(folder, "-o", tmp_path / "mine")
    assert "\\udcff/tune0.ogg cannot be named in a table, expected names in UTF-8" in str(refused.exception)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("given", [("--queries", 20), ("--seed", 1), ("--jobs", 2), ("--with", "tonal")])
def test_options_that_mean_nothing_for_generated_sound_are_refused(folder, tmp_path, given):
    refused = run(folder, "-o", tmp_path / "mine", *given)
    assert str(refused.exception) == f"{given[0]} {given[1]} means nothing with --generated, expected one of them"
    assert not (tmp_path / "mine").exists()
