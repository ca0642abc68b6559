"""Callers: their identity, their roles, and the routes open to them."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.params import Security as Secured
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from audiosim.errors import InputError


class NotServedError(InputError):
    """Request for a collection or a model that is not served here."""


class DeniedError(HTTPException):
    """Rejection of a request that its caller may not make."""

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a request.

    role        in tokens.ROLES, or tokens.READER
    name        holder of the token; empty if the service has no tokens, so that everybody may do everything
    collection  the only one open to them; empty: all
    """

    role: str
    name: str = ""
    collection: str = ""

    def assessor(self, said: str | None) -> str:
        """The assessor whom the caller acts for; assessors act only for themselves.

        said  name in the request
        """
        if self.role == "assessor":
            if said not in (None, self.name):
                raise DeniedError(403, f"this token is {self.name}'s, who cannot act for {said!r:.80}")
            return self.name
        return said or ""


NOBODY = Caller("public")
OPEN = Caller("organiser")


async def caller_of(request: Request) -> Caller:
    """Caller of a request, as determined before its body was read."""
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(caller_of)]
GENERAL = "general"  # a token for one collection suffices, although the address names none


def _for(*scopes: str) -> Any:
    return Security(caller_of, scopes=scopes)


# Roles that a route or router admits; by default only the organiser. Assessors never see predictions or rankings,
# which would bias them.
PUBLIC = _for(NOBODY.role)
CLIENT, ASSESSOR = _for("client", "organiser"), _for("assessor", "organiser")
ANYONE = _for("assessor", "client", "organiser")
RESULTS_READER = _for("reader", "client", "organiser")  # holders of a link, which opens nothing else
CLIENT_OF_ANY, ASSESSOR_OF_ANY = _for("client", "organiser", GENERAL), _for("assessor", "organiser", GENERAL)


def scopes_of(route: APIRoute | None) -> frozenset[str]:
    """Roles admitted by a route, by its nearest declaration, with GENERAL if declared; None: no route."""
    if route is None:
        return frozenset({OPEN.role, GENERAL})
    said = [one.scopes or () for one in route.dependencies if isinstance(one, Secured)]
    return frozenset(said[-1] if said else (OPEN.role,))
