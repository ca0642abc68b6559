"""Changes of a campaign since a moment: answers, moved ranks, and newly settled pairs of systems."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from audiosim.campaign.event import ANSWERS, parse_time
from audiosim.expected.verdicts import Verdicts
from audiosim.selection import Selection
from audiosim.service.campaigns.quotas import answers_among, answers_kept
from audiosim.service.shelf.served_collection import ServedCollection

KINDS = (*ANSWERS, "repeat", "comparison")


@dataclass(frozen=True, slots=True)
class Moved:
    """A system whose rank by expected score changed: rank and score then and now."""

    system: str
    rank_before: int
    rank: int
    before: float
    expectation: float


@dataclass(frozen=True, slots=True)
class Settled:
    """Two systems, the first of which is shown to be better at the family-wise level."""

    better: str
    worse: str


@dataclass(frozen=True, slots=True)
class RecentChanges:
    """Changes of a campaign since a moment.

    before, number  last lines of the log, then and now
    answers         number of answers of each person since then; a revised answer counts once
    joined          people among them who gave their first answer
    judged_before, judged          judged pairs of the pool
    confidence_before, confidence  confidence in the ranking; None if there is nothing to order
    moved           systems whose rank changed, best first
    settled         pairs of systems that can be told apart now but not then
    unsettled       the reverse, and pairs whose order has changed
    """

    before: int
    number: int
    answers: dict[str, int]
    joined: tuple[str, ...]
    judged_before: int
    judged: int
    confidence_before: float | None
    confidence: float | None
    moved: tuple[Moved, ...]
    settled: tuple[Settled, ...]
    unsettled: tuple[Settled, ...]


def changes_since(one: ServedCollection, since: datetime, selection_at: Callable[[int], Selection]) -> RecentChanges:
    """Changes of a campaign since a moment; the model of that moment learned only from judgments until then.

    selection_at  function that returns the selection after the log's lines up to a number
    """
    number, verdicts = one.verdicts()
    records = [record for record in one.campaign.log() if record.number <= number]
    # Imported lines keep their times. An earlier time counts as recent if the line follows a recent one.
    before = next((record.number - 1 for record in records if parse_time(record.event.time) > since), number)
    answered = [(record.number, record.event.assessor) for record in records if record.event.kind in KINDS]
    known = {assessor for line, assessor in answered if line <= before}
    people = dict.fromkeys(assessor for line, assessor in answered if line > before)
    answers = {name: count for name in people if (count := _given(one, name, before, number))}
    changed = any(change.number > before for change in one.campaign.changes()[1])
    then = Verdicts(selection_at(before).stated(verdicts.ranking.about), verdicts.level) if changed else verdicts
    settled, unsettled = _settled(then, verdicts)
    return RecentChanges(
        before,
        number,
        dict(sorted(answers.items(), key=lambda item: -item[1])),
        tuple(name for name in answers if name not in known),
        then.ranking.judged,
        verdicts.ranking.judged,
        then.ranking.confidence,
        verdicts.ranking.confidence,
        _moved(then, verdicts),
        settled,
        unsettled,
    )


def _given(one: ServedCollection, name: str, before: int, number: int) -> int:
    """Number of a person's answers between two lines that were not withdrawn."""
    return answers_among(record for record in answers_kept(one.campaign, name) if before < record.number <= number)


def _moved(then: Verdicts, now: Verdicts) -> tuple[Moved, ...]:
    places = [verdicts.ranking.ranks for verdicts in (then, now)]
    scores = [verdicts.ranking.scores.mean for verdicts in (then, now)]
    return tuple(
        Moved(now.ranking.systems[i], *(int(of[i]) for of in places), *(float(of[i]) for of in scores))
        for i in now.ranking.order.tolist()
        if places[0][i] != places[1][i]
    )


def _settled(then: Verdicts, now: Verdicts) -> tuple[tuple[Settled, ...], tuple[Settled, ...]]:
    """Pairs told apart now but not then, and pairs told apart then but not now."""
    names, order = now.ranking.systems, now.ranking.order.tolist()
    gained, lost = now.better & ~then.better, then.better & ~now.better
    found = [tuple(Settled(names[a], names[b]) for a in order for b in order if of[a, b]) for of in (gained, lost)]
    return found[0], found[1]
