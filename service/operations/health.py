"""Routes for operators: liveness, readiness and metrics of the service."""

from typing import Annotated

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from audiosim.service.access.callers import CLIENT, OPEN, PUBLIC, CallerDep
from audiosim.service.collections.additions import Receiver
from audiosim.service.http.exchange import chapter, sends
from audiosim.service.http.observation import MEDIA_TYPE, Metrics
from audiosim.service.tasks.keeper import Keeper
from audiosim.service.tasks.state import part
from audiosim.service.types.predictions import HealthOut

router = chapter("health", "")


@router.get("/health/live", dependencies=[PUBLIC])
async def live() -> HealthOut:
    """Report that the process answers."""
    return HealthOut("alive")


@router.get("/health/ready", dependencies=[PUBLIC])
async def ready(
    response: Response,
    caller: CallerDep,
    keeper: Annotated[Keeper, part(lambda state: state.keeper)],
    receiver: Annotated[Receiver, part(lambda state: state.receiver)],
) -> HealthOut:
    """Report readiness: all is loaded, and logs answer within a second; 503 with the failing parts if not.

    Without tokens the reasons are added; with tokens they are only in the log.
    """
    reasons = [*keeper.reasons(), *receiver.reasons()]
    if caller.role != OPEN.role:
        reasons = sorted({reason.partition(": ")[0] for reason in reasons})
    response.status_code = 503 if reasons else 200
    return HealthOut("not ready", reasons) if reasons else HealthOut("ready")


@router.get("/metrics", dependencies=[CLIENT], **sends("Figures in Prometheus' text format", "text/plain"))
async def metrics(found: Annotated[Metrics, part(lambda state: state.metrics)]) -> Response:
    """Requests, predictions, judgments and the process itself, in figures for Prometheus."""
    return Response(found.text(), media_type=MEDIA_TYPE)


@router.get("/openapi.json", dependencies=[PUBLIC], include_in_schema=False)
def openapi(request: Request) -> JSONResponse:
    """Describe all routes, for programs."""
    return JSONResponse(request.app.openapi())
