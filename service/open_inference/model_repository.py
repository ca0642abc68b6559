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
    """Refuse a model of the caller's own: the service loads models only from its files."""
    for name in _asked(body, LoadIn).parameters:
        if name != "unload_dependents":  # no model has others that were loaded with it
            raise InputError(f"unknown parameter {name!r:.80}: a model is loaded from its own file")


UnchangedDep = Annotated[None, Depends(check_no_parameters)]


@router.post("/index", dependencies=[CLIENT], openapi_extra=_taking(IndexIn))
async def index_models(body: BodyDep, served: ServedDep) -> list[IndexedModel]:
    """Every model: also those that are not loaded; with `ready` only those that may be asked."""
    known = [IndexedModel.from_domain(model, name in served.unloaded) for name, model in served.known.items()]
    return [one for one in known if one.state == "READY"] if _asked(body, IndexIn).ready else known


@router.post("/models/{model}/load", openapi_extra=_taking(LoadIn))
def load_repository_model(model: str, served: ServedDep, _: UnchangedDep) -> None:
    """Reload the file of a model, for all collections that it predicts; if it is wrong, nothing changes."""
    served.load(model)


@router.post("/models/{model}/unload", openapi_extra=_taking(LoadIn))
def unload_repository_model(model: str, served: ServedDep, _: UnchangedDep) -> None:
    """Stop answering for a model until it is loaded; collections that it predicts go on."""
    served.unload(model)
