"""Drafts: collections that organisers make in the browser, each checked as a whole before it is served.

    HOME/NAME/            a collection
    HOME/.drafts/NAME/    the files of a draft, as sent

A draft is assembled in a temporary folder, loaded there as every command would load it, and only then moved into place
in one step: nothing incomplete is ever served or visible under its name.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import RLock
from typing import Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Struct

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import (
    JUDGES,
    kind_of,
    named_groups,
    read_comparisons,
    read_documents,
    read_judge,
    read_judgments,
    read_queries,
    read_runs,
    read_systems,
    text_of,
)
from audiosim.collection.layouts import COMPARISONS, DATABASES, JUDGMENTS, find_file, find_runs
from audiosim.collection.settings import Settings, settings_lines
from audiosim.collection.task import TASK_FILE, TaskTable, read_task, task_lines
from audiosim.collection.values import parse_scale, queries_of, retrieved_by
from audiosim.errors import InputError, on_disk
from audiosim.service.access.callers import NotServedError
from audiosim.service.collections.campaigns import FILE as CAMPAIGN
from audiosim.service.collections.campaigns import CampaignFile
from audiosim.service.collections.sounds import LIMITS, RATE_HZ
from audiosim.service.process.time_limit import reading_s, within
from audiosim.sound import decode
from audiosim.sound.channel import SUFFIXES
from audiosim.sound.generated import (
    SOUNDS,
    SUFFIX,
    TABLE,
    RecordingFolders,
    is_prompt,
    named_from,
    read_prompt,
    read_prompt_table,
    read_prompts,
    write_generated,
    write_paths,
)
from audiosim.tables.text import write_texts
from audiosim.text import counted, reason

# A file of a draft: its kind, its place, and its check by the commands' own readers.


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
JUDGE_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class DraftFile:
    """A file of a draft.

    name    its path in the folder
    kind    kind of file
    size    in bytes
    said    one line on its contents; empty if they were not read
    sent    its name on the sender's device, with folders
    """

    name: str
    kind: Kind
    size: int
    said: str = ""
    sent: str = ""


def place_of(name: str, kind: Kind | None, head: bytes, joined: bool = False) -> tuple[Kind, str]:
    """The kind of a file, and its path in the folder.

    name  as sent, with folders
    kind  None: by its name, or else by its first line
    head  its first bytes
    joined  True to name runs and judges by their folders, too, because another folder has a file of the same name
    """
    parts = _parts(name)
    found = kind or _kind(parts, head)
    last = parts[-1]
    if found in ("runs", "judge") and joined:
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


def _kind_at(place: str) -> Kind:
    return KIND_IN.get(place.partition("/")[0].removesuffix(".gz"), "judgments")


def _last(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name


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
    if (named := by_name.get(stem, by_name.get(last.partition(".")[0].lower()))) is not None:
        return named
    if suffix in (".qrels", ".qrel") or (len(parts) > 1 and parts[-2].lower() == "qrels"):
        return "judgments"
    if len(parts) > 1 and parts[-2] == JUDGES:
        return "judge"
    found = kind_of(head) or "runs"
    return "judge" if found == "scores" else found


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
    systems = ", ".join(run.system for run in runs) if len(runs) <= SHOWN else f"{len(runs)} systems"
    return "; ".join([f"{systems}: {counted(len(queries_of(runs)), 'query')}", *said])


def _judgments(path: Path) -> str:
    said: list[str] = []
    scale, found = read_judgments(path, say=said.append)
    return "; ".join([f"{counted(len(found), 'judgment')} on a scale of {scale}", *said])


def _judge(path: Path) -> str:
    name = path.name.partition(".tsv")[0]
    return f"machine {name}: {counted(len(read_judge(path, name).keys), 'grade')}"


def _task(path: Path) -> str:
    table = read_task(path).table
    given = {key: value for key in table.__struct_fields__ if (value := getattr(table, key))}
    said = [f"{key} {len(value) if isinstance(value, tuple) else ''}".strip() for key, value in given.items()]
    return ", ".join(said) or "nothing"


_READERS: dict[Kind, Callable[[Path], str]] = {
    "recording": _recording,
    "runs": _runs,
    "documents": lambda path: counted(len(read_documents(path)), "document"),
    "queries": lambda path: counted(len(read_queries(path)), "query"),
    "systems": lambda path: counted(len(read_systems(path)), "system"),
    "judgments": _judgments,
    "prompts": lambda path: counted(len(read_prompt_table(path)), "prompt"),
    "prompt": lambda path: f"{len(text_of(read_prompt(path))):,} characters",
    "comparisons": lambda path: counted(len(read_comparisons(path)), "comparison"),
    "judge": _judge,
    "task": _task,
}


DRAFTS = ".drafts"
SETTINGS = ".settings.json"
NAMES = ".names.json"  # of files as sent
PARTS = ".parts"
MOST_DRAFTS = 50
MOST_FILES = 20_000
MOST_BYTES = 4 * 10**9  # of one draft
LONGEST_FILE = 500 * 10**6
LONGEST_NAME = 64
LONGEST_TEXT = 2000


class DraftSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of a draft; empty or None: not chosen.

    title    name shown to people
    task     question that grades answer
    scale    `fine`, `broad`, `binary` or levels, such as `0-3`
    cutoff   last rank that measures look at
    prompts  folder with the prompts' recordings
    campaign settings of the campaign
    asked    assessors' task, in the organiser's words
    """

    title: str = ""
    task: str = ""
    scale: str = ""
    cutoff: int | None = None
    prompts: str = ""
    campaign: CampaignFile = CampaignFile()
    asked: TaskTable = TaskTable()

    def __post_init__(self) -> None:
        for what in ("title", "task"):
            text = getattr(self, what)
            if len(text) > LONGEST_TEXT or not text.isprintable():
                raise InputError(f"{what} must have up to {LONGEST_TEXT} printable characters, got {text!r:.80}")
        if self.scale:
            parse_scale(self.scale)
        if self.cutoff is not None and not 1 <= self.cutoff <= 1000:
            raise InputError(f"cutoff must be from 1 to 1000, got {self.cutoff}")

    def collection_settings(self) -> Settings:
        """The settings in the form of collection.toml."""
        scale = parse_scale(self.scale) if self.scale else None
        return Settings(name=self.title or None, task=self.task or None, scale=scale, cutoff=self.cutoff)


