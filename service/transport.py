"""Requests to a service, retried if a connection fails or the service is busy, with decoded answers."""

import math
import os
import secrets
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec

from audiosim.errors import InputError, ServiceError
from audiosim.service.access.access import is_loopback
from audiosim.service.types.answer_checks import Deadline, pause_of, read_answer, refused_body
from audiosim.service.types.base import in_our_words, known_there
from audiosim.service.types.judging import RecordOut

# Addresses of a service and of its collections.


COLLECTIONS = "/v1/collections"


def parse_address(text: str) -> tuple[str, str | None, str | None]:
    """Root of the service, and names of the collection and the model in an address; None for those it lacks."""
    try:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise _not_an_address(text) from None
    prefix, collections, collection = parts.path.rstrip("/").partition(COLLECTIONS)
    named = collection[1:] if collections else None
    wrong_name = named is not None and (not named or "/" in named)
    if parts.scheme not in {"http", "https"} or not parts.netloc or wrong_name or set(query) - {"model"}:
        raise _not_an_address(text)
    root = f"{parts.scheme}://{parts.netloc}{prefix}"
    return root, None if named is None else unquote(named), query.get("model")


def collection_address(text: str) -> tuple[str, str]:
    """Root of the service, and name of the collection, in an address that must have one."""
    root, collection, _ = parse_address(text)
    if collection is None:
        raise InputError(f"{text}: expected the address of a collection, such as {root}/v1/collections/NAME")
    return root, collection


def path_of(collection: str, *more: str) -> str:
    """Path of a collection of a service, or a path below it."""
    return "/".join([COLLECTIONS, quote(collection, safe=""), *more])


def query_of(**said: str | int | None) -> dict[str, str]:
    """Query with the values that are given."""
    return {name: str(value) for name, value in said.items() if value is not None}


def _not_an_address(text: str) -> InputError:
    return InputError(
        f"expected the address of a service, such as http://127.0.0.1:8000, or of a collection there, "
        f"http://127.0.0.1:8000/v1/collections/NAME, either with ?model=NAME, got {text!r}"
    )


PAUSES_S = (0.1, 0.3, 0.9)
BUSY = (429, 503)
TOKEN, HOSTS = "AUDIOSIM_TOKEN", "AUDIOSIM_TOKEN_HOST"  # names of environment variables
AS_JSON = {"content-type": "application/json"}

Answer = TypeVar("Answer")


class Transport:
    """A connection to a service at an address, open until `close` or garbage collection.

    Raises InputError if the service refuses a request, ServiceError if it is unreachable or its answer is invalid. For
    the arguments see `audiosim.service.client.Client`.
    """

    def __init__(self, url: str, timeout_s: float, token: str | None, longest_s: float, most_bytes: int) -> None:
        import httpx

        self.url = url.rstrip("/")
        self._longest_s, self._most_bytes = longest_s, most_bytes
        self._withheld = token is None and TOKEN in os.environ and not _is_for(self.url)
        token = os.environ.get(TOKEN) if token is None and not self._withheld else token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        encrypted = not self.url.lower().startswith("http:")  # else there is no need to load certificates, in 20 ms
        try:
            self._http = httpx.Client(base_url=self.url, timeout=timeout_s, headers=headers, verify=encrypted)
        except httpx.InvalidURL as error:
            raise InputError(f"not an address: {url}: {error}") from None
        self._within = Deadline(self._http, self.url, longest_s, most_bytes)
        self.close = weakref.finalize(self, self._http.close)

    def get(self, path: str, kind: type[Answer], query: Mapping[str, str] | None = None) -> Answer:
        """The decoded answer to a GET request."""
        return self.ask("GET", path, kind, query or {}, None)

    def post(self, path: str, kind: type[Answer], said: object, query: Mapping[str, str] | None = None) -> Answer:
        """The decoded answer to a body."""
        return self.ask("POST", path, kind, query or {}, msgspec.json.encode(said))

    def tell(self, path: str, said: object, key: str | None) -> RecordOut:
        """The line that the service writes for a body, once for each key; by default a new one."""
        return self.ask("POST", path, RecordOut, {}, msgspec.json.encode(said), key or new_key())

    def ask(
        self,
        method: str,
        path: str,
        kind: type[Answer],
        query: Mapping[str, str],
        content: bytes | None,
        key: str | None = None,
        media_type: str = "application/json",
    ) -> Answer:
        """The answer to a request, decoded.

        key  key of a write, which is then done once, however often it is sent
        """
        headers = {"content-type": media_type} if content is not None else {}
        headers |= {"idempotency-key": key} if key else {}
        body = self.send(method, path, params=query, content=content, headers=headers)
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ServiceError(f"{self.url} does not answer as audiosim does: {error}") from None

    def delete(self, path: str, query: Mapping[str, str]) -> None:
        """Delete the object at a path."""
        self.send("DELETE", path, params=query)

    def send(self, method: str, path: str, **what: Any) -> bytes:
        """The body of the answer; an error if the request is refused."""
        import httpx

        for pause_s in (*PAUSES_S, None):
            try:
                response, body = self._within.ask(method, path, **what)
                if response.is_success:
                    return body
                if pause_s is None or response.status_code not in BUSY:
                    raise self._refused(response.status_code, body)
                time.sleep(pause_of(response, pause_s))
            except (httpx.TimeoutException, httpx.UnsupportedProtocol) as error:
                raise ServiceError(f"{self.url} cannot be asked: {error}") from None
            except httpx.TransportError as error:
                if pause_s is None:
                    started = "expected a service that `audiosim serve` started there"
                    raise ServiceError(f"{self.url} cannot be reached: {error}, {started}") from None
                time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def _refused(self, status: int, body: bytes) -> InputError | ServiceError:
        refusal = refused_body(self.url, status, body)
        if status != 401 or not self._withheld:
            return refusal
        host = urlsplit(self.url).hostname
        return type(refusal)(f"{refusal}; {TOKEN} was not sent: it is for {HOSTS}, which must name {host}")

    def lines(self, path: str, query: Mapping[str, str]) -> Iterator[str]:
        """Lines of a file, as they arrive."""
        import httpx

        try:
            with self._http.stream("GET", path, params=query) as response:
                if response.status_code != 200:
                    body = read_answer(response, self.url, self._most_bytes, self._longest_s)
                    raise refused_body(self.url, response.status_code, body)
                yield from response.iter_lines()
        except httpx.HTTPError as error:
            raise ServiceError(f"{self.url} did not send the whole file: {error}") from None


def _is_for(url: str) -> bool:
    """True if the environment's token may be sent to an address: this machine, or the host named for the token."""
    host = urlsplit(url).hostname or ""
    return host in os.environ.get(HOSTS, "").replace(",", " ").split() or is_loopback(host)


def new_key() -> str:
    """A unique key."""
    return secrets.token_hex(16)


def checked_body(kind: type[Answer], fields: Mapping[str, Any]) -> Answer:
    """A body with these fields, except those that are None; an error if it is invalid."""
    given = {name: value for name, value in fields.items() if value is not None}
    for name, value in given.items():  # msgspec would write null, which is no answer
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"cannot be sent: {name}: expected a finite number, got {value}")
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"cannot be sent: {in_our_words(str(error))}{known_there(str(error), kind)}") from None
