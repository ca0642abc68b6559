"""Settings of the service as the command reads them from its options."""

import ipaddress
import sys
from collections.abc import Iterable

from audiosim.errors import InputError


def parse_proxies(texts: Iterable[str]) -> list[str]:
    """Addresses and networks of proxies that are believed, as they are written; none may stand for everybody."""
    found = []
    for text in texts:
        try:
            network = ipaddress.ip_network(text.strip())
        except ValueError:
            raise InputError(
                f"a trusted proxy must be an address or a network, such as 10.0.0.0/8, got {text!r}"
            ) from None
        if network.prefixlen == 0:
            raise InputError(f"{text} would trust everybody, expected the addresses of proxies")
        found.append(text.strip())
    return found


def kept(url: str | None, option: str) -> str | None:
    """The database of a URL; None, and a note, where it is in memory and would be gone at the end."""
    if url is None or not in_memory(url):
        return url
    sys.stderr.write(f"note: {option} {url} is memory, not a file: everything in it is lost when the service stops\n")
    return None


def in_memory(url: str) -> bool:
    """True if a URL is of a SQLite database that is no file."""
    scheme, _, path = url.partition("://")
    return scheme.partition("+")[0] == "sqlite" and (
        path.partition("?")[0] in ("", "/", "/:memory:") or ":memory:" in path or "mode=memory" in path
    )
