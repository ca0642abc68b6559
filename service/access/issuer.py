"""OpenID Connect issuer: accepts its tokens if they have a valid signature, name us as audience, and have not expired.

Keys are cached. Since issuers rotate keys, they are fetched again when they grow old or a token names an unknown key.
One task fetches at a time, with limits on time and size, while the cached keys remain in use. Only asymmetric
signatures are accepted: nobody can make a token from a public key.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from audiosim.errors import AudiosimError, InputError
from audiosim.service.access.callers import DeniedError

if TYPE_CHECKING:
    import httpx

LOG = logging.getLogger("service")
LEEWAY_S = 30  # tolerated difference between clocks
FRESH_S = 300.0  # age of keys at which they are fetched again; a withdrawn key is accepted no longer than this
LONGEST_S = 86_400.0  # age at which keys that could not be refreshed become invalid
AGAIN_S = 10.0  # between two attempts to fetch keys
FETCH_S = 5.0  # limit for fetching both documents
WAIT_S = 3.0  # longest wait of a request for keys
MOST_BYTES = 256 * 1024  # of a document
MOST_KEYS = 100
RSA_BITS = range(2048, 8193)  # RFC 7518, section 3.3, requires at least 2048; still longer keys are slow to verify with
FAMILIES = {"RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "OKP": ("EdDSA",)}
CURVES = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}
ALGORITHMS = frozenset(sum([*FAMILIES.values(), *CURVES.values()], ()))
SECURE = ("localhost", "127.0.0.1", "::1")  # hosts allowed without TLS


class Discovery(msgspec.Struct):
    """Document about an issuer (OpenID Connect Discovery 1.0)."""

    issuer: str
    jwks_uri: str


class KeySet(msgspec.Struct):
    """A set of keys (RFC 7517), each undecoded."""

    keys: list[msgspec.Raw]


class DescribedKey(msgspec.Struct):
    """Fields that describe the use of a key."""

    kty: str
    kid: str | None = None
    use: str | None = None
    alg: str | None = None
    crv: str | None = None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Signature algorithms of the key: the one it names, else all for its type."""
        able = CURVES.get(self.crv or "", ()) if self.kty == "EC" else FAMILIES.get(self.kty, ())
        return tuple(one for one in able if self.alg in (None, one))


