"""Sound at URLs, in a storage that lives in memory and in one on the disk."""

import io
import re
import sys

import numpy as np
import pytest
import soundfile

from audiosim.errors import InputError, SoundError
from audiosim.sound.describe import Described, describe_all, listed
from audiosim.sound.parameters import STANDARD_FRAMES
from audiosim.sound.sources import find_sounds, is_url, local_copy, remote_status

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket(music):
    """Three sounds, one of them hidden, and another file, at memory://bucket."""
    memory = fsspec.filesystem("memory")
    for name, seed in (("b/two.flac", 2), ("one.wav", 1), ("b/.hidden.wav", 3)):
        held = io.BytesIO()
        soundfile.write(held, music(2, seed=seed), 22_050, format=name[-4:].strip(".").upper())
        memory.pipe(f"/bucket/{name}", held.getvalue())
    memory.pipe("/bucket/cover.jpg", b"no sound")
    yield memory
    memory.rm("/bucket", recursive=True)


@pytest.mark.parametrize("path", ["s3://a/b.wav", "https://x/y", "memory://b", "git+ssh://x"])
def test_a_scheme_makes_a_url(path):
    assert is_url(path)


@pytest.mark.parametrize("path", ["a.wav", "/a//b.wav", "C:\\x.wav", "c:/x.wav", "://x", "a b://c", "1s://x", "x:/y"])
def test_nothing_else_does(path):
    assert not is_url(path)


def test_a_folder_at_a_url_is_walked_as_one_on_the_disk_is(bucket):
    assert find_sounds("memory://bucket") == {"b/two": "memory://bucket/b/two.flac", "one": "memory://bucket/one.wav"}
    assert find_sounds("memory://bucket/b/") == {"two": "memory://bucket/b/two.flac"}


def test_a_file_at_a_url_is_called_by_its_stem(bucket):
    assert find_sounds("memory://bucket/b/two.flac") == {"two": "memory://bucket/b/two.flac"}


def test_a_table_may_name_urls(bucket, tmp_path):
    (tmp_path / "documents.tsv").write_text("document\tpath\nd\tmemory://bucket/one.wav\n")
    assert find_sounds(tmp_path / "documents.tsv") == {"d": "memory://bucket/one.wav"}


def test_sound_at_a_url_has_the_row_of_the_same_sound_on_the_disk(bucket, tmp_path):
    files = listed(find_sounds("memory://bucket"))
    bucket.get("/bucket/one.wav", str(tmp_path / "one.wav"))
    bucket.get("/bucket/b/two.flac", str(tmp_path / "two.flac"))
    local = listed({"two": tmp_path / "two.flac", "one": tmp_path / "one.wav"})
    for there, here in zip(describe_all(files, STANDARD_FRAMES), describe_all(local, STANDARD_FRAMES), strict=True):
        assert np.array_equal(there.row, here.row)
        assert there.recording.size_bytes == here.recording.size_bytes
    assert [file.path for file in files] == ["memory://bucket/b/two.flac", "memory://bucket/one.wav"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="writes such URLs otherwise")
def test_workers_open_urls_too(tmp_path, music):
    soundfile.write(tmp_path / "x.wav", music(2), 22_050)
    (outcome,) = describe_all(listed(find_sounds(f"file://{tmp_path}")), STANDARD_FRAMES, n_jobs=1)
    assert isinstance(outcome, Described)
    status = (tmp_path / "x.wav").stat()
    assert outcome.recording.path == f"file://{tmp_path}/x.wav"
    assert outcome.recording.size_bytes == status.st_size
    assert outcome.recording.mtime_ns == pytest.approx(status.st_mtime_ns, abs=1_000_000)


def test_what_is_not_there_or_not_sound_fails_alone(bucket):
    bucket.pipe("/bucket/bad.wav", b"no sound")
    files = listed({"gone": "memory://bucket/gone.wav", "bad": "memory://bucket/bad.wav", "x": "nothing://x.wav"})
    gone, bad, unknown = describe_all(files, STANDARD_FRAMES)
    assert re.fullmatch(r"cannot be read \(.*bucket/gone\.wav.*\), expected a sound file", gone.error)
    assert bad == ("memory://bucket/bad.wav", bad.error)
    assert bad.error == "cannot be decoded (it is text, a table or a database), expected WAV, FLAC, Ogg, MP3 or AIFF"
    assert unknown.error == "cannot be read (Protocol not known: nothing), expected a sound file"


def test_a_file_that_is_too_large_is_not_copied_whole(bucket):
    refused = pytest.raises(SoundError, match=r"^memory://bucket/one\.wav: is larger than 1,000 bytes, the limit")
    with refused, local_copy("memory://bucket/one.wav", largest=1000):
        pass


def test_a_copy_does_not_stay(bucket):
    with local_copy("memory://bucket/one.wav") as copy:
        assert copy.read_bytes() == bucket.cat("/bucket/one.wav")
    assert not copy.parent.exists()


def test_a_storage_that_cannot_be_listed_is_an_error():
    with pytest.raises(InputError, match=r"^nothing://x: cannot be listed \(Protocol not known: nothing\), expected"):
        find_sounds("nothing://x")


def test_nothing_is_known_of_what_cannot_be_asked():
    assert remote_status("nothing://x") == (0, 0)


def test_without_the_extra_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"^s3://b: needs fsspec, which audiosim\[scale\] brings: pip install"):
        find_sounds("s3://b")
