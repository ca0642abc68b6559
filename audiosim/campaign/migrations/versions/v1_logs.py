"""Layout 1: the logs of campaigns."""

import sqlalchemy as sql
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "audiosim_schema",
        sql.Column("one", sql.Integer, primary_key=True, autoincrement=False),
        sql.Column("version", sql.Integer, nullable=False),
    )
    op.create_table(
        "audiosim_campaigns",
        sql.Column("collection", sql.Text, primary_key=True),
        sql.Column("last", sql.BigInteger, nullable=False),
    )
    texts = ("kind", "time", "assessor", "query", "document", "grades", "details")
    op.create_table(
        "audiosim_events",
        sql.Column("collection", sql.Text, primary_key=True),
        sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
        *(sql.Column(name, sql.Text, nullable=False) for name in texts),
        sql.Column("key", sql.Text),
        sql.Column("refers", sql.BigInteger, nullable=False),
        sql.Column("until", sql.Text, nullable=False),
        sql.UniqueConstraint("collection", "assessor", "key"),
    )
    op.execute("INSERT INTO audiosim_schema (one, version) VALUES (1, 1)")
