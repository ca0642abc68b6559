"""Text files: read line by line with their numbers, written whole or not at all."""

import gzip
import math
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from audiosim.errors import FormatError, InputError

BYTE_ORDER_MARK = "\ufeff"


def every_line(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, numbered from 1, without line ends (LF, CRLF) and byte order mark; `.gz` is opened."""
    number = 0
    try:
        with _open(path) as stream:
            for number, raw in enumerate(stream, start=1):
                text = _decode(path, number, raw).rstrip("\r\n")
                yield number, text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(path, number + 1, f"the gzip data is broken here or cut short: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def read_lines(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; a file without any is an error that says what was expected."""
    empty = True
    for number, text in every_line(path):
        if text and not text.isspace():
            empty = False
            yield number, text
    if empty:
        raise FormatError(path, 1, f"the file is empty, expected {expected}")


def finite(path: Path, number: int, kind: str, text: str) -> float:
    """The number that a field spells; not a number, NaN and infinity are errors."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # Python reads 1_000 as a thousand; no other program that meets these files does.
    if not math.isfinite(value) or "_" in text:
        raise FormatError(path, number, f"expected a finite number for {kind}, found {text!r}")
    return value


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _decode(path: Path, number: int, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise FormatError(path, number, f"byte {raw[error.start]:#04x} is not UTF-8, expected UTF-8 text") from None


def write_text(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines, given without their ends, to a file: all of them, or the file stays as it was.

    A name that ends in `.gz` is compressed. A pipe or a terminal is written to as it is.
    """
    path = Path(path)
    if not path.exists() or path.is_file():
        write_texts({path: lines})
        return
    try:
        path.write_bytes(_encode(path, lines))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def write_texts(texts: Mapping[Path, Iterable[str]]) -> None:
    """Write several files, each as `write_text` does; none is replaced before all are on the disk."""
    ready = {path: _encode(path, lines) for path, lines in texts.items()}
    beside: dict[Path, Path] = {}
    path = Path()
    try:
        for path, data in ready.items():
            # A link keeps pointing where it did: what is replaced is the file behind it.
            target = path.resolve()
            beside[target] = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
            _write_safely(beside[target], data)
        for path, part in beside.items():
            part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        for part in beside.values():
            part.unlink(missing_ok=True)


def _encode(path: Path, lines: Iterable[str]) -> bytes:
    try:
        data = "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: {error.object[error.start]!r} cannot be written as UTF-8") from None
    # No time in the header: the same lines give the same bytes.
    return gzip.compress(data, mtime=0) if path.suffix == ".gz" else data


def _write_safely(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
