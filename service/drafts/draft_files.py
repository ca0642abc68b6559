"""A file of a draft: its kind, its place, and its check by the commands' own readers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from audiosim.audio import decode
from audiosim.audio.decoder import SUFFIXES
from audiosim.corpus.collection_files import COMPARISONS, JUDGMENTS
from audiosim.corpus.comparisons import read_comparisons
from audiosim.corpus.judge_files import JUDGES, read_judge
from audiosim.corpus.judgments import VALUES, named_groups, read_judgments
from audiosim.corpus.metadata_tables import read_documents, read_queries, read_systems
from audiosim.corpus.model import Run, queries_of
from audiosim.corpus.prompts import prompt_text
from audiosim.corpus.runs import read_runs
from audiosim.corpus.task_file import TASK_FILE, TaskTable, read_task
from audiosim.errors import InputError
from audiosim.messages import counted
from audiosim.service.drafts.file_names import SOUNDS
from audiosim.service.drafts.prompt_texts import SUFFIX, TABLE, is_prompt, read_prompt, read_prompt_table
from audiosim.service.shelf.sound_files import LIMITS, RATE_HZ

Kind = Literal[
    "recording",
    "runs",
    "documents",
    "queries",
    "systems",
    "judgments",
    "comparisons",
    "judge",
    "task",
    "prompts",
    "prompt",
]
RUNS = "runs"
PROMPT_TEXTS = "prompts"
TABLES: dict[Kind, str] = {
    "documents": "documents.tsv",
    "queries": "queries.tsv",
    "systems": "systems.tsv",
    "comparisons": COMPARISONS,
    "task": TASK_FILE,
    "prompts": TABLE,
}
KIND_IN: dict[str, Kind] = {  # by the first part of a path in the folder; judgments have several names
    SOUNDS: "recording",
    RUNS: "runs",
    JUDGES: "judge",
    PROMPT_TEXTS: "prompt",
    **{file: kind for kind, file in TABLES.items()},
}
LONGEST_PART, DEEPEST = 120, 6  # characters of a name, and nested folders
LONGEST_JOINED = 240  # bytes; file names may have 255, and a judge's file gets a longer one
HEAD = 4096
SHOWN = 4  # names listed in a sentence
GRADES = {*VALUES, "relevance", "rel"}
JUDGE_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class DraftFile:
    """A file of a draft.

    name    its path in the folder
    kind    kind of file
    size    in bytes
    said    one line on its contents; empty if they were not read
    """

    name: str
    kind: Kind
    size: int
    said: str = ""


def place_of(name: str, kind: Kind | None, head: bytes) -> tuple[Kind, str]:
    """The kind of a file, and its path in the folder.

    name  as sent, with folders
    kind  None: by its name, or else by its first line
    head  its first bytes
    """
    parts = _parts(name)
    found = kind or _kind(parts, head)
    last = parts[-1]
    if found in ("runs", "judge"):  # two folders may have files of the same name
        last = _joined(parts, RUNS if found == "runs" else JUDGES)
    if found == "recording":
        return found, "/".join([SOUNDS, *(parts[1:] if parts[0] == SOUNDS and len(parts) > 1 else parts)])
    if found == "prompt":
        return found, f"{PROMPT_TEXTS}/{PurePosixPath(last).stem}{SUFFIX}"
    if found == "runs":
        return found, f"{RUNS}/{last}"
    if found == "judge":
        stem = last.removesuffix(".gz").rpartition(".")[0] or last
        if not JUDGE_NAME.fullmatch(stem):
            raise InputError(f"{last}: a machine's name has letters, digits, _, . and - only, as its file is called")
        return found, f"{JUDGES}/{stem}.tsv{_packed(last)}"
    if found == "judgments":
        plain = last.removesuffix(".gz")
        stem = "groups" if named_groups(PurePosixPath(plain)) else "judgments"
        known = plain if plain in JUDGMENTS else f"{stem}.{_judgment_suffix(plain, stem)}"
        return found, known + _packed(last)
    return found, TABLES[found] + _packed(last)


def _parts(name: str) -> list[str]:
    """The parts of a sent path, each fit for a file name; a path that leads elsewhere is an error."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts or len(parts) > DEEPEST:
        raise InputError(f"expected a file's name with up to {DEEPEST - 1} folders, got {name!r:.80}")
    for part in parts:
        if part.startswith(".") or not part.isprintable() or not 1 <= len(part.encode()) <= LONGEST_PART:
            raise InputError(
                f"{part!r:.80}: expected a name of 1 to {LONGEST_PART} printable bytes that starts with no dot"
            )
    return parts


