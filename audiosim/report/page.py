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
from audiosim.ranking.ranking import Ranking
from audiosim.report.imprint import Imprint, citation_line
from audiosim.report.record import Record
from audiosim.report.rendering import inline_svg, render
from audiosim.results.plots import Line, draw_curves, draw_intervals, draw_tenths, draw_triangle, in_cell
from audiosim.simulation.worth import EvidenceWorth
from audiosim.stats.generalizability import crossed
from audiosim.text import counted, sentence

CALIBRATED = 10  # fewest judgments for a plot of their places
SURE = 0.95
SIGNIFICANT = 0.05
USUAL = "How similar does the candidate sound to the query?"
COMPARED = "Which candidate sounds closer to the query?"
FITS = "Which of the two fits better?"  # after an own question
Made = TypeVar("Made")


@dataclass(slots=True)
class Extras:
    """Parts of a page beside the record, and sentences on those that could not be computed.

    prompts   query -> its text
    pictures  query -> JPEG file of its recording
    worth     worth of the evidence
    earlier   questions with which grades were asked for before the last one; empty for the usual one
    """

    prompts: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, bytes] | None = None
    worth: EvidenceWorth | None = None
    earlier: Sequence[str] = ()
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
    calibrated = check.judged >= CALIBRATED
    order = {row["system"]: place for place, row in enumerate(value["systems"])}
    return render(
        "report.html",
        value["name"],
        record=value,
        names=list(order),
        check=check.sentence,
        people=record.satisfied is not None and record.kind is not None,
        figures=_figures(record, value, calibrated),
        neighbours=[row for row in value["pairs"] if order[row["b"]] - order[row["a"]] == 1],
        triangle=None if record.complete else _confidences(record.ranking),
        measures=[_measured(name, one, extras, value["measure"]) for name, one in record.evaluations.items()],
        calibration=[row for row in check.group_rows() if row["kind"] in {"all", "system"}] if calibrated else [],
        agreement=next((one for one in value["agreement"]["scales"].values() if one["pairs"]), None),
        files=files,
        found=record,
        about=about,
        extras=extras,
        asked=_asked(record),
        earlier=[one or record.collection.task or USUAL for one in extras.earlier],
        judged_by=_who(record),
        by_mean=record.collection.aspect == MEAN,
        aspects=_by_aspect(record),
        imprint=imprint,
        citation=citation_line(value, date.fromisoformat(about["written"]), imprint),
        pictures=[(query, b64encode(picture).decode()) for query, picture in (extras.pictures or {}).items()],
    )


def _asked(record: Record) -> list[str]:
    collection = record.collection
    task = collection.assessor_task
    if task is not None and task.table.aspect:
        return [one.question for one in task.table.aspect]
    own = ("" if task is None else task.table.question) or collection.task
    graded = [own or USUAL] if record.judgments or not collection.comparisons else []
    return [*graded, *([f"{own} {FITS}" if own else COMPARED] if collection.comparisons else [])]


def _who(record: Record) -> str:
    judgments, compared = record.judgments, record.collection.comparisons
    named = [one.assessor for one in (*judgments, *compared) if one.assessor]
    days = sorted({one.time[:10] for one in judgments if one.time and (one.assessor or not named)})
    when = "" if not days else f" on {days[0]}" if days[0] == days[-1] else f" from {days[0]} to {days[-1]}"
    kinds = ((judgments, "grade"), (compared, "comparison"))
    given, by = " and ".join(counted(len(some), one) for some, one in kinds if some), counted(len(set(named)), "person")
    if not named:
        return sentence(f"{given}{when}") if given else "Nobody yet: all grades are predicted."
    if len(named) < len(judgments) + len(compared):
        return f"{given}: {len(named):,} by {by}{when}, the others by people who are not named."
    return f"{by} gave {given}{when}."


def _by_aspect(record: Record) -> list[dict[str, Any]]:
    """Each system, best first, with its row by each aspect; empty without aspects."""
    if not record.aspects:
        return []
    rows = {(row["aspect"], row["system"]): row for row in record.aspect_rows()}
    systems = [record.ranking.systems[place] for place in record.ranking.scores.order]
    return [{"system": name, "by": [rows[aspect, name] for aspect in record.aspects]} for name in systems]


