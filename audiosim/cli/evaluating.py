"""Commands on full judgments and on people: evaluate, report, reliability, satisfaction, reproduce."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from audiosim.cli.options import (
    As,
    CollectionFolder,
    Complete,
    Format,
    JudgmentsFile,
    ModelName,
    NamedBy,
    load_collection,
    only_complete,
    print_result,
)
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import build_pool
from audiosim.evaluation import SYSTEM_TESTS, reliability_of
from audiosim.evaluation import evaluate as evaluate_systems
from audiosim.expected.estimation import estimate_pool, expected_scores
from audiosim.measures.judged import Unjudged
from audiosim.plugins import find_measure, make_estimator
from audiosim.relevance.estimators import JOINT
from audiosim.relevance.relearning import after_grades
from audiosim.report.evaluation_views import evaluation_view, reliability_view, reproduction_view, satisfaction_view
from audiosim.selection import confidences

Measures = Annotated[
    list[str], typer.Option("--measure", help="Such as nDCG@5 or RBP(p=0.8)@5; give it again for more.")
]
OfUnjudged = Annotated[
    Unjudged, typer.Option(help="What a retrieved document without judgment does: zero gains 0, skip passes it over.")
]


def evaluate(
    folder: CollectionFolder,
    measures: Measures = ["CG@5"],  # noqa: B006, typer copies it
    judgments: JudgmentsFile = None,
    unjudged: OfUnjudged = "error",
    complete: Complete = False,
    test: Annotated[str, typer.Option(help=f"Between systems: {', '.join(SYSTEM_TESTS)}.")] = "t",
    seed: Annotated[int, typer.Option(help="For the tests that draw.", min=0)] = 0,
    system_from: NamedBy = None,
    form: As = Format.table,
) -> None:
    """Score systems whose documents are all judged: means, people satisfied, tests between all pairs.

    With --unjudged zero the table says, too, what each score would be at least and at most, were all judged; --complete
    leaves out the systems and queries whose rankings have holes, and says which. Intervals are of 95 %. P-values are
    adjusted for all pairs by Holm and by Benjamini and Hochberg.

    Example: `audiosim evaluate mirex2011 --measure CG@5 --measure nDCG@5 --test permutation`
    """
    collection = _judged(load_collection(folder, judgments, system_from), measures, complete)
    found = {
        measure: evaluate_systems(
            collection, find_measure(measure), unjudged=unjudged, test=test, rng=np.random.default_rng(seed)
        )
        for measure in measures
    }
    rows = [{"measure": measure} | row for measure, one in found.items() for row in one.system_rows()]
    value = {measure: one.to_dict() for measure, one in found.items()}
    print_result(form, value, rows, lambda: evaluation_view(found))


def report(
    folder: CollectionFolder,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    measures: Measures = ["CG@5"],  # noqa: B006, typer copies it
    model: ModelName = None,
    judgments: JudgmentsFile = None,
    system_from: NamedBy = None,
) -> None:
    """Write one page that needs no other file: ranking, intervals, all pairs, people, stability.

    Where not all pairs are judged it shows what is expected of them, by the first measure.

    Example: `audiosim report mirex2011 --measure CG@5 --measure nDCG@5 -o mirex2011.html`
    """
    from audiosim.corpus.formats import write_text
    from audiosim.report.evaluation_page import campaign_page, evaluation_page

    what = find_measure(measures[0])
    collection = load_collection(folder, judgments, system_from)
    pool = build_pool(collection, what.cutoff)
    grades = pool.spread(collection.grades())
    if not np.isnan(grades).any():
        page = evaluation_page(
            collection.name, {measure: evaluate_systems(collection, find_measure(measure)) for measure in measures}
        )
    else:
        estimator = after_grades(pool, make_estimator(pool, model or JOINT), collection.grades())
        ranking = estimate_pool(expected_scores(what, pool), estimator, grades)
        page = campaign_page(collection.name, ranking, confidences(pool, what, estimator, collection.judgments))
    write_text(output, [page])


def reliability(
    folder: CollectionFolder,
    measures: Measures = ["CG@5"],  # noqa: B006, typer copies it
    judgments: JudgmentsFile = None,
    unjudged: OfUnjudged = "error",
    complete: Complete = False,
    system_from: NamedBy = None,
    form: As = Format.table,
) -> None:
    """Estimate how stable the evaluation is, and how many queries would do: a generalizability study.

    Example: `audiosim reliability mirex2011 --measure CG@5 --measure GAP@5`
    """
    collection = _judged(load_collection(folder, judgments, system_from), measures, complete)
    found = {measure: reliability_of(collection, find_measure(measure), unjudged) for measure in measures}
    rows = [{"measure": measure} | study for measure, study in found.items()]
    print_result(form, found, rows, lambda: reliability_view(found))


def _judged(collection: Collection, measures: Sequence[str], complete: bool) -> Collection:
    """The collection, or where asked for its part that is judged down to the deepest cutoff."""
    return (
        only_complete(collection, max(find_measure(measure).cutoff for measure in measures)) if complete else collection
    )


def satisfaction(
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="Answers of people who compared two lists.", show_default=False)
    ],
    measures: Measures = ["CG@5"],  # noqa: B006, typer copies it
    form: As = Format.table,
) -> None:
    """Go from effectiveness to people: what share of them each score satisfies, learned from their answers.

    ANSWERS has the columns answer (a, b, good, bad), query, A1 ..., B1 ... and the grades of the documents.

    Example: `audiosim satisfaction answers.tsv --measure CG@5`
    """
    from audiosim.users.answers import read_answers
    from audiosim.users.preferences import preferences

    read = read_answers(answers)
    found = {measure: preferences(read, find_measure(measure)) for measure in measures}
    rows: list[dict[str, Any]] = [
        {"measure": measure} | row for measure, one in found.items() for row in one.to_dict()["bins"]
    ]
    value = {measure: one.to_dict() for measure, one in found.items()}
    print_result(form, value, rows, lambda: satisfaction_view(found))


def reproduce(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Has mirex2011, a collection, and preferences/answers.tsv.", show_default=False
        ),
    ],
    form: As = Format.table,
) -> None:
    """Every published number that public data allows, beside the printed one.

    Example: `audiosim reproduce data --format csv`
    """
    from audiosim.reproduce import rows as published_rows

    rows = [row.to_dict() for row in published_rows(folder)]
    print_result(form, rows, rows, lambda: reproduction_view(rows))
    missing = sum(row["computed"] is None for row in rows)
    if missing:
        sys.stderr.write(f"note: the data for {missing} of {len(rows)} numbers is not in {folder}\n")
