"""NumPy array files and Parquet columns: only requested data are read, and never more than fits into memory.

A few kilobytes can unpack to gigabytes, and a header can promise any shape, so both are checked before reading.
"""

import math
import secrets
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import ZipFile, ZipInfo

import numpy as np

from audiosim.errors import InputError
from audiosim.stats.arrays import Array
from audiosim.tables.table import Table
from audiosim.text import repeated

UNPACKED = 2**28  # size in bytes to which any packed file of arrays may unpack
EXPANSION = 20  # limit for larger files, as a multiple of the packed size; embeddings hardly compress
NUMBER = 8  # bytes per number
BUFFER = 2**20  # bytes read at once of each column of a Parquet file
MOST_WORDS = 300  # characters quoted from another library's error message
INDEX = "__index_level_"  # columns that pandas adds to those of a frame


def most_bytes(path: Path) -> int:
    """Largest number of bytes that a file of arrays may unpack to."""
    return max(UNPACKED, EXPANSION * path.stat().st_size)


def read_npy(path: Path) -> Array:
    """The array of an npy file."""
    try:
        with path.open("rb") as file:
            return _array(file, path.stat().st_size)
    except Exception as error:  # the header is a Python expression: a broken one can raise anything
        raise _broken(path, error) from None


def read_npz(path: Path, wanted: Names[str]) -> tuple[dict[str, Array], list[str]]:
    """The requested arrays of an npz file, by name, and the names of all its arrays."""
    try:
        with ZipFile(path) as archive:
            entries = _entries(archive)
            some = {name: entry for name, entry in entries.items() if name in wanted}
            _check_unpacked(path, sum(entry.file_size for entry in some.values()))
            found = {}
            for name, entry in some.items():
                with archive.open(entry) as file:
                    found[name] = _array(cast("BinaryIO", file), entry.file_size)
            return found, sorted(entries)
    except Exception as error:  # the header is a Python expression: a broken one can raise anything
        raise _broken(path, error) from None


def _entries(archive: ZipFile) -> dict[str, ZipInfo]:
    entries = [(entry.filename.removesuffix(".npy"), entry) for entry in archive.infolist()]
    if (twice := repeated(name for name, _ in entries)) is not None:
        raise InputError(f"it holds {twice} twice, expected it once")
    return dict(entries)


def _check_unpacked(path: Path, unpacked: int) -> None:
    if unpacked > most_bytes(path):
        raise InputError(f"it unpacks to {unpacked:,} bytes, expected up to {most_bytes(path):,}")


def _array(file: BinaryIO, size: int) -> Array:
    """The array of an open npy file; its header must agree with the size in bytes."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"it is of version {version[0]}.{version[1]}, expected 1.0 or 2.0")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(file)
    if kind.hasobject:
        raise InputError("it contains Python objects, expected numbers or texts")
    promised, there = math.prod(shape) * kind.itemsize, size - file.tell()
    if promised != there or min(shape, default=1) < 0:
        raise InputError(f"its header promises {promised:,} bytes of numbers, found {there:,}")
    data = file.read(promised)
    if len(data) < promised:
        raise InputError("it is truncated")
    return np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C").copy()


def _broken(path: Path, error: Exception) -> InputError:
    words = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"{path}: cannot be read as {path.suffix[1:]}: {words[:MOST_WORDS]}")


def read_parquet(path: Path, keys: Iterable[Sequence[str]]) -> dict[str, Sequence[Any]]:
    """The columns of a Parquet file by name: keys as lists, None where empty; others as arrays.

    keys  combinations of key columns, in order of preference: the first one present is used
    """
    _, parquet = _pyarrow()
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
    except Exception as error:  # several libraries take part, each with its own error types
        raise _broken_parquet(path, error) from None


def parquet_table(path: Path) -> Table:
    """The table of a Parquet file: texts, numbers and missing cells."""
    _, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            names = [name for name in file.schema_arrow.names if not name.startswith(INDEX)]
            _check_count(path, file.metadata.num_rows * len(names))
            found = file.read(columns=names)
        return Table(path, {name: found.column(name).to_pylist() for name in names})
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # as for `read_parquet`
        raise _broken_parquet(path, error) from None


def parquet_portions(
    path: Path, numbers: Names[str], words: Names[str], size: int
) -> Iterator[dict[str, Array | list[str | None]]]:
    """Some columns of a Parquet file in portions of rows, one in memory at a time; at least one, which may be empty.

    numbers  names of columns with numbers (m,), NaN where empty; the file may lack some
    words    names of columns with text, None where empty
    size     rows of a portion
    """
    arrow, parquet = _pyarrow()
    try:
        # A row group may hold all rows; a buffer avoids reading it into memory as a whole.
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            columns = [name for name in file.schema_arrow.names if name in numbers or name in words]
            _check_columns([file.schema_arrow.field(name) for name in columns], [*words])
            for rows in file.iter_batches(size, columns=columns):
                parts = zip(columns, rows.columns, strict=True)
                yield {
                    name: part.cast(arrow.string()).to_pylist()
                    if name in words
                    else part.cast(arrow.float64()).to_numpy(zero_copy_only=False)
                    for name, part in parts
                }
            if not file.metadata.num_rows:
                yield {name: [] if name in words else np.empty(0) for name in columns}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # as for `read_parquet`
        raise _broken_parquet(path, error) from None


def write_parquet(path: Path, portions: Iterable[Mapping[str, Array | Sequence[str | None]]]) -> None:
    """Write a Parquet file, one row group per portion, so that only one is in memory; an error leaves no file.

    portions  one or more portions with the same columns: arrays of numbers, or sequences of words
    """
    arrow, parquet = _pyarrow()
    beside = path.resolve().with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        writer = None
        with beside.open("xb") as stream, ExitStack() as stack:
            for columns in portions:
                if writer is None:
                    kinds = {
                        name: arrow.from_numpy_dtype(column.dtype) if isinstance(column, np.ndarray) else arrow.string()
                        for name, column in columns.items()
                    }
                    schema = arrow.schema(kinds)
                    writer = stack.enter_context(parquet.ParquetWriter(stream, schema))
                writer.write_table(arrow.table(dict(columns), schema=schema))
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def _pyarrow() -> tuple[Any, Any]:
    """The package for Parquet files and its module `parquet`, imported where they are needed."""
    import pyarrow as arrow
    from pyarrow import parquet

    return arrow, parquet


def _broken_parquet(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())[:MOST_WORDS]}")


def _check_count(path: Path, count: int) -> None:
    if NUMBER * count > most_bytes(path):
        raise InputError(f"it holds {count:,} numbers, expected up to {most_bytes(path) // NUMBER:,}")


def _values(column: Any, is_key: bool) -> Sequence[Any]:
    if not is_key:
        found: Sequence[Any] = column.to_numpy(zero_copy_only=False)
        return found
    keys: list[Any] = []
    for chunk in column.chunks:
        # Keep repeated text once.
        names = chunk.dictionary.to_pylist() if hasattr(chunk, "dictionary") else None
        places = (chunk.indices if names is not None else chunk).to_pylist()
        keys += places if names is None else [None if place is None else names[place] for place in places]
    return keys


def _check_columns(columns: Iterable[Any], keys: Sequence[str]) -> list[str]:
    """The key columns; an InputError if a key is not text, or if another column has neither numbers nor vectors."""
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
