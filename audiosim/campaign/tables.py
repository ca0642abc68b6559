"""The tables of a database: campaigns, tokens, received files, and lessons of models; see `schema`.

One row per collection holds the number and the digest of its last event. A writer first reserves the next numbers there
and locks the row until everything is written, so that events become readable in the order of their numbers.
"""

import json
from typing import Any

import sqlalchemy as sql
from msgspec import Struct, structs

from audiosim.campaign.event import MODEL, Event


def _text(name: str, **more: Any) -> sql.Column[str]:
    return sql.Column(name, sql.Text, nullable=False, **more)


def _texts(*names: str) -> list[sql.Column[str]]:
    return [_text(name) for name in names]


TABLES = sql.MetaData()
LAYOUT = 5  # the latest, of migrations/versions
LAYOUTS = sql.Table(  # Alembic's table: its single row names the layout of the database
    "audiosim_version",
    TABLES,
    sql.Column("version_num", sql.String(32), nullable=False),
    sql.PrimaryKeyConstraint("version_num", name="audiosim_version_pkc"),
)
CAMPAIGNS = sql.Table(
    "audiosim_campaigns",
    TABLES,
    _text("collection", primary_key=True),
    sql.Column("last", sql.BigInteger, nullable=False),
    # digest of the last event; JSON: the collection that was judged, and rules of the campaign
    *(_text(name, server_default="") for name in ("digest", "about", "rules")),
)
EVENTS = sql.Table(
    "audiosim_events",
    TABLES,
    _text("collection", primary_key=True),
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    *_texts("kind", "time", "assessor", "query", "document", "grades", "details"),  # the last two are JSON
    sql.Column("key", sql.Text),  # NULL if there is none, as in many rows
    sql.Column("refers", sql.BigInteger, nullable=False),
    _text("until"),
    _text("digest", server_default=""),  # see `chain`
    sql.Column("layout", sql.Integer, nullable=False, server_default="0"),  # layout of its writer's version; see GUARDS
    sql.UniqueConstraint("collection", "assessor", "key"),
)
LESSONS = sql.Table(
    "audiosim_lessons",
    TABLES,
    _text("key", primary_key=True),  # digest of the judgments learned from, and of the program
    _text("time"),
    _text("learned"),  # JSON
)
TOKENS = sql.Table(
    "audiosim_tokens",
    TABLES,
    _text("name", primary_key=True),
    *_texts("role", "collection", "created", "expires"),
    _text("digest", unique=True),
)
TOKENS_HISTORY = sql.Table(
    "audiosim_tokens_history",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True),
    _text("time"),
    _text("kind"),  # create, revoke
    _text("name"),
)
# Created on first use, outside the layouts: programs that do not know it are not affected.
BESIDE = sql.MetaData()
RESULT_LINKS = sql.Table(
    "audiosim_result_links",
    BESIDE,
    _text("name", primary_key=True),
    _text("collection", primary_key=True),
    *_texts("created", "expires"),
    _text("digest", unique=True),
)
OPEN_LINKS = sql.Table(
    "audiosim_open_links",
    BESIDE,
    _text("code", primary_key=True),
    *_texts("name", "collection", "created", "expires"),
    _text("closed"),  # time of closing; empty: open
    sql.Column("people", sql.Integer, nullable=False),
    sql.Column("joined", sql.Integer, nullable=False),
    _text("parameter"),
    sql.Column("judgments", sql.Integer, nullable=False),  # number allowed to a person; 0: any number
    *_texts("completion", "return_to"),
    _text("screened_out"),  # instead of `completion` after a failed headphone check
    _text("screened_return_to"),
    sql.UniqueConstraint("name", "collection"),
)
PARTICIPANTS = sql.Table(
    "audiosim_participants",
    BESIDE,
    _text("name", primary_key=True),
    _text("collection"),
    _text("code"),  # code of the open link
    sql.Column("reference", sql.Text),  # the referrer's own reference for the person; NULL without one
    sql.Column("device", sql.Text),  # digest of a secret in their browser; NULL if there is a reference
    _text("created"),
    sql.UniqueConstraint("code", "reference"),
    sql.UniqueConstraint("code", "device"),
)
CARDS = sql.Table(
    "audiosim_cards",
    BESIDE,
    _text("collection", primary_key=True),
    _text("card"),  # JSON: its entry in lists of collections, and its validity
)
PUBLICATIONS = sql.Table(
    "audiosim_publications",
    BESIDE,
    _text("collection", primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    *_texts("time", "by"),
    sql.Column("judgments", sql.Integer, nullable=False),
    _text("withdrawn"),  # time of withdrawal; empty: never
    sql.Column("content", sql.LargeBinary, nullable=False),  # the bundle, a zip file; empty once it is withdrawn
)
KEPT_MODELS = sql.Table(
    "audiosim_kept_models",
    BESIDE,
    _text("name", primary_key=True),
    *_texts("version", "scale", "time", "by"),
    _text("origin"),  # origin in words: the file sent, or the training collections
    _text("content"),  # the model file
)
TRAININGS = sql.Table(
    "audiosim_trainings",
    BESIDE,
    _text("collection", primary_key=True),  # collection in which it was begun
    _text("worker"),  # process that trains
    _text("state"),  # JSON
    sql.Column("seen", sql.Float, nullable=False),  # last sign of life, in seconds since 1970
)
IMPORTS = sql.Table(
    "audiosim_imports",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True),
    _text("collection"),
    _text("prefix"),  # prefix of the keys of its judgments
    *_texts("by", "time", "status"),
    sql.Column("lines", sql.Integer),  # judgments that it holds; NULL until it is read
    sql.Column("written", sql.Integer, nullable=False),
    _text("problem"),
    sql.Column("body", sql.LargeBinary, nullable=False),  # empty when it has ended
    _text("worker"),  # process at work on it
    sql.Column("seen", sql.Float, nullable=False),  # last sign of life of that process, in seconds since 1970
)
DELIVERIES = sql.Table(  # accepted files of every kind: their senders and their answers
    "audiosim_deliveries",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True),
    _text("collection"),
    _text("sender"),  # empty if no name was given
    sql.Column("key", sql.Text),  # key of the request; NULL without one
    _text("digest"),  # SHA-256 of the content sent; empty where unknown
    sql.Column("bytes", sql.BigInteger, nullable=False),  # part of the content that is kept
    _text("time"),
    _text("answer"),  # number of an import, or JSON
    sql.UniqueConstraint("collection", "sender", "key"),
)
FIELDS = tuple(EVENTS.c[name] for name in list(EVENTS.c.keys())[2:-2])

