"""For operators: whether the service lives, and whether it may be asked."""

from fastapi import APIRouter, Response

from service.exchange import answer, described
from service.wire import HealthOut

router = APIRouter(prefix="/health", tags=["health"])


@router.get("/live", **described(HealthOut))
async def live() -> Response:
    """Whether the process answers at all."""
    return answer(HealthOut("alive"))


@router.get("/ready", **described(HealthOut))
async def ready() -> Response:
    """Whether collections and models are loaded: always so, as the service listens only then."""
    return answer(HealthOut("ready"))
