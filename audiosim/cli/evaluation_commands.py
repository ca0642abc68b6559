"""Commands on full judgments: evaluate, report, reliability."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audiosim.cli import options
from audiosim.cli.flattened import flattened
from audiosim.collection.collection import Collection
from audiosim.errors import InputError
from audiosim.evaluation.evaluation import SYSTEM_TESTS, Evaluation, agreement_rows
from audiosim.evaluation.evaluation import evaluate as evaluate_systems
from audiosim.measures.measure import Measure, as_measure, with_cutoff
from audiosim.measures.scores import Unjudged, judged_runs
from audiosim.ranking.about import OF_THIS_KIND
from audiosim.stats.tests import SAMPLES, TESTS
from audiosim.workers import Workers

if TYPE_CHECKING:
    from rich.console import RenderableType


OfUnjudged = Annotated[
    Unjudged,
    typer.Option(
        help="How to treat a retrieved document without a judgment: error, zero (gain 0) or skip (ignore it)."
    ),
]


@flattened
def evaluate(
    folder: options.CollectionFolder,
    measures: options.Measures = ["CG"],  # noqa: B006, typer copies it
    unjudged: OfUnjudged = "error",
    complete: options.Complete = False,
    test: Annotated[
        str,
        typer.Option(
            help=f"Between systems: {', '.join(SYSTEM_TESTS)}. friedman is MIREX's own, followed by Tukey's HSD; "
            "listeners treats the people who judged as a sample, like the queries."
        ),
    ] = "t",
    resamples: options.Resamples = SAMPLES,
    users: Annotated[
        int | None,
        typer.Option(help="Report how many of this number of users are satisfied, each with a random query.", min=1),
    ] = None,
    success: Annotated[
        float,
        typer.Option(help="Share of satisfied users above which a result list is a success.", min=0, max=1),
    ] = 0.5,
    fits: Annotated[
        bool,
        typer.Option(
            "--fits",
            help="Instead of scores: the fit of a normal, truncated normal, Beta and empirical distribution, fitted "
            "to half of the queries, to the scores on the other half (omega, Cramér-von Mises).",
        ),
    ] = False,
    seed: options.Seed = 0,
    *,
    reading: options.CollectionOptions,
    aspect: options.AspectName = None,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    form: options.As = options.Format.table,
) -> None:
    """Score systems whose documents are all judged: mean scores, satisfied users, tests of all pairs.

    --unjudged zero also gives the lowest and the highest score that each system could have if everything were judged.
    --complete leaves out systems and queries with unjudged results, and lists them. Several measures are compared
    by how they rank the systems: tau, rho and the RMSE of the differences. Intervals have 95 %. P-values are adjusted
    for all pairs by Holm and by Benjamini and Hochberg; Tukey's need no adjustment.

    Examples: `audiosim evaluate my-demo --judgments my-demo/truth.qrels --measure nDCG@5 --test friedman`

    `audiosim evaluate my-demo --judgments my-demo/truth.qrels --measure AP@5 --scale binary-40 --users 15`

    `audiosim evaluate my-demo --judgments my-demo/truth.qrels --fits`
    """
    options.check_scheduler(scheduler, jobs)
    collection, measures = _judged(reading.load(folder, aspect), measures, complete)
    if fits:
        _print_fits(collection, measures, unjudged, seed, form)
        return
    work = _Evaluations(collection, tuple(map(as_measure, measures)), unjudged, test, seed, resamples, users, success)
    found = dict(zip(measures, Workers(jobs or 1, scheduler).each(work, len(measures)), strict=True))
    rows = [{"measure": measure} | _flat(row) for measure, one in found.items() for row in one.rows()]
    value = {measure: one.to_dict() for measure, one in found.items()}
    for row in agreement_rows(found):
        value[row["a"]].setdefault("agreement", []).append({"with": row["b"]} | _agreement(row))
        value[row["b"]].setdefault("agreement", []).append({"with": row["a"]} | _agreement(row))
    options.print_result(form, value, rows, lambda: _view(found))


def _view(found: Mapping[str, Evaluation]) -> "RenderableType":
    from audiosim.report.evaluate import evaluation_view

    return evaluation_view(found)


@dataclass(frozen=True, slots=True)
class _Evaluations:
    """Evaluation of a collection by one of several measures, chosen by its index."""

    collection: Collection
    measures: tuple[Measure, ...]
    unjudged: Unjudged
    test: str
    seed: int
    resamples: int
    users: int | None
    success: float

    def __call__(self, number: int) -> Evaluation:
        return evaluate_systems(
            self.collection,
            self.measures[number],
            unjudged=self.unjudged,
            test=self.test,
            seed=self.seed,
            resamples=self.resamples,
            users=self.users,
            success=self.success,
        )


def _agreement(row: Mapping[str, Any]) -> dict[str, float]:
    return {key: row[key] for key in ("accuracy", "tau", "rho", "rmse_differences")}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without its list, for a table with one line per row."""
    return {key: value for key, value in row.items() if not isinstance(value, list)}


