"""Terminal views of a training."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date as day
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from rich.console import Group, RenderableType
from rich.text import Text

from audiosim.collection.collection import Collection
from audiosim.errors import ArgumentError
from audiosim.ordinal.features import FEATURES
from audiosim.ordinal.model import save_model
from audiosim.report.rendering import Origin, inline_svg, render, written_on
from audiosim.report.screen import PlainTable, table_of
from audiosim.results.plots import Series, draw_bars, draw_calibration
from audiosim.results.value import need, plain
from audiosim.tables.text import check_output_file, write_text
from audiosim.text import NOTES, spelled_p
from audiosim.training.findings import Findings, Training
from audiosim.training.fit import Effect, Step
from audiosim.training.plan import Plan, is_joint, parse_terms
from audiosim.training.scores import PredictionScore
from audiosim.training.train import train
from audiosim.training.validate_joint import IntervalCoverage

# Heads of the columns of each table, by key.
ERRORS = {"standard_error": "SE", "robust_standard_error": "Robust SE", "robust_z": "Robust z", "robust_p": "p"}
COEFFICIENTS = {"term": "Term", "coefficient": "Coefficient"} | ERRORS
THRESHOLDS = {"term": "Level", "coefficient": "Threshold"} | ERRORS
EFFECTS = dict(zip(Effect._fields, ("Term", "χ² drop-one", "p", "χ² type II", "p"), strict=True))
SCORE_HEADS = ("Predictor", "Where", "Pairs", "RMSE", "Variance", "Log score", "50 %", "80 %", "95 %", "Slope")
SCORES = dict(zip(PredictionScore._fields, SCORE_HEADS, strict=True))
COMPONENTS = {"component": "Component", "meaning": "What these pairs have in common", "size": "Size"}
COMPONENTS |= {"standard_error": "SE", "points": "In grades", "points_error": "SE"}
INTERVAL_HEADS = ("Interval of", "Judged", "Nominal", "Actual", "Intervals")
INTERVALS = dict(zip(IntervalCoverage._fields, INTERVAL_HEADS, strict=True))
STEPS = dict(zip(Step._fields, ("Dropped", "χ²", "p", "Rows"), strict=True))
MEANINGS = {
    "query": "one query",
    "retrievers": "one query, retrieved by the same systems",
    "query_genre": "one query, documents of one genre",
    "query_artist": "one query, documents by one artist",
    "sound": "one query, documents that sound alike",
    "genres": "queries of one genre, documents of one genre",
    "artist": "documents by one artist",
    "consensus": "retrieved by about as many teams",
    "team": "retrieved by one team",
    "system": "retrieved by one system",
    "rest": "nothing: each pair's own",
}
COMPONENTS_TITLE = "Correlation of grades"
INTERVALS_TITLE = "Coverage of the true mean by intervals"
SIGNIFICANT = {"coefficient", "standard_error", "robust_standard_error", "points", "points_error"}
PERCENT = {"judged", "nominal"}
DECIMALS = {"actual": 3, "drop_one": 1, "type_two": 1, "chi_squared": 1, "z": 2, "robust_z": 2} | {
    f"coverage_{nominal}": 3 for nominal in (50, 80, 95)
}
SCORES_MEAN = (
    "Grades are divided by the scale's maximum. Variance: the predicted squared error. Log score: -log P(true level). "
    "50, 80, 95 %: share of true levels in the predictive sets of that probability. Slope: 1 is correct."
)
COMPONENTS_MEAN = (
    "Size: standard deviation of the shared effect, as a share of that of a pair's grade by the ordinal part; in "
    "grades, for a pair with the mean standard deviation. Near 0 the effect is absent or not visible."
)
INTERVALS_MEAN = (
    "Learned on one half of the queries, compared with the true means of the other, for several halvings. Intervals "
    "of one half share its judgments, so their number carries less information than it seems."
)
ROBUST_MEAN = (
    "Robust: judgments of one query may be correlated. Plain standard errors and χ² treat them as independent."
)


TERMS_MEAN = "{}. SE: standard error. Robust z: coefficient by robust SE. p: probability of so much by chance."
EFFECTS_MEAN = (
    "χ²: twice the log-likelihood that a term adds; drop-one: to all other terms; type II: to those that do not "
    "contain it, as sGEN:fGEN contains fGEN."
)


def training_view(trained: Training) -> RenderableType:
    """The model's terms, the contribution of each, and measures of its quality."""
    findings = trained.findings
    parts: list[RenderableType] = [
        Text(fit_summary(trained)),
        _titled("Coefficients", COEFFICIENTS, trained.rows()),
    ]
    words = ", ".join(
        f"{name}: {FEATURES[name].meaning}" for name in dict.fromkeys(trained.model.features) if name in FEATURES
    )
    parts.append(Text(TERMS_MEAN.format(words)))
    parts.append(_titled("Contribution of each term", EFFECTS, trained.rows()))
    parts.append(Text(f"{EFFECTS_MEAN} {ROBUST_MEAN}"))
    if rows := component_table(findings):
        parts += [_titled(COMPONENTS_TITLE, COMPONENTS, rows), Text(COMPONENTS_MEAN), Text(trend(trained))]
    parts += [*_scores(findings), Text(SCORES_MEAN)]
    if findings.intervals:
        parts += [_titled(INTERVALS_TITLE, INTERVALS, plain(findings.intervals)), Text(INTERVALS_MEAN)]
    if findings.eliminated:
        parts.append(_titled("Eliminated", STEPS, plain(findings.eliminated)))
    parts.append(Text(f"\n{findings.unseen}"))
    return Group(*parts)