class Issuer:
    """An issuer of tokens, by its URL.

    audience      expected audience (`aud`) of its tokens: the name of this service there
    name_claim    claim with the name of the person
    groups_claim  claim with a list of their groups
    clock         monotonic clock, in seconds

    All methods run in the event loop that answers requests.
    """

    def __init__(
        self,
        url: str,
        audience: str,
        name_claim: str = "sub",
        groups_claim: str = "groups",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            import jwt
        except ImportError as error:
            raise InputError(f"cannot use an OpenID Connect issuer: {error}; audiosim[oidc] installs it") from None
        import httpx  # imported late: services without sign-in start faster

        self._jwt, self._httpx = jwt, httpx
        self._url, self._audience, self._clock = _checked_url(url), audience, clock
        self._name_claim, self._groups_claim = name_claim, groups_claim
        self._keys: Mapping[str, tuple[Any, tuple[str, ...]]] = {}
        self._fetched = self._tried = -float("inf")
        self._trouble = ""
        self._fetching: asyncio.Task[None] | None = None

    @staticmethod
    def may_be_own(secret: str) -> bool:
        """True if a token has the form of a signed JWT."""
        return secret.count(".") == 2

    async def prepare(self, secret: str) -> None:
        """Fetch the keys if none are known, they are old, or a token names an unknown one; not too often.

        It waits at most WAIT_S, and not at all if the key is known and the issuer is in trouble.
        """
        name = self._key_name(secret)
        if name is None:
            return
        now, known = self._clock(), self._key(name) is not None
        if known and now < self._fetched + FRESH_S:
            return
        if self._fetching is None and now >= self._tried + AGAIN_S:
            self._tried = now
            self._fetching = asyncio.create_task(self._fetch())
        if self._fetching is not None and not (known and self._trouble):
            await asyncio.wait([self._fetching], timeout=WAIT_S)  # unlike wait_for, does not cancel the task

    def close(self) -> None:
        """Stop fetching."""
        if self._fetching is not None:
            self._fetching.cancel()

    def holder(self, secret: str) -> tuple[str, frozenset[str]] | None:
        """Name and groups of a token's holder; None if it is invalid."""
        name = self._key_name(secret)
        if name is None:
            return None
        found = self._key(name)
        if found is None:
            if self._trouble or not self._keys or self._fetching is not None:
                # The token may be valid, so its holder must not count as guessing.
                later = {"Retry-After": str(int(AGAIN_S))}
                raise DeniedError(503, "the issuer of this token cannot be reached; try again later", later)
            return None
        claims = self._claims(secret, *found)
        if claims is None:
            return None
        groups, person = claims.get(self._groups_claim), claims[self._name_claim]
        # A string is not split into a list: "not staff" would grant the rights of staff.
        groups = groups if isinstance(groups, list) else []
        named = frozenset(one for one in groups if isinstance(one, str))
        return (person, named) if isinstance(person, str) and person.strip() else None

    def _claims(self, secret: str, key: Any, algorithms: tuple[str, ...]) -> dict[str, Any] | None:
        required: Any = {"require": ["exp", "iss", "aud", self._name_claim]}
        try:
            claims: dict[str, Any] = self._jwt.decode(
                secret,
                key,
                algorithms=list(algorithms),
                audience=self._audience,
                issuer=self._url,
                leeway=LEEWAY_S,
                options=required,
            )
        except self._jwt.PyJWTError:
            return None
        return claims

    def _key_name(self, secret: str) -> str | None:
        """The key name in a token's header; None if the token belongs to another issuer."""
        try:
            header = self._jwt.get_unverified_header(secret)
            claims = self._jwt.decode(secret, options={"verify_signature": False})
        except (self._jwt.PyJWTError, RecursionError):
            return None
        if header.get("alg") not in ALGORITHMS or claims.get("iss") != self._url:
            return None
        return header.get("kid") or ""

    def _key(self, name: str) -> tuple[Any, tuple[str, ...]] | None:
        """The key with that name, or the only one if none is named, and its algorithms."""
        if self._clock() > self._fetched + LONGEST_S:
            return None
        if not name and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(name)

    async def _fetch(self) -> None:
        refusals = (self._httpx.HTTPError, self._httpx.InvalidURL, OSError, TimeoutError, AudiosimError, ValueError)
        try:
            async with asyncio.timeout(FETCH_S):
                self._keys = await self._read_keys()
            self._fetched, self._trouble = self._clock(), ""
        except refusals as error:
            trouble = str(error) or f"no answer within {FETCH_S:g} s"
            if trouble != self._trouble:
                LOG.warning("issuer %s: its keys cannot be fetched: %s", self._url, trouble)
            self._trouble = trouble
        finally:
            self._fetching = None

    async def _read_keys(self) -> dict[str, tuple[Any, tuple[str, ...]]]:
        async with self._httpx.AsyncClient(headers={"Accept-Encoding": "identity"}, timeout=FETCH_S) as client:
            root = f"{self._url.rstrip('/')}/.well-known/openid-configuration"
            about = msgspec.json.decode(await _get(client, root), type=Discovery)
            if about.issuer != self._url:
                raise ValueError(f"it calls itself {about.issuer!r:.80}")
            found = msgspec.json.decode(await _get(client, _checked_url(about.jwks_uri)), type=KeySet)
        keys = dict(filter(None, map(self._read_key, found.keys[:MOST_KEYS])))
        if not keys:
            raise ValueError(f"none of its {len(found.keys)} keys verifies signatures")
        return keys

    def _read_key(self, raw: msgspec.Raw) -> tuple[str, tuple[Any, tuple[str, ...]]] | None:
        """A key by its name; None if it is unreadable or not for signatures, which leaves the others usable."""
        try:
            described = msgspec.json.decode(raw, type=DescribedKey)
            if described.use not in (None, "sig") or not described.algorithms:
                return None
            key = self._jwt.PyJWK.from_json(bytes(raw).decode(), described.algorithms[0]).key
            usable = hasattr(key, "verify") and (described.kty != "RSA" or key.key_size in RSA_BITS)
        except Exception as error:  # the library may raise anything on a malformed key
            LOG.warning("issuer %s: a key cannot be read: %s", self._url, str(error) or type(error).__name__)
            return None
        if not usable:
            LOG.warning("issuer %s: a key that is private, too short or too long is not used", self._url)
            return None
        return described.kid or "", (key, described.algorithms)


async def _get(client: "httpx.AsyncClient", url: str) -> bytes:
    """A document of at most MOST_BYTES; reading stops there."""
    async with client.stream("GET", url) as response:
        response.raise_for_status()
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > MOST_BYTES:
                raise ValueError(f"{url} has more than {MOST_BYTES:,} bytes")
    return bytes(body)


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or (parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in SECURE)):
        raise InputError(
            f"an issuer is the address of a service with TLS, such as https://login.example.org, got {url!r:.80}"
        )
    return url
