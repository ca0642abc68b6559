"""Callers: who asks, by whichever way they were recognised, whom a route is for, and what others are told."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.params import Security as Secured
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException


class DeniedError(HTTPException):
    """A request may not be."""

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a request.

    role        in tokens.ROLES, or tokens.READER
    name        of the token's holder; empty where there are no tokens: then everybody may do everything
    collection  the only one that they may ask about; empty: all
    """

    role: str
    name: str = ""
    collection: str = ""

    def assessor(self, said: str | None) -> str:
        """The assessor they speak for; an assessor speaks for themselves alone.

        said  by the request
        """
        if self.role == "assessor":
            if said not in (None, self.name):
                raise DeniedError(403, f"this token is {self.name}'s, who cannot act for {said!r:.80}")
            return self.name
        return said or ""


NOBODY = Caller("public")
OPEN = Caller("organiser")


async def caller_of(request: Request) -> Caller:
    """Caller of a request, as found out before its body was taken in."""
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(caller_of)]
GENERAL = "general"  # a token for one collection will do, although the address names none


def _for(*scopes: str) -> Any:
    return Security(caller_of, scopes=scopes)


# Whom a route, or a router, is for; what says nothing is the organiser's alone. An assessor never sees what is
# predicted, or a ranking: it would bias them.
PUBLIC = _for(NOBODY.role)
CLIENT, ASSESSOR = _for("client", "organiser"), _for("assessor", "organiser")
ANYONE = _for("assessor", "client", "organiser")
RESULTS_READER = _for("reader", "client", "organiser")  # of a link, which opens nothing else
CLIENT_OF_ANY, ASSESSOR_OF_ANY = _for("client", "organiser", GENERAL), _for("assessor", "organiser", GENERAL)


def scopes_of(route: APIRoute | None) -> frozenset[str]:
    """Roles that a route is for, by what is said nearest to it, and GENERAL where that holds; None: there is none."""
    if route is None:
        return frozenset({OPEN.role, GENERAL})
    said = [one.scopes or () for one in route.dependencies if isinstance(one, Secured)]
    return frozenset(said[-1] if said else (OPEN.role,))
