"""Campaigns played in this process, in others, by a joblib backend and on a Dask cluster give the same results."""

import contextlib
import gc
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import audiosim
from audiosim import workers
from audiosim.errors import InputError
from audiosim.measures.measure import parse_measure
from audiosim.ranking.about import About
from audiosim.ranking.rules import DrawnByDoubt
from audiosim.simulation.replay import Setup
from audiosim.simulation.trials import Trial, draw_parts, follow
from audiosim.workers import each_in_turn
from benchmarks.synthetic import Design, synthetic_collection

DEMO = Path(audiosim.__file__).parents[1] / "fixtures" / "demo"

cluster = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is not installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
]


def on_cluster(test):
    for mark in cluster:
        test = mark(test)
    return test


def quietly(done, total):
    pass


@pytest.fixture(scope="module")
def collection():
    """7 systems of 4 teams, 9 queries."""
    return synthetic_collection(np.random.default_rng(2), Design(7, 4, 9, 3, 15))


@pytest.fixture(scope="module")
def parts(collection):
    return draw_parts(collection, 6, np.random.default_rng(3), held_out="queries")


@pytest.fixture(scope="module")
def trial(collection):
    setup = Setup("joint", parse_measure("CG@3"), DrawnByDoubt.name, 20, "ordered", 0, "t", About())
    return Trial(collection, setup.start)  # a function that workers can import


@pytest.fixture(scope="module")
def here(trial, parts):
    """Results of this process, to the last digit."""
    return json.dumps(follow(trial, parts, (0, 7, 20)).to_dict())


@on_cluster
def test_a_cluster_finds_what_one_process_finds_though_a_worker_is_killed_half_way(loopback, trial, parts, here):
    started, seen = loopback(2), []

    def kill_one(done, total):
        seen.append((done, total))
        if done == 2:
            os.kill(started.workers[0].pid, signal.SIGKILL)
            started.workers[0].join()
            assert started.workers[0].exitcode == -signal.SIGKILL

    found = follow(trial, parts, (0, 7, 20), progress=kill_one, scheduler=started.address)
    assert json.dumps(found.to_dict()) == here
    assert seen == [(done, 6) for done in range(7)]
    assert started.workers[1].is_alive()


@on_cluster
@pytest.mark.parametrize(
    "command",
    [
        ("calibration", "--parts", 3, "--at", "0,9"),
        ("plan", "--judgments", "none", "--campaigns", 3, "--stopping-rule", "judgments=9"),
        ("worth", "--judged", "0,0.2", "--no-replays"),
        ("train", "--features", "joint", "--folds", 2, "--name", "mine", "--date", "2020-01-01"),  # on the demo
        ("evaluate", "--measure", "CG@3", "--measure", "nDCG@3", "--test", "bootstrap", "--resamples", 99),
    ],
    ids=lambda command: command[0],
)
def test_the_command_prints_the_same_wherever_its_work_is_done(dask_here, collection, tmp_path, run, command):
    name, *options = command
    folder, written = tmp_path / "made", tmp_path / "model.json"
    if name == "train":
        folder, options = DEMO, [*options, "--judgments", DEMO / "truth.qrels", "-o", written]
    else:
        collection.save(folder)
    command = (name, folder, *options, "--format", "json")
    alone = run(*command, "--jobs", 1)
    assert alone[0] == 0
    model = written.read_bytes() if name == "train" else None
    assert run(*command, "--scheduler", dask_here.address) == alone
    assert run(*command, "--jobs", 2) == alone
    assert model is None or written.read_bytes() == model
    code, _, said = run(*command, "--jobs", 2, "--scheduler", dask_here.address)
    assert code == 2
    assert "--scheduler and --jobs cannot be combined" in " ".join(said.replace("│", " ").split())


@on_cluster
def test_predictions_are_the_same_wherever_they_are_computed(dask_here, run, small_demo, tmp_path):
    elsewhere = ("--scheduler", dask_here.address)
    said = {form: run("predict", small_demo, "--format", form) for form in ("json", "csv", "table")}
    for form, here in said.items():
        assert here[0] == 0
        assert run("predict", small_demo, "--format", form, *elsewhere) == here
    code, _, error = run("predict", small_demo, "--format", "qrels", *elsewhere)
    assert (code, error) == (1, "audiosim: --format qrels needs the model on this machine: leave out the scheduler\n")
    for name, where in (("here", ()), ("there", elsewhere)):
        assert run("predict", small_demo, "--format", "parquet", "-o", tmp_path / name, *where)[0] == 0
    assert pyarrow_rows(tmp_path / "here") == pyarrow_rows(tmp_path / "there") != []
    asked = tmp_path / "pairs.tsv"
    rows = json.loads(said["json"][1])
    queries, documents = ({row[name] for row in rows} for name in ("query", "document"))
    asked.write_text("".join(f"{query}\t{document}\n" for query in queries for document in documents))
    here = run("predict", small_demo, "--pairs", asked, "--format", "json")
    assert (here[0], len(json.loads(here[1]))) == (0, len(queries) * len(documents))
    assert run("predict", small_demo, "--pairs", asked, "--format", "json", *elsewhere)[:2] == here[:2]


def pyarrow_rows(path):
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(path).to_pylist()


@on_cluster
def test_an_error_in_the_work_is_raised_here(dask_here):
    def wrong(number):
        raise InputError(f"part {number} says so")

    with pytest.raises(InputError, match=r"^part 0 says so$"):
        list(each_in_turn(wrong, 2, 1, quietly, dask_here.address))


