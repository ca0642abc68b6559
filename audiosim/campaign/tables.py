"""The tables of campaigns in a database: made where there are none, brought up to date where they are older.

One row per collection holds the number and the digest of its last event; whoever appends takes the next numbers there
first and holds the row until all is written, so that numbers rise in the order in which events become readable.
"""

import json
from typing import Any

import sqlalchemy as sql
from sqlalchemy import exc
from sqlalchemy.schema import CreateTable

from audiosim.campaign.chain import FIRST, link
from audiosim.campaign.event import Event
from audiosim.errors import InputError

VERSION = 2  # of the tables; raised when they change

METADATA = sql.MetaData()
SCHEMA = sql.Table(
    "audiosim_schema",
    METADATA,
    sql.Column("one", sql.Integer, primary_key=True, autoincrement=False),  # always 1: there is one row
    sql.Column("version", sql.Integer, nullable=False),
)
CAMPAIGNS = sql.Table(
    "audiosim_campaigns",
    METADATA,
    sql.Column("collection", sql.Text, primary_key=True),
    sql.Column("last", sql.BigInteger, nullable=False),
    sql.Column("digest", sql.Text, nullable=False, server_default=""),  # of the last event
    sql.Column("about", sql.Text, nullable=False, server_default=""),  # JSON: the collection that was judged
    sql.Column("rules", sql.Text, nullable=False, server_default=""),  # JSON: of the campaign
)
EVENTS = sql.Table(
    "audiosim_events",
    METADATA,
    sql.Column("collection", sql.Text, primary_key=True),
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("time", sql.Text, nullable=False),
    sql.Column("assessor", sql.Text, nullable=False),
    sql.Column("query", sql.Text, nullable=False),
    sql.Column("document", sql.Text, nullable=False),
    sql.Column("grades", sql.Text, nullable=False),  # JSON
    sql.Column("details", sql.Text, nullable=False),  # JSON
    sql.Column("key", sql.Text),  # NULL where there is none: of those there may be many
    sql.Column("refers", sql.BigInteger, nullable=False),
    sql.Column("until", sql.Text, nullable=False),
    sql.Column("digest", sql.Text, nullable=False, server_default=""),  # see `chain`
    sql.UniqueConstraint("collection", "assessor", "key"),
)
FIELDS = tuple(EVENTS.c[name] for name in list(EVENTS.c.keys())[2:-1])
LATER = (EVENTS.c.digest, CAMPAIGNS.c.digest, CAMPAIGNS.c.about, CAMPAIGNS.c.rules)  # columns of version 2


def event_of(row: Any) -> Event:
    """The event that the FIELDS of a row say."""
    kind, time, assessor, query, document, grades, details, key, refers, until = row
    return Event(
        kind, time, assessor, query, document, json.loads(grades), json.loads(details), key or "", refers, until
    )


def row_of(event: Event) -> dict[str, Any]:
    """The FIELDS of an event's row."""
    return {
        "kind": event.kind,
        "time": event.time,
        "assessor": event.assessor,
        "query": event.query,
        "document": event.document,
        "grades": json.dumps(event.grades),
        "details": json.dumps(event.details),
        "key": event.key or None,
        "refers": event.refers,
        "until": event.until,
    }


def prepare_tables(engine: sql.Engine) -> None:
    """Make the tables where there are none, bring those of version 1 up to date; an error where they are later."""
    version = _version(engine)
    if version is None:
        try:
            _make_tables(engine)
        except exc.SQLAlchemyError:  # another process may make them at this moment
            if _version(engine) is None:
                raise
        version = _version(engine)
    if version == 1:
        _add_chain(engine)
        version = _version(engine)
    if version != VERSION:
        raise InputError(
            f"database {engine.url.render_as_string()} holds campaigns in version {version} of its tables, "
            f"expected version {VERSION}"
        )


def _version(engine: sql.Engine) -> int | None:
    with engine.connect() as connection:
        if not sql.inspect(connection).has_table(SCHEMA.name):
            return None
        return connection.execute(sql.select(SCHEMA.c.version)).scalar()


def _make_tables(engine: sql.Engine) -> None:
    with engine.begin() as connection:
        for table in METADATA.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
        connection.execute(sql.insert(SCHEMA).values(one=1, version=VERSION))


def _add_chain(engine: sql.Engine) -> None:
    """Bring tables of version 1 up to date, all at once: the columns of version 2, and the digest of every event."""
    with engine.begin() as connection:
        # First, as it keeps others from doing the same.
        if not connection.execute(sql.update(SCHEMA).where(SCHEMA.c.version == 1).values(version=VERSION)).rowcount:
            return
        for column in LATER:
            table = column.table.name
            connection.execute(sql.text(f"ALTER TABLE {table} ADD COLUMN {column.name} TEXT NOT NULL DEFAULT ''"))
        for collection in connection.execute(sql.select(CAMPAIGNS.c.collection)).scalars().all():
            _chain(connection, collection)


def _chain(connection: sql.Connection, collection: str) -> None:
    own = EVENTS.c.collection == collection
    rows = connection.execute(sql.select(EVENTS.c.number, *FIELDS).where(own).order_by(EVENTS.c.number)).all()
    digest, found = FIRST, []
    for number, *fields in rows:
        digest = link(digest, number, event_of(fields))
        found.append({"at": number, "found": digest})
    if found:
        numbered = sql.update(EVENTS).where(own, EVENTS.c.number == sql.bindparam("at"))
        connection.execute(numbered.values(digest=sql.bindparam("found")), found)
    connection.execute(sql.update(CAMPAIGNS).where(CAMPAIGNS.c.collection == collection).values(digest=digest))
