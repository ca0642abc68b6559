"""Commands that rank systems from few judgments, compare two systems, and list the pairs to judge next."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audiosim.cli import options
from audiosim.cli.flattened import flattened
from audiosim.collection.collection import Collection
from audiosim.measures.measure import as_measure
from audiosim.ranking import Selection
from audiosim.ranking.about import OF_THIS_KIND
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.sampled import DRAWS
from audiosim.ranking.separation import two_systems_of_pool, verdicts_on
from audiosim.ranking.two_systems import Condition, TwoSystems, check_level, check_two
from audiosim.ranking.verbs import NextPairs, start_loop
from audiosim.ranking.verdicts import TOP
from audiosim.report.rank import ranking_view, rows_view, verdict_view
from audiosim.text import did_you_mean, quoted

if TYPE_CHECKING:
    from audiosim.campaign.comparisons import KindOfQuestion

PAIRS = 20  # default number of pairs that `next` lists


@flattened
def estimate(
    folder: options.CollectionFolder,
    model: options.ModelName = None,
    measure: options.MeasureName = "CG",
    ideal: options.IdealName = "ordered",
    draws: Annotated[
        int,
        typer.Option(
            help="Number of simulated draws of grades, for measures without a formula.", min=2, max=options.MOST_DRAWS
        ),
    ] = DRAWS,
    distribution: options.DistributionName = "t",
    about: options.AboutWords = None,
    top: Annotated[
        int, typer.Option(metavar="K", help="Print the probability that each system is among the best K.", min=1)
    ] = TOP,
    *,
    reading: options.CollectionOptions,
    aspect: options.AspectName = None,
    form: options.As = options.Format.table,
) -> None:
    """Rank the systems from few judgments or none, and say how sure the ranking is.

    Systems that share a letter of Group cannot be told apart; Ranks are the possible ranks of each. All these
    statements hold together at 95 %. The last lines say how many more judgments would separate the next two systems,
    and whether the judgments so far agree with the model's predictions.

    Expected scores are exact for CG, DCG and other sums of gains, and approximate to first order for nDCG and RBP. All
    other measures are simulated from the probabilities of the levels; the standard error of the simulation is reported.

    Example: `audiosim estimate my-demo --measure nDCG@5`
    """
    subject = options.about_of(about)
    collection, pool, estimator = reading.open(folder, model, measure, aspect)
    what = as_measure(measure, pool.cutoff)
    verdicts = verdicts_on(collection, estimator, expected_scores(what, pool, ideal, draws), distribution, top, subject)
    value = verdicts.to_dict()
    options.print_result(form, value, value["systems"], lambda: ranking_view(verdicts.ranking, verdicts))


@flattened
def compare(
    folder: options.CollectionFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="One system.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The system to compare it with.", show_default=False)],
    model: options.ModelName = None,
    measure: options.MeasureName = "CG",
    confidence: Annotated[
        float, typer.Option(help="Confidence required for a verdict, and level of the interval.")
    ] = 0.95,
    fail_unless: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help='Condition such as "A not worse by 0.02" or "A better": exit with code 1 unless it is shown.',
        ),
    ] = None,
    distribution: options.DistributionName = "t",
    about: options.AboutThisKind = None,
    *,
    reading: options.CollectionOptions,
    aspect: options.AspectName = None,
    form: options.As = options.Format.table,
) -> None:
    """Compare two systems: the difference A less B of their scores, its interval, and whether they differ.

    The verdict is about queries of this kind: the collection's count as a sample of them. The verdict on these queries
    alone is shown beside it. With everything judged, it is the paired t-test. `--about these` swaps the two.

    Examples: `audiosim compare my-demo timbre-full fusion`

    In a release script: `audiosim compare my-demo timbre-full rhythm --fail-unless "timbre-full not worse by 0.02"`

    To compare a new system, add its run to the folder: judgments belong to documents, so earlier ones count for it too.
    Exit code 0 if the condition is shown, 1 if it is not or the data are wrong, 2 for wrong names or options.
    """
    condition, subject = None, options.about_of(about, OF_THIS_KIND) if about else None
    with options.usage_of("--measure"):
        as_measure(measure, 1)
    with options.usage_of("--confidence"):
        check_level(confidence)
    with options.usage_of("--fail-unless"):
        condition = None if fail_unless is None else Condition.parse(fail_unless, a, b)
    collection, pool, estimator = reading.open(folder, model, measure, aspect)
    what = as_measure(measure, pool.cutoff)
    with options.usage_of("A and B"):
        check_two(pool.systems, a, b)
    grades, expected = collection.grades(), expected_scores(what, pool)
    order, grades_of_pool = pool.locate_judged(grades), pool.spread(grades)
    found = two_systems_of_pool(expected, estimator, grades_of_pool, (a, b), confidence, distribution, order, subject)
    options.print_result(form, *_verdict_values(found, condition), lambda: verdict_view(found, condition))
    if condition is not None and not found.holds(condition):
        sys.stderr.write(f"audiosim: not shown at {100 * confidence:g} %: {condition}\n")
        raise typer.Exit(1)


def _verdict_values(found: TwoSystems, condition: Condition | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The verdict as one value and as rows, with the condition where there is one."""
    value, (row,), said = found.to_dict(), found.rows(), {}
    if condition is not None:
        shown = {"probability": found.probability(condition), "holds": found.holds(condition)}
        said = {"condition": condition.words, **shown}
    return value | said, [row | said]


