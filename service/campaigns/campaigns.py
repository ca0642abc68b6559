"""The campaigns of a service: one per collection, with its log in a database or in memory."""

import json
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import make_url

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, MemoryStore, Store
from audiosim.campaign.engine import database_path
from audiosim.campaign.event import Clock, Record, utc_now
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool
from audiosim.corpus.question import Question
from audiosim.errors import StoreError
from audiosim.measures.measure import Measure
from audiosim.plugins import find_measure
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.selection.stopping_definition import StoppingRule
from audiosim.selection.stopping_rules import as_stopping_rule
from audiosim.service.campaigns.learning_process import Errands

LISTEN_S = 5.0
WAIT_S = 2.0  # longest wait for other writers, and for an answer of the database


@dataclass(frozen=True, slots=True)
class Judging:
    """Settings of the campaigns of a service.

    database  URL of the logs; None: in memory, lost with the process
    measure   measure that ranks the systems; None for CG at the collection's cutoff
    stopping_rule  condition under which judging may stop; a campaign never stops by itself
    questions the organiser's own, asked about every pair in addition to its grade
    settings  further settings
    sounds    further folders whose files may be played
    listen_s  required listening time per clip; None: as in the campaign
    errands   long computations, in separate processes
    """

    database: str | None = None
    measure: str | None = None
    stopping_rule: StoppingRule = field(default_factory=lambda: as_stopping_rule(0.95))
    questions: tuple[Question, ...] = ()
    settings: CampaignSettings = field(default_factory=lambda: CampaignSettings(patience_s=WAIT_S))
    sounds: tuple[Path, ...] = ()
    listen_s: float | None = None
    errands: Errands = field(default_factory=Errands, compare=False)

    @property
    def database_file(self) -> Path | None:
        """The file of an SQLite database; None for other databases, or none."""
        return None if self.database is None else database_path(make_url(self.database))

    def listen(self, store: Store, has_sounds: bool) -> float:
        """Required listening time per clip of a campaign: as set now, or as stored with its log."""
        about, rules = store.described()
        before = json.loads(rules).get("listen_s") if rules else None
        if self.listen_s is None:
            return float(before) if before is not None else LISTEN_S if has_sounds else 0.0
        if self.listen_s != before:
            with suppress(StoreError):  # a log that is not writable may still be readable
                store.describe(about, json.dumps({"listen_s": self.listen_s}))
        return self.listen_s

    def store(self, collection: Collection) -> Store:
        """Store for the log of a collection's campaign."""
        return DatabaseStore(self.database, collection.identifier, WAIT_S) if self.database else MemoryStore()

    @staticmethod
    def clock_of(store: Store) -> Clock:
        """Clock of a campaign: that of its database, shared by several servers."""
        return store.clock if isinstance(store, DatabaseStore) else utc_now

    def measure_of(self, collection: Collection) -> Measure:
        """Measure that ranks the systems of a collection."""
        return find_measure(self.measure or "CG", collection.cutoff)

    def open(
        self,
        collection: Collection,
        estimator: RelevanceEstimator,
        store: Store,
        withheld: Container[Pair],
        known: Iterable[Record] = (),
        pool: Pool | None = None,
    ) -> Campaign:
        """The campaign of a collection, continued from its log.

        estimator  for the pool of the collection down to the cutoff of the measure
        withheld   pairs that nobody may judge
        known      first lines of its log, as for `Campaign`
        pool       as for `Campaign`
        """
        measure = self.measure_of(collection)
        campaign = Campaign(
            collection,
            estimator,
            measure,
            store,
            self.settings,
            clock=self.clock_of(store),
            withheld=withheld,
            known=known,
            count_long=self.errands.count,
            pool=pool,
        )
        self.stopping_rule.level(campaign.selection)  # so that an invalid goal is refused now, not at the first request
        return campaign
