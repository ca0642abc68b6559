"""Text files: read line by line with their numbers, written whole or not at all."""

import codecs
import csv
import gzip
import io
import json
import math
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from audiosim.errors import FormatError, InputError
from audiosim.text import reason, repeated, shortened

Lines = Iterator[tuple[int, str]]  # lines with their numbers, from 1
BYTE_ORDER_MARK = "\ufeff"
BLOCK = 2**20  # bytes read at once
LONGEST_LINE = 2**25  # longest line, in bytes
EXPANSION = 200  # largest ratio of a file to its `.gz`; runs have 5 to 30
UNPACKED = 2**26  # size in bytes to which any `.gz` may unpack
SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons"}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Files that are no text, by their first bytes: what people send by mistake.
PICTURE, RECORDING = "a picture, expected a table in text", "a recording, expected a table in text"
NO_TEXT = {
    b"PK\x03\x04": "a zip archive or an Office document, expected text: unpack it, or save its table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Office document, expected text: save its table as CSV",
    b"%PDF": "a PDF document, expected a table in text",
    **dict.fromkeys((b"\xff\xd8\xff", b"\x89PNG", b"GIF8"), PICTURE),
    **dict.fromkeys((b"ID3", b"OggS", b"fLaC", b"RIFF"), RECORDING),
}
OF_EXCEL = re.compile(r'"?sep=.?"?')  # first line of a CSV of Excel's, which names its separator


def check_regular(path: Path, expected: str = "a file") -> None:
    """Raise an InputError unless the path is a regular file: a pipe would block, and a device never ends."""
    if not path.is_file():
        there = "is a folder" if path.is_dir() else "is a pipe or a device"
        found = there if path.exists() else "is a link to nothing" if path.is_symlink() else "no such file"
        raise InputError(f"{path}: {found}, expected {expected}")


def every_line(path: Path) -> Lines:
    """The lines of a file of UTF-8, or of UTF-16 with its mark, numbered from 1; unpacks `.gz`.

    They have neither an end (LF, CRLF, CR) nor a byte order mark.
    """
    number = 0
    try:
        with open_bytes(path) as stream:
            for number, raw in enumerate(_raw_lines(path, stream), start=1):
                text = _decode(path, number, raw).rstrip("\r\n")
                yield number, text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(path, number + 1, f"the gzip data is broken here or cut short: {error}") from None
    except UnicodeError:
        raise FormatError(path, number + 1, "the UTF-16 text is broken from here on: save it as UTF-8") from None
    except OSError as error:
        scheme = path.parts[0]
        if re.fullmatch(r"\w\w+:", scheme):  # the rest may hold a password
            said = (
                "is an address, expected a file; a database is read by audiosim.campaign.with_log(address, collection)"
            )
            raise InputError(f"{scheme}...: {said}") from None
        raise InputError(f"{path}: cannot be read: {reason(error)}") from None


