"""The campaigns of a service: one for each collection, its log in a database or in memory."""

from dataclasses import dataclass, field

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, MemoryStore, Store
from audiosim.corpus.collection import Collection
from audiosim.measures.measure import Measure
from audiosim.plugins import find_measure
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.selection.stopping import Confidence, StoppingRule
from service.questions import Question

WAIT_S = 1.0  # for others who write, and for an answer of the database


@dataclass(frozen=True, slots=True)
class Judging:
    """How the campaigns of a service go.

    database  URL of the logs; in memory where None: they end with the process
    measure   that the systems are ranked by; None for CG at the collection's cutoff
    goal      when judging may stop; nothing stops by itself
    questions the organiser's own, asked of every pair beside its grade
    settings  the rest
    """

    database: str | None = None
    measure: str | None = None
    goal: StoppingRule = field(default_factory=lambda: Confidence(0.95))
    questions: tuple[Question, ...] = ()
    settings: CampaignSettings = field(default_factory=lambda: CampaignSettings(patience_s=WAIT_S))

    def store(self, collection: Collection) -> Store:
        """Where the log of a collection's campaign is kept."""
        return DatabaseStore(self.database, collection.identifier, WAIT_S) if self.database else MemoryStore()

    def measure_of(self, collection: Collection) -> Measure:
        """What the systems of a collection are ranked by."""
        return find_measure(self.measure or f"CG@{collection.cutoff}")

    def open(self, collection: Collection, estimator: RelevanceEstimator, store: Store) -> Campaign:
        """The campaign of a collection, where its log left it.

        estimator  for the pool of the collection down to the cutoff of the measure
        """
        return Campaign(collection, estimator, self.measure_of(collection), store, self.settings)
