"""Terminal views of the commands on full judgments."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.evaluation import Evaluation
from audiosim.report.screen import PlainTable
from audiosim.report.views import interval_bar
from audiosim.users.preferences import Preferences

PAIRS_SHOWN = 15


def evaluation_view(found: Mapping[str, Evaluation]) -> RenderableType:
    """The systems best first by each measure, and the pairs whose order is least sure."""
    return Group(*(part for measure, one in found.items() for part in _evaluation(measure, one)))


def _evaluation(measure: str, one: Evaluation) -> list[RenderableType]:
    rows, people = one.system_rows(), one.satisfied is not None
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    extra = [*(["Satisfied", "Success"] if people else []), *(["if all judged"] if one.bounds is not None else [])]
    table = PlainTable("", ("System", "left"), measure, ("95 % interval", "whole"), *extra, ("", "bar"))
    for place, row in enumerate(rows, start=1):
        cells = [str(place), row["system"], f"{row['mean']:.3f}", f"{row['low']:.3f} – {row['high']:.3f}"]
        cells += [f"{row['satisfied']:.1%}", f"{row['success']:.1%}"] if people else []
        cells += [_bounds(row["least"], row["most"])] if one.bounds is not None else []
        table.add_row(*cells, interval_bar(row["low"], row["mean"], row["high"], low, high))
    return [table, *_pairs(one), Text("")]


def _bounds(least: float, most: float) -> str:
    return "not known" if math.isnan(least) else f"{least:.3f} – {most:.3f}"


def _pairs(one: Evaluation) -> list[RenderableType]:
    rows = one.pair_rows()
    if not rows or one.comparison is None:
        return []
    sure = sum(row["p_holm"] < 0.05 for row in rows)
    head = Text(
        f"{sure} of {len(rows)} pairs differ at .05 ({one.comparison.test} test, p adjusted by Holm); "
        f"the {min(PAIRS_SHOWN, len(rows))} least sure:"
    )
    table = PlainTable(
        ("Better", "left"), ("Worse", "left"), "Difference", ("95 % interval", "whole"), "Effect", "p", "p (Holm)"
    )
    for row in sorted(rows, key=lambda row: -row["p"])[:PAIRS_SHOWN]:
        interval = f"{row['low']:+.3f} – {row['high']:+.3f}"
        numbers = (
            f"{row['difference']:.3f}",
            interval,
            f"{row['effect_size']:.2f}",
            f"{row['p']:.4f}",
            f"{row['p_holm']:.4f}",
        )
        table.add_row(row["a"], row["b"], *numbers)
    return [head, table]


def reliability_view(found: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """The variance components, the two coefficients and the queries that would do, a line per measure."""
    table = PlainTable(
        ("Measure", "left"), "Systems", "Queries", "Residual", "E rho²", ("95 % interval", "whole"), "for .95",
        "Phi", ("95 % interval", "whole"), "for .95",
    )  # fmt: skip
    for measure, row in found.items():
        table.add_row(
            measure,
            *(f"{row[key]:.1%}" for key in ("system", "query", "residual")),
            *_coefficient(row, "generalizability"),
            *_coefficient(row, "dependability"),
        )
    zero = {measure: row["negative"] for measure, row in found.items() if row["negative"]}
    notes = [
        Text(f"{measure}: {', '.join(names)} came out below 0 and is set to 0.") for measure, names in zero.items()
    ]
    queries = next(iter(found.values()))["queries"]
    told = f"Shares of the variance; E rho² is of the ranking, Phi of the scores, with the {queries} queries there are."
    return Group(table, Text(told), *notes)


def _coefficient(row: Mapping[str, Any], name: str) -> tuple[str, str, str]:
    needed = row[f"queries_for_{name}"]
    interval = f"{row[f'{name}_low']:.3f} – {row[f'{name}_high']:.3f}"
    return f"{row[name]:.4f}", interval, "never" if needed is None else str(needed)


def satisfaction_view(found: Mapping[str, Preferences]) -> RenderableType:
    """The share of satisfied users by score, and the cubic through it."""
    parts: list[RenderableType] = []
    for measure, one in found.items():
        plain = one.to_dict()
        table = PlainTable((measure, "left"), "Lists", "Satisfied", "±", ("", "bar"))
        for row in plain["bins"]:
            known = row["satisfied"] is not None
            share = f"{row['satisfied']:.1%}" if known else "unknown"
            drawn = "━" * round(40 * row["satisfied"]) if known else ""
            error = f"{row['satisfied_error']:.1%}" if known else ""
            table.add_row(
                f"{row['low']:.1f} – {row['high']:.1f}", str(row["lists"]), share, error, Text(drawn, style="cyan")
            )
        parts += [table, Text(_cubic(plain)), Text("")]
    return Group(*parts)


def _cubic(plain: Mapping[str, Any]) -> str:
    ends = f"{plain['answers']:,} answers, {plain['scale']} grades"
    if plain["cubic"] is None:
        return f"{ends}: too few scores for a cubic."
    a0, a1, a2, a3 = plain["cubic"]["coefficients"]
    return f"{ends}: P(Sat) = {a0:.4f} {a1:+.4f} x {a2:+.4f} x² {a3:+.4f} x³, R² {plain['cubic']['r2']:.4f}"


def reproduction_view(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Count of the numbers of each source that come out, and those that do not."""
    table = PlainTable(("Source", "left"), "Numbers", "Agree")
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [row["agrees"] for row in rows if row["source"] == source]
        table.add_row(source, str(len(own)), str(sum(own)))
    apart = [row for row in rows if not row["agrees"]]
    if not apart:
        return table
    differing = PlainTable(("Source", "left"), ("Quantity", "left"), "Printed", "Here")
    for row in apart:
        here = "no data" if row["computed"] is None else f"{row['computed']:.4g}"
        differing.add_row(row["source"], row["quantity"], f"{row['printed']:g}", here)
    return Group(table, Text("\nThose that do not:"), differing)