# A program that runs during an upgrade of the database does not notice it. It does not fill the column `layout`, so its
# lines are refused: they would lack the additions of the upgrade, and nobody could read the log any more.
REFUSAL = "the database was upgraded and this program is older: restart it with the version of the upgrade"
GUARDS = {
    "sqlite": (
        f"""CREATE TRIGGER audiosim_refuse_older BEFORE INSERT ON audiosim_events WHEN NEW.layout < 5
        BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END""",
    ),
    "postgresql": (
        f"""CREATE OR REPLACE FUNCTION audiosim_refuse_older() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'check_violation'; END $$""",
        """CREATE TRIGGER audiosim_refuse_older BEFORE INSERT ON audiosim_events FOR EACH ROW WHEN (NEW.layout < 5)
        EXECUTE FUNCTION audiosim_refuse_older()""",
    ),
}
for dialect, statements in GUARDS.items():
    for statement in statements:
        sql.event.listen(EVENTS, "after_create", sql.DDL(statement).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


def event_of(row: Any) -> Event:
    """The event of a row's FIELDS."""
    kind, time, assessor, query, document, grades, details, key, refers, until = row
    return Event(
        kind, time, assessor, query, document, json.loads(grades), json.loads(details), key or "", refers, until
    )


def row_of(event: Event) -> dict[str, Any]:
    """The FIELDS of an event's row."""
    texts = {"grades": json.dumps(event.grades), "details": json.dumps(event.details), "key": event.key or None}
    return {name: getattr(event, name) for name in Event.__slots__} | texts


# The models that services keep in a database beside their campaigns: rows of a table made with the first model.


ALL_BUT_CONTENT = [column for column in KEPT_MODELS.c if column.name != "content"]


class KeptModel(Struct, frozen=True):
    """A model kept by a service.

    origin  origin of the model, in words
    """

    name: str
    version: str
    scale: str
    time: str
    by: str
    origin: str


def has_kept_models(connection: sql.Connection) -> bool:
    """True if the database ever had a kept model; required by the other functions here, except `keep_model_row`."""
    return sql.inspect(connection).has_table(KEPT_MODELS.name)


def kept_models(connection: sql.Connection) -> list[KeptModel]:
    """The kept models, by name."""
    rows = connection.execute(sql.select(*ALL_BUT_CONTENT).order_by(KEPT_MODELS.c.name))
    return [KeptModel(**row._mapping) for row in rows]


def kept_content(connection: sql.Connection, name: str) -> str:
    """The file of a kept model, as text; a KeyError if there is none of this name."""
    found = connection.execute(sql.select(KEPT_MODELS.c.content).where(KEPT_MODELS.c.name == name)).scalar()
    if found is None:
        raise KeyError(name)
    return str(found)


def keep_model_row(connection: sql.Connection, model: KeptModel, content: str) -> None:
    """Keep a model; an IntegrityError if its name is taken."""
    KEPT_MODELS.create(connection, checkfirst=True)
    connection.execute(sql.insert(KEPT_MODELS), [{**structs.asdict(model), "content": content}])


def delete_kept(connection: sql.Connection, name: str) -> None:
    """Delete the row of a kept model."""
    connection.execute(sql.delete(KEPT_MODELS).where(KEPT_MODELS.c.name == name))


def campaigns_with_model(connection: sql.Connection, name: str) -> list[str]:
    """Collections, among all campaigns of the database, with this model as the last choice in their log."""
    if not sql.inspect(connection).has_table(CAMPAIGNS.name):
        return []
    last = sql.select(sql.func.max(EVENTS.c.number)).where(EVENTS.c.kind == MODEL)
    last = last.where(EVENTS.c.collection == CAMPAIGNS.c.collection).correlate(CAMPAIGNS)
    chosen = sql.select(EVENTS.c.collection, EVENTS.c.details).join(
        CAMPAIGNS, (CAMPAIGNS.c.collection == EVENTS.c.collection) & (EVENTS.c.number == last.scalar_subquery())
    )
    rows = connection.execute(chosen.order_by(EVENTS.c.collection))
    return [str(collection) for collection, details in rows if json.loads(details)["model"] == name]
