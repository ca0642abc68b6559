"""Layout 2: every line of a log carries a hash, and a campaign says what it judges."""

import json
from typing import Any

import sqlalchemy as sql
from alembic import op

from audiosim.campaign.chain import FIRST, link
from audiosim.campaign.event import Event

revision = "2"
down_revision = "1"

CAMPAIGNS = sql.table("audiosim_campaigns", sql.column("collection"), sql.column("digest"))
NAMES = ("kind", "time", "assessor", "query", "document", "grades", "details", "key", "refers", "until")
EVENTS = sql.table("audiosim_events", *map(sql.column, ("collection", "number", *NAMES, "digest")))


def upgrade() -> None:
    """Add the columns, and the digest of every event there is."""
    for table, names in (("audiosim_events", ["digest"]), ("audiosim_campaigns", ["digest", "about", "rules"])):
        for name in names:
            op.add_column(table, sql.Column(name, sql.Text, nullable=False, server_default=""))
    connection = op.get_bind()
    for collection in connection.execute(sql.select(CAMPAIGNS.c.collection)).scalars().all():
        _chain(connection, collection)
    op.execute("UPDATE audiosim_schema SET version = 2")


def _chain(connection: sql.Connection, collection: str) -> None:
    own, columns = EVENTS.c.collection == collection, [EVENTS.c[name] for name in NAMES]
    rows = connection.execute(sql.select(EVENTS.c.number, *columns).where(own).order_by(EVENTS.c.number)).all()
    digest, found = FIRST, []
    for row in rows:
        digest = link(digest, row.number, _event(row))
        found.append({"at": row.number, "found": digest})
    if found:
        numbered = sql.update(EVENTS).where(own, EVENTS.c.number == sql.bindparam("at"))
        connection.execute(numbered.values(digest=sql.bindparam("found")), found)
    connection.execute(sql.update(CAMPAIGNS).where(CAMPAIGNS.c.collection == collection).values(digest=digest))


def _event(row: Any) -> Event:
    said = {name: getattr(row, name) for name in NAMES}
    return Event(**said | {name: json.loads(said[name]) for name in ("grades", "details")} | {"key": row.key or ""})
