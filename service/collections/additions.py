"""Additions to a collection while it is served: recordings with their metadata, and runs of systems.

They are stored in the folder `arrivals/` of the collection, see `audiosim.collection.arrivals`. The service reads the
folder at the start, and watches it for additions by other services. For a collection without a folder, additions last
as long as the service.
"""

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import numpy as np

from audiosim.collection.arrivals import (
    ARRIVALS,
    SOUND_FILES,
    Arrivals,
    Stamp,
    arrivals_stamp,
    check_agrees,
    check_distinct,
    completed,
    kept,
)
from audiosim.collection.check import inspect
from audiosim.collection.collection import Collection
from audiosim.collection.evidence import JudgeSettings, MachineJudge
from audiosim.collection.facts import check_met
from audiosim.collection.joining import joining_runs
from audiosim.collection.kinds import read_documents, read_judge
from audiosim.collection.values import Document, Run, mean_grades, queries_of, retrieved_by
from audiosim.errors import AudiosimError, InputError, on_disk
from audiosim.service.collections.served import ServedCollection
from audiosim.service.collections.shelf import Served
from audiosim.service.collections.sounds import LIMITS
from audiosim.service.process.loops import Loop
from audiosim.service.process.time_limit import reading_s, sent_file, within
from audiosim.sound import decode
from audiosim.sound.describe import Described, Failure, describer, frames_of_index
from audiosim.sound.index import append_later, load_all
from audiosim.sound.store import Recording
from audiosim.workers import Crew

# A recording that is added: its file, removed if describing it fails.


@contextmanager
def sound_kept(one: ServedCollection, sound: bytes, suffix: str) -> Iterator[Path]:
    """A sound file, in the folder of arrivals if the collection has one; removed if an error follows."""
    if one.folder is None:
        with tempfile.TemporaryDirectory(prefix="audiosim-") as nowhere:
            path = Path(nowhere) / f"sound{suffix}"
            path.write_bytes(sound)
            yield path
        return
    place = Path(one.folder) / ARRIVALS / SOUND_FILES
    path = place / f"{hashlib.sha256(sound).hexdigest()[:32]}{suffix}"
    there = path.exists()
    with on_disk(path):
        place.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sound)
    try:
        yield path
    except BaseException:
        if not there:
            path.unlink(missing_ok=True)
        raise


# Tables sent in a request, read as the commands read them; errors name the line, without a path.


Found = TypeVar("Found")
UNNAMED = f"file-{token_hex(8)}"  # no system has this name


def sent_runs(
    text: bytes, collection: Collection, system: str | None, replace: bool, partial: bool, name: str = ""
) -> tuple[Run, ...]:
    """The runs of a file, to be added to a collection; see `Receiver.take_runs`."""
    runs = _read(text, name or UNNAMED, lambda path: joining_runs(path, collection, system, replace, partial))
    if any(run.system == UNNAMED for run in runs):
        raise InputError("the system has the name of its file, which was sent without one: expected ?system=NAME")
    return runs


def sent_grades(text: bytes, judge: str) -> MachineJudge:
    """The grades of a machine."""
    return replace(_read(text, "judge.tsv", lambda path: read_judge(path, judge)), source=None)


def sent_documents(text: bytes, known: Mapping[str, Document]) -> tuple[Document, ...]:
    """The metadata of a table of documents; an error if a recording has another path than the one known."""
    found = _read(text, "documents.tsv", read_documents)
    for one in found.values():
        there = known.get(one.identifier)
        if one.path is not None and (there is None or there.path != one.path):
            raise InputError(f"document {one.identifier}: its path is not followed here: send the recording itself")
    return tuple(replace(one, path=None) for one in found.values())


def _read(text: bytes, name: str, read: Callable[[Path], Found]) -> Found:
    with sent_file(text, name) as path:
        return within(reading_s(len(text)), lambda: read(path))


LOG = logging.getLogger("service")
MOST_DOCUMENTS = 10_000  # added to a collection
LONGEST_IDENTIFIER = 1000  # characters of an identifier or a name
LIMIT_S = 20.0  # limit for describing a recording
POLL_S = 0.5
READ = decode.Reader(limits=LIMITS)


@dataclass(frozen=True, slots=True)
class ArrivedDocument:
    """A document after an addition.

    document  with its metadata
    recording entry in the index, or None
    fresh     True if any of this is new
    """

    document: Document
    recording: Recording | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class ArrivedRuns:
    """Added runs.

    runs   in their order
    teams  of their systems, if given
    new    number of new pairs in the pool
    gone   pairs that no system retrieves any more; their judgments stay in the log
    fresh  True if any of this is new
    """

    runs: tuple[Run, ...]
    teams: Mapping[str, str]
    new: int
    gone: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class ArrivedJudge:
    """Added grades of a machine.

    judge   the machine
    graded  pairs of the pool that it grades
    fresh   True if any of this is new
    """

    judge: MachineJudge
    graded: int
    fresh: bool


