"""Answers and files of a service, and who may see them: failures without secrets, and sounds alone."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing, contextmanager

import numpy as np
import pytest
import soundfile
from sqlalchemy import make_url

from audiosim.campaign import DatabaseStore, Event
from audiosim.campaign.engine import database_path
from audiosim.campaign.schema import keep_copy
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Run
from audiosim.errors import InputError, SoundError
from audiosim.service.access.callers import scopes_of
from audiosim.service.access.tokens import TokenStore
from audiosim.service.app import create_app
from audiosim.service.startup import WAITING
from audiosim.sound.decode import read

pytestmark = pytest.mark.slow

RATE_HZ = 22_050
JUDGMENT = Event("judgment", "2013-05-01T12:00:00Z", "ann", "q1", "a", {"fine": 9.0})
SECRETS = "s3cret-one", "s3cret-two", "s3cret-three"
COMMAND = "import os; os.umask(0); from audiosim.cli import main; main()"


def requests_for(role, app):
    """Method and path of every request that a role may make, with the collection `coarse`."""
    for route in app.routes:
        for method in route.methods if role in scopes_of(route) else ():
            yield method, re.sub(r"{\w+(:path)?}", "x", route.path.replace("{collection}", "coarse"))


def test_no_caller_sees_a_secret_of_the_database_and_those_without_a_token_no_more_than_the_failing_part(
    commanded, starting, cluster, folders, coarse, run, wait_until, tmp_path
):
    """At every address, of all that the service says while its database is away."""
    more = f"&password={SECRETS[1]}&sslpassword={SECRETS[2]}"
    url = cluster.url.replace("audiosim@", f"audiosim:{SECRETS[0]}@") + more
    hidden = *SECRETS, str(cluster.folder), "postgres", "connection"
    with closing(TokenStore(url)) as tokens:
        bearers = {
            role: {"Authorization": f"Bearer {tokens.create(role, role)}"}
            for role in ("assessor", "client", "organiser")
        }
    app, (pair, *_) = create_app([coarse]), build_pool(coarse).pairs
    with commanded(folders[1:], tmp_path / "log", "--db", url) as server, server.client() as http:
        wait_until(lambda: http.get("/health/ready").status_code == 200)
        cluster.stop()
        wait_until(lambda: http.get("/health/ready").status_code == 503)
        asked = dict.fromkeys(bearers)
        for role in ("public", "assessor", "client"):
            for method, path in requests_for(role, app):
                answer = http.request(
                    method, path, json={} if method in ("POST", "PUT") else None, headers=bearers.get(role)
                )
                said = f"{answer.headers} {answer.text}"
                assert not [one for one in hidden if one in said and path not in ("/docs", "/openapi.json")], path
        for role in ("assessor", "organiser"):
            judged = {"query": pair.query, "document": pair.document, "broad": 1, "assessor": role}
            asked[role] = http.post("/v1/collections/coarse/judgments", json=judged, headers=bearers[role])
            assert asked[role].status_code == 503
            assert "s3cret" not in asked[role].text
        assert not [one for one in hidden if one in asked["assessor"].text]
        assert str(cluster.folder) in asked["organiser"].text
        reasons = http.get("/health/ready").json()["reasons"]
        assert set(reasons) <= {"the logs", "following the logs", "reading the tokens", "teaching the models"}
        assert reasons
        server.says("the logs: coarse: database postgresql+psycopg://audiosim:***@/postgres: ")
    with starting(folders[1:], tmp_path / "early", "--port", 0, "--db", url):
        early = tmp_path / "early"
        wait_until(lambda: WAITING in early.read_text(encoding="utf-8"))
    logs = [path.read_text(encoding="utf-8") for path in (tmp_path / "log", early)]
    commands = (
        ("verify", url),
        ("backup", "--db", url, "-o", tmp_path / "backup"),
        ("migrate", "--db", url),
        ("token", "list", "--db", url),
        ("verify", url.replace("@/", "@h@/")),
        ("verify", url.replace("postgresql", "mysql")),
        ("verify", f"postgresql://host=x password={SECRETS[0]}"),
    )
    for command in commands:
        code, out, err = run(*command)
        assert code != 0
        logs.append(out + err)
    assert not [one for one in logs if "s3cret" in one]


@contextmanager
def umask(mask):
    """The umask of this process for a while."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def opened_to_others(files):
    """The files that others than their owner may read or write, and how."""
    return {path.name: oct(path.stat().st_mode & 0o777) for path in files if path.stat().st_mode & 0o077}


