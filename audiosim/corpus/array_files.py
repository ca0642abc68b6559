"""Arrays in files of NumPy and columns in files of Parquet: no more than is asked for, and no more than memory holds.

A few kilobytes may unpack to gigabytes, and a header may promise any shape: both are looked at before anything is read.
"""

import math
from collections.abc import Collection as Names
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import ZipFile

import numpy as np

from audiosim.arrays import Array
from audiosim.errors import InputError

UNPACKED = 2**28  # bytes that a packed file of arrays may hold in any case
EXPANSION = 20  # times as large as its file it may be else; embeddings hardly shrink at all
NUMBER = 8  # bytes
MOST_WORDS = 300  # characters of another library's complaint
INDEX = "__index_level_"  # columns that pandas writes beside those of a frame


def check_regular(path: Path) -> None:
    """An InputError where a path is something else than a file: a pipe would be waited for, a device has no end."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a link to nothing" if not path.exists() else "a pipe or a device"
        raise InputError(f"{path}: is {what}, expected a file")


def most_bytes(path: Path) -> int:
    """Bytes that a file of arrays may unpack to."""
    return max(UNPACKED, EXPANSION * path.stat().st_size)


def read_npy(path: Path) -> Array:
    """The array of an npy file."""
    try:
        with path.open("rb") as file:
            return _array(file, path.stat().st_size)
    except Exception as error:  # a header is a Python expression, and anything is raised where it is broken
        raise _broken(path, error) from None


def read_npz(path: Path, wanted: Names[str]) -> tuple[dict[str, Array], list[str]]:
    """The arrays of an npz file that are wanted, by name, and the names of all that it has."""
    try:
        with ZipFile(path) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            some = {name: entry for name, entry in entries.items() if name in wanted}
            _check_unpacked(path, sum(entry.file_size for entry in some.values()))
            found = {}
            for name, entry in some.items():
                with archive.open(entry) as file:
                    found[name] = _array(cast("BinaryIO", file), entry.file_size)
            return found, sorted(entries)
    except Exception as error:  # a header is a Python expression, and anything is raised where it is broken
        raise _broken(path, error) from None


def _check_unpacked(path: Path, unpacked: int) -> None:
    if unpacked > most_bytes(path):
        raise InputError(f"it unpacks to {unpacked:,} bytes, expected up to {most_bytes(path):,}")


def _array(file: BinaryIO, size: int) -> Array:
    """The array of an open npy file of so many bytes, which its header must agree with."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"it is of version {version[0]}.{version[1]}, expected 1.0 or 2.0")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(file)
    if kind.hasobject:
        raise InputError("it has Python objects in it, expected numbers or texts")
    promised, there = math.prod(shape) * kind.itemsize, size - file.tell()
    if promised != there or min(shape, default=1) < 0:
        raise InputError(f"its header promises {promised:,} bytes of numbers, found {there:,}")
    data = file.read(promised)
    if len(data) < promised:
        raise InputError("it is cut short")
    return np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C").copy()


def _broken(path: Path, error: Exception) -> InputError:
    words = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"{path}: cannot be read as {path.suffix[1:]}: {words[:MOST_WORDS]}")


def read_parquet(path: Path, keys: Iterable[Sequence[str]]) -> dict[str, Sequence[Any]]:
    """The columns of a Parquet file by name: keys as lists, None where empty; others as arrays.

    keys  columns that name what the rows are about: the first of these combinations that is there
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise InputError(f'{path}: reading Parquet needs pyarrow: pip install "audiosim[parquet]"') from None
    try:
        with parquet.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if not name.startswith(INDEX)]
            known = next((tuple(names) for names in keys if set(names) <= set(columns)), ())
            texts = _check_columns([file.schema_arrow.field(name) for name in columns], known)
            groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
            count = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
            _check_count(path, count)
        table = parquet.read_table(path, columns=columns, read_dictionary=texts)
        return {name: _values(table.column(name), name in known) for name in columns}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # of several libraries, with errors of their own
        raise InputError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())[:MOST_WORDS]}") from None


def _check_count(path: Path, count: int) -> None:
    if NUMBER * count > most_bytes(path):
        raise InputError(f"it holds {count:,} numbers, expected up to {most_bytes(path) // NUMBER:,}")


def _values(column: Any, is_key: bool) -> Sequence[Any]:
    if not is_key:
        found: Sequence[Any] = column.to_numpy(zero_copy_only=False)
        return found
    keys: list[Any] = []
    for chunk in column.chunks:
        # A text that comes again and again is kept once.
        names = chunk.dictionary.to_pylist() if hasattr(chunk, "dictionary") else None
        places = (chunk.indices if names is not None else chunk).to_pylist()
        keys += places if names is None else [None if place is None else names[place] for place in places]
    return keys


def _check_columns(columns: Iterable[Any], keys: Sequence[str]) -> list[str]:
    """The keys that are texts; an InputError where another column is not of numbers, nor a vector."""
    from pyarrow import types

    texts = []
    for column in columns:
        kind, lists = column.type, (types.is_list, types.is_large_list, types.is_fixed_size_list)
        if column.name in keys:
            texts += [column.name] if types.is_string(kind) or types.is_large_string(kind) else []
            continue
        if column.name == "vector" and any(of(kind) for of in lists):
            kind = kind.value_type
        plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
        if not plain:
            raise InputError(f"expected columns of numbers, found {column.name} of {column.type}")
    return texts
