"""NumPy array files and Parquet columns: only requested data are read, and never more than fits into memory.

A few kilobytes can unpack to gigabytes, and a header can promise any shape, so both are checked before reading.
"""

import itertools
import math
import secrets
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError
from audiosim.stats.arrays import Array
from audiosim.tables.table import Table, Words
from audiosim.text import reason, repeated

UNPACKED = 2**28  # size in bytes to which any packed file of arrays may unpack
EXPANSION = 20  # limit for larger files, as a multiple of the packed size; embeddings hardly compress
NUMBER = 8  # bytes per number
BUFFER = 2**20  # bytes read at once of each column of a Parquet file
MOST_WORDS = 300  # characters quoted from another library's error message
WHOLE, BYTES, STRUCT = (4, 5, 6), 8, 12  # kinds of a field in Thrift's compact protocol; those of a bit have no bytes
PARQUET = (".parquet", ".parq", ".pq")  # endings of Parquet files
INDEX = "__index_level_"  # columns that pandas adds to those of a frame


def most_bytes(path: Path) -> int:
    """Largest number of bytes that a file of arrays may unpack to."""
    return max(UNPACKED, EXPANSION * path.stat().st_size)


def read_npy(path: Path) -> Array:
    """The array of an npy file."""
    with _errors_of(path), path.open("rb") as file:
        return _array(file, path.stat().st_size)


def read_npz(path: Path, wanted: Names[str]) -> tuple[dict[str, Array], list[str]]:
    """The requested arrays of an npz file, by name, and the names of all its arrays."""
    with _errors_of(path), ZipFile(path) as archive:
        entries = [(entry.filename.removesuffix(".npy"), entry) for entry in archive.infolist()]
        if (twice := repeated(name for name, _ in entries)) is not None:
            raise InputError(f"it holds {twice} twice, expected it once")
        some, found = {name: entry for name, entry in entries if name in wanted}, dict[str, Array]()
        if (unpacked := sum(entry.file_size for entry in some.values())) > most_bytes(path):
            raise InputError(f"it unpacks to {unpacked:,} bytes, expected up to {most_bytes(path):,}")
        for name, entry in some.items():
            with archive.open(entry) as file:
                found[name] = _array(cast("BinaryIO", file), entry.file_size)
        return found, sorted(name for name, _ in entries)


def npz_bytes(arrays: Mapping[str, NDArray[Any]], compressed: bool = False) -> bytes:
    """The contents of an npz file with some arrays, by name."""
    file = BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, allow_pickle=False, **arrays)
    return file.getvalue()


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the header is a Python expression: a broken one can raise anything
        words = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be read as {path.suffix[1:]}: {words[:MOST_WORDS]}") from None


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


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An open Parquet file; every error within is one line that names it."""
    from pyarrow import parquet

    try:
        known = parquet.read_metadata(path)
        leaves = map(known.schema.column, range(len(known.schema)))
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        _check_pages(path, known)
        # A row group may hold all rows; a buffer avoids reading it into memory as a whole. Text is read coded: a file
        # holds a long one once, for any number of rows.
        with parquet.ParquetFile(
            path, metadata=known, buffer_size=BUFFER, pre_buffer=False, read_dictionary=texts
        ) as file:
            yield file
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # several libraries take part, each with its own error types
        words = " ".join(str(error).split())[:MOST_WORDS]
        raise InputError(f"{path}: cannot be read as Parquet: {words}") from None


def _check_pages(path: Path, known: Any) -> None:
    """Refuse pages whose headers promise more than there is: a reader allocates at once what they say.

    A header is a struct of Thrift's compact protocol (parquet.thrift, PageHeader): its second field is the size of the
    page unpacked, its third the size in the file.
    """
    largest = [0] * known.num_columns
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        for group, place in itertools.product(range(known.num_row_groups), range(known.num_columns)):
            chunk = known.row_group(group).column(place)
            at = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            end = at + chunk.total_compressed_size
            while at < end:
                header, at = _struct(data, at)
                unpacked, packed = header.get(2, -1), header.get(3, -1)
                if min(unpacked, packed) < 0 or at + packed > min(end, len(data)):
                    raise InputError(f"column {chunk.path_in_schema}: a page does not end where its header says")
                largest[place], at = max(largest[place], unpacked), at + packed
    if sum(largest) > most_bytes(path):
        raise InputError(f"its pages unpack to {sum(largest):,} bytes at once, expected up to {most_bytes(path):,}")


def _struct(data: mmap, at: int) -> tuple[dict[int, int], int]:
    """The whole numbers of a struct by the number of their field, and the place after it."""
    fields: dict[int, int] = {}
    last = 0
    while head := data[at]:
        step, at = (head >> 4, at + 1) if head >> 4 else _whole(data, at + 1)
        last += step
        if (kind := head & 15) == STRUCT:
            _, at = _struct(data, at)
        elif kind in WHOLE:
            fields[last], at = _whole(data, at)
        elif kind == BYTES:
            size, at = _whole(data, at, signed=False)
            at += size
    return fields, at + 1


def _whole(data: mmap, at: int, *, signed: bool = True) -> tuple[int, int]:
    """A whole number, seven bits a byte, the lowest first, and the place after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return (value >> 1) ^ -(value & 1) if signed else value, at


