"""The index of models under the Open Inference Protocol: listed, reloaded, unloaded."""

from typing import Annotated, Any, TypeVar

from fastapi import Depends

from audiosim.errors import InputError
from audiosim.service.callers.caller import CLIENT
from audiosim.service.entrance.exchange import JSON, BodyDep, ServedDep, Wire, chapter, decode, failing, reference
from audiosim.service.open_inference.inference_protocol import IndexedModel, IndexIn, LoadIn

router = chapter("Open Inference Protocol", "/v2/repository", responses=failing("ErrorOut", JSON))
Asked = TypeVar("Asked", bound=Wire)


def _taking(kind: type[Wire]) -> dict[str, Any]:
    """An optional body, for the OpenAPI document."""
    return {"requestBody": {"content": {JSON: {"schema": reference(kind.__name__)}}}}


def _asked(body: bytes, kind: type[Asked]) -> Asked:
    return decode(body or b"{}", kind)


async def check_no_parameters(body: BodyDep) -> None:
    """Refuse parameters such as a model of the caller's own: the service loads models only from its files."""
    for name in _asked(body, LoadIn).parameters:
        if name != "unload_dependents":  # models have no dependents
            raise InputError(f"unknown parameter {name!r:.80}: a model is loaded from its own file")


UnchangedDep = Annotated[None, Depends(check_no_parameters)]


@router.post("/index", dependencies=[CLIENT], openapi_extra=_taking(IndexIn))
async def index_models(body: BodyDep, served: ServedDep) -> list[IndexedModel]:
    """Every model, loaded or not; with `ready`, only those ready to predict."""
    known = [IndexedModel.from_domain(model, name in served.unloaded) for name, model in served.known.items()]
    return [one for one in known if one.state == "READY"] if _asked(body, IndexIn).ready else known


@router.post("/models/{model}/load", openapi_extra=_taking(LoadIn))
def load_repository_model(model: str, served: ServedDep, _: UnchangedDep) -> None:
    """Reload the file of a model, for all collections that it predicts; an invalid file changes nothing."""
    served.load(model)


@router.post("/models/{model}/unload", openapi_extra=_taking(LoadIn))
def unload_repository_model(model: str, served: ServedDep, _: UnchangedDep) -> None:
    """Stop answering for a model until it is loaded again; collections continue to use it."""
    served.unload(model)
