"""Replayed campaigns on the screen: rules side by side, and stated confidence beside true accuracy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from audiosim.report.screen import plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType

MOMENTS = {"start": "Before anything is judged", "end": "When judging stops"}


def comparison_view(rows: Sequence[Mapping[str, Any]], goal: str) -> "RenderableType":
    """What each rule needs to reach a goal."""
    table = plain_table(("Rule", "left"), "Judged", "Share", "Confidence", "Accuracy", "Tau", "Error", "Turns")
    for row in rows:
        name = f"{row['rule']}, by query" if row["by_query"] else row["rule"]
        numbers = (f"{row[key]:.3f}" for key in ("confidence", "accuracy", "tau", "error"))
        share = f"{row['judged'] / row['pool']:.1%}"
        table.add_row(name, f"{row['judged']:,}", share, *numbers, f"{row['turns']:,}")
    note = (
        f"Each campaign stops at {goal}, or when no judgment is worth anything to its rule. Error: of the systems' "
        "scores, in the mean. Turns: how often the listener had to turn to another query."
    )
    return Group(table, Text(note))


def repeats_view(result: Mapping[str, Any]) -> "RenderableType":
    """How confidence and accuracy compare over many parts of a collection."""
    said = (
        f"{result['repeats']:,} random parts of {result['queries']} queries and {result['teams']} teams: "
        f"{result['measure']}, {result['model']}, rule {result['rule']}, goal {result['goal']}."
    )
    parts: list[RenderableType] = [Text(said)]
    for moment, title in MOMENTS.items():
        parts += [Text(f"\n{title}", style="bold"), _bins_table(result[moment]["bins"]), Text(_summary(result[moment]))]
    return Group(*parts)


def _bins_table(bins: Sequence[Mapping[str, Any]]) -> "RenderableType":
    table = plain_table(
        ("Confidence", "left"),
        "Pairs",
        "Share",
        "Stated",
        "Accuracy",
        ("from 0 to 1: ● stated, ○ accuracy", "left"),
    )
    for row in bins:
        ends = f"{row['low']:g} to {row['high']:g}"
        if row["claims"]:
            shown = (f"{row['stated']:.3f}", f"{row['accuracy']:.3f}", _dots(row["stated"], row["accuracy"]))
        else:
            shown = ("-", "-", Text(""))
        table.add_row(ends, f"{row['claims']:,}", f"{row['share']:.1%}", *shown)
    return table


def _dots(stated: float, accuracy: float, width: int = 41) -> Text:
    line = ["·"] * width
    line[round(accuracy * (width - 1))] = "○"
    line[round(stated * (width - 1))] = "●"
    return Text("".join(line), style="cyan")


def _summary(moment: Mapping[str, Any]) -> str:
    def shown(name: str, form: str) -> str:
        error = moment[f"{name}_error"]
        return f"{moment[name]:{form}}" + (f" ± {error:{form.removeprefix('+')}}" if error is not None else "")

    return (
        f"Judged {shown('judged', '.1f')}; stated {shown('stated', '.3f')}, accuracy {shown('accuracy', '.3f')}, "
        f"stated less accuracy {shown('excess', '+.3f')}; calibration error {moment['calibration_error']:.3f}, "
        f"Brier score {moment['brier']:.3f}. After ±: standard error over the parts."
    )
