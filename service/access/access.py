"""Access control: callers and their rights, by hosts, origins, tokens and roles; limits on guessing tokens."""

import hmac
import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Set
from datetime import datetime
from urllib.parse import urlsplit

from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import Request

from audiosim.campaign.event import utc_now
from audiosim.errors import InputError
from audiosim.service.access.callers import GENERAL, NOBODY, OPEN, Caller, DeniedError
from audiosim.service.access.sign_in import Person, SignIn
from audiosim.service.access.tokens import READER, Token, TokenStore, digest_of

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ANY_HOST = "*"
FRESH_S = 1.0  # longest age of the token list: a revoked token works no longer than this
GUESSES = 10  # wrong tokens from one client...
GUESSES_S = 60.0  # ...within this time
CLIENT_BITS = {4: 32, 6: 64}  # leading bits of an address that identify a client; an IPv6 client owns the others
MOST_ADDRESSES = 10_000
COOKIE = "audiosim_token"
SAFE = ("GET", "HEAD", "OPTIONS")
HEALTH = "/health/"


def is_loopback(host: str) -> bool:
    """True if an address to listen on is reachable only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(netloc: str) -> str:
    """The host in `host:port`, lower case, without the brackets of IPv6; empty if there is none."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def client_of(address: str) -> str:
    """The client of an address: the address itself, or its network for IPv6."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    number = getattr(number, "ipv4_mapped", None) or number
    return str(ipaddress.ip_network((number, CLIENT_BITS[number.version]), strict=False))


class Recent:
    """Moments of the last time by client, of which each may have some."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds, self._moments = most, seconds, OrderedDict[str, deque[float]]()

    def count(self, client: str, now: float) -> int:
        """Count a moment of a client; return the seconds until there may be another, if that is one too many, or 0."""
        moments = self._moments.setdefault(client, deque())
        self._moments.move_to_end(client)
        while moments and moments[0] <= now - self._seconds:
            moments.popleft()
        if len(moments) >= self._most:
            return math.ceil(moments[0] + self._seconds - now)
        moments.append(now)
        if len(self._moments) > MOST_ADDRESSES:
            self._moments.popitem(last=False)
        return 0


