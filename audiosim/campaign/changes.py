"""Changes caused by the lines of a campaign's log, and the judgments and comparisons after them."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from audiosim.campaign.comparison_ledger import what_compares
from audiosim.corpus.model import Pair, PairedComparison
from audiosim.corpus.pool import Pool
from audiosim.relevance.judges import Panel


class Change(NamedTuple):
    """Change of a pair's grade, or of its assessors: the effect of a log line on the belief.

    A line that sets a person aside gives one change for each pair that they judged.

    number     number of the line
    pair       pair of any pool
    grade      mean over the assessors with a valid judgment of it from here on; NaN without any
    assessors  number of these assessors
    more       difference to the previous number: -1, 0 or 1
    assessor   person with the changed judgment
    own        their grade of it from here on; NaN: none
    comparison  answer to a comparison, valid from here on, instead of a grade: `pair` is then its first pair
    withdrawn  True if this answer is no longer valid
    answered   line of this answer; 0: the collection's own
    """

    number: int
    pair: Pair
    grade: float
    assessors: int
    more: int
    assessor: str = ""
    own: float = math.nan
    comparison: PairedComparison | None = None
    withdrawn: bool = False
    answered: int = 0


def grades_after(before: Mapping[Pair, float], changes: Iterable[Change]) -> dict[Pair, float]:
    """Grades of the judged pairs after changes, in the order in which the pairs were first judged.

    before  grades before the changes, in that order
    """
    grades = dict(before)
    for change in changes:
        if change.assessors:
            grades[change.pair] = change.grade
        elif change.comparison is None:
            grades.pop(change.pair, None)
    return grades


class ComparisonsInForce:
    """Valid comparisons, updated change by change.

    own  the collection's comparisons, before all changes
    """

    def __init__(self, own: Iterable[PairedComparison]) -> None:
        self._held = {what_compares(one): (0, one) for one in own}
        self._places = {what: place for place, what in enumerate(self._held)}

    def take(self, changes: Iterable[Change]) -> None:
        """Add the next changes."""
        for change in changes:
            if change.comparison is None:
                continue
            what = what_compares(change.comparison)
            if change.withdrawn:
                self._held.pop(what, None)
            else:
                self._held[what] = change.answered, change.comparison

    def ordered(self) -> tuple[PairedComparison, ...]:
        """The comparisons in the order of an export: the collection's own, then the others as they were made."""
        places = self._places
        held = sorted(self._held.items(), key=lambda one: (one[1][0], places.get(one[0], 0)))
        return tuple(one for _, (_, one) in held)


def comparisons_after(own: Iterable[PairedComparison], changes: Iterable[Change]) -> tuple[PairedComparison, ...]:
    """Valid comparisons after all changes so far, in the order of an export.

    own  the collection's comparisons
    """
    held = ComparisonsInForce(own)
    held.take(changes)
    return held.ordered()


def panel_after(before: Panel, pool: Pool, changes: Iterable[Change]) -> Panel:
    """The panel of judges and their judgments of a pool's pairs, after changes."""
    places, highest = pool.positions, pool.scale.maximum
    graded = (change for change in changes if change.comparison is None)
    return before.after_all((places[change.pair], change.assessor, change.own / highest) for change in graded)
