"""Another package, built and installed by pip, as found by the commands and the service."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile
import typer
from typer.main import get_command

import audiosim
from audiosim import cli
from audiosim.collection.arguments import as_collection
from audiosim.collection.evidence import read_vectors

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "fixtures" / "demo"
TRUTH = DEMO / "truth.qrels"
SYSTEMS = 10


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """The folder into which pip installed the package from its pyproject.toml, offline."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", target, HERE / "sample_package"]
    installed = subprocess.run(command, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    return target


@pytest.fixture(scope="module")
def environment(target):
    """The environment of a process with the package."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(target), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.fixture
def here(run, target, monkeypatch):
    """The command in this process, with the package until the test ends, as the processes of `command` are slow."""
    monkeypatch.syspath_prepend(target)
    yield run
    for name in [name for name in sys.modules if name.split(".")[0] == "audiosim_sample"]:
        del sys.modules[name]


def parsed(outcome):
    code, out, err = outcome
    assert code == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_the_estimator_of_another_package_ranks_the_systems(here):
    found = parsed(here("estimate", DEMO, "--model", "sample", "--judgments", "none", "--format", "json"))
    assert (found["model"], found["judged"], len(found["systems"])) == ("sample", 0, SYSTEMS)
    # Symmetric around the middle of the scale for every document; each system has five documents for each query.
    assert [row["expectation"] for row in found["systems"]] == pytest.approx([0.5] * SYSTEMS)


@pytest.mark.slow
def test_the_text_after_the_colon_reaches_the_estimator(here):
    code, out, err = here("estimate", DEMO, "--model", "sample:-1")
    assert (code, out, err) == (1, "", "audiosim: the spread of sample must be more than 0, got -1\n")


def hits(least):
    """Each system's share of queries with a grade of at least `least` in the top five, read from the files directly."""
    lines = [line.split() for line in TRUTH.read_text().splitlines()]
    grades = {(query, document): float(grade) for query, _, document, grade in lines}
    found = {}
    for path in (DEMO / "runs").iterdir():
        hit = {}
        for query, _, document, rank, _, system in (line.split() for line in path.read_text().splitlines()):
            hit[query] = hit.get(query, False) or (int(rank) <= 5 and grades[query, document] >= least)
            found[system] = hit
    return {system: sum(hit.values()) / len(hit) for system, hit in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "least"), [("HIT(min=40)@5", 40), ("HIT(min=60)@5", 60)])
def test_the_measure_of_another_package_scores_what_it_defines(here, measure, least):
    found = parsed(here("estimate", DEMO, "--judgments", TRUTH, "--measure", measure, "--format", "json"))
    assert found["measure"] == measure
    # Every pair is judged, so the expected value is the true one.
    assert {row["system"]: row["expectation"] for row in found["systems"]} == pytest.approx(hits(least))


@pytest.mark.slow
def test_the_measure_of_another_package_asks_for_a_minimum_where_the_model_has_no_level_below(here):
    # A uniform belief includes grade 0, which is no hit; the lowest level of the default model is 5.
    written = ["estimate", DEMO, "--judgments", TRUTH, "--measure", "HIT@5"]
    found = parsed(here(*written, "--model", "uniform", "--format", "json"))
    assert {row["system"]: row["expectation"] for row in found["systems"]} == pytest.approx(hits(1))
    # If everything is judged, nothing is predicted.
    found = parsed(here(*written, "--format", "json"))
    assert {row["system"]: row["expectation"] for row in found["systems"]} == pytest.approx(hits(1))
    code, out, err = here("estimate", DEMO, "--measure", "HIT@5")
    assert (code, out) == (1, "")
    assert err.endswith(
        "audiosim: HIT@5 calls every unjudged result relevant, as the lowest grade predicted is 5; "
        "expected a higher min, such as HIT(min=40)@5\n"
    )


