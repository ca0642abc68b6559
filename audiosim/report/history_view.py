"""Terminal view of the history of a ranking."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.report.screen import PlainTable

MOST_COLUMNS = 8  # most looks with ranks shown side by side


def history_view(value: Mapping[str, Any]) -> RenderableType:
    """The looks, one per line, and the rank and score of each system at up to MOST_COLUMNS of them.

    value  result of `RankingHistory.to_dict`
    """
    looks = value["looks"]
    several, dated = len({look["source"] for look in looks}) > 1, any(look["time"] for look in looks)
    heads = (("Source", "left"),) if several else ()
    when = (("Time", "whole"),) if dated else ()
    table = PlainTable("Look", *heads, *when, "Judged", "Confidence", ("Best", "left"), "Swapped")
    for number, look in enumerate(looks, start=1):
        source = (look["source"],) if several else ()
        time = (_when(look["time"]),) if dated else ()
        sure = "-" if look["confidence"] is None else f"{look['confidence']:.3f}"
        swapped = "" if look["swapped"] is None else str(look["swapped"])
        table.add_row(str(number), *source, *time, f"{look['judged']:,}", sure, look["best"], swapped)
    subjects = list(dict.fromkeys(look["about"] for look in looks))
    said = f"{value['measure']}; confidence is about {' or '.join(subjects)}."
    return Group(table, Text(said), Text("\nRank and score at each look", style="bold"), _ranks(looks))


def _ranks(looks: Sequence[Mapping[str, Any]]) -> PlainTable:
    last, count = len(looks) - 1, min(len(looks), MOST_COLUMNS)
    shown = sorted({round(place * last / max(1, count - 1)) for place in range(count)})
    table = PlainTable(("System", "left"), *(str(place + 1) for place in shown))
    ranked = [{one["system"]: one for one in look["systems"]} for look in looks]
    for system in dict.fromkeys(name for held in reversed(ranked) for name in held):
        cells = (ranked[place].get(system) for place in shown)
        table.add_row(system, *("" if one is None else f"{one['rank']:>2}  {one['score']:.3f}" for one in cells))
    return table


def _when(time: str | None) -> str:
    return "" if time is None else time[:16].replace("T", " ")