def test_whatever_a_service_writes_is_its_owner_s_alone_whatever_the_umask(programmed, coarse, wait_until, tmp_path):
    home = tmp_path / "home"
    coarse.save(home / "coarse")
    before = set(home.rglob("*"))
    db = f"sqlite:///{home / 'campaign.db'}"
    command = [sys.executable, "-c", COMMAND, "serve", "--home", home, "--db", db, "--port", "0"]
    pairs = build_pool(coarse).pairs
    with programmed(command, tmp_path / "log") as http:
        wait_until(lambda: http.get("/health/ready").status_code == 200)
        judged = {"query": pairs[0].query, "document": pairs[0].document, "broad": 1, "assessor": "ann"}
        assert http.post("/v1/collections/coarse/judgments", json=judged).status_code == 201
        trec = f"{pairs[1].query} 0 {pairs[1].document} 1\n"
        assert http.post("/v1/collections/coarse/judgments/import", content=trec).is_success
        for name in ("kept", "made"):
            assert http.post("/v1/drafts", json={"name": name}).status_code == 201
            runs = "".join(f"q{query} Q0 d{rank} {rank} 1 one\n" for query in range(3) for rank in range(1, 4))
            assert http.post(f"/v1/drafts/{name}/files", params={"name": "all.trec"}, content=runs).is_success
        assert http.post("/v1/drafts/made/create").status_code == 201
        made = {path for path in set(home.rglob("*")) - before if path.is_file()}
        assert {"campaign.db", "campaign.db-wal", "campaign.db-shm"} < {path.name for path in made}
        assert {path.relative_to(home).parts[0] for path in made} >= {".drafts", "made"}
        assert opened_to_others(made) == {}


def test_databases_their_copies_and_backups_are_their_owner_s_alone_whatever_the_umask(run, tmp_path):
    with umask(0):
        path = tmp_path / "a.db"
        with closing(DatabaseStore(f"sqlite:///{path}", "tiny")) as store:
            store.append_all([JUDGMENT], 0)
            assert keep_copy(store._engine, "layout-0")
            assert run("backup", "--db", f"sqlite:///{path}", "-o", f"{path}.jsonl")[0] == 0
            assert opened_to_others(tmp_path.iterdir()) == {}  # with -wal and -shm
            path.rename(tmp_path / "away")
            assert store.rescue()
        assert run("restore", tmp_path / "a.db.jsonl", "--db", f"sqlite:///{tmp_path / 'restored.db'}")[0] == 0
        for url in (f"sqlite:///{tmp_path / 't.db'}", f"sqlite:///file:{tmp_path / 'u.db'}?uri=true"):
            assert run("token", "create", "--role", "client", "--name", "c", "--db", url)[0] == 0
            assert database_path(make_url(url)).exists()
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"away", "a.db.layout-0", "a.db.rescued", "a.db.jsonl", "restored.db", "t.db", "u.db"}
    assert opened_to_others(tmp_path.iterdir()) == {}


def sound(path, seconds=2.0, **how):
    soundfile.write(path, np.sin(2 * np.pi * 441 * np.arange(int(seconds * RATE_HZ)) / RATE_HZ) / 2, RATE_HZ, **how)