def _raw_lines(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """The lines of an open file, with their ends."""
    rest, number, taken, most = b"", 1, 0, most_unpacked(path)
    while data := stream.read(BLOCK):
        taken += len(data)
        lines = (rest + data).splitlines(keepends=True)
        # The last line may go on, and a CR at its end may be half of a CRLF.
        rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        number += len(lines)
        if len(rest) > LONGEST_LINE or taken > most:
            kind = {b"{": "JSON", b"[": "JSON", b"<": "XML"}.get(rest.lstrip()[:1])
            wanted = f"more lines: this {kind} with a line for each record" if kind else "lines of text"
            long = f"the line has no end within {LONGEST_LINE:,} bytes, expected {wanted}"
            packed = f"the file unpacks to more than {EXPANSION} times its size, expected text"
            raise FormatError(path, number, long if len(rest) > LONGEST_LINE else packed)
        yield from lines
    if rest:
        yield rest


def whole_text(path: Path) -> str:
    """The text of a UTF-8 file, read like its lines, for sending it elsewhere."""
    return "".join(f"{text}\n" for _, text in every_line(path))


def read_lines(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """The non-blank lines with their numbers; an error with the expected content if there are none."""
    empty = True
    for number, text in every_line(path):
        if text and not text.isspace() and not (number == 1 and OF_EXCEL.fullmatch(text)):
            empty = False
            yield number, text
    if empty:
        raise FormatError(path, 1, f"the file is empty, expected {expected}")


def is_json(line: str) -> bool:
    """True if a file that starts with a line is JSON; an identifier may start with a brace, but then a word follows."""
    text = line.strip()
    return text in ("{", "[") or (re.match(r"[{\[]\s*[{\[\"\]}]", text) is not None and text[-1] in "{[]},")


def is_xml(line: str) -> bool:
    """True if a file that starts with a line is XML; a name may start with a bracket, but then a word follows."""
    tag = re.match(r"\s*<(\?xml|!DOCTYPE|!--|[^\W\d][\w.:-]*(\s+[\w.:-]+\s*=|\s*/?>))", line)
    return tag is not None and (tag[1] in ("?xml", "!DOCTYPE", "!--") or re.search(r"<[^<>]*>\s*$", line) is not None)


def parse_json(
    path: Path, number: int, text: str | bytes, expected: str, digits: Callable[[str], object] | None = None
) -> Any:
    """The value of a JSON text; an error if it is not JSON, is nested too deeply, or has a key twice.

    number  line on which the text starts
    digits  reads a number; None: as usual
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_float=digits, parse_int=digits)
    except RecursionError:
        raise FormatError(path, number, f"not JSON: nested too deeply, expected {expected}") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise FormatError(path, number, str(error)) from None
        line, problem = getattr(error, "lineno", 1), getattr(error, "msg", error)
        raise FormatError(path, number + line - 1, f"not JSON: {problem}, expected {expected}") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if (twice := repeated(name for name, _ in pairs)) is not None:
        raise InputError(f"{shortened(twice)} occurs twice, expected it once")
    return dict(pairs)


def open_bytes(path: Path) -> BinaryIO:
    """A file opened as bytes, with `.gz` unpacked, and UTF-16 with its mark as UTF-8."""
    stream = io.BufferedReader(gzip.GzipFile(path)) if path.suffix == ".gz" else path.open("rb")
    if stream.peek(2).startswith(UTF_16):
        return cast("BinaryIO", codecs.EncodedFile(stream, "utf-8", "utf-16"))
    return cast("BinaryIO", stream)


def most_unpacked(path: Path) -> float:
    """Largest size in bytes that a file may unpack to; infinite if it is not packed."""
    return max(UNPACKED, EXPANSION * path.stat().st_size) if path.suffix == ".gz" else math.inf


def _decode(path: Path, number: int, raw: bytes) -> str:
    if number == 1 and bytes(4) in (raw[1:8:2], raw[0:7:2]):  # every other byte of UTF-16 is 0
        raise FormatError(path, number, "the file looks like UTF-16 without its mark, expected UTF-8: save it as UTF-8")
    if number == 1 and raw.startswith(b"SQLite format 3\0"):
        raise FormatError(path, number, f"the file is a database: name it as a URL, sqlite:///{path}")
    if number == 1 and (what := next((said for mark, said in NO_TEXT.items() if raw.startswith(mark)), None)):
        raise FormatError(path, number, f"the file is {what}")
    if b"\0" in raw:
        raise FormatError(path, number, "the line has a byte 0, expected UTF-8 text")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        latin = bytes([byte]).decode("cp1252", "replace")
        meant = f" (in Latin-1 it would be {latin})" if latin.isalpha() else ""
        problem = f"byte {byte:#04x} is not UTF-8{meant}, expected UTF-8 text: save the file as UTF-8"
        raise FormatError(path, number, problem) from None


def check_output_file(path: str | Path | None, *, makes_folder: bool = False) -> None:
    """Raise an error if a file cannot be written; called before long work, so that its result is not lost.

    path          None: nothing is written
    makes_folder  True if a missing folder will be made
    """
    if path is None:
        return
    file = Path(path)
    # A file is first written beside its final place; a pipe or a terminal is written directly.
    written = file.is_file() or not file.exists()
    place = file.resolve().parent if written else file
    if makes_folder:
        place = next(one for one in (place, *place.parents) if one.exists())
    if file.is_dir() or (written and not place.is_dir()) or not os.access(place, os.W_OK):
        where = "a writable folder" if makes_folder else "an existing, writable folder"
        raise InputError(f"{path}: cannot be written: expected a file in {where}")


def check_new_folder(path: Path) -> None:
    """Raise an error if a folder cannot be made, or written to; called before long work, like `check_output_file`."""
    place = next(one for one in (path.resolve(), *path.resolve().parents) if one.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise InputError(f"{path}: cannot be written: expected a folder, new or empty, in a writable folder")


def write_text(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines, given without their ends, to a file; on an error the file stays as it was.

    A file whose name ends in `.gz` is compressed. A pipe or a terminal is written to directly.
    """
    write_texts({Path(path): lines})


def write_texts(texts: Mapping[Path, Iterable[str] | bytes]) -> None:
    """Write several files like `write_text`, bytes unchanged; no file is replaced before all are on the disk."""
    ready = {path: text if isinstance(text, bytes) else _encode(path, text) for path, text in texts.items()}
    beside: dict[Path, Path] = {}
    path = Path()
    try:
        for path, data in ready.items():
            if path.exists() and not path.is_file():
                path.write_bytes(data)
                continue
            # Replace the file behind a link, so that the link stays a link.
            target = path.resolve()
            beside[target] = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
            _write_safely(beside[target], data)
        for path, part in beside.items():
            part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        for part in beside.values():
            part.unlink(missing_ok=True)


def claim(file: BinaryIO, wait: bool = False) -> bool:
    """Keep other processes from claiming an open file until it is closed, if the system supports this.

    wait  True to wait until no other process has the file

    Returns False if another process has it.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _encode(path: Path, lines: Iterable[str]) -> bytes:
    try:
        data = "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: {error.object[error.start]!r} cannot be written as UTF-8") from None
    if b"\0" in data:
        raise InputError(f"{path}: a name with a byte 0 cannot be written")
    # No time stamp in the header: the same lines give the same bytes.
    return gzip.compress(data, mtime=0) if path.suffix == ".gz" else data


def _write_safely(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def csv_line(fields: Iterable[object]) -> str:
    """A CSV record without its end; texts may contain line ends."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(fields)
    return written.getvalue()


def shortest(value: object) -> object:
    """A number without needless decimals: 17 for 17.0; other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