def parquet_table(path: Path) -> Table:
    """The table of a Parquet file: names, numbers, and values that may be missing."""
    with _opened(path) as file:
        names = [name for name in file.schema_arrow.names if not name.startswith(INDEX)]
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        widths = [max(1, file.schema.column(place).length // NUMBER) for place in range(len(file.schema))]
        count = sum(width * group.column(place).num_values for group in groups for place, width in enumerate(widths))
        if NUMBER * count > most_bytes(path):
            raise InputError(f"it holds {count:,} numbers, expected up to {most_bytes(path) // NUMBER:,}")
        found = file.read(columns=names)
        return Table(path, {name: cells_of(found.column(name)) for name in names})


def parquet_portions(path: Path, names: Names[str], size: int) -> Iterator[Table]:
    """Some columns of a Parquet file, in portions of so many rows; at least one, which may be empty."""
    with _opened(path) as file:
        there, start = [name for name in file.schema_arrow.names if name in names], 0
        for rows in _portions(file.iter_batches(size, columns=there), size):
            cells = {name: cells_of(column) for name, column in zip(there, rows.columns, strict=True)}
            yield Table(path, cells, start=start)
            start += len(rows)
        if not start:
            yield Table(path, {name: [] for name in there})


def _portions(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Tables of so many rows, and a last one; a batch of coded text ends with each row group of its file."""
    from pyarrow import Table as Columns

    kept: list[Any] = []
    for batch in batches:
        kept.append(batch)
        if sum(map(len, kept)) >= size:
            whole = Columns.from_batches(kept)
            yield whole.slice(0, size)
            kept = whole.slice(size).to_batches()
    if kept:
        yield Columns.from_batches(kept)


def cells_of(column: Any) -> Words | Array | list[Any]:
    """The cells of a column of Arrow, whose own `to_numpy` imports pandas."""
    from pyarrow import DictionaryArray, large_string, string, types

    kind = column.type
    if types.is_nested(kind) and "dictionary<" in str(kind):  # text within lists: nothing reads it, and it may be long
        return [[str(kind)]] * len(column)
    if types.is_null(kind) or types.is_floating(kind):
        column = (column.cast("float64") if types.is_null(kind) else column).combine_chunks()
        return np.asarray(column.to_numpy(zero_copy_only=False) if column.null_count else np.from_dlpack(column))
    if (types.is_integer(kind) or types.is_boolean(kind)) and not column.null_count:
        return np.asarray(column.to_numpy() if types.is_boolean(kind) else np.from_dlpack(column.combine_chunks()))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        whole = (column.unify_dictionaries() if types.is_dictionary(kind) else column).combine_chunks()
        coded = whole if isinstance(whole, DictionaryArray) else whole.dictionary_encode()
        names, text = coded.dictionary.to_pylist(), coded.type.value_type
        if not (column.null_count or coded.dictionary.null_count) and text in (string(), large_string()):
            return Words(tuple(names), np.asarray(np.from_dlpack(coded.indices), dtype=np.int32))
        return [None if place is None else names[place] for place in coded.indices.to_pylist()]
    if any(of(kind) for of in (types.is_list, types.is_large_list, types.is_fixed_size_list)):
        return list(column.to_numpy())
    cells: list[Any] = column.to_pylist()
    return cells


def write_parquet(path: Path, portions: Iterable[Mapping[str, Array | Sequence[str | None]]]) -> None:
    """Write a Parquet file, one row group per portion, so that only one is in memory; an error leaves no file.

    portions  one or more portions with the same columns: arrays of numbers, or sequences of words
    """
    import pyarrow as arrow
    from pyarrow import parquet

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
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        beside.unlink(missing_ok=True)
