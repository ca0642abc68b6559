"""The Open Inference Protocol, version 2: converts tensors, as JSON or as bytes after it, to features and back.

A model takes each of its features as an FP64 tensor of shape [n] or [n, 1]; null, or NaN in bytes, is unknown.
It answers with `expectation` and `variance` [n], `probabilities` [n, levels] and `levels` [levels], all FP64.
https://github.com/kserve/open-inference-protocol, with its extensions for binary tensor data and for the index of
models (extension_binary_data.md and extension_model_repository.md of the Triton Inference Server).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from msgspec import field

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.messages import repeated
from audiosim.relevance.model_files import Model
from audiosim.service.entrance.exchange import Wire
from audiosim.service.shelf.prediction import Predicted
from audiosim.service.wire.prediction_types import MOST_ROWS

DATATYPE = "FP64"
BYTES = 8
EXTENSIONS = ["binary_tensor_data", "model_repository"]
OUTPUTS = ("expectation", "variance", "probabilities", "levels")

RequestParameters = dict[str, bool | int | float | str]


class TensorIn(Wire):
    """One input: `data` flat or nested, row by row; absent if its bytes follow the JSON."""

    name: str
    shape: list[int]
    datatype: str
    data: list[float | list[float | None] | None] | None = None
    parameters: RequestParameters = field(default_factory=dict)


class OutputIn(Wire):
    """A requested output."""

    name: str
    parameters: RequestParameters = field(default_factory=dict)


class InferIn(Wire):
    """Inputs, and the requested outputs; all outputs if none is named."""

    inputs: list[TensorIn]
    outputs: list[OutputIn] = field(default_factory=list)
    id: str = ""
    parameters: RequestParameters = field(default_factory=dict)


class TensorOut(Wire, omit_defaults=True):
    """One output."""

    name: str
    shape: list[int]
    datatype: str
    data: list[float | None] = field(default_factory=list)
    parameters: RequestParameters = field(default_factory=dict)


class InferOut(Wire):
    """Answer of a model."""

    model_name: str
    model_version: str
    id: str
    outputs: list[TensorOut]


class TensorMetadata(Wire):
    """Required or returned form of a tensor; -1 for any number."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(Wire):
    """A model as the protocol describes it."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]

    @classmethod
    def from_domain(cls, model: Model) -> "ModelMetadata":
        shapes = {"expectation": [-1], "variance": [-1], "probabilities": [-1, len(model.levels)]}
        outputs = {**shapes, "levels": [len(model.levels)]}
        return cls(
            name=model.name,
            versions=[model.version],
            platform="audiosim",
            inputs=[TensorMetadata(name, DATATYPE, [-1]) for name in model.features],
            outputs=[TensorMetadata(name, DATATYPE, shape) for name, shape in outputs.items()],
        )


class ServerMetadata(Wire):
    """The service as the protocol describes it."""

    name: str
    version: str
    extensions: list[str]


class LiveOut(Wire):
    """State of the service: True if it is alive."""

    live: bool


class ReadyOut(Wire):
    """State of the service or of a model: True if it is ready."""

    name: str
    ready: bool


class IndexIn(Wire):
    """Request for the models, optionally only the ready ones."""

    ready: bool = False


class IndexedModel(Wire):
    """A model in the index: READY, or UNAVAILABLE with the reason."""

    name: str
    version: str
    state: str
    reason: str

    @classmethod
    def from_domain(cls, model: Model, unloaded: bool) -> "IndexedModel":
        state, reason = ("UNAVAILABLE", "unloaded") if unloaded else ("READY", "")
        return cls(model.name, model.version, state, reason)


class LoadIn(Wire):
    """Request to load or unload a model."""

    parameters: RequestParameters = field(default_factory=dict)


class ErrorOut(Wire):
    """An error."""

    error: str


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of one request.

    tensors  by name, in the order wanted
    binary   names of the outputs to send as bytes
    """

    tensors: Mapping[str, Array]
    binary: frozenset[str]

    @classmethod
    def of(cls, asked: InferIn, predicted: Predicted) -> "Outputs":
        """The outputs of a prediction that a request asks for."""
        wanted = asked.outputs or [OutputIn(name) for name in OUTPUTS]
        for one in wanted:
            if one.name not in OUTPUTS:
                raise InputError(f"unknown output {one.name!r}, expected one of {', '.join(OUTPUTS)}")
        every = asked.parameters.get("binary_data_output", False)
        binary = frozenset(one.name for one in wanted if one.parameters.get("binary_data", every) is True)
        return cls({one.name: getattr(predicted, one.name) for one in wanted}, binary)

    def encode(self, model: Model, identifier: str) -> tuple[bytes, int]:
        """The body of the answer, and the size of its JSON part in bytes."""
        head = {
            "model_name": model.name,
            "model_version": model.version,
            "id": identifier,
            "outputs": [self._described(name, tensor) for name, tensor in self.tensors.items()],
        }
        json = orjson.dumps(head, option=orjson.OPT_SERIALIZE_NUMPY)
        tail = [
            np.ascontiguousarray(self.tensors[name], "<f8").tobytes() for name in self.tensors if name in self.binary
        ]
        return b"".join([json, *tail]), len(json)

    def _described(self, name: str, tensor: Array) -> dict[str, Any]:
        described = {"name": name, "datatype": DATATYPE, "shape": list(tensor.shape)}
        if name in self.binary:
            return {**described, "parameters": {"binary_data_size": tensor.size * BYTES}}
        return {**described, "data": tensor.ravel()}