def trend(trained: Training) -> str:
    """Trend of a joint model, in one line; empty for another model."""
    found = trained.model.trend
    if found is None:
        return ""
    shown = {
        name: f"{value:+.3f} (SE {found.covariance[place][place] ** 0.5:.3f})"
        for place, (name, value) in enumerate(found.coefficients.items())
    }
    return (
        f"Trend, in standard deviations of a grade: constant {shown['constant']} relative to the ordinal part, "
        f"{shown['system_agreement']} for each standard deviation by which systems agree more with other teams, "
        f"{shown['consensus']} for each unit of the logarithm of the number of teams that found a document, "
        f"{shown['repetition']} for each unit of the logarithm of the number of systems per such team."
    )


def component_table(findings: Findings) -> list[dict[str, Any]]:
    """The components of a joint model, with the property shared by their pairs."""
    return [row._asdict() | {"meaning": MEANINGS[row.component]} for row in findings.components]


def fit_summary(trained: Training) -> str:
    """Model and data of a fit, in one line."""
    model, findings = trained.model, trained.findings
    collections = (
        "" if model.training is None else ", ".join(source.collection for source in model.training.collections)
    )
    return (
        f"{model.name}: {len(model.levels)} levels of the {model.scale} scale, fitted to {findings.rows:,} of "
        f"{findings.judged:,} judgments of {findings.queries:,} queries ({collections}). "
        f"Log-likelihood {findings.log_likelihood:.4f}, without terms {findings.null_log_likelihood:.4f}; "
        f"Nagelkerke's R² {findings.r_squared:.4f}, 0 if the terms tell nothing about the grades, 1 if they tell all."
    )


def _scores(findings: Findings) -> list[RenderableType]:
    """Tables of scores, one per choice of rows, as their names are too long for a column of a terminal."""
    columns, rows = {key: head for key, head in SCORES.items() if key != "sample"}, plain(findings.scores)
    samples = dict.fromkeys(row["sample"] for row in rows)
    return [
        _titled(f"Quality, {sample}", columns, [row for row in rows if row["sample"] == sample]) for sample in samples
    ]


