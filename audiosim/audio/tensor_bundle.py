"""TensorFlow checkpoints as arrays, read without TensorFlow.

A checkpoint is two files. Its index is a sorted LevelDB table: blocks of names and serialised messages, each of which
gives the place of a variable's numbers in the data file (`BundleEntryProto` in tensor_bundle.proto).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError

MAGIC = bytes.fromhex("57fb808b247547db")  # end of a LevelDB table
FOOTER, TRAILER = 48, 5  # bytes at the end of a table, and after each block: its compression and checksum
FLOAT = 1  # 32-bit float in DataType of types.proto
SHAPE, OFFSET, SIZE, SHARD, KIND = 2, 4, 5, 3, 1  # field numbers of BundleEntryProto


def read_checkpoint(prefix: str) -> dict[str, NDArray[np.float32]]:
    """The variables of a checkpoint in single precision, by name; variables of other types are left out.

    prefix  path of its two files without .index and .data-00000-of-00001
    """
    index, data = Path(f"{prefix}.index"), Path(f"{prefix}.data-00000-of-00001")
    table, numbers = index.read_bytes(), data.read_bytes()
    try:
        return dict(_variables(table, numbers))
    except (IndexError, ValueError) as error:
        raise InputError(f"{index}: expected the index of a checkpoint of TensorFlow ({error})") from error


def _variables(table: bytes, numbers: bytes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    if table[-len(MAGIC) :] != MAGIC:
        raise ValueError("its last bytes differ")
    footer = table[-FOOTER:]
    _, at = _handle(footer, 0)  # the first handle is that of further blocks, which do not exist here
    root, _ = _handle(footer, at)
    for _, handle in _entries(table, root):
        for name, message in _entries(table, _handle(handle, 0)[0]):
            if not name:
                continue  # the header of the checkpoint
            fields = dict(_fields(message))
            if fields.get(KIND) != FLOAT:
                continue
            offset, size, shape = fields.get(OFFSET, 0), fields.get(SIZE, 0), _shape(fields.get(SHAPE, b""))
            if fields.get(SHARD, 0) or not isinstance(offset, int) or not isinstance(size, int):
                raise ValueError("its numbers are in several files")
            if size != 4 * int(np.prod(shape)) or offset + size > len(numbers):
                raise ValueError(f"the data file lacks the {size} bytes of {name.decode()}")
            yield name.decode(), np.frombuffer(numbers, "<f4", size // 4, offset).reshape(shape)


def _shape(message: int | bytes) -> tuple[int, ...]:
    """Lengths in a TensorShapeProto: messages whose first field is a length."""
    parts = _fields(message) if isinstance(message, bytes) else ()
    sides = (dict(_fields(side)).get(1, 0) for _, side in parts if isinstance(side, bytes))
    return tuple(side for side in sides if isinstance(side, int))


def _entries(table: bytes, handle: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; each key gives the number of bytes it shares with the key before."""
    start, size = handle
    if table[start + size] != 0:
        raise ValueError("its blocks are packed")
    block = table[start : start + size]
    restarts = int.from_bytes(block[-4:], "little")
    end, at, key = size - 4 * (restarts + 1), 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        at += own + length
        yield key, block[at - length : at]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of the fields of a Protocol Buffers message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
        elif kind == 2:
            length, at = _varint(message, at)
            at += length
            yield number, message[at - length : at]
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of kind {kind}")


def _handle(source: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Place and length of a block, and the place after them."""
    start, at = _varint(source, at)
    size, at = _varint(source, at)
    return (start, size), at


def _varint(source: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while source[at] & 0x80:
        value |= (source[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | source[at] << shift, at + 1
