"""A collection written to a folder, as `Collection.load` reads it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from audiosim.collection.arrivals import SOUND_FILES, Stamp
from audiosim.collection.aspects import Aspects
from audiosim.collection.evidence import EVIDENCE, Evidence, packed
from audiosim.collection.facts import SOUND_SUFFIXES
from audiosim.collection.kinds import JUDGES, MachineJudge
from audiosim.collection.layouts import COMPARISONS, prepare_folder
from audiosim.collection.settings import Settings, settings_lines
from audiosim.collection.task import TASK_FILE, AssessorTask
from audiosim.collection.values import Document, JudgmentSequence, PairedComparison, Run, Scale
from audiosim.collection.written import (
    comparison_lines,
    document_lines,
    fits_qrels,
    judge_lines,
    judgments_csv_lines,
    qrels_lines,
    query_lines,
    run_lines,
    system_lines,
)
from audiosim.tables.text import write_texts

# Stamp of a collection's folder: equal stamps mean that reading it again gives the same collection.


DEEPEST = 2  # depth of folders that are entered, such as arrivals/runs
DESCRIBED = ".index"  # suffix of folders with an index; each change renames a file in them


def folder_stamp(folder: str | Path, database: Path | None = None) -> Stamp:
    """Paths, sizes and times of the visible files in a collection's folder, except recordings.

    database  an SQLite file, which changes with each judgment and is not part of the collection
    """
    excluded = "" if database is None else str(database.absolute())
    found = _stamps(str(Path(folder).absolute()), "", 0)
    return tuple(sorted(one for path, one in found if not excluded or not path.startswith(excluded)))


def file_stamp(path: str | Path | None) -> str:
    """Path, size and time of a file named in options; only the path if there is no such file."""
    if path is None or not Path(path).exists():
        return f"{path}"
    of = Path(path).stat()
    return f"{Path(path).absolute()} {of.st_size} {of.st_mtime_ns}"


def _stamps(place: str, inside: str, depth: int) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Path and stamp of each file, or of the folder itself if it is not entered."""
    with os.scandir(place) as entries:
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.name.startswith(".") or entry.name.lower().endswith(SOUND_SUFFIXES):
                continue
            if entry.is_dir() and entry.name != SOUND_FILES and depth < DEEPEST and not name.endswith(DESCRIBED):
                yield from _stamps(entry.path, f"{name}/", depth + 1)
            else:
                with suppress(FileNotFoundError):  # a broken link, or a file that was just removed
                    of = entry.stat()
                    yield entry.path, (name, of.st_size, of.st_mtime_ns)


class Writable(Protocol):
    """Parts of a collection that are written to a folder."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def edition_of(self) -> str: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def cutoff(self) -> int: ...
    @property
    def runs(self) -> tuple[Run, ...]: ...
    @property
    def documents(self) -> Mapping[str, Document]: ...
    @property
    def query_documents(self) -> Mapping[str, str]: ...
    @property
    def teams(self) -> Mapping[str, str]: ...
    @property
    def judgments(self) -> JudgmentSequence: ...
    @property
    def comparisons(self) -> tuple[PairedComparison, ...]: ...
    @property
    def not_artists(self) -> frozenset[str]: ...
    @property
    def evidence(self) -> tuple[Evidence, ...]: ...
    @property
    def judges(self) -> tuple[MachineJudge, ...]: ...
    @property
    def assessor_task(self) -> AssessorTask | None: ...
    @property
    def aspects(self) -> Aspects | None: ...


def write_collection(one: Writable, folder: str | Path) -> None:
    """Write the folder; either all files are written or none."""
    judged, scale, own = one.judgments, one.scale, one.judges
    if one.aspects is not None:
        judged, scale = tuple(chain.from_iterable(one.aspects.judgments.values())), one.aspects.scale
        own = tuple(judge for judge in own if judge.name not in one.aspects.evidence_names)
    plain = fits_qrels(judged)
    judgments = "judgments.qrels" if plain else "judgments.csv"
    spell_judgments = qrels_lines if plain else judgments_csv_lines
    settings = Settings(
        one.name,
        scale,
        one.cutoff,
        one.not_artists,
        same_artist="keep",
        task=one.task or None,
        edition_of=one.edition_of or None,
        judges={judge.name: replace(judge.settings, file="") for judge in own},
    )
    texts = {
        "documents.tsv": document_lines(one.documents.values()) if one.documents else None,
        "queries.tsv": query_lines(one.query_documents) if one.query_documents else None,
        "systems.tsv": system_lines(one.teams) if one.teams else None,
        "runs.trec": run_lines(one.runs),
        judgments: spell_judgments(judged) if judged else None,
        COMPARISONS: comparison_lines(one.comparisons) if one.comparisons else None,
        "collection.toml": settings_lines(settings),
        TASK_FILE: one.assessor_task.text.split("\n") if one.assessor_task is not None else None,
    }
    files: dict[str, list[str] | bytes] = {name: lines for name, lines in texts.items() if lines is not None}
    files |= {f"{EVIDENCE}/{piece.name}.npz": packed(piece) for piece in one.evidence}
    files |= {f"{JUDGES}/{judge.name}.tsv": judge_lines(judge) for judge in own}
    folder = prepare_folder(folder, set(files))
    write_texts({folder / name: lines for name, lines in files.items()})
