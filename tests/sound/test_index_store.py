"""The files of an index: after any accident, the disk has a whole index."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audiosim.errors import FormatError, InputError
from audiosim.sound import store as index_head
from audiosim.sound import store as index_store
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters
from audiosim.sound.store import Appender, Recording, load

FILES = (index_store.ROWS, index_store.LINES, index_store.ENTRIES)
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
    stored = load(folder)
    assert stored.recordings.identifiers == tuple(recording.identifier for recording in stored.recordings)
    return list(stored.recordings.identifiers), np.array(stored.rows[stored.places])


def test_what_was_appended_is_loaded(three):
    stored = load(three)
    assert stored.parameters == SMALL
    assert len(stored.recordings) == 3
    assert list(stored.recordings) == [Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é") for name in "abc"]
    assert stored.recordings[1:] == [stored.recordings[1], stored.recordings[2]]
    assert np.array_equal(stored.rows, [row(0), row(1), row(2)])
    assert isinstance(stored.rows, np.memmap)


def test_opening_reads_no_line(three):
    (three / index_store.LINES).write_bytes(b"x" * (three / index_store.LINES).stat().st_size)
    assert len(load(three).recordings) == 3


def test_silence_is_known_without_a_line(tmp_path):
    with Appender(tmp_path / "index", SMALL) as index:
        for name, silent in (("a", False), ("b", True), ("c", True)):
            index.append(Recording(name, silent=silent), row(0))
        index.append(Recording("c"), row(1))
    recordings = load(tmp_path / "index").recordings
    assert recordings.silent.tolist() == [False, True, False]
    assert [recording.silent for recording in recordings] == [False, True, False]


def test_lines_of_an_earlier_layout_without_silence_are_read(three):
    (three / "checks.u32").unlink()
    lines = (three / index_store.LINES).read_bytes()
    (three / index_store.LINES).write_bytes(lines.replace(b', "silent": false', b" " * len(b', "silent": false')))
    assert [recording.silent for recording in load(three).recordings] == [False] * 3


def test_the_layout_is_as_written_down(three):
    assert np.array_equal(np.fromfile(three / "gaussians.f32", "<f4").reshape(3, 6), [row(0), row(1), row(2)])
    lines = (three / "recordings.jsonl").read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["identifier"] for line in lines] == ["a", "b", "c"]
    with Appender(three, SMALL) as index:
        index.append(Recording("b", silent=True), row(3))
        index.remove("a")
    entries = np.fromfile(three / "entries.u64", "<u8").reshape(5, 2)
    assert entries[:3, 0].tolist() == np.cumsum([len(line) for line in lines]).tolist()
    assert entries[:, 1].tolist() == [0, 0, 0, 2 + (1 << 62), 1 + (1 << 63)]  # 1 + the replaced entry
    head = json.loads((three / "index.json").read_text())
    assert head["version"] == 4
    assert head["parameters"] == asdict(SMALL) | {"descriptors": ["mfcc"]}
    assert head["dimensions"] == ["mfcc 0", "mfcc 1"]


def test_appending_goes_on_where_it_stopped_and_rewrites_nothing(three):
    before = [(three / name).read_bytes() for name in FILES]
    with Appender(three, SMALL) as index:
        index.append(Recording("d"), row(3))
        index.append(Recording("a"), row(4))
        index.remove("b")
    for name, content in zip(FILES, before, strict=True):
        assert (three / name).read_bytes().startswith(content)
    assert held(three)[0] == ["a", "c", "d"]


def test_a_recording_appended_again_is_replaced_in_its_place(three):
    with Appender(three, SMALL) as index:
        index.append(Recording("b", size_bytes=11), row(7))
    assert [(recording.identifier, recording.size_bytes) for recording in load(three).recordings] == [
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
    assert load(tmp_path / "index").recordings[0].path == name


def accidents(folder):
    """States after a kill: any part of the last row, then any part of its line, then any part of its entry."""
    sizes = [(folder / name).stat().st_size for name in FILES]
    second = np.fromfile(folder / index_store.ENTRIES, "<u8")[2]
    yield from ((size, second, 32) for size in range(48, 73))
    yield from ((72, size, 32) for size in range(second, sizes[1] + 1, 5))
    yield from ((72, sizes[1], size) for size in range(32, 49))
    # States after a power cut, which may write files in any order.
    yield from [(60, sizes[1], 48), (72, sizes[1] - 1, 48)]


@pytest.mark.slow
def test_an_index_cut_anywhere_is_whole_and_can_be_appended_to(three, tmp_path):
    whole = [(three / name).read_bytes() for name in FILES]
    for number, sizes in enumerate(accidents(three)):
        folder = tmp_path / f"cut{number}"
        shutil.copytree(three, folder)
        for name, content, size in zip(FILES, whole, sizes, strict=True):
            (folder / name).write_bytes(content[:size])
        count = 3 if sizes == tuple(map(len, whole)) else 2
        assert np.array_equal(held(folder)[1], [row(0), row(1), row(2)][:count])
        with Appender(folder, SMALL) as index:
            index.append(Recording("d"), row(9))
        assert held(folder)[0] == [*"abc"[:count], "d"]
        assert np.array_equal(held(folder)[1][-1], row(9))


def test_an_index_killed_before_its_first_row_is_empty(three):
    for name in FILES:
        (three / name).unlink()
    assert held(three)[0] == []
    assert load(three).rows.shape == (0, 6)


def test_an_index_that_lost_its_entries_is_refused_and_not_emptied(three):
    (three / index_store.ENTRIES).unlink()
    size = (three / index_store.ROWS).stat().st_size
    for opens in (load, lambda folder: Appender(folder, SMALL)):
        message = r"index: has lost its entries\.u64, expected an index with all its files$"
        with pytest.raises(InputError, match=message):
            opens(three)
        (three / index_store.ENTRIES).unlink(missing_ok=True)
    assert (three / index_store.ROWS).stat().st_size == size


def test_an_index_killed_while_it_is_made_can_be_made_again(tmp_path):
    (tmp_path / "index.json.new").write_text('{"vers')
    Appender(tmp_path, SMALL).close()
    assert load(tmp_path).parameters == SMALL


WRITE_FOR_EVER = """
import sys, itertools, numpy as np
from audiosim.sound.parameters import Parameters
from audiosim.sound.store import Appender, Recording
with Appender(sys.argv[1], Parameters(coefficients=20)) as index:
    for number in itertools.count(int(sys.argv[2])):
        index.append(Recording(str(number % 50), frames=number), np.full(231, number, np.float32))
        if number % 7 == 3: index.remove(index.recordings[0].identifier)
        if number == int(sys.argv[2]) + 5: print("going", flush=True)
