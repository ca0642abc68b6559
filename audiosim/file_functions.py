"""The commands that write files, as Python functions: a study, a report.

Arguments have the commands' names and order; each function also returns the content that it wrote.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.collection.arguments import as_collection
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.grading import find_grading
from audiosim.measures.measure import Measure, as_measure
from audiosim.people.examples import ExampleSet, ScaledMeasure, balanced_examples
from audiosim.ranking.about import OF_THIS_KIND, About, DifferenceDistribution, as_about
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
    measures    measures of the systems; if judgments are missing, only the first is used
    about       queries that the report is about, such as "these"; None: queries of this kind
    judgments   as for `estimate`, or the URL of the database of the collection's campaign
    success     share of satisfied users above which a result list is a success
    evidence    True to report also the worth of each piece of evidence, as `worth` does
    pictures    True to show the mel spectrograms of the queries' recordings in the index
    folder      folder of a `Collection`, for a bundle's checksums of its files
    log         URL of the database with the log for a bundle; None: `judgments`, if that is a URL

    A page says which parts could not be computed, and why. The command is `audiosim report`.
    """
    from audiosim.campaign.reader import log_in, log_lines, published, with_log
    from audiosim.report.page import Extras
    from audiosim.report.publication import bundle, check_bundle_place, page_alone, sources_of, write_bundle
    from audiosim.report.record import record_of
    from audiosim.sound_functions import query_pictures

    need("plots", "a report")
    url, output = judgments if isinstance(judgments, str) and "://" in judgments else None, Path(output)
    read = as_collection(collection, judgments) if url is None else with_log(url, as_collection(collection))
    check = check_output_file if output.suffix == ".html" else check_bundle_place
    check(output)
    subject = as_about(about, OF_THIS_KIND) if about else OF_THIS_KIND
    what, *others = (as_measure(text, read.cutoff) for text in measures)
    extras = Extras(prompts_of(read))
    if evidence:
        extras.worth = extras.made("worth of the evidence", lambda: _worth_of(read, what))
    if pictures:
        extras.pictures = extras.made("pictures", lambda: query_pictures(read))
    record = record_of(read, what, model, others=others, about=subject, threshold=success, distribution=distribution)
    if output.suffix == ".html":
        write_text(output, [page_alone(record, date.today(), sources_of(record, model, None), extras)])
        return output
    folder = collection if isinstance(collection, str | Path) else folder
    url = log or url
    lines = None if url is None else log_lines(published(log_in(url, read)))
    write_bundle(bundle(record, date.today(), sources_of(record, model, folder), lines, extras=extras), output)
    return output


def _worth_of(collection: Collection, measure: Measure) -> "EvidenceWorth":
    from audiosim.simulation.worth import worth

    with progress("leaving out") as show:
        return worth(collection, measure=measure, progress=show)