def kinds_of_file(folder, outside):
    """Files of every kind that a path can name, made in a folder."""
    for end in ("wav", "flac", "ogg", "mp3", "aiff", "au", "caf"):
        sound(folder / f"whole.{end}")
    sound(folder / "named.tsv", format="WAV")
    sound(folder / "short.wav", 0.5)
    soundfile.write(folder / "nan.wav", np.full(RATE_HZ * 2, np.nan), RATE_HZ, "FLOAT")
    whole = (folder / "whole.wav").read_bytes()
    (folder / "cut.wav").write_bytes(whole[: len(whole) // 2])
    (folder / "nearly.wav").write_bytes(whole[: int(len(whole) * 0.95)])
    for name in ("text.wav", "text.au", "text.raw", "text.mp3", "settings.toml", "page.html", "log.jsonl"):
        (folder / name).write_text("# a comment\n" * 4000, encoding="utf-8")
    for name in ("noise.wav", "noise.mp3", "noise.aac"):
        (folder / name).write_bytes(np.random.default_rng(1).bytes(50_000))
    (folder / "empty.wav").touch()
    (folder / "folder.wav").mkdir()
    os.mkfifo(folder / "pipe.wav")
    np.savez(folder / "vectors.npz", np.arange(1000))
    with zipfile.ZipFile(folder / "sounds.zip", "w") as archive:
        archive.write(folder / "whole.wav", "whole.wav")
    coded = folder / "coded.aac"
    if shutil.which("ffmpeg"):  # a lenient decoder finds sound that others have put into a file
        command = ["ffmpeg", "-v", "error", "-i", folder / "whole.flac", coded]
        subprocess.run(command, check=True)
        (folder / "table.aac").write_bytes(b"document\tartist\n" * 4000 + coded.read_bytes())
    with closing(sqlite3.connect(folder / "other.db")) as other, other:
        other.execute("CREATE TABLE kept (sound BLOB)")
        other.execute("INSERT INTO kept VALUES (?)", (coded.read_bytes() if coded.exists() else b"",))
        other.execute("INSERT INTO kept VALUES (?)", ((folder / "whole.mp3").read_bytes(),))
    before = {
        "db": (folder / "other.db").read_bytes(),
        "toml": b'token = "x"\n' * 999,
        "zip": (folder / "sounds.zip").read_bytes(),
    }
    for other, start in before.items():  # libsndfile looks for a frame of sound in whatever is named .mp3
        (folder / f"{other} before.mp3").write_bytes(start + (folder / "whole.mp3").read_bytes())
    shutil.copy(folder / "other.db", folder / "database.mp3")
    for name in ("campaign.db", "campaign.db-wal", "campaign.db-shm"):
        (folder / f"hard {name}").hardlink_to(folder / name)
        (folder / f"soft {name}").symlink_to(name)
    sound(outside / "away.wav")
    (folder / "hard away.wav").hardlink_to(outside / "away.wav")
    (folder / "soft away.wav").symlink_to(outside / "away.wav")
    (folder / "soft folder").symlink_to(outside)
    (folder / "hard within.wav").hardlink_to(folder / "whole.aiff")
    (folder / "soft within.wav").symlink_to("whole.aiff")


def is_taken(path):
    """True if `extract` takes a file as a sound."""
    try:
        read(path)
    except (SoundError, InputError):
        return False
    return True


def test_a_path_serves_what_extract_takes_within_the_folder_and_nothing_else(commanded, tmp_path):
    folder, outside = tmp_path / "heard", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    database = folder / "campaign.db"
    with closing(DatabaseStore(f"sqlite:///{database}", "heard")) as store:
        store.append_all([JUDGMENT], 0)
        kinds_of_file(folder, outside)
        names = {path.name for path in folder.iterdir()} | {"soft folder/away.wav", "../outside/away.wav"}
        names |= {
            "collection.toml",
            "documents.tsv",
            "runs/S.tsv",
            str(outside / "away.wav"),
            "/etc/passwd",
            "/dev/zero",
        }
        documents = {f"d{place}": Document(f"d{place}", path=name) for place, name in enumerate(sorted(names))}
        runs = (Run("S", {"d0": tuple(documents)[1:]}),)
        Collection("heard", "heard", FINE, 2, runs, documents).save(folder)
        taken = {
            name
            for name in names
            if name.isprintable() and is_within(folder / name, folder) and is_taken(folder / name)
        }
        with commanded([folder], tmp_path / "log", "--db", f"sqlite:///{database}") as server, server.client() as http:
            answers = {one.path: http.get(f"/v1/documents/{name}/sound") for name, one in documents.items()}
    played = {name for name, answer in answers.items() if answer.status_code == 200}
    assert played == taken
    assert not [name for name in played if "before" in name or "database" in name]
    assert played >= {"whole.wav", "whole.mp3", "named.tsv", "nearly.wav", "hard within.wav", "soft within.wav"}
    assert {answers[name].status_code for name in names - played} <= {404, 422}
    assert not [name for name in names - played if str(folder) in answers[name].text]


def is_within(path, folder):
    """True if a file is in a folder under all of its names, as the names of these tests say."""
    return path.resolve().is_relative_to(folder) and path.is_file() and not path.name.startswith("hard away")
