"""An OpenID Connect issuer: its tokens are good where one of its keys signed them, for us, and they have not ended.

The keys are kept; they are fetched again when they grow old, and when a token names another, as issuers change them.
Signatures are those of asymmetric keys alone: a key that everybody may read cannot make a token.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import httpx

from audiosim.errors import AudiosimError, InputError
from service.callers import DeniedError

LOG = logging.getLogger("service")
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_S = 30  # that clocks may differ by
OLD_S = 3600.0  # of keys, until they are fetched again
AGAIN_S = 10.0  # between two tries to fetch them
FETCH_S = 5.0
SECURE = ("localhost", "127.0.0.1", "::1")  # hosts that may be asked without TLS


class Issuer:
    """An issuer of tokens, by its URL.

    audience      for whom its tokens must be: this service, as it is called there
    name_claim    what names the person in a token
    groups_claim  what names their groups; a text or a list of them
    clock         seconds that never go back
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
        self._jwt = jwt
        self._url, self._audience, self._clock = _checked_url(url), audience, clock
        self._name_claim, self._groups_claim = name_claim, groups_claim
        self._keys: Mapping[str, Any] = {}
        self._fetched = self._tried = -float("inf")
        self._lock = Lock()

    @staticmethod
    def may_be_own(secret: str) -> bool:
        """True if a token has the form of a signed JWT."""
        return secret.count(".") == 2

    async def prepare(self, secret: str) -> None:
        """Fetch the keys where none are known, they are old, or a token names another; not too often."""
        now = self._clock()
        if now < self._tried + AGAIN_S or (self._key_of(secret) is not None and now < self._fetched + OLD_S):
            return
        await asyncio.to_thread(self._fetch)

    def holder(self, secret: str) -> tuple[str, frozenset[str]] | None:
        """Name and groups of the person that a token is for; None where it is not good."""
        key = self._key_of(secret)
        if key is None:
            if not self._keys:
                raise DeniedError(
                    503, "the issuer of this token cannot be reached; try again later", {"Retry-After": "10"}
                )
            return None
        required: Any = {"require": ["exp", "iss", "aud", self._name_claim]}
        try:
            claims = self._jwt.decode(
                secret,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audience,
                issuer=self._url,
                leeway=LEEWAY_S,
                options=required,
            )
        except self._jwt.PyJWTError:
            return None
        groups = claims.get(self._groups_claim, [])
        groups = groups.split() if isinstance(groups, str) else groups if isinstance(groups, list) else []
        name = claims[self._name_claim]
        return (name, frozenset(map(str, groups))) if isinstance(name, str) and name.strip() else None

    def _key_of(self, secret: str) -> Any:
        """The key that a token names, or the only one where it names none; None where it is not known."""
        try:
            named = self._jwt.get_unverified_header(secret).get("kid")
        except self._jwt.PyJWTError:
            return None
        if named is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(named or "")

    def _fetch(self) -> None:
        with self._lock:
            if self._clock() < self._tried + AGAIN_S:
                return
            self._tried = self._clock()
            try:
                self._keys = self._read_keys()
                self._fetched = self._clock()
            except (httpx.HTTPError, AudiosimError, ValueError, KeyError, TypeError, self._jwt.PyJWTError) as error:
                LOG.warning("issuer %s: its keys cannot be had: %s", self._url, str(error) or type(error).__name__)

    def _read_keys(self) -> dict[str, Any]:
        about = _get(f"{self._url.rstrip('/')}/.well-known/openid-configuration")
        if about["issuer"] != self._url:
            raise ValueError(f"it calls itself {about['issuer']!r:.80}")
        found = self._jwt.PyJWKSet.from_dict(_get(_checked_url(about["jwks_uri"])))
        signing = [key for key in found.keys if key.public_key_use in (None, "sig")]
        return {key.key_id or "": key for key in signing}


def _get(url: str) -> Any:
    return httpx.get(url, timeout=FETCH_S).raise_for_status().json()


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or (parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in SECURE)):
        raise InputError(
            f"an issuer is the address of a service with TLS, such as https://login.example.org, got {url!r:.80}"
        )
    return url
