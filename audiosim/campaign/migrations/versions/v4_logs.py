"""Layout 4: the logs of campaigns, tokens, imports and deliveries, and the lessons of models.

This is the oldest layout that can be upgraded.
"""

import sqlalchemy as sql
from alembic import op

revision = "4"
down_revision = None

EVENT = ("kind", "time", "assessor", "query", "document", "grades", "details")
TOKEN = ("name", "role", "collection", "created", "expires", "digest")
IMPORT = ("collection", "prefix", "by", "time", "status")


def upgrade() -> None:
    """Create the tables."""
    _make_logs()
    _make_tokens()
    _make_files()
    op.create_table("audiosim_lessons", _text("key", primary_key=True), _text("time"), _text("learned"))


def _text(name: str, primary_key: bool = False) -> sql.Column[str]:
    return sql.Column(name, sql.Text, nullable=False, primary_key=primary_key)


def _make_logs() -> None:
    added = [sql.Column(name, sql.Text, nullable=False, server_default="") for name in ("digest", "about", "rules")]
    op.create_table(
        "audiosim_campaigns",
        _text("collection", primary_key=True),
        sql.Column("last", sql.BigInteger, nullable=False),
        *added,
    )
    op.create_table(
        "audiosim_events",
        _text("collection", primary_key=True),
        sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
        *map(_text, EVENT),
        sql.Column("key", sql.Text),
        sql.Column("refers", sql.BigInteger, nullable=False),
        _text("until"),
        sql.Column("digest", sql.Text, nullable=False, server_default=""),
        sql.UniqueConstraint("collection", "assessor", "key"),
    )


def _make_tokens() -> None:
    columns = [_text(name, primary_key=name == "name") for name in TOKEN]
    op.create_table("audiosim_tokens", *columns, sql.UniqueConstraint("digest"))
    number = sql.Column("number", sql.Integer, primary_key=True)
    op.create_table("audiosim_tokens_history", number, *map(_text, ("time", "kind", "name")))


def _make_files() -> None:
    op.create_table(
        "audiosim_imports",
        sql.Column("number", sql.Integer, primary_key=True),
        *map(_text, IMPORT),
        sql.Column("lines", sql.Integer),
        sql.Column("written", sql.Integer, nullable=False),
        _text("problem"),
        sql.Column("body", sql.LargeBinary, nullable=False),
        _text("worker"),
        sql.Column("seen", sql.Float, nullable=False),
    )
    op.create_table(
        "audiosim_deliveries",
        sql.Column("number", sql.Integer, primary_key=True),
        _text("collection"),
        _text("sender"),
        sql.Column("key", sql.Text),
        _text("digest"),
        sql.Column("bytes", sql.BigInteger, nullable=False),
        *map(_text, ("time", "answer")),
        sql.UniqueConstraint("collection", "sender", "key"),
    )
