"""Another package, built and installed by pip, as found by the commands and the service."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

from audiosim.collection.evidence import read_vectors
from audiosim.joint import terms as evidence_registry
from audiosim.ordinal import features as registry
from audiosim.plugins import load_evidence_kinds
from audiosim.sound.index import AudioIndex

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


@pytest.fixture(scope="module")
def command(environment):
    """A module of ours run as a program: exit code, stdout, stderr."""

    def call(module, *arguments):
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-m", module, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
        )
        return ran.returncode, ran.stdout, ran.stderr

    return call


@pytest.fixture
def here(run, target, monkeypatch):
    """The command in this process, with the package until the test ends, as the processes of `command` are slow."""
    monkeypatch.syspath_prepend(target)
    load_evidence_kinds.cache_clear()
    yield run
    load_evidence_kinds.cache_clear()
    registry._FEATURES.pop("fTOP", None)  # registered extensions last as long as their process
    evidence_registry._KINDS.pop("shelf", None)
    for name in [name for name in sys.modules if name.split(".")[0] == "audiosim_sample"]:
        del sys.modules[name]


def parsed(outcome):
    code, out, err = outcome
    assert code == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def model(command, tmp_path_factory):
    """A model trained on the package's feature."""
    path = tmp_path_factory.mktemp("trained") / "mine.json"
    options = ["--features", "fTOP", "--folds", "0", "--judgments", TRUTH, "-o", path, "--format", "json"]
    assert parsed(command("audiosim", "train", DEMO, *options))["terms"] == ["fTOP"]
    return path


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
        "audiosim: HIT@5 counts every level of the model as relevant, as the lowest is 5; "
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
def test_the_service_predicts_with_the_estimator_of_another_package(environment):
    query, _, document, _ = TRUTH.read_text().split(maxsplit=3)
    with serving(environment, DEMO, "--model", "sample", "--judgments", "none") as url:
        answer = httpx.post(
            f"{url}/v1/collections/demo/predictions", json={"query": [query], "document": [document]}
        ).json()
    assert answer["model"]["name"] == "sample"
    assert answer["status"] == ["predicted"]
    assert answer["expectation"] == pytest.approx([50])


@pytest.mark.slow
def test_a_model_is_trained_on_the_feature_of_another_package_and_predicts(here, model):
    rows = parsed(here("predict", DEMO, "--model", model, "--judgments", "none", "--format", "json"))
    firsts, runs = {}, list((DEMO / "runs").iterdir())
    for path in runs:
        for query, _, document, rank, _, _ in (line.split() for line in path.read_text().splitlines()):
            firsts[query, document] = firsts.get((query, document), 0) + (rank == "1")
    # Pairs ranked first by equally many systems get equal predictions, others get different ones.
    expected = {count: set() for count in firsts.values()}
    for row in rows:
        expected[firsts[row["query"], row["document"]]].add(round(row["expectation"], 9))
    assert [len(values) for values in expected.values()] == [1] * len(expected)
    assert len(set.union(*expected.values())) == len(expected) > 1


@pytest.mark.slow
def test_a_model_of_another_package_s_feature_says_what_is_missing_where_that_is_not_installed(model, run):
    code, out, err = run("predict", DEMO, "--model", model)
    assert (code, out) == (1, "")
    assert "unknown feature 'fTOP', expected one of fSYS, " in err


@pytest.mark.slow
def test_the_evidence_of_another_package_speaks_for_every_pair(here):
    rows = parsed(here("predict", DEMO, "--judgments", "none", "--format", "json"))
    assert all(row["evidence"].endswith(", shelf") for row in rows)


@pytest.mark.slow
def test_the_decoder_of_another_package_opens_its_files_in_workers_too(command, tmp_path):
    rate_hz, tone = 8000, np.sin(np.arange(16_000) * 0.3) * np.linspace(0.1, 0.9, 16_000)
    noise = np.random.default_rng(0).normal(0, 0.05, 16_000)
    samples = np.round((tone + noise) * 2**14).astype(">i2")
    head = struct.pack(">4s5I", b".snd", 24, samples.nbytes, 3, rate_hz, 1)
    (tmp_path / "sounds").mkdir()
    (tmp_path / "sounds" / "clip.sun").write_bytes(head + samples.tobytes())
    found = parsed(command("audiosim", "extract", tmp_path / "sounds", "-o", tmp_path / "index", "--format", "json"))
    assert (found["done"], found["failed"]) == (1, [])
    assert AudioIndex.load(tmp_path / "index").recordings[0].seconds == 2.0


@pytest.mark.slow
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
def test_all_are_checked_by_one_command(command):
    code, out, err = command("audiosim.plugins")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "estimator sample of audiosim-sample keeps its contract",
        "measure HIT of audiosim-sample keeps its contract",
        "feature fTOP of audiosim-sample keeps its contract",
        "kind of evidence shelf of audiosim-sample keeps its contract",
        "decoder au of audiosim-sample keeps its contract",
        "embedding rhythm of audiosim-sample keeps its contract",
        "selection rule even of audiosim-sample keeps its contract",
        "stopping rule winner of audiosim-sample keeps its contract",
    ]


@pytest.mark.slow
def test_a_name_that_cannot_be_checked_is_one_line(command):
    code, out, err = command("audiosim.plugins", "nobody")
    assert (code, out) == (1, "")
    others = "sample, HIT, fTOP, shelf, au, rhythm, even, winner"
    assert err == f"audiosim: there is nothing named 'nobody'; other packages have installed {others}\n"


@pytest.mark.slow
def test_an_unknown_measure_is_told_with_those_of_other_packages(here):
    code, _, err = here("reliability", DEMO, "--measure", "MISS@5", "--judgments", TRUTH)
    assert code == 1
    known = "P, AP, RR, CG, DCG, nDCG, Q, RBP, ERR, EDCG, GAP, ADR, HIT"
    assert err.endswith(f"audiosim: unknown measure 'MISS', expected one of {known}\n")
