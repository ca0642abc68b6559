"""Text files: opening, rejecting, and writing without half-written files."""

import gzip
import os
import subprocess
import sys
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.errors import FormatError, InputError
from audiosim.tables import text
from audiosim.tables.text import every_line, read_lines, whole_text, write_text, write_texts


def lines_of(path):
    return [text for _, text in read_lines(path, "something")]


@pytest.mark.parametrize(
    "data",
    [b"a\nb\n", b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n", b"a\nb", b"a\nb\n\n\r\n  \n"],
    ids=["LF", "CRLF", "byte order mark", "no last line end", "blank lines at the end"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_line_ends_byte_order_mark_and_compression_do_not_matter(tmp_path, data, packed):
    path = tmp_path / ("file.gz" if packed else "file")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert lines_of(path) == ["a", "b"]


def test_blank_lines_count_but_are_not_given(tmp_path):
    (tmp_path / "file").write_bytes(b"\na\n\n\nb\n")
    assert list(read_lines(tmp_path / "file", "something")) == [(2, "a"), (5, "b")]


def test_only_line_feeds_end_a_line(tmp_path):
    (tmp_path / "file").write_bytes("a\u2028b\x0cc\x85d\n".encode())
    assert lines_of(tmp_path / "file") == ["a\u2028b\x0cc\x85d"]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"  \r\n"])
def test_an_empty_file_is_refused_on_its_first_line(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(FormatError, match=r"file:1: the file is empty, expected something$"):
        lines_of(tmp_path / "file")


def test_bytes_that_are_not_utf8_are_refused_on_their_line(tmp_path):
    (tmp_path / "file").write_bytes("a\nb\nB\u00e9la\n".encode("latin-1"))
    error = r"byte 0xe9 is not UTF-8 \(in Latin-1 it would be \u00e9\), expected UTF-8 text: save the file as UTF-8"
    with pytest.raises(FormatError, match=rf"file:3: {error}$"):
        lines_of(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"a\n\x81\n")
    with pytest.raises(
        FormatError, match=r"file:2: byte 0x81 is not UTF-8, expected UTF-8 text: save the file as UTF-8$"
    ):
        lines_of(tmp_path / "file")


def test_a_text_to_send_is_unpacked_and_has_no_mark(tmp_path):
    (tmp_path / "run.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfa b\r\n\r\nc"))
    assert whole_text(tmp_path / "run.gz") == "a b\n\nc\n"


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_read_by_its_mark_and_called_by_its_name_without(tmp_path, encoding, mark):
    text = "document\tartist\r\n" + 20_000 * "d\tBj\u00f6rk \U0001d11e\r\n"
    (tmp_path / "file").write_bytes((mark + text).encode(encoding))
    if mark:
        assert [line for _, line in read_lines(tmp_path / "file", "lines")] == text.splitlines()
        (tmp_path / "file").write_bytes((mark + text).encode(encoding) + "\ud800 ".encode(encoding, "surrogatepass"))
        with pytest.raises(FormatError, match=r"file:\d+: the UTF-16 text is broken from here on: save it as UTF-8$"):
            lines_of(tmp_path / "file")
        return
    with pytest.raises(FormatError, match=r"file:1: the file looks like UTF-16 without its mark, expected UTF-8: save"):
        lines_of(tmp_path / "file")


MEMORY = """
import resource, sys
from pathlib import Path
from audiosim.tables.text import read_lines
from audiosim.errors import FormatError
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    list(read_lines(Path(sys.argv[1]), "lines"))
except FormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)
"""


def read_elsewhere(path):
    """The error about a file from a separate process, and the megabytes it took."""
    done = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True)
    said, memory = done.stdout.splitlines()
    return said, int(memory)


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_one_endless_line_is_refused_in_little_memory(tmp_path):
    packer = zlib.compressobj(9, wbits=31)
    with (tmp_path / "file.gz").open("wb") as file:
        for _ in range(150):  # 150 MB of one line in 150 kB
            file.write(packer.compress(2**20 * b"a"))
        file.write(packer.flush())
    said, memory = read_elsewhere(tmp_path / "file.gz")
    assert said.endswith("file.gz:1: the line has no end within 33,554,432 bytes, expected lines of text")
    assert memory < 200


