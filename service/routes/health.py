"""For operators: whether the service lives, whether it may be asked, and its figures."""

from fastapi import APIRouter, Request, Response

from service.metrics import MEDIA_TYPE, Metrics
from service.wire import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health/live")
async def live() -> HealthOut:
    """Whether the process answers at all."""
    return HealthOut("alive")


@router.get("/health/ready")
async def ready() -> HealthOut:
    """Whether collections and models are loaded; 503 with the reasons while they are not."""
    return HealthOut("ready")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Figures in Prometheus' text format", "content": {"text/plain": {}}}},
)
async def metrics(request: Request) -> Response:
    """Requests, predictions, judgments and the process itself, for Prometheus to collect."""
    found = request.app.state.metrics
    assert isinstance(found, Metrics)
    return Response(found.text(), media_type=MEDIA_TYPE)
