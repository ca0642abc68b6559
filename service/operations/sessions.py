"""A token in a cookie, for pages: scripts cannot read it, and other sites' pages cannot send it."""

from typing import Annotated

from fastapi import Body, Request, Response

from audiosim.service.access.access import COOKIE, Access, address_of
from audiosim.service.access.callers import NOBODY, OPEN, PUBLIC, Caller, DeniedError
from audiosim.service.access.tokens import READER
from audiosim.service.http.exchange import NO_STORE, chapter
from audiosim.service.tasks.state import part
from audiosim.service.types.judging import SessionIn, SessionOut

router = chapter("session", dependencies=[PUBLIC, NO_STORE])

KEPT_S = 90 * 86_400
AccessDep = Annotated[Access, part(lambda state: state.access)]


@router.post("/session")
async def open_session(
    request: Request, response: Response, access: AccessDep, asked: Annotated[SessionIn, Body()]
) -> SessionOut:
    """Keep a token in a cookie that is sent only to this service."""
    caller = access.identify(asked.token, address_of(request))
    answer = _session(caller)
    if caller is not OPEN:
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, asked.token, max_age=KEPT_S, httponly=True, samesite="strict", secure=secure)
    return answer


@router.get("/session")
async def show_session(request: Request, access: AccessDep) -> SessionOut:
    """Show the identity of the caller, from a token or a trusted proxy; nobody if it has neither."""
    return _session(access.recognise(request))


@router.delete("/session")
async def close_session(response: Response) -> SessionOut:
    """Delete the cookie with the token."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return _session(NOBODY)


def _session(caller: Caller) -> SessionOut:
    if caller.role == READER:
        raise DeniedError(403, "this token is part of a link to results, which opens nothing else")
    name, role = (None, None) if caller is NOBODY else (caller.name, caller.role)
    return SessionOut(name, role, caller.collection, open=caller is OPEN)
