"""A token in a cookie, for pages: scripts cannot read it, and other sites' pages cannot send it."""

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from service.access import COOKIE, NOBODY, OPEN, Access, Caller, address_of, presented
from service.exchange import WireRoute
from service.wire_judging import SessionIn, SessionOut

router = APIRouter(prefix="/v1", tags=["session"], route_class=WireRoute)

KEPT_S = 90 * 86_400


@router.post("/session")
async def open_session(request: Request, response: Response, asked: Annotated[SessionIn, Body()]) -> SessionOut:
    """Keep a token in a cookie that only this service gets."""
    caller = _access(request).identify(asked.token, address_of(request.scope))
    if caller is not OPEN:
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, asked.token, max_age=KEPT_S, httponly=True, samesite="strict", secure=secure)
    return _session(caller, response)


@router.get("/session")
async def show_session(request: Request, response: Response) -> SessionOut:
    """Show whose token comes with this request; nobody's where none does."""
    secret, _ = presented(request.headers)
    return _session(_access(request).identify(secret, address_of(request.scope)), response)


@router.delete("/session")
async def close_session(response: Response) -> SessionOut:
    """Forget the token."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return _session(NOBODY, response)


def _access(request: Request) -> Access:
    access = request.app.state.access
    assert isinstance(access, Access)
    return access


def _session(caller: Caller, response: Response) -> SessionOut:
    response.headers["Cache-Control"] = "no-store"
    name, role = (None, None) if caller is NOBODY else (caller.name, caller.role)
    return SessionOut(name, role, caller.collection, open=caller is OPEN)
