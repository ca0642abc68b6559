"""Terminal view of several methods: stated and true accuracy, coverage of intervals, and their widths."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from audiosim.report.rank import dots
from audiosim.report.screen import PlainTable
from audiosim.report.simulate import number, with_error

if TYPE_CHECKING:
    from rich.console import RenderableType

NOTE = (
    "\nRight: share of pairs of systems in their true order; pairs that are truly equal are left out. Excess: stated "
    "less right. Systems, differences: share of 95 % intervals that hold, of scores and of differences. "
    "Half width: mean, of the intervals of differences. After ±: standard error over the parts, which share "
    "queries and systems: it applies to this collection only. -: not stated."
)


def peers_view(result: Mapping[str, Any]) -> "RenderableType":
    """Methods at each budget, the most accurate first.

    result  result of `Honesty.to_dict`, with the peers played and those left out
    """
    said = f"{result['repeats']:,} random parts of {result['queries']} queries: {result['measure']}, {result['model']}"
    parts: list[RenderableType] = [Text(f"{said}, rule {result['rule']}.")]
    for budget in result["budgets"]:
        rows = [row for row in result["rows"] if row["budget"] == budget]
        parts += [Text(f"\n{budget:,} judged", style="bold"), methods_table(rows)]
    lacking = [Text(f"Left out: {why}") for why in result["left_out"]]
    return Group(*parts, Text(NOTE), *lacking)


def methods_table(rows: Sequence[Mapping[str, Any]]) -> PlainTable:
    """Methods at one budget."""
    table = PlainTable(
        ("Method", "whole"),
        "Right",
        "Stated",
        "Excess",
        "Systems",
        "Differences",
        "Half width",
        ("from 0 to 1: ● stated, ○ right", "bar"),
    )
    for row in sorted(rows, key=lambda row: -row["right"]):
        shares = (number(row[kind], ".2f") for kind in ("systems", "differences"))
        drawn = Text("") if row["stated"] is None else dots(row["stated"], row["right"])
        table.add_row(
            row["method"],
            with_error(row, "right"),
            number(row["stated"]),
            with_error(row, "excess", "+.3f"),
            *shares,
            number(row["half"]),
            drawn,
        )
    return table
