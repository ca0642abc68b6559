"""The record of a campaign as a bundle, from its judgments and its log, with or without people's names."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from audiosim.campaign.anonymous_log import anonymous_event
from audiosim.campaign.event import Record, utc_now
from audiosim.campaign.log_reader import log_lines, published
from audiosim.corpus.aspects import MEAN
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Judgment
from audiosim.measures.measure import Measure
from audiosim.plugins import make_estimator
from audiosim.record import record_of, verdicts_by_aspect
from audiosim.report.imprint import NOBODY, Imprint
from audiosim.service.shelf.served_collection import ServedCollection

NewNames = Mapping[str, str]


def bundle_of(
    one: ServedCollection,
    measure: Measure,
    success: float = 0.5,
    imprint: Imprint = NOBODY,
    named: bool = True,
) -> tuple[int, bytes]:
    """The number of judgments of a campaign, and the bundle of `audiosim report` about it, as a zip file.

    success  share of satisfied users above which a result list is a success
    named    False: people have the names person-1, person-2 and so on, and their notes are left out
    """
    from audiosim.report.bundle import bundle, zipped  # importing Matplotlib would slow down the start
    from audiosim.report.file_sums import collection_checksums, model_checksum

    one.campaign.refresh()
    number, judgments = one.campaign.snapshot()
    records = [record for record in published(one.campaign.log()) if record.number <= number]
    names = {} if named else _drawn(judgments, records)
    collection = judged_collection(one, judgments, names)
    distribution = one.campaign.selection.distribution
    estimator = one.predictor(None, measure.cutoff).estimator.knowing(collection.comparisons).plain
    record = record_of(collection, measure, estimator, threshold=success, distribution=distribution)
    aspects = verdicts_by_aspect(collection, measure, lambda pool: make_estimator(pool, one.model), distribution)
    sums = {} if one.folder is None else collection_checksums(one.folder)
    if record.model is not None:
        sums |= model_checksum(one.model, estimator.name)
    log = log_lines(record._replace(event=anonymous_event(record.event, names)) for record in records)
    files = bundle(replace(record, aspects=aspects), utc_now().date(), sums, log, imprint)
    return len(judgments), zipped(files, f"{one.collection.identifier}-record")


def _drawn(judgments: Iterable[Judgment], records: Iterable[Record]) -> NewNames:
    """A pseudonym for everybody who judged or whom the log names, in order of appearance."""
    logged = (name for record in records for name in (record.event.assessor, record.event.judge))
    people = dict.fromkeys(name for name in (*(one.assessor for one in judgments), *logged) if name)
    return {name: f"person-{place}" for place, name in enumerate(people, start=1)}


def judged_collection(
    one: ServedCollection, judgments: Iterable[Judgment], names: NewNames = MappingProxyType({})
) -> Collection:
    """The collection with the judgments and comparisons of its campaign, by aspect if the task has several.

    names  new names of people; all others keep theirs
    """

    def renamed(some: Iterable[Judgment]) -> tuple[Judgment, ...]:
        return tuple(replace(judgment, assessor=names.get(judgment.assessor, judgment.assessor)) for judgment in some)

    compared = tuple(
        replace(given, assessor=names.get(given.assessor, given.assessor))
        for given in one.campaign.comparisons.in_force()[1]
    )
    found = replace(one.collection, judgments=renamed(judgments), comparisons=compared)
    if one.collection.aspects is None:
        return found
    parted = {name: renamed(some) for name, some in one.judged_by_aspect(MEAN)[1]}
    return replace(found, aspects=replace(one.collection.aspects, judgments=parted))
