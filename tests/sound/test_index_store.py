"""The files of an index: after any accident, the disk has a whole index."""

import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audiosim.errors import FormatError, InputError
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters
from audiosim.sound.store import ENTRIES, HEAD, ROWS, Appender, Recording, Recordings

SMALL = Parameters(coefficients=2)  # rows of 2 + 3 + 1 numbers, 24 bytes


def row(number):
    return np.array([number, -number, 1 + number, 0.125, 2.0, 0.5], dtype=np.float32)


@pytest.fixture
def three(tmp_path):
    """An index of three recordings."""
    with Appender(tmp_path / "index", SMALL) as index:
        for number, name in enumerate("abc"):
            index.append(Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é"), row(number))
    return tmp_path / "index"


def held(folder):
    """The identifiers and the rows of the valid recordings."""
    found = Recordings(folder)
    assert found.identifiers == tuple(recording.identifier for recording in found)
    assert found.find(found.identifiers).tolist() == list(range(len(found)))
    return list(found.identifiers), np.array(found.rows[found.places])


def lines(folder, what="*"):
    with closing(sqlite3.connect(folder / ENTRIES)) as database:
        return database.execute(f"SELECT {what} FROM entries ORDER BY place").fetchall()


def change(folder, statement):
    with closing(sqlite3.connect(folder / ENTRIES)) as database, database:
        database.execute(statement)


def test_what_was_appended_is_loaded(three):
    found = Recordings(three)
    assert found.parameters == SMALL
    assert len(found) == 3
    assert list(found) == [Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é") for name in "abc"]
    assert found[1:] == [found[1], found[2]]
    assert found.names(np.array([2, 0])) == ["c", "a"]
    assert found.find(["c", "x"]).tolist() == [2, -1]
    assert np.array_equal(found.rows, [row(0), row(1), row(2)])
    assert isinstance(found.rows, np.memmap)


def test_what_a_search_asks_of_an_open_index_reads_no_plain_entry(tmp_path):
    with Appender(tmp_path / "index", SMALL) as index:
        for name, silent in (("a", False), ("b", True), ("c", True)):
            index.append(Recording(name, silent=silent), row(0))
        index.append(Recording("c"), row(1))
        index.append(Recording("d", limit_hz=8000.0), row(4))
    change(tmp_path / "index", "UPDATE entries SET note = 'changed' WHERE place = 0")
    found = Recordings(tmp_path / "index")
    assert len(found) == 4
    assert found.silent.tolist() == [False, True, False, False]
    assert found.limited.tolist() == [False, False, False, True]
    with pytest.raises(
        FormatError, match=r"entries\.db:1: the entry was changed after it was written; audiosim extract"
    ):
        _ = found[0]


# CRC-32 as in zlib: https://www.rfc-editor.org/rfc/rfc1952#section-8; of "123456789" it is cbf43926. MessagePack:
# https://github.com/msgpack/msgpack/blob/master/spec.md
def test_the_layout_is_as_written_down(three):
    assert np.array_equal(np.fromfile(three / "gaussians.f32", "<f4").reshape(3, 6), [row(0), row(1), row(2)])
    with Appender(three, SMALL) as index:
        index.append(Recording("b", silent=True), row(3))
        index.remove("a")
    names = "place, identifier, path, note, size_bytes, mtime_ns, seconds, frames, silent, limit_hz, replaces, removed"
    assert lines(three, names) == [
        *((n, name, f"{name}.wav", "é", 10, 20, 30.0, 40, 0, None, None, 0) for n, name in enumerate("abc")),
        (3, "b", "", "", 0, 0, 0.0, 0, 1, None, 1, 0),
        (4, "a", "", "", 0, 0, 0.0, 0, 0, None, 0, 1),
    ]
    assert zlib.crc32(b"123456789") == 0xCBF43926
    sums = [zlib.crc32(one.tobytes()) for one in (row(0), row(1), row(2), row(3), np.zeros(6, np.float32))]
    assert [found for (found,) in lines(three, "row_sum")] == sums
    fields = b"\x01\xa1b\xa5b.wav\xa2\xc3\xa9\x0a\x14" + b"\xcb" + struct.pack(">d", 30.0) + b"\x28\x00\xc0\xc0\x00"
    packed = b"\x9d" + fields + b"\xce" + struct.pack(">I", sums[1])
    assert lines(three, "sum")[1] == (zlib.crc32(packed),)
    head = json.loads((three / "index.json").read_text())
    assert head["version"] == 5
    assert head["parameters"] == asdict(SMALL) | {"descriptors": ["mfcc"]}
    assert head["dimensions"] == ["mfcc 0", "mfcc 1"]
    assert head["sum"] == zlib.crc32(json.dumps(head["parameters"]).encode())
    assert sorted(path.name for path in three.iterdir()) == ["entries.db", "gaussians.f32", "index.json"]


def test_appending_goes_on_where_it_stopped_and_rewrites_nothing(three):
    rows, before, opened = (three / ROWS).read_bytes(), lines(three), Recordings(three)
    with Appender(three, SMALL) as index:
        index.append(Recording("d"), row(3))
        index.append(Recording("a"), row(4))
        index.remove("b")
        assert held(three)[0] == ["a", "c", "d"], "it is read while it is written to"
    assert (three / ROWS).read_bytes().startswith(rows)
    assert lines(three)[:3] == before
    assert held(three)[0] == ["a", "c", "d"]
    assert opened.identifiers == ("a", "b", "c"), "what was open does not change"


def test_a_recording_appended_again_is_replaced_in_its_place(three):
    with Appender(three, SMALL) as index:
        index.append(Recording("b", size_bytes=11), row(7))
    assert [(recording.identifier, recording.size_bytes) for recording in Recordings(three)] == [
        ("a", 10),
        ("b", 11),
        ("c", 10),
    ]
    assert np.array_equal(held(three)[1], [row(0), row(7), row(2)])


def test_a_recording_that_is_removed_is_gone_and_may_come_back_at_the_end(three):
    with Appender(three, SMALL) as index:
        index.remove("a")
        assert not index.holds(Recording("a", "a.wav", 10, 20))
        assert [recording.identifier for recording in index.recordings] == ["b", "c"]
    assert held(three)[0] == ["b", "c"]
    assert np.array_equal(held(three)[1], [row(1), row(2)])
    with Appender(three, SMALL) as index:
        index.append(Recording("a"), row(8))
        index.append(Recording("a"), row(9))
        index.remove("c")
    assert held(three)[0] == ["b", "a"]
    assert np.array_equal(held(three)[1], [row(1), row(9)])


def test_what_is_not_there_cannot_be_removed(three):
    with (
        Appender(three, SMALL) as index,
        pytest.raises(InputError, match=r"^no recording is called 'z' in this index of 3$"),
    ):
        index.remove("z")


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans()), max_size=25))
def test_any_order_of_appending_and_removing_leaves_what_a_dictionary_would(steps):
    with tempfile.TemporaryDirectory() as folder:
        expected = {}
        for number, (name, removes, reopens) in enumerate(steps):
            if number == 0 or reopens:
                index = Appender(Path(folder) / "index", SMALL)
            if removes and name in expected:
                index.remove(name)
                del expected[name]
            elif not removes:
                index.append(Recording(name), row(number))
                expected[name] = row(number)
            if number + 1 == len(steps) or steps[number + 1][2]:
                index.close()
        if steps:
            names, rows = held(Path(folder) / "index")
            assert names == list(expected)
            assert np.array_equal(rows, np.array([*expected.values()]).reshape(-1, 6))


