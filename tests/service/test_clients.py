"""Clients that know only the description of the service do a whole campaign: generated ones, and one in R."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audiosim.service.access.tokens import TokenStore

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
OWN = Path(sys.prefix)  # `make test` puts the generators there
GRADES = {"near": (2, 2, 1, 2, 1, 2), "far": (1, 0, 0, 0, 1, 0)}  # of all retrieved documents


@pytest.fixture(scope="module")
def making(tmp_path_factory, commanded):
    """A server without a collection, an organiser's token, and a folder with the server's description."""
    folder = tmp_path_factory.mktemp("clients")
    db = f"sqlite:///{folder / 'campaign.db'}"
    store = TokenStore(db)
    token = store.create("olga", "organiser")
    store.close()
    with commanded([], folder / "log", "--db", db, "--home", folder / "home") as server:
        with server.client() as client:
            (folder / "openapi.json").write_bytes(client.get("/openapi.json").content)
        shutil.copytree(CLIENTS, folder, dirs_exist_ok=True)
        yield folder, server.url, token


def done(folder, *command):
    said = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


def check(made, collection):
    """A campaign's figures: all ten pairs are judged, so that a score is the mean grade of what the system found."""
    said = json.loads(made.splitlines()[-1])
    scores = {system: sum(grades) / len(grades) / 2 for system, grades in GRADES.items()}
    assert said.pop("scores") == pytest.approx(scores)
    assert said == {
        "problems": [
            f"there is a campaign called {collection} already, choose another name",
            "grade 7 is not on the custom scale (0 1 2)",
        ],
        "status": "open",
        "reached": True,
        "judged": 10,
        "exported": 11,  # with the header
        "page": True,
        "published": ["near", "far"],
        "bundle": "PK",
    }


@pytest.mark.slow
def test_a_client_in_strict_typescript_does_a_whole_campaign(making):
    folder, *access = making
    packages = OWN / "clients" / "node_modules"
    if not packages.exists():
        pytest.skip("openapi-typescript is not here: make test installs it where there is npm")
    (folder / "node_modules").symlink_to(packages)
    (folder / "package.json").write_text("{}", encoding="utf-8")
    done(folder, packages / ".bin" / "openapi-typescript", "openapi.json", "-o", "audiosim.d.ts")
    deno = [OWN / "bin" / "deno", "run", "--quiet", "--check", "--no-lock", "--node-modules-dir=manual", "--allow-net"]
    check(done(folder, *deno, "campaign.ts", *access, "typescript"), "typescript")


@pytest.mark.slow
def test_a_generated_client_in_python_does_a_whole_campaign(making):
    folder, *access = making
    program = shutil.which(OWN / "openapi" / "bin" / "openapi-python-client") or shutil.which("openapi-python-client")
    if program is None:
        pytest.skip("openapi-python-client is not here: make test installs it where there is a package registry")
    options = ["--path", "openapi.json", "--output-path", "audiosim_client", "--meta=none"]
    made = done(folder, program, "generate", *options)
    assert "will not be generated" not in made
    check(done(folder, sys.executable, "campaign.py", *access, "python"), "python")


@pytest.mark.slow
def test_a_client_by_hand_in_r_does_a_whole_campaign(making):
    folder, *access = making
    packages = "quit(status = !all(c('httr', 'jsonlite') %in% rownames(installed.packages())))"
    if shutil.which("Rscript") is None or subprocess.run(["Rscript", "-e", packages], check=False).returncode:
        pytest.skip("R with its packages httr and jsonlite is not here: .ci/run installs them where it can")
    check(done(folder, "Rscript", "campaign.R", *access, "r"), "r")
