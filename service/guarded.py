"""Lets in who may come in: looks at the host, the origin and the token of every request before anything else does."""

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service.access import MISSING, NOBODY, PUBLIC, Access, Caller, DeniedError, check_allowed, check_origin, roles_for
from service.problems import refusal

COOKIE = "audiosim_token"
SAFE = ("GET", "HEAD", "OPTIONS")
HEALTH = "/health/"


class Guarded:
    """An application that only those reach who may; `caller_of` then says who they are."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                await self._check(scope)
            except DeniedError as denied:
                answer = refusal(scope, denied.status, denied.detail, denied.headers)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _check(self, scope: Scope) -> None:
        headers, access = Headers(scope=scope), self._access
        method, path, netloc = scope["method"], scope["path"], headers.get("host", "")
        if not path.startswith(HEALTH):  # who asks for it knows the machine, not its names
            access.check_name(netloc)
        secret, by_cookie = presented(headers)
        if method not in SAFE:
            check_origin(headers.get("origin"), headers.get("sec-fetch-site"), netloc, by_cookie)
        public = roles_for(method, path)[0] is PUBLIC
        caller = NOBODY if public and access.locked else access.identify(secret, address_of(scope))
        if caller is NOBODY and not public:
            raise DeniedError(401, "this needs a token: Authorization: Bearer TOKEN", {"WWW-Authenticate": MISSING})
        check_allowed(caller, method, path)
        scope["state"].update(caller=caller, role=caller.role)


def presented(headers: Headers) -> tuple[str | None, bool]:
    """The token that a request brings, and whether in a cookie."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip(), False
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        cookie = None
    return (None, False) if cookie is None else (cookie.value, True)


def address_of(scope: Scope) -> str:
    """Address that a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def caller_of(request: Request) -> Caller:
    """Caller of a request, as found out before the request came here."""
    caller = request.scope["state"]["caller"]
    assert isinstance(caller, Caller)
    return caller
