"""Callers: who asks, by whichever way they were recognised, and what they are told where they may not."""

from dataclasses import dataclass

from starlette.exceptions import HTTPException


class DeniedError(HTTPException):
    """A request may not be."""

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a request.

    role        in tokens.ROLES
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
                raise DeniedError(403, f"this token is {self.name}'s, who cannot speak for {said!r:.80}")
            return self.name
        return said or ""


NOBODY = Caller("public")
OPEN = Caller("organiser")
