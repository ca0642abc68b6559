"""Deliveries: files sent with a key each, and the answers to them.

A key belongs to its sender. The same content under a key gets the same answer again. Other content is an error:
the old answer, "done", would hide that this file was never stored.
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

    sender  name of the caller; empty if unnamed
    key     of the request; empty: none
    digest  SHA-256 of the whole delivery
    kept_bytes  number of its bytes that are stored
    """

    collection: str
    sender: str
    key: str
    digest: str
    kept_bytes: int = 0

    @classmethod
    def of(cls, collection: str, sender: str, key: str, body: bytes, *said: str | None) -> "Delivery":
        """The delivery of a body.

        said  further parts of the address that identify the file
        """
        digest = hashlib.sha256(json.dumps(said).encode())
        digest.update(body)
        return cls(collection, sender, key, digest.hexdigest(), len(body))


def earlier(connection: sql.Connection, sent: Delivery) -> str | None:
    """Answer to an earlier delivery with the same key, or None; an error if its content was different."""
    if not sent.key:
        return None
    own = (DELIVERIES.c.collection == sent.collection) & (DELIVERIES.c.sender == sent.sender)
    asked = sql.select(DELIVERIES.c.digest, DELIVERIES.c.answer).where(own, DELIVERIES.c.key == sent.key)
    row = connection.execute(asked).one_or_none()
    if row is None:
        return None
    if row.digest not in ("", sent.digest):
        raise InputError(
            f"the Idempotency-Key {sent.key!r:.80} was used for other content; nothing of this file was stored: "
            "send it by a key of its own"
        )
    return str(row.answer)


def keep(connection: sql.Connection, sent: Delivery, answer: str) -> None:
    """Store a delivery and its answer; an IntegrityError if its key is taken."""
    row: dict[str, object] = {
        "collection": sent.collection,
        "sender": sent.sender,
        "key": sent.key or None,
        "digest": sent.digest,
    }
    row |= {"bytes": sent.kept_bytes, "time": write_time(utc_now()), "answer": answer}
    connection.execute(sql.insert(DELIVERIES).values(row))


def bytes_of(connection: sql.Connection, sender: str) -> int:
    """Bytes stored from a sender, over all collections."""
    total = sql.select(sql.func.sum(DELIVERIES.c.bytes)).where(DELIVERIES.c.sender == sender)
    return int(connection.execute(total).scalar() or 0)
