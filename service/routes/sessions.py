"""A token in a cookie, for pages: scripts cannot read it, and other sites' pages cannot send it."""

from fastapi import APIRouter, Request, Response

from service.access import NOBODY, OPEN, Access, Caller
from service.exchange import BodyDep, answer, described
from service.guarded import COOKIE, address_of, presented
from service.strict import decode_strictly
from service.wire_judging import SessionIn, SessionOut

router = APIRouter(prefix="/v1", tags=["session"])

KEPT_S = 90 * 86_400


@router.post("/session", **described(SessionOut, takes=SessionIn))
async def open_session(request: Request, body: BodyDep) -> Response:
    """Keep a token in a cookie that only this service gets."""
    secret = decode_strictly(body, SessionIn).token
    caller = _access(request).identify(secret, address_of(request.scope))
    answered = _answer(caller)
    if caller is not OPEN:
        secure = request.url.scheme == "https"
        answered.set_cookie(COOKIE, secret, max_age=KEPT_S, httponly=True, samesite="strict", secure=secure)
    return answered


@router.get("/session", **described(SessionOut))
async def show_session(request: Request) -> Response:
    """Whose the token is that comes with this request; nobody's where none does."""
    secret, _ = presented(request.headers)
    return _answer(_access(request).identify(secret, address_of(request.scope)))


@router.delete("/session", **described(SessionOut))
async def close_session() -> Response:
    """Forget the token."""
    answered = _answer(NOBODY)
    answered.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answered


def _access(request: Request) -> Access:
    access = request.app.state.access
    assert isinstance(access, Access)
    return access


def _answer(caller: Caller) -> Response:
    name, role = (None, None) if caller is NOBODY else (caller.name, caller.role)
    answered = answer(SessionOut(name, role, caller.collection, open=caller is OPEN))
    answered.headers["Cache-Control"] = "no-store"
    return answered
