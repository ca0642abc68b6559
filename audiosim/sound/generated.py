"""A collection from folders of recordings: one folder per system, one recording per prompt.

    prompts/bach.wav      system-a/bach.wav      system-b/bach.wav

A prompt is a recording, a text (`prompts/bach.txt`, or a line of prompts.tsv), or both.

Identifiers are numbered by hashes of the names, so assessors' browsers learn neither the system nor the prompt.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import ClassVar

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import PROMPT, prompt_cell, read_documents, text_of
from audiosim.collection.layouts import find_file, is_file
from audiosim.collection.values import Document, Run, grouped
from audiosim.collection.written import document_lines, query_lines, run_lines
from audiosim.errors import FormatError, InputError, on_disk, placed
from audiosim.results.value import Result, Row
from audiosim.sound.channel import SUFFIXES
from audiosim.tables.reading import read
from audiosim.tables.schema import Schema
from audiosim.tables.text import every_line, write_texts
from audiosim.text import counted, few, printable

# File names in error messages about a draft, whose own folder is hidden from users.


SOUNDS = "sounds"


@contextmanager
def named_from(aside: Path, place: str, name: str) -> Iterator[None]:
    """Replace paths on this machine by the sender's file names in error messages."""
    try:
        yield
    except FormatError as error:
        own = name or error.path.relative_to(aside / place).as_posix()
        raise InputError(f"{own}:{error.line}: {_without(error.problem, aside, place)}") from None
    except InputError as error:
        said = str(error).replace(str(aside / place), name) if name else str(error)
        raise InputError(_without(said, aside, place)) from None


def _without(text: str, aside: Path, place: str) -> str:
    return text.replace(f"{aside / place}/", "").replace(f"{aside}/", "")


# Prompts as text files: `prompts/bach.txt` for each prompt, or prompts.tsv with a line per prompt.


PROMPTS = ("prompts", "prompt", "queries", "query", "references", "reference")  # names of the folder of prompts
SUFFIX = ".txt"
TABLE = "prompts.tsv"
COLUMNS = (PROMPT, "text")
PROMPTS_TABLE = Schema(
    "prompts", f"a header with {' and '.join(COLUMNS)}", {name: (name,) for name in COLUMNS}, COLUMNS
)


def is_prompt(path: Path) -> bool:
    """True if a path is that of a text file in a folder of prompts."""
    return path.suffix.lower() == SUFFIX and path.parent.name.lower() in PROMPTS


def read_prompt(path: Path) -> str:
    """The text of a file, as written in documents.tsv."""
    with placed(path):
        return prompt_cell("\n".join(line for _, line in every_line(path)))


def read_prompts(folder: Path) -> dict[str, str]:
    """The prompts of a folder by name, as written in documents.tsv, from its text files and its prompts.tsv."""
    table = find_file(folder, TABLE)
    found = {} if table is None else read_prompt_table(table)
    for path in sorted(path for path in folder.glob("*/*") if is_prompt(path) and path.is_file()):
        if path.stem in found:
            raise InputError(f"{path}: there is already a prompt {path.stem}, expected only one")
        found[path.stem] = read_prompt(path)
    return found


def read_prompt_table(path: Path) -> dict[str, str]:
    r"""The prompts of a prompts.tsv by name: a header, `prompt` and `text`, in which `\n` is a line end."""
    table, found = read(path, PROMPTS_TABLE), dict[str, str]()
    for row, ((name,), text) in enumerate(zip(table.distinct(PROMPT), table.texts("text"), strict=True)):
        try:
            found[name] = prompt_cell(text_of(text))
        except InputError as error:
            raise table.error(row, str(error)) from None
    return found


@dataclass(frozen=True, slots=True)
class RecordingFolders:
    """Recordings in a collection's folder: paths by folder and by name without suffix."""

    folders: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, folder: Path) -> "RecordingFolders":
        """The recordings below `sounds/`; two with the same name in one folder are an error."""
        found: dict[str, dict[str, str]] = {}
        root = folder / SOUNDS
        for path in sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else ():
            name = path.relative_to(folder).as_posix()
            stems = found.setdefault(path.parent.name if path.parent != root else "", {})
            if path.stem in stems:
                raise InputError(f"{name}: {stems[path.stem]} has the same folder and name, expected only one of them")
            stems[path.stem] = name
        return cls(found)

    @property
    def names(self) -> Sequence[str]:
        """The folders with recordings, by name."""
        return sorted(self.folders)

    @property
    def prompts(self) -> str | None:
        """The folder named like a folder of prompts, or None."""
        return next((name for known in PROMPTS for name in self.names if name.lower() == known), None)

    def paths(self) -> dict[str, str]:
        """The path of each recording by its own path, by folder and name, and by its name if that is unique."""
        found: dict[str, str] = {}
        for folder, stems in self.folders.items():
            for stem, path in stems.items():
                found[f"{folder}/{stem}" if folder else stem] = path
                found[PurePosixPath(path).relative_to(SOUNDS).as_posix()] = path
        alone = grouped(named for stems in self.folders.values() for named in stems.items())
        return found | {stem: paths[0] for stem, paths in alone.items() if len(paths) == 1}