@on_cluster
def test_a_worker_of_another_version_is_named_before_any_work(dask_here, monkeypatch):
    monkeypatch.setattr(workers, "version", {"audiosim": "9.9.9"}.get)
    began = []
    with pytest.raises(InputError, match=r"^worker tcp://127\.0\.0\.1:\d+ runs audiosim \d") as error:
        list(each_in_turn(began.append, 2, 1, quietly, dask_here.address))
    assert "expected audiosim 9.9.9, numpy not installed" in str(error.value)
    assert str(error.value).endswith("as here; 1 more differ")


def test_a_worker_of_another_version_that_joins_late_refuses_its_work():
    others = workers._versions() | {"audiosim": "0.0.1"}
    with pytest.raises(InputError, match=r"^a worker that joined runs audiosim \d.* expected audiosim 0\.0\.1, numpy"):
        workers._unpacked(b"", 0, others)


@on_cluster
def test_work_that_takes_every_machine_along_is_given_up(loopback):
    def deadly(number):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(InputError, match=r"^part 1 of 1 was given up: 2 workers were lost while computing it$"):
        list(each_in_turn(deadly, 1, 1, quietly, loopback(2).address))


@on_cluster
def test_work_that_is_closed_is_given_back(dask_here, tmp_path):
    import distributed

    def slow(number, folder=tmp_path):
        (folder / str(number)).touch()
        time.sleep(0.1)
        return number

    results = each_in_turn(slow, 500, 1, quietly, dask_here.address)
    assert next(results) == 0
    results.close()
    with distributed.Client(dask_here.address, set_as_default=False) as client:
        deadline = time.monotonic() + 180
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(client.processing().values())
    assert len(list(tmp_path.iterdir())) < 500


@on_cluster
def test_a_scheduler_that_is_lost_ends_the_work_with_one_line(loopback):
    def slow(number):
        time.sleep(0.1)
        return number

    started = loopback(1)
    results = each_in_turn(slow, 500, 1, quietly, started.address)
    assert next(results) == 0
    started.processes[0].kill()
    with pytest.raises(InputError, match=rf"^the scheduler at {started.address} is gone$"):
        list(results)


@pytest.mark.slow
def test_a_backend_that_the_user_chose_does_the_work(trial, parts, here):
    import joblib

    with joblib.parallel_config("threading", n_jobs=2):
        threads = set(each_in_turn(lambda number: threading.get_ident(), 4, 1, quietly))
        assert threading.get_ident() not in threads
        assert json.dumps(follow(trial, parts, (0, 7, 20)).to_dict()) == here


@pytest.mark.slow
def test_processes_that_the_user_asked_joblib_for_do_the_work():
    import joblib

    with joblib.parallel_config("loky", n_jobs=2):
        assert os.getpid() not in set(each_in_turn(lambda number: os.getpid(), 2, 1, quietly))
    assert set(each_in_turn(lambda number: os.getpid(), 2, 1, quietly)) == {os.getpid()}


@on_cluster
def test_joblibs_own_backend_for_dask_does_the_work_too(dask_here, trial, parts, here):
    import distributed
    import joblib

    with (
        distributed.Client(dask_here.address, set_as_default=False) as client,
        joblib.parallel_config("dask", client=client),
    ):
        assert os.getpid() not in set(each_in_turn(lambda number: os.getpid(), 4, 1, quietly))
        assert json.dumps(follow(trial, parts, (0, 7, 20)).to_dict()) == here


def refused(address):
    """An attempt to use an address without a scheduler; it must leave no thread behind."""
    before = set(threading.enumerate())
    with pytest.raises(InputError, match=f"^no scheduler answers at {address}, expected an address like"):
        list(each_in_turn(Path, 2, 1, quietly, address))
    assert set(threading.enumerate()) <= before


@pytest.fixture
def page_server():
    """Address of a server that answers with a web page; read as a length, its first bytes mean exabytes."""

    def answer(listening):
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                connection, _ = listening.accept()
                with connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 2000)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, args=(listening,), daemon=True).start()
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.slow
def test_a_server_that_is_no_scheduler_is_an_error(monkeypatch, page_server):
    monkeypatch.setattr(workers, "CONNECT_S", 1)
    refused(page_server)


def test_a_scheduler_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_S", 1)
    refused("tcp://127.0.0.1:9")


def test_a_second_attempt_does_not_wait_for_what_is_left_of_the_first(monkeypatch, page_server):
    """distributed's client closes itself when it is garbage collected, in any thread."""
    from distributed import utils

    def collect_and_run(*args, run=utils.asyncio_run, **options):
        gc.collect()
        return run(*args, **options)

    monkeypatch.setattr(workers, "CONNECT_S", 1)
    refused(page_server)
    monkeypatch.setattr(utils, "asyncio_run", collect_and_run)
    refused("tcp://127.0.0.1:9")


RACE = """
import sys, threading
from audiosim.workers import each_in_turn
ready, go = threading.Event(), threading.Event()
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "joblib._cloudpickle_wrapper" and threading.current_thread() is importing:
            ready.set()
            go.wait(0.5)
sys.meta_path.insert(0, Slow())
importing = threading.Thread(target=lambda: __import__("joblib"))
importing.start()
ready.wait()
print(list(each_in_turn(str, 3, 1, lambda done, of: None)))
importing.join()
"""


def test_work_waits_for_a_thread_that_is_importing_joblib():
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['0', '1', '2']\n", "")
