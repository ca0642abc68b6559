"""Settings of the service: flags override the environment, which overrides the file."""

import json

import pytest


@pytest.fixture
def config(tmp_path, folders):
    path = tmp_path / "service.toml"

    def write(**settings):
        lines = [f"{name} = {value!r}".replace("'", '"') for name, value in settings.items()]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_a_flag_goes_before_the_environment_and_the_environment_before_the_file(commanded, folders, config, tmp_path):
    path = config(collections=[str(folders[0])], measure="DCG@2", stopping_rule="judgments=7", batch=3)
    path.write_text(path.read_text(encoding="utf-8") + "\ncannot-limit = 1\n", encoding="utf-8")
    variables = {"AUDIOSIM_MEASURE": "DCG@3", "AUDIOSIM_MODEL": "mout", "AUDIOSIM_CONFIG": str(path)}
    with commanded([], tmp_path / "log", "--model", "uniform", **variables) as server, server.client() as http:
        campaign = http.get("/v1/collections/small/campaign").json()
    assert campaign["model"] == "uniform"  # the flag
    assert campaign["measure"] == "DCG@3"  # the environment
    assert campaign["goal"]["goal"] == "judgments=7"  # the file


def test_folders_of_the_command_line_replace_those_of_the_file(commanded, folders, config, tmp_path):
    path = config(collections=[str(folders[0])])
    with commanded(folders[1:], tmp_path / "log", "--config", path) as server, server.client() as http:
        listed = http.get("/v1/collections").json()
    assert [collection["identifier"] for collection in listed] == ["coarse"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"prot": 8000},
            "unknown setting 'prot', expected one of collections, model, judgments, system-from, same-artist, scale, "
            "partial, db",
        ),
        ({"collections": "one"}, "collections must be a list"),
        ({"port": [1, 2]}, "port must be one value"),
    ],
)
def test_a_file_that_says_what_is_no_setting_is_refused(run, config, folders, settings, message):
    path = config(**settings)
    code, _, said = run("serve", folders[0], "--config", path)
    assert code == 1
    assert said.startswith(f"audiosim: {path}: {message}")


def test_a_file_that_is_no_toml_is_refused(run, tmp_path, folders):
    (tmp_path / "a.toml").write_text("port: 8000", encoding="utf-8")
    code, _, said = run("serve", folders[0], "--config", tmp_path / "a.toml")
    assert code == 1
    assert said.startswith(f"audiosim: {tmp_path / 'a.toml'}: ")
    assert said.count("\n") == 1


@pytest.mark.slow
def test_what_cannot_be_served_is_one_line(run, folders, tmp_path):
    assert run("serve", folders[0], "--stopping-rule", "soon")[2].startswith(
        "audiosim: unknown stopping rule 'soon', expected confidence"
    )
    for wrong in ("", "campaign.db"):  # reported before the folder is looked up
        code, _, said = run("serve", "no-such-folder", "--db", wrong)
        assert (code, said.count("\n")) == (1, 1)
        assert said.startswith(f"audiosim: cannot use database {wrong!r}: ")
    assert run("serve", folders[0], "--db", "mysql://h/x")[2].startswith("audiosim: cannot use database 'mysql://h/x'")
    assert (
        run("serve", tmp_path / "nowhere", "--port", 0)[2]
        == f"audiosim: {tmp_path / 'nowhere'}: no such folder, expected a collection\n"
    )


@pytest.mark.slow
def test_the_help_names_every_setting_with_its_variable(run):
    code, said, _ = run("serve", "--help")
    assert code == 0
    assert "Example" in said
    said = "".join(said.split())
    for name in (
        "CONFIG",
        "DB",
        "TOKENS",
        "HOST",
        "ALLOWED_HOST",
        "PORT",
        "MEASURE",
        "GOAL",
        "BATCH",
        "LEASE",
        "TWICE",
    ):
        assert f"AUDIOSIM_{name}]".replace("_", "") in said.replace("_", "").replace("│", "")


@pytest.mark.slow
def test_what_was_read_of_each_file_is_logged_and_a_misspelt_name_is_a_warning(commanded, small, tmp_path):
    small.save(tmp_path / "small")
    path = tmp_path / "small" / "documents.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("d07", "D07"), encoding="utf-8")
    with commanded([tmp_path / "small"], tmp_path / "log", "--log", "json") as server:
        server.says("there is no database")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    levels = {line["message"]: line["level"] for line in lines if line["message"].startswith("read: ")}
    retrieved = len({document for run in small.runs for top in run.rankings.values() for document in top})
    met = f"{retrieved - 1} of {retrieved} retrieved documents have a line"
    assert levels == {
        f"read: {tmp_path}/small/runs.trec: 5 systems, 6 queries, {retrieved} documents retrieved": "info",
        f"read: {path}: {met}; did you mean d07 for D07?": "warning",
        f"read: {tmp_path}/small/systems.tsv: 5 of 5 systems have a line": "info",
        f"read: {tmp_path}/small/judgments.csv: {len(small.judgments)} of {len(small.judgments)} judgments are of "
        "retrieved pairs": "info",
    }


@pytest.mark.slow
def test_what_names_the_systems_may_be_said(commanded, small, tmp_path):
    small.save(tmp_path / "small")
    (tmp_path / "small" / "runs").mkdir()
    lines = (tmp_path / "small" / "runs.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "small" / "runs.trec").unlink()
    for run in small.runs:
        own = "".join(line for line in lines if line.split()[-1] == run.system)
        (tmp_path / "small" / "runs" / f"file-{run.system}.trec").write_text(own, encoding="utf-8")
    (tmp_path / "small" / "systems.tsv").unlink()
    options = ("--judgments", "none", "--system-from", "file")
    with commanded([tmp_path / "small"], tmp_path / "log", *options) as server, server.client() as http:
        assert http.get("/v1/collections/small").json()["systems"] == [f"file-{run.system}" for run in small.runs]
