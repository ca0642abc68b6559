"""Comparison of the kinds of questions: information per second of the best grade and of the best comparison."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from audiosim.campaign.event import ANSWERS, Event
from audiosim.campaign.seconds_taken import COMPARISON, GRADE, SecondsTaken
from audiosim.errors import InputError
from audiosim.selection import Selection
from audiosim.selection.comparison_values import ComparisonValues


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

    def row(self) -> dict[str, Any]:
        """The fields as plain values."""
        return self._asdict() | {"documents": list(self.documents)}

    def flat_row(self) -> dict[str, Any]:
        """The same with the documents as one text."""
        return self._asdict() | {"documents": " ".join(self.documents)}


def seconds_of(events: Iterable[Event]) -> SecondsTaken:
    """Seconds that the answers in a log took."""
    taken = SecondsTaken()
    for event in events:
        if event.kind in (*ANSWERS, "repeat", "comparison"):
            taken.note(event)
    return taken


def kinds_of_question(selection: Selection, taken: SecondsTaken, assessor: str = "") -> list[KindOfQuestion]:
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
    kinds = [
        KindOfQuestion(
            kind,
            taken.expected(kind, assessor),
            rates[kind] / most,
            pairs[places[0]].query if places else "",
            tuple(pairs[place].document for place in places),
        )
        for kind, _, places in found
    ]
    return sorted(kinds, key=lambda one: -one.relative)
