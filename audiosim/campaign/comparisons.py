"""Comparisons for assessors, and the kind of question that gives the most information per second."""

import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from audiosim.campaign.event import Clock, Event, Record
from audiosim.campaign.log import Log
from audiosim.campaign.queue import Queue
from audiosim.campaign.rules import check_open, comparison_lease
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.state import ComparisonLease, Ledger, what_compares
from audiosim.campaign.timing import COMPARISON, GRADE
from audiosim.collection.pool import Pool
from audiosim.collection.values import PairedComparison
from audiosim.errors import InputError, check_count
from audiosim.joint.estimators import Comparing, RelevanceEstimator
from audiosim.ranking import Selection
from audiosim.ranking.values import ComparisonValues
from audiosim.stats.arrays import Array, Booleans


class Worth(NamedTuple):
    """Kind of question that gives the most information per second of one person.

    kind  grade or comparison
    grade, comparison  value of the best one of each, per second
    left  number of questions that remain for this person now, including those on lease to them
    """

    kind: Literal["grade", "comparison"]
    grade: float
    comparison: float
    left: int


class ComparisonQueue:
    """Comparisons of a campaign, as far as its settings allow them.

    selection  returns the current selection
    """

    def __init__(
        self,
        log: Log,
        ledger: Ledger,
        pool: Pool,
        queue: Queue,
        settings: CampaignSettings,
        clock: Clock,
        estimator: RelevanceEstimator,
        selection: Callable[[], Selection],
    ) -> None:
        if settings.comparisons != "none" and not isinstance(estimator, Comparing):
            raise InputError(f"comparisons need a model that supports them, such as joint, got {estimator.name}")
        self._log, self._ledger, self._pool, self._queue = log, ledger, pool, queue
        self._settings, self._clock, self._selection = settings, clock, selection
        self._estimator = estimator
        # The last ones by pairs allowed, because a person is first told what is worth most, and then handed it.
        self._valued = WeakKeyDictionary[Selection, tuple[Booleans, ComparisonValues | None]]()
        self._lots = np.random.default_rng(settings.seed).random((2, len(pool.pairs)))

    @property
    def allowed(self) -> str:
        """Comparisons among the questions: none, some or only."""
        return self._settings.comparisons

    def check_taken(self) -> None:
        """Raise an error if the model does not support comparisons."""
        if not isinstance(self._estimator, Comparing):
            raise InputError(f"the model {self._estimator.name} does not support comparisons; joint does")

    def in_force(self, back: Iterable[str] = ()) -> tuple[int, tuple[PairedComparison, ...]]:
        """Number of the last known line, and the valid comparisons then, the collection's own first.

        back  people set aside whose comparisons to include
        """
        with self._log.state:
            ledger = self._ledger
            return ledger.number, ledger.comparisons.in_force(ledger.aside.keys() - set(back))

    def answers(self, assessor: str) -> list[Record]:
        """Comparisons of an assessor that were not withdrawn, oldest first."""
        with self._log.state:
            records = [self._ledger.record(number) for number in self._ledger.counting(assessor)]
        return [record for record in records if record.event.kind == "comparison"]

    def answered(self, assessor: str, query: str, documents: Iterable[str]) -> bool:
        """True if this assessor has an answer about these two documents that was not withdrawn, in either order."""
        with self._log.state:
            return self._ledger.comparisons.number((assessor, query, frozenset(documents))) > 0

    def leases(self, assessor: str | None = None) -> list[ComparisonLease]:
        """Comparisons on lease now, in the order in which they were handed out."""
        with self._log.state:
            leases = self._ledger.comparisons.leases(self._clock())
        return [one for one in leases if assessor in (None, one.assessor)]

    def worth(self, assessor: str) -> Worth:
        """Kind of question that makes the best use of an assessor's time; pairs leased to them come first."""
        selection = self._selection()
        with self._log.state:
            now, values_at = self._clock(), self._ledger.seconds
            values = None if self.allowed == "none" else self._values(selection, assessor, now)
            seconds = {kind: values_at.expected(kind, assessor) for kind in (GRADE, COMPARISON)}
            free = self._queue.free(self._ledger, selection, now, assessor)
            comparisons = self._held(assessor, now)
            pairs = [lease for lease in self._ledger.leases(now) if lease.assessor == assessor]
        if values is None:
            return Worth(GRADE, 0.0, 0.0, int(free.sum()))
        left = len(comparisons) + int((values.values > 0).sum()) + (0 if self.allowed == "only" else int(free.sum()))
        grade = float(values.grades[free].max(initial=0.0)) / seconds[GRADE]
        comparison = float(values.values.max(initial=0.0)) / seconds[COMPARISON]
        compares = self.allowed == "only" or (not pairs and (comparisons or comparison > grade))
        return Worth(COMPARISON if compares else GRADE, grade, comparison, left)

    def ask(self, count: int, assessor: str) -> list[ComparisonLease]:
        """Most informative comparisons, leased to an assessor, those already leased first; fewer if fewer are left.

        New comparisons do not share documents. They are drawn with probabilities in proportion to their values: always
        taking the best would lead to overconfidence, see `DrawnByDoubt`.
        """
        if not assessor:
            raise InputError("comparisons are leased to assessors: expected the name of an assessor")
        check_count("the number of comparisons to ask for", count)
        selection = self._selection()

        def leased() -> list[Event]:
            now, lease_s = self._clock(), self._settings.lease_s
            check_open(self._ledger)
            chosen = [] if assessor in self._ledger.aside else self._choose(selection, count, assessor, now)
            return [comparison_lease(one, assessor, now, lease_s) for one in chosen]

        wanted = {what_compares(record.event.comparison) for record in self._log.write(leased)}
        return [one for one in self.leases(assessor) if (assessor, one.query, frozenset(one[1:3])) in wanted]

    def _choose(self, selection: Selection, count: int, assessor: str, now: datetime) -> list[PairedComparison]:
        chosen = self._held(assessor, now)[:count]
        values = self._values(selection, assessor, now)
        if values is None:
            return chosen
        taken = {place for one in chosen for pair in one.pairs if (place := self._pool.positions.get(pair)) is not None}
        for which in np.argsort(-self._drawn(values), kind="stable").tolist():
            first, second = int(values.first[which]), int(values.second[which])
            if len(chosen) == count:
                break
            if values.values[which] > 0 and first not in taken and second not in taken:
                taken |= {first, second}
                chosen.append(self._comparison(first, second, assessor))
        return chosen

    def _held(self, assessor: str, now: datetime) -> list[PairedComparison]:
        """The comparisons on lease to an assessor, without those of which they cannot judge a document."""
        leases = (one for one in self._ledger.comparisons.leases(now) if one.assessor == assessor)
        held = [PairedComparison(one.query, one.document_a, one.document_b, "=", assessor) for one in leases]
        cannot = self._ledger.cannot
        return [one for one in held if not any(assessor in cannot.get(pair, {}) for pair in one.pairs)]

    def _values(self, selection: Selection, assessor: str, now: datetime) -> ComparisonValues | None:
        """Values of comparisons for an assessor; 0 for those that they made or that are leased to anyone."""
        allowed, known = self._queue.answerable(self._ledger, assessor), self._valued.get(selection)
        if known is None or not np.array_equal(known[0], allowed):
            known = self._valued[selection] = allowed, ComparisonValues.of(selection, allowed)
        if (values := known[1]) is None:
            return None
        out = {one[1:] for one in self._ledger.comparisons.of(assessor)}
        out |= {(one.query, frozenset(one[1:3])) for one in self._ledger.comparisons.leases(now)}
        pairs = self._pool.pairs
        places = zip(values.first.tolist(), values.second.tolist(), strict=True)
        free = [
            (pairs[first].query, frozenset((pairs[first].document, pairs[second].document))) not in out
            for first, second in places
        ]
        return ComparisonValues(values.grades, values.first, values.second, values.values * np.array(free, dtype=float))

    def _drawn(self, values: ComparisonValues) -> Array:
        """(k,) values over lots from the exponential distribution, drawn once for each two pairs."""
        lots = (self._lots[0][values.first] + self._lots[1][values.second]) % 1
        return np.asarray(values.values / -np.log1p(-lots).clip(max=-1e-12))

    def _comparison(self, first: int, second: int, assessor: str) -> PairedComparison:
        """A comparison of two pairs; the order is drawn for each assessor, so that it favours no system."""
        (query, a), (_, b) = self._pool.pairs[first], self._pool.pairs[second]
        lot = hashlib.blake2b(json.dumps([self._settings.seed, assessor, query, a, b]).encode(), digest_size=1)
        turned = lot.digest()[0] % 2
        return PairedComparison(query, b if turned else a, a if turned else b, "=", assessor)


# Comparison of the kinds of questions: information per second of the best grade and of the best comparison.
