"""`audiosim extract` on folders with bad files."""

import json
import os
import re
import sys

import numpy as np
import pytest
import soundfile

from audiosim.sound.index import AudioIndex

if sys.platform != "win32":
    import resource


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be made there")
@pytest.mark.parametrize("form", ["table", "json"])
def test_every_bad_file_is_one_line_whatever_its_name(run, tmp_path, music, form):
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    soundfile.write(sounds / "Ænima 東京.wav", music(2), 22_050)
    for name in (b"a\nb.wav", b"caf\xe9.wav", b"\x1b[31m.wav"):
        with open(os.fsencode(sounds) + b"/" + name, "wb") as file:  # noqa: PTH123 - a path in bytes
            file.write(b"no sound")
    (sounds / "none.wav").write_bytes(b"")
    code, out, err = run("extract", sounds, "-o", tmp_path / "index", "-j", "1", "--format", form)
    *lines, last = err.splitlines()
    assert (code, last) == (1, "audiosim: 4 files left out, the index has the others")
    names = [line.removeprefix(f"audiosim: {sounds}/").split(": ")[0] for line in lines]
    assert names == ["\\x1b[31m.wav", "a\\nb.wav", "caf\\udce9.wav", "none.wav"]
    if form == "json":
        failed = [failure["path"].removeprefix(f"{sounds}/") for failure in json.loads(out)["failed"]]
        assert failed == ["\x1b[31m.wav", "a\nb.wav", "caf\\udce9.wav", "none.wav"]


@pytest.mark.slow
def test_a_url_is_a_source_like_any_other(run, tmp_path, music):
    pytest.importorskip("fsspec")
    soundfile.write(tmp_path / "x.wav", music(2), 22_050)
    code, out, _ = run("extract", f"file://{tmp_path}/x.wav", "-o", tmp_path / "index", "--format", "json")
    assert (code, json.loads(out)["done"]) == (0, 1)


def test_a_storage_that_is_not_installed_is_one_line(run, tmp_path):
    pytest.importorskip("fsspec")
    code, _, err = run("extract", "nothing://x", "-o", tmp_path / "index")
    assert code == 1
    assert err == "audiosim: nothing://x: cannot be listed (Protocol not known: nothing), expected a file or a folder\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_on_a_full_disk_extract_says_so_in_one_line_and_goes_on_when_there_is_room(run, tmp_path, music, monkeypatch):
    """A simulated full disk: no file of the process may exceed a number of bytes, at first few, then more."""
    for n in range(6):
        soundfile.write(tmp_path / f"{n}.wav", music(2, seed=n), 44_100)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a worker would keep truncated bytecode for later runs
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (100, 5000, 9000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, usual[1]))
        try:
            code, _, err = run("extract", tmp_path, "-o", tmp_path / "index", "-j", "1")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert code == 1
        assert "Traceback" not in err
        assert err.splitlines()[-1].startswith("audiosim: ")
        assert re.search(r"File too large|disk I/O error", err.splitlines()[-1])  # SQLite's words for it
    code, _, err = run("extract", tmp_path, "-o", tmp_path / "index", "-j", "1")
    assert (code, err) == (0, "")
    index = AudioIndex.load(tmp_path / "index")
    assert sorted(index.ids) == list(map(str, range(6)))
    assert np.all(np.isfinite(index.divergence()))
