"""Which recordings there are, given what a person points at."""

from pathlib import Path

import pytest

from audiosim.audio.sources import find_sounds
from audiosim.errors import FormatError, InputError


def test_a_folder_is_walked_and_its_sounds_are_called_by_their_place(album):
    assert find_sounds(album) == {
        "a/one": album / "a/one.wav",
        "a/three": album / "a/three.ogg",
        "a/two": album / "a/two.flac",
        "b/five": album / "b/five.mp3",
        "b/four": album / "b/four.wav",
        "six": album / "six.wav",
    }


def test_sounds_come_sorted_whatever_the_disk_says(album):
    assert list(find_sounds([album])) == ["a/one", "a/three", "a/two", "b/five", "b/four", "six"]


def test_a_file_is_called_by_its_stem_and_need_not_exist(album):
    assert find_sounds([str(album / "b/five.mp3"), "none/x.y.wav"]) == {
        "five": album / "b/five.mp3",
        "x.y": Path("none/x.y.wav"),
    }


def test_a_suffix_counts_in_either_case(tmp_path):
    (tmp_path / "LOUD.WAV").touch()
    assert list(find_sounds(tmp_path)) == ["LOUD"]


def test_a_table_names_its_documents(tmp_path):
    table = tmp_path / "documents.tsv"
    table.write_text(
        "\ufeffartist\tpath\tdocument\r\nX\tsub/b.ogg\td2\r\nX\t\td3\r\nY\ta.wav\td1\r\n", encoding="utf-8"
    )
    assert find_sounds(table) == {"d2": tmp_path / "sub/b.ogg", "d1": tmp_path / "a.wav"}


def test_a_table_without_documents_is_refused(tmp_path):
    table = tmp_path / "documents.tsv"
    table.write_text("name\tpath\nd\ta.wav\n")
    with pytest.raises(FormatError, match=r"documents\.tsv:1: expected a column document in the header"):
        find_sounds(table)


def test_the_same_file_twice_is_one_recording(album):
    assert list(find_sounds([album / "six.wav", album / "six.wav"])) == ["six"]


def test_two_files_of_one_name_are_refused(tmp_path):
    for name in ("x.ogg", "x.wav"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"^two files would be called 'x': .*x\.ogg and .*x\.wav$"):
        find_sounds(tmp_path)


def test_nothing_found_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"^no sound found in .*, expected files that end in \.aif, .*, \.wav$"):
        find_sounds(tmp_path)
    with pytest.raises(InputError, match=r"^no sound found in no path, "):
        find_sounds([])
