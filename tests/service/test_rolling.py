"""Rolling upgrades with real servers of older versions, in both orders: acknowledged answers and the log are kept.

The older programs come from the repository's own history; clones without it skip these tests with a reason.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from audiosim.campaign import DatabaseStore
from audiosim.campaign.archive import verify
from audiosim.campaign.reader import log_in
from audiosim.campaign.schema import LATEST, layout_of_database
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
OLDER = {"4": "52a665f"}  # the last commit of each layout before the latest
BEFORE_SETTING_ASIDE = "52086b1"  # the last commit that cannot set anybody aside in the log
COMMAND = [sys.executable, "-c", "from audiosim.cli import main; main()"]
COARSE = "/v1/collections/coarse"


@pytest.fixture(scope="session", params=sorted(OLDER))
def older(request, made_once):
    """A layout, and the folder of the last program with it."""
    return request.param, program_of(OLDER[request.param], f"layout-{request.param}", made_once)


def program_of(commit, name, made_once):
    """The folder of the program at a commit."""
    found = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True)
    if found.returncode:
        pytest.skip(f"needs the history of the repository: commit {commit} is not in this clone")

    def make(folder):
        text = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=text, check=True)
        declare(folder)

    return made_once(name, make)


def declare(folder):
    """Have a program find what it declared itself, as if installed, not what today's pyproject.toml declares."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stub = folder / "audiosim-0.dist-info"  # of the same name, hence in place of the one that is installed
    stub.mkdir()
    (stub / "METADATA").write_text("Metadata-Version: 2.1\nName: audiosim\nVersion: 0\n", encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (stub / "entry_points.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


@pytest.fixture
def plain(folders, tmp_path):
    """The folder of the coarse collection, with a collection.toml that every version can read."""
    folder = tmp_path / "plain" / "coarse"
    shutil.copytree(folders[1], folder)
    lines = (folder / "collection.toml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.startswith(("name", "scale", "cutoff"))]
    (folder / "collection.toml").write_text("\n".join([*kept, ""]), encoding="utf-8")
    return folder


@pytest.fixture
def url(tmp_path):
    """A database for what an older program does whatever the kind of its database."""
    return f"sqlite:///{tmp_path / 'campaign.db'}"


@pytest.fixture
def older_server(older, programmed):
    """A maker of servers of an older version, started by its own command."""
    _, program = older

    def start(folder, url, log):
        command = [*COMMAND, "serve", folder, "--port", "0", "--db", url, "--model", "uniform"]
        return programmed(command, log, program, PYTHONPATH=str(program))

    return start


def judge(http, pair, key):
    said = {"query": pair.query, "document": pair.document, "broad": 1, "assessor": "ann"}
    return http.post(f"{COARSE}/judgments", json=said, headers={"Idempotency-Key": key})


def keys(url):
    with closing(DatabaseStore(url, "coarse", reading=True)) as store:
        return [event.key for _, event in store.read() if event.kind == "judgment"]


def test_under_an_older_server_reading_changes_nothing_and_an_upgrade_stops_it_without_loss(
    older, older_server, commanded, plain, coarse, database, tmp_path
):
    layout, _ = older
    url, pairs = database, build_pool(coarse).pairs
    with older_server(plain, url, tmp_path / "old") as old:
        for number, pair in enumerate(pairs[:3]):
            assert judge(old, pair, f"k{number}").status_code == 201
        assert layout_of_database(url) == layout
        # Today's commands read the log while the older server runs; server and log continue as before.
        assert verify(url)[0]["events"] == 3
        assert len(log_in(url, Collection.load(plain))) == 3
        assert layout_of_database(url) == layout
        assert judge(old, pairs[3], "k3").status_code == 201
        with (
            commanded([plain], tmp_path / "new", "--db", url, "--model", "uniform") as server,
            server.client() as new,
        ):
            assert server.says(f"layout {layout} was upgraded to {LATEST}")
            assert judge(new, pairs[4], "k4").json()["number"] == 5
            refused = judge(old, pairs[5], "k5")
            assert refused.status_code in (422, 500, 503)
            assert "the database was upgraded and this program is older" in refused.text
            # A refused client asks the new server, with the same key.
            assert judge(new, pairs[5], "k5").json()["number"] == 6
            assert judge(new, pairs[3], "k3").json()["number"] == 4
            rows = [json.loads(line) for line in new.get(f"{COARSE}/judgments?format=log").text.splitlines()]
            assert [row["key"] for row in rows] == [f"k{number}" for number in range(6)]
            assert new.get("/health/ready").status_code == 200
    assert verify(url)[0]["events"] == 6
    assert keys(url) == [f"k{number}" for number in range(6)]


def test_beside_a_newer_server_an_older_one_does_not_start_and_changes_nothing(
    older, commanded, plain, coarse, url, tmp_path
):
    _, program = older
    pairs = build_pool(coarse).pairs
    with commanded([plain], tmp_path / "new", "--db", url, "--model", "uniform") as server, server.client() as new:
        assert judge(new, pairs[0], "k0").status_code == 201
        command = [*COMMAND, "serve", plain, "--port", "0", "--db", url]
        done = subprocess.run(
            list(map(str, command)),
            cwd=program,
            env=os.environ | {"PYTHONPATH": str(program)},
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert done.returncode == 1
        assert "has layout" in done.stderr.splitlines()[-1]
        assert judge(new, pairs[1], "k1").json()["number"] == 2
    assert (layout_of_database(url), keys(url)) == (LATEST, ["k0", "k1"])


def test_a_server_from_before_people_could_be_set_aside_refuses_the_line_rather_than_misread_it(
    made_once, programmed, commanded, plain, coarse, url, tmp_path, wait_until
):
    program = program_of(BEFORE_SETTING_ASIDE, "before-setting-aside", made_once)
    pairs = build_pool(coarse).pairs
    command = [*COMMAND, "serve", plain, "--port", "0", "--db", url, "--model", "uniform"]
    with (
        programmed(command, tmp_path / "old", program, PYTHONPATH=str(program)) as old,
        commanded([plain], tmp_path / "new", "--db", url, "--model", "uniform") as server,
        server.client() as new,
    ):
        assert judge(old, pairs[0], "k0").status_code == 201
        body, key = {"judge": "ANN", "reason": "did not listen"}, {"Idempotency-Key": "a"}
        assert new.post(f"{COARSE}/set-aside", json=body, headers=key).status_code == 201
        assert new.post(f"{COARSE}/set-aside", json=body, headers=key).status_code == 200
        wait_until(lambda: old.get("/health/ready").status_code == 503)
        refused = judge(old, pairs[1], "k1")
        assert refused.status_code == 503
        assert "line 2 cannot be read by audiosim" in refused.json()["detail"]
        assert "unknown kind of event 'set_aside'" in refused.json()["detail"]
        assert judge(new, pairs[1], "k1").status_code == 201  # while the model may have learned in the meantime
        assert new.get(f"{COARSE}/campaign").json()["judged"] == 0
    assert verify(url)[0]["events"] in (3, 4)
