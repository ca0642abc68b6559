"""Databases as made by older versions of audiosim: judges a little with the code of an older commit, and dumps it.

    git worktree add ../older COMMIT
    PYTHONPATH=../older python tests/campaign/older/make.py URL ../older/fixtures/demo

Layout 4 is from 52a665f, layout 5 from the release 0.1.0. An SQLite database is then written as text by `.dump`, and a
PostgreSQL database by `pg_dump --inserts --no-owner` without its SET lines: these are the files beside this script.
"""

import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

from audiosim.campaign import Campaign, DatabaseStore, Event
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment
from audiosim.service.access.tokens import TokenStore
from audiosim.service.collections.imports import Delivery, ImportStore

NOW = [datetime(2026, 11, 21, 9, tzinfo=UTC)]


def clock() -> datetime:
    """A clock that advances by seven seconds at each reading."""
    NOW[0] += timedelta(seconds=7)
    return NOW[0]


def judge(url: str, folder: str) -> None:
    """Two assessors judge, one withdraws an answer, one cannot judge a pair, and the campaign is paused."""
    collection = Collection.load(folder)
    with closing(DatabaseStore(url, collection.identifier)) as store:
        campaign = Campaign(collection, "uniform", "CG@5", store, clock=clock)
        for number in range(6):
            name = ("ann", "ben")[number % 2]
            (pair,) = campaign.ask(1, name)
            campaign.tell(Judgment(pair.query, pair.document, 10.0 * number + 5, name))
        campaign.undo("ann")
        time = f"{clock():%Y-%m-%dT%H:%M:%S}.000Z"
        (pair,) = campaign.ask(1, "ben")
        campaign.tell(Event("cannot", time, "ben", *pair, details={"reason": "silent"}, key="k1"))
        campaign.pause("me", "lunch")


def give_tokens(url: str) -> None:
    """Create one valid token and one revoked token; their secrets are not kept."""
    tokens = TokenStore(url, clock=clock)
    tokens.create("ann", "assessor", "demo")
    tokens.create("ben", "assessor")
    tokens.revoke("ben")
    tokens.close()


def leave_import(url: str) -> None:
    """Leave a rejected file of judgments."""
    store = ImportStore(url)
    body = b"q d 1\n"
    file = store.add(Delivery.of("demo", "me", "key", body), body)
    store.end(file.number, "failed", "line 1: expected a header")
    store.close()


if __name__ == "__main__":
    judge(*sys.argv[1:3])
    give_tokens(sys.argv[1])
    leave_import(sys.argv[1])
