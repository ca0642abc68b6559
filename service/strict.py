"""Bodies that become part of a log for ever: what JSON leaves open is refused here."""

import json
from typing import Any, TypeVar

from fastapi import HTTPException

from service.exchange import decode, encoding_hint

MOST_BYTES = 64 * 2**10

Body = TypeVar("Body")


class _TwiceError(ValueError):
    pass


def decode_strictly(body: bytes, kind: type[Body]) -> Body:
    """The value that a short body of JSON spells, as `decode` has it; a key twice or half a character is 422.

    Of a key that stands twice readers take the first value or the last (RFC 8259, section 4), so that what was meant
    is not known. A lone surrogate is JSON, but no text.
    """
    if len(body) > MOST_BYTES:
        raise HTTPException(413, f"such a body may have {MOST_BYTES} bytes at most, got {len(body)}")
    try:
        value = decode(body, kind)
    except HTTPException as error:
        if error.status_code == 400 and (hint := encoding_hint(body)):
            raise HTTPException(422, f"the body is not JSON: {hint}") from None
        if error.status_code == 400 and _is_json(body):
            raise HTTPException(422, "the body holds a lone surrogate, which is no text") from None
        raise
    try:
        json.loads(body, object_pairs_hook=_check_unique)
    except _TwiceError as error:
        raise HTTPException(422, str(error)) from None
    return value


def _check_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(f"the key {next(name for name in names if names.count(name) > 1)!r:.80} stands twice")
    return found


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
