"""The kind of question, a grade or a comparison, that gives the most information per second."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from audiosim.campaign.event import ANSWERS, Event, comparison_event, utc_now, write_time
from audiosim.campaign.reader import log_in
from audiosim.campaign.timing import COMPARISON, GRADE, SecondsTaken
from audiosim.collection.arguments import judgments_second
from audiosim.errors import ArgumentError, InputError
from audiosim.joint.estimators import taught
from audiosim.measures.measure import Measure
from audiosim.ranking import Selection
from audiosim.ranking.about import DifferenceDistribution
from audiosim.ranking.expected import to_rank
from audiosim.ranking.values import ComparisonValues
from audiosim.ranking.verbs import ModelOrName
from audiosim.results.value import Result, Row, listed
from audiosim.text import NOTES, did_you_mean, quoted


class KindOfQuestion(NamedTuple):
    """Best question of a kind.

    kind       grade or comparison
    seconds    expected time of an answer
    relative   information per second, as a share of the best kind's
    query, documents  the question; empty if none of the kind is left
    """

    kind: str
    seconds: float
    relative: float
    query: str
    documents: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class KindsOfQuestion(Result):
    """The best question of each kind, the most informative per second first."""

    kinds: tuple[KindOfQuestion, ...]

    def __repr__(self) -> str:
        return f"most informative per second: {listed([one.kind for one in self.kinds])}"

    def rows(self) -> list[Row]:
        """One row per kind, with its documents as one text."""
        return [one._asdict() | {"documents": " ".join(one.documents)} for one in self.kinds]

    def to_dict(self) -> list[Row]:
        """The kinds as plain values, ready for JSON."""
        return [one._asdict() | {"documents": list(one.documents)} for one in self.kinds]


@judgments_second
def kinds_of_question(
    collection: object,
    model: ModelOrName = None,
    measure: str | Measure = "CG",
    *,
    assessor: str = "",
    distribution: DifferenceDistribution = "t",
    judgments: object = None,
    scale: str | None = None,
    log: str | None = None,
) -> KindsOfQuestion:
    """Show which kind of question is most informative per second, a grade or a comparison, with the best of each.

    Columns: kind, the expected seconds of an answer, its information per second relative to the best kind, and the
    question's query and documents. The seconds are those of the campaign's log, or of comparisons.tsv. The best
    question is that of the selection rule `doubts`: `audiosim next`, which draws pairs, may begin with another.

    assessor   person whose seconds count. Default: everybody's
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    judgments  as for `estimate`, as is scale
    log        address of the database with the campaign

    Example: `audiosim questions demo`
    """
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    if log is not None:
        events = [record.event for record in log_in(log, collection)]
    else:
        events = [comparison_event(one, write_time(utc_now())) for one in collection.comparisons]
    names = sorted({event.assessor for event in events} - {""})
    if assessor and assessor not in names:
        unknown = f"nobody named {quoted(assessor)} answered there{did_you_mean(assessor, names)}"
        raise ArgumentError("assessor", unknown)
    learned = taught(pool, model, collection.judgments)
    selection = Selection.start(pool, measure, learned, collection.judgments, distribution=distribution)
    found = _best_of_kinds(selection, seconds_of(events), assessor)
    if not any(one.documents for one in found):
        NOTES.info("nothing is left to ask: no grade or comparison would add information")
    return KindsOfQuestion(tuple(found))


def seconds_of(events: Iterable[Event]) -> SecondsTaken:
    """Seconds that the answers in a log took."""
    taken = SecondsTaken()
    for event in events:
        if event.kind in (*ANSWERS, "repeat", "comparison"):
            taken.note(event)
    return taken


def _best_of_kinds(selection: Selection, taken: SecondsTaken, assessor: str = "") -> list[KindOfQuestion]:
    """Best question of each kind for a person; first the kind that gives the most information per second.

    assessor  person to use the times of; empty: a new person
    """
    values = ComparisonValues.of(selection, ~selection.belief.judged)
    if values is None:
        name = selection.estimator.name
        raise InputError(f"kinds of questions need a model that supports comparisons, such as joint, got {name}")
    pairs, grades = selection.pool.pairs, np.where(selection.belief.judged, 0.0, values.grades)
    found: list[tuple[str, float, tuple[int, ...]]] = [(GRADE, 0.0, ()), (COMPARISON, 0.0, ())]
    if grades.any():
        best = int(np.argmax(grades))
        found[0] = (GRADE, float(grades[best]), (best,))
    if values.values.any():
        best = int(np.argmax(values.values))
        found[1] = (COMPARISON, float(values.values[best]), (int(values.first[best]), int(values.second[best])))
    rates = {kind: value / taken.expected(kind, assessor) for kind, value, _ in found}
    most = max(rates.values()) or 1.0
    kinds = []
    for kind, _, places in found:
        query, documents = pairs[places[0]].query if places else "", tuple(pairs[place].document for place in places)
        kinds.append(KindOfQuestion(kind, taken.expected(kind, assessor), rates[kind] / most, query, documents))
    return sorted(kinds, key=lambda one: -one.relative)
