"""Recordings found from the paths that a person gives."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import soundfile

from audiosim.errors import FormatError, InputError
from audiosim.sound.describe import Failure, describe_all, listed
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.parameters import STANDARD_FRAMES
from audiosim.sound.sources import LeftOut, find_sounds


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


def test_a_second_file_of_one_name_is_left_out_and_the_rest_is_found(tmp_path):
    for name in ("x.ogg", "x.wav", "y.wav"):
        (tmp_path / name).touch()
    found = find_sounds(tmp_path)
    reason = f"would be called 'x', as {tmp_path}/x.ogg; expected one file of each name"
    assert list(found.values()) == [tmp_path / "x.ogg", LeftOut(f"{tmp_path}/x.wav", reason), tmp_path / "y.wav"]
    assert list(found)[::2] == ["x", "y"]


def test_a_second_file_of_one_name_may_keep_its_suffix(tmp_path):
    for name in ("x.flac", "x.mp3", "x.wav", "y.mp3"):
        (tmp_path / name).touch()
    found = find_sounds(tmp_path, keep_suffixes=True)
    assert {name: path.name for name, path in found.items()} == {
        "x": "x.flac", "x.mp3": "x.mp3", "x.wav": "x.wav", "y": "y.mp3",
    }  # fmt: skip


def test_nothing_found_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"^no sound found in .*, expected files that end in \.aif, .*, \.wav$"):
        find_sounds(tmp_path)
    with pytest.raises(InputError, match=r"^no sound found in no path, "):
        find_sounds([])


def sound(path, music, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, music(2, seed=seed), 22_050)
    return path


def outcomes(folder):
    """Outcome for each file found, by its path below the folder."""
    described = describe_all(listed(find_sounds(folder)), STANDARD_FRAMES)
    return {
        str(Path(one.path if isinstance(one, Failure) else one.recording.path).relative_to(folder)): getattr(
            one, "error", "described"
        )
        for one in described
    }


def test_a_folder_named_like_a_sound_is_a_folder(tmp_path, music):
    sound(tmp_path / "x.wav" / "y.wav", music)
    (tmp_path / "z.wav").mkdir()
    assert outcomes(tmp_path) == {"x.wav/y.wav": "described"}


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_links_are_followed_to_files_below_the_folder_only(tmp_path, music):
    folder, outside = tmp_path / "folder", sound(tmp_path / "outside/secret.wav", music)
    inside = sound(folder / "a/inside.wav", music)
    (folder / "a/near.wav").symlink_to(inside)
    (folder / "a/far.wav").symlink_to(outside)
    (folder / "a/by.wav").symlink_to("../../folder/../outside/secret.wav")
    (folder / "b").symlink_to(outside.parent)
    (folder / "a/up").symlink_to(folder)
    (folder / "notes.txt").symlink_to("/nowhere")
    out = "is a link out of the folder and is not followed; name that file itself"
    to_folder = "is a link to a folder and is not followed; name that folder itself"
    assert outcomes(folder) == {
        "a/by.wav": out,
        "a/far.wav": out,
        "a/inside.wav": "described",
        "a/near.wav": "described",
        "a/up": to_folder,
        "b": to_folder,
    }


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_what_is_named_is_followed(tmp_path, music):
    target = sound(tmp_path / "there/x.wav", music)
    (tmp_path / "here").symlink_to(target.parent)
    (tmp_path / "y.wav").symlink_to(target)
    assert find_sounds([tmp_path / "here", tmp_path / "y.wav"]) == {
        "x": tmp_path / "here/x.wav",
        "y": tmp_path / "y.wav",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_links_that_lead_nowhere_or_round_fail_alone(tmp_path, music):
    sound(tmp_path / "a.wav", music)
    (tmp_path / "broken.wav").symlink_to("none.wav")
    (tmp_path / "one.wav").symlink_to("two.wav")
    (tmp_path / "two.wav").symlink_to("one.wav")
    said = outcomes(tmp_path)
    assert said["a.wav"] == "described"
    assert said["broken.wav"] == "cannot be read (No such file or directory), expected a sound file"
    assert said["one.wav"] == said["two.wav"]
    assert re.search(r"Too many levels of symbolic links|out of the folder", said["one.wav"])


@pytest.mark.skipif(sys.platform == "win32", reason="makes a named pipe")
def test_pipes_are_not_waited_for(tmp_path, music):
    sound(tmp_path / "a.wav", music)
    os.mkfifo(tmp_path / "pipe.wav")
    assert outcomes(tmp_path) == {"a.wav": "described", "pipe.wav": "is not a file, expected a sound file"}


def test_what_may_not_be_read_fails_alone(tmp_path, music):
    sound(tmp_path / "a.wav", music)
    sound(tmp_path / "secret.wav", music).chmod(0)
    sound(tmp_path / "closed/b.wav", music).parent.chmod(0)
    everything = os.access(tmp_path / "secret.wav", os.R_OK)
    said = outcomes(tmp_path)
    (tmp_path / "closed").chmod(0o700)
    if everything:
        pytest.skip("a superuser reads everything")
    assert said == {
        "a.wav": "described",
        "closed": "cannot be listed (Permission denied), expected a folder",
        "secret.wav": "cannot be read (Permission denied), expected a sound file",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be made there")
@pytest.mark.parametrize(
    "name", [b"a\tb", b"a\nb", b"a\r", b"a\x1bb", "a\u2028b".encode(), b"caf\xe9", "a\x85".encode()]
)
def test_a_name_that_lines_and_columns_would_break_is_left_out(tmp_path, music, name):
    shutil.copy(sound(tmp_path / "x.wav", music), os.fsencode(tmp_path) + b"/" + name + b".wav")
    (first, fit), (second, odd) = sorted(find_sounds(tmp_path).items(), key=lambda item: item[0] != "x")
    assert (first, fit) == ("x", tmp_path / "x.wav")
    assert second.endswith("/")
    assert os.fsencode(odd.path) == os.fsencode(tmp_path) + b"/" + name + b".wav"
    expected = "expected a name in the encoding of this system, without control characters"
    assert odd.reason == f"its name cannot be an identifier, {expected}"


def test_the_same_holds_for_a_file_that_is_named(tmp_path):
    assert isinstance(find_sounds(f"{tmp_path}/a\tb.wav")["a\tb.wav/"], LeftOut)
    assert isinstance(find_sounds(f"{tmp_path}/ .wav")[" .wav/"], LeftOut)


NAMES = [
    "Ænima",
    "東京事変",
    "Земфира",
    "a b",
    "l'été",
    "🎵",
    "x=1&y",
    "100%",
    "(a) [b] {c}",
    "ab\u200dc",
    "e\u0301",
    "é",
]


@pytest.mark.slow
def test_names_in_any_alphabet_survive_an_index(tmp_path, music):
    for name in NAMES:
        sound(tmp_path / "sounds" / f"{name}.wav", music)
    result = extract(tmp_path / "sounds", into=tmp_path / "index")
    assert sorted(result.ids) == sorted(NAMES)
    assert AudioIndex.load(tmp_path / "index").ids == result.ids


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_a_folder_linked_within_another_does_not_clash_with_a_sound_of_its_name(tmp_path, music):
    sound(tmp_path / "folder/x.wav", music)
    (tmp_path / "folder/x").symlink_to(tmp_path)
    assert list(find_sounds(tmp_path / "folder")) == ["x/", "x"]


@pytest.mark.slow
def test_folders_may_be_nested_as_deep_as_the_disk_allows(tmp_path, music, monkeypatch):
    monkeypatch.chdir(tmp_path)
    depth = 1100  # beyond the depth of recursion
    for _ in range(depth):
        Path("d").mkdir()
        os.chdir("d")
    soundfile.write("x.wav", music(2), 22_050)
    for _ in range(depth):
        os.chdir("..")
    found = find_sounds(".")
    Path("d/" * depth + "x.wav").unlink()
    os.removedirs("d/" * depth)  # pytest's own cleanup would exceed the recursion limit
    assert list(found) == ["d/" * depth + "x"]
