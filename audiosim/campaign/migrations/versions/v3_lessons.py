"""Layout 3: what models learned is kept; tokens and imports, once made where they were missed, are part of the layout.

From here on Alembic says which layout a database has. The number in audiosim_schema stays at 3 for good: programs from
before do not know it, and refuse the database in one line.
"""

import sqlalchemy as sql
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Make the tables that are missing."""
    op.create_table(
        "audiosim_lessons",
        sql.Column("key", sql.Text, primary_key=True),
        sql.Column("time", sql.Text, nullable=False),
        sql.Column("learned", sql.Text, nullable=False),
    )
    op.create_table(
        "audiosim_tokens",
        *(sql.Column(name, sql.Text, primary_key=name == "name", nullable=False) for name in TOKENS),
        sql.UniqueConstraint("digest"),
        if_not_exists=True,
    )
    op.create_table(
        "audiosim_tokens_history",
        sql.Column("number", sql.Integer, primary_key=True),
        *(sql.Column(name, sql.Text, nullable=False) for name in ("time", "kind", "name")),
        if_not_exists=True,
    )
    _make_imports()
    op.execute("UPDATE audiosim_schema SET version = 3")


TOKENS = ("name", "role", "collection", "created", "expires", "digest")


def _make_imports() -> None:
    op.create_table(
        "audiosim_imports",
        sql.Column("number", sql.Integer, primary_key=True),
        sql.Column("collection", sql.Text, nullable=False),
        sql.Column("key", sql.Text),
        *(sql.Column(name, sql.Text, nullable=False) for name in ("prefix", "by", "time", "status")),
        sql.Column("lines", sql.Integer),
        sql.Column("written", sql.Integer, nullable=False),
        sql.Column("problem", sql.Text, nullable=False),
        sql.Column("body", sql.LargeBinary, nullable=False),
        sql.Column("worker", sql.Text, nullable=False),
        sql.Column("seen", sql.Float, nullable=False),
        sql.UniqueConstraint("collection", "key"),
        if_not_exists=True,
    )
