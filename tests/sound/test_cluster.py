"""A Dask cluster on this machine: a scheduler and two workers, one of which is killed."""

import importlib.util
import json
import os
import signal
import sys
import time
from contextlib import closing

import numpy as np
import pytest
import soundfile
from joblib import wrap_non_picklable_objects

from audiosim import workers
from audiosim.errors import InputError
from audiosim.sound.decode import read
from audiosim.sound.describe import Described, Failure, describe_all, listed
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import STANDARD_FRAMES
from audiosim.sound.sources import find_sounds

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is not installed"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, music):
    """A folder with 24 sounds in four folders, and a file that is not sound, in a folder `sounds`."""
    folder = tmp_path_factory.mktemp("clips")
    for n in range(24):
        path = folder / f"sounds/{n % 4}/{n:02}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, music(1.5, seed=n), 22_050)
    (folder / "sounds/0/bad.wav").write_bytes(b"no sound")
    return folder


@pytest.fixture(scope="module")
def sounds(folder):
    return listed(find_sounds(folder / "sounds"))


@pytest.fixture(scope="module")
def here(sounds):
    """Descriptions of the sounds, made by this machine."""
    return list(describe_all(sounds, STANDARD_FRAMES))


def same(outcomes, others):
    return len(outcomes) == len(others) and all(
        one == other if isinstance(one, Failure) else one[0] == other[0] and np.array_equal(one[1], other[1])
        for one, other in zip(outcomes, others, strict=True)
    )


@pytest.fixture
def one_batch_each(monkeypatch):
    """One batch for each machine: every batch starts a process."""
    monkeypatch.setattr(workers, "ROUNDS", 1)


@pytest.mark.slow
def test_a_worker_killed_half_way_changes_nothing(dask_here, sounds, here, monkeypatch):
    monkeypatch.setattr(workers, "ROUNDS", 2)
    victim, other = dask_here.workers

    def read_slowly(path):  # so that the other worker is busy when it is killed
        time.sleep(0.02)
        return read(path)

    outcomes = describe_all(sounds, STANDARD_FRAMES, read_slowly, scheduler=dask_here.address)
    there = [next(outcomes) for _ in range(10)]
    dask_here.workers[0] = dask_here.add_worker()  # for the other tests, as it comes too late for this one
    os.kill(victim.pid, signal.SIGKILL)
    there += outcomes
    victim.join()
    assert victim.exitcode == -signal.SIGKILL
    assert other.is_alive()
    assert same(there, here)
    assert sum(isinstance(outcome, Described) for outcome in there) == 24


@pytest.mark.usefixtures("one_batch_each")
@pytest.mark.slow
def test_paths_count_from_here_not_from_where_a_machine_happens_to_be(dask_here, folder, monkeypatch):
    monkeypatch.chdir(folder)
    near = listed(find_sounds("sounds/0"))
    assert near[0].path.startswith("sounds/0")
    there = list(describe_all(near, STANDARD_FRAMES, scheduler=dask_here.address))
    assert same(there, list(describe_all(near, STANDARD_FRAMES)))


@pytest.mark.usefixtures("one_batch_each")
@pytest.mark.slow
def test_the_command_gives_the_index_of_the_local_run(dask_here, folder, tmp_path, run, monkeypatch):
    monkeypatch.chdir(folder)
    for index, options in (("here", ()), ("there", ("--scheduler", dask_here.address))):
        code, out, err = run("extract", "sounds", "-o", tmp_path / index, "--format", "json", *options)
        assert (code, json.loads(out)["done"]) == (1, 24)
        bad = "cannot be decoded (it is text, a table or a database), expected WAV, FLAC, Ogg, MP3 or AIFF"
        left_out = "1 file left out, the index has the others"
        assert err == f"audiosim: sounds/0/bad.wav: {bad}\naudiosim: {left_out}\n"
    here, there = AudioIndex.load(tmp_path / "here"), AudioIndex.load(tmp_path / "there")
    assert list(there.recordings) == list(here.recordings)
    assert np.array_equal(there.rows, here.rows)