def features(asked: InferIn, tail: bytes) -> dict[str, Array]:
    """The inputs of a request as columns by name.

    tail  the bytes after the JSON, for the inputs without `data`, in their order
    """
    if (twice := repeated(tensor.name for tensor in asked.inputs)) is not None:
        raise InputError(f"input {twice} occurs twice")
    pieces = _pieces(asked, tail)
    columns = {tensor.name: _column(tensor, pieces) for tensor in asked.inputs}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the inputs must have one number of rows, got {found}")
    return columns


def _pieces(asked: InferIn, tail: bytes) -> Iterator[bytes]:
    sizes = [tensor.parameters.get("binary_data_size", 0) for tensor in asked.inputs if tensor.data is None]
    whole = sum(size for size in sizes if isinstance(size, int))
    if whole != len(tail):
        raise InputError(f"the inputs declare {whole} bytes after the JSON, there are {len(tail)}")
    start = 0
    for size in sizes:
        if not isinstance(size, int) or size < 0:
            raise InputError(f"binary_data_size must be a number of bytes, got {size!r}")
        yield tail[start : start + size]
        start += size


def _column(tensor: TensorIn, pieces: Iterator[bytes]) -> Array:
    if tensor.datatype != DATATYPE:
        raise InputError(f"input {tensor.name} must have the datatype {DATATYPE}, got {tensor.datatype!r}")
    rows, *more = tensor.shape or [-1]
    if not 0 <= rows <= MOST_ROWS or more not in ([], [1]):
        raise InputError(
            f"input {tensor.name} must have the shape [n] or [n, 1], n up to {MOST_ROWS}, got {tensor.shape}"
        )
    values = _from_bytes(tensor.name, next(pieces)) if tensor.data is None else _flat(tensor.data)
    if len(values) != rows:
        raise InputError(f"input {tensor.name} has {len(values)} values but its shape says {rows}")
    return values


def _from_bytes(name: str, piece: bytes) -> Array:
    if len(piece) % BYTES:
        raise InputError(f"input {name} has {len(piece)} bytes, not a multiple of {DATATYPE}")
    values = np.frombuffer(piece, "<f8").astype(np.float64)
    if np.isinf(values).any():
        raise InputError(f"every number must be finite, input {name} has an infinite one")
    return values


def _flat(data: list[float | list[float | None] | None]) -> Array:
    if not any(isinstance(value, list) for value in data):
        return np.array(data, dtype=np.float64)
    if not all(isinstance(value, list) and len(value) == 1 for value in data):
        raise InputError("nested data must have one value in each row")
    return np.array(data, dtype=np.float64)[:, 0]
