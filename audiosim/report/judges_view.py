"""Terminal view of all who judge."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.report.screen import PlainTable
from audiosim.report.views import rows_view


def judges_view(people: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]]) -> RenderableType:
    """People as a table, machines as another, and under it whom machines surely favour."""
    parts: list[RenderableType] = []
    if people:
        parts.append(rows_view(people, left_out=["kind"]))
    if machines:
        parts += [Text("") for _ in people[:1]]
        parts += [Text("Machines, with 95 % intervals; worth is in further judgments of people:"), _machines(machines)]
        parts += [Text(sentence) for row in machines for sentence in row["findings"]]
    return Group(*parts)


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