@flattened
def next_pairs(
    folder: options.CollectionFolder,
    model: options.ModelName = None,
    measure: options.MeasureName = "CG",
    count: Annotated[
        int | None, typer.Option("-n", "--count", help="Number of pairs.", min=1, show_default=str(PAIRS))
    ] = None,
    selection_rule: options.SelectionRuleName = None,
    by_query: options.ByQuery = False,
    kinds: Annotated[
        bool,
        typer.Option(
            "--kinds",
            help="Show which kind of question is most informative per second, a grade or a comparison, with the best "
            "of each.",
        ),
    ] = False,
    assessor: Annotated[
        str,
        typer.Option(
            help="With --kinds: use this person's seconds, from the log in --judgments. Default: everybody's."
        ),
    ] = "",
    seed: options.Seed = 0,
    distribution: options.DistributionName = "t",
    *,
    reading: options.CollectionOptions,
    aspect: options.AspectName = None,
    form: options.As = options.Format.table,
) -> None:
    """List the pairs to judge next, most informative first.

    The weight is the value that the selection rule gives to a pair. With `--selection-rule differences` on CG it is the
    number of pairs of systems whose difference depends on the judgment.

    Example: `audiosim next my-demo -n 20 --by-query`
    """
    if assessor and not kinds:
        raise typer.BadParameter("goes with --kinds", param_hint="--assessor")
    if kinds and (by_query or count is not None):
        given = "--by-query" if by_query else "--count"
        raise typer.BadParameter("does nothing with --kinds, which shows the best of each kind", param_hint=given)
    collection, pool, estimator = reading.open(folder, model, measure, aspect)
    what = as_measure(measure, pool.cutoff)
    selection = start_loop(
        pool, estimator, what, collection.judgments, selection_rule=selection_rule, seed=seed, distribution=distribution
    )
    if kinds:
        found = _kinds(selection, collection, reading.judgments, assessor)
        flat = [one.flat_row() for one in found]
        options.print_result(form, [one.row() for one in found], flat, lambda: rows_view(flat))
        return
    rows = NextPairs.of(selection, count or PAIRS, by_query).rows()
    options.print_result(form, rows, rows, lambda: rows_view(rows))


def _kinds(
    selection: Selection, collection: Collection, judgments: str | None, assessor: str
) -> "list[KindOfQuestion]":
    """Best question of each kind, by the seconds in the log of a campaign or in comparisons.tsv."""
    from audiosim.campaign.comparisons import kinds_of_question, seconds_of
    from audiosim.campaign.event import comparison_event, utc_now, write_time
    from audiosim.campaign.reader import log_in

    if judgments and "://" in judgments:
        events = [record.event for record in log_in(judgments, collection)]
    else:
        events = [comparison_event(one, write_time(utc_now())) for one in collection.comparisons]
    names = sorted({event.assessor for event in events} - {""})
    if assessor and assessor not in names:
        problem = f"nobody named {quoted(assessor)} answered there{did_you_mean(assessor, names)}"
        raise typer.BadParameter(problem, param_hint="--assessor")
    found = kinds_of_question(selection, seconds_of(events), assessor)
    if not any(one.documents for one in found):
        sys.stderr.write("note: nothing is left to ask: no grade or comparison would add information\n")
    return found