class Draft:
    """A draft: a collection that an organiser is making.

    folder  folder with its files
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """Identifier that the collection will have."""
        return self.folder.name

    def paths(self) -> list[Path]:
        """Paths of its files."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(path for path in found if not path.relative_to(self.folder).parts[0].startswith("."))

    def files(self) -> list[DraftFile]:
        """Its files, without a look at their contents."""
        sent = self._sent()
        return [self._listed(path, sent) for path in self.paths()]

    def _listed(self, path: Path, sent: Mapping[str, str]) -> DraftFile:
        name = path.relative_to(self.folder).as_posix()
        return DraftFile(
            name, _kind_at(name), path.stat().st_size, sent=sent.get(name, name.removeprefix(f"{SOUNDS}/"))
        )

    def _sent(self) -> dict[str, str]:
        """Names of the present files as sent, by their paths in the folder."""
        path = self.folder / NAMES
        sent = msgspec.json.decode(path.read_bytes(), type=dict[str, str]) if path.exists() else {}
        return {place: name for place, name in sent.items() if (self.folder / place).is_file()}

    def put(self, name: str, content: bytes, kind: Kind | None = None) -> DraftFile:
        """Add or replace a file, once it can be read as every command reads it; an error changes nothing.

        name  as sent, with folders
        kind  None: by its name and first line
        """
        sent = self._sent()
        found, place = place_of(name, kind, content[:HEAD])
        twins = [at for at, was in sent.items() if _last(was) == _last(name) and _kind_at(at) == found]
        if any(sent[at] != name for at in twins):
            place = place_of(name, found, b"", joined=True)[1]
        target = self.folder / place
        there = self.paths()
        before = target.stat().st_size if target.is_file() else 0
        if len(there) >= MOST_FILES and not before:
            raise InputError(f"a collection may have {MOST_FILES:,} files at most")
        self._check_room(there, len(content) - before)
        with _kept_as(name), _beside(self.folder) as aside:
            copy = aside / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            with named_from(aside, place, name):
                said = within(reading_s(len(content)), lambda: check_file(copy, found))
            self._clear(found, place)
            for at in twins:  # the first of a name gets its folders, too, once there is another
                further = place_of(sent[at], found, b"", joined=len(twins) > 1 or sent[at] != name)[1]
                (self.folder / at).rename(self.folder / further)
                sent[further] = sent.pop(at)
            target.parent.mkdir(parents=True, exist_ok=True)
            copy.replace(target)
            if found not in ("recording", "prompt"):  # these keep their paths, and are many
                write_texts({self.folder / NAMES: msgspec.json.encode(sent | {place: name})})
        return DraftFile(place, found, len(content), said, name)

    def _check_room(self, there: list[Path], more: int) -> None:
        parts = self.folder / PARTS
        kept = [*there, *(parts.iterdir() if parts.is_dir() else ())]
        if sum(path.stat().st_size for path in kept) + more > MOST_BYTES:
            raise InputError(f"the files of a collection may have {MOST_BYTES:,} bytes at most")

    def _clear(self, kind: Kind, place: str) -> None:
        """Remove the file that a new one replaces: a collection has one file of judgments, and one per table."""
        if kind in ("recording", "runs", "judge", "prompt"):
            return
        for one in self.files():
            if one.kind == kind and one.name != place:
                (self.folder / one.name).unlink()

    def put_part(self, name: str, content: bytes, offset: int, size: int, kind: Kind | None = None) -> DraftFile | None:
        """Add a part of a file that is larger than one request; return the file once it is complete, else None.

        offset  start of this part; a part at 0 starts again
        size    of the whole file
        """
        if not 0 < size <= LONGEST_FILE:
            raise InputError(f"a file may have {LONGEST_FILE:,} bytes at most, got {size:,}")
        if offset == 0 and len(content) == size:
            return self.put(name, content, kind)
        place_of(name, kind or "recording", b"")  # refuses a wrong name before anything is stored
        parts = self.folder / PARTS
        path = parts / hashlib.sha256(name.encode()).hexdigest()
        there = path.stat().st_size if path.exists() else 0
        if offset not in (0, there):
            raise InputError(f"{name}: expected the part at {there:,} bytes, got the one at {offset:,}; send it anew")
        self._check_room(self.paths(), len(content) - (there if offset == 0 else 0))
        with _kept_as(name):
            parts.mkdir(exist_ok=True)
            with path.open("wb" if offset == 0 else "ab") as stream:
                stream.write(content)
            if offset + len(content) < size:
                return None
            whole = path.read_bytes()
            path.unlink()
        return self.put(name, whole, kind)

    def find(self, name: str) -> Path:
        """The path of a file."""
        path = next((path for path in self.paths() if path.relative_to(self.folder).as_posix() == name), None)
        if path is None:
            raise NotServedError(f"{self.name} has no file {name!r:.200}")
        return path

    def remove(self, name: str) -> None:
        """Remove a file."""
        self.find(name).unlink()

    @property
    def settings(self) -> DraftSettings:
        """Its settings."""
        path = self.folder / SETTINGS
        if not path.exists():
            return DraftSettings()
        # A later version may have written settings that this one does not know.
        return msgspec.convert(_known(msgspec.json.decode(path.read_bytes()), DraftSettings), DraftSettings)

    def set(self, settings: DraftSettings) -> None:
        """Replace its settings."""
        write_texts({self.folder / SETTINGS: msgspec.json.encode(settings)})

    def fill(self, collection: Collection, settings: DraftSettings, scale: str | None, cutoff: int | None) -> None:
        """Add the tables of a collection, and replace the settings, in an empty draft.

        scale, cutoff  those of the tables, for settings without them
        """
        with _beside(self.folder) as aside:
            collection.save(aside / self.name)
            (aside / self.name / "collection.toml").unlink()  # the settings say what is in it
            for path in (aside / self.name).iterdir():
                path.rename(self.folder / path.name)
        self.set(
            msgspec.structs.replace(settings, scale=settings.scale or scale or "", cutoff=settings.cutoff or cutoff)
        )

    @contextmanager
    def assembled(self, kept: bool = False) -> Iterator[tuple[Collection, Path]]:
        """The assembled collection and its folder, until the end of the `with`.

        kept  copy the files instead of linking to them: a link out of a served folder is no sound of it
        """
        with _beside(self.folder) as aside:
            folder = aside / self.name
            folder.mkdir()
            for path in self.paths():
                _taken(path, folder / path.relative_to(self.folder), kept)
            with named_from(aside, self.name, ""):
                size = sum(path.stat().st_size for path in self.paths())
                found = within(reading_s(size), lambda: self._loaded(folder))
            yield found, folder

    def _loaded(self, folder: Path) -> Collection:
        """The collection in a folder, once the files derived from the others and from the settings are there."""
        settings, recordings = self.settings, RecordingFolders.of(folder)
        if (folder / "runs").is_dir() or not recordings.folders:
            runs = find_runs(folder)
            if recordings.folders:
                write_paths(folder, recordings, _named_documents(folder, runs))
        else:
            write_generated(folder, recordings, settings.prompts or None, read_prompts(folder))
            shutil.rmtree(folder / PROMPT_TEXTS, ignore_errors=True)  # documents.tsv has them now
            (folder / TABLE).unlink(missing_ok=True)
        chosen = settings.collection_settings()
        if lines := settings_lines(chosen):
            write_texts({folder / "collection.toml": lines})
        if lines := settings.campaign.lines():
            write_texts({folder / CAMPAIGN: lines})
        if lines := task_lines(settings.asked):
            if find_file(folder, TASK_FILE):
                raise InputError(f"{TASK_FILE} is among the files: empty the fields under Own task, or remove the file")
            write_texts({folder / TASK_FILE: lines})
        return Collection.load(folder)


