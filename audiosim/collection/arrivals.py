"""Additions made to a collection while it was served: runs, recordings and metadata, in its folder `arrivals/`.

    arrivals/runs/NAME.trec    run of a system; replaces the collection's run of that system
    arrivals/systems.tsv       teams of these systems
    arrivals/judges/NAME.tsv   grades of a machine; replace the collection's grades of that machine
    arrivals/documents.tsv     metadata of added recordings, or further metadata of others
    arrivals/sounds/           their sound files
    arrivals/sounds.index      their descriptions

The collection's own files are never changed; deleting a file here withdraws its contents.
"""

import hashlib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from audiosim.collection.evidence import MachineJudge
from audiosim.collection.kinds import JUDGES, read_documents, read_judges, read_runs, read_systems
from audiosim.collection.values import Document, Run
from audiosim.collection.written import document_lines, judge_lines, run_lines, system_lines
from audiosim.errors import InputError, on_disk
from audiosim.tables.text import write_texts

ARRIVALS = "arrivals"
RUNS, SYSTEMS, DOCUMENTS, SOUND_FILES = "runs", "systems.tsv", "documents.tsv", "sounds"
OWN = ("artist", "genre", "path")
LONGEST_FILE = 200  # longest file name in bytes; file systems allow 255

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Runs, documents, teams and machines' grades added to a collection.

    runs       one per system
    documents  documents by identifier
    teams      teams by system
    judges     one per name
    """

    runs: tuple[Run, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)
    judges: tuple[MachineJudge, ...] = ()

    @classmethod
    def of(cls, folder: str | Path) -> "Arrivals":
        """The additions in a collection's folder; empty if there are none."""
        place = Path(folder) / ARRIVALS
        documents, systems = place / DOCUMENTS, place / SYSTEMS
        files = sorted(path for path in (place / RUNS).glob("*.trec"))
        return cls(
            read_runs(files, system_from="tag") if files else (),
            read_documents(documents) if documents.exists() else {},
            read_systems(systems) if systems.exists() else {},
            read_judges(place),
        )

    def __bool__(self) -> bool:
        return bool(self.runs or self.documents or self.teams or self.judges)


def completed(known: Document | None, came: Document) -> Document:
    """The known properties of a document, with unknown ones filled in from the addition."""
    if known is None:
        return came
    blank = {name: getattr(came, name) for name in OWN if getattr(known, name) is None}
    return replace(known, **blank, more={**came.more, **known.more})


def check_agrees(known: Document | None, came: Document) -> None:
    """Raise an error if new metadata contradict known metadata; sound files are not compared."""
    if known is None:
        return
    said, new = ({"artist": one.artist, "genre": one.genre, **one.more} for one in (known, came))
    for name, now in new.items():
        before = said.get(name)
        if before is not None and now is not None and before != now:
            raise InputError(f"document {came.identifier}: its {name} is already known as {before!r}, got {now!r}")


def check_distinct(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise an error if a new name differs from a known one only in case, width or spaces, and so is a typo."""
    new = sorted(set(names).difference(known))
    alike = {_alike(name): name for name in known} if new else {}
    for name in new:
        if (meant := alike.get(_alike(name))) is not None:
            raise InputError(f"unknown {what} {name!r:.80}: the known {meant!r:.80} differs only in case or spaces")


def _alike(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def arrivals_stamp(folder: str | Path) -> Stamp:
    """Names, sizes and times of the added files; changes when a file is added or withdrawn."""
    place = Path(folder) / ARRIVALS
    files = (
        place / SYSTEMS,
        place / DOCUMENTS,
        *sorted((place / RUNS).glob("*.trec")),
        *sorted((place / JUDGES).glob("*.tsv")),
    )
    return tuple((path.name, of.st_size, of.st_mtime_ns) for path in files if path.exists() and (of := path.stat()))


@contextmanager
def kept(folder: str | Path, came: Arrivals) -> Iterator[None]:
    """Write additions to a collection's `arrivals/`, in place of earlier ones; an error within restores the files."""
    place = Path(folder) / ARRIVALS
    texts = {place / RUNS / _file_of(run): run_lines([run]) for run in came.runs}
    texts |= {place / JUDGES / f"{judge.name}.tsv": judge_lines(judge) for judge in came.judges}
    if came.teams:
        teams = read_systems(path) if (path := place / SYSTEMS).exists() else {}
        texts[path] = system_lines({**teams, **came.teams})
    if came.documents:
        known = read_documents(path) if (path := place / DOCUMENTS).exists() else {}
        new = {name: completed(one, known.get(name, one)) for name, one in came.documents.items()}
        texts[path] = document_lines({**known, **new}.values())
    before = {path: path.read_bytes() for path in texts if path.exists()}
    for path in texts:
        with on_disk(path.parent, "cannot be made"):
            path.parent.mkdir(parents=True, exist_ok=True)
    write_texts(texts)
    try:
        yield
    except BaseException:
        write_texts(before)
        for path in texts.keys() - before.keys():
            path.unlink(missing_ok=True)
        raise


def _file_of(run: Run) -> str:
    """File name of a run: the system's name, or its beginning and a digest if the name is too long."""
    name = quote(run.system, safe=" ")
    if len(name) > LONGEST_FILE:
        name = f"{name[: LONGEST_FILE // 2]}-{hashlib.sha256(run.system.encode()).hexdigest()}"
    return f"{name}.trec"
