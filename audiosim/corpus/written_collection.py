"""A collection written to a folder, as `Collection.load` reads it."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from audiosim.corpus.aspects import Aspects
from audiosim.corpus.coded_judgments import JudgmentSequence
from audiosim.corpus.collection_files import COMPARISONS, prepare_folder
from audiosim.corpus.collection_toml import Settings, settings_lines
from audiosim.corpus.comparisons import comparison_lines
from audiosim.corpus.evidence_files import EVIDENCE, Evidence, packed
from audiosim.corpus.judge_files import JUDGES, MachineJudge, judge_lines
from audiosim.corpus.judgments import fits_qrels, judgments_csv_lines, qrels_lines
from audiosim.corpus.lines import write_texts
from audiosim.corpus.metadata_tables import document_lines, query_lines, system_lines
from audiosim.corpus.model import Document, PairedComparison, Run, Scale
from audiosim.corpus.runs import run_lines
from audiosim.corpus.task_file import TASK_FILE, AssessorTask


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
