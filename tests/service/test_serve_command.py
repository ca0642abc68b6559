"""Settings of the service: flags override the environment, which overrides the file."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import pytest

from audiosim.service.settings import Settings
from audiosim.text import field_list, sentence


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
            "unknown setting 'prot', expected one of collections, open, db, home, tokens, host, port, allowed-host",
        ),
        ({"config": "other.toml"}, "unknown setting 'config', expected one of collections"),
        ({"collections": "one"}, "collections: expected a list, got 'one'"),
        ({"port": [1, 2]}, "port: expected a whole number in [0, 65535], got [1, 2]"),
        ({"port": 2.5}, "port: expected a whole number in [0, 65535], got 2.5"),
        ({"partial": "maybe"}, "partial: expected true or false, got 'maybe'"),
        ({"lease": 0}, "lease: expected a number of at least 1, got 0"),
        ({"unasked": "drop"}, "unasked: expected one of count, mark, refuse, got 'drop'"),
        ({"stopping-rule": "soon"}, "stopping-rule: unknown stopping rule 'soon', expected confidence"),
        ({"grant": ["judge=ann"], "login_header": "X"}, "grant: unknown role 'judge' in grant 'judge=ann'"),
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
    assert said.startswith(f"audiosim: {tmp_path / 'a.toml'}:1: not TOML: ")
    assert said.count("\n") == 1


@pytest.mark.slow
def test_what_cannot_be_served_is_one_line(run, folders, tmp_path):
    code, _, said = run("serve", folders[0], "--stopping-rule", "soon")
    assert code == 2
    assert "Invalid value for --stopping-rule: unknown stopping rule 'soon', expected" in " ".join(said.split())
    for wrong in ("", "campaign.db"):  # reported before the folder is looked up
        code, _, said = run("serve", "no-such-folder", "--db", wrong)
        assert (code, said.count("\n")) == (1, 1)
        assert said.startswith(f"audiosim: cannot use database {wrong!r}: ")
    assert run("serve", folders[0], "--db", "mysql://h/x")[2].startswith("audiosim: cannot use database 'mysql://h/x'")
    said = run("serve", tmp_path / "nowhere", "--port", 0)[2]
    assert said.startswith(f"audiosim: {tmp_path / 'nowhere'}: no such folder, expected a collection")


KINDS = get_type_hints(Settings, include_extras=True)


def example(name):
    """A value of a setting other than its default, and how it is written in a variable, and in a file."""
    texts = {
        "about": ("queries",),
        "grant": ("assessor=*", "client=ann"),
        "trusted_proxy": ("10.0.0.0/8",),
        "sounds": (Path("/tmp"), Path("/")),
        "stopping_rule": "judgments=7",
        "measure": "RR@5",
    }
    kind, default = KINDS[name], Settings.__dataclass_fields__[name].default
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    kind = next((one for one in get_args(kind) if get_origin(one) is Literal), kind)
    if name in texts:
        value = texts[name]
    elif get_origin(kind) is Literal:
        value = next(one for one in get_args(kind) if one != default)
    elif get_origin(kind) is tuple:
        value = tuple(get_args(kind)[0](word) for word in ("a", "b"))
    else:
        plain = next(one for one in (bool, int, float, Path, str) if one is kind or one in get_args(kind))
        value = {bool: True, int: 3, float: 0.25, Path: Path("x.tsv"), str: "word"}[plain]
        value = 2.5 if name == "lease" else value
    several = isinstance(value, tuple)
    plainly = [str(one) if isinstance(one, Path) else one for one in (value if several else (value,))]
    paths = isinstance((value if several else (value,))[0], Path)
    return value, (":" if paths else " ").join(map(str, plainly)), json.dumps(plainly if several else plainly[0])


NEEDS = {"known_share": {"known": Path("k.tsv")}, "grant": {"login_header": "X-User"}}
NEEDS["groups_header"] = NEEDS["grant"]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("TYPED", "PLACED", "config")])
def test_a_setting_is_the_same_from_the_command_line_the_environment_and_the_file(name, tmp_path):
    value, in_variable, in_file = example(name)
    more = NEEDS.get(name, {})
    variables = {f"AUDIOSIM_{other.upper()}": str(one) for other, one in more.items()}
    expected = Settings(**{name: value} | more)
    assert expected != Settings(**more)
    assert Settings.read({}, variables | {f"AUDIOSIM_{name.upper()}": in_variable}) == expected
    path = tmp_path / "service.toml"
    path.write_text(f"{name.replace('_', '-')} = {in_file}\n", encoding="utf-8")
    assert Settings.read({"config": str(path)}, variables) == replace(expected, config=path)
    typed = [str(one) for one in value] if isinstance(value, tuple) else value if value is True else str(value)
    assert Settings.read({name: typed}, variables) == expected
    assert Settings.read({}, variables | {f"AUDIOSIM_{name.upper()}": ""}) == Settings(**more)


def test_the_command_has_at_most_fifteen_options_and_the_words_of_each_are_those_of_the_settings(run):
    assert len([name for name in Settings.TYPED if name not in Settings.PLACED]) <= 15
    code, said, _ = run("serve", "--help")
    assert code == 0
    shown = re.sub(r"[│\s]+", "", said)
    words = field_list(Settings.__doc__)[1]
    assert {*words} == {one.name for one in fields(Settings)}
    for name in Settings.TYPED:
        assert name in Settings.PLACED or f"--{name.replace('_', '-')}" in shown
        assert re.sub(r"[`\s]+", "", sentence(words[name])) in shown.replace("`", ""), name


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("PORT", "many", "AUDIOSIM_PORT: expected a whole number in [0, 65535], got 'many'"),
        ("TWICE", "nan", "AUDIOSIM_TWICE: expected a number in [0, 1], got 'nan'"),
        ("SOUNDS", "/nowhere:/tmp", "AUDIOSIM_SOUNDS: /nowhere: no such folder, expected one with sound files"),
        ("KNOWN_SHARE", "0.1", "known-share needs known, the file of known grades"),
        ("ABOUT", "these queries", "AUDIOSIM_ABOUT: a statement is about these or queries, not both"),
    ],
)
def test_a_wrong_variable_is_named_in_one_line(run, folders, monkeypatch, variable, text, message):
    monkeypatch.setenv(f"AUDIOSIM_{variable}", text)
    assert run("serve", folders[0])[::2] == (1, f"audiosim: {message}\n")


def test_a_wrong_option_is_wrong_usage_and_a_misspelt_variable_is_noted(run, folders, monkeypatch):
    monkeypatch.setenv("AUDIOSIM_GRNAT", "assessor=*")
    code, _, said = run("serve", folders[0], "--comparisons", "many")
    assert code == 2
    assert "Invalid value for --comparisons: expected one of none, some, only, got 'many'" in " ".join(
        said.replace("│", "").split()
    )
    monkeypatch.setenv("AUDIOSIM_TOKEN", "secret")
    monkeypatch.setenv("AUDIOSIM_LEASE", "0")
    code, _, said = run("serve", folders[0])
    assert (code, said.splitlines()[-1]) == (1, "audiosim: AUDIOSIM_LEASE: expected a number of at least 1, got '0'")
    monkeypatch.delenv("AUDIOSIM_LEASE")
    monkeypatch.setenv("AUDIOSIM_KNOWN_SHARE", "0.1")
    monkeypatch.setenv("AUDIOSIM_GOAL", "judgments=7")
    said = run("serve", folders[0])[2].splitlines()
    assert "note: the variable AUDIOSIM_GRNAT sets nothing; did you mean AUDIOSIM_GRANT?" in said
    assert "note: the variable AUDIOSIM_GOAL sets nothing" in said


@pytest.mark.parametrize("name", [one.name for one in fields(Settings) if one.name not in Settings.TYPED])
def test_a_setting_that_is_no_option_says_where_it_is_made(run, folders, name):
    option = f"--{name.replace('_', '-')}"
    code, _, said = run("serve", folders[0], option, "1")
    shown = f"{option} is no option: set {option[2:]} in the file of --config, or AUDIOSIM_{name.upper()}"
    assert (code, shown in " ".join(said.replace("│", "").split())) == (2, True)


@pytest.mark.slow
def test_what_was_read_of_each_file_is_logged_and_a_misspelt_name_is_a_warning(commanded, small, tmp_path):
    small.save(tmp_path / "small")
    path = tmp_path / "small" / "documents.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("d07", "D07"), encoding="utf-8")
    with commanded([tmp_path / "small"], tmp_path / "log", AUDIOSIM_LOG="json") as server:
        server.says("there is no database")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    levels = {line["message"]: line["level"] for line in lines if "have a line" in line["message"]}
    retrieved = len({document for run in small.runs for top in run.rankings.values() for document in top})
    met = f"{retrieved - 1} of {retrieved} retrieved documents have a line"
    assert levels == {
        f"small: {path}: {met}; did you mean d07 for D07?": "warning",
        f"read: {tmp_path}/small/systems.tsv: 5 of 5 systems have a line": "info",
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
    settings = {"AUDIOSIM_JUDGMENTS": "none", "AUDIOSIM_SYSTEM_FROM": "file"}
    with commanded([tmp_path / "small"], tmp_path / "log", **settings) as server, server.client() as http:
        assert http.get("/v1/collections/small").json()["systems"] == [f"file-{run.system}" for run in small.runs]
