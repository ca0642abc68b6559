"""Report of a training, as one page that needs no other file."""

from html import escape

from audiosim.relevance.provenance import Provenance
from audiosim.report.html import document, figure, joined, table
from audiosim.report.plots import agreement_plot, bar_plot
from audiosim.report.training_views import (
    COEFFICIENT_HEADS,
    COEFFICIENTS,
    COMPONENT_COLUMNS,
    COMPONENT_HEADS,
    COMPONENTS_MEAN,
    COMPONENTS_TITLE,
    EFFECT_HEADS,
    EFFECTS,
    INTERVAL_HEADS,
    INTERVALS,
    INTERVALS_MEAN,
    INTERVALS_TITLE,
    ROBUST_MEAN,
    SCORE_HEADS,
    SCORES,
    SCORES_MEAN,
    STEP_HEADS,
    STEPS,
    VERSION_HEADS,
    VERSIONS,
    component_table,
    fit_summary,
    spell,
    trend,
)
from audiosim.training.findings import Findings, Training
from audiosim.training.own_judgment import WARNING


def training_page(trained: Training) -> str:
    """The report of a training: plots and tables, light or dark as the reader's screen is."""
    findings = trained.findings
    parts = [
        f'<p class="alarm">{escape(WARNING)}.</p>' if findings.own_judgment else "",
        f"<p>{escape(fit_summary(trained))}</p>",
        _notes(findings),
        _scores(findings),
        _intervals(findings),
        _components(trained),
        _versions(findings),
        _plots(findings),
        _terms(findings),
        _rest(trained),
    ]
    return document(trained.model.name, parts)


def _notes(findings: Findings) -> str:
    notes = [note for note in findings.notes if note != WARNING]
    return f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else ""


def _scores(findings: Findings) -> str:
    rows = [row._asdict() for row in findings.scores]
    return f'<h2>How good it is</h2>{table(SCORES, SCORE_HEADS, rows, spell)}<p class="soft">{escape(SCORES_MEAN)}</p>'


def _intervals(findings: Findings) -> str:
    if not findings.intervals:
        return ""
    rows = [row._asdict() for row in findings.intervals]
    shown = table(INTERVALS, INTERVAL_HEADS, rows, spell)
    return f'<h2>{INTERVALS_TITLE}</h2>{shown}<p class="soft">{escape(INTERVALS_MEAN)}</p>'


def _components(trained: Training) -> str:
    findings = trained.findings
    if not findings.components:
        return ""
    rows = component_table(findings)
    bars = [(row["component"], row["size"], spell("points", row["points"])) for row in rows]
    drawing = bar_plot(bars, "Sizes of the components", [row["standard_error"] for row in rows])
    caption = (
        "Size of each component, as a share of the standard deviation of a grade; in grades beside the bar. Lines "
        "reach one standard error to both sides."
    )
    return joined(
        [
            f"<h2>{COMPONENTS_TITLE}</h2>{figure(drawing, caption)}",
            table(COMPONENT_COLUMNS, COMPONENT_HEADS, rows, spell),
            f'<p class="soft">{escape(COMPONENTS_MEAN)} {escape(trend(trained))}</p>',
        ]
    )


def _versions(findings: Findings) -> str:
    if not findings.versions:
        return ""
    rows = [row._asdict() for row in findings.versions]
    return joined(
        [
            f"<h2>In sample, by the pair's own judgment</h2>{table(VERSIONS, VERSION_HEADS, rows, spell)}",
            '<p class="soft">Included: aSYS and aART contain the very judgment they are to predict, as in the printed '
            "numbers. Left out: what the model can do for pairs that nobody has judged.</p>",
        ]
    )


def _plots(findings: Findings) -> str:
    where = next((row.sample for row in findings.scores if row.sample != "in sample"), "in sample")
    groups = [
        (group.expected, group.actual, f"{group.rows} rows: expected {group.expected:.3f}, actual {group.actual:.3f}")
        for group in findings.calibration
    ]
    sets = [(nominal, actual, f"{nominal:.0%} sets hold {actual:.1%}") for nominal, actual in findings.coverage]
    return joined(
        [
            '<h2>Does it keep its word?</h2><div class="plots">',
            figure(
                agreement_plot(groups, "expected grade", "mean actual grade"),
                f"Calibration, {where}: ten groups of pairs of about the same expectation. On the dashed line the "
                "expectation is right.",
            ),
            figure(
                agreement_plot(sets, "probability of the set", "share of true levels in it"),
                f"Coverage, {where}: predictive sets of the most probable levels. Below the dashed line they promise "
                "too much.",
            ),
            "</div>",
        ]
    )


def _terms(findings: Findings) -> str:
    bars = [(row.term, row.type_two, f"{row.type_two:,.1f}") for row in findings.effects]
    caption = "Likelihood-ratio χ² of each term, type II: a feature is tested without its products with others."
    rows, drawing = findings.term_rows(), bar_plot(bars, "Likelihood-ratio chi-squared, type II")
    return joined(
        [
            f"<h2>What each term explains</h2>{figure(drawing, caption)}",
            table(EFFECTS, EFFECT_HEADS, rows, spell),
            f"<h2>Coefficients</h2>{table(COEFFICIENTS, COEFFICIENT_HEADS, rows, spell)}",
            f'<p class="soft">{escape(ROBUST_MEAN)}</p>',
        ]
    )


def _rest(trained: Training) -> str:
    findings = trained.findings
    parts = []
    if findings.eliminated:
        rows = [row._asdict() for row in findings.eliminated]
        parts.append(f"<h2>Eliminated, in this order</h2>{table(STEPS, STEP_HEADS, rows, spell)}")
    thresholds = [row._asdict() for row in findings.thresholds]
    heads = ("Level", "Threshold", *COEFFICIENT_HEADS[2:])
    parts.append(f"<h2>Thresholds</h2>{table(COEFFICIENTS, heads, thresholds, spell)}")
    if trained.model.training is not None:
        parts.append(_provenance(trained.model.training))
    return joined(parts)


def _provenance(training: Provenance) -> str:
    rows = [
        f"<li>{escape(source.collection)}: {source.judged:,} of {source.pairs:,} pairs judged, "
        f"{source.systems} systems, {source.queries} queries, cutoff {source.cutoff}.<br>"
        f'<span class="soft">SHA-256 of the pool '
        f"<code>{source.pool}</code>, metadata <code>{source.metadata}</code>, judgments "
        f"<code>{source.judgments}</code></span></li>"
        for source in training.collections
    ]
    packages = ", ".join(f"{name} {version}" for name, version in training.packages.items())
    date = "" if training.date is None else f"{escape(training.date)}; "
    return f"<h2>Where it comes from</h2><ul>{''.join(rows)}</ul><p>{date}{escape(packages)}.</p>"
