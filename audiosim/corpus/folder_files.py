"""The files in a folder that make up its collection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from audiosim.corpus.collection_files import (
    COMPARISONS,
    JUDGMENTS,
    PARTS,
    check_names,
    find_file,
    find_runs,
    names_its_runs,
)
from audiosim.corpus.evidence_files import Evidence
from audiosim.corpus.foreign_folder import ForeignFiles, recognise_files
from audiosim.corpus.judge_files import MachineJudge
from audiosim.corpus.matching import Matching, Reading
from audiosim.corpus.model import Document, Judgment, PairedComparison, Run
from audiosim.corpus.task_file import TASK_FILE
from audiosim.errors import InputError


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files of a collection; None for missing ones.

    guesses  a sentence if files were recognised by their contents
    """

    settings: Path | None
    documents: Path | None
    queries: Path | None
    systems: Path | None
    runs: list[Path]
    judgments: Path | None
    comparisons: Path | None
    task: Path | None = None
    guesses: tuple[str, ...] = ()

    @classmethod
    def find(cls, folder: Path, judgments: str | Path | None) -> "FolderFiles":
        if not isinstance(judgments, str | PathLike | None):
            raise InputError(f"expected a file of judgments, or none for no judgments, got {judgments!r}")
        foreign = ForeignFiles() if names_its_runs(folder) else recognise_files(folder)
        check_names(folder, judgments is None, {*foreign.runs, *foreign.qrels})
        own = find_file(folder, *JUDGMENTS) if judgments is None else Path(judgments)
        if own is None:
            own = foreign.the_judgments(folder)
        return cls(
            settings=find_file(folder, "collection.toml"),
            documents=find_file(folder, "documents.tsv"),
            queries=find_file(folder, "queries.tsv"),
            systems=find_file(folder, "systems.tsv"),
            runs=list(foreign.runs) or find_runs(folder),
            judgments=None if str(judgments) == "none" else own,
            comparisons=None if str(judgments) == "none" else find_file(folder, COMPARISONS),
            task=find_file(folder, TASK_FILE),
            guesses=(foreign.sentence(folder, own if own in foreign.qrels else None, PARTS),) if foreign.runs else (),
        )

    def readings(
        self,
        runs: Sequence[Run],
        documents: Mapping[str, Document],
        query_documents: Mapping[str, str],
        teams: Mapping[str, str],
        judgments: Sequence[Judgment],
        comparisons: Sequence[PairedComparison],
        evidence: Sequence[Evidence],
        judges: Sequence[MachineJudge],
    ) -> tuple[Reading, ...]:
        """A line on each file except the settings; an error if a file has nothing in common with the runs."""
        matching = Matching(runs)
        lines = [matching.runs(self.runs)]
        if self.documents and documents:
            lines.append(matching.documents(self.documents, documents, query_documents))
        if self.queries and query_documents:
            lines.append(matching.queries(self.queries, query_documents))
        if self.systems and teams:
            lines.append(matching.systems(self.systems, teams))
        if self.judgments:
            lines.append(matching.judgments(self.judgments, judgments))
        if self.comparisons and comparisons:
            lines.append(matching.comparisons(self.comparisons, comparisons))
        lines += [matching.evidence(piece) for piece in evidence]
        lines += [matching.judge(judge) for judge in judges]
        return tuple(lines)
