"""SQL statements that read and write a log."""

import sqlalchemy as sql

from audiosim.campaign.tables import CAMPAIGNS, EVENTS, FIELDS

_of_collection = EVENTS.c.collection == sql.bindparam("of")
READ = (
    sql.select(EVENTS.c.number, EVENTS.c.digest, *FIELDS)
    .where(_of_collection, EVENTS.c.number >= sql.bindparam("since"))
    .order_by(EVENTS.c.number)
)
KNOWN = sql.select(EVENTS.c.number, *FIELDS).where(
    _of_collection, EVENTS.c.assessor == sql.bindparam("by"), EVENTS.c.key == sql.bindparam("with")
)
DIGEST = sql.select(EVENTS.c.digest).where(_of_collection, EVENTS.c.number == sql.bindparam("at"))
TAKE = (
    sql.update(CAMPAIGNS)
    .where(CAMPAIGNS.c.collection == sql.bindparam("of"))
    .values(last=CAMPAIGNS.c.last + sql.bindparam("count"))
    .returning(CAMPAIGNS.c.last, CAMPAIGNS.c.digest)
)
TAKE_AFTER = TAKE.where(CAMPAIGNS.c.last == sql.bindparam("after"))
WRITE_ON = (
    sql.update(CAMPAIGNS)
    .where(
        CAMPAIGNS.c.collection == sql.bindparam("of"),
        CAMPAIGNS.c.last == sql.bindparam("after"),
        CAMPAIGNS.c.digest == sql.bindparam("known"),
    )
    .values(last=sql.bindparam("until"), digest=sql.bindparam("head"))
)
SEAL = sql.update(CAMPAIGNS).where(CAMPAIGNS.c.collection == sql.bindparam("of")).values(digest=sql.bindparam("head"))
