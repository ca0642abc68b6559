"""For operators: whether the service lives, whether it may be asked, and its figures."""

from fastapi import APIRouter, Request, Response

from service.exchange import answer, described
from service.keeper import Keeper
from service.metrics import MEDIA_TYPE, Metrics
from service.wire import HealthOut

router = APIRouter(tags=["health"])


@router.get("/health/live", **described(HealthOut))
async def live() -> Response:
    """Whether the process answers at all."""
    return answer(HealthOut("alive"))


@router.get("/health/ready", **described(HealthOut))
async def ready(request: Request) -> Response:
    """Whether all is loaded and the logs can be read and written within a second; 503 with the reasons where not."""
    keeper = request.app.state.keeper
    assert isinstance(keeper, Keeper)
    reasons = list(keeper.reasons())
    answered = answer(HealthOut("not ready", reasons) if reasons else HealthOut("ready"))
    answered.status_code = 503 if reasons else 200
    return answered


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
