"""Routes for operators: whether the service lives, whether it may be asked, and its figures."""

from typing import Annotated

from fastapi import APIRouter, Response

from service.exchange import kept
from service.keeper import Keeper
from service.metrics import MEDIA_TYPE, Metrics
from service.wire import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health/live")
async def live() -> HealthOut:
    """Tell whether the process answers at all."""
    return HealthOut("alive")


@router.get("/health/ready")
async def ready(response: Response, keeper: Annotated[Keeper, kept("keeper")]) -> HealthOut:
    """Tell whether all is loaded and logs can be read and written within a second; 503 with the reasons where not."""
    reasons = list(keeper.reasons())
    response.status_code = 503 if reasons else 200
    return HealthOut("not ready", reasons) if reasons else HealthOut("ready")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Figures in Prometheus' text format", "content": {"text/plain": {}}}},
)
async def metrics(found: Annotated[Metrics, kept("metrics")]) -> Response:
    """Requests, predictions, judgments and the process itself, for Prometheus to collect."""
    return Response(found.text(), media_type=MEDIA_TYPE)
