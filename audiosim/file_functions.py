"""The commands that write files, as Python functions: a study, a report.

Arguments have the commands' names and order; each function also returns the content that it wrote.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.grading import find_grading
from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.joint.estimators import after_judgments, make_estimator
from audiosim.measures.measure import Measure, as_measure, with_cutoff
from audiosim.ordinal.model import source_of
from audiosim.people.examples import ExampleSet, ScaledMeasure, balanced_examples
from audiosim.ranking import confidences
from audiosim.ranking.about import OF_THIS_KIND, THESE, About, DifferenceDistribution, as_about
from audiosim.ranking.expected import FEWEST_QUERIES, expected_scores
from audiosim.ranking.separation import verdicts_of_pool
from audiosim.report.screen import progress
from audiosim.results.value import need
from audiosim.tables.text import check_output_file, write_text

if TYPE_CHECKING:
    from audiosim.simulation.worth import EvidenceWorth


def sample_study(
    collection: object,
    output: str | Path | None = None,
    measures: Sequence[str] = ("CG@5",),
    scales: Sequence[str] = (),
    wanted: int = 200,
    cutoff: int = 5,
    *,
    judgments: object = None,
    seed: int = 0,
) -> ExampleSet:
    """Choose pairs of lists to show people, from judged documents, so that they cover all differences in score.

    collection  `Collection` or its folder, judged
    output      file for people's answers; None: not written
    scales      artificial scales such as "graded-4" to balance over, besides the collection's own
    wanted      examples for each measure, scale and tenth of difference
    cutoff      length of the lists
    judgments   as for `estimate`
    """
    collection = as_collection(collection, judgments)
    own = collection.scale
    gradings = [None, *(find_grading(name, own) for name in scales if name != own.name)]
    criteria = [ScaledMeasure(as_measure(text), own, grading) for grading in gradings for text in measures]
    with progress("choosing") as show:
        found = balanced_examples(
            {own.name: collection.grades()},
            criteria,
            seed,
            cutoff=cutoff,
            wanted=wanted,
            progress=show,
        )
    if output is not None:
        write_text(Path(output), found.lines())
    return found


def write_report(
    collection: object,
    output: str | Path = "report.html",
    measures: Sequence[str] = ("CG",),
    model: str | None = None,
    *,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] | None = None,
    judgments: object = None,
    success: float = 0.5,
    evidence: bool = False,
    pictures: bool = False,
    folder: str | Path | None = None,
    log: str | None = None,
) -> Path:
    """Write a report: one self-contained page, or a bundle to publish.

    collection  `Collection` or its folder
    output      a name that ends in .html gives a page; any other a bundle, as a .zip file or a folder
    measures    measures of the page; if judgments are missing, and for a bundle, only the first is used
    about       queries that the report is about, such as "these"; None: queries of this kind
    judgments   as for `estimate`, or the URL of the database of the collection's campaign
    success     share of satisfied users above which a result list is a success
    evidence    True to report also the worth of each piece of evidence, as `worth` does; for a page
    pictures    True to show the mel spectrograms of the queries' recordings in the index; for a page
    folder      folder of a `Collection`, for a bundle's checksums of its files
    log         URL of the database with the log for a bundle; None: `judgments`, if that is a URL

    A page says which parts could not be computed, and why. The command is `audiosim report`.
    """
    from audiosim.report.publication import check_bundle_place

    need("plots", "a report")
    url, output = judgments if isinstance(judgments, str) and "://" in judgments else None, Path(output)
    read = as_collection(collection, judgments) if url is None else _campaign_of(collection, url)
    measures = [with_cutoff(text, read.cutoff) for text in measures]
    what, subject = as_measure(measures[0]), as_about(about, OF_THIS_KIND) if about else OF_THIS_KIND
    if output.suffix == ".html":
        check_output_file(output)
        write_text(output, [_page(read, measures, what, model, distribution, subject, success, evidence, pictures)])
        return output
    for name, asked in (("evidence", evidence), ("pictures", pictures)):
        if asked:
            raise InputError(f"--{name} is for a page, which ends in .html, got {output}")
    check_bundle_place(output)
    folder = collection if isinstance(collection, str | Path) else folder
    _write_record(read, what, model, distribution, success, folder, log or url, output)
    return output


def _campaign_of(collection: object, url: str) -> Collection:
    """A collection with the judgments of its campaign in a database."""
    from audiosim.campaign.reader import with_log

    return with_log(url, as_collection(collection))


def _page(
    collection: Collection,
    measures: Iterable[str],
    what: Measure,
    model: str | None,
    distribution: DifferenceDistribution,
    subject: About,
    success: float,
    evidence: bool,
    pictures: bool,
) -> str:
    """The text of a page: scores if everything is judged, otherwise expected scores."""
    from audiosim.evaluation.evaluation import evaluate
    from audiosim.report.evaluation_page import Parts, campaign_page, evaluation_page
    from audiosim.report.rendering import origin_of
    from audiosim.sound_functions import query_pictures

    pool = build_pool(collection, what.cutoff)
    grades = pool.spread(collection.grades())
    parts = Parts()
    worth = parts.made("worth of the evidence", lambda: _worth_of(collection, what)) if evidence else None
    drawn = parts.made("pictures", lambda: query_pictures(collection)) if pictures else None
    origin, prompts = origin_of(date.today(), source_of(pool, grades)), prompts_of(collection)
    if not np.isnan(grades).any():
        found = {one: evaluate(collection, as_measure(one), success=success) for one in measures}
        return evaluation_page(collection.name, found, worth, origin, drawn, prompts, parts)
    start = make_estimator(pool, model)
    estimator = after_judgments(pool, start, collection.judgments)
    expected, order = expected_scores(what, pool), pool.locate_judged(collection.grades())
    subject = subject if len(pool.queries) >= FEWEST_QUERIES else THESE
    verdicts = verdicts_of_pool(expected, estimator, grades, distribution, order, about=subject)
    curve = confidences(pool, what, start, collection.judgments, distribution=distribution, about=subject)
    origin = {**origin, "Model": verdicts.ranking.model}
    return campaign_page(collection.name, verdicts, curve, worth, origin, drawn, prompts, parts)


def _worth_of(collection: Collection, measure: Measure) -> "EvidenceWorth":
    from audiosim.simulation.worth import worth

    with progress("leaving out") as show:
        return worth(collection, measure=measure, progress=show)


def _write_record(
    collection: Collection,
    measure: Measure,
    model: str | None,
    distribution: DifferenceDistribution,
    success: float,
    folder: str | Path | None,
    url: str | None,
    output: Path,
) -> None:
    """Write the bundle to publish, with the campaign's log if the judgments come from one."""
    from audiosim.campaign.reader import log_in, log_lines, published
    from audiosim.report.publication import publication_files, write_bundle

    log = None if url is None else log_lines(published(log_in(url, collection)))
    files = publication_files(
        collection, measure, model, date.today(), threshold=success, distribution=distribution, folder=folder, log=log
    )
    write_bundle(files, output)
