"""Layout 5: each line names its writer's layout; lines by writers of older layouts are refused."""

import sqlalchemy as sql
from alembic import op

revision = "5"
down_revision = "4"

REFUSAL = "the database was upgraded and this program is older: restart it with the version of the upgrade"
SQLITE = f"""CREATE TRIGGER audiosim_refuse_older BEFORE INSERT ON audiosim_events WHEN NEW.layout < 5
BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"""
POSTGRESQL = (
    f"""CREATE OR REPLACE FUNCTION audiosim_refuse_older() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'check_violation'; END $$""",
    """CREATE TRIGGER audiosim_refuse_older BEFORE INSERT ON audiosim_events FOR EACH ROW WHEN (NEW.layout < 5)
EXECUTE FUNCTION audiosim_refuse_older()""",
)


def upgrade() -> None:
    """Add the column, which older programs leave at 0, and the check that refuses 0."""
    op.add_column("audiosim_events", sql.Column("layout", sql.Integer, nullable=False, server_default="0"))
    for statement in (SQLITE,) if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
    # Programs from before the first release looked there for the layout.
    op.execute("DROP TABLE IF EXISTS audiosim_schema")
