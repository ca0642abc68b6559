"""The files of an index: what is on disk after any accident is a whole index."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from audiosim.audio import store
from audiosim.audio.mfcc import Parameters
from audiosim.audio.store import Appender, Recording, load
from audiosim.errors import FormatError, InputError

SMALL = Parameters(coefficients=2)  # rows of 2 + 3 numbers, 40 bytes


def row(number):
    return np.array([number, -number, 1 + number, 0.1, 2.0])


@pytest.fixture
def three(tmp_path):
    """An index of three recordings."""
    with Appender(tmp_path / "index", SMALL) as index:
        for number, name in enumerate("abc"):
            index.append(Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é"), row(number))
    return tmp_path / "index"


def test_what_was_appended_is_loaded(three):
    parameters, recordings, rows = load(three)
    assert parameters == SMALL
    assert recordings == tuple(Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é") for name in "abc")
    assert np.array_equal(rows, [row(0), row(1), row(2)])
    assert isinstance(rows, np.memmap)


def test_the_layout_is_as_written_down(three):
    assert np.array_equal(np.fromfile(three / "gaussians.f64", "<f8").reshape(3, 5), [row(0), row(1), row(2)])
    assert [json.loads(line)["identifier"] for line in (three / "recordings.jsonl").read_text().splitlines()] == [
        "a",
        "b",
        "c",
    ]
    head = json.loads((three / "index.json").read_text())
    assert head["version"] == 1
    assert head["parameters"] == {"rate_hz": 22050, "frame": 2048, "hop": 512, "bands": 128, "coefficients": 2}


def test_appending_goes_on_where_it_stopped_and_rewrites_nothing(three):
    before = (three / "gaussians.f64").read_bytes(), (three / "recordings.jsonl").read_bytes()
    with Appender(three, SMALL) as index:
        index.append(Recording("d"), row(3))
    assert (three / "gaussians.f64").read_bytes().startswith(before[0])
    assert (three / "recordings.jsonl").read_bytes().startswith(before[1])
    assert [recording.identifier for recording in load(three)[1]] == ["a", "b", "c", "d"]


def test_a_recording_appended_again_is_replaced_in_its_place(three):
    with Appender(three, SMALL) as index:
        index.append(Recording("b", size_bytes=11), row(7))
    _, recordings, rows = load(three)
    assert [(recording.identifier, recording.size_bytes) for recording in recordings] == [
        ("a", 10),
        ("b", 11),
        ("c", 10),
    ]
    assert np.array_equal(rows, [row(0), row(7), row(2)])


def test_a_file_is_known_by_identifier_size_and_time_of_change(three):
    with Appender(three, SMALL) as index:
        assert index.holds(Recording("a", "moved/a.wav", 10, 20))
        assert not index.holds(Recording("a", "a.wav", 11, 20))
        assert not index.holds(Recording("a", "a.wav", 10, 21))
        assert not index.holds(Recording("z", "a.wav", 10, 20))


def test_names_that_are_not_text_are_kept(tmp_path):
    name = os.fsdecode(b"caf\xe9\r\n\xe2\x80\xa8")
    with Appender(tmp_path / "index", SMALL) as index:
        index.append(Recording(name, name), row(0))
        index.append(Recording("next"), row(1))
    assert [recording.identifier for recording in load(tmp_path / "index")[1]] == [name, "next"]


def test_an_index_cut_anywhere_is_whole_and_can_be_appended_to(three, tmp_path):
    """A kill leaves any part of the last row, or all of it and any part of its line."""
    rows, lines = (three / "gaussians.f64").read_bytes(), (three / "recordings.jsonl").read_bytes()
    second = lines.index(b"\n", lines.index(b"\n") + 1) + 1
    accidents = [(size, second) for size in range(80, 121)] + [(120, size) for size in range(second, len(lines) + 1, 5)]
    for number, (rows_size, lines_size) in enumerate([*accidents, (100, len(lines)), (120, len(lines))]):
        folder = tmp_path / f"cut{number}"
        shutil.copytree(three, folder)
        (folder / "gaussians.f64").write_bytes(rows[:rows_size])
        (folder / "recordings.jsonl").write_bytes(lines[:lines_size])
        whole = 3 if (rows_size, lines_size) == (120, len(lines)) else 2
        assert np.array_equal(load(folder)[2], [row(0), row(1), row(2)][:whole])
        with Appender(folder, SMALL) as index:
            index.append(Recording("d"), row(9))
        _, recordings, found = load(folder)
        assert [recording.identifier for recording in recordings] == [*"abc"[:whole], "d"]
        assert np.array_equal(found[-1], row(9))


def test_an_index_killed_before_its_first_row_is_empty(three):
    (three / "gaussians.f64").unlink()
    (three / "recordings.jsonl").unlink()
    assert load(three)[1] == ()
    assert load(three)[2].shape == (0, 5)


def test_an_index_killed_while_it_is_made_can_be_made_again(tmp_path):
    (tmp_path / "index.json.new").write_text('{"vers')
    Appender(tmp_path, SMALL).close()
    assert load(tmp_path)[0] == SMALL


WRITE_FOR_EVER = """
import sys, itertools, numpy as np
from audiosim.audio.mfcc import Parameters
from audiosim.audio.store import Appender, Recording
with Appender(sys.argv[1], Parameters(coefficients=20)) as index:
    start = len(index._recordings)
    for number in itertools.count(start):
        index.append(Recording(str(number), frames=number), np.full(230, float(number)))
        if number == start + 5: print("going", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_an_index_survives_kill_9(tmp_path):
    folder, before = tmp_path / "index", 0
    for pause in (0, 0.01, 0.03):
        writer = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, folder], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        _, recordings, rows = load(folder)
        assert len(recordings) >= before + 6
        assert [int(recording.identifier) for recording in recordings] == list(range(len(recordings)))
        assert np.array_equal(rows[:, 0], np.arange(len(recordings)))
        assert np.array_equal(rows[:, -1], np.arange(len(recordings)))
        before = len(recordings)


