"""Sign-in by an institution: a trusted proxy says who asks.

This gives no rights: rights come from the grants of the service's operator.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers

from audiosim.errors import InputError
from audiosim.service.access.callers import Caller, DeniedError
from audiosim.service.access.tokens import NAME_LIMIT, ROLES

ANYBODY = "*"
GROUP = "group:"
SEPARATORS = ",;"  # between the groups of a header


@dataclass(frozen=True, slots=True)
class Person:
    """Person identified by an institution.

    name    name shown with their judgments
    groups  their groups at the institution
    """

    name: str
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Grant:
    """Role granted to a person or group.

    role        in ROLES
    collection  the only one included; empty: all
    who         a name, `group:` and a group, or * for everybody identified by the institution
    """

    role: str
    collection: str
    who: str

    @classmethod
    def parse(cls, text: str) -> "Grant":
        """Grant from a text such as organiser=olga@example.org, client=group:staff or assessor@demo=*."""
        what, equals, who = text.partition("=")
        role, _, collection = what.strip().partition("@")
        if not equals or not who.strip():
            raise InputError(f"a grant is ROLE=WHO or ROLE@COLLECTION=WHO, such as assessor=*, got {text!r:.80}")
        if role not in ROLES:
            raise InputError(f"unknown role {role!r} in grant {text!r:.80}, expected {', '.join(ROLES)}")
        return cls(role, collection, who.strip())

    def suits(self, person: Person) -> bool:
        """True if it covers a person."""
        if self.who.startswith(GROUP):
            return self.who.removeprefix(GROUP) in person.groups
        return self.who in (ANYBODY, person.name)


class SignIn:
    """Identifies callers through an institution, and gives them their granted roles.

    grants         grants; the first that covers a person counts
    header         header for the name from a proxy
    groups_header  header for the groups from a proxy, or None
    proxies        trusted addresses and networks; headers from others are ignored
    """

    def __init__(
        self, grants: Iterable[Grant], header: str, groups_header: str | None = None, proxies: Sequence[str] = ()
    ) -> None:
        self._grants = tuple(grants)
        self._header, self._groups_header = header, groups_header
        self._proxies = [ipaddress.ip_network(one) for one in proxies]
        if not self._grants:
            raise InputError("nobody could sign in: give people a role by the setting grant, such as assessor=*")
        if not proxies:
            raise InputError(f"anybody could send {header}: name the proxy to believe with --trusted-proxy")

    def vouched(self, headers: Headers, peer: str) -> Person | None:
        """The person named by a trusted proxy, or None.

        peer  address at the other end of the connection, regardless of headers
        """
        if not self._is_proxy(peer):
            return None
        said = headers.getlist(self._header)
        if len(said) > 1:
            raise DeniedError(400, f"the header {self._header} occurs twice: the proxy must replace the client's")
        name = _text(said[0]) if said else ""
        if not name:
            return None
        groups = headers.getlist(self._groups_header) if self._groups_header else []
        return Person(_checked(name), _split(_text(",".join(groups))))

    def admit(self, person: Person) -> Caller:
        """The caller for a person, by the first grant that covers them."""
        for grant in self._grants:
            if grant.suits(person):
                return Caller(grant.role, person.name, grant.collection)
        raise DeniedError(403, f"{person.name:.80} has no role here: the setting grant gives one")

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._proxies)


def _checked(name: str) -> str:
    if not name.isprintable() or len(name) > NAME_LIMIT:
        raise DeniedError(403, f"a name may have up to {NAME_LIMIT} printable characters, got {name!r:.80}")
    return name


def _text(header: str) -> str:
    """A header decoded as UTF-8 if valid, else as Latin-1."""
    try:
        return header.encode("latin-1").decode("utf-8").strip()
    except UnicodeError:
        return header.strip()


def _split(text: str) -> frozenset[str]:
    for separator in SEPARATORS:
        text = text.replace(separator, "\n")
    return frozenset(filter(None, map(str.strip, text.split("\n"))))