"""


def replayed(folder, count):
    """State after the first lines, one after the other."""
    known, numbers = {}, []
    for line in (folder / index_store.LINES).read_text().splitlines()[:count]:
        entry = json.loads(line)
        if entry.get("removed"):
            del known[entry["identifier"]]
        else:
            known[entry["identifier"]] = entry["frames"]
            numbers.append(entry["frames"])
    return known, numbers


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_an_index_survives_kill_9_at_any_moment(tmp_path):
    folder, before = tmp_path / "index", 0
    for pause in np.random.default_rng(1).uniform(0, 0.03, 6):
        command = [sys.executable, "-c", WRITE_FOR_EVER, folder, str(before)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        stored = load(folder)
        expected, numbers = replayed(folder, len(stored.rows))
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= before + 6
        assert {recording.identifier: recording.frames for recording in stored.recordings} == expected
        for column in (0, -1):
            assert np.array_equal(stored.rows[stored.places, column], list(expected.values()))
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
    assert len(load(three).recordings) == 3


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
    "head",
    [
        *("", "{}", "[]", '{"version": 4, "parameters": {"hop": 0}}', '{"version": 4, "parameters": 3}'),
    ],
)
def test_a_head_that_makes_no_sense_is_refused(three, head):
    (three / index_head.HEAD).write_text(head)
    with pytest.raises(FormatError, match=r"index\.json:1: expected the version and the parameters of an index$"):
        load(three)


@pytest.mark.parametrize("version", [3, 5])
def test_another_version_is_refused(three, version):
    (three / index_head.HEAD).write_text(f'{{"version": {version}, "parameters": {{}}}}')
    message = rf"index\.json:1: expected an index of version 4, found {version}; extract it again$"
    with pytest.raises(FormatError, match=message):
        load(three)


def test_an_index_knows_whose_band_ends_without_parsing_their_lines(three):
    with Appender(three, SMALL) as index:
        index.append(Recording("d", limit_hz=8000.0), row(4))
    (three / "checks.u32").unlink()
    replace_line(three, b"{")
    assert load(three).recordings.limited.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"name": "b"}', '{"identifier": 3}', '{"identifier": "b", "seconds": NaN}']
)
def test_a_line_that_makes_no_sense_is_named(three, line):
    (three / "checks.u32").unlink()
    replace_line(three, line.encode())
    message = r"recordings\.jsonl:2: expected a JSON object with the fields of a recording$"
    with pytest.raises(FormatError, match=message):
        load(three).recordings[0]
    with pytest.raises(FormatError, match=message):
        Appender(three, SMALL)


def test_lines_that_are_missing_are_counted(three):
    (three / "checks.u32").unlink()
    replace_line(three, b"")
    with pytest.raises(FormatError, match=r"recordings\.jsonl:3: expected a line for each of 3 entries$"):
        load(three).recordings[0]


def replace_line(folder, line):
    """Replace the second line by something of the same length."""
    lines = (folder / index_store.LINES).read_bytes().splitlines()
    lines[1] = line.ljust(len(lines[1]))
    (folder / index_store.LINES).write_bytes(b"\n".join([*lines, b""]))


def flip(path, place, bit=1):
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)


@pytest.mark.parametrize("place", [0, 30, 71])
def test_a_flipped_bit_in_a_row_is_found_when_it_is_used_and_mended_by_extracting_again(three, place):
    flip(three / "gaussians.f32", place)
    number = place // 24
    index = AudioIndex.load(three)
    assert len(index) == 3
    with pytest.raises(
        FormatError, match=rf"gaussians.f32:{number + 1}: the row is damaged: it was changed after it was written; "
    ):
        index.divergence()
    with pytest.raises(FormatError, match="audiosim extract repairs the index$"):
        index.neighbours(None, 1)
    name = "abc"[number]
    with Appender(three, SMALL) as appender:
        assert not appender.holds(Recording(name, f"{name}.wav", 10, 20))
        assert len(appender.recordings) == 2
        appender.append(Recording(name, f"{name}.wav", 10, 20, 30.0, 40, "é"), row(number))
    names, rows = held(three)
    assert sorted(names) == ["a", "b", "c"]
    np.testing.assert_array_equal(rows, [row("abc".index(other)) for other in names])
    assert AudioIndex.load(three).divergence().shape == (3, 3)


@pytest.mark.parametrize("text", [b'"b"', b"b.wav", b"size"])
def test_a_flipped_bit_in_a_line_is_found_and_mended(three, text):
    lines = three / "recordings.jsonl"
    flip(lines, lines.read_bytes().index(text, len(lines.read_bytes()) // 3) + 1)
    with pytest.raises(
        FormatError, match=r"recordings\.jsonl:2: the line was changed after it was written; audiosim extract repairs"
    ):
        _ = load(three).recordings.identifiers
    with Appender(three, SMALL) as appender:
        assert [recording.identifier for recording in appender.recordings] == ["a", "c"]
        appender.append(Recording("b", "b.wav", 10, 20), row(1))
    assert held(three)[0] == ["a", "c", "b"]


@pytest.mark.parametrize(("place", "bit"), [(17, 128), (24, 8), (8, 8)])
def test_damaged_entries_are_one_line(three, place, bit):
    flip(three / "entries.u64", place, bit)
    with pytest.raises(
        FormatError, match=r"entries\.u64:\d: entry \d is damaged|recordings\.jsonl:\d: the line is not what"
    ):
        _ = load(three).recordings.identifiers


def test_an_index_without_checksums_gets_them_when_it_is_appended_to(three):
    (three / "checks.u32").unlink()
    assert held(three)[0] == ["a", "b", "c"]
    with Appender(three, SMALL):
        pass
    assert (three / "checks.u32").stat().st_size == 3 * 8
    flip(three / "gaussians.f32", 30)
    with pytest.raises(FormatError, match=r"gaussians\.f32:2: "):
        AudioIndex.load(three).divergence()


def test_a_row_that_is_no_number_is_found_without_a_checksum(three):
    (three / "checks.u32").unlink()
    rows = np.fromfile(three / "gaussians.f32", "<f4")
    rows[7] = np.nan
    rows.tofile(three / "gaussians.f32")
    with pytest.raises(FormatError, match=r"gaussians\.f32:2: the row is damaged"):
        AudioIndex.load(three).divergence()


# CRC-32 as in zlib: https://www.rfc-editor.org/rfc/rfc1952#section-8; of "123456789" it is cbf43926.
def test_checksums_are_those_of_zlib(three):
    assert zlib.crc32(b"123456789") == 0xCBF43926
    checks = np.fromfile(three / "checks.u32", "<u4").reshape(3, 2)
    line = (three / "recordings.jsonl").read_bytes().splitlines(keepends=True)[1]
    place = (three / "entries.u64").read_bytes()[16:32]
    assert checks[1].tolist() == [zlib.crc32(row(1).tobytes()), zlib.crc32(line + place)]
