"""An embedding by a network trained to tag music: musicnn, run in NumPy with the weights of its package.

Pons & Serra (2019), musicnn: pre-trained convolutional neural networks for music audio tagging. Its package (ISC
licence) contains weights as TensorFlow checkpoints, but requires versions of its dependencies that no current Python
has. It is therefore installed without dependencies; its files are read, and none of its code runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audiosim.errors import InputError, MissingPackageError
from audiosim.sound.embedding import Embedding
from audiosim.stats.arrays import Array

# TensorFlow checkpoints as arrays, read without TensorFlow.
#
# A checkpoint is two files. Its index is a sorted LevelDB table: blocks of names and serialised messages, each of
# which
# gives the place of a variable's numbers in the data file (`BundleEntryProto` in tensor_bundle.proto).


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


Activations = NDArray[np.float32]

PACKAGE, MODEL = "musicnn", "MSD_musicnn"  # trained with 200,000 recordings of the Million Song Dataset and their tags
INSTALL = "pip install --no-deps musicnn"
RATE_HZ, LONG, HOP, BANDS = 16_000, 512, 256, 96  # parameters of its spectra, in samples
PATCH = 187  # frames of a patch, three seconds
LOUD = 10_000  # factor on a power before its logarithm
EPSILON = 1e-3  # constant of batch normalisation in TensorFlow


@dataclass(frozen=True, eq=False)
class TaggingNetwork:
    """Layers of musicnn under their names in TensorFlow: convolutions in order, a dense layer.

    weights  weights by name, from `read_checkpoint`
    """

    weights: Mapping[str, Activations]

    def __post_init__(self) -> None:
        kernels = [f"conv2d{_suffix(number)}/kernel" for number in range(8)]
        missing = [name for name in (*kernels, "dense/kernel") if name not in self.weights]
        if missing:
            raise InputError(f"a network of musicnn must have the layer {missing[0]}")

    def penultimate(self, patch: Activations) -> Activations:
        """(u,) activations of the last layer but one; 200 in the package's network.

        patch  (frames, bands) log powers
        """
        features = self._front(self._normalised(patch[..., None], 0)[..., 0])
        middle = self._middle(features)
        stacked = np.concatenate([features, *middle], axis=1)
        pooled = np.stack([stacked.max(axis=0), stacked.mean(axis=0)], axis=1)
        flat = self._normalised(pooled.reshape(1, -1), 9)
        dense = np.maximum(flat @ self.weights["dense/kernel"] + self.weights["dense/bias"], 0)
        return np.asarray(self._normalised(dense, 10)[0])

    def _front(self, levels: Activations) -> Activations:
        """(frames, features) of timbre, by filters over many bands, and of rhythm, by filters over time."""
        timbre = np.pad(levels, ((3, 3), (0, 0)))
        found = [self._pooled(timbre, number) for number in (0, 1)]
        for number in (2, 3, 4):
            width = self._kernel(number).shape[0]
            before = (width - 1) // 2
            found.append(self._pooled(np.pad(levels, ((before, width - 1 - before), (0, 0))), number))
        return np.concatenate(found, axis=1)

    def _pooled(self, levels: Activations, number: int) -> Activations:
        """(frames, filters) of a convolution in time and frequency, maximum over all frequencies."""
        kernel = self._kernel(number)
        high, wide, _, filters = kernel.shape
        windows = sliding_window_view(levels, (high, wide)).reshape(-1, high * wide)
        found = np.maximum(windows @ kernel.reshape(-1, filters) + self._bias(number), 0)
        found = self._normalised(found, number + 1)
        return np.asarray(found.reshape(len(levels) - high + 1, -1, filters).max(axis=1))

    def _middle(self, features: Activations) -> list[Activations]:
        """Three convolutions over seven frames; each after the first is added to the one before."""
        found = [self._through_time(features, 5)]
        for number in (6, 7):
            found.append(found[-1] + self._through_time(found[-1], number))
        return found

    def _through_time(self, features: Activations, number: int) -> Activations:
        kernel = self._kernel(number)[:, :, 0]
        padded = np.pad(features, ((3, 3), (0, 0)))
        windows = sliding_window_view(padded, len(kernel), axis=0)  # (frames, features, 7)
        found = np.tensordot(windows, kernel, axes=([2, 1], [0, 1])) + self._bias(number)
        return self._normalised(np.maximum(found, 0), number + 1)

    def _normalised(self, values: Activations, number: int) -> Activations:
        """Values after batch normalisation of the last axis, with its learned statistics."""
        name = f"batch_normalization{_suffix(number)}"
        beta, gamma, mean, variance = (
            self.weights[f"{name}/{part}"] for part in ("beta", "gamma", "moving_mean", "moving_variance")
        )
        scale = gamma / np.sqrt(variance + np.float32(EPSILON))
        return np.asarray(values * scale + (beta - mean * scale))

    def _kernel(self, number: int) -> Activations:
        return self.weights[f"conv2d{_suffix(number)}/kernel"]

    def _bias(self, number: int) -> Activations:
        return self.weights[f"conv2d{_suffix(number)}/bias"]


def _suffix(number: int) -> str:
    return f"_{number}" if number else ""


def patches_of(samples: Activations, rate_hz: int) -> list[Activations]:
    """(187, 96) log powers in mel bands for each whole three seconds; shorter sound is padded with silence to one.

        log10(1 + 10000 power)

    Computed in single precision; the package itself rounds powers to half precision, which overflows for loud sound.
    """
    from librosa.feature import melspectrogram

    power = melspectrogram(y=samples, sr=rate_hz, n_fft=LONG, hop_length=HOP, n_mels=BANDS).T
    levels = np.log10(LOUD * power + 1).astype(np.float32)
    if len(levels) < PATCH:
        levels = np.pad(levels, ((0, PATCH - len(levels)), (0, 0)))
    return [levels[start : start + PATCH] for start in range(0, len(levels) - PATCH + 1, PATCH)]


def tagging_vector(y: Activations, sr: int) -> Array:
    """(200, pieces) activations of the layer before the tags, for each three seconds of sound."""
    network = installed_network()
    return np.array([network.penultimate(patch) for patch in patches_of(y, sr)], dtype=np.float64).T


@cache
def installed_network() -> TaggingNetwork:
    """The network with the weights of the installed package, which is not imported."""
    return TaggingNetwork(read_checkpoint(f"{package_folder() / MODEL}/"))


def package_folder() -> Path:
    """Folder of the installed package; a MissingPackageError says how to install it."""
    found = PathFinder.find_spec(PACKAGE)
    folders = list(found.submodule_search_locations or ()) if found else []
    if not folders:
        raise MissingPackageError(f"the embedding {PACKAGE} needs {PACKAGE}: {INSTALL}")
    return Path(folders[0])


MUSICNN = Embedding(PACKAGE, tagging_vector, RATE_HZ, prepare=package_folder)