def _known(value: object, kind: Any) -> object:
    """A value from JSON, reduced to the fields of this structure."""
    if isinstance(value, list):
        inner = get_args(kind)
        return [_known(one, inner[0]) for one in value] if inner else value
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Struct):
        kinds = get_type_hints(kind)
        return {name: _known(one, kinds[name]) for name, one in value.items() if name in kinds}
    return value


def _named_documents(folder: Path, paths: list[Path]) -> list[str]:
    table = find_file(folder, "queries.tsv")
    retrieved = retrieved_by(read_runs(paths))
    asked = read_queries(table) if table else {}
    own = (asked.get(query, query) for query in retrieved)
    return list(dict.fromkeys([*own, *(name for found in retrieved.values() for name in sorted(found))]))


@contextmanager
def _kept_as(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:  # the draft was removed
        raise
    except OSError as error:  # such as a full disk, or a folder of that name
        raise InputError(f"{name}: cannot be kept: {reason(error)}") from None


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new folder on the same disk, removed at the end."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as made:
        yield Path(made)


def _taken(path: Path, target: Path, copied: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        (shutil.copyfile if copied else os.link)(path, target)
    except OSError:
        if copied:
            raise
        shutil.copyfile(path, target)  # a file system without links


class Home:
    """Folder in which organisers make collections.

    folder  created if missing
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._turn = RLock()
        with on_disk(folder, "cannot be made"):
            (self.folder / DRAFTS).mkdir(parents=True, exist_ok=True)

    @classmethod
    def is_one(cls, folder: Path) -> bool:
        """True if a folder is empty but for databases, or holds collections without being one itself."""
        if not folder.is_dir():
            return False
        there = [path for path in folder.iterdir() if path.name[0] != "." and not path.name.endswith(DATABASES)]
        home = not there or (folder / DRAFTS).is_dir() or any(_has_runs(path) for path in there)
        return home and not _has_runs(folder)

    def collections(self) -> list[Path]:
        """Folders of its collections, by name."""
        return sorted(path for path in self.folder.iterdir() if not path.name.startswith(".") and _has_runs(path))

    def drafts(self) -> list[Draft]:
        """The drafts, by name."""
        found = (path for path in (self.folder / DRAFTS).iterdir() if path.is_dir() and not path.name.startswith("."))
        return [Draft(path) for path in sorted(found)]

    def draft(self, name: str) -> Draft:
        """The draft with a name."""
        found = next((one for one in self.drafts() if one.name == name), None)
        if found is None:
            raise NotServedError(f"no collection called {name!r:.80} is being made")
        return found

    def begin(self, name: str) -> Draft:
        """Begin a draft."""
        with self._turn:
            check_collection_name(name)
            if name in {path.name for path in self.folder.iterdir()} | {one.name for one in self.drafts()}:
                raise InputError(f"there is a {name} already, choose another name")
            if len(self.drafts()) >= MOST_DRAFTS:
                raise InputError(f"{MOST_DRAFTS} collections are being made: finish or discard one first")
            folder = self.folder / DRAFTS / name
            folder.mkdir()
            return Draft(folder)

    def discard(self, draft: Draft) -> None:
        """Remove a draft, with its files."""
        with self._turn:
            shutil.rmtree(draft.folder)

    def finish(
        self,
        draft: Draft,
        prove: Callable[[Collection, Path], object] = lambda found, folder: None,
        serve: Callable[[Path], object] = lambda folder: None,
    ) -> Path:
        """Move a draft into place once all of it can be read, and return its folder.

        prove  called first, with the collection and its folder; an error leaves everything unchanged
        serve  called with the folder in its new place; an error moves it back
        """
        with self._turn, draft.assembled(kept=True) as (found, assembled):
            prove(found, assembled)
            target = self.folder / draft.name
            if target.exists():
                raise InputError(f"there is a {draft.name} already, choose another name")
            assembled.rename(target)
            try:
                serve(target)
            except BaseException:
                target.rename(assembled)
                raise
            with suppress(OSError):
                shutil.rmtree(draft.folder)
            return target


def check_collection_name(name: str) -> None:
    """Raise an error for a name unfit for a new collection, as it becomes a folder's name and part of an address."""
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum() and name[0].isalnum()
    if not plain or len(name) > LONGEST_NAME:
        raise InputError(
            f"expected a name of 1 to {LONGEST_NAME} letters, digits, - and _ that starts with a letter or a digit, "
            f"got {name!r:.80}"
        )


def _has_runs(folder: Path) -> bool:
    try:
        return folder.is_dir() and bool(find_runs(folder))
    except InputError:
        return False