@pytest.mark.usefixtures("one_batch_each")
@pytest.mark.slow
def test_a_decoder_that_crashes_there_costs_one_file(dask_here, sounds, here):
    victim = sounds[8].path

    def read_or_crash(path):
        if str(path) == victim:
            os.kill(os.getpid(), signal.SIGSEGV)
        return read(path)

    outcomes = list(describe_all(sounds, STANDARD_FRAMES, read_or_crash, scheduler=dask_here.address))
    assert all(worker.is_alive() for worker in dask_here.workers)
    expected = "expected WAV, FLAC, Ogg, MP3 or AIFF that it can read"
    assert outcomes[8] == Failure(victim, f"its decoder crashed (signal 11, Segmentation fault), {expected}")
    assert same(outcomes[:8] + outcomes[9:], here[:8] + here[9:])


@pytest.mark.longest
@pytest.mark.usefixtures("one_batch_each")
@pytest.mark.slow
def test_a_batch_that_takes_every_machine_along_is_given_up(loopback, tmp_path):
    finished = tmp_path / "finished"
    finished.mkdir()

    def deadly(task):
        if task > 1:
            (finished / f"{task}").touch()
        else:
            # First every other task is done, which would be lost too if it waited here as often as this one begins. Its
            # process takes half a minute to start on a busy machine.
            patience = time.monotonic() + 120
            while len([*finished.iterdir()]) < 2 and time.monotonic() < patience:
                time.sleep(0.05)
            os.kill(os.getppid(), signal.SIGKILL)  # the machine's main process
            time.sleep(600)
        return task

    started = loopback(3)
    results = list(
        workers.spread_on_cluster(
            wrap_non_picklable_objects(deadly),
            [1, 2, 3],
            started.address,
            lambda task: 600.0,
            lambda task, why: why,
        )
    )
    assert results == ["was given up: every machine that worked on it was lost", 2, 3]


@pytest.mark.slow
def test_a_scheduler_that_is_lost_ends_the_work_with_one_line(loopback, sounds, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_S", 1)
    started = loopback(1)

    def read_slowly(path):
        time.sleep(0.05)
        return read(path)

    outcomes = describe_all(sounds, STANDARD_FRAMES, read_slowly, scheduler=started.address)
    next(outcomes)
    started.processes[0].kill()
    with pytest.raises(InputError, match=rf"^the scheduler at {started.address} is gone$"):
        list(outcomes)


@pytest.mark.slow
def test_closing_gives_the_cluster_back(dask_here, sounds):
    import distributed  # slow to import, and not needed to collect tests

    with closing(describe_all(sounds, STANDARD_FRAMES, scheduler=dask_here.address)) as outcomes:
        next(outcomes)
    with distributed.Client(dask_here.address, set_as_default=False) as client:
        deadline = time.monotonic() + 180
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(client.processing().values())


@pytest.mark.slow
def test_a_cluster_without_workers_is_an_error(loopback, sounds, monkeypatch):
    monkeypatch.setattr(workers, "JOIN_S", 1)
    address = loopback(0).address
    with pytest.raises(
        InputError, match=rf"^the scheduler at {address} has no worker after 1 s, expected at least one$"
    ):
        next(describe_all(sounds, STANDARD_FRAMES, scheduler=address))


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_an_error(sounds, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_S", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(InputError, match=rf"^no scheduler answers at {address}, expected an address like tcp://"):
            next(describe_all(sounds, STANDARD_FRAMES, scheduler=address))


def test_without_the_extra_a_line_says_what_to_install(sounds, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"^a cluster needs Dask, which audiosim\[scale\] brings: pip install"):
        next(describe_all(sounds, STANDARD_FRAMES, scheduler="tcp://127.0.0.1:8786"))