class Receiver:
    """Adds data to the served collections, one item at a time."""

    def __init__(self, served: Served) -> None:
        self._served, self._turn = served, served.changing
        self._describers: dict[Path, Crew[Recording, Described | Failure]] = {}
        self._following = Loop("following the folders", self._follow)
        self._warm = False

    def start(self) -> None:
        """Start the processes that describe recordings, and watch the folders for changes by others."""
        self._following.start()

    def stop(self) -> None:
        """Stop watching, and end these processes."""
        self._following.stop()
        for one in self._describers.values():
            one.end()

    def take_document(
        self, name: str, document: Document, sound: bytes | None = None, suffix: str = ""
    ) -> ArrivedDocument:
        """Add a document's metadata, and its recording if given.

        name    of the collection
        sound   content of a sound file, within SoundLimits
        suffix  of its file name, such as .mp3

        Raises an InputError if the metadata contradict known ones, or the recording cannot be described.
        """
        _check_document(document)
        with self._turn, self._served.collections.held(name) as one:
            check_distinct("document", [document.identifier], _known_documents(one.collection))
            known = one.collection.documents.get(document.identifier)
            check_agrees(known, document)
            recording = None if one.collection.sounds is None else _recording(one, document.identifier)
            if sound is not None and recording is not None and recording.size_bytes not in (0, len(sound)):
                raise InputError(f"document {document.identifier}: has another recording already")
            described = sound is not None and recording is None
            if not described and known is not None and completed(known, document) == known:
                return ArrivedDocument(known, recording, False)
            self._check_room(one, [document])
            if sound is not None and described:
                recording, document = self._described(one, document, sound, suffix)
            one = self._knowing(name, one, [document])
            return ArrivedDocument(one.collection.documents[document.identifier], recording, True)

    def take_metadata(self, name: str, documents: Sequence[Document]) -> int:
        """Add the metadata of several documents, all or none; returns the number of documents with new values.

        name  of the collection
        """
        with self._turn, self._served.collections.held(name) as one:
            known = one.collection.documents
            check_distinct(
                "document", [document.identifier for document in documents], _known_documents(one.collection)
            )
            for document in documents:
                _check_document(document)
                check_agrees(known.get(document.identifier), document)
            new = [one for one in documents if completed(known.get(one.identifier), one) != known.get(one.identifier)]
            self._check_room(one, new)
            if new:
                self._knowing(name, one, new)
            return len(new)

    def take_runs(
        self,
        name: str,
        text: bytes,
        system: str | None = None,
        team: str | None = None,
        replace: bool = False,
        partial: bool = False,
        file: str = "",
    ) -> ArrivedRuns:
        """Add the runs in a file: new systems, or new versions of earlier runs.

        text     in any form of a run
        system   name of the system, for a file with one run, in place of the name in the file
        team     of the systems
        replace  allows a run to replace one with many more queries
        partial  allows runs with less than 90 % of the queries
        file     name of the file, which may name the system; empty: unknown
        """
        with self._turn, self._served.collections.held(name) as one:
            runs = sent_runs(text, one.collection, system, replace, partial, file)
            teams = {run.system: team for run in runs} if team else {}
            for word in (team or "-", *(run.system for run in runs)):
                _check_name(word, "name")
            came = one.collection.with_arrivals(new := Arrivals(runs, {}, teams))
            before = one.campaign.selection.pool.positions.keys()
            if all(run in one.collection.runs for run in runs) and came.teams == one.collection.teams:
                return ArrivedRuns(runs, teams, 0, 0, False)
            _check_judged_stay(one, came)
            with _kept(one, new):
                fresh = one.joined_by(came)
            self._swap(name, fresh)
            now = fresh.campaign.selection.pool.positions.keys()
            return ArrivedRuns(runs, teams, len(now - before), len(before - now), True)

    def take_judge(self, name: str, judge: str, text: bytes) -> ArrivedJudge:
        """Add the grades of a machine, new ones or in place of earlier ones.

        text  a table with a header: query, document, and grade or score
        """
        with self._turn, self._served.collections.held(name) as one:
            came = sent_grades(text, judge)
            joined = one.collection.with_arrivals(new := Arrivals(judges=(came,)))
            check_met(joined.runs, joined.documents, (), (replace(came, settings=JudgeSettings()),))
            known = next((other for other in one.collection.judges if other.name == judge), None)
            pool = one.campaign.selection.pool
            graded = sum(pair in pool.positions for pair in came.keys)
            if known is not None and known.keys == came.keys and np.array_equal(known.values, came.values):
                return ArrivedJudge(came, graded, False)
            with _kept(one, new):
                fresh = one.joined_by(joined)
            self._swap(name, fresh)
            return ArrivedJudge(came, graded, True)

    def _check_room(self, one: ServedCollection, documents: Iterable[Document]) -> None:
        came = Arrivals.of(one.folder).documents if one.folder is not None else {}
        new = {document.identifier for document in documents} - came.keys()
        if new and len(came) + len(new) > MOST_DOCUMENTS:
            raise InputError(f"{MOST_DOCUMENTS} documents have been added to this collection, the most that it takes")

    def _described(
        self, one: ServedCollection, document: Document, sound: bytes, suffix: str
    ) -> tuple[Recording, Document]:
        """Describe a recording and add it to the collection's index of later recordings; keep its file."""
        if one.collection.sounds is None:
            raise InputError(
                "the collection has no index of sounds: audiosim extract makes one; send the metadata alone"
            )
        with sound_kept(one, sound, suffix) as path:
            status = path.stat()
            task = Recording(document.identifier, str(path), status.st_size, status.st_mtime_ns)
            outcome = self._describer(one.collection.sounds).do(task)
            if isinstance(outcome, Failure):
                raise InputError(f"document {document.identifier}: the sound {outcome.error}")
            if one.folder is not None:
                kept = path.relative_to(Path(one.folder)).as_posix()
                outcome = Described(replace(outcome.recording, path=kept), outcome.row)
                document = document if document.path else replace(document, path=kept)
            append_later(one.collection.sounds, outcome)
        return outcome.recording, document

    def _describer(self, index: Path) -> Crew[Recording, Described | Failure]:
        if index not in self._describers:
            import joblib

            frames = frames_of_index(index).portable(joblib.wrap_non_picklable_objects)
            self._describers[index] = describer(frames, READ, LIMIT_S)
        return self._describers[index]

    def _knowing(self, name: str, one: ServedCollection, documents: Sequence[Document]) -> ServedCollection:
        """The served collection with new metadata of documents, stored on disk first."""
        new = Arrivals((), {document.identifier: document for document in documents})
        came = one.collection.with_arrivals(new)
        with _kept(one, new):
            if not any(one.retrieves(document.identifier) for document in documents):
                one.take_in(came)
                one.stamp = _stamp(one)
                return one
            fresh = one.joined_by(came)
        self._swap(name, fresh)
        return fresh

    def _swap(self, name: str, fresh: ServedCollection) -> None:
        fresh.stamp = _stamp(fresh)
        self._served.collections.put(name, fresh)

    def reasons(self) -> Iterator[str]:
        """Reasons why additions are not accepted."""
        return self._following.reasons()

    def _follow(self) -> float:
        if not self._warm:
            self._warm = True
            for one in self._served.collections.open.values():
                if one.collection.sounds is not None:
                    with self._turn, suppress(AudiosimError):  # the sender of the recording gets the error
                        self._describer(one.collection.sounds).start()
        there = self._served.collections.open
        self._following.forget_all_but(there)
        for name, one in there.items():
            if _stamp(one) != one.stamp:
                with self._following.attempt(name):
                    self._look(name)
        return POLL_S

    def _look(self, name: str) -> None:
        """Apply changes that others made in a collection's folder, additions and deletions.

        An error in the files is reported once; a failure of this service is retried.
        """
        with self._turn, self._served.collections.held(name) as one:
            stamp = _stamp(one)
            if one.folder is None or stamp == one.stamp:
                return
            known = inspect(one.collection).problems
            try:
                fresh = one.joined_by(self._served.collections.again(name))
                self._swap(name, fresh)
            except InputError as error:
                one.stamp = stamp
                LOG.warning("%s: its folder changed and cannot be read: %s", name, error)
                return
            for problem in inspect(fresh.collection).problems:
                if problem not in known:
                    LOG.warning("%s: %s", name, problem)
            fresh.stamp = stamp
            LOG.info("%s: additions in its folder changed: it was read again", name)


