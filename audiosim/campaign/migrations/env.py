"""Environment of the migrations, as Alembic reads it: a connection that is open and in a transaction is handed in."""

from alembic import context

from audiosim.campaign.tables import LAYOUTS, TABLES

context.configure(
    connection=context.config.attributes["connection"], target_metadata=TABLES, version_table=LAYOUTS.name
)
context.run_migrations()