def _joined(parts: list[str], own: str) -> str:
    folders = (re.sub(r"[^\w.-]+", "_", part) for part in parts[:-1] if part != own)
    joined = "-".join([*folders, parts[-1]])
    if len(joined.encode()) > LONGEST_JOINED:
        raise InputError(f"{joined:.80}...: expected folders and a name of {LONGEST_JOINED} bytes together")
    return joined


def _packed(name: str) -> str:
    return ".gz" if name.endswith(".gz") else ""


def _judgment_suffix(name: str, stem: str) -> str:
    suffix = PurePosixPath(name).suffix[1:].lower()
    return suffix if f"{stem}.{suffix}" in JUDGMENTS else "qrels" if suffix in ("qrel", "txt", "") else "tsv"


def _kind(parts: list[str], head: bytes) -> Kind:
    last = parts[-1].removesuffix(".gz")
    stem, suffix = PurePosixPath(last).stem.lower(), PurePosixPath(last).suffix.lower()
    if suffix in SUFFIXES or suffix in (".m4a", ".aac", ".wma", ".webm"):
        return "recording"
    if is_prompt(Path(*parts)):
        return "prompt"
    by_name: dict[str, Kind] = {PurePosixPath(file).stem: kind for kind, file in TABLES.items()}
    by_name |= dict.fromkeys(("judgments", "groups", "qrels"), "judgments")
    if stem in by_name:
        return by_name[stem]
    if suffix in (".qrels", ".qrel"):
        return "judgments"
    if len(parts) > 1 and parts[-2] == JUDGES:
        return "judge"
    return _by_header(head)


def _by_header(head: bytes) -> Kind:
    first = head.decode("utf-8", "replace").lstrip("\ufeff").partition("\n")[0].strip().lower()
    columns = {one.strip() for one in re.split(r"[\t,;]", first)}
    if {"document_a", "document_b"} <= columns:
        return "comparisons"
    if {"query", "document"} <= columns:
        return "judgments" if columns & GRADES else "judge" if "score" in columns else "queries"
    if {"system", "team"} <= columns:
        return "systems"
    return "documents" if "document" in columns else "runs"


def check_file(path: Path, kind: Kind) -> str:
    """One line on the contents of a file, read as every command reads it; an InputError if it is wrong.

    path  path of the file; its name is its name in the folder
    """
    return _READERS[kind](path)


def _recording(path: Path) -> str:
    signal = decode.read(path, RATE_HZ, LIMITS)
    notes = f"; {', '.join(signal.notes)}" if signal.notes else ""
    return f"{signal.duration_s:.1f} s{'; silent' if signal.silent else ''}{notes}"


def _runs(path: Path) -> str:
    said: list[str] = []
    runs = read_runs([path], say=said.append)
    return "; ".join([f"{_listed(runs)}: {_queries(runs)}", *said])


def _listed(runs: tuple[Run, ...]) -> str:
    names = [run.system for run in runs]
    return ", ".join(names) if len(names) <= SHOWN else f"{len(names)} systems"


def _queries(runs: tuple[Run, ...]) -> str:
    return counted(len(queries_of(runs)), "query", "queries")


def _judgments(path: Path) -> str:
    said: list[str] = []
    scale, found = read_judgments(path, say=said.append)
    return "; ".join([f"{counted(len(found), 'judgment', 'judgments')} on the scale {scale}", *said])


def _judge(path: Path) -> str:
    name = path.name.partition(".tsv")[0]
    return f"machine {name}: {counted(len(read_judge(path, name).pairs), 'grade', 'grades')}"


def _task(path: Path) -> str:
    table = read_task(path).table
    said = [f"{key} {len(value) if isinstance(value, tuple) else ''}".strip() for key, value in _given(table)]
    return ", ".join(said) or "nothing"


def _given(table: TaskTable) -> list[tuple[str, object]]:
    return [(key, value) for key in table.__struct_fields__ if (value := getattr(table, key))]


_READERS: dict[Kind, Callable[[Path], str]] = {
    "recording": _recording,
    "runs": _runs,
    "documents": lambda path: counted(len(read_documents(path)), "document", "documents"),
    "queries": lambda path: counted(len(read_queries(path)), "query", "queries"),
    "systems": lambda path: counted(len(read_systems(path)), "system", "systems"),
    "judgments": _judgments,
    "prompts": lambda path: counted(len(read_prompt_table(path)), "prompt", "prompts"),
    "prompt": lambda path: f"{len(prompt_text(read_prompt(path))):,} characters",
    "comparisons": lambda path: counted(len(read_comparisons(path)), "comparison", "comparisons"),
    "judge": _judge,
    "task": _task,
}