def test_many_are_appended_at_once(tmp_path):
    with Appender(tmp_path / "index", SMALL) as index:
        index.extend([Recording(name) for name in "abab"], np.stack([row(number) for number in range(4)]))
        index.extend([], np.empty((0, 6), np.float32))
        index.append(Recording("c"), row(4))
    assert held(tmp_path / "index")[0] == ["a", "b", "c"]
    assert np.array_equal(held(tmp_path / "index")[1], [row(2), row(3), row(4)])


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
    assert held(tmp_path / "index")[0] == [name, "next"]
    assert Recordings(tmp_path / "index")[0].path == name


@pytest.mark.slow
def test_an_index_cut_anywhere_is_whole_and_can_be_appended_to(three, tmp_path):
    whole = (three / ROWS).read_bytes()
    # A kill leaves rows without entries: any part of one, or several. A power cut may lose rows that have entries.
    for size in (*range(48, 73), 80, 96, 100):
        folder = tmp_path / f"cut{size}"
        shutil.copytree(three, folder)
        (folder / ROWS).write_bytes((whole + whole)[:size])
        count = min(3, size // 24)
        assert np.array_equal(held(folder)[1], [row(0), row(1), row(2)][:count])
        with Appender(folder, SMALL) as index:
            index.append(Recording("d"), row(9))
        assert held(folder)[0] == [*"abc"[:count], "d"]
        assert np.array_equal(held(folder)[1][-1], row(9))


def test_an_index_killed_before_its_first_row_is_empty(three):
    for name in (ROWS, ENTRIES):
        (three / name).unlink()
    assert held(three)[0] == []
    assert Recordings(three).rows.shape == (0, 6)
    with Appender(three, SMALL) as index:
        index.append(Recording("d"), row(9))
    assert held(three)[0] == ["d"]


@pytest.mark.parametrize("name", [ENTRIES, ROWS])
def test_an_index_that_lost_a_file_is_refused_and_not_emptied(three, name):
    (three / name).unlink()
    for opens in (Recordings, lambda folder: Appender(folder, SMALL)):
        message = rf"index: has lost its {name}, expected an index with all its files$"
        with pytest.raises(InputError, match=message):
            opens(three)
    assert sorted(path.name for path in three.iterdir()) == sorted({ENTRIES, ROWS, HEAD} - {name})


def test_an_index_killed_while_it_is_made_can_be_made_again(tmp_path):
    (tmp_path / "index.json.new").write_text('{"vers')
    Appender(tmp_path, SMALL).close()
    assert Recordings(tmp_path).parameters == SMALL


WRITE_FOR_EVER = """
import sys, itertools, numpy as np
from audiosim.sound.parameters import Parameters
from audiosim.sound import store
from audiosim.sound.store import Appender, Recording
store.SYNCED = 5
with Appender(sys.argv[1], Parameters(coefficients=20)) as index:
    for number in itertools.count(int(sys.argv[2])):
        index.append(Recording(str(number % 50), frames=number), np.full(231, number, np.float32))
        if number % 7 == 3: index.remove(index.recordings[0].identifier)
        if number == int(sys.argv[2]) + 5: print("going", flush=True)
"""


def replayed(folder):
    """State after the entries, one after the other."""
    known, numbers = {}, []
    for identifier, frames, removed in lines(folder, "identifier, frames, removed"):
        if removed:
            del known[identifier]
        else:
            known[identifier] = frames
            numbers.append(frames)
    return known, numbers


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_an_index_survives_kill_9_at_any_moment(tmp_path):
    folder, before = tmp_path / "index", 0
    for pause in np.random.default_rng(1).uniform(0, 0.03, 8):
        command = [sys.executable, "-c", WRITE_FOR_EVER, folder, str(before)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        found = Recordings(folder)
        expected, numbers = replayed(folder)
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= before + 6
        assert {recording.identifier: recording.frames for recording in found} == expected
        for column in (0, -1):
            assert np.array_equal(found.rows[found.places, column], list(expected.values()))
        before = len(numbers)


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


@pytest.mark.parametrize("bad", [np.zeros(4), np.full(6, np.nan), np.array([0, 0, np.inf, 0, 1, 1])])
def test_a_row_that_is_not_finite_or_too_short_is_refused(three, bad):
    message = rf"^a row must be 6 finite numbers, got \({len(bad)},\)$"
    with Appender(three, SMALL) as index, pytest.raises(InputError, match=message):
        index.append(Recording("d"), bad)
    assert len(Recordings(three)) == 3


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
        Recordings(tmp_path)


@pytest.mark.parametrize(
    "head", ["", "{}", "[]", '{"version": 5, "parameters": {"hop": 0}}', '{"version": 5, "parameters": 3}']
)
def test_a_head_that_makes_no_sense_is_refused(three, head):
    (three / HEAD).write_text(head)
    with pytest.raises(FormatError, match=r"index\.json:1: expected the version and the parameters of an index$"):
        Recordings(three)


@pytest.mark.parametrize("version", [3, 6])
def test_another_version_is_refused(three, version):
    (three / HEAD).write_text(f'{{"version": {version}, "parameters": {{}}}}')
    message = rf"index\.json:1: expected an index of version 5, found {version}; extract it again$"
    with pytest.raises(FormatError, match=message):
        Recordings(three)


def flip(path, place, bit=1):
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)


@pytest.mark.parametrize("place", [0, 30, 71])
def test_a_flipped_bit_in_a_row_is_found_when_it_is_used_and_mended_by_extracting_again(three, place):
    flip(three / ROWS, place)
    number = place // 24
    index = AudioIndex.load(three)
    assert len(index) == 3
    message = rf"gaussians.f32:{number + 1}: the row is damaged: it was changed after it was written; audiosim extract"
    with pytest.raises(FormatError, match=message):
        index.divergence()
    with pytest.raises(FormatError, match="audiosim extract repairs the index$"):
        index.neighbours(None, 1)
    mended(three, "abc"[number])


@pytest.mark.parametrize("field", ["identifier", "path", "note", "size_bytes", "seconds", "row_sum", "sum"])
def test_a_changed_entry_is_found_when_it_is_used_and_mended_by_extracting_again(three, field):
    text = field in ("identifier", "path", "note")
    change(three, f"UPDATE entries SET {field} = {field} {'||' if text else '+'} 1 WHERE place = 1")
    for used in (
        lambda found: found.identifiers,
        list,
        lambda found: found[1],
        lambda found: found.names(np.array([1])),
    ):
        with pytest.raises(
            FormatError, match=r"entries\.db:2: the entry was changed after it was written; audiosim ext"
        ):
            used(Recordings(three))
    mended(three, "b")


def mended(folder, name):
    """Check that an append takes one recording out, and that the index is whole once it is described again."""
    with Appender(folder, SMALL) as appender:
        assert [recording.identifier for recording in appender.recordings] == sorted({*"abc"} - {name})
        assert not appender.holds(Recording(name, f"{name}.wav", 10, 20))
        appender.append(Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é"), row("abc".index(name)))
    names, rows = held(folder)
    assert sorted(names) == ["a", "b", "c"]
    np.testing.assert_array_equal(rows, [row("abc".index(other)) for other in names])
    assert AudioIndex.load(folder).divergence().shape == (3, 3)


def used(folder):
    """Everything that an index says."""
    index = AudioIndex.load(folder)
    rows = np.array(index.rows).tobytes()
    return index.ids, list(index.recordings), rows, index.silent.tolist(), index.limited.tolist(), index.parameters


def said_by(folder):
    """Everything that an index says, or the one line with which it is refused."""
    try:
        return used(folder)
    except InputError as error:
        return str(error) if len(str(error).splitlines()) == 1 else None


@pytest.mark.slow
def test_a_flipped_bit_anywhere_is_found_or_changes_nothing(three, tmp_path):
    with Appender(three, SMALL) as index:
        index.append(Recording("b", silent=True), row(3))
        index.append(Recording("d", limit_hz=8e3), row(4))
        index.remove("a")
    whole, rng = used(three), np.random.default_rng(0)
    for name in (ROWS, ENTRIES, HEAD):
        size = (three / name).stat().st_size
        dense = np.flatnonzero(np.frombuffer((three / name).read_bytes(), np.uint8))  # the rest is unused space
        for place in {*rng.choice(dense, min(len(dense), 150), replace=False).tolist(), size - 1}:
            folder = tmp_path / f"{name}{place}"
            shutil.copytree(three, folder)
            flip(folder / name, place, 1 << int(rng.integers(8)))
            said = said_by(folder)
            assert said == whole or str(folder) in said, (name, place)
            shutil.rmtree(folder)


@pytest.fixture
def released(tmp_path):
    """An index as release 0.1.0 wrote it: `b` replaced and silent, `a` removed, `d` of a limited band."""
    folder = tmp_path / "released"
    folder.mkdir()
    head = {"version": 4, "parameters": SMALL.to_json(), "dimensions": SMALL.dimensions}
    (folder / HEAD).write_text(json.dumps(head))
    written = [*(asdict(Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é")) for name in "abc")]
    written += [asdict(Recording("b", silent=True)), {"identifier": "a", "removed": True}]
    written += [asdict(Recording("d", limit_hz=8e3))]
    text = [json.dumps(line).encode() + b"\n" for line in written]
    rows = np.array([row(0), row(1), row(2), row(3), np.zeros(6), row(4)], "<f4")
    flags = [0, 0, 0, 2 + (1 << 62), 1 + (1 << 63), 1 << 61]
    entries = np.column_stack([np.cumsum([len(line) for line in text]).astype("<u8"), np.array(flags, "<u8")])
    sums = [
        (zlib.crc32(one.tobytes()), zlib.crc32(entry.tobytes(), zlib.crc32(line)))
        for one, line, entry in zip(rows, text, entries, strict=True)
    ]
    rows.tofile(folder / ROWS)
    (folder / "recordings.jsonl").write_bytes(b"".join(text))
    entries.tofile(folder / "entries.u64")
    np.array(sums, "<u4").tofile(folder / "checks.u32")
    return folder


EXPECTED = [Recording("b", silent=True), Recording("c", "c.wav", 10, 20, 30.0, 40, "é"), Recording("d", limit_hz=8e3)]


@pytest.mark.parametrize("summed", [True, False])
def test_an_index_of_the_first_release_is_read_and_grows(released, summed):
    if not summed:
        (released / "checks.u32").unlink()
    before, content = sorted(released.iterdir()), used(released)
    assert content[1:] == (EXPECTED, np.array([row(3), row(2), row(4)]).tobytes(), [1, 0, 0], [0, 0, 1], SMALL)
    assert sorted(released.iterdir()) == before, "reading writes nothing"
    with Appender(released, SMALL) as index:
        index.append(Recording("e"), row(5))
    assert list(Recordings(released)) == [*EXPECTED, Recording("e")]
    assert sorted(path.name for path in released.iterdir()) == ["entries.db", "gaussians.f32", "index.json"]


def test_a_conversion_killed_at_any_moment_starts_again(released):
    for name, content in (("entries.db.new", b"half"), ("entries.db", b"half")):
        (released / name).write_bytes(content)
        assert list(Recordings(released)) == EXPECTED
    Appender(released, SMALL).close()
    (released / "recordings.jsonl").write_bytes(b"left over")
    Appender(released, SMALL).close()
    assert list(Recordings(released)) == EXPECTED
    assert not (released / "recordings.jsonl").exists()


@pytest.mark.slow
def test_a_flipped_bit_in_an_index_of_the_first_release_is_found_or_changes_nothing(released, tmp_path):
    whole, rng = used(released), np.random.default_rng(0)
    for name in (ROWS, "recordings.jsonl", "entries.u64", "checks.u32"):
        original = (released / name).read_bytes()
        for place in rng.choice(len(original), min(len(original), 60), replace=False).tolist():
            flip(released / name, place, 1 << int(rng.integers(8)))
            said = said_by(released)
            assert said == whole or str(released) in said, (name, place)
            (released / name).write_bytes(original)
