"""`audiosim extract` on files that are not all right."""

import json
import os
import sys

import pytest
import soundfile


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be made there")
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_every_bad_file_is_one_line_whatever_its_name(run, tmp_path, music, form):
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    soundfile.write(sounds / "Ænima 東京.wav", music(2), 22_050)
    for name in (b"a\nb.wav", b"caf\xe9.wav", b"\x1b[31m.wav"):
        with open(os.fsencode(sounds) + b"/" + name, "wb") as file:  # noqa: PTH123 - a path in bytes
            file.write(b"no sound")
    (sounds / "none.wav").write_bytes(b"")
    code, out, err = run("extract", sounds, "-o", tmp_path / "index", "--format", form)
    assert code == 0
    names = [line.removeprefix(f"audiosim: {sounds}/").split(": ")[0] for line in err.splitlines()]
    assert names == ["\\x1b[31m.wav", "a\\nb.wav", "caf\\udce9.wav", "none.wav"]
    if form == "json":
        failed = [failure["path"].removeprefix(f"{sounds}/") for failure in json.loads(out)["failed"]]
        assert failed == ["\x1b[31m.wav", "a\nb.wav", "caf\\udce9.wav", "none.wav"]


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