def _print_fits(
    collection: Collection, measures: Sequence[str], unjudged: Unjudged, seed: int, form: options.Format
) -> None:
    from audiosim.report.evaluate import fits_view
    from audiosim.stats.distributions import fit_distributions

    found = {}
    for text in measures:
        measure = as_measure(text)
        scores = judged_runs(collection, measure.cutoff, unjudged).scores(measure)
        found[text] = fit_distributions(scores.values, seed)
    rows = [
        {"measure": measure, "queries": one.size, "trials": one.trials, **one.means()} for measure, one in found.items()
    ]
    options.print_result(form, rows, rows, lambda: fits_view(found))


@flattened
def report(
    folder: options.CollectionFolder,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|FOLDER",
            help="File to write: a page if it ends in .html; else a bundle to publish, as a .zip file or folder.",
        ),
    ] = Path("report.html"),
    measures: options.Measures = ["CG"],  # noqa: B006, typer copies it
    model: options.ModelName = None,
    distribution: options.DistributionName = "t",
    about: options.AboutThisKind = None,
    *,
    reading: options.CollectionOptions,
    success: Annotated[
        float,
        typer.Option(help="Share of satisfied users above which a result list is a success.", min=0, max=1),
    ] = 0.5,
    evidence: Annotated[
        bool,
        typer.Option("--evidence", help="Also report the worth of each piece of evidence, as `audiosim worth` does."),
    ] = False,
    pictures: Annotated[
        bool,
        typer.Option("--pictures", help="Show the queries' recordings as mel spectrograms, by librosa."),
    ] = False,
    aspect: options.AspectName = None,
) -> None:
    """Write a report, as one self-contained page or as a bundle to publish.

    The page shows the verdict in words, the ranking with ranks, groups and intervals, all pairs of systems, satisfied
    users, calibration, agreement and method, by the first measure; if all is judged, also scores and stability by each
    measure. A bundle holds the page, tables, judgments, checksums and CITATION.cff.

    Examples: `audiosim report my-demo --measure CG@5 -o my-demo.html`

    `audiosim report my-demo --judgments my-demo/truth.qrels --evidence -o my-demo.html` (takes some minutes)

    `audiosim report my-demo --judgments sqlite:///my-demo/campaign.db -o my-demo.zip`
    """
    from audiosim.report.publication import write_report

    subject = options.about_of(about, OF_THIS_KIND)
    collection = reading.load(folder, aspect)
    options.say_measures(collection, [as_measure(with_cutoff(text, collection.cutoff)) for text in measures])
    write_report(
        collection, output, measures, model, distribution=distribution, about=subject, success=success,
        evidence=evidence, pictures=pictures, folder=folder, log=reading.log,
    )  # fmt: skip