@pytest.mark.parametrize(("start", "kind"), [(b' {"q": ', "JSON"), (b"[[", "JSON"), (b"<a>", "XML")])
def test_one_line_too_long_of_json_or_xml_says_what_to_do(tmp_path, monkeypatch, start, kind):
    monkeypatch.setattr(text, "LONGEST_LINE", 2**16)
    (tmp_path / "file").write_bytes(start + 2**16 * b"1")
    wanted = f"file:1: the line has no end within 65,536 bytes, expected more lines: this {kind} with a line for each"
    with pytest.raises(FormatError, match=wanted):
        lines_of(tmp_path / "file")


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_lines_without_end_is_refused(tmp_path):
    packer = zlib.compressobj(9, wbits=31)
    with (tmp_path / "file.gz").open("wb") as file:
        for _ in range(100):
            file.write(packer.compress(2**13 * (b"\n\r" + 124 * b" " + b"\r\n")))
        file.write(packer.flush())
    said, memory = read_elsewhere(tmp_path / "file.gz")
    assert said.endswith(": the file unpacks to more than 200 times its size, expected text")
    assert memory < 200


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-12], lambda data: b"plain text\n", lambda data: data[:40] + b"??" * 9]
)
def test_broken_gzip_is_refused_in_one_line(tmp_path, damage):
    path = tmp_path / "file.gz"
    path.write_bytes(damage(gzip.compress(os.urandom(400).hex().encode())))
    with pytest.raises(FormatError, match=r"^[^\n]*file\.gz:1: the gzip data is broken here or cut short: [^\n]+$"):
        lines_of(path)


def test_a_file_that_is_not_there_is_an_error_of_one_line(tmp_path):
    with pytest.raises(
        InputError, match=r"gone: cannot be read: No such file or directory, expected a name that exists$"
    ):
        lines_of(tmp_path / "gone")


@pytest.mark.slow
@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff\0"))),
    packed=st.booleans(),
)
def test_what_is_written_is_read_again(tmp_path_factory, lines, packed):
    path = tmp_path_factory.mktemp("text") / ("file.gz" if packed else "file")
    write_text(path, lines)
    assert [text for _, text in every_line(path)] == lines


def test_the_same_lines_are_compressed_to_the_same_bytes(tmp_path):
    write_text(tmp_path / "a.gz", ["x"])
    write_text(tmp_path / "b.gz", ["x"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def broken_off():
    yield "first"
    raise RuntimeError("the lines end here")


def test_writing_that_breaks_off_leaves_the_file_as_it_was(tmp_path):
    write_text(tmp_path / "file", ["before"])
    with pytest.raises(RuntimeError):
        write_text(tmp_path / "file", broken_off())
    assert (tmp_path / "file").read_text() == "before\n"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_of_several_files_none_is_touched_when_one_cannot_be_written(tmp_path):
    write_text(tmp_path / "a", ["before"])
    with pytest.raises(
        InputError, match=r"gone/b: cannot be written: No such file or directory, expected a name that exists$"
    ):
        write_texts({tmp_path / "a": ["after"], tmp_path / "gone" / "b": ["after"]})
    assert (tmp_path / "a").read_text() == "before\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_character_that_utf8_lacks_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match=r"file: '\\ud800' cannot be written as UTF-8$"):
        write_text(tmp_path / "file", ["\ud800"])
    assert not list(tmp_path.iterdir())


def test_a_folder_is_not_written_over(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written: Is a directory, expected a file, not a folder$"):
        write_text(tmp_path, ["x"])


def test_a_device_is_written_to_and_stays_a_device():
    write_text(os.devnull, ["x"])
    with open(os.devnull) as device:  # noqa: PTH123
        assert device.read() == ""


def test_a_link_keeps_pointing_to_the_file_that_is_written(tmp_path):
    (tmp_path / "file").write_text("before\n")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text(tmp_path / "link", ["after"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "after\n"


def test_files_that_are_no_text_are_called_what_they_are(tmp_path):
    with zipfile.ZipFile(tmp_path / "sounds.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    pdf, jpeg, flac = b"%PDF-1.7\n", bytes.fromhex("ffd8ffe000104a46494600"), b"fLaC\0\0\0\x22"
    for name, content, said in (
        ("sounds.zip", (tmp_path / "sounds.zip").read_bytes(), "a zip archive or an Office document, expected text"),
        ("scan.pdf", pdf, "a PDF document, expected a table in text"),
        ("photo.jpg", jpeg, "a picture, expected a table in text"),
        ("song.flac", flac, "a recording, expected a table in text"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=f"{name}:1: the file is {said}"):
            lines_of(tmp_path / name)