def write_generated(
    folder: Path, recordings: RecordingFolders, prompts: str | None, texts: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write runs, queries and documents for a collection of folders of recordings.

    prompts  folder with the prompts' recordings; None: recognised by its name
    texts    texts of the prompts by name, in the form of documents.tsv
    """
    chosen = prompts or recordings.prompts
    systems = [name for name in recordings.names if name not in ("", chosen)]
    heard = recordings.folders.get(chosen or "", {})
    if not (heard if chosen else texts) or not systems:
        raise InputError(
            "no runs: expected files of runs, or a folder of recordings for each system and one for the prompts, "
            f"called prompts or chosen; found {', '.join(filter(None, recordings.names)) or 'no folder of recordings'}"
        )
    asked = {**texts, **heard}
    for system in systems:
        strange = next((stem for stem in recordings.folders[system] if stem not in asked), None)
        if strange is not None:
            path = recordings.folders[system][strange]
            where = "among the prompts" if texts else f"in {SOUNDS}/{chosen}"
            raise InputError(f"{path}: no recording {strange} {where}, expected one of {few(sorted(asked), 3)}")
    paths = [*heard.values(), *(path for name in systems for path in recordings.folders[name].values())]
    clips = _drawn("clip", paths)
    queries = _drawn("prompt", asked)
    runs = [
        Run(name, {queries[stem]: (clips[path],) for stem, path in recordings.folders[name].items()})
        for name in systems
    ]
    asked_by = {queries[stem]: clips[heard[stem]] if stem in heard else queries[stem] for stem in asked}
    more = {asked_by[queries[stem]]: {PROMPT: text} for stem, text in texts.items()}
    known = {clips[path]: path for path in paths}
    documents = [Document(name, path=known.get(name), more=more.get(name, {})) for name in sorted({*known, *more})]
    write_texts(
        {
            folder / "runs.trec": run_lines(runs),
            folder / "queries.tsv": query_lines(asked_by),
            folder / "documents.tsv": document_lines(documents),
        }
    )


@dataclass(frozen=True, eq=False)
class GeneratedFolder(Result):
    """A collection made from folders of recordings.

    made  folder of the collection
    """

    _index: ClassVar = ("system",)

    made: Path
    collection: Collection

    def rows(self) -> list[Row]:
        """One row per system, with its number of recordings."""
        return [{"system": run.system, "recordings": len(run.rankings)} for run in self.collection.runs]

    def to_dict(self) -> Row:
        """The systems and the number of prompts, ready for JSON."""
        return {"systems": self.rows(), "prompts": len(self.collection.query_documents)}

    def __repr__(self) -> str:
        prompts = counted(len(self.collection.query_documents), "prompt")
        return f"{counted(len(self.collection.runs), 'system')}, {prompts} in {self.made}"


def collect_generated(folder: str | Path, target: str | Path) -> GeneratedFolder:
    """Make a collection from a folder with one folder per system and one for the prompts; on an error, make nothing.

    target  folder of the collection, which must not exist; recordings are linked or copied to it
    """
    folder, target = Path(folder), Path(target)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, expected one with a folder for each system")
    if target.exists():
        raise InputError(f"{target}: exists already, expected a name for a new collection")
    found = [path for path in sorted(folder.glob("*/*")) if path.suffix.lower() in SUFFIXES]
    strange = next((path for path in found if str(path).encode("utf-8", "replace").decode() != str(path)), None)
    if strange is not None:
        raise InputError(f"{printable(str(strange))} cannot be named in a table, expected names in UTF-8")
    texts = read_prompts(folder)
    with on_disk(target, "cannot be made"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as aside:
            made = Path(aside) / target.name
            for path in found:
                place = made / SOUNDS / path.relative_to(folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)  # a hard link would lead out of the collection: refused when it is played
            made.mkdir(exist_ok=True)
            with named_from(Path(aside), target.name, ""):
                write_generated(made, RecordingFolders.of(made), None, texts)
                Collection.load(made)
            made.rename(target)
    return GeneratedFolder(target, Collection.load(target))


def _drawn(word: str, names: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """An identifier for each name, numbered in the order of the names' hashes, which reveals nothing about them."""
    order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
    width = len(str(len(order)))
    return {name: f"{word}-{number:0{width}}" for number, name in enumerate(order, start=1)}


def write_paths(folder: Path, recordings: RecordingFolders, wanted: Iterable[str]) -> None:
    """Add the path of each recording to the document of the same name; other documents stay unchanged.

    wanted  documents named in the runs
    """
    table = find_file(folder, "documents.tsv")
    known = {} if table is None else read_documents(table)
    paths = recordings.paths()
    documents = {
        name: Document(name, one.artist, one.genre, _path(folder, one, paths), one.more) for name, one in known.items()
    }
    documents |= {name: Document(name, path=paths[name]) for name in wanted if name in paths and name not in known}
    if not documents:
        return
    write_texts({folder / "documents.tsv" if table is None else table: document_lines(documents.values())})


def _within(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts


def _path(folder: Path, one: Document, paths: Mapping[str, str]) -> str | None:
    if one.path and _within(one.path) and is_file(folder / one.path):
        return one.path
    named = PurePosixPath(one.path).name if one.path else ""
    return paths.get(one.identifier) or paths.get(PurePosixPath(named).stem) or paths.get(named) or one.path
