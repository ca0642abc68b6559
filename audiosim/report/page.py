"""Page of a record, in plain words and with its figures; it needs no other file."""

import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

import numpy as np

from audiosim.collection.aspects import MEAN
from audiosim.errors import InputError
from audiosim.evaluation.evaluation import Evaluation
from audiosim.evaluation.reliability import QUERY_COUNTS, STABLE, Reliability
from audiosim.measures.measure import Measure
from audiosim.ranking.ranking import Ranking
from audiosim.report.imprint import Imprint, citation_line
from audiosim.report.record import Record
from audiosim.report.rendering import grid, inline_svg, render
from audiosim.results.plots import Line, draw_curves, draw_intervals, draw_tenths, draw_triangle
from audiosim.simulation.worth import EvidenceWorth
from audiosim.stats.generalizability import crossed
from audiosim.text import counted

CALIBRATED = 10  # fewest judgments for a plot of their places
SURE = 0.95
SIGNIFICANT = 0.05
USUAL = "How similar does the candidate sound to the query?"
Made = TypeVar("Made")
REFERENCES = (
    "Urbano, J. (2013). Evaluation in Audio Music Similarity. PhD thesis, University Carlos III of Madrid.",
    "Urbano, J. & Schedl, M. (2013). Minimal test collections for low-cost evaluation of Audio Music Similarity and "
    "Retrieval systems. International Journal of Multimedia Information Retrieval 2(1), 59-70.",
    "Hothorn, T., Bretz, F. & Westfall, P. (2008). Simultaneous inference in general parametric models. Biometrical "
    "Journal 50(3), 346-363. doi:10.1002/bimj.200810425",
    "Klein, M., Wright, T. & Wieczorek, J. (2020). A joint confidence region for an overall ranking of populations. "
    "Applied Statistics 69(3), 589-606.",
    "Dawid, A. P. (1984). Statistical theory: the prequential approach. Journal of the Royal Statistical Society A "
    "147(2), 278-292. doi:10.2307/2981683",
    "Vovk, V. & Wang, R. (2021). E-values: calibration, combination and applications. Annals of Statistics 49(3), "
    "1736-1754. doi:10.1214/20-AOS2020",
    "Rubin, D. B. (1987). Multiple Imputation for Nonresponse in Surveys. Wiley.",
)


@dataclass(slots=True)
class Extras:
    """Parts of a page beside the record, and sentences on those that could not be computed.

    prompts   query -> its text
    pictures  query -> JPEG file of its recording
    worth     worth of the evidence
    """

    prompts: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, bytes] | None = None
    worth: EvidenceWorth | None = None
    left_out: list[str] = field(default_factory=list)

    def made(self, name: str, make: Callable[[], Made]) -> Made | None:
        """A part; None if its data do not suffice, as the page then says."""
        try:
            return make()
        except InputError as error:
            self.left_out.append(f"{name}: {error}")
            return None


def page(
    record: Record, about: Mapping[str, Any], files: Sequence[str], imprint: Imprint, extras: Extras | None = None
) -> str:
    """The page of a record.

    about    date, versions and checksums of the sources, as `bundle` has them
    files    names of the files beside the page
    imprint  authors, licence and words of the publishers
    """
    extras, value, check = extras or Extras(), record.to_dict(), record.ranking.check
    calibrated = len(check.chances) >= CALIBRATED
    order = {row["system"]: place for place, row in enumerate(value["systems"])}
    return render(
        "report.html",
        value["name"],
        record=value,
        names=list(order),
        complete=record.complete,
        several=record.several,
        check=check.sentence,
        people=record.satisfied is not None and record.several,
        figures=_figures(record, value, calibrated),
        course=grid(("judged", "confidence"), ("Judged", "Confidence"), _moments(record), _spell),
        neighbours=[row for row in value["pairs"] if order[row["b"]] - order[row["a"]] == 1],
        triangle=None if record.complete else _confidences(record.ranking),
        measures=[_measured(name, one, extras, value["measure"]) for name, one in record.evaluations.items()],
        calibration=[row for row in check.group_rows() if row["kind"] in {"all", "system"}] if calibrated else [],
        agreement=next((one for one in value["agreement"]["scales"].values() if one["pairs"]), None),
        method=_method(record),
        references=REFERENCES,
        judgments=record.source.judgments,
        versions=about["versions"],
        sources=about["sources"],
        date=about["written"],
        files=files,
        facts=facts(record),
        aspects=_by_aspect(record),
        imprint=imprint,
        citation=citation_line(value, date.fromisoformat(about["written"]), imprint),
        evidence=_worth(extras.worth),
        pictures=[(query, b64encode(picture).decode()) for query, picture in (extras.pictures or {}).items()],
        prompts=extras.prompts,
        left_out=extras.left_out,
    )


