"""Environment of the migrations for Alembic: it receives an open connection in a transaction."""

from alembic import context

from audiosim.campaign.tables import LAYOUTS, TABLES

context.configure(
    connection=context.config.attributes["connection"], target_metadata=TABLES, version_table=LAYOUTS.name
)
context.run_migrations()
