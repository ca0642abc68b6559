"""Adoption of lines without a hash, which a server of an older version wrote after its database was upgraded.

Layouts before 5 let such a server go on. Its lines are whole but stand outside the chain, so nobody can tell whether
they were changed since: to take them in is a decision, not a repair that happens by itself.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sql

from audiosim.campaign.chain import FIRST, link
from audiosim.campaign.engine import reporting
from audiosim.campaign.schema import check_upgraded, keep_copy, locked, opened
from audiosim.campaign.tables import CAMPAIGNS, EVENTS, FIELDS, LAYOUT, event_of
from audiosim.errors import StoreError


@dataclass(frozen=True, slots=True)
class Adopted:
    """Lines without a hash that were taken into the log of a collection as they were.

    first, last  lines of the log that were chained anew; 0 where there was nothing to do
    unsealed     those among them that had no hash
    kept         copy of the file as it was before; empty where nothing was done, and for PostgreSQL
    """

    collection: str
    first: int
    last: int
    unsealed: int
    kept: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def adopt_unsealed(url: str) -> list[Adopted]:
    """Chain the lines without a hash in all campaigns of a database, and those after them, in one transaction.

    A line whose hash is there must be that of its content after the last line of the chain that its writer could see:
    one that was changed is an error, and nothing is done.
    """
    check_upgraded(url)
    with opened(url) as engine:
        with engine.connect() as connection:
            names = connection.execute(sql.select(CAMPAIGNS.c.collection).order_by(CAMPAIGNS.c.collection)).scalars()
            found = [(name, _rechained(connection, name)) for name in names]
        if not any(lines for _, lines in found):
            return [Adopted(name, 0, 0, 0) for name, _ in found]
        with locked(engine) as connection, reporting(engine):
            kept = keep_copy(engine, "unsealed")
            return [_adopt(connection, name, _rechained(connection, name), kept) for name, _ in found]


def _adopt(connection: sql.Connection, name: str, lines: Sequence[tuple[int, str, bool]], kept: str) -> Adopted:
    if not lines:
        return Adopted(name, 0, 0, 0)
    own = sql.update(EVENTS).where(EVENTS.c.collection == name, EVENTS.c.number == sql.bindparam("at"))
    rows = [{"at": number, "found": digest} for number, digest, _ in lines]
    connection.execute(own.values(digest=sql.bindparam("found"), layout=LAYOUT), rows)
    last, digest, _ = lines[-1]
    connection.execute(sql.update(CAMPAIGNS).where(CAMPAIGNS.c.collection == name).values(digest=digest))
    return Adopted(name, lines[0][0], last, sum(unsealed for *_, unsealed in lines), kept)


def _rechained(connection: sql.Connection, name: str) -> list[tuple[int, str, bool]]:
    """The lines from the first without a hash on: number, digest in the whole chain, whether it had none."""
    chosen = sql.select(EVENTS.c.number, EVENTS.c.digest, *FIELDS).where(EVENTS.c.collection == name)
    sealed = digest = FIRST
    lines: list[tuple[int, str, bool]] = []
    for number, said, *fields in connection.execute(chosen.order_by(EVENTS.c.number)):
        event = event_of(fields)
        # A newer server saw the last line that has a hash, and chained its own to that one.
        if said and said != link(sealed, number, event):
            raise StoreError(
                f"the log of {name}: line {number} is not as it was written; its hash is of something else"
            )
        digest = link(digest, number, event)
        if lines or not said:
            lines.append((number, digest, not said))
        sealed = said or sealed
    return lines
