"""Report of the systems of a collection, as one page that needs no other file."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from audiosim.evaluation import Evaluation
from audiosim.expected.ranking import Ranking
from audiosim.reliability_study import QUERY_COUNTS, STABLE
from audiosim.report.html import document, figure, folded, joined, table
from audiosim.report.plots import curve_plot, interval_plot
from audiosim.simulation.worth import EvidenceWorth
from audiosim.stats.gtheory import crossed


def evaluation_page(name: str, found: Mapping[str, Evaluation], worth: EvidenceWorth | None = None) -> str:
    """The report on systems whose documents are all judged, by some measures.

    worth  of the evidence, where that is to be shown
    """
    return document(
        name, [*(part for measure, one in found.items() for part in _measured(measure, one)), _worth(worth)]
    )


def campaign_page(
    name: str, ranking: Ranking, curve: Sequence[tuple[int, float]], worth: EvidenceWorth | None = None
) -> str:
    """The report on systems some of whose documents are judged.

    curve  (judged, confidence) as the judgments were made; empty where there are none
    worth  of the evidence, where that is to be shown
    """
    said = f"{ranking.resting[0].upper()}{ranking.resting[1:]}. Confidence in the ranking: {ranking.confidence:.3f}."
    rows = ranking.system_rows()
    bars = [
        (row["system"], row["low"], row["expectation"], row["high"], f"{row['system']}: {row['expectation']:.3f}")
        for row in rows
    ]
    parts = [
        f"<p>{escape(said)}</p>",
        "<h2>Ranking</h2>",
        figure(
            interval_plot(bars, f"{ranking.measure} of each system"), f"Expected {ranking.measure}, 95 % intervals."
        ),
        table(("system", "expectation", "low", "high"), ("System", str(ranking.measure), "Low", "High"), rows, _spell),
        "<h2>Confidence in each pair</h2>",
        _matrix(
            [row["system"] for row in rows],
            {(row["a"], row["b"]): (row["confidence"], row["confidence"] >= 0.95) for row in ranking.pair_rows()},
            "The confidence that the system of the row is better than that of the column; marked from .95 on.",
        ),
    ]
    if len(curve) > 1:
        drawing = curve_plot([("confidence", curve)], "judgments", "confidence", low=0.5)
        points = [{"judged": judged, "confidence": confidence} for judged, confidence in curve]
        parts += [
            "<h2>As the judgments were made</h2>",
            figure(drawing, "The confidence in the ranking after each judgment, in the order of the file."),
            folded(table(("judged", "confidence"), ("Judged", "Confidence"), points, _spell)),
        ]
    return document(name, [*parts, _worth(worth)])


def _worth(worth: EvidenceWorth | None) -> str:
    """Worth of each piece of evidence, with intervals over queries."""
    if worth is None:
        return ""
    rows = [
        {
            "evidence": piece.evidence,
            "judged": f"{piece.judged:.0%}",
            "rmse": f"{piece.rmse:+.4f} ({piece.rmse_low:+.4f} to {piece.rmse_high:+.4f})",
            "log": f"{piece.log_score:+.4f} ({piece.log_score_low:+.4f} to {piece.log_score_high:+.4f})",
            "saved": "not replayed" if piece.saved is None else f"{piece.saved:+.0f}",
        }
        for piece in worth.pieces
    ]
    heads = ("Evidence", "Judged", "Error", "Log score", "Judgments saved")
    said = (
        "By how much the root mean square error of held-out grades, as a share of the highest, grows and their log "
        "score falls where it is not known, with 95 % intervals over queries, when so much of the pool is judged"
    )
    if worth.target is not None:
        said += f"; and how many judgments it saves until the confidence in the ranking is {worth.target:g}"
    shown = table(("evidence", "judged", "rmse", "log", "saved"), heads, rows, _spell)
    return f'<h2>What the evidence is worth</h2>{shown}<p class="soft">{escape(said)}.</p>'


def _measured(measure: str, one: Evaluation) -> list[str]:
    rows = one.system_rows()
    bars = [
        (row["system"], row["low"], row["mean"], row["high"], f"{row['system']}: {row['mean']:.3f}") for row in rows
    ]
    keys = ["system", "mean", "low", "high", "new_low", "new_high"]
    heads = ["System", measure, "Low", "High", "New query: low", "High"]
    if one.satisfied is not None:
        keys += ["satisfied", "success"]
        heads += ["Satisfied users", "Success"]
    return [
        f"<h2>{escape(measure)}: ranking</h2>",
        figure(
            interval_plot(bars, f"{measure} of each system"),
            f"Mean {measure} over {len(one.scores.queries)} queries, 95 % t-intervals.",
        ),
        table(keys, heads, rows, _spell),
        _spread(measure, one),
        _differences(measure, one),
        _stability(measure, one),
    ]


def _spread(measure: str, one: Evaluation) -> str:
    """Spread of the scores of each system over the queries: quartiles around the median."""
    quartiles = np.quantile(one.scores.values, [0.25, 0.5, 0.75], axis=1).T.tolist()
    rows = [
        {"system": system, "low": low, "median": middle, "high": high}
        for system, (low, middle, high) in zip(one.scores.systems, quartiles, strict=True)
    ]
    bars = [(row["system"], row["low"], row["median"], row["high"], f"median {row['median']:.3f}") for row in rows]
    heads = ("System", "First quartile", "Median", "Third quartile")
    return joined(
        [
            f"<h2>{escape(measure)}: over the queries</h2>",
            figure(
                interval_plot(bars, f"{measure} over the queries"),
                "The middle half of each system's queries, and the median.",
            ),
            folded(table(("system", "low", "median", "high"), heads, rows, _spell)),
        ]
    )


def _differences(measure: str, one: Evaluation) -> str:
    if one.comparison is None:
        return ""
    cells = {(row["a"], row["b"]): (row["effect_size"], row["p_holm"] < 0.05) for row in one.pair_rows()}
    said = (
        f"Effect sizes: the mean difference in standard deviations of the differences, row less column; marked where "
        f"the {one.comparison.test} test, adjusted by Holm for all pairs, finds a difference at .05."
    )
    return f"<h2>{escape(measure)}: differences</h2>{_matrix(one.scores.systems, cells, said)}"


def _matrix(systems: Sequence[str], cells: Mapping[tuple[str, str], tuple[float, bool]], said: str) -> str:
    """A triangle of numbers, each marked or not: the better system's row, the worse one's column."""
    head = "".join(f"<th>{escape(system)}</th>" for system in systems[1:])
    body = []
    for place, better in enumerate(systems[:-1]):
        row = ["<td></td>"] * place
        for worse in systems[place + 1 :]:
            value, marked = cells[better, worse]
            row.append(f'<td class="{"sure" if marked else "open"}">{_short(value)}</td>')
        body.append(f'<tr><th class="word">{escape(better)}</th>{"".join(row)}</tr>')
    inside = f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    grid = f'<div class="wide"><table class="matrix">{inside}</table></div>'
    return f'{grid}<p class="soft">{escape(said)}</p>'


def _stability(measure: str, one: Evaluation) -> str:
    if len(one.scores.systems) < 2:
        return ""
    study = crossed(one.scores.values)
    curve = study.curve(QUERY_COUNTS)
    relative, absolute = curve.relative.tolist(), curve.absolute.tolist()
    curves = [
        ("E rho²", list(zip(QUERY_COUNTS, relative, strict=True))),
        ("Phi", list(zip(QUERY_COUNTS, absolute, strict=True))),
    ]
    rows = [
        {"queries": n, "relative": r, "absolute": a} for n, r, a in zip(QUERY_COUNTS, relative, absolute, strict=True)
    ]
    needed = study.queries_for_relative(STABLE), study.queries_for_absolute(STABLE)
    said = ", ".join("no number" if count is None else str(count) for count in needed)
    return joined(
        [
            f"<h2>{escape(measure)}: how stable</h2>",
            figure(
                curve_plot(curves, "queries", "stability"),
                f"Generalizability (E rho², of the ranking) and dependability (Phi, of the scores) by the number of "
                f"queries. Queries for .95: {said}.",
            ),
            folded(table(("queries", "relative", "absolute"), ("Queries", "E rho²", "Phi"), rows, _spell)),
        ]
    )


def _spell(key: str, value: Any) -> str:
    if key in {"satisfied", "success"}:
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "∞"


def _short(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "∞"
