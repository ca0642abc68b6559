"""Comparisons in a campaign's log: those handed out, and the valid answers."""

from collections.abc import Collection, Container, Iterable
from datetime import datetime
from typing import NamedTuple

from audiosim.campaign.event import Event, parse_time
from audiosim.corpus.model import PairedComparison

Compares = tuple[str, str, frozenset[str]]  # assessor, query, and the two documents in either order


class ComparisonLease(NamedTuple):
    """A comparison leased to an assessor until a time."""

    query: str
    document_a: str
    document_b: str
    assessor: str
    until: datetime


def what_compares(one: PairedComparison) -> Compares:
    """Person, query and documents of a comparison, in whichever order the documents are shown."""
    return one.assessor, one.query, frozenset((one.document_a, one.document_b))


class Comparisons:
    """Comparisons of a campaign, line by line of its log.

    The last answer of an assessor about two documents that was not withdrawn is valid; the collection's own comparisons
    count as answers before all others.
    """

    def __init__(self, own: Iterable[PairedComparison] = ()) -> None:
        self._own = {what_compares(one): one for one in own}
        self._answers: dict[Compares, dict[int, Event]] = {}  # answers not withdrawn, oldest first
        self._leases: dict[Compares, ComparisonLease] = {}
        self._handed: dict[Compares, float] = {}  # time of first handing out, in seconds since 1970

    def answer(self, number: int, event: Event) -> None:
        """Add an answer."""
        what = what_compares(event.comparison)
        self._answers.setdefault(what, {})[number] = event
        self._leases.pop(what, None)

    def undo(self, number: int, event: Event) -> None:
        """Withdraw an answer, the event of a line."""
        self._answers[what_compares(event.comparison)].pop(number, None)

    def revises(self, number: int, event: Event) -> bool:
        """True if another answer would be valid without this one, the event of a line."""
        what = what_compares(event.comparison)
        return what in self._own or [*self._answers[what]] != [number]

    def hand(self, event: Event) -> None:
        """Add a lease."""
        one = event.comparison
        what = what_compares(one)
        self._handed.setdefault(what, parse_time(event.time).timestamp())
        self._leases.pop(what, None)
        until = parse_time(event.until)
        self._leases[what] = ComparisonLease(one.query, one.document_a, one.document_b, one.assessor, until)

    def holding(self, what: Compares) -> PairedComparison | None:
        """The valid answer; None if there is none."""
        last = next(reversed(self._answers.get(what, {}).values()), None)
        if last is None:
            return self._own.get(what)
        return last.comparison if last.counts else None

    def number(self, what: Compares) -> int:
        """Line of the last answer that was not withdrawn; 0 without any, when the collection's own is valid."""
        return next(reversed(self._answers.get(what, {})), 0)

    def of(self, assessor: str) -> Collection[Compares]:
        """All comparisons that a person made and did not withdraw."""
        answered = (what for what, by in self._answers.items() if by)
        return dict.fromkeys(what for what in (*self._own, *answered) if what[0] == assessor)

    def handed(self, event: Event) -> float | None:
        """Time at which a comparison was first handed to its assessor, in seconds since 1970; None: never."""
        return self._handed.get(what_compares(event.comparison))

    def leases(self, now: datetime) -> list[ComparisonLease]:
        """The current leases, in the order in which they were handed out."""
        return [lease for lease in self._leases.values() if lease.until > now]

    def in_force(self, aside: Container[str] = ()) -> tuple[PairedComparison, ...]:
        """The valid comparisons, the collection's own first, then in the order in which they were made.

        aside  people whose answers do not count
        """
        last = {what: next(reversed(by)) for what, by in self._answers.items() if by}
        own = [what for what in self._own if what not in last]
        found = (self.holding(what) for what in (*own, *sorted(last, key=last.__getitem__)) if what[0] not in aside)
        return tuple(one for one in found if one is not None)
