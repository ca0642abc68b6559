"""Terminal view of all judging people and machines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.report.screen import PlainTable, Setting
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
        parts += [Text("People, with 95 % intervals, as shares of the scale:"), _people(people)]
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
        system, change = one.most_changed
        best, sure = listed(one.lacking.leaders), _sure(one.lacking)
        table.add_row(one.judge, str(len(one.turned)), system, f"{-change:+.3f}", best, sure)
    said = f"{having.measure}, on {having.about.words}: confidence {_sure(having)}; without each person in turn:"
    return Text(said), table


def _sure(ranking: "Ranking") -> str:
    return "-" if ranking.confidence is None else f"{ranking.confidence:.3f}"


def effect_view(found: "JudgeEffect") -> RenderableType:
    """The systems with and without one person's judgments, in a table and a sentence."""
    interval: tuple[str, Setting] = ("95 % interval", "whole")
    score = str(found.having.measure)
    table = PlainTable("", ("System", "left"), score, interval, "without: rank", score, interval)
    for row in found.rows():
        table.add_row(
            str(row["rank"]),
            row["system"],
            f"{row['score']:.3f}",
            f"{row['low']:.3f} – {row['high']:.3f}",
            str(row["rank_without"]),
            f"{row['score_without']:.3f}",
            f"{row['low_without']:.3f} – {row['high_without']:.3f}",
        )
    return Group(table, Text(found.sentence))


def _people(people: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = PlainTable(("judge", "left"), "judged", "severity", "noise", ("favours", "left"), "by", "drift", "worth")
    for row in people:
        table.add_row(
            row["judge"],
            f"{row['judgments']:,}",
            _spelled(row, "severity", "+.2f"),
            _spelled(row, "noise", ".2f"),
            row["favours"] or "",
            _spelled(row, "taste", "+.2f") if row["favours"] else "",
            "few" if row["drift"] is None else _spelled(row, "drift", "+.2f"),
            f"{row['worth']:,.0f}",
        )
    return table


def disagreements_view(found: "Disagreements") -> RenderableType:
    """Pairs on which people differ most, with their grades."""
    rows = found.rows()
    if not rows:
        return Text("No pair was judged by two people; a service with the setting `twice` has some judged by two.")
    table = PlainTable(("query", "left"), ("document", "left"), ("grades", "left"), "spread", "chance")
    for row in rows:
        table.add_row(row["query"], row["document"], row["grades"], f"{row['spread']:.1f}", f"{row['chance']:.2g}")
    said = (
        "Spread is 1 if people differ as usual here, given each person's severity, taste and noise; "
        "chance is the probability of at least as much."
    )
    return Group(table, Text(said))


def _checks(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """People who judged pairs twice, or known pairs, with reasons to doubt them; empty if there are none."""
    if not rows:
        return Group()
    table = PlainTable(("judge", "left"), "judged twice", "noise within", "known pairs", "attention")
    for row in rows:
        noise = "-" if row["noise"] is None else _spelled(row, "noise", ".2f")
        attention = "-" if row["attention"] is None else f"{row['attention']:.2f}"
        table.add_row(row["assessor"], str(row["repeats"]), noise, str(row["known"]), attention)
    said = "Pairs judged twice by one person, and pairs with a known grade; attention is 1 if perfect, 0 if guessed:"
    return Group(Text(""), Text(said), table, *(Text(f"warning: {one}") for row in rows for one in row["warnings"]))


def _machines(machines: Sequence[Mapping[str, Any]]) -> RenderableType:
    numbers = ("graded", "severity", "agreement", "worth now")
    table = PlainTable(("judge", "left"), *((name, "right") for name in numbers))
    for row in machines:
        table.add_row(
            row["judge"],
            f"{row['judgments']:,}",
            _spelled(row, "severity", "+.2f"),
            _spelled(row, "agreement", ".2f"),
            _spelled(row, "worth", ",.0f"),
        )
    return table


def _spelled(row: Mapping[str, Any], key: str, form: str) -> str:
    if row[key] is None:
        return "own scale"
    return f"{row[key]:{form}} ({row[f'{key}_low']:{form}} to {row[f'{key}_high']:{form}})"
