"""A campaign: an append-only log of judgments, and the selection that it adds up to."""

from collections.abc import Iterator
from typing import Protocol

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import build_pool
from audiosim.errors import AudiosimError, InputError
from audiosim.measures.expected import Ranking
from audiosim.measures.measure import Measure, as_measure
from audiosim.relevance.estimators import RelevanceEstimator, built_in
from audiosim.selection import Selection


class Store(Protocol):
    """An append-only log of judgments, numbered from 1.

    What `append` has returned a number for is safe, and `read` gives it back in that order, for ever.
    """

    def append(self, judgment: Judgment) -> int: ...

    def read(self, after: int = 0) -> Iterator[tuple[int, Judgment]]:
        """The judgments whose number is higher than `after`, with their numbers."""
        ...


class MemoryStore:
    """A log that lives as long as the process."""

    def __init__(self) -> None:
        self._judgments: list[Judgment] = []

    def append(self, judgment: Judgment) -> int:
        self._judgments.append(judgment)
        return len(self._judgments)

    def read(self, after: int = 0) -> Iterator[tuple[int, Judgment]]:
        return iter(enumerate(self._judgments[after:], start=after + 1))


METADATA = sql.MetaData()
LOG = sql.Table(
    "judgments",
    METADATA,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("collection", sql.Text, nullable=False, index=True),
    sql.Column("query", sql.Text, nullable=False),
    sql.Column("document", sql.Text, nullable=False),
    sql.Column("grade", sql.Float, nullable=False),
    sql.Column("assessor", sql.Text, nullable=False),
    sql.Column("time", sql.Text, nullable=False),
)
COLUMNS = (LOG.c.query, LOG.c.document, LOG.c.grade, LOG.c.assessor, LOG.c.time)


class DatabaseStore:
    """The log of one collection in a database, such as sqlite:///campaign.db.

    SQLite is set to write ahead and to wait for the disk, so that a judgment is safe once `append` returns.
    """

    def __init__(self, url: str, collection: str) -> None:
        self._collection = collection
        try:
            self._engine = sql.create_engine(url)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise InputError(
                f"cannot use database {url!r}: {error}; expected a URL such as sqlite:///campaign.db"
            ) from None
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine, "connect", _make_durable)
        try:
            METADATA.create_all(self._engine)
        except SQLAlchemyError as error:
            raise _failure(self._engine, error) from error

    def append(self, judgment: Judgment) -> int:
        row = {
            "collection": self._collection,
            "query": judgment.query,
            "document": judgment.document,
            "grade": judgment.grade,
            "assessor": judgment.assessor,
            "time": judgment.time,
        }
        try:
            with self._engine.begin() as connection:
                key = connection.execute(sql.insert(LOG).values(row)).inserted_primary_key
        except SQLAlchemyError as error:
            raise _failure(self._engine, error) from error
        assert key is not None
        return int(key[0])

    def read(self, after: int = 0) -> Iterator[tuple[int, Judgment]]:
        mine = (LOG.c.collection == self._collection) & (LOG.c.number > after)
        try:
            with self._engine.connect() as connection:
                rows = connection.execute(sql.select(LOG.c.number, *COLUMNS).where(mine).order_by(LOG.c.number)).all()
        except SQLAlchemyError as error:
            raise _failure(self._engine, error) from error
        return iter((row[0], Judgment(*row[1:])) for row in rows)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _make_durable(connection: sql.engine.interfaces.DBAPIConnection, _: object) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _failure(engine: sql.Engine, error: SQLAlchemyError) -> AudiosimError:
    reason = str(getattr(error, "orig", None) or error).splitlines()[0]
    return AudiosimError(f"database {engine.url.render_as_string()}: {reason}")


class Campaign:
    """The judgments of a collection so far, and what they add up to.

    Its log is its state: opened again on the same log, it is where it was. Judgments that the
    collection came with count as made before the log began.
    """

    def __init__(
        self,
        collection: Collection,
        model: str | RelevanceEstimator | None = None,
        measure: str | Measure = "CG@5",
        store: Store | None = None,
        batch: int = 1,
    ) -> None:
        """Open the campaign on a log, in memory where none is given, and replay what it holds.

        model, measure  as for `audiosim.estimate`
        batch           after how many judgments the estimator is asked again
        """
        self._store = MemoryStore() if store is None else store
        measure = as_measure(measure)
        pool = build_pool(collection, measure.cutoff)
        log = [judgment for _, judgment in self._store.read()]
        whole = len(log) - len(log) % max(batch, 1)  # after a whole batch only the grades count, not how they came
        settled = [*collection.judgments, *log[:whole]]
        self._selection = Selection.start(pool, measure, built_in(pool, model), settled, batch)
        for judgment in log[whole:]:
            self._selection = self._selection.tell(judgment)

    @property
    def selection(self) -> Selection:
        """Where the campaign stands."""
        return self._selection

    @property
    def confidence(self) -> float:
        """The confidence in the ranking now."""
        return self._selection.confidence

    @property
    def ranking(self) -> Ranking:
        """What the systems' scores are expected to be now."""
        return self._selection.ranking

    def ask(self, count: int = 1) -> list[Pair]:
        """The unjudged pairs most worth judging, best first."""
        return self._selection.ask(count)

    def tell(self, judgment: Judgment) -> None:
        """Take a judgment in: checked first, then written to the log, then counted."""
        following = self._selection.tell(judgment)
        self._store.append(judgment)
        self._selection = following