def _figures(record: Record, value: Mapping[str, Any], calibrated: bool) -> dict[str, str]:
    """The figures of the page, by subject."""
    name = "expectation" if record.kind is None else "score"
    figures = {"scores": _intervals(value["systems"], name, value["measure"])}
    if record.satisfied is not None and record.kind is not None:
        new = ("satisfied_least", "satisfied_most")
        figures["satisfied"] = _intervals(value["systems"], "satisfied", "P(Sat)", new)
    if calibrated:
        tenths = draw_tenths(record.ranking.check.chances(), "place in the predictive distribution")
        figures["calibration"] = inline_svg(tenths, "judgments in each tenth of their predictive distributions")
    if len(record.curve) > 1:
        judged, confidence = zip(*record.curve, strict=True)
        line = Line("confidence", judged, [math.nan if of is None else of for of in confidence])
        drawn = draw_curves([line], "judgments", "confidence")
        figures["curve"] = inline_svg(drawn, "confidence by judgments")
    return figures


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
    # Systems known to be equal have no order to be confident in, and no number.
    sure = {(row["a"], row["b"]): math.nan if row["equal"] else row["confidence"] for row in ranking.pair_rows()}
    cells = {pair: (confidence, confidence >= SURE) for pair, confidence in sure.items()}
    said = "Confidence that the system of the row is better than that of the column; = if they are known to be equal, "
    said += f"filled at .95 or more. About {ranking.about.words}."
    return _triangle([ranking.systems[place] for place in ranking.scores.order], cells, said)


# Parts of a page about collections that are judged in full.


def _measured(measure: str, one: Evaluation, extras: Extras, drawn: str) -> dict[str, Any]:
    """Ranking, spread, differences and stability by one measure, with everything judged.

    drawn  measure whose ranking is drawn already
    """
    return {
        "measure": one.scores.measure,
        "queries": len(one.scores.queries),
        "drawing": None if measure == drawn else inline_svg(one.plot(), f"{measure} of each system"),
        "rows": one.rows(),
        "people": one.satisfied is not None,
        "spread": _spread(measure, one),
        "differences": _differences(one),
        "stability": extras.made(f"stability by {measure}", lambda: _stability(measure, one)),
    }


def _spread(measure: str, one: Evaluation) -> dict[str, Any]:
    """Spread of the scores of each system over the queries: quartiles around the median."""
    systems, (low, middle, high) = one.scores.systems, np.quantile(one.scores.values, [0.25, 0.5, 0.75], axis=1)
    return {
        "drawing": inline_svg(draw_intervals(systems, low, middle, high, measure), f"{measure} over the queries"),
        "rows": list(zip(systems, low, middle, high, strict=True)),
    }


def _differences(one: Evaluation) -> dict[str, Any] | None:
    if one.comparison is None:
        return None
    cells = {(row["a"], row["b"]): (row["effect_size"], row["p_holm"] < SIGNIFICANT) for row in one.pair_rows()}
    said = "Effect sizes: the mean difference in standard deviations of the differences (∞: they have none), row less "
    said += f"column; filled where the {one.comparison.test} test, adjusted by Holm, finds a difference at .05."
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
        + [(in_cell(values[place, b]), bool(marked[place, b])) for b in range(place + 1, len(systems))]
        for place in range(len(systems) - 1)
    ]
    drawing = inline_svg(draw_triangle(systems, values, marked), said.split(":")[0])
    return {"systems": list(systems), "rows": rows, "drawing": drawing, "said": said}


def _stability(measure: str, one: Evaluation) -> dict[str, Any] | None:
    if len(one.scores.systems) < 2:
        return None
    study = crossed(one.scores.values)
    curve = study.curve(np.array(QUERY_COUNTS, dtype=float))
    return {
        "drawing": inline_svg(Reliability(one.scores.measure, study).plot(), f"stability of {measure} by queries"),
        "rows": list(zip(QUERY_COUNTS, curve.relative, curve.absolute, strict=True)),
        "needed": [study.queries_for_relative(STABLE), study.queries_for_absolute(STABLE)],
    }