@contextmanager
def serving(environment, *arguments):
    """The address of a service run by the command; it is stopped at the end."""
    command = [sys.executable, "-m", "audiosim", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        watch = threading.Timer(120, server.kill)
        watch.start()
        try:
            said = server.stderr.readline()
            started = re.search(r"at (http://\S+);", said)
            assert started, said + server.stderr.read()
            yield started[1]
            server.send_signal(signal.SIGTERM)
            assert server.wait() == 0
        finally:
            watch.cancel()
            server.kill()


@pytest.mark.slow
def test_the_service_predicts_and_ranks_by_what_another_package_installs(environment):
    query, _, document, _ = TRUTH.read_text().split(maxsplit=3)
    names = [
        "--model",
        "sample",
        "--measure",
        "HIT(min=40)@5",
        "--stopping-rule",
        "winner=0.8",
    ]
    settings = {"AUDIOSIM_SELECTION_RULE": "even", "AUDIOSIM_JUDGMENTS": "none"}
    with serving(environment | settings, DEMO, *names) as url:
        answer = httpx.post(
            f"{url}/v1/collections/demo/predictions", json={"query": [query], "document": [document]}
        ).json()
        ranking = httpx.get(f"{url}/v1/collections/demo/ranking").json()
    assert ranking["measure"] == "HIT(min=40)@5"
    assert answer["model"]["name"] == "sample"
    assert answer["status"] == ["predicted"]
    assert answer["expectation"] == pytest.approx([50])


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
def test_the_embedding_of_another_package_is_a_second_description(here, tmp_path):
    rng, time = np.random.default_rng(0), np.arange(22_050 * 5) / 22_050
    (tmp_path / "sounds").mkdir()
    for beats_per_s in (2, 3, 5):
        pulse = np.exp(-20 * (time * beats_per_s % 1)) * rng.standard_normal(len(time))
        soundfile.write(tmp_path / f"sounds/{beats_per_s}.wav", 0.2 * pulse, 22_050)
    written = ["extract", tmp_path / "sounds", "-o", tmp_path / "index", "--with", "rhythm", "--jobs", 1]
    assert parsed(here(*written, "--format", "json"))["failed"] == []
    (piece,) = read_vectors(tmp_path / "index")
    assert piece.name == "rhythm"
    # Onsets of two a second recur after half a second, the fifth lag; of five a second after .2 s.
    of = dict(zip(piece.keys, piece.values, strict=True))
    assert np.argmax(of["2"][:9]) == 4
    assert np.argmax(of["5"][:3]) == 1


@pytest.mark.slow
def test_the_selection_rule_and_the_stopping_rule_of_another_package_are_followed(here):
    options = ["--judgments", TRUTH, "--selection-rule", "even", "--stopping-rule", "winner=0.8", "--format", "json"]
    found = parsed(here("simulate", DEMO, *options))
    assert found["rule"] == "even"
    assert 0 < found["judged"] < found["pool"]


@pytest.mark.slow
def test_an_unknown_measure_is_told_with_those_of_other_packages(here):
    code, _, err = here("reliability", DEMO, "--measure", "MISS@5", "--judgments", TRUTH)
    assert code == 2
    known = "P, AP, RR, CG, DCG, nDCG, Q, RBP, ERR, EDCG, GAP, ADR, HIT"
    said = " ".join(err.replace("│", "").split())
    assert f"Invalid value for --measure: unknown measure 'MISS', expected one of {known} " in said


NAMES = {
    "model": "sample",
    "measure": "HIT(min=40)@5",
    "measures": ["HIT(min=40)@5"],
    "selection_rule": "even",
    "stopping_rule": "winner=0.6",
}
# They read answers of people or several judgments of a pair, or take only weighted sums of grades or models of
# comparisons.
OTHERWISE = {"judge_effect", "sample_study", "satisfaction", "assessor_reliability", "honesty", "kinds_of_question"}
CALLED = [
    name
    for name in audiosim.__all__
    if inspect.isfunction(function := getattr(audiosim, name))
    if set(inspect.signature(function).parameters) & set(NAMES)
    if name not in OTHERWISE
]
FEWER = {
    "worth": {"judged": [0], "splits": 1, "target": None},
    "compare": {"a": "fusion", "b": "random"},
    "calibration": {"parts": 1, "jobs": 1},
    "rules": {"stopping_rule": "winner=0.3"},
    "write_report": {"path": "report.html"},
}


@pytest.fixture(scope="module")
def small():
    """Four systems of the demo on eight of its queries, judged in full."""
    whole = as_collection(DEMO, TRUTH)
    queries = sorted(whole.runs[0].rankings)[:8]
    runs = [run for run in whole.runs if run.system in {"fusion", "random", "rhythm", "timbre-full"}]
    some = tuple(replace(run, rankings={query: run.rankings[query] for query in queries}) for run in runs)
    return replace(whole, runs=some, judgments=tuple(one for one in whole.judgments if one.query in queries))


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLED)
def test_every_function_knows_the_names_of_another_package(here, small, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(audiosim, name)
    parameters = inspect.signature(function).parameters
    options = NAMES | {"seed": 0} | FEWER.get(name, {})
    function(small, **{key: value for key, value in options.items() if key in parameters})


WRONG = {"model": "simple", "measure": "HITS@5", "selection_rule": "evens", "stopping_rule": "winners=0.8"}


def options():
    """Each command of a collection, and each of its options that takes such a name."""
    group = get_command(cli.app)
    context = typer.Context(group, info_name="audiosim")
    for name in sorted({*group.list_commands(context)} - {"satisfaction", "train", "predict-rows"}):
        for option in group.get_command(context, name).params:
            if option.name in WRONG:
                yield name, option.name


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), list(options()))
def test_every_command_looks_for_a_name_among_those_of_another_package(here, command, option, tmp_path):
    written = [DEMO, f"--{option.replace('_', '-')}", WRONG[option]]
    needed = {
        "compare": ["fusion", "random"],
        "judge-effect": ["ann"],
        "report": ["-o", tmp_path / "page.html"],
        "serve": ["--port", 0],
    }
    judged = [] if command in {"serve", "report"} else ["--judgments", TRUTH]
    code, _, err = here(command, *written, *judged, *needed.get(command, []))
    assert code in {1, 2}  # 2 where the name is looked up with the options
    installed = re.match(r"\w+", NAMES[option])[0]
    assert re.search(rf"unknown {option.replace('_', ' ')} .*\b{installed}\b", err, re.DOTALL), err