class Access:
    """Access rules of a service that listens on one address.

    hosts   host names accepted in requests: protects against pages whose own name resolves here (DNS rebinding)
    locked  True if tokens are required, as they are for good once the database has held one
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        allowed_hosts: Iterable[str] = (),
        tokens: TokenStore | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
        *,
        locked: bool = False,
        sign_in: SignIn | None = None,
    ) -> None:
        """Set the rules.

        host           address to listen on; without tokens, a loopback address
        allowed_hosts  further accepted host names, `*` for any; all but loopback names need tokens
        tokens         None: there are none
        locked         True to require tokens even if the store has none
        sign_in        identification by an institution, beside tokens; None: not available
        """
        self.hosts = LOOPBACK | {host.lower(), *map(str.lower, allowed_hosts)}
        self._store, self._clock, self._now = tokens, clock, now
        self._known: list[Token] = []
        self._read = -float("inf")
        self._guesses = Recent(GUESSES, GUESSES_S)
        self.locked, self._sign_in = locked or sign_in is not None, sign_in
        self.reload()
        self.check_host(host)

    def check_host(self, host: str) -> None:
        """Raise an error if listening on an address, or accepting the allowed names, would let anybody in."""
        if self.locked:
            return
        if not is_loopback(host):
            raise InputError(
                f"refusing to listen on {host} without tokens: create one with audiosim token create, "
                f"or listen on 127.0.0.1"
            )
        beyond = sorted(name for name in self.hosts if not is_loopback(name))
        if beyond:
            raise InputError(
                f"refusing the host name {beyond[0]} without tokens: everybody who reaches it could do everything; "
                f"create one with audiosim token create, or leave --allowed-host out"
            )

    @property
    def deserted(self) -> bool:
        """True if a token is needed and none is valid: nobody gets in."""
        return (
            self.locked
            and not self._sign_in
            and not any(token.role != READER and token.valid(self._now()) for token in self._known)
        )

    @property
    def tokens(self) -> TokenStore | None:
        """The tokens, if they are required: otherwise the first token would lock out the organiser, who has none."""
        return self._store if self.locked else None

    def reload(self) -> None:
        """Read the tokens again; requests meanwhile use the previous list."""
        self._read = self._clock()
        self._known = [] if self._store is None else [*self._store.tokens(), *self._store.links()]
        self.locked = self.locked or bool(self._known) or (self._store is not None and self._store.was_used())

    @property
    def stale(self) -> bool:
        """True if the token list is old enough to be read again."""
        return self._store is not None and self._clock() - self._read > FRESH_S

    def check_name(self, netloc: str) -> None:
        """Raise an error if a request's Host header does not name this service."""
        if ANY_HOST not in self.hosts and host_of(netloc) not in self.hosts:
            raise DeniedError(
                421, f"this service is not called {host_of(netloc)!r:.80}; --allowed-host gives it another name"
            )

    def vouched(self, request: Request) -> Person | None:
        """Person vouched for by a proxy, if the request has no token of its own, or None."""
        if self._sign_in is None or "authorization" in request.headers:
            return None
        return self._sign_in.vouched(request.headers, getattr(request.state, "peer", ""))

    def recognise(self, request: Request) -> Caller:
        """Caller of a request: by its token, else by a proxy's header, else by a cookie."""
        if self._sign_in is not None and (person := self.vouched(request)) is not None:
            return self._sign_in.admit(person)
        return self.identify(presented(request)[0], address_of(request))

    def admit(self, request: Request, scopes: Set[str]) -> None:
        """Admit a request if its caller is allowed; `caller_of` then returns the caller.

        scopes  scopes of the route
        """
        headers, netloc = request.headers, request.headers.get("host", "")
        in_cookie = presented(request)[1]
        if not request.scope["path"].startswith(HEALTH):  # monitors address the machine, not its names
            self.check_name(netloc)
        by_browser = in_cookie or self.vouched(request) is not None
        if request.method not in SAFE:
            check_origin(headers.get("origin"), headers.get("sec-fetch-site"), netloc, by_browser)
        caller = NOBODY if NOBODY.role in scopes and self.locked else self.recognise(request)
        check_allowed(caller, scopes, request.path_params.get("collection"))
        request.scope["state"].update(caller=caller, role=caller.role)

    def identify(self, secret: str | None, address: str) -> Caller:
        """Owner of a token; without one, nobody, or everybody if there are no tokens.

        A right token is accepted even after many wrong ones from the same place: its 256 random bits are safe,
        and nobody should be able to lock others out.

        address  address of the caller
        """
        if not self.locked:
            return OPEN
        if secret is None:
            return NOBODY
        digest, moment = digest_of(secret), self._clock()
        # Compare with all tokens, each in constant time, so that timing reveals nothing.
        found = [token for token in self._known if hmac.compare_digest(token.digest, digest)]
        if found and found[0].valid(self._now()):
            return Caller(found[0].role, found[0].name, found[0].collection)
        if wait_s := self._guesses.count(client_of(address), moment):
            later = {"Retry-After": str(wait_s)}
            raise DeniedError(429, "too many wrong tokens from this address; try again later", later)
        raise DeniedError(401, "this token is unknown, or has ended", {"WWW-Authenticate": WRONG})


MISSING = 'Bearer realm="audiosim"'
WRONG = f'{MISSING}, error="invalid_token"'


def check_origin(origin: str | None, site: str | None, netloc: str, by_browser: bool) -> None:
    """Raise an error if a request that changes something comes from a page of another origin.

    origin, site  the Origin and Sec-Fetch-Site headers: browsers send them, other programs need not
    by_browser    True if a cookie or a proxy identifies the caller, which only happens in browsers
    """
    foreign = origin is not None and origin.partition("://")[2].lower() != netloc.lower()
    if foreign or site in ("cross-site", "same-site") or (by_browser and origin is None):
        raise DeniedError(403, "a page of another site may not send this")


def check_allowed(caller: Caller, scopes: Set[str], collection: str | None) -> None:
    """Raise an error if the caller's role, or the collection of their token, does not allow a request.

    scopes      scopes of the route
    collection  collection in the address
    """
    if NOBODY.role in scopes:
        return
    if caller is NOBODY:
        raise DeniedError(401, "this needs a token: Authorization: Bearer TOKEN", {"WWW-Authenticate": MISSING})
    if caller.role not in scopes:
        only = " and ".join(sorted(scopes - {GENERAL}))
        raise DeniedError(403, f"the role {caller.role} may not do this, only {only}")
    if caller.collection and caller.collection != collection and GENERAL not in scopes:
        raise DeniedError(403, f"this token is only for the collection {caller.collection}")


def presented(request: Request) -> tuple[str | None, bool]:
    """The token in a request, and True if it is in a cookie."""
    scheme, secret = get_authorization_scheme_param(request.headers.get("authorization"))
    if scheme.lower() == "bearer":
        return secret.strip(), False
    return request.cookies.get(COOKIE), COOKIE in request.cookies


def address_of(request: Request) -> str:
    """Address of a request's sender."""
    return request.client.host if request.client else ""
