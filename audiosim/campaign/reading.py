"""The log of a campaign: as the judgments of a collection, and line by line."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing

from audiosim.campaign.event import Record
from audiosim.campaign.identity import Identity, check_same
from audiosim.campaign.ledger import Ledger
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Judgment


def judgments_in(url: str, collection: Collection) -> tuple[Judgment, ...]:
    """The judgments that hold in the campaign of a collection: its own, as changed by the campaign's log.

    url  of the database, which must be there and is not changed; a campaign that has not begun adds nothing
    """
    from audiosim.campaign.database import DatabaseStore

    store = DatabaseStore(url, collection.identifier, reading=True)
    try:
        ledger = Ledger(collection.scale, collection.judgments)
        for number, event in store.read():
            ledger.apply(number, event)
        about, _ = store.described()
        if about:
            check_same(Identity.load(about), Identity.of(collection), ledger.judged)
    finally:
        store.close()
    return ledger.judgments()


def log_in(url: str, collection: Collection) -> list[Record]:
    """The lines of the log of a collection's campaign in a database; none where it has not begun."""
    from audiosim.campaign.database import DatabaseStore

    with closing(DatabaseStore(url, collection.identifier, reading=True)) as store:
        return [Record(number, event) for number, event in store.read()]


def log_lines(records: Iterable[Record]) -> Iterator[str]:
    """The lines of a campaign's log as JSON."""
    return (json.dumps({"number": record.number, **record.event.row()}, ensure_ascii=False) for record in records)