@flattened
def reliability(
    folder: options.CollectionFolder,
    measures: options.Measures = ["CG"],  # noqa: B006, typer copies it
    unjudged: OfUnjudged = "error",
    complete: options.Complete = False,
    assessors: Annotated[
        bool,
        typer.Option(
            "--assessors", help="Estimate what more assessors would add, from queries judged in full by at least two."
        ),
    ] = False,
    split_half: Annotated[
        bool,
        typer.Option(
            "--split-half",
            help="Test on half of the queries, and show how often a significant difference holds on the other half.",
        ),
    ] = False,
    while_judging: Annotated[
        bool,
        typer.Option(
            "--while-judging",
            help="Repeat the study after each query that was judged in full, in the order of judging.",
        ),
    ] = False,
    test: Annotated[str, typer.Option(help=f"With --split-half: {', '.join(TESTS)}.")] = "t",
    trials: Annotated[
        int, typer.Option(help="Number of splits for --split-half.", min=1, max=options.MOST_DRAWS)
    ] = 300,
    resamples: options.Resamples = SAMPLES,
    seed: options.Seed = 0,
    *,
    reading: options.CollectionOptions,
    form: options.As = options.Format.table,
) -> None:
    """Estimate how stable the scores are, and how many queries are needed: a generalizability study.

    Examples: `audiosim reliability my-demo --judgments my-demo/truth.qrels --measure CG@5 --measure GAP@5`

    `audiosim reliability mine --assessors` (a collection that several people have judged)

    `audiosim reliability my-demo --judgments my-demo/truth.qrels --while-judging`

    `audiosim reliability my-demo --judgments my-demo/truth.qrels --split-half --test wilcoxon`
    """
    from audiosim.evaluation.reliability import assessor_reliability, split_half_study
    from audiosim.evaluation.reliability import reliability as study_reliability
    from audiosim.report.evaluate import assessors_view, growth_view, reliability_view, split_half_view

    kinds = {"--assessors": assessors, "--split-half": split_half, "--while-judging": while_judging}
    given = [name for name, wanted in kinds.items() if wanted]
    if len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} cannot be combined: each is a study of its own")
    collection, measures = _judged(reading.load(folder), measures, complete)
    if assessors:
        found = {text: assessor_reliability(collection, as_measure(text), seed=seed).to_dict() for text in measures}
        _print_studies(form, found, lambda: assessors_view(found))
    elif split_half:
        halves = {
            text: split_half_study(
                collection, as_measure(text), test=test, trials=trials, resamples=resamples, unjudged=unjudged,
                seed=seed,
            )
            for text in measures
        }  # fmt: skip
        rows = [{"measure": text} | row for text, one in halves.items() for row in one.rows()]
        value = {text: one.to_dict() for text, one in halves.items()}
        options.print_result(form, value, rows, lambda: split_half_view(halves))
    elif while_judging:
        growth = {text: study_reliability(collection, as_measure(text), while_judging=True).growth for text in measures}
        rows = [{"measure": text} | row for text, of in growth.items() for row in of]
        options.print_result(form, growth, rows, lambda: growth_view(growth))
    else:
        found = {
            text: study_reliability(collection, as_measure(text), unjudged=unjudged).to_dict() for text in measures
        }
        _print_studies(form, found, lambda: reliability_view(found))


def _print_studies(
    form: options.Format, found: Mapping[str, dict[str, Any]], view: "Callable[[], RenderableType]"
) -> None:
    options.print_result(form, found, [{"measure": measure} | study for measure, study in found.items()], view)


def _judged(collection: Collection, measures: Sequence[str], complete: bool) -> tuple[Collection, list[str]]:
    """The collection, on request only its part judged down to the deepest cutoff; the measures with their cutoffs."""
    texts = [with_cutoff(text, collection.cutoff) for text in measures]
    found = [as_measure(text) for text in texts]
    options.say_measures(collection, found)
    if complete:
        collection = options.only_complete(collection, max(one.cutoff for one in found))
    return collection, texts
