"""Terminal views of replayed campaigns: rules compared, stated confidence beside true accuracy, worth of evidence."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import starmap
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from audiosim.collection.pool import build_pool
from audiosim.ordinal.model import source_of
from audiosim.report.rank import dots, rows_view
from audiosim.report.rendering import Origin, inline_svg, origin_of, render
from audiosim.report.screen import Column, filled, number, table_of, word
from audiosim.results.plots import Line, Series, draw_calibration, draw_curves

if TYPE_CHECKING:
    from altair import LayerChart
    from rich.console import RenderableType

    from audiosim.simulation.replay import RuleCosts
    from audiosim.simulation.trials import Calibration
    from audiosim.simulation.worth import EvidenceWorth


MOMENTS = {"start": "Before anything is judged", "end": "When judging stops"}


def rules_view(found: "RuleCosts") -> "RenderableType":
    """Judgments that each rule needs to reach a goal."""
    rule = Column("Rule", lambda row: f"{row['rule']}, by query" if row["by_query"] else row["rule"], "left")
    share = Column("Share", lambda row: f"{row['judged'] / row['pool']:.1%}")
    heads = {"Confidence": "confidence", "Accuracy": "accuracy", "Tau": "tau", "Rho": "rho"}
    heads |= {"RMSE d": "rmse_differences", "Error": "error"}
    shown = rule, number("Judged", "judged", ","), share, *starmap(number, heads.items()), number("Turns", "turns", ",")
    table = filled(found.rows(), *shown)
    note = (
        f"Each campaign stops at {found.stopping_rule}, or when no judgment has any value to its rule. Error: mean "
        "error of the systems' scores. RMSE d: error of the differences between systems. Turns: number of times the "
        "listener had to change to another query."
    )
    return Group(table, Text(note))


def worth_view(worth: "EvidenceWorth") -> "RenderableType":
    """Worth of each piece of evidence: in a sentence, and its figures below."""
    means = (
        "known: share of the pairs with this evidence; judged: share of all pairs shown to the model. rmse: error of a "
        "grade, as a share of the scale, without the evidence less with it; log_score: mean log probability of true "
        "grades with it less without it. Above 0, the evidence helps; low, high: 95 % interval. "
        "saved: how many fewer judgments a campaign needs until the goal with it than without"
    )
    means += "." if worth.target is not None else ", empty: no replays (they need the whole pool judged)."
    return Group(Text(repr(worth)), Text(), rows_view(worth.rows()), Text(means))


def calibration_view(found: "Calibration") -> "RenderableType":
    """Confidence and accuracy at moments, or before and after judging."""
    result = found.to_dict()
    return followed_view(result) if "curve" in result else repeats_view(result)


def repeats_view(result: Mapping[str, Any]) -> "RenderableType":
    """Confidence and accuracy over many parts of a collection, before and after judging."""
    said = f"{_parts(result)}, goal {result['goal']}."
    parts: list[RenderableType] = [Text(said)]
    for moment, title in MOMENTS.items():
        parts += [Text(f"\n{title}", style="bold"), _bins_table(result[moment]["bins"]), Text(_summary(result[moment]))]
    return Group(*parts)


def followed_view(result: Mapping[str, Any]) -> Group:
    """Confidence and accuracy over many parts of a collection, at the same moments of each."""
    curve, stops = result["curve"], result["goals"]
    parts: list[RenderableType] = [
        Text(f"{_parts(result)}."),
        Text("\nWhich of two systems is better", style="bold"),
        _curve_table(curve),
        Text("\nThe ranking", style="bold"),
        _ranking_table(curve),
        Text("\nClear differences, 95 % intervals and scores", style="bold"),
        _scores_table(curve),
    ]
    if stops:
        parts += [Text("\nWhere goals were met", style="bold"), _stops_table(stops, result["repeats"])]
    note = (
        f"\nExcess: stated less accuracy. Clear: pairs of systems that truly differ by more than {result['near']:g}. "
        "Intervals: share of those not yet known that hold the true score of a system, difference of two, or mean gain "
        "of a query's documents. Error: mean error of systems' scores; RMSE d: error of their differences. After ±: "
        "standard error over the parts, which share queries and systems: it applies to this collection only."
    )
    return Group(*parts, Text(note))


def _parts(result: Mapping[str, Any]) -> str:
    learned = f"model of {result['learn']} learned without these {result['held_out']}" if result["learn"] else ""
    return (
        f"{result['repeats']:,} random parts of {result['queries']} queries and {result['teams']} teams: "
        f"{result['measure']}, {learned or result['model']}, rule {result['rule']}"
    )


def _curve_table(curve: Sequence[Mapping[str, Any]]) -> "RenderableType":
    sure = _mean("Stated", "stated"), _mean("Accuracy", "accuracy"), _mean("Excess", "excess", "+.3f")
    return filled(
        curve, JUDGED, *sure, _mean("Calibration error", "calibration_error"), number("Brier", "brier", ".4f")
    )


def _ranking_table(curve: Sequence[Mapping[str, Any]]) -> "RenderableType":
    return filled(curve, JUDGED, _mean("Tau", "tau"), _mean("Rho", "rho"), _mean("RMSE d", "rmse_differences", ".4f"))


def _scores_table(curve: Sequence[Mapping[str, Any]]) -> "RenderableType":
    rows = [row | row["coverage"] | {f"clear_{key}": value for key, value in row["clear"].items()} for row in curve]
    sure = number("Clear", "clear_pairs", ".1%"), number("Stated", "clear_stated"), number("Accuracy", "clear_accuracy")
    held = (_mean(kind.capitalize(), kind) for kind in ("systems", "differences", "queries"))
    return filled(rows, JUDGED, *sure, *held, _mean("Error", "error", ".4f"))


def _stops_table(stops: Sequence[Mapping[str, Any]], repeats: int) -> "RenderableType":
    met = Column("Met by", lambda row: f"{row['reached']:,} of {repeats:,}")
    sure = _mean("Stated", "stated"), _mean("Accuracy", "accuracy"), _mean("Excess", "excess", "+.3f")
    return filled(stops, word("Goal", "goal"), met, _mean("Judged", "judged", ".1f"), *sure)


def _count(row: Mapping[str, Any]) -> str:
    """Number of judged pairs; a mean if some pools ran out of pairs."""
    return f"{row['judged']:,.1f}".removesuffix(".0")


JUDGED = Column("Judged", _count)


def _mean(head: str, key: str, form: str = ".3f") -> Column:
    """Column of means over the parts, with their standard errors."""
    return Column(head, lambda row: with_error(row, key, form))


def _bins_table(bins: Sequence[Mapping[str, Any]]) -> "RenderableType":
    def drawn(row: Mapping[str, Any]) -> Text:
        return dots(row["stated"], row["accuracy"]) if row["claims"] else Text("")

    ends = Column("Confidence", lambda row: f"{row['low']:g} to {row['high']:g}", "left")
    numbers = number("Pairs", "claims", ","), number("Share", "share", ".1%"), number("Stated", "stated")
    bars = Column("from 0 to 1: ● stated, ○ accuracy", drawn, "bar")
    return filled(bins, ends, *numbers, number("Accuracy", "accuracy"), bars)


def _summary(moment: Mapping[str, Any]) -> str:
    return (
        f"Judged {with_error(moment, 'judged', '.1f')}; stated {with_error(moment, 'stated')}, "
        f"accuracy {with_error(moment, 'accuracy')}, stated less accuracy {with_error(moment, 'excess', '+.3f')}; "
        f"calibration error {with_error(moment, 'calibration_error')}, Brier score {moment['brier']:.3f}. "
        f"Tau {with_error(moment, 'tau')}, rho {with_error(moment, 'rho')}, RMSE of differences between systems "
        f"{with_error(moment, 'rmse_differences', '.4f')}. "
        "After ±: standard error over the parts. Brier score: mean squared distance of the confidence from 1 for a "
        "right order and 0 for a wrong one, 0 is best. Tau, rho: correlations with the true ranking, 1 is best. RMSE: "
        "root mean squared error."
    )


def with_error(row: Mapping[str, Any], name: str, form: str = ".3f") -> str:
    """A number with its standard error, if it has one."""
    value, error = row[name], row[f"{name}_error"]
    shown = "-" if value is None else f"{value:{form}}"
    return shown + (f" ± {error:{form.removeprefix('+')}}" if error is not None else "")


# Calibration: stated confidence beside the truth, as one page that needs no other file.


BINS = {"judged": "Judged", "bin": "Confidence", "claims": "Pairs", "share": "Share"}
BINS |= {"stated": "Stated", "accuracy": "Accuracy"}
FORMS = {"judged": ",.0f", "claims": ",", "share": ".1%", "stated": ".3f", "accuracy": ".3f"}
MOMENTS_OF_SIMULATION_PAGE = 5  # most moments with a plot of their bins


def followed_page(name: str, result: Mapping[str, Any], origin: Origin | None = None) -> str:
    """The report on campaigns on many parts of a collection: plots, and the tables and notes of the screen.

    name    name of the collection
    result  see `simulation.Followed.to_dict`, with the results of further simulations, as for `followed_view`
    origin  origin of the page: see `origin_of`
    """
    curve, (said, *shown, note) = result["curve"], followed_view(result).renderables
    bins = [_bin_row(row, one) for row in curve for one in row["bins"]]
    return render(
        "followed.html",
        f"{name}: confidence, stated and true",
        origin,
        said=said,
        drawings=_drawings(curve),
        some=len(curve) > MOMENTS_OF_SIMULATION_PAGE,
        bands=curve[0]["stated_error"] is not None,
        bins=table_of(BINS, bins, _spell),
        shown=shown,
        note=note,
    )


def calibration_page(found: "Calibration") -> str:
    """The report on campaigns on many parts of a collection, with its origin."""
    pool = build_pool(found.collection)
    origin = origin_of(date.today(), source_of(pool, pool.spread(found.collection.grades())))
    return followed_page(found.collection.name, found.followed(), origin)


def draw_bins(curve: Sequence[Mapping[str, Any]]) -> "LayerChart":
    """Stated confidence and the share of correctly ordered pairs, by bins of confidence at some moments.

    curve  rows of `Followed.to_dict`
    """
    series, ends = [], [0.5]
    for row in curve:
        held = [one for one in row["bins"] if one["claims"]]
        stated, accuracy, claims = ([one[key] for one in held] for key in ("stated", "accuracy", "claims"))
        series.append(Series(_count(row), stated, accuracy, claims))
        ends += stated + accuracy
    low = math.floor(10 * min(ends)) / 10
    return draw_calibration(series, "stated confidence", "share of pairs ordered rightly", low, "judged")


def draw_course(curve: Sequence[Mapping[str, Any]]) -> "LayerChart":
    """Stated and true confidence by the number of judgments, each with the band of its standard error.

    curve  rows of `Followed.to_dict`
    """
    judged, lines = [row["judged"] for row in curve], []
    for key, name in (("stated", "stated"), ("accuracy", "true")):
        values, errors = ([row[column] for row in curve] for column in (key, f"{key}_error"))
        ends: list[list[float]] = []
        if errors[0] is not None:
            ends = [[min(1.0, a + side * b) for a, b in zip(values, errors, strict=True)] for side in (-1, 1)]
        lines.append(Line(name, judged, values, *ends))
    return draw_curves(lines, "judgments", "confidence, stated and true")


def _drawings(curve: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Both plots; for a single moment only the first."""
    bins = inline_svg(draw_bins(_some(curve)), "share of pairs ordered rightly by stated confidence")
    if len(curve) < 2:
        return {"bins": bins}
    return {"bins": bins, "course": inline_svg(draw_course(curve), "confidence by judgments")}


def _some(curve: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most MOMENTS moments, from the first to the last."""
    last, count = len(curve) - 1, min(len(curve), MOMENTS_OF_SIMULATION_PAGE)
    return [curve[round(place * last / max(1, count - 1))] for place in range(count)]


def _bin_row(row: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "judged": row["judged"], "bin": f"{one['low']:g} to {one['high']:g}"}


def _spell(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:{FORMS[key]}}"
