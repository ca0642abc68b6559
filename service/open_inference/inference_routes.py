"""The models under the Open Inference Protocol, version 2, for clients that speak it."""

from importlib.metadata import version
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool

from audiosim.errors import InputError
from audiosim.relevance.model_files import Model
from audiosim.service.callers.caller import CLIENT
from audiosim.service.entrance.exchange import JSON, ModelDep, chapter, decode, failing, reference
from audiosim.service.entrance.limits import IN_TURN
from audiosim.service.open_inference.inference_protocol import (
    EXTENSIONS,
    InferIn,
    InferOut,
    LiveOut,
    ModelMetadata,
    Outputs,
    ReadyOut,
    ServerMetadata,
    features,
)
from audiosim.service.shelf.prediction import predict_features
from audiosim.service.shelf.served_collection import NotServedError

JSON_BYTES = "Inference-Header-Content-Length"
SHORT_BYTES = 32 * 2**10

router = chapter("Open Inference Protocol", "/v2", dependencies=[CLIENT], responses=failing("ErrorOut", JSON))


async def named_version(model: ModelDep, version: str) -> Model:
    """The model, and the version, named in the address."""
    if version != model.version:
        raise NotServedError(f"model {model.name} has no version {version!r}, only {model.version}")
    return model


VersionDep = Annotated[Model, Depends(named_version)]
ASKED = {"content": {JSON: {"schema": reference("InferIn")}}, "required": True}
INFERS: dict[str, Any] = {
    "dependencies": [IN_TURN],
    "response_model": InferOut,
    "openapi_extra": {"requestBody": ASKED},
}


@router.get("")
async def server_metadata() -> ServerMetadata:
    """Describe this server."""
    return ServerMetadata("audiosim", version("audiosim"), EXTENSIONS)


@router.get("/health/live")
async def server_live() -> LiveOut:
    """Report whether the process answers at all."""
    return LiveOut(True)


@router.get("/health/ready")
async def server_ready() -> ReadyOut:
    """Report whether the models are loaded."""
    return ReadyOut("audiosim", True)


@router.get("/models/{model}")
async def model_metadata(model: ModelDep) -> ModelMetadata:
    """The inputs and outputs of a model."""
    return ModelMetadata.from_domain(model)


@router.get("/models/{model}/versions/{version}")
async def model_version_metadata(model: VersionDep) -> ModelMetadata:
    """The inputs and outputs of a version of a model."""
    return ModelMetadata.from_domain(model)


@router.get("/models/{model}/ready")
async def model_ready(model: ModelDep) -> ReadyOut:
    """Report whether a model is loaded."""
    return ReadyOut(model.name, True)


@router.get("/models/{model}/versions/{version}/ready")
async def model_version_ready(model: VersionDep) -> ReadyOut:
    """Report whether a version of a model is loaded."""
    return ReadyOut(model.name, True)


@router.post("/models/{model}/infer", **INFERS)
async def infer(request: Request, model: ModelDep) -> Response:
    """Predict rows of features with a model."""
    return await _infer(request, model)


@router.post("/models/{model}/versions/{version}/infer", **INFERS)
async def infer_version(request: Request, model: VersionDep) -> Response:
    """Predict rows of features with a version of a model."""
    return await _infer(request, model)


async def _infer(request: Request, model: Model) -> Response:
    body = await request.body()
    if len(body) <= SHORT_BYTES:
        return _answer(request, model, body)
    return await run_in_threadpool(_answer, request, model, body)


def _answer(request: Request, model: Model, body: bytes) -> Response:
    json_bytes = _json_bytes(request, body)
    asked = decode(body[:json_bytes], InferIn)
    predicted = predict_features(model, features(asked, body[json_bytes:]))
    request.state.rows = len(predicted.status)
    outputs = Outputs.of(asked, predicted)
    encoded, size = outputs.encode(model, asked.id)
    if outputs.binary:
        return Response(encoded, headers={JSON_BYTES: str(size)}, media_type="application/octet-stream")
    return Response(encoded, media_type=JSON)


def _json_bytes(request: Request, body: bytes) -> int:
    declared = request.headers.get(JSON_BYTES)
    if declared is None:
        return len(body)
    if not declared.isdecimal() or int(declared) > len(body):
        raise InputError(f"{JSON_BYTES} must be a number of bytes up to the body's {len(body)}, got {declared[:20]!r}")
    return int(declared)