@pytest.mark.skipif(sys.platform == "win32", reason="no lock on Windows")
def test_two_writers_at_once_are_refused(three):
    with (
        Appender(three, SMALL),
        pytest.raises(InputError, match=r"index: another process is writing to this index$"),
    ):
        Appender(three, SMALL)
    Appender(three, SMALL).close()


def test_other_parameters_are_refused(three):
    with pytest.raises(
        InputError,
        match=r"index: holds frames of other parameters \(22050 Hz, frame 2048, hop 512, 128 bands, 2 coefficients\), "
        r"expected 22050 Hz, frame 2048, hop 512, 128 bands, 20 coefficients$",
    ):
        Appender(three, Parameters())


@pytest.mark.parametrize("bad", [np.zeros(4), np.full(5, np.nan), np.array([0, 0, np.inf, 0, 1])])
def test_a_row_that_is_not_finite_or_too_short_is_refused(three, bad):
    message = rf"^a row must be 5 finite numbers, got \({len(bad)},\)$"
    with Appender(three, SMALL) as index, pytest.raises(InputError, match=message):
        index.append(Recording("d"), bad)
    assert len(load(three)[1]) == 3


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "song.wav").touch()
    message = r": is not an index and not empty, expected an index or a new folder$"
    with pytest.raises(InputError, match=message):
        Appender(tmp_path, SMALL)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    message = r": cannot be made \(.*\), expected an index or a new folder$"
    with pytest.raises(InputError, match=message):
        Appender(tmp_path / "file" / "index", SMALL)
    with pytest.raises(InputError, match=message):
        Appender(tmp_path / "file", SMALL)


def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(InputError, match=r": is not an index, expected a folder with index\.json$"):
        load(tmp_path)


@pytest.mark.parametrize(
    "head", ["", "{}", "[]", '{"version": 1, "parameters": {"hop": 0}}', '{"version": 1, "parameters": 3}']
)
def test_a_head_that_makes_no_sense_is_refused(three, head):
    (three / store.HEAD).write_text(head)
    with pytest.raises(FormatError, match=r"index\.json:1: expected the version and the parameters of an index$"):
        load(three)


def test_a_later_version_is_refused(three):
    (three / store.HEAD).write_text('{"version": 2, "parameters": {}}')
    with pytest.raises(FormatError, match=r"index\.json:1: expected an index of version 1, found 2$"):
        load(three)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"name": "b"}', '{"identifier": 3}', '{"identifier": "b", "seconds": NaN}']
)
def test_a_line_that_makes_no_sense_is_named(three, line):
    lines = (three / store.LINES).read_text().splitlines()
    (three / store.LINES).write_text("\n".join([lines[0], line, lines[2], ""]))
    message = r"recordings\.jsonl:2: expected a JSON object with the fields of a recording$"
    with pytest.raises(FormatError, match=message):
        load(three)
    with pytest.raises(FormatError, match=message):
        Appender(three, SMALL)