def _kept(one: ServedCollection, came: Arrivals) -> AbstractContextManager[None]:
    return nullcontext() if one.folder is None else kept(one.folder, came)


def _check_judged_stay(one: ServedCollection, came: Collection) -> None:
    """Raise an error if a query with judgments would be left without a run."""
    answered = queries_of(came.runs)
    gone = [pair.query for pair in mean_grades(one.campaign.judgments()) if pair.query not in answered]
    if gone:
        raise InputError(
            f"query {gone[0]} has judgments, and no run would answer it any more: keep it in one of the runs"
        )


def _stamp(one: ServedCollection) -> Stamp:
    return () if one.folder is None else arrivals_stamp(one.folder)


def _recording(one: ServedCollection, document: str) -> Recording | None:
    """The entry of a document in its collection's index."""
    assert one.collection.sounds is not None
    index, _ = load_all(one.collection.sounds)
    found = index.ids.index(document) if document in index.ids else None
    return None if found is None else index.recordings[found]


def _check_document(document: Document) -> None:
    _check_name(document.identifier, "identifier")
    for name, value in {"artist": document.artist, "genre": document.genre, **document.more}.items():
        if value is not None:
            _check_name(value, name)


def _known_documents(collection: Collection) -> set[str]:
    retrieved = retrieved_by(collection.runs).values()
    return {*collection.documents, *(name for found in retrieved for name in found)}


def _check_name(value: str, what: str) -> None:
    article = "an" if what[0] in "aeiou" else "a"
    if not value.strip() or not value.isprintable() or len(value) > LONGEST_IDENTIFIER:
        raise InputError(
            f"expected {article} {what} of 1 to {LONGEST_IDENTIFIER} printable characters, got {value!r:.80}"
        )
    if value != value.strip():
        raise InputError(f"expected {article} {what} without spaces at its ends, got {value!r:.80}")
