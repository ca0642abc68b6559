"""Report of a training, as one page that needs no other file."""

from typing import TYPE_CHECKING, Any

import numpy as np

from audiosim.report import training_views as views
from audiosim.report.rendering import Grid, Origin, grid, inline_svg, render
from audiosim.training.findings import Findings, Training
from audiosim.training.own_judgment import WARNING

if TYPE_CHECKING:
    pass

THRESHOLD_HEADS = ("Level", "Threshold", *views.COEFFICIENT_HEADS[2:])


def training_page(trained: Training, origin: Origin | None = None) -> str:
    """The report of a training: plots and tables, light or dark to match the reader's screen.

    origin  origin of the page: date and versions
    """
    from audiosim.plots import page_axes

    findings = trained.findings
    return render(
        "training.html",
        trained.model.name,
        origin,
        warning=WARNING if findings.own_judgment else "",
        summary=views.fit_summary(trained),
        notes=[note for note in findings.notes if note != WARNING],
        scores=_grid(views.SCORES, views.SCORE_HEADS, findings.scores),
        scores_mean=views.SCORES_MEAN,
        intervals_title=views.INTERVALS_TITLE,
        intervals=_grid(views.INTERVALS, views.INTERVAL_HEADS, findings.intervals),
        intervals_mean=views.INTERVALS_MEAN,
        components_title=views.COMPONENTS_TITLE,
        components=_components(trained),
        versions=_grid(views.VERSIONS, views.VERSION_HEADS, findings.versions),
        where=next((row.sample for row in findings.scores if row.sample != "in sample"), "in sample"),
        calibration=_calibration(findings),
        coverage=_coverage(findings),
        effects=_effects(findings),
        effects_grid=grid(views.EFFECTS, views.EFFECT_HEADS, findings.term_rows(), views.spell),
        coefficients=inline_svg(trained.plot(page_axes(len(findings.coefficients))), "Coefficients"),
        coefficients_grid=grid(views.COEFFICIENTS, views.COEFFICIENT_HEADS, findings.term_rows(), views.spell),
        robust_mean=views.ROBUST_MEAN,
        eliminated=_grid(views.STEPS, views.STEP_HEADS, findings.eliminated),
        thresholds=_grid(views.COEFFICIENTS, THRESHOLD_HEADS, findings.thresholds),
        training=trained.model.training,
    )


def _grid(keys: tuple[str, ...], heads: tuple[str, ...], rows: Any) -> Grid | None:
    """A table of named tuples; None without any."""
    return grid(keys, heads, [row._asdict() for row in rows], views.spell) if rows else None


def _components(trained: Training) -> dict[str, Any] | None:
    from audiosim.plots import draw_bars, page_axes

    rows = views.component_table(trained.findings)
    if not rows:
        return None
    errors = [np.nan if row["standard_error"] is None else row["standard_error"] for row in rows]
    across = "share of the standard deviation of a grade"
    axes = draw_bars(
        [row["component"] for row in rows], [row["size"] for row in rows], across, page_axes(len(rows)), errors
    )
    return {
        "drawing": inline_svg(axes, "Sizes of the components"),
        "grid": grid(views.COMPONENT_COLUMNS, views.COMPONENT_HEADS, rows, views.spell),
        "mean": f"{views.COMPONENTS_MEAN} {views.trend(trained)}",
    }


def _calibration(findings: Findings) -> str:
    from audiosim.plots import Series, draw_calibration, square_axes

    expected, actual, rows = zip(*((one.expected, one.actual, one.rows) for one in findings.calibration), strict=True)
    axes = draw_calibration([Series("", expected, actual, rows)], "expected grade", "mean actual grade", square_axes())
    return inline_svg(axes, "mean actual grade by expected grade")


def _coverage(findings: Findings) -> str:
    from audiosim.plots import Series, draw_calibration, square_axes

    nominal, actual = zip(*findings.coverage, strict=True)
    titles = "probability of the set", "share of true levels in it"
    return inline_svg(
        draw_calibration([Series("", nominal, actual)], *titles, square_axes()), " by ".join(reversed(titles))
    )


def _effects(findings: Findings) -> str:
    from audiosim.plots import draw_bars, page_axes

    names, values = [row.term for row in findings.effects], [row.type_two for row in findings.effects]
    across = "likelihood-ratio χ², type II"
    shown = [f"{value:,.1f}" for value in values]
    return inline_svg(draw_bars(names, values, across, page_axes(len(names)), shown=shown), across)
