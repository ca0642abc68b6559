"""Backups of logs: made while the logs grow, verified by their chain, restored to other databases."""

import json
import re
from contextlib import closing
from dataclasses import replace
from threading import Event as Flag
from threading import Thread

import pytest
from typer.testing import CliRunner

from audiosim.campaign import DatabaseStore, Event
from audiosim.campaign.archive import backup, restore, verify
from audiosim.cli import app
from audiosim.errors import AudiosimError, InputError


@pytest.fixture
def kept(database_to_make, said):
    """A database with two campaigns, one of them without events."""
    with closing(DatabaseStore(database_to_make, "one")) as store:
        event = said(details={"note": "a\nb Ö", "played_s": 0.1}, key="k")
        lease = Event("lease", "2013-05-01T12:00:00Z", "ann", "q1", "b", until="2013-05-01T12:30:00Z")
        store.append_all([event, lease, Event("undo", "2013-05-01T12:00:00Z", "ann", refers=1)], 0)
        store.describe('{"scale": "fine"}', "")
    with closing(DatabaseStore(database_to_make, "two")) as store:
        store.describe("", "")
    return database_to_make


@pytest.mark.slow
def test_a_restored_backup_is_the_same_log_on_either_database(kept, tmp_path, append):
    found = backup(kept, tmp_path / "monday.jsonl")
    assert [(one.collection, one.events) for one in found.campaigns] == [("one", 3), ("two", 0)]
    assert verify(str(tmp_path / "monday.jsonl")) == verify(kept) == found
    target = f"sqlite:///{tmp_path / 'restored.db'}"
    assert restore(tmp_path / "monday.jsonl", target) == verify(target) == found
    with closing(DatabaseStore(kept, "one")) as one, closing(DatabaseStore(target, "one")) as other:
        assert list(one.read()) == list(other.read())
        assert one.described() == other.described() == ('{"scale": "fine"}', "")
        with pytest.raises(InputError, match="is used already"):
            append(other, next(one.read())[1])


