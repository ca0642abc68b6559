"""The models that services keep in a database beside their campaigns: rows of a table made with the first model."""

import json
from dataclasses import asdict, dataclass

import sqlalchemy as sql

from audiosim.campaign.event import MODEL
from audiosim.campaign.tables import CAMPAIGNS, EVENTS, KEPT_MODELS

ALL_BUT_CONTENT = [column for column in KEPT_MODELS.c if column.name != "content"]


@dataclass(frozen=True, slots=True)
class KeptModel:
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
    connection.execute(sql.insert(KEPT_MODELS), [{**asdict(model), "content": content}])


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
