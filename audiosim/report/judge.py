"""Terminal view of all judging people and machines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.report.screen import Column, PlainTable, filled, interval, number, word
from audiosim.results.value import listed

if TYPE_CHECKING:
    from audiosim.people.effects import JudgeEffect
    from audiosim.people.judges import Disagreements, Judges
    from audiosim.ranking.ranking import Ranking


def judges_view(found: "Judges") -> RenderableType:
    """Tables of people, of the ranking without each person, and of machines; sentences on machines' sure favourites."""
    people, machines = ([one.to_dict() for one in some] for some in (found.people, found.machines))
    parts: list[RenderableType] = []
    if people:
        parts += [
            Text("People, with 95 % intervals, as shares of the scale; worth in usual judgments:"),
            _people(people),
        ]
    if found.order_effects:
        parts += [*(Text("") for _ in people[:1]), Text("Effects of order:")]
        parts += [Text(one.sentence) for one in found.order_effects]
    if found.effects:
        parts += [Text(""), *_effects(found.effects)]
    if machines:
        parts += [Text("") for _ in parts[:1]]
        parts += [Text("Machines, with 95 % intervals; worth is in further judgments of people:"), _machines(machines)]
        parts += [Text(sentence) for row in machines for sentence in row["findings"]]
    return Group(*parts, _checks([one.to_dict() for one in found.checks.values()]))


def _effects(effects: "Sequence[JudgeEffect]") -> Sequence[RenderableType]:
    """Changes of the ranking without each person."""
    having = effects[0].having
    table = PlainTable(
        ("without", "left"), "pairs turned", ("moves most", "left"), "by", ("best", "left"), "confidence"
    )
    for one in effects:
        system, change = one.change.most_changed
        best, sure = listed(one.lacking.leaders), _sure(one.lacking)
        table.add_row(one.judge, str(len(one.change.turned)), system, f"{change:+.3f}", best, sure)
    said = f"{having.measure}, on {having.about.words}: confidence {_sure(having)}; without each person in turn:"
    return Text(said), table


def _sure(ranking: "Ranking") -> str:
    return "-" if ranking.confidence is None else f"{ranking.confidence:.3f}"


def effect_view(found: "JudgeEffect") -> RenderableType:
    """The systems with and without one person's judgments, in a table and a sentence."""
    score = str(found.having.measure)
    whole = number("", "rank", ""), word("System", "system"), number(score, "score"), interval()
    without = number("without: rank", "rank_without", ""), number(score, "score_without")
    table = filled(found.rows(), *whole, *without, interval("low_without", "high_without"))
    return Group(table, Text(found.sentence))


def _people(people: Sequence[Mapping[str, Any]]) -> RenderableType:
    return filled(
        people,
        word("judge", "judge"),
        number("judged", "judgments", ","),
        _estimate("severity", "severity", "+.2f"),
        _estimate("noise", "noise", ".2f"),
        Column("favours", lambda row: row["favours"] or "", "left"),
        Column("by", lambda row: _spelled(row, "taste", "+.2f") if row["favours"] else ""),
        Column("drift", lambda row: "few" if row["drift"] is None else _spelled(row, "drift", "+.2f")),
        number("worth", "worth", ",.0f"),
    )


def disagreements_view(found: "Disagreements") -> RenderableType:
    """Pairs on which people differ most, with their grades."""
    rows = found.rows()
    if not rows:
        return Text("No pair was judged by two people; a service with the setting `twice` has some judged by two.")
    names = (word(name, name) for name in ("query", "document", "grades"))
    table = filled(rows, *names, number("spread", "spread", ".1f"), number("chance", "chance", ".2g"))
    said = (
        "Spread is 1 if people differ as usual here, given each person's severity, taste and noise; "
        "chance is the probability of at least as much."
    )
    return Group(table, Text(said))


def _checks(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """People who judged pairs twice, or known pairs, with reasons to doubt them; empty if there are none."""
    if not rows:
        return Group()
    noise = Column("noise within", lambda row: "-" if row["noise"] is None else _spelled(row, "noise", ".2f"))
    known = number("known pairs", "known", ""), number("attention", "attention", ".2f")
    table = filled(rows, word("judge", "assessor"), number("judged twice", "repeats", ""), noise, *known)
    said = "Pairs judged twice by one person, and pairs with a known grade; attention is 1 if perfect, 0 if guessed:"
    return Group(Text(""), Text(said), table, *(Text(f"warning: {one}") for row in rows for one in row["warnings"]))


def _machines(machines: Sequence[Mapping[str, Any]]) -> RenderableType:
    return filled(
        machines,
        word("judge", "judge"),
        number("graded", "judgments", ","),
        _estimate("severity", "severity", "+.2f"),
        _estimate("agreement", "agreement", ".2f"),
        _estimate("worth now", "worth", ",.0f"),
    )


def _estimate(head: str, key: str, form: str) -> Column:
    return Column(head, lambda row: _spelled(row, key, form))


def _spelled(row: Mapping[str, Any], key: str, form: str) -> str:
    if row[key] is None:
        return "own scale"
    return f"{row[key]:{form}} ({row[f'{key}_low']:{form}} to {row[f'{key}_high']:{form}})"