# The record in plain words, for readers without knowledge of measures or statistics.


def facts(record: Record) -> dict[str, str]:
    """Answers to the first questions of a reader, by question."""
    collection, ranking = record.collection, record.ranking
    asked = _asked(record)
    found = {
        "What was compared": f"{counted(len(ranking.systems), 'system')}, on "
        f"{counted(ranking.queries, 'query', 'queries')}: {counted(ranking.pool, 'result')} in all.",
        "Who judged": _who(record),
        "What they were asked": " ".join(asked) if len(asked) < 2 else "; ".join(f"“{one}”" for one in asked) + ".",
        "How to read it": _reading(record),
        "Measure": _in_words(ranking.measure),
    }
    if not record.complete:
        found["What is still unknown"] = (
            f"{ranking.pool - ranking.judged:,} of {ranking.pool:,} results have no grade yet. Their grades are "
            "predicted; the intervals show how far the predictions may be off."
        )
    if collection.aspect == MEAN and record.aspects:
        found["Several questions"] = (
            f"Each result was graded for {', '.join(record.aspects)}. The ranking is by their mean; the ranking "
            "by each follows below."
        )
    if ranking.notes:
        found["Notes"] = " ".join(f"{note}." for note in ranking.notes)
    return found


def _in_words(measure: Measure) -> str:
    """A measure and its meaning, as a sentence."""
    return f"{measure}: {measure.words}." if measure.words else f"{measure}."


def _asked(record: Record) -> list[str]:
    collection = record.collection
    task = collection.assessor_task
    if task is not None and task.table.aspect:
        return [one.question for one in task.table.aspect]
    own = "" if task is None else task.table.question
    return [own or collection.task or USUAL]


def _who(record: Record) -> str:
    judgments = record.judgments
    people = len({one.assessor for one in judgments if one.assessor})
    days = sorted({one.time[:10] for one in judgments if one.time})
    by = f"{counted(people, 'person', 'people')} gave " if people else ""
    when = "" if not days else f" on {days[0]}" if days[0] == days[-1] else f" from {days[0]} to {days[-1]}"
    said = f"{by}{counted(len(judgments), 'grade')}{when}"
    return f"{said[0].upper()}{said[1:]}." if judgments else "Nobody yet: all grades are predicted."


def _reading(record: Record) -> str:
    low, high = (f"{level:g}" for level in (record.collection.scale.levels[0], record.collection.scale.levels[-1]))
    letters = " Systems that share a letter cannot be told apart: their order may be chance."
    return (
        f"Grades go from {low} (worst) to {high} (best), and a system's score sums up the grades of its results. "
        "The line beside a score is its 95 % interval for queries of this kind; the shorter the line, the more certain "
        f"the score.{letters if record.verdicts.group_rows() else ''}"
    )


def _by_aspect(record: Record) -> list[dict[str, Any]]:
    """Each system, best first, with its row by each aspect; empty without aspects."""
    if not record.aspects:
        return []
    rows = {(row["aspect"], row["system"]): row for row in record.aspect_rows()}
    systems = [record.ranking.systems[place] for place in record.ranking.order]
    return [{"system": name, "by": [rows[aspect, name] for aspect in record.aspects]} for name in systems]


def _figures(record: Record, value: Mapping[str, Any], calibrated: bool) -> dict[str, str]:
    """The figures of the page, by subject."""
    name = "score" if record.several else "expectation"
    figures = {"scores": _intervals(value["systems"], name, value["measure"])}
    if record.satisfied is not None and record.several:
        new = ("satisfied_least", "satisfied_most")
        figures["satisfied"] = _intervals(value["systems"], "satisfied", "P(Sat)", new)
    if calibrated:
        tenths = draw_tenths(record.ranking.check.chances, "place in the predictive distribution")
        figures["calibration"] = inline_svg(tenths, "judgments in each tenth of their predictive distributions")
    if len(record.curve) > 1:
        line = Line("confidence", *zip(*(row.values() for row in _moments(record)), strict=True))
        drawn = draw_curves([line], "judgments", "confidence")
        figures["curve"] = inline_svg(drawn, "confidence by judgments")
    return figures


