"""Publications: bundles published by organisers, kept in the database and open to anybody."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

import sqlalchemy as sql

from audiosim.campaign.archive import anonymous_event
from audiosim.campaign.decisions import earlier_questions
from audiosim.campaign.event import WORDS, Clock, Record, utc_now, write_time
from audiosim.campaign.reader import log_lines, published
from audiosim.campaign.schema import TablesBeside
from audiosim.campaign.tables import PUBLICATIONS
from audiosim.collection.aspects import MEAN, Aspects
from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, PairedComparison
from audiosim.errors import InputError
from audiosim.measures.measure import Measure
from audiosim.report.imprint import NOBODY, Imprint
from audiosim.report.page import Extras
from audiosim.report.publication import bundle, sources_of, zipped
from audiosim.report.record import record_of
from audiosim.service.access.callers import NotServedError
from audiosim.service.collections.served import ServedCollection

# The record of a campaign as a bundle, from its judgments and its log, with or without people's names.


NewNames = Mapping[str, str]
Given = TypeVar("Given", Judgment, PairedComparison)


def bundle_of(
    one: ServedCollection, measure: Measure, success: float = 0.5, imprint: Imprint = NOBODY, named: bool = True
) -> tuple[int, bytes]:
    """The number of judgments of a campaign, and the bundle of `audiosim report` about it, as a zip file.

    success  share of satisfied users above which a result list is a success
    named    False: people have the names person-1, person-2 and so on, and their notes are left out
    """
    one.campaign.refresh()
    number, judgments = one.campaign.snapshot()
    records = [record for record in published(one.campaign.log()) if record.number <= number]
    names = {} if named else _drawn(judgments, records)
    collection = judged_collection(one, judgments, names)
    record = record_of(
        collection,
        measure,
        one.model,
        estimator=one.predictor(None, measure.cutoff).estimator.knowing(collection.comparisons).plain,
        threshold=success,
        distribution=one.campaign.selection.distribution,
    )
    log = log_lines(line._replace(event=anonymous_event(line.event, names)) for line in records)
    reworded = any(line.event.kind == WORDS for line in records)  # or nobody needs the folder's own wording
    first = Collection.load(one.folder) if reworded and one.folder is not None else one.collection
    extras = Extras(earlier=earlier_questions(first, records))
    files = bundle(record, utc_now().date(), sources_of(record, one.model, one.folder), log, imprint, extras)
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

    def renamed(some: Iterable[Given]) -> tuple[Given, ...]:
        return tuple(replace(given, assessor=names.get(given.assessor, given.assessor)) for given in some)

    compared = renamed(one.campaign.comparisons.in_force()[1])
    if one.collection.aspects is None:
        return replace(one.collection, judgments=renamed(judgments), comparisons=compared)
    aspects = one.judged_by_aspect(MEAN)[1]
    parted = {name: renamed(some) for name, some in aspects.parts.items()}
    return replace(one.collection, judgments=Aspects(aspects.scale, parted), comparisons=compared)


MOST_BYTES = 50 * 2**20  # of a bundle
OF_ALL_BUT_CONTENT = [column for column in PUBLICATIONS.c if column.name != "content"]


@dataclass(frozen=True, slots=True)
class PublishedRecord:
    """A published bundle.

    number     number of the publication within its collection, from 1
    judgments  number of judgments in it
    withdrawn  time of its withdrawal; empty: it is public
    """

    collection: str
    number: int
    time: str
    by: str
    judgments: int
    withdrawn: str


class PublicationStore:
    """The publications in a database, beside the campaigns."""

    def __init__(self, url: str | None, clock: Clock = utc_now) -> None:
        """Open the database; its tables are created with the first publication.

        url  address of the database; None: without one, nothing can be published
        """
        self._lasts, self._tables, self._clock = url is not None, TablesBeside(url, PUBLICATIONS), clock

    def check_lasting(self) -> None:
        """Raise InputError without a database, in which case nothing can be published."""
        if not self._lasts:
            raise InputError("this service keeps nothing, so it cannot publish: start it with a database, --db")

    def publish(self, collection: str, by: str, judgments: int, content: bytes) -> PublishedRecord:
        """Publish a bundle under the next number.

        content  a zip file
        """
        self.check_lasting()
        if len(content) > MOST_BYTES:
            raise InputError(f"the bundle has {len(content):,} bytes, and a page may have {MOST_BYTES:,}: download it")
        last = sql.select(sql.func.max(PUBLICATIONS.c.number)).where(PUBLICATIONS.c.collection == collection)
        with self._tables.adding() as connection:
            number = (connection.execute(last).scalar() or 0) + 1
            made = PublishedRecord(collection, number, write_time(self._clock()), by, judgments, "")
            row = {name: getattr(made, name) for name in PublishedRecord.__slots__}
            connection.execute(sql.insert(PUBLICATIONS), [{**row, "content": content}])
        return made

    def published(self, collection: str) -> list[PublishedRecord]:
        """The publications of a collection, the latest first, including withdrawn ones."""
        wanted = sql.select(*OF_ALL_BUT_CONTENT).where(PUBLICATIONS.c.collection == collection)
        found = self._tables.read(wanted.order_by(PUBLICATIONS.c.number.desc()))
        return [PublishedRecord(**row._mapping) for row in found]

    def withdraw(self, collection: str, number: int) -> None:
        """Withdraw a publication: its bundle is deleted, and its number is not used again."""
        chosen = (PUBLICATIONS.c.collection == collection) & (PUBLICATIONS.c.number == number)
        gone = sql.update(PUBLICATIONS).where(chosen & (PUBLICATIONS.c.withdrawn == ""))
        if not self._tables.change(gone.values(withdrawn=write_time(self._clock()), content=b"")):
            raise InputError(f"{collection} has no publication {number} that could be withdrawn")

    def content(self, collection: str, number: int) -> bytes:
        """The bundle of a publication; an error if there is none."""
        chosen = (PUBLICATIONS.c.collection == collection) & (PUBLICATIONS.c.number == number)
        for row in self._tables.read(sql.select(PUBLICATIONS.c.content, PUBLICATIONS.c.withdrawn).where(chosen)):
            if row.withdrawn:
                raise NotServedError("this publication was withdrawn by its organiser")
            return bytes(row.content)
        raise NotServedError("there is no such publication")


def file_in(content: bytes, name: str) -> bytes | None:
    """The file of this name in a bundle, or None."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return next((archive.read(one) for one in archive.namelist() if one.partition("/")[2] == name), None)
