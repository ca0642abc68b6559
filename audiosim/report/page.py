"""What training found, as one page that needs no other file."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from audiosim.relevance.findings import Findings, Training
from audiosim.relevance.own_judgment import WARNING
from audiosim.relevance.provenance import Provenance
from audiosim.report.plots import agreement_plot, bar_plot
from audiosim.report.training import (
    COEFFICIENT_HEADS,
    COEFFICIENTS,
    EFFECT_HEADS,
    EFFECTS,
    ROBUST_MEAN,
    SCORE_HEADS,
    SCORES,
    SCORES_MEAN,
    STEP_HEADS,
    STEPS,
    VERSION_HEADS,
    VERSIONS,
    spell,
    summary,
)

STYLE = """
:root { color-scheme: light dark; --ink: #1d2530; --soft: #5b6675; --line: #dfe4ea; --ground: #ffffff;
  --panel: #f6f8fa; --accent: #0b6e8a; --alarm: #9b1c1c; --alarm-ground: #fdecec; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa6b4; --line: #323b46; --ground: #14181d;
  --panel: #1b2128; --accent: #56bdd8; --alarm: #ffb3b3; --alarm-ground: #3a1c1f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 4rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { max-width: 48rem; margin: .5rem 0; } .soft, figcaption { color: var(--soft); font-size: .9rem; }
.alarm { color: var(--alarm); background: var(--alarm-ground); border-left: 4px solid; padding: .75rem 1rem;
  font-weight: 600; max-width: none; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem 1.1rem .3rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } .word { text-align: left; } code { overflow-wrap: anywhere; }
tr.best td { font-weight: 600; }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: .75rem 0; padding: 1rem;
  width: fit-content; background: var(--panel);
  border: 1px solid var(--line); border-radius: 8px; } figcaption { max-width: 24rem; margin-top: .6rem; }
svg { display: block; max-width: 100%; height: auto; } .plot-text { fill: var(--ink); font-size: 13px; }
.plot-axis { fill: none; stroke: var(--soft); } .plot-grid { stroke: var(--line); }
.plot-ideal { stroke: var(--soft); stroke-dasharray: 5 5; }
.plot-line { fill: none; stroke: var(--accent); stroke-width: 2; }
.plot-dot, .plot-bar { fill: var(--accent); }
"""


def training_page(trained: Training) -> str:
    """The report of a training: plots and tables, light or dark as the reader's screen is."""
    findings = trained.findings
    name = escape(trained.model.name)
    parts = [
        f"<h1>{name}</h1>",
        f'<p class="alarm">{escape(WARNING)}.</p>' if findings.own_judgment else "",
        f"<p>{escape(summary(trained))}</p>",
        _notes(findings),
        _scores(findings),
        _versions(findings),
        _plots(findings),
        _terms(findings),
        _rest(trained),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{name}</title>'
    top = f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
    return f"{top}\n<body>\n{_joined(parts)}\n</body></html>"


def _notes(findings: Findings) -> str:
    notes = [note for note in findings.notes if note != WARNING]
    return f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else ""


def _scores(findings: Findings) -> str:
    rows = [row._asdict() for row in findings.scores]
    return f'<h2>How good it is</h2>{_table(SCORES, SCORE_HEADS, rows)}<p class="soft">{escape(SCORES_MEAN)}</p>'


def _versions(findings: Findings) -> str:
    if not findings.versions:
        return ""
    rows = [row._asdict() for row in findings.versions]
    return _joined(
        [
            f"<h2>In sample, by the pair's own judgment</h2>{_table(VERSIONS, VERSION_HEADS, rows)}",
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
    return _joined(
        [
            '<h2>Does it keep its word?</h2><div class="plots">',
            _figure(
                agreement_plot(groups, "expected grade", "mean actual grade"),
                f"Calibration, {where}: ten groups of pairs of about the same expectation. On the dashed line the "
                "expectation is right.",
            ),
            _figure(
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
    return _joined(
        [
            f"<h2>What each term explains</h2>{_figure(drawing, caption)}",
            _table(EFFECTS, EFFECT_HEADS, rows),
            f"<h2>Coefficients</h2>{_table(COEFFICIENTS, COEFFICIENT_HEADS, rows)}",
            f'<p class="soft">{escape(ROBUST_MEAN)}</p>',
        ]
    )


def _rest(trained: Training) -> str:
    findings = trained.findings
    parts = []
    if findings.eliminated:
        rows = [row._asdict() for row in findings.eliminated]
        parts.append(f"<h2>Eliminated, in this order</h2>{_table(STEPS, STEP_HEADS, rows)}")
    thresholds = [row._asdict() for row in findings.thresholds]
    heads = ("Level", "Threshold", *COEFFICIENT_HEADS[2:])
    parts.append(f"<h2>Thresholds</h2>{_table(COEFFICIENTS, heads, thresholds)}")
    if trained.model.training is not None:
        parts.append(_provenance(trained.model.training))
    return _joined(parts)


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


def _table(keys: Sequence[str], heads: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    kinds = ["word" if rows and isinstance(rows[0][key], str) else "number" for key in keys]
    head = "".join(f'<th class="{kind}">{escape(text)}</th>' for kind, text in zip(kinds, heads, strict=True))
    body = []
    for row in rows:
        cells = (
            f'<td class="{kind}">{escape(spell(key, row[key]))}</td>' for kind, key in zip(kinds, keys, strict=True)
        )
        mark = ' class="best"' if row.get("predictor", "").startswith("model") else ""
        body.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)
