"""The models under the Open Inference Protocol, version 2, for clients of servers that speak it."""

from importlib.metadata import version

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from audiosim.errors import InputError
from audiosim.relevance.published import Model
from service.exchange import JSON, DirectRoute, ServedDep, answer, decode, described, path_parameters, served_by
from service.inference_protocol import (
    EXTENSIONS,
    ErrorOut,
    InferIn,
    InferOut,
    LiveOut,
    ModelMetadata,
    Outputs,
    ReadyOut,
    ServerMetadata,
    features,
)
from service.predicted import predict_features
from service.served import NotServedError, Served

JSON_BYTES = "Inference-Header-Content-Length"
SHORT_BYTES = 32 * 2**10

router = APIRouter(tags=["Open Inference Protocol"])
direct_inference = APIRouter(tags=["Open Inference Protocol"], route_class=DirectRoute)


@router.get("/v2", **described(ServerMetadata, wrong=ErrorOut))
async def server_metadata() -> Response:
    """What this server is."""
    return answer(ServerMetadata("audiosim", version("audiosim"), EXTENSIONS))


@router.get("/v2/health/live", **described(LiveOut, wrong=ErrorOut))
async def server_live() -> Response:
    """Whether the process answers at all."""
    return answer(LiveOut(True))


@router.get("/v2/health/ready", **described(ReadyOut, wrong=ErrorOut))
async def server_ready() -> Response:
    """Whether the models are loaded."""
    return answer(ReadyOut("audiosim", True))


@router.get("/v2/models/{model}", **described(ModelMetadata, wrong=ErrorOut))
async def model_metadata(model: str, served: ServedDep) -> Response:
    """The inputs and outputs of a model."""
    return answer(ModelMetadata.from_domain(served.model(model)))


@router.get("/v2/models/{model}/versions/{version}", **described(ModelMetadata, wrong=ErrorOut))
async def model_version_metadata(model: str, version: str, served: ServedDep) -> Response:
    """The inputs and outputs of a version of a model."""
    return answer(ModelMetadata.from_domain(_model(served, model, version)))


@router.get("/v2/models/{model}/ready", **described(ReadyOut, wrong=ErrorOut))
async def model_ready(model: str, served: ServedDep) -> Response:
    """Whether a model may be asked."""
    return answer(ReadyOut(served.model(model).name, True))


@router.get("/v2/models/{model}/versions/{version}/ready", **described(ReadyOut, wrong=ErrorOut))
async def model_version_ready(model: str, version: str, served: ServedDep) -> Response:
    """Whether a version of a model may be asked."""
    return answer(ReadyOut(_model(served, model, version).name, True))


MODEL = path_parameters(model="such as mout-fine")
VERSION = path_parameters(model="such as mout-fine", version="the one that is served")


@direct_inference.post("/v2/models/{model}/infer", **described(InferOut, InferIn, MODEL, ErrorOut))
async def infer(request: Request) -> Response:
    """What a model says of rows of features."""
    return await _infer(request, served_by(request).model(request.path_params["model"]))


@direct_inference.post("/v2/models/{model}/versions/{version}/infer", **described(InferOut, InferIn, VERSION, ErrorOut))
async def infer_version(request: Request) -> Response:
    """What a version of a model says of rows of features."""
    named = request.path_params
    return await _infer(request, _model(served_by(request), named["model"], named["version"]))


def _model(served: Served, name: str, version: str) -> Model:
    model = served.model(name)
    if version != model.version:
        raise NotServedError(f"model {name} has no version {version!r}, only {model.version}")
    return model


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
    told = request.headers.get(JSON_BYTES)
    if told is None:
        return len(body)
    if not told.isdecimal() or int(told) > len(body):
        raise InputError(f"{JSON_BYTES} must be a number of bytes up to the body's {len(body)}, got {told[:20]!r}")
    return int(told)
