"""`audiosim extract`, killed at random moments: the index opens each time, and the next run continues."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import soundfile

from audiosim.sound.index import AudioIndex
from audiosim.sound.store import ENTRIES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
CLIPS = 60


@pytest.fixture(scope="module")
def sounds(tmp_path_factory, music):
    folder = tmp_path_factory.mktemp("killed")
    for n in range(8):
        soundfile.write(folder / f"{n}.wav", music(3, seed=n), 44_100)
    for n in range(8, CLIPS):
        shutil.copy(folder / f"{n % 8}.wav", folder / f"{n}.wav")
    return folder


def started(sounds, index):
    command = [sys.executable, "-m", "audiosim", "extract", sounds, "-o", index, "-j", "1"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


@pytest.fixture(scope="module")
def undisturbed(sounds, tmp_path_factory):
    """The index, and the time range in which it was written."""
    folder, start, first = tmp_path_factory.mktemp("undisturbed") / "index", time.monotonic(), None
    running = started(sounds, folder)
    while running.poll() is None:
        if first is None and folder.exists():
            first = time.monotonic() - start
        time.sleep(0.005)
    assert running.communicate()[1] == b""
    return AudioIndex.load(folder), first, time.monotonic() - start


def loaded(folder):
    """Number of recordings in the index; None if it was killed before there was an index."""
    return len(AudioIndex.load(folder).ids) if (folder / "index.json").exists() else None


@pytest.mark.slow
def test_an_extraction_killed_again_and_again_goes_on_and_ends_as_if_it_had_not_been(sounds, undisturbed, tmp_path):
    whole, first, last = undisturbed
    rng, folder, seen = np.random.default_rng(0), tmp_path / "index", []
    for kill in (os.kill, os.killpg):
        running = started(sounds, folder)
        time.sleep(rng.uniform(0.9 * first, last))
        if running.poll() is None:
            kill(running.pid, signal.SIGKILL)
        running.communicate(timeout=180)  # ends when the last of its workers closes the pipe
        seen.append(loaded(folder))
    assert started(sounds, folder).communicate() == (None, b"")
    result = AudioIndex.load(folder)
    assert list(result.recordings) == list(whole.recordings)
    assert np.array_equal(result.rows, whole.rows)
    counts = [count or 0 for count in seen]
    assert counts == sorted(counts), "finished work is never lost"


# A transaction that has written to the file, as its cache is full, and is never committed.
CUT_OFF = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.executescript("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; CREATE TABLE more (text)")
for _ in range(200):
    database.execute("INSERT INTO more VALUES (zeroblob(5000))")
os._exit(9)
"""


@pytest.mark.slow
def test_an_index_whose_writer_was_killed_within_a_transaction_is_read_as_before(undisturbed, tmp_path):
    whole, folder = undisturbed[0], tmp_path / "index"
    shutil.copytree(whole.folder, folder)
    subprocess.run([sys.executable, "-c", CUT_OFF, str(folder / ENTRIES)], check=False, timeout=60)
    assert (folder / f"{ENTRIES}-journal").stat().st_size  # which is to be undone
    assert AudioIndex.load(folder).ids == whole.ids