def _moments(record: Record) -> list[dict[str, float]]:
    """Number of judgments and confidence at each moment; NaN where there is nothing to order."""
    return [{"judged": judged, "confidence": math.nan if of is None else of} for judged, of in record.curve]


def _intervals(rows: Sequence[Mapping[str, Any]], name: str, across: str, outer: tuple[str, str] | None = None) -> str:
    """Intervals of the systems, best on top.

    name   column to draw; its ends are in `name_low` and `name_high`, those of the expectation in `low` and `high`
    outer  columns of a second, thinner interval
    """
    ends = ("low", name, "high") if name == "expectation" else (f"{name}_low", name, f"{name}_high")
    low, middle, high = ([row[key] for row in rows] for key in ends)
    wider = None if outer is None else ([row[outer[0]] for row in rows], [row[outer[1]] for row in rows])
    labels = [str(row["system"]) for row in rows]
    return inline_svg(draw_intervals(labels, low, middle, high, across, wider), across)


def _confidences(ranking: Ranking) -> dict[str, Any] | None:
    """Confidence in the order of each pair of systems."""
    cells = {(row["a"], row["b"]): (row["confidence"], row["confidence"] >= SURE) for row in ranking.pair_rows()}
    meaning = "Confidence that the system of the row is better than that of the column; filled at .95 or more. About "
    return _triangle([ranking.systems[place] for place in ranking.order], cells, f"{meaning}{ranking.about.words}.")


def _method(record: Record) -> list[str]:
    """The method in a paragraph or two, for a publication."""
    ranking = record.ranking
    score = f"Systems are scored by {ranking.measure}, the mean over {ranking.queries} queries."
    kind = (
        "Statements on queries of this kind are about means over queries, by Student's t (Urbano 2013, sections 4.2 "
        "and 5.6.2); P(Sat) follows from scores by the published mapping, and P(Succ) is the share of queries with "
        f"P(Sat) above {record.threshold:g}."
    )
    if record.complete:
        return [f"{score} All {ranking.pool:,} retrieved pairs of query and document were judged.", kind]
    return [
        f"{score} {ranking.judged:,} of {ranking.pool:,} retrieved pairs of query and document were judged; the grades "
        f"of the others are predicted by the model {ranking.model}, as a multivariate distribution conditioned on all "
        "judgments (Urbano & Schedl 2013; Urbano 2013, chapters 7 and 8). Groups and ranks hold together at the stated "
        "level: the largest standardised difference over all pairs, from draws of the joint distribution of the scores "
        "(Hothorn, Bretz & Westfall 2008), and intervals of ranks by counting (Klein, Wright & Wieczorek 2020).",
        "The model is checked with each judgment, compared with its prediction from the earlier judgments (Dawid "
        "1984), by a test martingale: a correct model fails with a probability of at most 5 %, however often it is "
        "checked (Vovk & Wang 2021).",
        f"{kind} Missing grades were drawn {len(record.scores)} times from the model and the results combined by "
        "the rules of Rubin (1987).",
    ]


# Parts of a page about collections that are judged in full, and the worth of their evidence.


def _measured(measure: str, one: Evaluation, extras: Extras, drawn: str) -> dict[str, Any]:
    """Ranking, spread, differences and stability by one measure, with everything judged.

    drawn  measure whose ranking is drawn already
    """
    keys = ["system", "mean", "low", "high", "new_query_low", "new_query_high"]
    heads = ["System", measure, "Low", "High", "New query: low", "High"]
    if one.satisfied is not None:
        keys += ["satisfied", "success"]
        heads += ["Satisfied users", "Success"]
    return {
        "name": measure,
        "words": _in_words(one.scores.measure),
        "queries": len(one.scores.queries),
        "ranking": {
            "drawing": None if measure == drawn else inline_svg(one.plot(), f"{measure} of each system"),
            "grid": grid(keys, heads, one.rows(), _spell),
        },
        "spread": _spread(measure, one),
        "differences": _differences(one),
        "stability": extras.made(f"stability by {measure}", lambda: _stability(measure, one)),
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


def _spell(key: str, value: Any) -> str:
    if key in {"satisfied", "success"}:
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "∞"


def _short(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "∞"
