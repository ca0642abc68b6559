"""Report on the systems of a collection, as one page that needs no other file."""

import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from audiosim.errors import InputError
from audiosim.evaluation.evaluation import Evaluation
from audiosim.evaluation.reliability import QUERY_COUNTS, STABLE, Reliability
from audiosim.measures.measure import Measure
from audiosim.ranking.verdicts import Verdicts
from audiosim.report.rendering import Origin, grid, inline_svg, render
from audiosim.results.plots import Line, draw_curves, draw_intervals, draw_triangle
from audiosim.simulation.worth import EvidenceWorth
from audiosim.stats.generalizability import crossed

SURE = 0.95
SIGNIFICANT = 0.05
Made = TypeVar("Made")
MOST_LETTERS = 3  # most letters of a group; more are no help to a reader


class Parts:
    """Parts of a page, and sentences on those that could not be computed."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def made(self, name: str, make: Callable[[], Made]) -> Made | None:
        """A part; None if its data do not suffice, as the page then says."""
        try:
            return make()
        except InputError as error:
            self.left_out.append(f"{name}: {error}")
            return None


def evaluation_page(
    name: str,
    found: Mapping[str, Evaluation],
    worth: EvidenceWorth | None = None,
    origin: Origin | None = None,
    pictures: Mapping[str, bytes] | None = None,
    prompts: Mapping[str, str] | None = None,
    parts: Parts | None = None,
) -> str:
    """Report on systems whose documents are all judged, by several measures.

    worth     worth of the evidence, to be shown
    origin    origin of the page: see `origin_of`
    pictures  query -> JPEG file of its recording
    prompts   query -> its text
    parts     sentences on the parts that are missing so far
    """
    parts = parts or Parts()
    measures = [_measured(measure, one, parts) for measure, one in found.items()]
    return render(
        "evaluation.html",
        name,
        origin,
        measures=measures,
        evidence=_worth(worth),
        pictures=_encoded(pictures),
        prompts=prompts or {},
        left_out=parts.left_out,
    )


def campaign_page(
    name: str,
    verdicts: Verdicts,
    curve: Sequence[tuple[int, float | None]],
    worth: EvidenceWorth | None = None,
    origin: Origin | None = None,
    pictures: Mapping[str, bytes] | None = None,
    prompts: Mapping[str, str] | None = None,
    parts: Parts | None = None,
) -> str:
    """Report on systems whose documents are partly judged.

    verdicts  verdicts on the ranking
    curve     (judged, confidence) as the judgments were made; empty without judgments
    worth     worth of the evidence, to be shown
    origin    origin of the page: see `origin_of`
    pictures  query -> JPEG file of its recording
    prompts   query -> its text
    parts     sentences on the parts that are missing
    """
    ranking = verdicts.ranking
    measure, rows = str(ranking.measure), [row | {"ranks": _ranks(row)} for row in verdicts.rows()]
    groups = ("group",) if verdicts.groups and max(map(len, verdicts.letters)) <= MOST_LETTERS else ()
    keys = ("system", "expectation", "low", "high", "ranks", *groups, "best")
    heads = ("System", measure, "Low", "High", "Ranks", *(key.title() for key in groups), "P(best)")
    drawing = inline_svg(ranking.plot(), f"{measure} of each system")
    cells = {(row["a"], row["b"]): (row["confidence"], row["confidence"] >= SURE) for row in ranking.pair_rows()}
    meaning = "Confidence that the system of the row is better than that of the column; filled at .95 or more. About "
    meaning += f"{ranking.about.words}."
    return render(
        "campaign.html",
        name,
        origin,
        said=_summary(verdicts),
        names=ranking.systems,
        measure=measure,
        about=ranking.about.words,
        ranking={"drawing": drawing, "grid": grid(keys, heads, rows, _spell)},
        pairs=_triangle([row["system"] for row in rows], cells, meaning),
        course=_course(curve) if len(curve) > 1 else None,
        evidence=_worth(worth),
        pictures=_encoded(pictures),
        prompts=prompts or {},
        left_out=parts.left_out if parts else [],
    )


def _encoded(pictures: Mapping[str, bytes] | None) -> list[tuple[str, str]]:
    """Pictures encoded for a page."""
    return [(query, b64encode(picture).decode()) for query, picture in (pictures or {}).items()]


def _summary(verdicts: Verdicts) -> list[tuple[str, str]]:
    """Verdict, confidence, judgments, check of the model, measure and queries: each a heading and a sentence."""
    ranking = verdicts.ranking
    sure = (
        f"{ranking.sureness}; {ranking.of_these.sureness}" if ranking.about.queries == "queries" else ranking.sureness
    )
    systems, queries = len(ranking.systems), ranking.queries
    found = {
        "Verdict": verdicts.sentence,
        "Ranking": f"{sure[0].upper()}{sure[1:]}.",
        "Judgments": f"{ranking.resting[0].upper()}{ranking.resting[1:]}.",
        "Model": ranking.check.sentence if 0 < ranking.judged < ranking.pool else "",
        "Measure": _in_words(ranking.measure),
        "Queries": f"{queries:,}, for {systems:,} system{'s' if systems > 1 else ''}.",
        "Notes": " ".join(f"{note}." for note in ranking.notes),
    }
    return [(head, sentence) for head, sentence in found.items() if sentence]


def _in_words(measure: Measure) -> str:
    """A measure and its meaning, as a sentence."""
    return f"{measure}: {measure.words}." if measure.words else f"{measure}."


def _ranks(row: Mapping[str, Any]) -> str:
    """The possible ranks of each system."""
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low} – {high}"


def _course(curve: Sequence[tuple[int, float | None]]) -> dict[str, Any]:
    """Confidence in the ranking by the number of judgments."""
    points = [{"judged": judged, "confidence": confidence} for judged, confidence in curve]
    return {
        "drawing": course_drawing(curve),
        "grid": grid(("judged", "confidence"), ("Judged", "Confidence"), points, _spell),
    }


def course_drawing(curve: Sequence[tuple[int, float | None]]) -> str:
    """The confidence in the ranking by the number of judgments, as SVG."""
    judged, confidence = zip(*curve, strict=True)
    line = Line("confidence", judged, [math.nan if of is None else of for of in confidence])
    return inline_svg(draw_curves([line], "judgments", "confidence"), "confidence by judgments")


def _worth(worth: EvidenceWorth | None) -> dict[str, Any] | None:
    """Worth of each piece of evidence, with intervals over queries."""
    if worth is None:
        return None
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
        "Increase of the root mean square error of held-out grades without it, as a share of the highest grade, "
        "and decrease of their log score, with 95 % intervals over queries, when this share of the pool is judged"
    )
    if worth.target is not None:
        said += f"; and the number of judgments saved until the confidence in the ranking is {worth.target:g}"
    return {"grid": grid(("evidence", "judged", "rmse", "log", "saved"), heads, rows, _spell), "said": said}


def _measured(measure: str, one: Evaluation, parts: Parts) -> dict[str, Any]:
    rows = one.rows()
    keys = ["system", "mean", "low", "high", "new_low", "new_high"]
    heads = ["System", measure, "Low", "High", "New query: low", "High"]
    if one.satisfied is not None:
        keys += ["satisfied", "success"]
        heads += ["Satisfied users", "Success"]
    drawing = inline_svg(one.plot(), f"{measure} of each system")
    return {
        "name": measure,
        "words": _in_words(one.scores.measure),
        "queries": len(one.scores.queries),
        "ranking": {"drawing": drawing, "grid": grid(keys, heads, rows, _spell)},
        "spread": _spread(measure, one),
        "differences": _differences(one),
        "stability": parts.made(f"stability by {measure}", lambda: _stability(measure, one)),
    }


def _spread(measure: str, one: Evaluation) -> dict[str, Any]:
    """Spread of the scores of each system over the queries: quartiles around the median."""
    systems, (low, middle, high) = one.scores.systems, np.quantile(one.scores.values, [0.25, 0.5, 0.75], axis=1)
    rows = [
        {"system": system, "low": start, "median": median, "high": end}
        for system, start, median, end in zip(systems, low.tolist(), middle.tolist(), high.tolist(), strict=True)
    ]
    heads = ("System", "First quartile", "Median", "Third quartile")
    return {
        "drawing": inline_svg(draw_intervals(systems, low, middle, high, measure), f"{measure} over the queries"),
        "grid": grid(("system", "low", "median", "high"), heads, rows, _spell),
    }


def _differences(one: Evaluation) -> dict[str, Any] | None:
    if one.comparison is None:
        return None
    cells = {(row["a"], row["b"]): (row["effect_size"], row["p_holm"] < SIGNIFICANT) for row in one.pair_rows()}
    said = (
        f"Effect sizes: the mean difference in standard deviations of the differences, row less column; filled where "
        f"the {one.comparison.test} test, adjusted by Holm for all pairs, finds a difference at .05."
    )
    return _triangle(one.scores.systems, cells, said)


def _triangle(
    systems: Sequence[str], cells: Mapping[tuple[str, str], tuple[float, bool]], said: str
) -> dict[str, Any] | None:
    """All pairs of systems, the better one's row and the worse one's column, each with a number; some are marked."""
    if len(systems) < 2:
        return None
    values, marked = np.full((len(systems),) * 2, np.nan), np.zeros((len(systems),) * 2, dtype=bool)
    for (a, b), (value, is_marked) in cells.items():
        place = systems.index(a), systems.index(b)
        values[place], marked[place] = value, is_marked
    rows = [
        [("", False)] * place
        + [(_short(values[place, b]), bool(marked[place, b])) for b in range(place + 1, len(systems))]
        for place in range(len(systems) - 1)
    ]
    drawing = inline_svg(draw_triangle(systems, values, marked), said.split(":")[0])
    return {"systems": list(systems), "rows": rows, "drawing": drawing, "said": said}


def _stability(measure: str, one: Evaluation) -> dict[str, Any] | None:
    if len(one.scores.systems) < 2:
        return None
    study = crossed(one.scores.values)
    curve = study.curve(np.array(QUERY_COUNTS, dtype=float))
    rows = [
        {"queries": n, "relative": relative, "absolute": absolute}
        for n, relative, absolute in zip(QUERY_COUNTS, curve.relative.tolist(), curve.absolute.tolist(), strict=True)
    ]
    needed = study.queries_for_relative(STABLE), study.queries_for_absolute(STABLE)
    shown = ", ".join("no number" if count is None else str(count) for count in needed)
    said = (
        "Generalizability (E rho², of the ranking) and dependability (Phi, of the scores) by the number of queries, "
        f"with 95 % intervals. Queries for .95: {shown}."
    )
    return {
        "drawing": inline_svg(Reliability(one.scores.measure, study).plot(), f"stability of {measure} by queries"),
        "grid": grid(("queries", "relative", "absolute"), ("Queries", "E rho²", "Phi"), rows, _spell),
        "said": said,
    }


def _spell(key: str, value: Any) -> str:
    if key in {"satisfied", "success"}:
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "∞"


def _short(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "∞"
