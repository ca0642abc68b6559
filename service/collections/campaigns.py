"""The campaigns of a service: one per collection, with its log in a database or in memory."""

import json
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import make_url

from audiosim.campaign import Campaign, CampaignSettings, DatabaseStore, MemoryStore, Store
from audiosim.campaign.engine import database_path
from audiosim.campaign.event import Clock, Record, utc_now
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_judgments
from audiosim.collection.pool import Pool
from audiosim.collection.task import Question
from audiosim.collection.values import Pair, mean_grades
from audiosim.errors import InputError, StoreError, placed
from audiosim.joint.estimators import RelevanceEstimator
from audiosim.measures.measure import Measure, as_measure
from audiosim.ordinal.model import model_names
from audiosim.ranking.rules import SELECTION_RULE_POINT
from audiosim.ranking.stopping import StoppingRule, as_stopping_rule, parse_stopping_rule
from audiosim.service.process.learning import Errands
from audiosim.tables.toml import read_toml
from audiosim.text import choices

LISTEN_S, LONGEST_LISTEN_S = 5.0, 600.0
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
    known     file of known grades, read on each collection's scale
    known_share  share of each assessor's pairs that have a known grade
    errands   long computations, in separate processes
    """

    database: str | None = None
    measure: str | None = None
    stopping_rule: StoppingRule = field(default_factory=lambda: as_stopping_rule(0.95))
    questions: tuple[Question, ...] = ()
    settings: CampaignSettings = field(default_factory=lambda: CampaignSettings(patience_s=WAIT_S))
    sounds: tuple[Path, ...] = ()
    listen_s: float | None = None
    known: Path | None = None
    known_share: float = 0.0
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

    def knowing(self, collection: Collection) -> "Judging":
        """The settings with the known grades of a collection's pairs."""
        if self.known is None:
            return self
        grades = mean_grades(read_judgments(self.known, collection.scale)[1])
        return replace(self, settings=replace(self.settings, known=self.known_share, known_grades=grades))

    def measure_of(self, collection: Collection) -> Measure:
        """Measure that ranks the systems of a collection."""
        return as_measure(self.measure or "CG", collection.cutoff)

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


# campaign.toml in a collection's folder: settings of its campaign that replace the service's.


FILE = "campaign.toml"


class CampaignFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of one collection's campaign; None: the service's.

    measure         measure that ranks the systems, such as nDCG@10
    stopping_rule   condition under which judging may stop, such as confidence=0.95
    selection_rule  rule that chooses the pairs to judge, such as drawn
    model           published model, such as joint
    twice           share of the pairs that two people judge, 0 to 1
    comparisons     comparisons among the questions: none, some or only
    candidates      candidates on a page, 1 to 8
    listen          seconds to listen to each clip before an answer, at most 600
    """

    measure: str | None = None
    stopping_rule: str | None = None
    selection_rule: str | None = None
    model: str | None = None
    twice: float | None = None
    comparisons: str | None = None
    candidates: int | None = None
    listen: float | None = None

    def __post_init__(self) -> None:
        if self.measure is not None:
            as_measure(self.measure, 1)
        if self.stopping_rule is not None:
            parse_stopping_rule(self.stopping_rule)
        if self.selection_rule is not None:
            _check_known("selection rule", self.selection_rule, SELECTION_RULE_POINT.names())
        if self.model is not None:
            _check_known("model", self.model, published_models())
        self._handed(CampaignSettings())
        if self.listen is not None and not 0 <= self.listen <= LONGEST_LISTEN_S:
            raise InputError(f"seconds to listen must be from 0 to {LONGEST_LISTEN_S:g}, got {self.listen:g}")

    @classmethod
    def of(cls, folder: str | Path | None) -> "CampaignFile":
        """The settings in a collection's folder; all None without a file."""
        path = None if folder is None else Path(folder) / FILE
        if path is None or not path.is_file():
            return cls()
        _, table = read_toml(path)
        with placed(path, (msgspec.ValidationError, InputError)):
            return msgspec.convert(table, cls)

    def of_judging(self, judging: Judging) -> Judging:
        """The service's settings, replaced by these where given."""
        rule = judging.stopping_rule if self.stopping_rule is None else parse_stopping_rule(self.stopping_rule)
        listen_s = judging.listen_s if self.listen is None else self.listen
        measure, settings = self.measure or judging.measure, self._handed(judging.settings)
        return replace(judging, measure=measure, stopping_rule=rule, settings=settings, listen_s=listen_s)

    def _handed(self, settings: CampaignSettings) -> CampaignSettings:
        """Settings for handing pairs out, replaced by these where given."""
        names = ("selection_rule", "twice", "comparisons", "candidates")
        given: dict[str, Any] = {name: said for name in names if (said := getattr(self, name)) is not None}
        return replace(settings, **given)

    def lines(self) -> list[str]:
        """The lines of the file."""
        said = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in said if value is not None]


def published_models() -> list[str]:
    """Names of the models that a campaign may have, without their scales."""
    return sorted({"uniform", *(name.rpartition("-")[0] for name in model_names())})


def _check_known(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InputError(f"unknown {what} {name!r:.80}, expected one of {choices(name, known)}")
