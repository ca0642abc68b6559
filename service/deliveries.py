"""Deliveries: files that senders sent under keys, and what they were answered.

A key is its sender's. Sent again with the same content, it is answered as it was; with another content it is an error:
to be answered "done" for what was never taken would lose it.
"""

import hashlib
import json
from dataclasses import dataclass

import sqlalchemy as sql

from audiosim.campaign.event import utc_now, write_time
from audiosim.campaign.tables import DELIVERIES
from audiosim.errors import InputError


@dataclass(frozen=True, slots=True)
class Delivery:
    """One file that was sent.

    sender  name of the caller; empty where nobody is named
    key     of the request; empty: none
    digest  SHA-256 of all that was sent
    kept_bytes  of it
    """

    collection: str
    sender: str
    key: str
    digest: str
    kept_bytes: int = 0

    @classmethod
    def of(cls, collection: str, sender: str, key: str, body: bytes, *said: str | None) -> "Delivery":
        """The delivery of a body.

        said  what the address says beside: which file it is, and of what
        """
        digest = hashlib.sha256(json.dumps(said).encode())
        digest.update(body)
        return cls(collection, sender, key, digest.hexdigest(), len(body))


def earlier(connection: sql.Connection, sent: Delivery) -> str | None:
    """Answer to what was sent before by the same key, None where nothing was; an error where that was another."""
    if not sent.key:
        return None
    own = (DELIVERIES.c.collection == sent.collection) & (DELIVERIES.c.sender == sent.sender)
    asked = sql.select(DELIVERIES.c.digest, DELIVERIES.c.answer).where(own, DELIVERIES.c.key == sent.key)
    row = connection.execute(asked).one_or_none()
    if row is None:
        return None
    if row.digest not in ("", sent.digest):
        raise InputError(
            f"the Idempotency-Key {sent.key!r:.80} was used for another content; nothing of this one was taken: "
            "send it by a key of its own"
        )
    return str(row.answer)


def keep(connection: sql.Connection, sent: Delivery, answer: str) -> None:
    """Keep what was sent; an IntegrityError where its key is used."""
    row: dict[str, object] = {
        "collection": sent.collection,
        "sender": sent.sender,
        "key": sent.key or None,
        "digest": sent.digest,
    }
    row |= {"bytes": sent.kept_bytes, "time": write_time(utc_now()), "answer": answer}
    connection.execute(sql.insert(DELIVERIES).values(row))


def bytes_of(connection: sql.Connection, sender: str) -> int:
    """Bytes that were kept of all that a sender sent, of whatever collection."""
    total = sql.select(sql.func.sum(DELIVERIES.c.bytes)).where(DELIVERIES.c.sender == sender)
    return int(connection.execute(total).scalar() or 0)