def test_a_backup_that_cannot_be_written_names_its_file(said, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    with closing(DatabaseStore(url, "one")) as store:
        store.append_all([said(key="k")], 0)
    with pytest.raises(
        InputError,
        match=r"nowhere/monday\.jsonl: cannot be written: expected a file in an existing, writable folder$",
    ):
        backup(url, tmp_path / "nowhere/monday.jsonl")


@pytest.mark.slow
def test_a_backup_without_somebody_is_the_same_campaign_under_a_drawn_name(kept, said, tmp_path):
    with closing(DatabaseStore(kept, "one")) as store:
        time, words = "2013-05-01T12:00:00Z", {"moment": "before", "age": 30, "home": "Delft"}
        cannot = replace(said(), kind="cannot", grades={}, details={"reason": "I know the singer"})
        more = [
            said(assessor="bob", details={"note": "unlike Ann"}, key="7"),
            cannot,
            Event("questionnaire", time, "ann", details=words),
        ]
        store.append_all(
            [*more, Event("set_aside", time, "olga", details={"judge": "ann", "reason": "ann left"}, key="ann aside")],
            3,
        )
    path, target = tmp_path / "without.jsonl", f"sqlite:///{tmp_path / 'restored.db'}"
    found = backup(kept, path, ["ann"])
    assert restore(path, target) == verify(target) == found
    text = path.read_text(encoding="utf-8")
    assert [one for one in ('"ann"', "Ö", "singer", "Delft", "age", "ann left", "ann aside") if one in text] == []
    assert re.findall(r"\bann", text, re.IGNORECASE) == ["Ann"]  # in bob's words
    assert '"key": "7"' in text
    said_of = (
        CliRunner().invoke(app, ["backup", "--db", kept, "-o", f"{tmp_path / 'again'}", "--without", "ann"]).stderr
    )
    assert said_of == f"note: 1 line of {tmp_path / 'again'} still contains 'ann'\n"
    with closing(DatabaseStore(kept, "one")) as one, closing(DatabaseStore(target, "one")) as other:
        before, after = ([event for _, event in store.read()] for store in (one, other))
    (drawn,) = {event.assessor for event in after} - {"bob", "olga"}
    assert [event.assessor for event in after] == [drawn if who.assessor == "ann" else who.assessor for who in before]
    same = ("kind", "time", "query", "document", "grades", "refers", "until")
    assert [[getattr(event, name) for name in same] for event in after] == [
        [getattr(event, name) for name in same] for event in before
    ]
    assert after[0].details == {"played_s": 0.1}
    assert after[3] == before[3]
    assert after[-1].judge == drawn
    with pytest.raises(InputError, match="no log names 'zoe': expected a person who has judged"):
        backup(kept, tmp_path / "zoe.jsonl", ["zoe"])


@pytest.mark.slow
def test_a_backup_does_not_replace_a_campaign_or_another_backup(kept, tmp_path):
    backup(kept, tmp_path / "monday.jsonl")
    with pytest.raises(InputError, match=r"monday.jsonl exists already; a backup never replaces a file"):
        backup(kept, tmp_path / "monday.jsonl")
    with pytest.raises(InputError, match="the database holds a campaign of one already"):
        restore(tmp_path / "monday.jsonl", kept)


def test_a_database_that_is_not_there_is_not_made_by_looking_at_it(tmp_path):
    with pytest.raises(InputError, match=r"there is no database .*absent.db"):
        verify(f"sqlite:///{tmp_path / 'absent.db'}")
    assert not (tmp_path / "absent.db").exists()


def cut(lines):
    del lines[-2:]


def change(lines):
    lines[2] = lines[2].replace("90.0", "80.0")


def drop(lines):
    del lines[3]


def add(lines):
    lines.append("{}")


def swap(lines):
    lines[2], lines[3] = lines[3], lines[2]


def end(lines):
    lines[1] = json.dumps(json.loads(lines[1]) | {"digest": "0" * 64})


def spoil(lines):
    lines[2] = lines[2][:50]


def another(lines):
    lines[0] = '{"format": "audiosim-log/9"}'


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "jsonl:1: expected a campaign after this line: the backup was cut off"),
        (change, r"jsonl:3: event 1 of one was altered after it was written"),
        (drop, r"jsonl:4: event 2 of one was altered after it was written"),
        (add, r"jsonl:\d: expected the end of the backup here: it was cut off or extended"),
        (swap, r"jsonl:3: event 1 of one was altered after it was written"),
        (end, r"jsonl:5: the log of one does not end with the event in its header"),
        (spoil, r"jsonl:3: not JSON: the backup was cut off, or the file is not one that `audiosim backup` wrote"),
        (another, r"jsonl:1: expected a backup of format audiosim-log/1 or audiosim-log/2"),
    ],
)
def test_a_damaged_backup_is_neither_verified_nor_restored(kept, tmp_path, damage, message):
    path = tmp_path / "monday.jsonl"
    backup(kept, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    damage(lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = f"sqlite:///{tmp_path / 'target.db'}"
    for act in (lambda: verify(str(path)), lambda: restore(path, target)):
        with pytest.raises(AudiosimError, match=message):
            act()
    assert not (tmp_path / "target.db").exists()


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04\xac\xff\n", b'{"a":' * 100_000, b"\x00" * 1000, b"\xff\xfe{\x00}\x00"]
)
def test_a_file_of_another_kind_is_no_backup(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(
        AudiosimError, match=r"a\.zip:1: (not JSON: the backup was cut off|expected a backup of format)"
    ):
        verify(str(tmp_path / "a.zip"))


def test_a_backup_made_while_the_log_grows_is_a_beginning_of_it(database, said, tmp_path, append):
    ended, begun = Flag(), Flag()

    def write():
        with closing(DatabaseStore(database, "growing")) as store:
            while not ended.is_set():
                append(store, said())
                begun.set()

    writer = Thread(target=write)
    writer.start()
    assert begun.wait(60)
    try:
        counts = []
        for turn in range(3):
            backup(database, tmp_path / f"{turn}.jsonl")
            (one,) = [
                one for one in verify(str(tmp_path / f"{turn}.jsonl")).campaigns if one.collection == "growing"
            ] or [None]
            counts.append(one.events if one else 0)
    finally:
        ended.set()
        writer.join()
    assert counts == sorted(counts)


@pytest.mark.slow
def test_the_commands_back_up_verify_and_restore(run, kept, tmp_path):
    code, said, error = run("backup", "--db", kept, "-o", tmp_path / "b.jsonl", "--format", "json")
    assert (code, error) == (0, "")
    assert [one["events"] for one in json.loads(said)["campaigns"]] == [3, 0]
    target = f"sqlite:///{tmp_path / 'r.db'}"
    assert json.loads(run("restore", tmp_path / "b.jsonl", "--db", target, "--format", "json")[1]) == json.loads(said)
    assert json.loads(run("verify", target, "--format", "json")[1]) == json.loads(said)
    text = (tmp_path / "b.jsonl").read_text(encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(text.replace("90.0", "91.0"), encoding="utf-8")
    code, _, error = run("verify", tmp_path / "b.jsonl")
    assert (code, error) == (
        1,
        f"audiosim: {tmp_path / 'b.jsonl'}:3: event 1 of one was altered after it was written\n",
    )
