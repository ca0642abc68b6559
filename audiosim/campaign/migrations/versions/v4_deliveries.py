"""Layout 4: what was sent under a key is kept with its sender and the digest of its body, for files of every kind.

The keys of imports, once of a collection whoever sent them, move there; of their bodies no digest is known.
"""

import sqlalchemy as sql
from alembic import op

revision = "4"
down_revision = "3"

OF_IMPORTS = """
INSERT INTO audiosim_deliveries (collection, sender, key, digest, bytes, time, answer)
SELECT collection, "by", "key", '', 0, time, CAST(number AS TEXT) FROM audiosim_imports WHERE "key" IS NOT NULL
"""


def upgrade() -> None:
    """Make the table of deliveries, and take the keys of imports over."""
    op.create_table(
        "audiosim_deliveries",
        sql.Column("number", sql.Integer, primary_key=True),
        sql.Column("collection", sql.Text, nullable=False),
        sql.Column("sender", sql.Text, nullable=False),
        sql.Column("key", sql.Text),
        sql.Column("digest", sql.Text, nullable=False),
        sql.Column("bytes", sql.BigInteger, nullable=False),
        sql.Column("time", sql.Text, nullable=False),
        sql.Column("answer", sql.Text, nullable=False),
        sql.UniqueConstraint("collection", "sender", "key"),
    )
    op.execute(OF_IMPORTS)
    with op.batch_alter_table("audiosim_imports") as imports:
        imports.drop_column("key")