def spell(key: str, value: Any) -> str:
    """A value of a report for people: probabilities without needless zeros, a dash for unknown ones."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if key == "p" or key.endswith("_p"):
        return spelled_p(value)
    if key in PERCENT:
        return f"{100 * value:g} %"
    if key in SIGNIFICANT:
        return f"{value:#.4g}"
    return f"{value:,.{DECIMALS.get(key, 4)}f}"


def _titled(title: str, heads: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold"), table_of(heads, rows, spell))


# Report of a training, as one page that needs no other file.


def training_page(trained: Training, origin: Origin | None = None) -> str:
    """The report of a training: plots and tables, light or dark to match the reader's screen.

    origin  origin of the page: date and versions
    """
    findings = trained.findings
    return render(
        "training.html",
        trained.model.name,
        origin,
        summary=fit_summary(trained),
        unseen=findings.unseen,
        notes=findings.notes,
        scores=_grid(SCORES, findings.scores),
        scores_mean=SCORES_MEAN,
        intervals_title=INTERVALS_TITLE,
        intervals=_grid(INTERVALS, findings.intervals),
        intervals_mean=INTERVALS_MEAN,
        components_title=COMPONENTS_TITLE,
        components=_components(trained),
        where=next((row.sample for row in findings.scores if row.sample != "in sample"), "in sample"),
        calibration=_calibration(findings),
        coverage=_coverage(findings),
        effects=_effects(findings),
        effects_grid=table_of(EFFECTS, trained.rows(), spell),
        coefficients=inline_svg(trained.plot(), "Coefficients"),
        coefficients_grid=table_of(COEFFICIENTS, trained.rows(), spell),
        robust_mean=ROBUST_MEAN,
        eliminated=_grid(STEPS, findings.eliminated),
        thresholds=_grid(THRESHOLDS, findings.thresholds),
        training=trained.model.training,
    )


def _grid(heads: Mapping[str, str], rows: Sequence[Any]) -> PlainTable | None:
    """A table of named tuples; None without any."""
    return table_of(heads, plain(rows), spell) if rows else None


def _components(trained: Training) -> dict[str, Any] | None:
    rows = component_table(trained.findings)
    if not rows:
        return None
    errors = [np.nan if row["standard_error"] is None else row["standard_error"] for row in rows]
    across = "share of the standard deviation of a grade"
    bars = draw_bars([row["component"] for row in rows], [row["size"] for row in rows], across, errors)
    return {
        "drawing": inline_svg(bars, "Sizes of the components"),
        "grid": table_of(COMPONENTS, rows, spell),
        "mean": f"{COMPONENTS_MEAN} {trend(trained)}",
    }


def _calibration(findings: Findings) -> str:
    expected, actual, rows = zip(*((one.expected, one.actual, one.rows) for one in findings.calibration), strict=True)
    drawn = draw_calibration([Series("", expected, actual, rows)], "expected grade", "mean actual grade")
    return inline_svg(drawn, "mean actual grade by expected grade")


def _coverage(findings: Findings) -> str:
    nominal, actual = zip(*findings.coverage, strict=True)
    titles = "probability of the set", "share of true levels in it"
    return inline_svg(draw_calibration([Series("", nominal, actual)], *titles), " by ".join(reversed(titles)))


def _effects(findings: Findings) -> str:
    names, values = [row.term for row in findings.effects], [row.type_two for row in findings.effects]
    across = "likelihood-ratio χ², type II"
    shown = [f"{value:,.1f}" for value in values]
    return inline_svg(draw_bars(names, values, across, shown=shown), across)


def train_to(
    collections: Sequence[Collection],
    output: Path,
    *,
    features: str = "output",
    folds: Annotated[int, Ge(0)] = 10,
    judged: Sequence[float] = (),
    seed: Annotated[int, Ge(0)] = 0,
    eliminate: float | None = None,
    fallback: str | None = None,
    name: str | None = None,
    date: str | None = None,
    report: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    jobs: int = 1,
    scheduler: str | None = None,
) -> Training:
    """Fit a model to the judgments of one or more collections, and validate it on held-out queries.

    For a joint model it also reports the variance components, and the coverage of intervals of query and system means.
    The model file works wherever a model is named.

    collections  folders of the collections
    output       file for the model, whose name ends in .json
    features     output, teams, judgment or audio, or features and products of features: fSYS,fGEN,fSYS:fGEN. With joint
                 among them the model also learns the correlation of judgments; joint alone uses teams
    folds        number of folds of queries for cross-validation; 0 for none
    judged       also validate with these shares of each held-out query judged, at random: 0.05,0.1,0.2. Default with
                 joint: 0.1
    seed         random seed for the judged shares and for halves of the queries
    eliminate    drop terms that are not significant at this level, such as .05
    fallback     model for pairs with an unknown feature. Default: historical, or the shares of the levels
    name         name of the model. Default: the file's
    date         date to write into the file, such as 2011-10-24
    report       file for the report as a page with plots

    Example: `audiosim train demo --judgments demo/truth.qrels --features output --folds 6 -o mine.json`
    """
    if report is not None:
        need("plots", "--report")
    if output.suffix != ".json":
        raise ArgumentError("output", f"{output}: the name of a model file must end in .json")
    for path in (output, *([] if report is None else [report])):
        check_output_file(path)
    plan = Plan(
        parse_terms(features), name or output.stem, folds, eliminate, fallback, date, tuple(judged), seed,
        is_joint(features),
    )  # fmt: skip
    trained = train(collections, plan, NOTES.info, progress, jobs, scheduler)
    if report is not None:
        write_text(report, training_page(trained, written_on(day.today())).splitlines())
    save_model(trained.model, output)
    return trained
